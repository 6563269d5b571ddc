"""`numpy/padding.py`, call by call, against NumPy."""

from __future__ import annotations

import pytest

from .comparing import compare

CALLS = """
np.pad(v, 2)
np.pad(v, (1, 2), constant_values=9)
np.pad(x, ((1, 0), (0, 2)), constant_values=((1, 2), (3, 4)))
np.pad(x, 1, mode="edge")
np.pad(x, 2, "reflect")
np.pad(v, 5, "reflect")
np.pad(v, 6, "symmetric")
np.pad(x, ((1, 2), (3, 1)), "symmetric")
np.pad(v, 9, "wrap")
np.pad(v, 2, "reflect", reflect_type="odd")
np.pad(v, 6, "symmetric", reflect_type="odd")
np.pad(v, 2, "linear_ramp", end_values=(5, -4))
np.pad(i, 2, "linear_ramp")
np.pad(x, 1, "maximum")
np.pad(x, 1, "minimum", stat_length=1)
np.pad(i, 1, "mean")
np.pad(x, ((1, 1), (0, 2)), "mean", stat_length=2)
np.pad(x, 1, "median")
np.pad(v, 2, "empty").shape
np.pad(v, -1)
np.pad(v, 1, "no")
np.pad(v, 1, "edge", constant_values=3)
np.pad(e, 1)
np.pad(e, 1, "edge")
np.pad(v, 0)
np.pad([1, 2], (2, 3), "constant", constant_values=(4, 6))
np.pad(x, {0: (1, 2)})
np.pad(v, 1.5)
np.pad(s, 0)
np.pad(v)
np.pad(i, 1, constant_values=np.nan)
np.pad(i, 1, constant_values=1.7)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)
