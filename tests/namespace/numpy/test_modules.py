"""NumPy's modules under our name take our arrays."""

from __future__ import annotations

import ctypes
import importlib
import pickle
import sys
from typing import get_args, get_origin

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.stats import stats
from nabla_array._namespace.dispatch import fastpath
from nabla_array._namespace.dispatch.fastpath import FUNCTIONS
from nabla_array._namespace.interop.functions import HostFallbackWarning

MODULES = (
    "char ctypeslib dtypes exceptions fft lib lib.format lib.recfunctions lib.scimath lib.stride_tricks "
    "linalg ma ma.extras polynomial polynomial.chebyshev random rec strings testing testing.overrides "
    "typing"
)
ASSERTIONS = (
    "assert_allclose assert_almost_equal assert_array_almost_equal assert_array_almost_equal_nulp "
    "assert_array_compare assert_array_equal assert_array_max_ulp assert_equal"
)


@pytest.mark.filterwarnings("ignore:The chararray class:DeprecationWarning")
@pytest.mark.parametrize("name", MODULES.split())
def test_a_module_is_there_under_both_ways_to_reach_it(name: str) -> None:
    module = importlib.import_module(f"nabla_array.{name}")
    assert module.__name__ == f"nabla_array.{name}"
    assert not {
        n for n in getattr(importlib.import_module(f"numpy.{name}"), "__all__", ()) if not hasattr(module, n)
    }
    found = xp
    assert importlib.import_module(f"numpy.{name}").__name__ == f"numpy.{name}"
    for part in name.split("."):
        found = getattr(found, part)
    assert found is module


OWN = "distributed inspect transforms"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["", *MODULES.split(), *OWN.split()])
def test_functions_can_be_pickled(name: str) -> None:
    module = importlib.import_module(f"nabla_array.{name}".rstrip("."))
    names = [n for n in dir(module) if not n.startswith("_")]
    functions = [f for n in names if isinstance(f := getattr(module, n, None), fastpath.FUNCTIONS)]
    assert name or len(functions) > 350
    assert [f for f in functions if pickle.loads(pickle.dumps(f)) is not f] == []


@pytest.mark.parametrize("name", ["erf", "fresnel", "gammaln", "zeta"])
def test_special_functions_can_be_pickled(name: str) -> None:
    pytest.importorskip("scipy")
    function = getattr(xp.special, name)
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize("kind", [xp.random.Generator, xp.random.RandomState])
def test_methods_of_generators_can_be_pickled(kind: type) -> None:
    methods = [m for n in dir(kind) if n[0] != "_" and isinstance(m := getattr(kind, n), FUNCTIONS)]
    assert len(methods) > 30
    assert [m for m in methods if pickle.loads(pickle.dumps(m)) is not m] == []


@pytest.mark.parametrize(
    "name", ["foo", "_core", "transforms.foo", "_lazy.foo", "lib._iotools", "linalg.foo"]
)
def test_what_neither_of_us_has_or_shows_is_not_there(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=f"nabla_array.{name}"):
        importlib.import_module(f"nabla_array.{name}")


def test_numpys_own_parts_are_attributes_where_it_has_them() -> None:
    with pytest.raises(AttributeError, match="no attribute '_core'"):
        xp._core  # noqa: B018
    assert xp.f2py.__name__ == "nabla_array.f2py"
    assert xp.core is importlib.import_module("nabla_array.core")
    k = xp.arange(3)
    with pytest.warns(DeprecationWarning, match="numpy.core is deprecated"):
        columns = xp.core.records.fromarrays([k, k * 2], names="a,b")
    assert columns.b.tolist() == [0, 2, 4]


def test_emath_is_scimath() -> None:
    assert xp.emath is importlib.import_module("nabla_array.lib.scimath")


def test_a_module_that_computes_is_counted_once_and_its_functions_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "nabla_array.polynomial.hermite", raising=False)
    names = ("numpy.polynomial.hermite", "polynomial.hermite.hermval")
    x = xp.asarray([1.0, 2.0])
    for name in names:
        stats.fallbacks.pop(name, None)
    hermite = importlib.import_module("nabla_array.polynomial.hermite")
    with pytest.warns(HostFallbackWarning, match=r"polynomial.hermite.hermval runs through NumPy"):
        y = hermite.hermval(x, x)
    hermite.hermval(x, x)
    assert type(y) is xp.Array
    assert np.array_equal(np.asarray(y), np.polynomial.hermite.hermval([1.0, 2.0], [1.0, 2.0]))
    assert [stats.fallbacks[name] for name in names] == [1, 2]


@pytest.mark.parametrize("name", ASSERTIONS.split())
def test_assertions_of_testing(name: str) -> None:
    x = xp.asarray([1.0, 2.0, 3.0])
    y = np.asarray(x)
    before = stats.fallbacks.copy()
    function = getattr(xp.testing, name)
    first = (np.equal,) if name == "assert_array_compare" else ()
    for a in (x, y):
        for b in (x * 1, y.copy()):
            function(*first, a, b)
            with pytest.raises(AssertionError):
                function(*first, a, b + 1)
    assert stats.fallbacks == before


def test_assertions_that_call_pass_our_arrays_on() -> None:
    x = xp.asarray([1.0, 2.0, 3.0])
    seen = []
    xp.testing.assert_no_warnings(seen.append, x)
    assert seen[0] is x
    xp.testing.assert_raises(ValueError, xp.reshape, x, (2,))
    xp.testing.assert_array_less(x, x + 1)


def test_polynomials_take_our_arrays() -> None:
    x = xp.asarray([0.0, 1.0, 2.0, 3.0])
    ours = xp.polynomial.Polynomial.fit(x, x**2 + 1, 2)
    theirs = np.polynomial.Polynomial.fit(np.asarray(x), np.asarray(x) ** 2 + 1, 2)
    assert np.array_equal(ours.coef, theirs.coef)
    assert np.array_equal(np.asarray(ours(x)), theirs(np.asarray(x)))


def test_classes_are_numpys() -> None:
    assert xp.exceptions.AxisError is np.exceptions.AxisError
    assert xp.ma.MaskedArray is np.ma.MaskedArray
    assert xp.lib.NumpyVersion is np.lib.NumpyVersion


def test_annotations_name_a_class_of_both() -> None:
    assert xp.typing.ArrayLike is np.typing.ArrayLike
    ours, theirs = xp.typing.NDArray, np.typing.NDArray
    assert get_args(ours[np.float64]) == get_args(theirs[np.float64])
    assert type(ours) is type(theirs)
    named = getattr(ours, "__value__", ours)  # what NumPy 2.5 has an alias for
    for hint in (named, named[np.float64]):
        assert all(isinstance(x, get_origin(hint)) for x in (xp.ones(2), np.ones(2)))
        assert not isinstance([1.0], get_origin(hint))


def test_c_writes_to_arrays() -> None:
    x = xp.asarray([1.0, 2.0, 3.0])
    xp.ctypeslib.as_ctypes(x)[0] = 9.0
    assert x.tolist() == [9.0, 2.0, 3.0]
    kind = xp.ctypeslib.ndpointer(dtype=xp.float64, ndim=1, flags="C_CONTIGUOUS")
    ctypes.memset(kind.from_param(x), 0, 16)
    assert x.tolist() == [0.0, 0.0, 3.0]
    with pytest.raises(TypeError, match="must have 1 dimension"):
        kind.from_param(xp.ones((2, 2)))
