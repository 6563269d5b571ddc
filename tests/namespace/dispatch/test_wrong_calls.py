"""Wrong calls: the exception that NumPy raises, and operands as they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp

from ..numpy.comparing import data, kind, ours, outcome

FUNCTIONS = """
np.add(x)
np.add(x, x, x, x)
np.add(x, v)
np.add(x, "a")
np.add(x, None)
np.add(x, x, foo=1)
np.sin()
np.sin(x, x, x)
np.sin("a")
np.sqrt(None)
np.sum()
np.sum(x, axis=2)
np.sum(x, axis=(0, 0))
np.sum(x, axis="a")
np.sum(x, axis=1.5)
np.sum(x, foo=1)
np.sum(x, out=np.zeros(7))
np.sum(x, where=np.ones(5, bool))
np.mean(x, axis=9)
np.var(x, axis=-3)
np.std(x, axis=2)
np.max(e)
np.max(e, axis=0)
np.min(e)
np.max(x, axis=7)
np.argmax(e)
np.argmin(x, axis=3)
np.argmax(x, axis=0.5)
np.prod(x, axis=4)
np.all(x, axis=2)
np.any(x, axis=-5)
np.cumsum(x, axis=2)
np.cumprod(x, axis=-3)
np.ptp(e)
np.median(x, axis=5)
np.percentile(v, 101)
np.percentile(v, -1)
np.quantile(v, 1.5)
np.quantile(v, 0.5, method="nope")
np.average(x, weights=[1, 2])
np.average(v, weights=np.zeros(4))
np.average(x, axis=5)
np.cov(x, ddof=1.5)
np.histogram(v, bins=0)
np.histogram(v, bins=-1)
np.histogram(v, range=(1, 0))
np.histogram(v, bins=[3, 2, 1])
np.histogram(v, weights=[1])
np.bincount([-1])
np.bincount([0, 1], weights=[1])
np.bincount([1], minlength=-1)
np.digitize(v, [1, 3, 2])
np.searchsorted(x, 1)
np.searchsorted(v, 1, side="middle")
np.interp(1, [1, 2], [1])
np.interp(1, [], [])
np.diff(v, n=-1)
np.diff(s)
np.gradient(v[:1])
np.gradient(v, edge_order=3)
np.trapezoid(x, axis=4)
np.cross([1, 2, 3, 4], [1, 2, 3, 4])
np.convolve(v, [])
np.convolve(x, v)
np.convolve(v, v, mode="most")
np.correlate([], v)
np.clip(x, np.ones(5), 2)
np.round(x, 1.5)
np.round("a")
np.where(b, x)
np.where(x > 0, v, 1)
np.select([b], [1, 2])
np.select([], [])
np.select([x], [1])
np.choose([5], [1, 2])
np.choose([-1], [1, 2])
np.choose([0, 1], [1, 2], mode="no")
np.piecewise(v, [v > 0], [])
np.apply_along_axis(np.sum, 5, x)
np.apply_over_axes(np.sum, x, 7)
np.vectorize(lambda a: a)(np.zeros(0))
np.unwrap(x, axis=4)
np.sinc("a")
np.nanmax(x, axis=3)
np.nanargmax(np.array([np.nan]))
np.nanargmin(np.array([[np.nan, np.nan], [1.0, 2.0]]), axis=1)
np.nanpercentile(v, 200)
np.packbits(v)
np.unpackbits(i)
np.unpackbits(u, bitorder="middle")
np.einsum("ij,jk", x, x)
np.einsum("ij->k", x)
np.einsum("i", x)
np.einsum("i,i", v)
np.einsum(x)
np.tensordot(x, x, axes=1)
np.tensordot(x, x, axes=([0], [5]))
np.dot(x, x)
np.dot(x, v)
np.inner(x, v)
np.vdot(x, v)
np.matmul(x, x)
np.matmul(x, 2)
np.matmul(s, s)
np.outer(x)
np.kron(x)
np.trace(v)
np.trace(x, axis1=0, axis2=0)
np.diagonal(v)
np.diagonal(t, axis1=1, axis2=1)
np.sort(x, axis=2)
np.sort(s)
np.sort(v, kind="bogo")
np.argsort(x, axis=-3)
np.partition(v, 9)
np.argpartition(v, 9)
np.lexsort(())
np.lexsort((v, v[:2]))
np.isin(v)
np.union1d(v)
np.allclose(x, v)
np.isclose(x, v)
np.gcd(x, 1)
np.lcm(v, 2)
np.bitwise_and(x, 1)
np.invert(x)
np.left_shift(x, 1)
np.right_shift(i, 1.0)
np.ldexp(x, x)
np.floor_divide(c, 1)
np.remainder(c, 2)
np.arctan2(c, c)
np.hypot(c, 1)
np.maximum(x, v)
np.power(i, -1)
np.negative(b)
np.subtract(b, b)
np.heaviside(c, 1)
np.copysign(c, 1)
np.nextafter(c, 1)
np.logaddexp(c, 1)
np.cbrt(c)
np.floor(c)
np.ceil(c)
np.rint("a")
np.sign("a")
np.signbit(c)
np.frexp(c)
np.fmod(c, 1)
np.deg2rad(c)
"""

SHAPES = """
np.reshape(x, 5)
np.reshape(x, (-1, -1))
np.reshape(x, (-1, 4))
np.reshape(x, "a")
np.reshape(x, (2.0, 3))
np.reshape(x, (2, 3), order="Z")
np.ravel(x, order="Z")
np.transpose(x, (0,))
np.transpose(x, (0, 0))
np.transpose(x, (0, 2))
np.transpose(x, (0, 1, 2))
np.moveaxis(x, 0, 5)
np.moveaxis(x, [0, 1], [0])
np.moveaxis(x, [0, 0], [0, 1])
np.swapaxes(x, 0, 2)
np.rollaxis(x, 5)
np.rollaxis(x, 0, 9)
np.squeeze(x, axis=0)
np.squeeze(x, axis=3)
np.expand_dims(x, 5)
np.expand_dims(x, (0, 0))
np.concatenate([])
np.concatenate(x[0, 0])
np.concatenate([x, v])
np.concatenate([x, x], axis=2)
np.concatenate([s, s])
np.concatenate((x, x), axis="a")
np.stack([])
np.stack([x, v])
np.stack([x, x], axis=4)
np.hstack([x, v])
np.vstack([x, v])
np.dstack([x, v])
np.column_stack([x, v])
np.block([[x, x], [x]])
np.split(v, 3)
np.split(v, 0)
np.split(x, 2, axis=4)
np.array_split(v, 0)
np.hsplit(s, 1)
np.vsplit(v, 2)
np.dsplit(x, 2)
np.tile(x, -1)
np.repeat(v, -1)
np.repeat(v, [1, 2])
np.repeat(x, 2, axis=3)
np.roll(x, 1, axis=5)
np.roll(x, (1, 2, 3), axis=(0, 1))
np.rot90(v)
np.rot90(x, axes=(0, 0))
np.rot90(x, axes=(0, 5))
np.flip(x, axis=4)
np.fliplr(v)
np.flipud(s)
np.broadcast_to(x, (2,))
np.broadcast_to(x, (2, 4))
np.broadcast_to(x, (-1, 3))
np.broadcast_arrays(x, v)
np.broadcast_shapes((2, 3), (4,))
np.insert(v, 9, 1)
np.insert(x, 0, v, axis=0)
np.delete(v, 9)
np.delete(x, 0, axis=4)
np.append(x, v, axis=0)
np.resize(v, (-1,))
np.pad(v)
np.pad(v, 1, mode="nope")
np.pad(v, -1)
np.pad(v, (1, 2, 3))
np.pad(np.zeros(0), 1, mode="edge")
np.pad(v, 1.5)
np.pad(v, 1, constant_values=1, mode="edge")
np.meshgrid(v, indexing="no")
np.ix_(x)
np.unravel_index(9, (2, 3))
np.ravel_multi_index((3, 0), (2, 3))
np.take(v, 9)
np.take(v, [0, -9])
np.take(x, 0, axis=4)
np.take(v, 0, mode="no")
np.take_along_axis(x, k, axis=0)
np.take_along_axis(x, x, axis=0)
np.put(v, 9, 1)
np.put_along_axis(x, k, 1, axis=0)
np.compress([True] * 9, v)
np.compress(b, x, axis=0)
np.extract(b, v)
np.place(v, b, [1])
np.place(v, v > 0, [])
np.putmask(v, b, 1)
np.copyto(v, x)
np.copyto(i, x)
np.copyto(v, 1, where=b)
np.fill_diagonal(v, 1)
np.diag(t)
np.diag(s)
np.vander(x)
np.lib.stride_tricks.sliding_window_view(v, 9)
np.lib.stride_tricks.sliding_window_view(v, -1)
np.lib.stride_tricks.sliding_window_view(x, (1, 1, 1))
np.unique(x, axis=4)
np.trim_zeros(v, "z")
"""

CREATION = """
np.zeros()
np.zeros(-1)
np.zeros((2, -1))
np.zeros("a")
np.zeros(2.5)
np.zeros(2, dtype="nope")
np.zeros(2, order="Z")
np.ones((2, "a"))
np.full(2)
np.full((2, 2), [1, 2, 3])
np.full(2, "a", dtype=float)
np.empty(None, dtype=3)
np.arange()
np.arange(1, 5, 0)
np.arange("a")
np.arange(0, 1, 0.1, 5, 5)
np.linspace(0, 1, -1)
np.linspace(0, 1, 2.5)
np.linspace(0)
np.logspace(0, 1, -2)
np.geomspace(0, 1)
np.geomspace(1, 0)
np.eye(-1)
np.eye(2.5)
np.identity("a")
np.tri("a")
np.array([[1, 2], [3]])
np.array([1, 2], dtype="nope")
np.array(["a"], dtype=float)
np.array([1, "b"], dtype=int)
np.array(1, 2, 3)
np.array([300], dtype=np.uint8)
np.array([-1], dtype=np.uint8)
np.array([1, 2], ndmin=99)
np.array(x, copy=False, dtype=int)
np.asarray([1, [2, 3]])
np.asarray()
np.fromfunction(lambda a: a, 2)
np.frombuffer(b"abc", dtype=float)
np.indices(-1)
np.full_like(x, "a")
np.zeros_like()
np.asarray_chkfinite([np.nan])
np.kaiser(5)
np.iinfo(float)
np.finfo(int)
np.dtype("nope")
np.can_cast("a", 3.5)
np.result_type()
np.result_type("nope")
np.float64("a")
np.int8(300)
np.uint8(-1)
"""

LINALG = """
np.linalg.inv(x)
np.linalg.inv(v)
np.linalg.inv(np.zeros((2, 2)))
np.linalg.det(x)
np.linalg.det(v)
np.linalg.slogdet(x)
np.linalg.solve(m, x)
np.linalg.solve(np.zeros((2, 2)), np.ones(2))
np.linalg.solve(x, v)
np.linalg.cholesky(-np.eye(2))
np.linalg.cholesky(x)
np.linalg.eig(x)
np.linalg.eigh(x)
np.linalg.eigh(m, UPLO="Z")
np.linalg.eigvals(x)
np.linalg.eig(np.full((2, 2), np.nan))
np.linalg.svd(v)
np.linalg.qr(v)
np.linalg.qr(x, mode="nope")
np.linalg.norm(x, ord="nope")
np.linalg.norm(x, ord=3)
np.linalg.norm(v, ord="fro")
np.linalg.norm(x, axis=5)
np.linalg.norm(t, axis=(0, 1, 2))
np.linalg.norm(t, ord=2)
np.linalg.matrix_power(x, 2)
np.linalg.matrix_power(m, 1.5)
np.linalg.pinv(v)
np.linalg.lstsq(x, v)
np.linalg.lstsq(t, v)
np.linalg.cond(v)
np.linalg.multi_dot([x])
np.linalg.multi_dot([x, x])
np.linalg.tensorsolve(x, v)
np.linalg.tensorinv(x)
np.linalg.tensorinv(m, ind=0)
np.linalg.cross([1, 2], [3, 4])
np.linalg.outer(x, x)
np.linalg.trace(v)
np.linalg.diagonal(v)
np.linalg.vecdot(v, x)
np.linalg.matmul(x, x)
np.polyfit(v, v[:2], 1)
np.polyfit(v, v, -1)
np.polyfit(x, v, 1)
np.roots(x)
np.poly(x)
np.polyint([1], -1)
np.polydiv([1], [])
"""

FOURIER = """
np.fft.fft(v, n=0)
np.fft.fft(v, n=-1)
np.fft.fft(x, axis=5)
np.fft.fft(s)
np.fft.fft(v, norm="nope")
np.fft.rfft(c)
np.fft.irfft(v, n=0)
np.fft.hfft(v, norm="x")
np.fft.fft2(v)
np.fft.fftn(x, s=(1, 2, 3))
np.fft.fftn(x, axes=(0, 7))
np.fft.fftn(x, s=(0, 1))
np.fft.fftfreq(1.5)
np.fft.fftfreq(0.5, d=1)
np.fft.rfftfreq("a")
np.fft.fftshift(x, axes=5)
"""

INDEXING = """
v[9]
v[-9]
v[0, 0]
v[0.5]
v["a"]
v[:, :]
v[..., ...]
v[None, ..., ...]
v[[0, 9]]
v[[0.5]]
v[k, k]
v[np.ones(3, bool)]
v[::0]
v["a":]
v[0.5:]
x[0, 0, 0]
x[2]
x[0, 3]
x[[0, 1], [0, 1, 2]]
x[[0], [9]]
x[b[:, :2]]
x[np.ones((3, 2), bool)]
x[x]
x[k]
x[{}]
x[(0, (1, 9))]
s[0]
s[:]
v[9] = 1
v[0] = [1, 2]
v[:] = [1, 2]
v[0:2] = [1, 2, 3]
v[[0, 9]] = 1
v[[0, 1]] = [1, 2, 3]
v[v > 0] = [1, 2]
v["a"] = 1
v[0] = 1j
v[:] = x
v[0, 0] = 1
i[0] = "a"
i[0, 0] = 1j
u[0] = 300
u[0] = -1
x[0, 9] = 1
x[2] = 0
x[...] = np.zeros((3, 2))
x[b] = [1, 2]
x[:, [5]] = 1
x.T[5] = 1
s[0] = 1
b[0] = [True] * 9
np.broadcast_to(v, (2, 4))[0, 0] = 1
np.diagonal(m)[0] = 1
del v[0]
len(s)
iter(s)
list(s)
a, b_ = v
"""

OPERATORS = """
x + v
x - "a"
x + None
x + {}
x * v
x @ x
x @ 2
2 @ x
x & 1
x | x
~x
x << 1
i >> 0.5
b - b
-b
+b
c < {}
c // 2
c % 2
i ** -1
u + 300
u + -1
u * 256
u - 1000
x += v
x += np.zeros((3, 2, 3))
i += 0.5
i /= 2
i *= 1j
u += 300
b += 1
b -= b
v += x
v @= x
x **= "a"
x //= c
bool(x)
bool(np.array([1, 2]))
if x: pass
int(x)
float(v)
complex(x)
x.__index__()
range(v[0])
[1, 2][s]
hash(x)
divmod(c, 2)
round("a", x)
abs(x, x)
x.foo
x.shape = (5,)
x and v
not x
"a" in {x: 1}
math.sqrt(x)
"""

METHODS = """
x.sum(axis=5)
x.sum(foo=1)
x.sum(0, float, None, True, 1, True, 7)
x.mean(axis="a")
x.max(axis=9)
e.max()
e.min(axis=0)
e.argmax()
x.argmin(axis=7)
x.std(axis=-9)
x.cumsum(axis=5)
x.prod(axis=(0, 9))
x.all(axis=3)
x.any(axis=(0, 0))
x.reshape(5)
x.reshape(-1, -1)
x.reshape()
x.reshape(2, "a")
x.transpose(0)
x.transpose(0, 0)
x.transpose(1, 2)
x.swapaxes(0, 9)
x.squeeze(0)
x.ravel("Z")
x.flatten("Z")
x.astype("nope")
x.astype()
x.astype(int, casting="safe")
x.astype(int, casting="nope")
x.item(9)
x.item(0, 9)
x.item()
x.item("a")
x.take(9)
x.take([0], axis=5)
x.put(9, 1)
x.repeat(-1)
x.repeat([1, 2])
x.clip(np.ones(5), 2)
x.round("a")
x.dot(x)
x.dot()
x.trace(axis1=0, axis2=0)
v.diagonal()
v.sort(axis=5)
v.sort(kind="bogo")
v.argsort(axis=3)
v.partition(9)
v.searchsorted([1], side="no")
x.searchsorted(1)
x.nonzero(1)
s.nonzero()
x.choose([1, 2])
x.compress([True] * 9)
x.fill("a")
x.fill([1, 2])
x.fill()
x.view("nope")
f.view(np.complex128)
x.resize((2, -1))
x.swapaxes(0)
x.tolist(1)
x.conj(1, 2, 3)
x.var(ddof="a")
x.__array__("nope")
x.byteswap(1, 2)
x.tobytes("Z")
x.itemset(0, 1)
x.T()
x.flat[99]
x.flat["a"]
x.real = np.zeros(5)
x.shape()
x.ndim = 3
x.size = 1
"""

UFUNCS = """
np.add(x, x, out=np.zeros(5))
np.add(x, x, out=3)
np.add(x, x, out=[1, 2])
np.add(x, x, out=(np.zeros((2, 3)), None))
np.add(x, x, out=i)
np.add(x, x, dtype="nope")
np.add(x, x, dtype=int)
np.add(x, x, casting="nope")
np.add(x, i, casting="no")
np.add(x, x, where=np.ones(5, bool))
np.add(x, x, signature="ddd->d")
np.add(x, x, dtype=float, signature="dd->d")
np.add.reduce()
np.add.reduce(x, axis=5)
np.add.reduce(x, axis=(0, 0))
np.add.reduce(x, foo=1)
np.maximum.reduce(e)
np.maximum.reduce(x, where=b)
np.subtract.reduce(x, axis=(0, 1))
np.sin.reduce(x)
np.sin.accumulate(x)
np.sin.outer(x, x)
np.sin.reduceat(x, [0])
np.divmod.reduce(x)
np.add.accumulate(s)
np.add.accumulate(x, axis=5)
np.add.accumulate(x, axis=None)
np.add.reduceat(v, [0, 9])
np.add.reduceat(v, [-1])
np.add.reduceat(v, x)
np.add.reduceat(s, [0])
np.add.outer(x)
np.add.outer(x, "a")
np.add.at(v, [9], 1)
np.add.at(v, [0])
np.add.at(v, [0.5], 1)
np.add.at(v, [0, 1], [1, 2, 3])
np.negative.at(v, [0], 1)
np.bitwise_and.reduce(x)
np.logical_and.reduce(x, axis=4)
np.frexp(x, out=x)
np.modf(x, out=(x,))
np.matmul.reduce(x)
np.matmul(x, x.T, axes=[(0, 1)])
np.equal.reduce(x)
np.frompyfunc(3)
np.vectorize(3)(v)
np.add.nope
"""

CALLS = [
    call
    for table in (FUNCTIONS, SHAPES, CREATION, LINALG, FOURIER, INDEXING, OPERATORS, METHODS, UFUNCS)
    for call in table.strip().splitlines()
]


def outcome_of(call: str, namespace: Any, names: dict[str, Any]) -> Any:
    """Run a call, an expression or a statement; returns an exception, or what it gave."""
    try:
        compile(call, "", "eval")
    except SyntaxError:
        call = f"exec({call!r})"
    return outcome(call, namespace, names)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_a_wrong_call_raises_what_numpy_raises(call: str) -> None:
    theirs = outcome_of(call, np, data())
    assert isinstance(theirs, Exception), f"{call}: NumPy gives {theirs!r}"
    before = data()
    names = {name: ours(value) for name, value in before.items()}
    mine = outcome_of(call, xp, names)
    assert isinstance(mine, Exception), f"{call}: NumPy raises {theirs!r}, we give {mine!r}"
    assert isinstance(mine, kind(theirs)), f"{call}: NumPy raises {theirs!r}, we {mine!r}"
    for name, value in before.items():
        np.testing.assert_array_equal(np.asarray(names[name]), value, err_msg=f"{call} changed {name}")
