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
    pytest.importorskip("matplotlib", reason="Matplotlib, which draws, is optional")
    pytest.importorskip("max", reason="MAX, which compiles, is optional")
    picture = tmp_path / "tiers.png"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "FAKE_LOG": str(tmp_path / "batches"),
        "NABLA_ARRAY_COMPILE_AFTER": "0.1",
        "NABLA_ARRAY_CACHE_DIR": str(tmp_path / "cache"),
    }
    options = ["--elements", "600000", "--seconds", "60", "--after", "0.2", "--plot", str(picture)]
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
    assert "compiled part of 7 operations: MAX" in done.stdout
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


def run_example(name: str, *options: str, slow: str = "$^") -> str:
    """Run an example by itself, with warnings as errors; returns what it prints.

    Lines on stderr may match `slow`, as a whole: they tell of a slow machine.
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / name), *options],
        env={**os.environ, "PYTHONPATH": str(ROOT), "NABLA_ARRAY_COMPILE_AFTER": "1e9"},
        capture_output=True,
        text=True,
        check=False,
    )
    told = re.sub(slow, "", done.stderr, flags=re.M | re.S).strip()
    assert (told, done.returncode) == ("", 0)
    return done.stdout


def test_mandelbrot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib, which draws, is optional")
    picture = tmp_path / "mandelbrot.png"
    told = run_example("mandelbrot.py", "--width", "60", "--height", "40", "--plot", str(picture))
    assert told.startswith("2400 points under vmap: ")
    assert "the same as alone, at 1200 points: True" in told
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_picture_of_mandelbrot_is_small() -> None:
    assert (ROOT / "docs" / "images" / "mandelbrot.png").stat().st_size < 100_000


def test_hessian_of_a_log_density() -> None:
    pytest.importorskip("scipy", reason="SciPy, whose densities these are, is optional")
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


engines = pytest.mark.parametrize("engine", ["local", pytest.param("dask", marks=pytest.mark.slow)])


def run_on_mesh(name: str, engine: str, *options: str) -> str:
    """Run an example of `distributed` on an engine; returns what it prints."""
    pytest.importorskip("sklearn", reason="scikit-learn, which has the images, is optional")
    if engine == "dask":
        pytest.importorskip("distributed", reason="Dask is optional")
    # Dask ends its workers by force, some seconds after it asked them to, and may find one in a heartbeat.
    slow = r"^[^\n]*Worker process still alive[^\n]*$"
    slow += r"|^[^\n]* during heartbeat\.$.*?^[\w.]*CommClosedError[^\n]*$"
    return run_example(f"distributed/{name}", "--engine", engine, *options, slow=slow)


@engines
def test_digits_on_a_mesh(engine: str) -> None:
    told = run_on_mesh("digits.py", engine)
    assert "all_reduce" in told
    assert "the same as with NumPy: True" in told


@engines
def test_training_on_a_mesh(engine: str) -> None:
    steps = 10 if engine == "local" else 2
    told = run_on_mesh("training.py", engine, "--steps", str(steps), "--hidden", "32")
    assert told.count("the same as on one device: True") == 2
    data, tensor = told.split("tensor parallel")
    # Twice three quarters of the gradients; half of the weights over half of the devices.
    assert f"{64 * 32 * 8 * 3 // 2:,} B" in data
    assert f"{64 * 32 * 8 // 2:,} B" in tensor
    assert "{'w1': P(None, 'tp'), 'w2': P('tp', None)}" in tensor


@engines
def test_heat_on_a_mesh(engine: str) -> None:
    told = run_on_mesh("heat.py", engine, "--side", "100", "--steps", "5")
    assert "a step moves 1,200 bytes to each device" in told  # two rows, but one at each end
    assert "still cut: P('rows', None)" in told
    assert "the same as with NumPy: True" in told


@engines
def test_a_pipeline_on_a_mesh(engine: str) -> None:
    told = run_on_mesh("pipeline.py", engine, "--parts", "4", "--steps", "2")
    assert re.findall(r"^  (\w+): ", told, re.M) == ["ppermute"]
    assert "the gradient is one device's: True" in told
    first, last = map(float, re.findall(r"(?:loss|steps) (\d\.\d+)", told))
    assert last < first
    assert "each device still has its layer: P('stage', None, None)" in told


@engines
def test_out_of_core(engine: str) -> None:
    told = run_on_mesh("out_of_core.py", engine, "--small")
    assert told.startswith("7 MB on DeviceMesh((16,), ('rows',)")
    share = re.search(r"^([\d.]+) of the examples are told right", told, re.M)
    assert share is not None
    assert 0.85 < float(share[1]) < 0.95
    assert "the same as with NumPy, chunk by chunk: True" in told
    assert ("a worker used" in told) == (engine == "dask")


def test_weak_scaling(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib, which draws, is optional")
    picture = tmp_path / "scaling.svg"
    told = run_example("distributed/weak_scaling.py", "--largest", "64", "--plot", str(picture))
    assert "stencil on 64 devices: " in told
    shares = [int(n) for n in re.findall(r"(\d+)% of ideal", told)]
    assert len(shares) == 8
    assert min(shares) >= 75
    assert picture.read_text().startswith("<?xml")
