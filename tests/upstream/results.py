"""What the tests of a file did, and the classes that failures fall into."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple


class Counts(NamedTuple):
    """Numbers of tests."""

    passed: int
    failed: int
    skipped: int

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


class Result(NamedTuple):
    """The outcome of each test of a file: "passed", "skipped", or "failed: " and why."""

    file: str
    tests: dict[str, str]

    def counts(self) -> Counts:
        found = Counter(outcome.partition(":")[0] for outcome in self.tests.values())
        return Counts(found["passed"], found["failed"], found["skipped"])

    def failures(self) -> dict[str, str]:
        return {k: v.removeprefix("failed: ") for k, v in self.tests.items() if v.startswith("failed")}


def read(path: Path) -> dict[str, str]:
    """Return what `tests.upstream.one` wrote, as far as it came."""
    found: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, outcome = json.loads(line)
        if not found.get(name, "").startswith("failed"):  # a test may fail again when it is torn down
            found[name] = outcome
    if found.pop("(the end)", None) is None:
        found["(the rest)"] = "failed: not run: the time was over, or the process ended"
    return found


def message_class(message: str) -> str:
    """Return an exception's message without what differs from test to test."""
    text = re.sub(r"/\S*/", "", message)  # folders
    return re.sub(r"0x[0-9a-f]+|\d+", "#", text)[:90].strip()
