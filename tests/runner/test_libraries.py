"""Scripts that hand their arrays to libraries run the same as under NumPy."""

from __future__ import annotations

from pathlib import Path

import pytest

from .running import run

SCRIPTS = Path(__file__).parent / "scripts"
NEEDS = {
    "asking": ("attr", "traitlets", "typeguard"),
    "drawing": ("matplotlib",),
    "models": ("sklearn",),
    "pictures": ("PIL",),
    "science": ("scipy",),
    "subclasses": ("numpy",),
    "symbols": ("sympy",),
    "tables": ("pandas",),
    "zero_d": ("numpy",),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NEEDS)
def test_a_script_is_the_same_with_our_arrays(name: str, tmp_path: Path) -> None:
    for module in NEEDS[name]:
        pytest.importorskip(module)
    done = run("--compare", str(SCRIPTS / f"{name}.py"), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "printed      the same" in done.stderr
    if name == "drawing":
        assert "figures      the same (7)" in done.stderr
