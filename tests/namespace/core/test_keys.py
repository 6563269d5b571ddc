"""Keys: which give views, and which arrays in them are ints to NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._namespace.core.keys import as_integers, is_plain
from nabla_array.transforms import vmap

PLAIN = [3, slice(1, None), None, ..., (), (0, slice(None, None, -1), ..., None)]
OTHER = [[0, 1], np.array([0]), True, 1.5, (0, [1]), slice(np.int64(1), None), (slice(1.5, None),)]


@pytest.mark.parametrize("key", PLAIN)
def test_plain_keys_stay_as_they_are_and_give_views(key: Any) -> None:
    x = np.zeros((4, 3))
    assert is_plain(key)
    assert as_integers(key) is key
    assert np.shares_memory(x, x[key]) or np.ndim(x[key]) == 0


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
