"""`numpy/calling.py`, call by call, against NumPy."""

from __future__ import annotations

import pytest

from .comparing import compare

CALLS = """
np.vectorize(lambda a, c: a if a > c else c)(x, 1.0)
np.vectorize(lambda a: (a, a + 1))(v)
np.vectorize(lambda a: 2 * a, otypes=[float])(i)
np.vectorize(lambda a, c: (a * c).sum(), signature="(n),(n)->()")(x, x)
np.vectorize(lambda a: a.T @ a, signature="(n)->()")(t)
np.vectorize(lambda a: np.outer(a, a), signature="(n)->(n,n)")(x)
np.vectorize(lambda a, c: a, signature="(n),(n)->()")(x)
np.vectorize(lambda a, c: a, signature="(n),(n)->()")(x, v)
np.vectorize(lambda a: 2 * a)(u)
np.vectorize(lambda a: a + 300)(np.arange(4, dtype=np.uint8))
np.vectorize(lambda a: np.sin(a))(x)
np.vectorize(lambda a: np.exp(1j * a))(v)
np.vectorize(lambda a: a.is_integer())(v)
np.vectorize(lambda a: type(a).__name__, otypes=[object])(v)[:3].tolist()
np.vectorize(lambda a: [a], otypes=[object])(k).tolist()
np.vectorize(lambda a: [a, a])(v)
np.vectorize(lambda a: f"{a:.1f}")(v)
np.vectorize(len)(["ab", "c"])
np.vectorize(str.upper)(["ab", "c"])
np.vectorize(lambda a, n=2: a * n, excluded={"n"})(v, n=3)
np.vectorize(np.polyval, excluded=["p"])(p=v, x=k)
np.vectorize(lambda p, a: len(p) + a, excluded={0})(v, i)
np.vectorize(lambda a: a, otypes="d")(i)
np.vectorize(lambda a: a, otypes="!")(i)
np.vectorize(lambda a: a, otypes=3)(i)
np.vectorize(otypes=[float])(lambda a: a)(i)
np.vectorize(lambda a: 2 * a)(3)
np.vectorize(lambda a: a, cache=True)(v)
np.vectorize(lambda a: a)(e)
np.vectorize(lambda a: a, otypes=[int])(e)
np.vectorize(lambda a: a)()
[(p, float(q)) for p, q in np.ndenumerate(x)]
[float(q) for q in np.nditer(x)]
it = np.nditer(x, flags=["multi_index"]); [(it.multi_index, float(q)) for q in it]
it = np.nditer([x, i]); [(float(p), int(q)) for p, q in it]
it = np.nditer(x, op_flags=["readwrite"]); [q.__setitem__(..., 2 * q) for q in it]; x
np.nditer(x, "no")
np.broadcast(x, np.ones((4, 1, 1))).shape
np.broadcast(x, v)
[int(q) for q in np.nditer(i.T)]
[int(q) for q in np.nditer(i.T, order="C")]
[int(q) for q in np.nditer(i[::-1, ::-1])]
[float(q) for q in np.nditer(t.transpose(2, 0, 1))]
[float(q) for q in np.nditer(np.swapaxes(t, 0, 1)[:, ::-2])]
[q.tolist() for q in np.nditer(i[:, ::2], flags=["external_loop"])]
[q.tolist() for q in np.nditer(i.T, flags=["external_loop"], order="C")]
[float(q) for q in np.nditer(np.broadcast_to(v, (2, 4)))]
[float(q) for q in np.nditer(np.diag(m))]
[(int(p), int(q)) for p, q in np.nditer([i.T, np.array([1, 2])])]
it = np.nditer(i.T, flags=["multi_index"]); [(int(q), it.multi_index) for q in it]
it = np.nditer(i[:, 1:].T, op_flags=["readwrite"]); [q.__setitem__(..., q * 2) for q in it]; it.close(); i
np.nditer(np.broadcast_to(v, (2, 4)), op_flags=["readwrite"])
np.nditer(np.diag(m), op_flags=["readwrite"])
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_call_is_numpys(call: str) -> None:
    compare(call)
