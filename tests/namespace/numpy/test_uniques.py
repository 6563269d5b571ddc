"""`numpy/uniques.py`, call by call, against NumPy."""

from __future__ import annotations

import pytest

import nabla_array as xp

from .comparing import compare

CALLS = """
np.unique(i)
np.unique(i, return_index=True, return_inverse=True, return_counts=True)
np.unique(i, axis=0)
np.unique(k, return_counts=True)
np.unique(n)
np.unique(n, equal_nan=False)
np.unique([3, 1, 3])
np.intersect1d([1, 3, 4, 3], [3, 1, 2])
np.intersect1d(i, k)
np.intersect1d([1, 3, 4, 3], [3, 1, 2], return_indices=True)
np.union1d(i, k)
np.union1d([1.5], k)
np.setdiff1d(i, k)
np.setdiff1d([1, 2, 3], [2], assume_unique=True)
np.setxor1d(i, k)
np.unique(ar=i)
np.unique(e)
np.unique(s)
np.unique(c)
np.unique(b)
np.unique(f, return_inverse=True)
np.intersect1d(f, i)
np.setdiff1d(f, x)
np.setxor1d(2, u)
np.intersect1d(300, u)
np.setxor1d(f, 2.5)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex64"])
def test_integers_that_become_one_float_are_not_in_both(dtype: str) -> None:
    x, y = xp.asarray([2**64 - 2, 2**64 - 4, 5], dtype="uint64"), xp.asarray([5], dtype=dtype)
    assert xp.intersect1d(x, y).tolist() == [5]
