"""Keys: which give views, and which arrays in them are ints to NumPy."""

from __future__ import annotations

import math
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.ops.structure import slice_
from nabla_array._namespace.core.indexing import as_integers
from nabla_array._namespace.core.keys import is_plain, one_an_axis, selected, width
from nabla_array.transforms import vmap

PLAIN = [3, slice(1, None), None, ..., (), (0, slice(None, None, -1), ..., None)]
OTHER = [[0, 1], np.array([0]), True, 1.5, (0, [1]), slice(np.int64(1), None), (slice(1.5, None),)]


@pytest.mark.parametrize("key", PLAIN)
def test_plain_keys_stay_as_they_are_and_give_views(key: Any) -> None:
    x = np.zeros((4, 3))
    assert is_plain(key)
    assert as_integers(key) is key
    assert np.shares_memory(x, x[key]) or np.ndim(x[key]) == 0


@given(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0), st.data())
def test_what_a_plain_key_selects_is_what_numpy_gives(shape: tuple[int, ...], data: st.DataObject) -> None:
    x = np.arange(math.prod(shape)).reshape(shape)
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    items = key if isinstance(key, tuple) else (key,)
    ready = one_an_axis("getitem", items, map(width, items), x.ndim)
    part, out = selected("getitem", ready, shape)
    np.testing.assert_array_equal(slice_.host(x, **part).reshape(out), x[key])


@pytest.mark.parametrize("key", [(4,), (0, -4), (0, 0, 0), (..., 0, ...)], ids=str)
def test_keys_that_select_nothing_raise_as_numpys_do(key: tuple[Any, ...]) -> None:
    x = np.zeros((4, 3))
    with pytest.raises(IndexError):
        x[key]
    with pytest.raises(IndexError, match=r"getitem: (index|too many|an index)"):
        selected("getitem", one_an_axis("getitem", key, map(width, key), x.ndim), x.shape)


@pytest.mark.parametrize("key", OTHER, ids=str)
def test_other_keys_are_told_apart(key: Any) -> None:
    assert not is_plain(key)


def test_arrays_without_axes_are_ints_and_others_are_not() -> None:
    i, many = xp.asarray(2), xp.asarray([2])
    found = as_integers((i, many, slice(i, None)))
    assert found[0] == 2
    assert type(found[0]) is int
    assert found[1] is many
    assert found[2] == slice(2, None)


def test_an_index_that_differs_between_examples_stays_an_array() -> None:
    x = np.arange(12.0).reshape(4, 3)
    rows = np.array([2, 0, 1])
    found = xp.asarray(x)
    from_each = vmap(lambda i: found[i])(xp.asarray(rows))
    np.testing.assert_array_equal(np.asarray(from_each), x[rows])


@pytest.mark.parametrize("bound", ["1", 1.5])
def test_a_bound_that_is_no_integer_is_refused(bound: Any) -> None:
    with pytest.raises(TypeError, match="slice indices must be integers"):
        as_integers(slice(bound, None))
