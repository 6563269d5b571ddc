"""`numpy/ordering.py`, call by call, against NumPy."""

from __future__ import annotations

import pytest

from .comparing import compare

CALLS = """
np.lexsort((k, v))
np.lexsort(([1, 2, 0, 0], [1, 0, 1, 1]))
np.lexsort(([1, 2], [1, 0, 1]))
np.partition(v, np.array([], dtype=np.int16))
np.argpartition(v, np.array([], dtype=np.int16))
np.partition(v, 1)[1]
np.partition(v, 9)
np.partition(np.zeros((3, 0)), 0)
np.argpartition(np.zeros((0, 2)), 1, axis=0)
np.argpartition(v, 2)[2]
np.sort_complex(v)
np.sort_complex(c)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)
