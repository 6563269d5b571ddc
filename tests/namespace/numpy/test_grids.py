"""`numpy/grids.py`, call by call, against NumPy."""

from __future__ import annotations

import pytest

from .comparing import compare

CALLS = """
np.mgrid[0:3, 0:2]
np.mgrid[0:1:3j]
np.mgrid[0:1:3j, 1:5:2]
np.mgrid[-1:2]
np.mgrid[0:2, 0:1:0.5]
np.ogrid[0:3, 0:2]
np.ogrid[0:1:3j, 0:2]
np.ogrid[0:5]
np.r_[1, 2, 3]
np.r_[v, 0, [1, 2]]
np.r_[1:4, 0, 4]
np.r_[0:1:3j, 5]
np.r_["0,2", [1, 2], [3, 4]]
np.r_["-1", x, x]
np.r_["0,2,0", [1, 2], [3, 4]]
np.r_["1,2,0", [1, 2], [3, 4]]
np.r_[x, x]
np.c_[v, v]
np.c_[x, [1, 2]]
np.c_[1:4, 4:7]
np.s_[1:2, None]
np.index_exp[::2]
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)
