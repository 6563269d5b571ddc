"""`numpy/more_fft.py`, call by call, against NumPy."""

from __future__ import annotations

import pytest

from .comparing import compare

CALLS = """
np.fft.fft2(x)
np.fft.fft2(m, s=(2, 2))
np.fft.ifft2(x)
np.fft.rfft2(x)
np.fft.irfft2(c)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)
