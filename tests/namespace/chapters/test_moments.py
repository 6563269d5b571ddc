"""`chapters/moments.py`, call by call, against NumPy."""

from __future__ import annotations

import pytest

from ..numpy.comparing import compare

CALLS = """
np.mean(x)
np.mean(x, 0)
np.mean(i, axis=1)
np.mean(f)
np.mean(x, where=b)
np.mean(x, axis=1, where=b, keepdims=True)
np.mean(i, dtype=np.float32)
np.mean(b)
np.mean(c)
np.std(x)
np.std(x, axis=0, ddof=1)
np.std(x, where=b)
np.var(x, 1)
np.var(i)
np.var(f, axis=0)
np.var(x, axis=1, ddof=1, keepdims=True)
np.var(x, where=b, axis=1)
np.var(x, mean=np.mean(x, keepdims=True))
np.var(x, ddof=1, correction=1)
np.var(c)
np.mean(x, (0,1))
np.mean([1,2,3])
np.std([1,2,3])
np.mean(s)
np.std(e, axis=0)
np.mean(e, axis=1)
np.var(f, ddof=1)
np.mean(x, axis=1, out=np.zeros(2, int))
np.var(x, axis=1, out=np.zeros(2, int))
np.std(x, axis=1, out=np.zeros(2, int))
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)
