"""`chapters/filling.py`, call by call, against NumPy."""

from __future__ import annotations

import pytest

from ..numpy.comparing import compare

CALLS = """
np.empty((2, 0))
np.zeros_like(x)
np.zeros_like(x, dtype=int)
np.zeros_like([1, 2])
np.zeros_like(x, shape=(2,))
np.ones_like(i)
np.ones_like(x, int, order="C")
np.empty_like(x).shape
np.full_like(i, 2.7)
np.full_like(x, [1, 2, 3])
np.full_like(x, 3, dtype=int, shape=(2,))
np.zeros_like(a=x)
np.full_like(a=x, fill_value=2)
np.full_like(x, "a")
np.full_like(i, np.inf)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)
