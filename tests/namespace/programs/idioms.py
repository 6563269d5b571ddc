import collections
import copy
import functools
import itertools
import json
import math
import operator
import pickle

import numpy as np

x = np.linspace(0, 1, 6)
vals = []
for v in x:
    vals.append(v * 2)
print(np.array(vals), np.array(vals).dtype, np.mean(vals), sum(vals), np.asarray(vals)[::2])
rows = [np.arange(3) + i for i in range(3)]
print(
    np.array(rows),
    np.vstack(rows),
    np.stack(rows, axis=1),
    np.concatenate(rows),
    np.sum(rows, axis=0),
    sum(rows),
    functools.reduce(operator.add, rows),
    functools.reduce(np.dot, [np.eye(2), np.ones((2, 2))]),
)


@functools.lru_cache(None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


print(fib(np.arange(11)[10]), fib.cache_info().hits > 0)
print(
    list(map(math.sqrt, x)),
    [math.floor(v * 10) for v in x],
    list(filter(lambda v: v > 0.5, x)),
    list(itertools.accumulate(np.arange(4))),
    list(itertools.product(np.arange(2), "ab")),
    list(itertools.combinations(np.arange(3), 2)),
)
d = collections.defaultdict(list)
for k, v in zip(np.array([0, 1, 0]), x, strict=False):
    d[k].append(v)
print(
    dict(d),
    collections.Counter(np.array([1, 1, 2])).most_common(),
    {k: np.mean(v) for k, v in d.items()},
    set(np.array([3, 1, 3]).tolist()),
)
y = copy.copy(x)
y[0] = 9
z = copy.deepcopy(x)
z[1] = 8
w = x
w[2] = 7
v = x[:]
v[3] = 6
u = x.copy()
u[4] = 5
print(x, y, z, w is x)
p = pickle.loads(pickle.dumps({"a": x, "b": [x[0]]}))
print(p, json.dumps({"x": x.tolist(), "m": float(x.max()), "n": int(x.argmax())}))


def f(a, out=None, *, scale=1.0, **kw):
    if out is None:
        out = np.empty_like(a)
    np.multiply(a, scale, out=out)
    return out


buf = np.zeros(6)
r = f(x, buf, scale=2)
print(r is buf, buf)
a, b, *c = x
print(a, b, c)
(i, j), k = np.array([[1, 2], [3, 4]])
print(i, j, k)
(first,) = np.array([7])
print(first)
q, r = divmod(17, np.array([5, 4]))
print(q, r)
h, w = np.zeros((3, 4)).shape
print(h, w)
while x.sum() > 10:
    x *= 0.9
print(x, x.sum())
n = 0
while True:
    n += 1
    x = x / 2
    if (x < 0.1).all():
        break
print(n)
assert np.allclose(x, x), "no"
assert x.shape == (6,)
t = x if x.any() else None
print(
    t is not None,
    x is None,
    x is not None,
    np.array([1, 2]).tolist() == [1, 2],
    (np.array([1, 2]) == [1, 2]).all(),
    np.array([1, 2]) == (1, 3),
)


class Vec:
    def __init__(self, *c):
        self.c = np.array(c, dtype=float)

    def __add__(self, o):
        return Vec(*(self.c + o.c))

    def __mul__(self, k):
        return Vec(*(self.c * k))

    __rmul__ = __mul__

    def __abs__(self):
        return np.sqrt((self.c**2).sum())

    def __repr__(self):
        return f"Vec{tuple(self.c.tolist())}"

    def __eq__(self, o):
        return np.array_equal(self.c, o.c)

    def __getitem__(self, i):
        return self.c[i]

    def __len__(self):
        return len(self.c)

    def __iter__(self):
        return iter(self.c)


v = Vec(1, 2) + 2 * Vec(0, 1) if False else Vec(1, 2) + Vec(0, 1) * 2
print(v, abs(v), v == Vec(1, 4), v[1], len(v), list(v), np.array(v), np.sum(v.c), np.asarray(list(v)))
try:
    np.array([1, 2, 3])[7]
except IndexError:
    print("index")
try:
    np.array([[1, 2], [3]])
except ValueError:
    print("ragged")
try:
    np.zeros(3)[:] = np.ones(4)
except ValueError:
    print("shape")
try:
    int(np.array([1, 2]))
except TypeError:
    print("scalar")
try:
    if np.array([1, 2]) > 1:
        pass
except ValueError as e:
    print(e)
try:
    np.ones(3).reshape(2, 2)
except ValueError:
    print("reshape")
try:
    np.concatenate([np.ones(2), np.ones((2, 2))])
except ValueError:
    print("cat")
try:
    np.dot(np.ones(2), np.ones(3))
except ValueError:
    print("dot")
try:
    np.float64("abc")
except ValueError as e:
    print(e)
try:
    np.array(["1", "x"]).astype(float)
except ValueError as e:
    print(e)
with np.errstate(divide="ignore", invalid="ignore"):
    print(np.array([1.0, 0, -1]) / 0, np.log(np.array([0.0, -1])), np.sqrt(np.array([-1.0])))
print(
    np.where([True, False], 1, 2),
    np.where(np.array([1, 0, 2]))[0],
    np.argwhere(np.eye(2)),
    np.flatnonzero([0, 1, 1]),
    np.select([x > 0.05, x <= 0.05], [1, 0]),
    np.clip(x, 0.01, 0.05),
    np.maximum(x, 0.03),
    np.isclose(x, x[0]),
)
print(
    np.array([3, 1, 2]).argsort()[::-1],
    np.sort([[3, 1], [2, 4]], axis=0),
    np.lexsort(([1, 0], [0, 0])),
    np.unique([3, 1, 3], return_index=True, return_inverse=True, return_counts=True),
    np.in1d([1, 5], [5]) if hasattr(np, "in1d") else np.isin([1, 5], [5]),
    np.searchsorted([1, 3, 5], [2, 6]),
    np.digitize([1.5], [1, 2]),
    np.bincount([0, 1, 1], weights=[0.5, 0.5, 1]),
)
m = np.arange(12).reshape(3, 4)
m[1] = 0
m[:, 1] += 10
m[m > 11] = -1
m[[0, 2]] = m[[2, 0]]
m[0, ::2], m[2, -1] = 5, 100
print(m)
m[np.arange(3), [0, 1, 2]] *= 2
print(m, m[..., -1], m[::-1].T, m[1:, 1:].sum(), m.flatten()[m.flatten().argsort()][-2:])
m.sort(axis=1)
print(m)
m = m.astype(float)
m /= m.sum(axis=1, keepdims=True)
print(m.sum(1))
m -= m.mean(0)
print(np.round(m, 3))
m.fill(1)
print(m.ravel()[:3])
m.resize(2, 2, refcheck=False)
print(m)
m.shape = 4
print(m)
m = m[np.newaxis, :]
print(m.shape, np.expand_dims(m, 0).shape, np.squeeze(m).shape, m.squeeze().shape)
e = np.empty((2, 3))
e[:] = 5
e[0] = [1, 2, 3]
e[1, :] = e[0] * 2
print(
    e,
    e.cumsum(axis=1),
    e.cumprod(0)[1],
    np.diff(e),
    e.dot(e.T),
    e @ e.T,
    np.tile([1, 2], 2),
    np.repeat([1, 2], [1, 2]),
    e.repeat(2, axis=1)[0],
    np.outer([1, 2], [3, 4]),
    np.flip(e, 1),
    e[:, ::-1],
    np.roll(e, 1),
    e.swapaxes(0, 1).shape,
    e.transpose(1, 0).shape,
    np.rollaxis(e, 1).shape,
    np.moveaxis(e, 0, 1).shape,
)
print(
    np.add.reduce([1, 2, 3]),
    np.add.outer([1, 2], [1, 2]),
    np.multiply.accumulate([1, 2, 3]),
    np.logical_and.reduce([True, False]),
    np.minimum.reduce(e),
    np.frompyfunc(lambda a: a + 1, 1, 1)(np.arange(3)),
    np.vectorize(math.gcd)([4, 6], 2),
)
s = slice(1, 3)
idx = (slice(None), 0)
print(
    e[idx],
    x[s],
    e[..., 0],
    e[np.s_[:, 1:]],
    x[np.array([True] * 3 + [False] * 3)],
    x[np.r_[0:2, 4]],
    np.take(x, [0, 1]),
    x.take([1]),
    np.compress([1, 0, 1], [1, 2, 3]),
    np.extract(x > 0.05, x),
    np.put(x, [0], 3) is None,
    x[0],
    np.choose([0, 1], [[1, 2], [3, 4]]),
    np.delete(x, 0)[:2],
    np.trim_zeros([0, 1, 0]),
)
print(
    np.min(x),
    np.max(x),
    np.argmin(x),
    np.nanmax([1, np.nan]),
    np.average([1, 2], weights=[3, 1]),
    np.percentile([1, 2, 3], 50),
    np.cov([1, 2], [3, 5]),
    np.histogram([1, 2, 1], bins=[0, 1, 2, 3]),
    np.around(1.55, 1),
    np.fix(-1.5),
    np.trunc(-1.5),
    np.ceil(0.5),
    np.sign(-2),
    np.abs(-3),
    np.mod(-1, 3),
    np.remainder(5, 3),
    np.exp(0),
    np.log10(100),
    np.log2(8),
    np.cbrt(27),
    np.hypot(3, 4),
    np.deg2rad(180),
    np.rad2deg(np.pi),
    np.arctan2(1, 1),
    np.sinh(0),
    np.square(3),
    np.reciprocal(2.0),
    np.power(2, 3),
    np.float_power(2, 3),
    np.gcd(4, 6),
    np.isfinite(1),
    np.isinf(np.inf),
    np.real(1j),
    np.imag(1j),
    np.conj(1j),
    np.signbit(-1),
    np.copysign(1, -1),
    np.nextafter(1, 2),
    np.spacing(1),
    np.ldexp(1, 2),
    np.frexp(8),
    np.modf(1.5),
    np.i0(0),
    np.sinc(0),
    np.nan_to_num(np.nan),
    np.interp(0.5, [0, 1], [0, 2]),
)
