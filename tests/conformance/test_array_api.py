"""The official conformance suite of the standard, run from a checkout of it.

    git clone --recurse-submodules https://github.com/data-apis/array-api-tests
    pip install -r array-api-tests/requirements.txt
    ARRAY_API_TESTS_DIR=array-api-tests python -m pytest tests/conformance

ARRAY_API_TESTS_MAX_EXAMPLES sets how many examples each test tries (200).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nabla_array._lazy.max import backend

from .suite import EXAMPLES, ROOT, needs_checkout, run_suite

# What MAX can take part in.
FILES = (
    "test_operators_and_elementwise_functions.py",
    "test_special_cases.py",
    "test_statistical_functions.py",
    "test_manipulation_functions.py",
)


@needs_checkout
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mode", ["host", "auto"])
def test_conformance(tmp_path: Path, mode: str) -> None:
    options = ("-n", "auto", f"--max-examples={EXAMPLES}")
    run_suite(tmp_path / "report.xml", *options, NABLA_ARRAY_MODE=mode)


@needs_checkout
@pytest.mark.timeout(3600)
def test_conformance_on_a_mesh(tmp_path: Path) -> None:
    """The same with new arrays cut over three devices along their first axis."""
    options = ("-n", "auto", f"--max-examples={EXAMPLES}", "-p", "tests.conformance.sharding")
    run_suite(tmp_path / "report.xml", *options, NABLA_ARRAY_MODE="host")


@needs_checkout
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not backend.accelerators(), reason="MAX finds no accelerator on this machine")
def test_conformance_on_an_accelerator(tmp_path: Path) -> None:
    """The same with new arrays on the first accelerator."""
    options = ("-n", "auto", f"--max-examples={EXAMPLES}", "-p", "tests.conformance.accelerating")
    run_suite(tmp_path / "report.xml", *options, NABLA_ARRAY_MODE="auto")


_PREPARE = """
import sys
from nabla_array._lazy.max import trials
keys = open(sys.argv[1], encoding="utf-8").read().splitlines()
for i in range(0, len(keys), 256):
    trials.prepare(keys[i : i + 256])
"""


@needs_checkout
@pytest.mark.timeout(7200)
def test_conformance_of_what_max_compiles(tmp_path: Path) -> None:
    """The same tests twice, with the same examples: gather what they evaluate, compile it, run it on MAX."""
    gathered = tmp_path / "programs"
    options = ("--hypothesis-seed=0", f"--max-examples={min(int(EXAMPLES), 30)}")
    env = {"NABLA_ARRAY_CACHE_DIR": str(tmp_path / "cache"), "NABLA_ARRAY_GATHER": str(gathered)}
    plugin = ("-p", "tests.conformance.gathering")
    run_suite(tmp_path / "first.xml", *options, *plugin, files=FILES, NABLA_ARRAY_MODE="host", **env)
    assert len(gathered.read_text(encoding="utf-8").splitlines()) > 300
    settings = {"NABLA_ARRAY_COMPILE_TIMEOUT": "1800", "PYTHONPATH": ROOT}
    subprocess.run(
        [sys.executable, "-c", _PREPARE, str(gathered)], env={**os.environ, **env, **settings}, check=True
    )
    plugin = ("-p", "tests.conformance.counting")
    told = run_suite(tmp_path / "second.xml", *options, *plugin, files=FILES, NABLA_ARRAY_MODE="max", **env)
    found = re.search(r"MAX ran (\d+) parts", told)
    assert found is not None, told[-2000:]
    assert int(found[1]) > 1000
