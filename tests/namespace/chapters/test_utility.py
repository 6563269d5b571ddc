"""Utility functions against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp

from ..strategies import ALL, arrays, axes, quietly, same


@pytest.mark.parametrize("name", ["all", "any"])
@given(x=arrays(), keepdims=st.booleans(), data=st.data())
def test_truth(name, x, keepdims, data):
    axis = data.draw(axes(x.ndim))
    same(
        getattr(xp, name)(xp.asarray(x), axis=axis, keepdims=keepdims),
        getattr(np, name)(x, axis, keepdims=keepdims),
    )


@given(x=arrays(ALL, min_dims=1), n=st.integers(0, 5), data=st.data())
def test_diff(x, n, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    same(xp.diff(xp.asarray(x), n=n, axis=axis), quietly(np.diff, x, n, axis))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("prepend", [None, 1.5, np.ones((2, 2)), np.array(3)])
@pytest.mark.parametrize("append", [None, 7, np.ones((2, 2), np.int8)])
def test_diff_with_ends(axis, prepend, append):
    x = np.array([[1, 4], [9, 16]])
    ends = {k: v for k, v in (("prepend", prepend), ("append", append)) if v is not None}
    same(xp.diff(xp.asarray(x), axis=axis, **ends), np.diff(x, axis=axis, **ends))


def test_diff_not_taken_still_puts_on():
    """As the standard has it; NumPy gives back `x`."""
    same(xp.diff(xp.asarray([1, 2]), n=0, append=xp.asarray([3])), [1, 2, 3])


def test_diff_refuses():
    x = xp.asarray([[1, 2]])
    with pytest.raises(ValueError, match=r"^diff: n is -1; 0 or more would work"):
        xp.diff(x, n=-1)
    with pytest.raises(ValueError, match=r"^diff: needs one axis or more"):
        xp.diff(xp.asarray(1))
    with pytest.raises(ValueError, match=r"^diff: append has shape \(2, 1\), which differs from \(1, 2\)"):
        xp.diff(x, append=xp.asarray([[1], [2]]))
    with pytest.raises(np.exceptions.AxisError, match=r"^diff: axis 2 is out of bounds"):
        xp.diff(x, axis=2)
