"""The official conformance suite of the standard, run from a checkout of it.

    git clone --recurse-submodules https://github.com/data-apis/array-api-tests
    pip install -r array-api-tests/requirements.txt
    ARRAY_API_TESTS_DIR=array-api-tests python -m pytest tests/conformance

ARRAY_API_TESTS_MAX_EXAMPLES sets how many examples each test tries (200).
"""

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


@pytest.mark.timeout(3600)
@pytest.mark.skipif(
    CHECKOUT is None, reason="ARRAY_API_TESTS_DIR names no checkout of github.com/data-apis/array-api-tests"
)
def test_conformance(tmp_path: Path) -> None:
    assert CHECKOUT is not None
    assert Path(CHECKOUT, "array_api_tests").is_dir(), f"{CHECKOUT} is no checkout of array-api-tests"
    report = tmp_path / "report.xml"
    options = [
        "-q",
        "-n",
        "auto",
        "-p",
        "no:cacheprovider",
        "--disable-deadline",
        f"--max-examples={EXAMPLES}",
    ]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "array_api_tests", *options, f"--junitxml={report}"],
        cwd=CHECKOUT,
        env={
            **os.environ,
            "ARRAY_API_TESTS_MODULE": "nabla_array",
            "ARRAY_API_TESTS_VERSION": "2025.12",
            "PYTHONPATH": os.pathsep.join(
                [str(Path(nabla_array.__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
            ),
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
    assert len(cases) > 1000, run.stdout[-5_000:]
    assert run.returncode == 0
