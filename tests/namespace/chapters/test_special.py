"""SciPy's special functions on our arrays, against SciPy's on NumPy's."""

from __future__ import annotations

import math
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from scipy import special as theirs

import nabla_array as xp
import nabla_array.special as ours
from nabla_array._namespace.chapters import elementwise
from nabla_array._namespace.chapters.special import function, of_ufunc
from nabla_array.transforms import grad, vmap

X = np.asarray([[0.25, 1.0, 2.5], [3.0, 0.75, 8.0]])

CALLS: dict[str, tuple[Any, ...]] = {
    "gamma": (X,),
    "gammaln": (X,),
    "digamma": (X,),
    "erf": (X - 2,),
    "ndtri": (X / 9,),
    "j1": (X,),
    "betaln": (X, X + 1),
    "gammainc": (X, 2.0),
    "xlogy": (np.asarray([0.0, 2.0]), np.asarray([0.0, 3.0])),
    "betainc": (X, X[0], 0.5),
    "sinc": (X - 1,),
    "zeta": (X + 1.5,),
    "polygamma": (np.asarray([[0], [2]]), X),
    "log1p": (X,),
    "expm1": (X,),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_scipys(name: str) -> None:
    args = CALLS[name]
    given = [xp.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
    wanted = np.sinc(*args) if name == "sinc" else getattr(theirs, name)(*args)
    found = getattr(ours, name)(*given)
    assert type(found) is xp.Array
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-13, atol=1e-15)


def test_hurwitzs_zeta_has_two_arguments() -> None:
    np.testing.assert_allclose(np.asarray(ours.zeta(xp.asarray(X + 1.5), 2.0)), theirs.zeta(X + 1.5, 2.0))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_multigammaln(d: int) -> None:
    np.testing.assert_allclose(
        np.asarray(ours.multigammaln(xp.asarray(X + 3), d)), theirs.multigammaln(X + 3, d)
    )


def test_several_results_broadcast_and_promote() -> None:
    u, m = X[:, :1].astype("f4"), X[0] / 10
    found = ours.ellipj(xp.asarray(u), xp.asarray(m))
    wanted = theirs.ellipj(u, m)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_dtypes_are_scipys(dtype: str) -> None:
    x = np.asarray([1, 2, 3], dtype)
    for name in ("gamma", "erf", "sinc"):
        wanted = np.sinc(x) if name == "sinc" else getattr(theirs, name)(x)
        found = getattr(ours, name)(xp.asarray(x))
        assert found.dtype.itemsize <= wanted.dtype.itemsize
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6, atol=1e-7)


def test_they_are_recorded_with_derivatives_and_batches() -> None:
    x = xp.asarray(X)
    np.testing.assert_allclose(np.asarray(vmap(vmap(grad(ours.gammaln)))(x)), theirs.digamma(X), rtol=1e-12)
    np.testing.assert_allclose(
        np.asarray(vmap(ours.multigammaln, in_axes=(0, None))(x + 3, 2)), theirs.multigammaln(X + 3, 2)
    )


def test_sinc_has_a_finite_derivative_at_0() -> None:
    assert float(grad(ours.sinc)(0.0)) == 0.0


def test_functions_that_elementwise_has_are_those() -> None:
    for name in ("cbrt", "exp2", "expm1", "log1p"):
        assert function(name) is getattr(elementwise, name)


def test_ufuncs_are_found_by_identity() -> None:
    # What `scipy.special` has may ask for the array's namespace first; the ufunc is behind that.
    assert of_ufunc(sys.modules["scipy.special._ufuncs"].exprel) is function("exprel")
    assert of_ufunc(np.add) is None
    assert of_ufunc(np.frompyfunc(lambda x: x, 1, 1)) is None


@pytest.mark.parametrize("name", ["no_such_function", "roots_legendre", "__path__"])
def test_what_is_no_ufunc_is_not_here(name: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
        getattr(ours, name)


def test_they_say_where_they_are_found() -> None:
    assert pickle.loads(pickle.dumps(ours.gammaln)) is ours.gammaln
    assert ours.gammaln.__doc__ == "`scipy.special.gammaln`, recorded: see SciPy's documentation."


def test_shapes_that_do_not_broadcast_are_told_of() -> None:
    with pytest.raises(ValueError, match="betaln"):
        ours.betaln(xp.ones(2), xp.ones(3))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_python_numbers_are_weak_where_several_results_are(dtype: str) -> None:
    u = np.linspace(0, 1, 3).astype(dtype)
    for mine, args in [((xp.asarray(u), 0.5), (u, 0.5)), ((0.5, xp.asarray(u)), (0.5, u))]:
        for x, y in zip(ours.ellipj(*mine), theirs.ellipj(*args), strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(np.asarray(x), y)


@pytest.mark.parametrize("shape", [(3,), (10, 1), (200, 1)])
def test_integers_beside_floats_stay_integers(shape: tuple[int, ...]) -> None:
    """Of a large integer the loop for integers takes the last bits."""
    pdtri = theirs._ufuncs.pdtri
    k = np.arange(math.prod(shape)).reshape(shape) % 7 + 2**61
    y = np.linspace(0.05, 0.95, 3 if len(shape) == 1 else 10)
    for mine in (function("pdtri"), pdtri):
        np.testing.assert_array_equal(mine(xp.asarray(k), xp.asarray(y)), pdtri(k, y))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("shape", [(), (0, 1), (1,), (3, 1)])
def test_small_calls_of_three_operands_are_answered_at_once(dtype: str, shape: tuple[int, ...]) -> None:
    a = np.ones(shape, dtype)
    for operands in ((a, a, a), (a, 2.5, a), (2, np.full(3, 0.5), a)):
        mine = [xp.asarray(x) if type(x) is np.ndarray else x for x in operands]
        for name in ("betainc", "fdtr"):
            found = getattr(ours, name)(*mine)
            wanted = np.asarray(getattr(theirs, name)(*operands))
            np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)
    with pytest.raises(ValueError, match="broadcast"):
        ours.betainc(xp.ones(2), xp.ones(3), 0.5)
    with pytest.raises(TypeError):
        ours.betainc(xp.ones(2), 0.5)
