"""`numpy/more_linalg.py`, call by call, against NumPy."""

from __future__ import annotations

import pytest

from .comparing import compare

CALLS = """
np.linalg.norm(v)
np.linalg.norm(x)
np.linalg.norm(x, axis=1)
np.linalg.norm(x, axis=0, keepdims=True)
np.linalg.norm(x, "fro")
np.linalg.norm(x, ord=1)
np.linalg.norm(x, ord=np.inf)
np.linalg.norm(x, ord=2)
np.linalg.norm(x, "nuc")
np.linalg.norm(v, 1)
np.linalg.norm(v, np.inf)
np.linalg.norm(v, 3)
np.linalg.norm(v, 0)
np.linalg.norm(t, axis=(1, 2))
np.linalg.norm(t)
np.linalg.norm(t, 2)
np.linalg.norm(i)
np.linalg.norm(x, "no")
np.linalg.norm(c)
np.linalg.cond(m)
np.linalg.cond(m, 1)
np.linalg.cond(m, "fro")
np.linalg.cond(m, -2)
np.linalg.cond(np.ones((2, 2)), 1)
np.linalg.cond(np.ones((2, 2)), "fro")
np.linalg.cond(np.stack([np.ones((2, 2)), np.eye(2), n[:, :2]]), -np.inf)
np.linalg.cond(np.array([[1, np.inf], [2, 3]]))
np.linalg.cond(np.zeros((2, 2)))
np.linalg.cond(np.zeros((0, 2, 2)))
np.linalg.cond(np.zeros((2, 0, 0)))
np.linalg.lstsq(t[0].T, v)
np.linalg.lstsq(np.zeros((3, 0)), np.ones((3, 2)))
np.linalg.lstsq(np.zeros((0, 3)), np.ones(0))
np.linalg.lstsq(m, m)
np.linalg.lstsq(x, [1.0, 2.0])
np.linalg.lstsq(x, v)
np.linalg.multi_dot([x, x.T, x])
np.linalg.multi_dot([v, m, v])
np.linalg.multi_dot([v, m, m])
np.linalg.multi_dot([m])
np.linalg.tensorinv(m.reshape(2, 2, 2, 2))
np.linalg.tensorinv(m.reshape(4, 2, 2), ind=1)
np.linalg.tensorinv(m, ind=0)
np.linalg.tensorsolve(m.reshape(2, 2, 2, 2), x[:, :2])
np.linalg.tensorsolve(m.reshape(2, 2, 4), v.reshape(2, 2))
np.linalg.norm(t, axis=[0, 1])
np.linalg.norm(e)
np.linalg.norm(s)
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)
