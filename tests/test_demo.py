"""The main job: unchanged SciPy and scikit-learn code agrees with NumPy."""

import math
import re
import subprocess
import sys

import numpy as np
import pytest

from nabla_array.__main__ import main
from nabla_array.demo.compare import TOLERANCE, difference


def test_demo_agrees_and_draws(tmp_path):
    for package in ("scipy", "sklearn"):
        pytest.importorskip(package)
    # In a process of its own: SciPy must not have been imported before.
    command = [sys.executable, "-m", "nabla_array", "demo", "--quick", "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("geometric mean") == 2  # as it is, and on a mesh
    assert re.search(r"all_reduce .* over rows .*: [\d,]+ bytes to each device", done.stdout)
    assert "NO" not in done.stdout.replace("No picture", "")
    assert (tmp_path / "graph.svg").read_text().startswith("<svg")
    assert (tmp_path / "demo.png").exists() or "No picture" in done.stdout


def test_without_a_command_usage_is_printed(capsys):
    assert main([]) == 0
    assert "demo" in capsys.readouterr().out


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
