"""Set functions against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp

from ..strategies import ALL, INTEGERS, NUMERIC, arrays, same


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse"])
@given(x=arrays(ALL))
def test_unique(name, x):
    ours, wanted = getattr(xp, name)(xp.asarray(x)), getattr(np, name)(x)
    assert ours._fields == wanted._fields
    for a, b in zip(ours, wanted, strict=True):
        same(a, b)


@given(x=arrays(ALL))
def test_unique_values(x):
    same(xp.unique_values(xp.asarray(x)), np.unique(x, equal_nan=False))


@given(x1=arrays(NUMERIC), x2=arrays(NUMERIC), invert=st.booleans())
def test_isin(x1, x2, invert):
    common = np.result_type(x1, x2)
    wanted = np.isin(x1.astype(common), x2.astype(common), invert=invert)
    same(xp.isin(xp.asarray(x1), xp.asarray(x2), invert=invert), wanted)


@given(x=arrays(INTEGERS), scalar=st.integers(-(2**65), 2**65), invert=st.booleans())
def test_isin_with_scalars(x, scalar, invert):
    same(xp.isin(xp.asarray(x), scalar, invert=invert), np.asarray((x == scalar) != invert))
    same(xp.isin(scalar, xp.asarray(x), invert=invert), np.bool(np.any(x == scalar) != invert))


@pytest.mark.usefixtures("recorded")
def test_isin_is_lazy():
    x = xp.asarray([1, 2])
    y = xp.isin(x, x + 1)
    assert y._node.value is None
    same(y, [False, True])
