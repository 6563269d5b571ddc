"""`chapters/joining.py`, call by call, against NumPy."""

from __future__ import annotations

import pytest

from ..numpy.comparing import compare

CALLS = """
np.concatenate((x, i))
np.concatenate((x, i), axis=1)
np.concatenate((x, i), axis=None)
np.concatenate((x, i), dtype=np.float32)
np.concatenate((x, i), dtype=np.int32)
np.concatenate((x, v))
np.concatenate([], axis=0)
o2 = np.zeros((4, 3)); np.concatenate((x, i), out=o2); o2
np.stack([x, i])
np.stack([x, i], axis=-1)
np.stack([x, v])
np.tile(v, 2)
np.tile(x, reps=(2, 1))
np.repeat(v, 2)
np.repeat(x, repeats=2, axis=1)
np.repeat(v, [0, 1, 2, 3])
np.concatenate([v, v], 0)
np.stack(arrays=[v, v])
np.tile(A=v, reps=2)
np.unstack(x)
np.concatenate((e, x))
np.tile(s, (2,2))
np.repeat(s, 3)
np.concatenate((x, s))
np.stack([])
np.repeat(v, -1)
np.tile(v, -1)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)
