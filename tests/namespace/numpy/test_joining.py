"""`numpy/joining.py`, call by call, against NumPy."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import nabla_array as xp

from .comparing import compare

CALLS = """
np.append(v, 3)
np.append(x, [[1, 2, 3]], axis=0)
np.append(x, [1, 2])
np.append(x, [1, 2], axis=0)
np.atleast_3d(v)
np.atleast_3d(x, s, t)
np.vstack((v, v))
np.vstack([x, i])
np.vstack([x, v])
np.vstack([f, f], dtype=np.float64)
np.row_stack((v, v))
np.hstack((v, [1, 2]))
np.hstack([x, x])
np.hstack([s, s])
np.dstack([v, v])
np.dstack([x, x])
np.dstack([x, v])
np.column_stack([v, v])
np.column_stack([x, [1, 2]])
np.column_stack(([1, 2], x))
np.block([[x, x], [i, i]])
np.block([1, 2, 3])
np.block([[np.eye(2), np.zeros((2, 1))], [np.ones((1, 3))]])
np.block(x)
np.block([[x], x])
np.array_split(v, 3)
np.array_split(x, 2, axis=1)
np.array_split(v, [1, 2, 9])
np.array_split(v, 0)
np.split(v, 2)
np.split(v, 3)
np.split(x, [1], axis=1)
np.hsplit(x, 3)
np.hsplit(v, 2)
np.hsplit(s, 1)
np.vsplit(x, 2)
np.vsplit(v, 2)
np.dsplit(t, 2)
np.dsplit(x, 2)
np.delete(v, 1)
np.delete(v, [0, -1])
np.delete(x, slice(None, None, 2), axis=1)
np.delete(x, 1)
np.delete(x, [True, False], axis=0)
np.delete(v, 9)
np.insert(v, 1, 9)
np.insert(v, [0, 2], [7, 8])
np.insert(v, [1, 1], 5)
np.insert(x, 1, 5, axis=1)
np.insert(x, 1, [5, 6], axis=1)
np.insert(x, [1], [[5], [6]], axis=1)
np.insert(x, -1, [7, 8, 9], axis=0)
np.insert(x, 1, [7, 8])
np.insert(v, slice(0, 2), [1, 2])
np.insert(v, 4, 9)
np.insert(v, 9, 9)
np.insert(i, 0, 2.7, axis=0)
np.resize(v, (2, 3))
np.resize(x, 4)
np.resize(v, (3, 3))
np.resize(v, -1)
np.trim_zeros(np.array([0, 0, 1, 0, 2, 0]))
np.trim_zeros(np.array([0, 1, 0]), "f")
np.trim_zeros(np.array([0, 1, 0]), "b")
np.fliplr(x)
np.fliplr(v)
np.fliplr(t)
np.flipud(v)
np.flipud(x)
np.flipud(s)
np.rot90(x)
np.rot90(x, 2)
np.rot90(x, 3)
np.rot90(t, -1, (1, 2))
np.rot90(x, 0)
np.rot90(v)
np.rollaxis(t, 2)
np.rollaxis(t, 0, 3)
np.rollaxis(t, 1, 9)
np.hstack((e, e))
np.split(e, 3, axis=1)
np.insert(f, 1, 1.0, axis=0)
np.delete(b, 0, 0)
np.append(i, 1.5)
np.hstack([])
np.vstack(5)
np.trim_zeros([0, 1, 2, 0])
np.trim_zeros((0, 1, 2, 0), "f")
np.trim_zeros([0, 0])
np.trim_zeros([])
np.trim_zeros(5)
np.trim_zeros(np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]]), axis=-1)
np.vstack(range(4))
np.hstack(range(4))
np.column_stack(range(4))
np.vstack(j for j in range(3))
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)


PLACES: list[Any] = [
    *(0, -1, 3, 99, -99, np.int64(2), np.array(2), np.uint64(1), True, 2.0, None, "a"),
    *([], [1], [1, 1, -2], [99], [[0, 1], [2, 3]], [1.5], np.array([]), np.array([], int)),
    *(slice(None), slice(1, 3), slice(None, None, -2), slice(9, 2), [True] * 6, np.arange(4) % 2 == 0),
]


@pytest.mark.parametrize("places", PLACES, ids=repr)
def test_what_is_deleted_where_compiled_code_leaves_it_to_python(places: Any) -> None:
    x = np.arange(24.0).reshape(4, 6)

    def outcome(delete: Any, a: Any, axis: int | None) -> Any:
        try:
            return np.asarray(delete(a, places, axis)).tolist()
        except Exception as error:
            return next(c for c in type(error).__mro__ if c.__module__ == "builtins")

    for axis in (None, 0, 1, -1):
        wanted = outcome(np.delete, x, axis)
        assert outcome(inspect.unwrap(xp.delete), xp.asarray(x), axis) == wanted
        assert outcome(xp.delete, xp.asarray(x), axis) == wanted
