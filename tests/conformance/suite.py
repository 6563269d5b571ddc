"""How the official suite is run: in a process of its own, in its own checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import nabla_array

CHECKOUT = os.environ.get("ARRAY_API_TESTS_DIR")
EXAMPLES = os.environ.get("ARRAY_API_TESTS_MAX_EXAMPLES", "200")
ROOT = str(Path(nabla_array.__file__).parent.parent)

needs_checkout = pytest.mark.skipif(
    CHECKOUT is None, reason="ARRAY_API_TESTS_DIR names no checkout of github.com/data-apis/array-api-tests"
)


def run_suite(report: Path, *options: str, files: tuple[str, ...] = ("",), **env: str) -> str:
    """Run the suite, or some files of it; returns what it prints, raises AssertionError where tests fail."""
    assert CHECKOUT is not None
    assert Path(CHECKOUT, "array_api_tests").is_dir(), f"{CHECKOUT} is no checkout of array-api-tests"
    paths = os.pathsep.join([ROOT, *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "pytest", *[str(Path("array_api_tests", f)) for f in files]]
    run = subprocess.run(
        [*command, "-q", "-p", "no:cacheprovider", "--disable-deadline", *options, f"--junitxml={report}"],
        cwd=CHECKOUT,
        env={
            **os.environ,
            "ARRAY_API_TESTS_MODULE": "nabla_array",
            "ARRAY_API_TESTS_VERSION": "2025.12",
            "PYTHONPATH": paths,
            **env,
        },
        capture_output=True,
        text=True,
    )
    assert report.exists(), run.stdout + run.stderr
    cases = list(ElementTree.parse(report).iter("testcase"))
    bad = [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    assert not bad, f"{len(bad)} of {len(cases)} failed:\n" + "\n".join(bad) + run.stdout[-20_000:]
    assert run.returncode == 0, run.stdout[-5_000:]
    if files == ("",):
        assert len(cases) > 1000, run.stdout[-5_000:]
    return run.stdout
