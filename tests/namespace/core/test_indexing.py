"""Reading and writing with keys against NumPy: every kind of key, and wrong ones."""

from __future__ import annotations

import operator
import warnings
from collections import deque
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp

MASK = np.arange(6).reshape(2, 3) % 2 == 0
ROWS, COLUMNS = np.asarray([[1, 0]]), np.asarray([[2], [-1]])

# For an array of shape (2, 3, 4).
KEYS: list[Any] = [
    0,
    -1,
    np.int8(1),
    (1, 2),
    (1, 2, 3),
    (1, -1, ..., 3),
    (..., 1),
    (),
    ...,
    None,
    (None, 1, None, ..., None),
    slice(None),
    (slice(1, None), slice(None, None, -1)),
    (slice(5, 1), ...),
    (0, slice(None, None, 2), slice(-1, None, -2)),
    [0],
    [1, 0, 1],
    [],
    range(2),
    range(0),
    (range(2), [0, 2]),
    (0, range(2, 0, -1)),
    deque([1, 0]),
    ROWS,
    (ROWS, COLUMNS),
    (ROWS, slice(None), COLUMNS),
    (slice(None), ROWS, COLUMNS - 1),
    (slice(1), ROWS, 0),
    (0, slice(None), ROWS),
    (0, ROWS),
    (ROWS, ..., COLUMNS),
    (ROWS, None, COLUMNS),
    (None, ROWS, COLUMNS),
    (slice(None), [0, 2], [3, 3]),
    MASK,
    MASK.tolist(),
    MASK[0:2, 0],
    (MASK, 1),
    (MASK, slice(1, 3)),
    (..., np.asarray([True, False, True, False])),
    (0, [True, False, True]),
    (slice(None), MASK[0], [0, 1]),
    (MASK, [0, 1, 2]),
    np.ones((2, 3, 4), bool),
    np.zeros((2, 3, 4), bool),
    np.zeros((0,), bool),
    (..., np.zeros((3, 0), bool)),
    True,
    False,
    np.asarray(True),
    np.bool(False),
    (True, 0),
    (0, False),
    (slice(None), True, [0, 2]),
    (..., True, None),
    np.asarray(1),
    (np.asarray(1), slice(None)),
    np.uint64(1),
]


