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


def run_example(name: str, *options: str) -> str:
    """Run an example by itself, with warnings as errors; returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / name), *options],
        env={**os.environ, "PYTHONPATH": str(ROOT), "NABLA_ARRAY_COMPILE_AFTER": "1e9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def test_mandelbrot(tmp_path: Path) -> None:
    picture = tmp_path / "mandelbrot.png"
    told = run_example("mandelbrot.py", "--width", "60", "--height", "40", "--plot", str(picture))
    assert told.startswith("2400 points under vmap: ")
    assert "the same as alone, at 1200 points: True" in told
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_picture_of_mandelbrot_is_small() -> None:
    assert (ROOT / "docs" / "images" / "mandelbrot.png").stat().st_size < 100_000


def test_hessian_of_a_log_density() -> None:
    told = run_example("hessian_of_a_log_density.py")
    ours, theirs = re.findall(r"-\d+\.\d+", told.splitlines()[0])
    assert ours == theirs
    found = [[float(x) for x in re.findall(r"\d\.\d{3}", line)] for line in told.splitlines()[1:]]
    truth, mean, spread, errors = found
    for i in range(2):
        assert abs(mean[i] - truth[i]) < spread[i]
        assert 0.7 < errors[i] / spread[i] < 1.4


def test_per_example_gradients() -> None:
    told = run_example("per_example_gradients.py")
    assert told.startswith("example 7 alone has the same gradient: True\n")
    losses = [float(x) for x in re.findall(r"loss (\d\.\d+)", told)]
    assert losses[-1] < 0.3 < losses[0]


def test_newton_under_vmap() -> None:
    told = run_example("newton_under_vmap.py")
    assert "the same one by one: True" in told
    assert sum(int(n) for n in re.findall(r"(\d+) took \d steps", told)) == 5000
    assert float(told.split()[-1]) < 1e-6


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_out_of_core(engine: str) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn, which the example fits, is optional")
    pytest.importorskip("distributed", reason="Dask's scheduler is optional")
    told = run_example("distributed/out_of_core.py", engine, "--small")
    assert told.startswith("7 MB on DeviceMesh((16,), ('rows',)")
    share = re.search(r"^([\d.]+) of the examples are told right", told, re.M)
    assert share is not None
    assert 0.85 < float(share[1]) < 0.95
    assert "the same as with NumPy, chunk by chunk: True" in told
    assert ("a worker used" in told) == (engine == "dask")
