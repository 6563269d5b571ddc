"""Sorting against NumPy, in both directions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp

from ..strategies import ALL, REAL, arrays, same


@given(x=arrays(ALL, min_dims=1), stable=st.sampled_from([None, True, False]), data=st.data())
def test_ascending(x, stable, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    same(xp.argsort(xp.asarray(x), axis=axis, stable=True), np.argsort(x, axis=axis, stable=True))
    ours = xp.sort(xp.asarray(x), axis=axis, stable=stable)
    np.testing.assert_array_equal(np.asarray(ours), np.sort(x, axis=axis))


def descending(values):
    """Return the indices of a stable descending sort with nan last."""
    numbers = [i for i, v in enumerate(values) if v == v]
    return sorted(numbers, key=lambda i: -values[i]) + [i for i, v in enumerate(values) if v != v]


@given(x=arrays(REAL, min_dims=1))
def test_descending(x):
    a = xp.asarray(x)
    wanted = np.empty(x.shape, np.intp)
    for i in np.ndindex(x.shape[:-1]):
        wanted[i] = descending(x[i].tolist())
    same(xp.argsort(a, descending=True), wanted)
    same(xp.sort(a, descending=True, stable=True), np.take_along_axis(x, wanted, axis=-1))


@given(x=arrays(ALL, min_dims=1), down=st.booleans())
def test_sort_and_argsort_agree(x, down):
    order = np.asarray(xp.argsort(xp.asarray(x), axis=0, descending=down))
    same(xp.sort(xp.asarray(x), axis=0, descending=down, stable=True), np.take_along_axis(x, order, axis=0))


def test_numpys_keywords():
    x = xp.asarray([[3, 1], [2, 0]])
    same(xp.sort(x, kind="stable"), [[1, 3], [0, 2]])
    same(xp.sort(x, None), [0, 1, 2, 3])
    same(xp.argsort(x, 0, "quicksort"), [[1, 1], [0, 0]])


def test_the_argument_stays():
    x = xp.asarray([2.0, 1.0])
    xp.eval(xp.sort(x), xp.sort(x, descending=True))
    same(x, [2.0, 1.0])


@pytest.mark.parametrize("name", ["sort", "argsort"])
@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"kind": "bubble"}, "no kind 'bubble'; 'quicksort', 'heapsort' or 'stable' would work"),
        ({"kind": "stable", "stable": True}, "`kind` and keyword parameters can't be provided"),
        ({"order": "field"}, "order is for fields"),
        ({"axis": 1}, "axis 1 is out of bounds"),
    ],
)
def test_refuses(name, kwargs, message):
    with pytest.raises(ValueError, match=rf"^{name}: {message}"):
        getattr(xp, name)(xp.asarray([1, 2]), **kwargs)


@given(
    many=st.integers(1, 60_000),
    dtype=st.sampled_from(["f4", "f8", "i4", "u8"]),
    kinds=st.sampled_from([3, 1000, 1 << 30]),
    axis=st.sampled_from([0, 1, None]),
    seed=st.integers(0, 99),
    nan=st.booleans(),
)
def test_many_elements_keep_the_order_of_equal_ones(many, dtype, kinds, axis, seed, nan):
    x = np.random.default_rng(seed).integers(0, kinds, (2, many)).astype(dtype)
    if dtype[0] == "f":
        x[x == 1] = np.nan if nan else -0.0
        x[x == 2] = 0.0
    x = x if axis == 1 else x.T
    for a in (xp.asarray(x), xp.asarray(x[::-1])):
        same(xp.argsort(a, axis=axis), np.argsort(np.asarray(a), axis=axis, stable=True))
