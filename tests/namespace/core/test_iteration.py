"""Iteration over the elements of an array, as NumPy's: each is asked for when it is wanted."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from operator import length_hint
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import grad, vmap


@pytest.mark.parametrize("dtype", ["?", "i1", "u4", "i8", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("part", [slice(None), slice(None, None, -2), slice(3, 1)])
def test_elements_are_numpys(dtype: str, part: slice) -> None:
    theirs = np.arange(-3, 8).astype(dtype)
    x = xp.asarray(theirs.copy())
    for y, z in ((x[part], theirs[part]), (x[part] + x[part], theirs[part] + theirs[part])):
        found = list(y)
        assert found == list(z)
        assert [v.dtype for v in found] == [v.dtype for v in z]
        assert all(v.shape == () for v in found)


def test_rows() -> None:
    rows = list(xp.asarray([[1, 2], [3, 4], [5, 6]]))
    assert [r.tolist() for r in rows] == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(TypeError, match="iter"):
        iter(xp.asarray(1.0))


def test_what_is_written_meanwhile_is_seen() -> None:
    x = xp.asarray([1.0, 2.0, 3.0, 4.0])
    seen = []
    for i, v in enumerate(x):
        seen.append(float(v))
        x[i:] *= 2.0
    assert seen == [1.0, 4.0, 12.0, 32.0]
    it = iter(x)
    kept = next(it)
    x[0] = 7.0
    assert float(kept) == 2.0  # a number is no view


def test_an_array_that_changes_its_shape_meanwhile() -> None:
    x = xp.asarray([1.0, 2.0, 3.0, 4.0])
    it = iter(x)
    next(it)
    x.shape = (2, 2)
    assert next(it).tolist() == [3.0, 4.0]
    assert list(it) == []
    x.shape = (4,)
    assert list(it) == []  # what has ended stays so


def test_the_iterator() -> None:
    x = xp.asarray([1, 2, 3])
    it = iter(x)
    assert isinstance(it, Iterator)
    assert iter(it) is it
    assert length_hint(it) == 3
    next(it)
    assert length_hint(it) == 2
    assert list(copy.copy(it)) == list(pickle.loads(pickle.dumps(it))) == [2, 3]
    assert list(it) == [2, 3]
    assert length_hint(it) == 0
    assert list(copy.copy(it)) == []


def test_elements_under_transforms() -> None:
    def total(v: Any) -> Any:
        found = 0.0
        for e in v:
            found = found + e * e
        return found

    x = np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert np.asarray(grad(total)(xp.asarray(x[0]))).tolist() == [2.0, 4.0, 6.0]
    assert np.asarray(vmap(total)(xp.asarray(x))).tolist() == [14.0, 77.0]


def test_an_array_is_let_go_of_at_the_end() -> None:
    import gc
    import weakref

    x = xp.asarray([1.0, 2.0])
    it, here = iter(x), weakref.ref(x)
    list(it)
    del x
    gc.collect()
    assert here() is None
