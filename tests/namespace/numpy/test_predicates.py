"""`numpy/predicates.py`, call by call, against NumPy."""

from __future__ import annotations

import pytest

from .comparing import compare

CALLS = """
np.iscomplexobj(c)
np.iscomplexobj(x)
np.iscomplexobj(1j)
np.isrealobj(c)
np.isrealobj(3)
np.ndim(2.0)
np.shape(True)
np.shape(x[0, 0])
np.size(2)
np.size(a=x)
np.isscalar(x)
np.isscalar(x[0, 0])
np.isscalar([3])
np.isscalar(None)
np.ndim(x)
np.ndim([[1]])
np.shape(x)
np.shape([1, 2])
np.size(x)
np.size(x, 1)
np.size([1, 2])
np.isscalar(3)
np.isscalar("a")
np.iterable(x)
np.iterable(3)
np.shares_memory(x, x)
np.may_share_memory(v, x)
np.isfortran(x)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)
