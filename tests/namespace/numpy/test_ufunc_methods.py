"""Methods of ufuncs, and what they take beside their operands, against NumPy."""

from __future__ import annotations

import pytest

from .comparing import compare

UFUNCS = (
    "add",
    "multiply",
    "maximum",
    "minimum",
    "logical_or",
    "logical_and",
    "bitwise_xor",
    "subtract",
    "hypot",
)
METHODS = """
np.{}.reduce(x)
np.{}.reduce(i, axis=1)
np.{}.reduce(i, axis=None)
np.{}.reduce(x, axis=0, keepdims=True)
np.{}.reduce(b, axis=(0, 1))
np.{}.reduce(e, axis=0)
np.{}.reduce(x, initial=2)
np.{}.reduce(x, initial=2, where=b)
np.{}.accumulate(i)
np.{}.accumulate(x, axis=1)
np.{}.accumulate(s)
np.{}.reduceat(v, [0, 2])
np.{}.outer(v, k)
z = np.zeros((2, 3)); np.{}.at(i, (0, [1, 1]), 3); i
np.{}(x, x, where=b, out=np.zeros((2, 3)))
np.{}(i, i, dtype=np.float32)
"""


@pytest.mark.parametrize("ufunc", UFUNCS)
@pytest.mark.parametrize("call", METHODS.strip().splitlines())
def test_a_method_is_numpys(ufunc: str, call: str) -> None:
    compare(call.format(ufunc), host=".at(" in call)
