"""`chapters/linear_algebra.py`, call by call, against NumPy."""

from __future__ import annotations

import pytest

from ..numpy.comparing import compare

CALLS = """
np.matmul(m, m)
np.matmul(t, np.ones((4, 2)))
np.matmul(x, x)
np.tensordot(t, m, axes=1)
np.tensordot(t, t, axes=([0, 1], [0, 1]))
np.tensordot(x, v, axes=0)
np.vecdot(x, i)
np.tensordot(x, x, axes=3)
np.matmul(m, m, out=m); m
np.vecdot(x, x, axis=0)
np.matmul(m, m, dtype=np.float32)
np.tensordot(a=x, b=x, axes=2)
np.matrix_transpose(x)
np.matmul(b.T, b)
np.matmul(v, 2)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)
