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
    "import numpy._core.umath as ncu": "import numpy as ncu",
    "from numpy._core import (": "from numpy import (",
    "from numpy._core.shape_base import (": "from numpy._core.shape_base import (",
}
OPTIONS = ("-q", "-p", "no:cacheprovider", "--timeout=60", "-W", "ignore", "--rootdir")


class Recorder:
    """Notes for each test whether it passed, was skipped, or why it failed."""

    def __init__(self) -> None:
        self.tests: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = report.nodeid.partition("::")[2]
        if report.failed:
            self.tests[name] = _last_line(report)
        elif report.skipped:
            self.tests.setdefault(name, "skipped")
        elif report.when == "call":
            self.tests.setdefault(name, "passed")

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.tests["(the whole file)"] = _last_line(report)


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
        recorder = Recorder()
        pytest.main([str(copy), *OPTIONS, folder], plugins=[recorder])
    Path(result).write_text(json.dumps(recorder.tests), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
