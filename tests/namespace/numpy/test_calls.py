"""NumPy's names, call by call, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from .calls import HOST, TABLES
from .comparing import compare

# What NumPy 2.5 has dropped; ours stay as they were, for the scripts that use them.
DROPPED = ("np.row_stack((v, v))", "np.cross(x, [1, 2])")


@pytest.mark.parametrize("call", [c for table in TABLES for c in table.strip().splitlines()])
def test_a_call_is_numpys(call: str) -> None:
    if call in DROPPED and np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        pytest.skip("NumPy has dropped this in 2.5, so there is nothing to compare with")
    compare(call)


@pytest.mark.parametrize("call", HOST.strip().splitlines())
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_a_call_through_the_host_is_numpys(call: str) -> None:
    compare(call, host=True)
