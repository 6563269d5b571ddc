"""What NumPy's own tests found: sizes and axes given as arrays and ranges, infinite samples, and so on."""

from __future__ import annotations

import pytest

from .comparing import compare

CALLS = """
np.zeros(k)
np.ones(np.array([2, 3]) * 2)
np.full(np.array([2, 3]), 1)
np.zeros(range(3))
np.arange(6).reshape(np.array([2, 3]))
np.reshape(np.arange(6), np.array([3, -1]))
np.resize(np.arange(3), np.array([2, 3]))
np.transpose(x, np.array([1, 0]))
x.transpose(np.array([1, 0]))
np.moveaxis(t, range(2), range(1, -1, -1))
np.unravel_index(3, np.array([2, 3]))
np.broadcast_to(1.5, np.array([2, 3]))
np.tile(v, np.array([2, 3]))
np.gradient(v, np.array(3.0))
np.interp(v, [0.0, 1.0, 2.0], [1.0, np.inf, 2.0])
np.interp(v, [0.0, 1.0, 2.0], [1j, 2.0, np.inf])
np.pad(u, 3, mode="linear_ramp", end_values=9)
np.array([0, 2**64, 0])
x.flatten("f")
np.ravel(x, "a")
np.reshape(x, (3, 2), order="f")
np.zeros(2, order="f")
np.quantile(f, 0.4)
np.quantile(f, np.array(0.4))
np.percentile(f, [40])
np.nanquantile(f, 0.4)
np.nanpercentile(f, np.array([40.0]))
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_a_call_is_numpys(call: str) -> None:
    compare(call, host=True)
