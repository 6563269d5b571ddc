"""`numpy/polynomials.py`, call by call, against NumPy."""

from __future__ import annotations

import pytest

from .comparing import compare

CALLS = """
np.poly([1.0, 2.0])
np.poly([1, 2, 3])
np.poly(m[:2, :2])
np.poly([])
np.poly([1j, -1j])
np.roots([1.0, -3.0, 2.0])
np.roots([1, 0, 1])
np.roots([0, 0, 1, -1, 0])
np.roots([0])
np.polyval([3, 0, 1], 5)
np.polyval([3, 0, 1], x)
np.polyval(v, v)
np.polyval([], 3)
np.polyadd([1, 2], [1, 0, 0])
np.polysub(v, [1, 2])
np.polymul([1, 2], [1, 0])
np.polymul(v, v)
np.polydiv([3.0, 5.0, 2.0], [2.0, 1.0])
np.polydiv([1, 2], [1, 2, 3])
np.polyder([1, 1, 1])
np.polyder(v, 2)
np.polyder(v, -1)
np.polyint([3.0, 2.0, 1.0])
np.polyint(v, 2, k=[1, 2])
np.polyint([3.0, 2.0, 1.0], m=2, k=3)
np.polyfit([0.0, 1.0, 2.0, 3.0], v, 1)
np.polyfit([0.0, 1.0, 2.0, 3.0], v, 2)
np.polyfit([0.0, 1.0, 2.0, 3.0], m, 1)
np.polyfit([0, 1, 2, 3], v, 1, w=[1, 2, 1, 1])
np.polyfit([0, 1, 2, 3], v, 1, cov=True)
np.polyfit([0, 1, 2], v, 1)
np.polyfit([0.0, 1.0, 2.0, 3.0], v, 1, full=True)[:3]
np.polyfit([0,1,2], f[0], 1)
np.polyval(f[0], f)
np.roots(f[0])
np.polyfit([1], [1, 2], 1)
np.polyval(x, 2)
np.polyval(i, i)
np.polyval([], b)
np.polyval(b[0], b)
np.polyval(2, v)
np.polyval([1, 2], b)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)
