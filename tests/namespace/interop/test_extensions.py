"""Extension modules of libraries that no row knows: their functions are handed NumPy's arrays for ours."""

from __future__ import annotations

import importlib
import pickle
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.native import compiled
from nabla_array._namespace.interop.extensions import Compiled, open_doors
from nabla_array._namespace.interop.imports import LEFT

needs_compiler = pytest.mark.skipif(compiled is None, reason="compiles a module, which not every machine can")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a compiled module `extension`."""
    folder = tmp_path_factory.mktemp("library")
    made = folder / f"extension{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = ["-I", sysconfig.get_path("include"), "-I", np.get_include()]
    source = Path(__file__).with_name("extension.c")
    command = shlex.split(sysconfig.get_config_var("CC"))
    subprocess.run([*command, "-shared", "-fPIC", *include, str(source), "-o", str(made)], check=True)
    return folder


@pytest.fixture
def extension(library: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(library)
    yield importlib.import_module("extension")
    del sys.modules["extension"]


@needs_compiler
def test_an_array_is_written_to(extension: Any) -> None:
    x = xp.asarray([1.0, 2.0, 3.0])
    y, view = x * 1.0, x[1:]
    assert type(extension.scale(x, 2.0)) is np.ndarray
    assert x.tolist() == [2.0, 4.0, 6.0]
    assert view.tolist() == [4.0, 6.0]
    assert y.tolist() == [1.0, 2.0, 3.0]
    extension.scale(view, factor=xp.sum(y))
    assert x.tolist() == [2.0, 24.0, 36.0]
    extension.scale(array=x * 1.0, factor=2.0)
    with pytest.raises(ValueError, match="wants float64"):
        extension.scale(xp.arange(3), 2.0)


@needs_compiler
def test_what_a_door_shows_is_the_functions(extension: Any) -> None:
    scale = extension.scale
    value = np.ones(2)
    assert scale(value, 3.0) is value
    assert value.tolist() == [3.0, 3.0]
    assert (scale.__name__, scale.__module__, scale.__doc__) == (
        "scale",
        "extension",
        scale.__wrapped__.__doc__,
    )
    assert repr(scale) == repr(scale.__wrapped__)
    assert pickle.loads(pickle.dumps(scale)) is scale
    assert not hasattr(scale, "nothing")

    class Holder:
        function = scale

    assert Holder().function(value, 2.0) is value


@needs_compiler
@pytest.mark.parametrize("first", ["nabla_array", "extension"])
def test_the_order_of_imports_makes_no_difference(library: Path, first: str) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(library)!r}); import {first}; import extension; "
        "import nabla_array as xp; x = xp.asarray([1.0, 2.0]); extension.scale(x, 2.0); print(x.tolist())"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[2.0, 4.0]\n"


def test_a_library_that_rows_know_is_left_alone() -> None:
    contourpy = pytest.importorskip("contourpy", reason="contourpy is Matplotlib's, which is optional")
    from numpy.linalg import _umath_linalg

    assert isinstance(contourpy._contourpy.max_threads, Compiled)
    assert not isinstance(_umath_linalg.det, Compiled)
    assert {"numpy", "scipy", "sklearn", "json"} <= LEFT


def test_methods_of_compiled_classes() -> None:
    contourpy = pytest.importorskip("contourpy", reason="contourpy is Matplotlib's, which is optional")
    z = np.add.outer(np.arange(4.0), np.arange(4.0))
    x, y = np.meshgrid(np.arange(4.0), np.arange(4.0))
    mine = [xp.asarray(v) for v in (x, y, z)]
    kind = contourpy.SerialContourGenerator
    for given in ((x, y, z), mine):
        generator = kind(
            *given,
            np.zeros((4, 4), bool),
            corner_mask=False,
            line_type=contourpy.LineType.Separate,
            fill_type=contourpy.FillType.OuterCode,
            quad_as_tri=False,
            z_interp=contourpy.ZInterp.Linear,
        )
        lines = generator.lines(given[2][1, 1] + 0.5)
        assert [len(line) for line in lines] == [6]


def module_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: bytes) -> Any:
    module = ModuleType("built_in")
    monkeypatch.setitem(sys.modules, "built_in", module)
    module.__file__ = str(tmp_path / "module.so")
    Path(module.__file__).write_bytes(code)
    return module


def test_what_takes_no_arrays_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_doors(ModuleType("without_a_file"))
    dot = np._core.multiarray.dot  # of a library that is left alone
    speedups = pytest.importorskip("markupsafe._speedups", reason="its compiled code knows no arrays")
    own = speedups._escape_inner  # of one that is not
    module = module_of(tmp_path, monkeypatch, b"code")
    module.own, module.length, module.theirs = own, len, dot
    open_doors(module)
    assert module.own is own
    Path(module.__file__).write_bytes(b"code _ARRAY_API code")
    open_doors(module)
    assert isinstance(module.own, Compiled)
    assert module.length is len
    assert module.theirs is dot


def test_functions_and_methods_of_boosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class function:
        def __get__(self, owner: Any, kind: Any = None) -> Any:
            return self if owner is None else partial(self, owner)

        def __call__(self, *args: Any) -> Any:
            return [type(a).__name__ for a in args]

    function.__module__ = "Boost.Python"
    module = module_of(tmp_path, monkeypatch, b"code libboost_python code")
    module.ratio = function()
    module.Point = type("Point", (), {"distance": function()})
    open_doors(module)
    x = xp.asarray([1.0, 2.0])
    assert module.ratio(x[0], x, 3) == ["float64", "ndarray", "int"]
    assert module.Point().distance(x[0]) == ["Point", "float64"]
