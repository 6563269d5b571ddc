"""`chapters/scans.py`, call by call, against NumPy."""

from __future__ import annotations

import pytest

from ..numpy.comparing import compare

CALLS = """
np.cumsum(x)
np.cumsum(x, 1)
np.cumsum(i, axis=0, dtype=float)
np.cumprod(x)
np.cumprod(i, 1)
np.cumulative_sum(v)
np.cumulative_sum(x, axis=1, include_initial=True)
np.cumulative_prod(v)
np.cumsum([1,2,3])
np.cumsum(t, axis=1)
np.cumsum(b)
np.cumprod(u)
np.cumsum(x, axis=3)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)
