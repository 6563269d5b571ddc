"""`x.flat`, read and written, against NumPy's."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array.transforms import grad, vmap

# What an array is before its elements stand in a row.
VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x,
    lambda x: x.T,
    lambda x: x[::2],
    lambda x: x[..., ::-1],
    lambda x: x.reshape(-1),
]
shapes = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)


def keys(n: int) -> st.SearchStrategy[Any]:
    """Draw a key of a row of `n`: an int, a slice, integers, a mask, an ellipsis."""
    most = st.slices(n) | st.just(...) | hnp.arrays(bool, n)
    if not n:
        return most
    one = st.integers(-n, n - 1)
    return most | one | st.lists(one, min_size=1, max_size=5).map(np.array)


def ours(key: Any) -> Any:
    return xp.asarray(key) if isinstance(key, np.ndarray) else key


@given(shapes, st.sampled_from(VIEWS), st.data())
def test_elements_are_those_of_numpys(
    shape: tuple[int, ...], view: Callable[[Any], Any], data: st.DataObject
) -> None:
    theirs = view(np.arange(math.prod(shape)).reshape(shape))
    mine = view(xp.arange(math.prod(shape)).reshape(shape))
    key = data.draw(keys(theirs.size))
    np.testing.assert_array_equal(np.asarray(mine.flat[ours(key)]), theirs.flat[key])
    assert [int(k) for k in mine.flat] == [int(k) for k in theirs.flat]
    assert len(mine.flat) == len(theirs.flat)


@given(shapes, st.sampled_from(VIEWS), st.lists(st.integers(-9, 9), max_size=6), st.data())
def test_what_is_written_is_what_numpy_writes(
    shape: tuple[int, ...], view: Callable[[Any], Any], values: list[int], data: st.DataObject
) -> None:
    theirs = np.arange(math.prod(shape)).reshape(shape)
    mine = xp.asarray(theirs.copy())
    key = data.draw(keys(view(theirs).size))
    assume(values or np.size(np.arange(view(theirs).size)[key]) == 0)
    if np.ndim(np.arange(view(theirs).size)[key]) == 0:
        values = values[0]
    view(theirs).flat[key] = values
    view(mine).flat[ours(key)] = values
    np.testing.assert_array_equal(np.asarray(mine), theirs)


def test_an_iterator_knows_its_place() -> None:
    theirs, mine = np.arange(6).reshape(2, 3).T.flat, xp.arange(6).reshape(2, 3).T.flat
    for _ in range(6):
        assert (mine.index, mine.coords) == (theirs.index, theirs.coords)
        assert int(next(mine)) == int(next(theirs))
    for row in (mine, theirs):
        with pytest.raises(StopIteration):
            next(row)
        row[0]  # goes back to the front
        assert row.index == 0


@pytest.mark.parametrize(
    "compare", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
)
def test_comparisons_are_of_the_row(compare: Callable[[Any, Any], Any]) -> None:
    x = np.array([[3, 1], [2, 2]])
    np.testing.assert_array_equal(np.asarray(compare(xp.asarray(x).flat, 2)), compare(x.flat, 2))


def test_one_element_takes_no_sequence() -> None:
    for x in (np.zeros((2, 2)), xp.zeros((2, 2))):
        with pytest.raises(ValueError, match="Error setting single item of array"):
            x.flat[0] = [1, 2]
        with pytest.raises(IndexError):
            x.flat[9]


def test_an_array_that_is_read_only_stays_as_it_is() -> None:
    x = xp.zeros((2, 2))
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x.flat[0] = 1


def test_derivatives_and_examples_go_through() -> None:
    def halved(x: Any) -> Any:
        y = x * 1.0
        y.T.flat[:2] = y.flat[2:4] * 0.5
        return y

    x = np.arange(24.0).reshape(4, 2, 3)
    many = np.asarray(vmap(halved)(xp.asarray(x)))
    for one, wanted in zip(many, x, strict=True):
        np.testing.assert_array_equal(one, halved(wanted))
    slope = np.asarray(grad(lambda x: (halved(x) ** 2).sum())(xp.asarray(x[1])))
    step = 1e-6 * np.eye(6).reshape(6, 2, 3)
    finite = [((halved(x[1] + h) ** 2).sum() - (halved(x[1] - h) ** 2).sum()) / 2e-6 for h in step]
    np.testing.assert_allclose(slope.reshape(-1), finite, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "key",
    [
        True,
        False,
        [0, 2],
        [],
        np.array([True, False] * 2),
        slice(1, None, 2),
        -1,
        ...,
        None,
        1.0,
        (0, 1),
        "a",
    ],
    ids=str,
)
def test_keys_are_those_of_numpys_iterators(key: Any) -> None:
    def told(m: Any, write: bool) -> Any:
        x = m.arange(4.0).reshape(2, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                if write:
                    x.flat[key] = 9
                return np.asarray(x).tolist() if write else np.asarray(x.flat[key]).tolist()
            except (IndexError, TypeError, ValueError) as error:
                return type(error)

    assert told(xp, False) == told(np, False)
    assert told(xp, True) == told(np, True)
