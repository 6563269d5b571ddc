"""Run another project's own tests, the project too, on our arrays and on NumPy's.

    python -m tests.upstream suites --source FOLDER [--path FOLDER] [PYTEST ARGUMENT ...]

FOLDER is the root of an unpacked source distribution, or of a clone. What is in it is a program's own code:
the library is tested together with its tests. `--path` is where its packages lie, if not there. Printed are
the tests that pass with NumPy and not with us, and how long those that pass with both took.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
PYTEST = ("pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "-o", "addopts=", "-W", "ignore")


class Outcome(NamedTuple):
    """What a test did: passed, or why not; and its seconds."""

    passed: bool
    why: str
    seconds: float


def read(file: Path) -> dict[str, Outcome]:
    """Return what is in a JUnit report, by the tests' names; nothing where there is none."""
    found = {}
    for case in ElementTree.parse(file).iter("testcase") if file.exists() else ():
        parts = [part for kind in ("failure", "error", "skipped") for part in case.iterfind(kind)]
        why = " ".join("; ".join([part.get("message", part.tag) for part in parts]).split())
        name = f"{case.get('classname')}::{case.get('name')}"
        found[name] = Outcome(not parts, why, float(case.get("time", 0)))
    return found


def run(folder: Path, path: Path, ours: bool, arguments: list[str]) -> dict[str, Outcome]:
    """Run the tests in a process of their own."""
    with TemporaryDirectory() as temporary:
        report = Path(temporary) / "report.xml"
        runner = ["nabla_array", "run", "-m"] if ours else []
        command = [sys.executable, "-m", *runner, *PYTEST, f"--junitxml={report}", *arguments]
        environment = {**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{ROOT}", "MPLBACKEND": "agg"}
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
        return read(report)


def compared(theirs: dict[str, Outcome], ours: dict[str, Outcome]) -> str:
    """Return what to print of both runs."""
    passed = {name: outcome for name, outcome in theirs.items() if outcome.passed}
    both = [name for name in passed if name in ours and ours[name].passed]
    lines = [f"{len(passed)} pass with NumPy, {len(both)} of them with us"]
    if seconds := sum([passed[name].seconds for name in both]):
        lines[0] += f", in {sum([ours[name].seconds for name in both]) / seconds:.2f} of the time"
    missing = Outcome(False, "did not run", 0.0)
    lines += [f"{name}: {ours.get(name, missing).why}" for name in passed if name not in both]
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream suites")
    parser.add_argument("--source", type=Path, required=True, help="the root of the project")
    parser.add_argument("--path", type=Path, default=Path(), help="where its packages are, from there")
    args, more = parser.parse_known_args(arguments)
    folder = args.source.resolve()
    theirs, ours = [run(folder, folder / args.path, is_ours, more) for is_ours in (False, True)]
    print(compared(theirs, ours))
