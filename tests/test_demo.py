"""The demo: results agree, and its page holds everything itself."""

import math
import re
import subprocess
import sys

import numpy as np
import pytest

from nabla_array.__main__ import main
from nabla_array.demo.compare import TOLERANCE, Outcome, difference, mean, race


def test_demo_agrees_and_writes_its_page(tmp_path):
    for package in ("scipy", "sklearn", "matplotlib"):
        pytest.importorskip(package)
    # In a process of its own: SciPy must not have been imported before.
    command = [sys.executable, "-m", "nabla_array", "demo", "--quick", "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NO" not in done.stdout
    assert re.search(r"all_reduce .* over rows .*: [\d,]+ bytes to each device", done.stdout)
    page = (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert page.count("<h2>") == 7
    assert page.count("<svg") == 2  # the graph and the shards
    assert not re.findall(r'(?:src|href)="(?!data:)', page)  # it needs no network


def test_without_a_command_usage_is_printed(capsys):
    assert main([]) == 0
    assert "demo" in capsys.readouterr().out


def test_race_takes_the_best_of_both_and_says_what_differs():
    theirs, ours = (
        iter([(4.0, (np.ones(2),)), (2.0, (np.ones(2),))]),
        iter([(1.0, (0,)), (3.0, (np.zeros(2),))]),
    )
    outcome, _, found = race("part", "title", lambda: next(theirs), lambda: next(ours), 2)
    assert (outcome.numpy_seconds, outcome.our_seconds, outcome.ratio) == (2.0, 1.0, 0.5)
    assert outcome.difference == 1.0
    assert not outcome.agrees
    assert outcome.cells()[1] == "NO, to 1e+00"
    assert np.array_equal(found[0], np.zeros(2))


def test_mean_is_geometric():
    some = [Outcome("part", "title", 0.0, 1.0, ratio) for ratio in (0.5, 2.0)]
    assert mean(some) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("theirs", "ours", "agrees"),
    [
        ([1.0, 2.0], [1.0, 2.0 + 1e-15], True),
        ([1.0, np.nan], [1.0, np.nan], True),
        ([1.0, np.nan], [1.0, 2.0], False),
        ([np.nan], [np.nan], True),
        ([1.0, 2.0], [1.0, 2.1], False),
        ([1, 2], [1, 2], True),
        ([1, 2], [1, 3], False),
        ([1, 2], [1.0, 2.0], False),
        ([1.0], [[1.0]], False),
        ([0.0], [0.0], True),
    ],
)
def test_difference(theirs, ours, agrees):
    found = difference(np.asarray(theirs), np.asarray(ours))
    assert not math.isnan(found)
    assert (found <= TOLERANCE) is agrees
