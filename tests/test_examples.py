"""The examples run, with NumPy in MAX's place, and print what their readers are told to look for."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TIERS = ROOT / "examples" / "tiers.py"
DIGITS = ROOT / "examples" / "graph_autodiff_digits.py"

WITH_NUMPY = """
import runpy, sys
from tests.lazy import numpy_worker
numpy_worker.install()
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_a_loop_that_speeds_up(tmp_path: Path) -> None:
    picture = tmp_path / "tiers.png"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "FAKE_LOG": str(tmp_path / "batches"),
        "NABLA_ARRAY_COMPILE_AFTER": "0.1",
        "NABLA_ARRAY_CACHE_DIR": str(tmp_path / "cache"),
    }
    options = ["--elements", "70000", "--seconds", "60", "--after", "0.2", "--plot", str(picture)]
    done = subprocess.run(
        [sys.executable, "-c", WITH_NUMPY, str(TIERS), *options],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    phases = re.findall(r"^from +[\d.]+ s: +\d+ iterations of +[\d.]+ ms, (.*)$", done.stdout, re.M)
    assert phases[0].startswith("host: ")
    assert "host: being compiled" in phases
    assert phases[-1] == "MAX"
    assert "kernel of 7 operations: MAX" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert not list(tmp_path.glob("cache/*"))  # the user's cache is left alone


def test_the_help(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(TIERS), "--help"])
    with pytest.raises(SystemExit):
        runpy.run_path(str(TIERS), run_name="__main__")
    assert "python examples/tiers.py --plot tiers.png" in capsys.readouterr().out


def test_graph_autodiff_on_digits() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn, which has the images, is optional")
    options = ["--epochs", "8", "--every", "4", "--show-graphs"]
    done = subprocess.run(
        [sys.executable, str(DIGITS), *options],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.count("call layer(") == 2
    assert done.stdout.count("call grad_layer(") == 2
    rows = re.findall(r"│ (\d+) +│ ([\d.]+) │ ([\d.]+)", done.stdout)
    assert [row[0] for row in rows] == ["1", "4", "8"]
    losses = [float(row[1]) for row in rows]
    assert losses[0] > losses[1] > losses[2]
    assert float(rows[-1][2]) > 0.9
    accuracy = re.search(r"accuracy on new images: ([\d.]+)", done.stdout)
    assert accuracy is not None
    assert float(accuracy[1]) > 0.9
    gap = re.search(r"with and without loss scaling differ by (\S+) at most", done.stdout)
    assert gap is not None
    assert float(gap[1]) < 1e-5
