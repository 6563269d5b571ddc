"""`numpy/bits.py`, call by call, against NumPy."""

from __future__ import annotations

import pytest

from .comparing import compare

CALLS = """
np.packbits(b)
np.packbits(b, axis=1)
np.packbits(b, axis=0, bitorder="little")
np.packbits([1, 0, 1, 1, 0, 0, 0, 1, 1])
np.packbits(x)
np.unpackbits(u)
np.unpackbits(u.reshape(2, 2), axis=0)
np.unpackbits(u, count=5, bitorder="little")
np.unpackbits(i)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)
