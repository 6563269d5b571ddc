"""Run one of NumPy's test files, copied, and write down what each test did.

    python -m tests.upstream.one FILE RESULT [--ours]

With `--ours`, `numpy` means us in the file; not in `numpy.testing`, nor in what is private to NumPy.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

ROOT = Path(np.__file__).parent
# Private names of NumPy's that files import for what is public too, and would not be ours otherwise.
PUBLIC = {
    "import numpy._core.umath as ncu": "from tests.upstream.names import umath as ncu",
    "from numpy._core import (": "from numpy import (",
    "np._core.umath.__dict__.values()": "(getattr(np, name, None) for name in np._core.umath.__dict__)",
}
# Some hand what they are given to C functions of the tests, which take it for NumPy's own and crash.
# One makes a tuple of 16 GiB, which ends the run where there is less memory.
UNSAFE = "not incref_elide and not huge_list_error"
OPTIONS = (
    "-q",
    "--tb=short",
    "-p",
    "no:cacheprovider",
    "--timeout=20",
    "-W",
    "ignore",
    "-k",
    UNSAFE,
    "--rootdir",
)


class Recorder:
    """Writes down at once, for each test, whether it passed, was skipped, or why it failed."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115, it is open as long as the process

    def note(self, name: str, outcome: str) -> None:
        print(json.dumps([name, outcome]), file=self._file, flush=True)

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = report.nodeid.partition("::")[2]
        if report.failed:
            self.note(name, _last_line(report))
        elif report.skipped:
            self.note(name, "skipped")
        elif report.when == "call":
            self.note(name, "passed")

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.note("(the whole file)", _last_line(report))

    def pytest_sessionfinish(self) -> None:
        self.note("(the end)", "reached")


def _last_line(report: Any) -> str:
    """Return the exception that ended a test, as one line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr).strip().splitlines()[-1]
    lines = [line for line in text.splitlines() if line.strip()]
    return f"failed: {' '.join(lines[:3])[:300]}"


def _redirect(folder: Path) -> None:
    """Let `numpy` mean us in the files of a folder, but for what is private to NumPy."""
    import nabla_array as xp
    from nabla_array.runner.imports import Own, Redirect

    for ours, theirs in ((xp, np), (xp.lib, np.lib), (xp.linalg, np.linalg), (xp.fft, np.fft)):
        for name in dir(theirs):
            if name.startswith("_") and name not in vars(ours):
                setattr(ours, name, getattr(theirs, name))
    xp.config.float_warnings = True
    Redirect(Own(folder)).on()


def main(file: str, result: str, *flags: str) -> None:
    with TemporaryDirectory() as folder:
        copy = Path(folder) / Path(file).name
        text = (ROOT / file).read_text(encoding="utf-8")
        if flags:
            for private, public in PUBLIC.items():
                text = text.replace(private, public)
        copy.write_text(text, encoding="utf-8")
        if flags:
            _redirect(Path(folder))
        pytest.main([str(copy), *OPTIONS, folder], plugins=[Recorder(result)])


if __name__ == "__main__":
    main(*sys.argv[1:])