def lazy(key: Any) -> Any:
    """Return the key with our arrays for NumPy's."""
    if isinstance(key, tuple):
        return tuple(map(lazy, key))
    return xp.asarray(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_reading_and_writing(key: Any) -> None:
    start = np.arange(24.0).reshape(2, 3, 4)
    wanted = np.asarray(start[key])
    x = xp.asarray(start)
    for mine in (key, lazy(key)):
        np.testing.assert_array_equal(np.asarray(x[mine]), wanted, strict=True)
        for value in (-1, np.float32(2), np.arange(wanted.size).reshape(wanted.shape) * 0.5):
            for new in (value, xp.asarray(value)):
                ours, theirs = xp.asarray(start), start.copy()
                ours[mine] = new
                theirs[key] = value
                np.testing.assert_array_equal(np.asarray(ours), theirs, strict=True)
    np.testing.assert_array_equal(np.asarray(x), start)


def test_a_mask_writes_one_value_for_each_row() -> None:
    ours, theirs = xp.zeros((3, 2)), np.zeros((3, 2))
    mask = np.asarray([True, False, True])
    ours[xp.asarray(mask)] = xp.asarray([1.0, 2.0])
    theirs[mask] = [1, 2]
    np.testing.assert_array_equal(np.asarray(ours), theirs)


@pytest.mark.usefixtures("recorded")
def test_writing_stays_lazy() -> None:
    x = xp.asarray([3.0, 1.0, 2.0]) + 1
    x[1:] = x[:-1] * 2
    x[xp.asarray([0, 0])] = 9
    x[x > 7] = 0
    assert x._node.value is None
    np.testing.assert_array_equal(np.asarray(x), [0, 0, 4])


def test_a_view_may_be_written_over_its_own_array_in_another_order() -> None:
    ours, theirs = xp.arange(4), np.arange(4)
    ours[[3, 2, 1, 0]] = ours[:]
    theirs[[3, 2, 1, 0]] = theirs[:]
    np.testing.assert_array_equal(np.asarray(ours), theirs)
    ours[::-1] = ours
    theirs[::-1] = theirs.copy()
    np.testing.assert_array_equal(np.asarray(ours), theirs)


def test_an_element_is_no_view_and_an_update_makes_a_new_one() -> None:
    x = xp.asarray([1, 2, 3])
    first = old = x[0]
    first += 10
    assert (int(x[0]), int(old), int(first)) == (1, 1, 11)
    x[0] += 0.5  # a new float is cast on the way back, as NumPy's scalars do
    x[1] *= 3
    assert x.tolist() == [1, 6, 3]
    row = x[0, ...]
    row += 5
    assert x.tolist() == [6, 6, 3]


WRONG_KEYS: list[Any] = [
    2,
    -3,
    (0, 3),
    (0, 0, 0, 0),
    (..., ...),
    1.0,
    "a",
    [0.5],
    [2],
    np.asarray([0, -3]),
    (slice(None), [3]),
    ([0, 1], [0, 1, 2]),
    np.ones((3,), bool),
    (np.ones((2, 2), bool)),
    (..., np.ones((3,), bool)),
    (np.ones((2, 3, 4, 1), bool)),
    slice("a"),
    slice(1.5),
    {},
    [[0, 1], [2]],
    (False, 0, 5),
    (False, slice(None), np.asarray(5)),
    (False, ..., np.asarray(4)),
]


@pytest.mark.parametrize("key", WRONG_KEYS, ids=repr)
def test_wrong_keys(key: Any) -> None:
    a = np.arange(24).reshape(2, 3, 4)
    x = xp.asarray(a)
    for mine, call in ((key, operator.getitem), (key, lambda y, k: operator.setitem(y, k, 1))):
        with pytest.raises((IndexError, TypeError, ValueError)) as theirs:
            call(a.copy(), key)
        with pytest.raises(theirs.type):
            call(x, mine)
    np.testing.assert_array_equal(np.asarray(x), a, strict=True)


# (dtype, key, value) for an array of shape (2, 3).
WRONG_VALUES: list[tuple[Any, Any, Any]] = [
    (np.float64, 0, [1, 2]),
    (np.float64, slice(None), np.ones((3, 3))),
    (np.float64, ..., np.ones((2, 2, 3))),
    (np.float64, (0, 0), [1]),
    (np.float64, (0, 0), [1, 2]),
    (np.float64, [0, 1], np.ones((3, 1))),
    (np.float64, MASK, [1, 2]),
    (np.float64, 0, "a"),
    (np.int64, 0, None),
    (np.float64, 0, 1j),
    (np.int8, 0, 300),
    (np.int8, 0, [1, 2, 300]),
    (np.uint8, 0, -1),
    (np.int64, 0, 1 << 63),
    (np.int64, 0, float("nan")),
    (np.int64, 0, float("inf")),
    (np.int32, MASK, 1 << 31),
    (np.float32, 0, [[1, 2], [3]]),
]


@pytest.mark.parametrize(("dtype", "key", "value"), WRONG_VALUES, ids=repr)
def test_wrong_values(dtype: Any, key: Any, value: Any) -> None:
    a = np.zeros((2, 3), dtype)
    x = xp.asarray(a)
    with pytest.raises((TypeError, ValueError, OverflowError)) as theirs:
        a.copy()[key] = value
    with pytest.raises(theirs.type):
        x[key] = value
    np.testing.assert_array_equal(np.asarray(x), a, strict=True)


def test_the_imaginary_parts_of_a_complex_array_are_discarded_with_a_warning() -> None:
    x = xp.zeros(2)
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        x[:] = xp.asarray([1j, 2])
    assert x.tolist() == [0, 2]
    with pytest.raises(TypeError):
        x[0] = 1j


@pytest.mark.usefixtures("recorded")
def test_an_index_that_is_not_known_fails_at_evaluation_and_names_the_line() -> None:
    x = xp.arange(3)
    out = x[xp.asarray([5]) + 1]
    with pytest.raises(IndexError, match=r"getitem \(called at .*test_indexing.py:\d+\): index 6 is out of"):
        out.tolist()


def test_a_read_only_view_says_so_and_nothing_changes() -> None:
    base = xp.zeros(3)
    x = xp.broadcast_to(base, (2, 3))
    for call in (
        lambda: operator.setitem(x, 0, 1),
        lambda: operator.setitem(x, (0, [1]), 1),
        lambda: operator.setitem(x.T, x.T == 0, 1),
        lambda: operator.iadd(x, 1),
    ):
        with pytest.raises(ValueError, match="read-only"):
            call()
    assert base.tolist() == [0, 0, 0]


@pytest.mark.parametrize("value", [True, [True]])
def test_arrays_beside_a_mask_of_nothing_are_not_checked(value: Any) -> None:
    for of in (np, xp):
        x = of.zeros((1, 1, 2, 0))
        x[of.asarray([[False]]), ..., of.asarray([[5]])] = of.asarray(value)
        assert x[of.asarray([[False]]), ..., of.asarray([[5]])].shape == (1, 0, 2)
    with pytest.raises(IndexError):
        xp.zeros((1, 1, 2, 0))[xp.asarray([[True]]), ..., xp.asarray([[5]])] = xp.asarray(value)


KINDS = ["float", "f4", "f8", "ours f4", "ours f8"]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("is_filled", [False, True])
@given(st.floats(-130, 300) | st.floats(width=32), st.sampled_from(KINDS))
def test_floats_are_written_to_integers_as_numpy_casts(
    dtype: str, is_filled: bool, value: float, kind: str
) -> None:
    number: Any = value if kind == "float" else np.dtype(kind[-2:]).type(value)
    x = np.full((2, 3), 5, dtype) if is_filled else np.arange(6).reshape(2, 3).astype(dtype)
    y = xp.full((2, 3), 5, dtype=x.dtype) if is_filled else xp.asarray(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            x[1, 2] = number
        except (RuntimeWarning, ValueError, OverflowError):
            return  # what does not fit is stored as whatever the machine makes of it
        y[1, 2] = xp.asarray(number) if kind.startswith("ours") else number
    np.testing.assert_array_equal(np.asarray(y), x, strict=True)
