"""`numpy/choosing.py`, call by call, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import nabla_array as xp

from .comparing import compare

CALLS = """
np.select([x > 1, x < 0], [x, x * 10])
np.select([x > 1, x < 0], [x, i], default=7)
np.select([b], [x], np.nan)
np.select([], [])
np.select([x > 1], [x, x])
np.select([i], [x])
np.choose([0, 1, 1], [[1, 2, 3], [10, 20, 30]])
np.choose(b, [x, -x])
np.choose([0, 3], [[1, 2], [3, 4]])
np.choose([0, 3], [[1, 2], [3, 4]], mode="clip")
np.choose([0, -3], [[1, 2], [3, 4]], mode="wrap")
np.piecewise(v, [v < 0, v >= 0], [lambda a: -a, lambda a: a * 2])
np.piecewise(v, [v < 0], [0, lambda a: a + 1])
np.piecewise(v, [v < 0, v > 2], [1, 2])
np.piecewise(s, [s > 1], [5])
np.piecewise(v, [v < 0], [1, 2, 3])
np.extract(x > 0, x)
np.extract(b, i)
np.extract([1, 0], [5, 6])
np.compress([True, False, True], x, axis=1)
np.compress([0, 1], x)
np.compress(x > 0, x)
np.argwhere(x > 0)
np.argwhere(s)
np.argwhere(e)
np.flatnonzero(x > 0)
np.flatnonzero(u)
np.diagonal(x)
np.diagonal(t, 1, 0, 2)
np.diagonal(t, axis1=1, axis2=2)
np.diagonal(v)
np.diagonal(x, 0, 1, 1)
np.trace(x)
np.trace(i, 1)
np.trace(t, axis1=1, axis2=2)
np.trace(u)
np.trace(b)
np.ravel_multi_index(([0, 1], [2, 1]), (2, 3))
np.ravel_multi_index(([0, 1], [2, 1]), (2, 3), order="F")
np.ravel_multi_index(([0, 5], [2, 1]), (2, 3))
np.ravel_multi_index(([0, 5], [2, 1]), (2, 3), mode="clip")
np.ravel_multi_index(([0, 5], [2, 1]), (2, 3), mode=("wrap", "clip"))
np.ravel_multi_index((1, 2), (2, 3))
np.unravel_index([2, 4], (2, 3))
np.unravel_index(4, (2, 3))
np.unravel_index([2, 4], (2, 3), order="F")
np.unravel_index([9], (2, 3))
np.unravel_index([0.5], (2, 3))
np.ix_([0, 1], [2, 0])
x[np.ix_([0, 1], [True, False, True])]
np.ix_(x)
np.copyto(x, 3); x
np.copyto(x, [1, 2, 3], where=b); x
np.copyto(i, 2.5); i
np.copyto(i, x)
np.copyto(i, x, casting="unsafe"); i
np.copyto(x, v)
np.putmask(x, b, [7, 8]); x
np.putmask(x, x > 0, x * 10); x
np.putmask(v, v > 9, 3); v
np.putmask(i, b, [2.5])
np.place(x, x > 1, [7, 8]); x
np.place(x, b, 9); x
np.place(x, b, [])
np.put(v, [0, 2], [7, 8]); v
np.put(x, [0, -1], 5); x
np.put(v, [9], 1)
np.put(v, [9], 1, mode="clip"); v
np.put(v, [9, 1], [1, 2], mode="wrap"); v
np.put_along_axis(x, np.argmax(x, axis=1, keepdims=True), 99, axis=1); x
np.put_along_axis(v, np.array([0, 1]), [5, 6], 0); v
np.put_along_axis(x, np.array([0, 1]), 5, None); x
np.put_along_axis(x, v, 5, 1)
np.fill_diagonal(m, 5); m
np.fill_diagonal(x, [1, 2]); x
z = np.zeros((5, 2)); np.fill_diagonal(z, 4, wrap=True); z
z = np.zeros((2, 2, 2)); np.fill_diagonal(z, 4); z
np.fill_diagonal(v, 1)
np.fill_diagonal(t, 1)
np.apply_along_axis(lambda a: a.sum(), 0, x)
np.apply_along_axis(lambda a: a * 2, 1, x)
np.apply_along_axis(np.sort, -1, t)
np.apply_along_axis(lambda a: np.outer(a, a), 1, x)
np.apply_along_axis(lambda a: a.sum(), 0, e.T)
np.apply_over_axes(np.sum, t, [0, 2])
np.apply_over_axes(np.sum, t, 1)
np.apply_along_axis(func1d=np.sum, axis=0, arr=x)
np.select([x>0, x<0], [1, -1])
np.piecewise(i, [i>0], [1.7, 0])
np.trace(f)
np.unravel_index(99, (2, 3))
np.select([b], [])
np.choose([5], [1, 2])
np.piecewise(t, [i > 0], [1, 2])
np.piecewise(t, [i > 0, i <= 0], [lambda q: q * 2, 0])
np.unravel_index(b, (2, 3))
np.ravel_multi_index(b[:, :2], (4, 5))
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)


def test_calls_along_an_axis_are_of_what_is_known() -> None:
    x = xp.linspace(0, 1, 1_000_000).reshape(2000, 500) * 2  # pending
    assert x._node.value is None
    seen = []

    def norm(v: xp.Array) -> xp.Array:
        seen.append(v._node.value is not None)
        return xp.sum(v * v)

    got = xp.apply_along_axis(norm, 0, x)
    assert all(seen)
    assert len(seen) == 500
    np.testing.assert_allclose(np.asarray(got), np.sum(np.asarray(x) ** 2, axis=0), rtol=1e-13)
