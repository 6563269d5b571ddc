"""The scripts of `examples/scripts/`, which are plain NumPy, print and draw on our arrays what NumPy does."""

from __future__ import annotations

from pathlib import Path

import pytest

from .running import run

SCRIPTS = sorted((Path(__file__).parents[2] / "examples" / "scripts").glob("*.py"))
# How many figures each saves.
FIGURES = {
    "game_of_life": 0,
    "heat_equation": 1,
    "image_filters": 1,
    "kmeans": 0,
    "mandelbrot": 1,
    "n_body": 1,
    "option_pricing": 0,
    "pagerank": 0,
    "pca_digits": 1,
    "spectral_analysis": 1,
}


def test_there_are_ten() -> None:
    assert [script.stem for script in SCRIPTS] == sorted(FIGURES)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_is_the_same(script: Path, tmp_path: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert "nabla" not in text
    assert len(text.splitlines()) < 80
    if "sklearn" in text:
        pytest.importorskip("sklearn", reason="scikit-learn, which has the images, is optional")
    if FIGURES[script.stem]:
        pytest.importorskip("matplotlib", reason="Matplotlib, which draws, is optional")
    done = run("--compare", str(script), folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = f"the same ({FIGURES[script.stem]})" if FIGURES[script.stem] else "none"
    assert "printed      the same" in done.stderr
    assert f"figures      {figures}" in done.stderr
    assert len(list(tmp_path.iterdir())) == FIGURES[script.stem]
