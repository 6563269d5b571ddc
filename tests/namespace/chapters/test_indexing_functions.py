"""take and take_along_axis against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp


def same(ours: Any, theirs: Any) -> None:
    assert type(ours) is xp.Array
    np.testing.assert_array_equal(np.asarray(ours), theirs, strict=True)


def numbers(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize(("shape", "axis"), [((4,), 0), ((2, 3), 1), ((3, 2, 4), -2), ((2, 3), None)])
@pytest.mark.parametrize("indices", [0, -1, [0], [1, -2, 0], [[0, 1], [-1, -2]], np.zeros((0,), int)])
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64])
def test_take(shape: tuple[int, ...], axis: int | None, indices: Any, dtype: Any) -> None:
    index = np.asarray(indices)
    index = index if np.dtype(dtype).kind == "i" else index * (index > 0)
    a = numbers(shape)
    wanted = np.take(a, index, axis=axis)
    same(xp.take(xp.asarray(a), xp.asarray(index.astype(dtype)), axis=axis), wanted)
    same(xp.take(a, index.astype(dtype).tolist() if index.size else index, axis=axis), wanted)


@given(st.data())
def test_take_along_axis(data: st.DataObject) -> None:
    size = st.integers(1, 4)
    shape = tuple(data.draw(st.lists(size, min_size=1, max_size=3)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    own = [data.draw(st.sampled_from([1, n])) for n in shape]
    own[axis] = data.draw(st.integers(0, 4))
    other = [n if data.draw(st.booleans()) else 1 for n in shape]
    other[axis] = n = shape[axis]
    count = math.prod(own)
    flat = data.draw(st.lists(st.integers(-n, n - 1), min_size=count, max_size=count))
    index = np.asarray(flat, np.int64).reshape(own)
    a = numbers(tuple(other))
    same(xp.take_along_axis(xp.asarray(a), xp.asarray(index), axis=axis), np.take_along_axis(a, index, axis))
    same(xp.take_along_axis(a, index, axis), np.take_along_axis(a, index, axis))


def test_take_along_no_axis() -> None:
    a = numbers((2, 3))
    same(xp.take_along_axis(a, [5, -1, 0], axis=None), np.take_along_axis(a, np.asarray([5, -1, 0]), None))


def test_indices_that_are_not_known_fail_at_evaluation() -> None:
    x = xp.arange(3)
    for name, call in (("take", xp.take), ("take_along_axis", xp.take_along_axis)):
        out = call(x, xp.asarray([0, 5]) + 1)
        with pytest.raises(
            IndexError, match=rf"{name} \(called at .*test_indexing_functions.py:\d+\): index 6"
        ):
            out.tolist()


X = xp.ones((2, 3))
ERRORS = [
    (lambda: xp.take(X, [2], axis=0), IndexError, "take: index 2 is out of bounds for axis 0 with size 2"),
    (lambda: xp.take(X, np.asarray([0, -7])), IndexError, "take: index -7 is out of bounds"),
    (lambda: xp.take(X, 0, axis=2), IndexError, "take: axis 2"),
    (lambda: xp.take(X, xp.asarray([1.5]), axis=0), TypeError, "take: indices must be integers, not float64"),
    (lambda: xp.take(xp.ones((0,)), [0]), IndexError, "take: index 0 is out of bounds"),
    (lambda: xp.take_along_axis(X, [[3]]), IndexError, "take_along_axis: index 3 is out of bounds"),
    (lambda: xp.take_along_axis(X, [0]), ValueError, "take_along_axis: 1 axes of indices against 2"),
    (lambda: xp.take_along_axis(X, np.ones((3, 3), int)), IndexError, "take_along_axis: shapes"),
    (lambda: xp.take_along_axis(X, np.ones((2, 3))), IndexError, "take_along_axis: indices must be integers"),
    (lambda: xp.take_along_axis(X, np.ones((2, 3), int), axis=2), IndexError, "take_along_axis: axis 2"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("size", [6, 6000])  # of few elements NumPy takes them at once
def test_a_float_number_is_an_index_and_a_count_as_in_numpy(size: int) -> None:
    x = np.arange(float(size)).reshape(2, -1)
    np.testing.assert_array_equal(np.asarray(xp.take(xp.asarray(x), 1.5, axis=0)), np.take(x, 1.5, axis=0))
    np.testing.assert_array_equal(np.asarray(xp.repeat(xp.asarray(x), 2.5)), np.repeat(x, 2.5))
