"""Arrays without axes, and what NumPy has scalars for."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.native import compiled
from nabla_array._namespace.core.array import Array, is_scalar
from nabla_array.transforms import grad

# What is done to arrays without axes `a` and `b`, and a number; an array that comes of it is one more.
STEPS: dict[str, Any] = {
    "new": lambda np, a, b, n: np.array(float(n)),
    "filled": lambda np, a, b, n: np.full((), float(n)),
    "add": lambda np, a, b, n: a.__iadd__(n),
    "multiply": lambda np, a, b, n: a.__imul__(b),
    "into": lambda np, a, b, n: np.add(a, b, out=a),
    "all": lambda np, a, b, n: a.__setitem__(..., b),
    "element": lambda np, a, b, n: a.__setitem__((), n),
    "copy": lambda np, a, b, n: a.copy(),
    "same": lambda np, a, b, n: np.asarray(a),
    "view": lambda np, a, b, n: a[...],
    "longer view": lambda np, a, b, n: a.reshape(1)[0:1].reshape(()),
    "of a scalar": lambda np, a, b, n: np.asarray(a + b),
    "cast": lambda np, a, b, n: a.astype(float),
    "pending": lambda np, a, b, n: np.ones(6000) * a,
    "pending scalar": lambda np, a, b, n: np.asarray((np.ones(6000) * a).sum()),
}


def run(np: ModuleType, steps: list[tuple[str, int, int, int]]) -> list[Any]:
    arrays, others = [np.array(1.0)], []
    for name, i, j, n in steps:
        found = STEPS[name](np, arrays[i % len(arrays)], arrays[j % len(arrays)], n)
        if found is not None:
            (others if found.shape else arrays).append(found)
    return [*arrays, *others]


@given(st.lists(st.tuples(st.sampled_from([*STEPS]), *[st.integers(0, 20)] * 3), max_size=12))
def test_who_sees_a_write(steps: list[tuple[str, int, int, int]]) -> None:
    with np.errstate(all="ignore"):
        for ours, theirs in zip(run(xp, steps), run(np, steps), strict=True):
            np.testing.assert_array_equal(np.asarray(ours), theirs, strict=True)


def kinds(result: Any) -> Any:
    """Say of each array whether it is a scalar, or without axes."""
    if isinstance(result, tuple | list):
        return [kinds(x) for x in result]
    if type(result) is Array:
        return "scalar" if is_scalar(result) else result.ndim
    if isinstance(result, np.ndarray):
        return result.ndim
    return "scalar" if isinstance(result, np.generic) else type(result)


CALLS = """
x + 1; x * z; z + z; -z; +z; z[()]; z[...]; z[None]; x[0]; x[0, ...]; x[..., 0]; x[1:]; m[0, 1]; m[0]
m[..., 0, 0]; x.sum(); x.sum(keepdims=True); z.sum(); m.max(axis=0); x.mean(); z.mean(); x.std(); x.any()
x.argmax(); x.min(); z.copy(); z.astype(int); z.T; z.real; z.imag; z.view(); z.reshape(()); z.reshape(1)
z.ravel(); z.squeeze(); z.clip(0, 1); s.copy(); s.astype(int); s.T; s.real; s.view(); s.squeeze()
s.clip(0, 1); s.round(1); s.reshape(1); s.item(); s.tolist(); np.array(5); np.array(z); np.array(s)
np.asarray(s); np.asarray(z); np.asarray(3, float); np.array(s, dtype=int); np.zeros(()); np.ones((), int)
np.full((), 7); np.full((), s); np.empty(()); np.zeros_like(s); np.zeros_like(z); np.full_like(z, 2)
np.where(z > 0, z, 1); np.where(s > 0, 1, 2); np.select([np.asarray(True)], [z]); np.copy(s); np.squeeze(w)
np.squeeze(s); np.dot(x, x); np.inner(x, x); np.vdot(x, x); np.tensordot(x, x, 1); np.einsum("i,i", x, x)
np.trace(m); np.linalg.det(m); np.linalg.norm(x); np.linalg.cond(m); np.linalg.multi_dot([x, m, x])
np.linalg.slogdet(m); np.linalg.matrix_rank(m); np.median(x); np.quantile(x, 0.5); np.percentile(x, 50)
np.average(x); np.var(x); np.nanvar(x); np.nanmax(x); np.nansum(x); np.nanmedian(x); np.interp(0.5, x, x)
np.searchsorted(x, 2); np.count_nonzero(x); np.clip(z, 0, 1); np.positive(z); np.flip(z); np.nan_to_num(z)
np.nan_to_num(s); np.round(z); np.sinc(z); np.hypot(z, z); np.divmod(z, 2); np.modf(z); np.frexp(z)
np.broadcast_to(2, ()); np.broadcast_arrays(s, z); np.real_if_close(s); np.trapezoid(x); np.polyval(x, 2)
np.corrcoef(x); np.vectorize(float)(3); np.atleast_1d(z); np.expand_dims(z, 0); np.max(z)
np.cross([1, 2, 3], x); np.meshgrid(x, x)
"""


@pytest.mark.parametrize("call", [c.strip() for c in CALLS.replace("\n", ";").split(";") if c.strip()])
@pytest.mark.parametrize("is_pending", [False, True])
def test_results_are_scalars_where_numpys_are(call: str, is_pending: bool) -> None:
    found = []
    for np_ in (xp, np):
        x = np_.asarray([1.0, 2.0, 4.0])
        if is_pending:
            x = (np_.zeros(6000) + 1.0)[:3] * x
        names = {
            "np": np_,
            "x": x,
            "z": np_.asarray(x[1]),
            "s": x[1],
            "m": np_.outer(x, x) + np_.eye(3),
            "w": x[:1][None],
        }
        found.append(kinds(eval(call, names)))
    assert found[0] == found[1]


def test_a_view_that_was_written_to_before_its_owner() -> None:
    a = xp.asarray(1.0)
    a *= a
    b = a.reshape(1)[0:1].reshape(())
    a[()] = 7
    xp.add(b, a, out=b)
    c = b[...]
    a[()] = 5
    a[...] = a
    assert float(a) == float(b) == float(c) == 5


def test_what_is_read_only_stays_so() -> None:
    theirs = np.array(5.0)
    theirs.flags.writeable = False
    x = xp.asarray(theirs, copy=False)
    with pytest.raises(ValueError, match="read-only"):
        x += 1
    assert float(x) == 5


@pytest.mark.parametrize("key", [(), ..., True, None, (None, True), np.array(True)], ids=repr)
@pytest.mark.parametrize("n", [3, 100_000])
def test_a_scalar_may_be_written_to_as_the_standard_has_it(key: Any, n: int) -> None:
    x = (xp.zeros(n) + 1).sum()
    x[key] = 9
    assert float(x) == 9
    y = xp.asarray((xp.zeros(n) + 1).sum())
    y[xp.asarray(key) if isinstance(key, np.ndarray) else key] = 9
    assert float(y) == 9


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32", "float64", "complex128"])
def test_libraries_read_lists_of_scalars_as_numpys(dtype: str) -> None:
    """NumPy's functions ask each item for its buffer: what they get is a copy, which may be written to."""
    values = np.asarray([0, 1, 3]).astype(dtype)
    ours = [xp.asarray(values)[i] for i in range(3)]
    found = np.asarray(ours)
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)
    single = np.asarray(ours[2])
    assert single.shape == ()
    assert single.dtype == values.dtype
    single[...] = 0
    single += single
    assert ours[2] == values[2]


@pytest.mark.skipif(
    compiled is None and sys.version_info < (3, 12),
    reason="Python has buffers from 3.12 on",
)
def test_bytes_of_a_scalar_are_numpys() -> None:
    scalar, wanted = xp.asarray([1.5, 2.5])[1], np.float64(2.5)
    shown = memoryview(scalar)
    assert (shown.format, shown.shape, shown.nbytes) == ("d", (), 8)
    assert bytes(scalar) == bytes(wanted)
    shown[()] = 7.0
    assert scalar == 2.5
    with pytest.raises(TypeError, match="differentiated"):
        grad(lambda x: xp.asarray(float(np.asarray(x.sum()))) * x.sum())(xp.ones(2))
