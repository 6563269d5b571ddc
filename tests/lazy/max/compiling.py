"""What tests of the compiler wait for, and how."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nabla_array._lazy.max.compiler import Pending

ROOT = Path(__file__).parents[3]
BACKEND = "tests.lazy.fake_backend"
# Seconds within which everything here happens, even on a busy machine.
SOON = 60.0


def batches(log: Path) -> list[list[str]]:
    return [json.loads(line)["keys"] for line in log.read_text().splitlines()] if log.exists() else []


def pids(log: Path) -> list[int]:
    return [json.loads(line)["pid"] for line in log.read_text().splitlines()]


def states(pendings: list[Pending]) -> list[str]:
    for pending in pendings:
        assert pending.wait(SOON)
    return [pending.state for pending in pendings]


def until(condition: Callable[[], object], seconds: float = SOON) -> bool:
    """Wait until something holds; returns whether it does."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
