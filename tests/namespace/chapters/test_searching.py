"""Searching functions against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import nabla_array as xp

from ..strategies import ALL, REAL, arrays, axes, same


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@given(x=arrays(ALL, min_side=1), keepdims=st.booleans(), data=st.data())
def test_index_of_extremes(name, x, keepdims, data):
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.none())
    wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    same(getattr(xp, name)(xp.asarray(x), axis=axis, keepdims=keepdims), wanted)


@pytest.mark.parametrize("axis", [None, 0])
def test_no_index_into_nothing(axis):
    with pytest.raises(ValueError, match=r"^argmin: no index into an empty axis: shape \(0, 2\) along axis"):
        xp.argmin(xp.asarray(np.ones((0, 2))), axis=axis)


@given(x=arrays(), keepdims=st.booleans(), data=st.data())
def test_count_nonzero(x, keepdims, data):
    axis = data.draw(axes(x.ndim))
    wanted = np.asarray(np.count_nonzero(x, axis=axis, keepdims=keepdims), np.intp)
    same(xp.count_nonzero(xp.asarray(x), axis=axis, keepdims=keepdims), wanted)


@given(x=arrays(min_dims=1))
def test_nonzero(x):
    for function in (xp.nonzero, xp.where):
        for ours, wanted in zip(function(xp.asarray(x)), x.nonzero(), strict=True):
            same(ours, wanted)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(2100,), (2100, 1), (3, 1000), (50, 60), (7, 3, 200), (0, 5000)])
def test_nonzero_of_many(shape, dtype):
    rng = np.random.default_rng(0)
    x = rng.choice([0, 0, 1, 200] if dtype == "uint64" else [0, -0.0, 1, -1], size=shape).astype(dtype)
    if np.dtype(dtype).kind in "fc" and x.size:
        x.flat[[3, 40, 500]] = np.nan, np.inf, 1e-7
    for laid in (x, x.T, x[..., ::-1], np.asfortranarray(x)):
        a = xp.asarray(laid)
        for found in (xp.nonzero(a), xp.where(a), a.nonzero(), xp.nonzero(a + 0 if dtype != "bool" else ~~a)):
            for ours, wanted in zip(found, laid.nonzero(), strict=True):
                same(ours, wanted)


def test_nonzero_of_a_scalar():
    with pytest.raises(ValueError, match=r"^nonzero: Calling nonzero on 0d arrays is not allowed"):
        xp.nonzero(xp.asarray(1))


@given(
    x1=arrays(REAL, nan=False),
    side=st.sampled_from(["left", "right"]),
    unsorted=st.booleans(),
    data=st.data(),
)
def test_searchsorted(x1, side, unsorted, data):
    x1 = x1.ravel()
    x2 = data.draw(arrays((x1.dtype.name,)))
    sorter = np.argsort(x1) if unsorted else None
    base = x1 if unsorted else np.sort(x1)
    same(
        xp.searchsorted(xp.asarray(base), xp.asarray(x2), side=side, sorter=sorter),
        np.searchsorted(base, x2, side, sorter),
    )


def test_searchsorted_takes_scalars():
    same(xp.searchsorted(xp.asarray([1, 3, 5]), 3, side="right"), np.intp(2))
    x = xp.asarray([0.1, 0.2], dtype=xp.float32)
    same(xp.searchsorted(x, 0.1), np.intp(0))  # weak: 0.1 is the float32 one


@pytest.mark.parametrize(
    ("error", "message", "shape", "kwargs"),
    [
        (ValueError, "no side 'up'; 'left' or 'right' would work", (2,), {"side": "up"}),
        (ValueError, r"needs a with one axis, not of shape \(1, 2\)", (1, 2), {}),
        (ValueError, r"the sorter's shape \(1,\) is not that of a, \(2,\)", (2,), {"sorter": [0]}),
        (TypeError, "needs a integer dtype, not float64", (2,), {"sorter": [0.0, 1.0]}),
    ],
)
def test_searchsorted_refuses(error, message, shape, kwargs):
    with pytest.raises(error, match=f"^searchsorted: {message}"):
        xp.searchsorted(xp.asarray(np.ones(shape)), 1.0, **kwargs)


def test_bad_sorter_is_seen_at_evaluation():
    y = xp.searchsorted(xp.asarray([1.0, 2.0]), 1.0, sorter=[0, 7])
    with pytest.raises(IndexError, match="searchsorted"):
        int(y)


@given(
    shapes=hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3),
    dtypes=st.tuples(st.sampled_from(ALL), st.sampled_from(ALL), st.sampled_from(ALL)),
    seed=st.integers(0, 99),
)
def test_where(shapes, dtypes, seed):
    rng = np.random.default_rng(seed)
    mask, x, y = (rng.integers(0, 3, s).astype(d) for s, d in zip(shapes.input_shapes, dtypes, strict=True))
    same(xp.where(xp.asarray(mask), xp.asarray(x), xp.asarray(y)), np.where(mask, x, y))


@pytest.mark.parametrize(
    "x", [np.float32([1, 2]), np.int8([1, 2]), np.array([1j, 2]), np.array([True, False])]
)
@pytest.mark.parametrize("scalar", [True, 3, 2.5, 1j, float("nan"), np.float64(2)])
def test_where_with_scalars(x, scalar):
    mask = np.array([True, False])
    same(xp.where(xp.asarray(mask), xp.asarray(x), scalar), np.where(mask, x, scalar))
    same(xp.where(xp.asarray(mask), scalar, xp.asarray(x)), np.where(mask, scalar, x))


def test_where_refuses():
    mask = xp.asarray([True, False])
    with pytest.raises(ValueError, match=r"^where: either both or neither"):
        xp.where(mask, mask)
    with pytest.raises(ValueError, match=r"^where: shapes \(2,\), \(3,\), \(\) could not be broadcast"):
        xp.where(mask, xp.asarray([1, 2, 3]), 0)
    with pytest.raises(OverflowError):
        xp.where(mask, xp.asarray([1, 2], dtype=xp.int8), 300)


def test_where_on_large_arrays():
    """Here it is run in blocks."""
    x = np.random.default_rng(0).standard_normal(100_000)
    same(xp.where(xp.asarray(x) > 0, xp.asarray(x) * 2, 0.0), np.where(x > 0, x * 2, 0.0))
