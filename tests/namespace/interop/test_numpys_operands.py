"""NumPy's own arrays beside ours: they are read where they lie, and may be written to afterwards."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array.transforms import grad, jvp, vmap

SIZES = [3, 30, 100, 400]  # of a side: copied, read in place, and recorded
OPERATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "operator": lambda np, a, y: a * y + a,
    "reflected": lambda np, a, y: y - a,
    "product": lambda np, a, y: a @ y,
    "comparison": lambda np, a, y: a < y,
    "function": lambda np, a, y: np.hypot(a, y),
    "one operand": lambda np, a, y: np.exp(a) + y,
    "dot": lambda np, a, y: np.dot(a.T, y),
    "where": lambda np, a, y: np.where(a > y, a, y),
    "sum": lambda np, a, y: np.sum(a, axis=0) + y,
    "mean": lambda np, a, y: np.mean(a) + y,
    "std": lambda np, a, y: np.std(a, axis=1) + y,
    "argmax": lambda np, a, y: np.argmax(a, axis=1) + y,
    "cumsum": lambda np, a, y: np.cumsum(a, axis=1) + y,
    "concatenate": lambda np, a, y: np.concatenate([a, a]) + y,
    "reshape": lambda np, a, y: np.reshape(a, (-1,))[: y.shape[0]] + y,
    "transpose": lambda np, a, y: np.transpose(a) + y,
    "ravel": lambda np, a, y: np.ravel(a)[: y.shape[0]] * y,
    "in place": lambda np, a, y: _in_place(y, a),
    "out": lambda np, a, y: np.add(a[0], y, out=y.copy()),
    "a view": lambda np, a, y: a.T[::-1] * y,
    "a row": lambda np, a, y: a[0] / y,
}


def _in_place(y: Any, a: np.ndarray) -> Any:
    z = y.copy()
    z += a[0]
    z *= a[0]
    return z


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_result_is_of_the_elements_at_the_call(name: str, n: int) -> None:
    rng = np.random.default_rng(n)
    a, y = rng.standard_normal((n, n)), rng.standard_normal(n)
    operation = OPERATIONS[name]
    wanted = operation(np, a.copy(), y)
    mine = xp.asarray(y.copy())
    given = a.copy()
    found = operation(xp, given, mine)
    given[...] = np.nan
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12)
    assert np.array_equal(np.asarray(mine), y)


@pytest.mark.parametrize("n", SIZES)
def test_what_is_computed_from_a_result_is_too(n: int) -> None:
    rng = np.random.default_rng(n)
    a, y = rng.standard_normal((n, n)), rng.standard_normal(n)
    b = a.copy()
    z = xp.sqrt(xp.abs(b * xp.asarray(y) + b)) - b
    b[...] = 0.0
    found = np.asarray(z.sum(axis=0) + b.sum())
    np.testing.assert_allclose(found, (np.sqrt(np.abs(a * y + a)) - a).sum(axis=0), rtol=1e-10)


@pytest.mark.parametrize("n", SIZES)
def test_under_transforms(n: int) -> None:
    rng = np.random.default_rng(n)
    a, y = rng.standard_normal((n, n)), rng.standard_normal(n)

    def f(x: Any) -> Any:
        b = a.copy()
        z = xp.sum(xp.sin(b * x)) + xp.sum(b @ x)
        b[...] = np.nan
        return z

    slope = (a * np.cos(a * y) + a).sum(axis=0)
    np.testing.assert_allclose(np.asarray(grad(f)(xp.asarray(y))), slope, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(jvp(f, (xp.asarray(y),), (xp.ones(n),))[1]), slope.sum(), rtol=1e-9)
    rows = np.asarray(vmap(f)(xp.asarray(np.stack([y, 2 * y]))))
    np.testing.assert_allclose(rows, [(np.sin(a * v)).sum() + (a @ v).sum() for v in (y, 2 * y)], rtol=1e-9)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["f4", ">f8", "i2", "c16", "?", "f2", "U3"])
def test_dtypes(dtype: str, n: int) -> None:
    a = (np.arange(n * n).reshape(n, n) % 50).astype(dtype)
    y = xp.asarray(np.arange(n))
    if a.dtype.kind == "U":
        with pytest.raises(TypeError):
            a * y
        return
    wanted = a * np.arange(n)
    found = a * y
    assert np.array_equal(np.asarray(found), wanted)
    assert found.dtype == wanted.dtype


SHAPES = [((3,), (3,)), ((2, 3), (3,)), ((2, 3), ()), ((3,), (2, 3)), ((0,), (1,)), ((), ())]


@given(
    ufunc=st.sampled_from([np.add, np.multiply, np.maximum, np.divide, np.hypot, np.power, np.floor_divide]),
    dtypes=st.tuples(*[st.sampled_from(["f8", "f4", "i8", "u1", "?", "c16"])] * 3),
    shapes=st.sampled_from(SHAPES),
    is_first=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_a_ufunc_writes_to_an_array_of_numpys(
    ufunc: Any, dtypes: tuple[str, ...], shapes: tuple[tuple[int, ...], ...], is_first: bool
) -> None:
    rng = np.random.default_rng(5)
    a, b = (np.asarray(rng.integers(1, 5, s)).astype(t) for s, t in zip(shapes, dtypes, strict=False))

    def outcome(operand: Any) -> Any:
        out = np.zeros(shapes[0], dtypes[2])
        pair = (operand, a) if is_first else (a, operand)
        with np.errstate(all="ignore"):
            try:
                assert ufunc(*pair, out=out) is out
            except (TypeError, ValueError) as error:
                return type(error)
        return out.tobytes()

    assert outcome(xp.asarray(b)) == outcome(b)


def test_an_operator_in_place_of_numpys_array() -> None:
    a, x = np.arange(6.0), xp.asarray([1.0, 2.0, 3.0, 4.0, 5.0])
    view, alias = a[1:], a
    view += x
    view *= x[::-1]
    np.multiply(a[:-1], x, out=a[1:])  # it writes to what it reads
    a[:] -= x[0]
    assert alias is a
    wanted = np.arange(6.0)
    wanted[1:] += [1, 2, 3, 4, 5]
    wanted[1:] *= [5, 4, 3, 2, 1]
    np.multiply(wanted[:-1], [1.0, 2, 3, 4, 5], out=wanted[1:])
    assert np.array_equal(a, wanted - 1)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        a += x[0]
    with pytest.warns(RuntimeWarning, match="divide by zero"), xp.errstate(divide="warn"):
        np.divide(np.ones(2), xp.zeros(2), out=np.zeros(2))


@pytest.mark.parametrize("name", ["all", "any", "max", "mean", "min", "prod", "std", "sum", "var"])
@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "complex128"])
def test_methods_of_numpys_arrays_take_our_masks(name: str, dtype: str) -> None:
    more: dict[str, Any] = {"initial": 0} if name in ("max", "min") else {}
    for shape in ((2, 2), (2, 3), (3,), (0, 2)):
        x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        mask = x.real % 3 < 2
        for options in ({}, {"axis": 0}, {"axis": -1}, {"axis": -1, "keepdims": True}):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = getattr(x, name)(where=mask, **options, **more)
                ours = getattr(x, name)(where=xp.asarray(mask), **options, **more)
            assert type(ours) is type(theirs)
            np.testing.assert_array_equal(ours, theirs, strict=True)


def test_a_mask_of_ours_for_numpys_array_within_transforms() -> None:
    x = np.arange(4.0).reshape(2, 2)
    masks = np.array([[[True, True], [True, False]], [[True, False], [True, True]]])
    found = vmap(lambda m: xp.asarray(x.var(1, where=m)))(xp.asarray(masks))
    np.testing.assert_allclose(found, [x.var(1, where=m) for m in masks])
    total = grad(lambda v: v * x.sum(where=xp.broadcast_to(v > 0, (2, 2))))(xp.asarray(3.0))
    assert total == 6
