"""Who sees a write: short programs about names, views, rows and copies, on our arrays and on NumPy's."""

from __future__ import annotations

import math
import random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nabla_array as xp

PROGRAMS = """
x = np.arange(3.0)
s = x[0]
x[0] = 100
r = s

X = np.arange(6).reshape(3, 2)
X[0], X[1] = X[1], X[0]
r = X

X = np.arange(6).reshape(3, 2)
i = np.argmax(X[:, 0])
X[0], X[i] = X[i], X[0]
r = X

X = np.arange(6).reshape(3, 2)
i = np.argmax(X[:, 0])
X[[0, i]] = X[[i, 0]]
r = X

X = np.arange(6).reshape(3, 2)
a, b = X[0], X[1]
a += b
r = X

X = np.arange(6).reshape(3, 2)
rows = list(X)
rows[0][:] = 9
r = X

X = np.arange(6).reshape(3, 2)
rows = [row for row in X]
rows[1] *= 2
r = X

X = np.arange(6).reshape(3, 2)
d = {i: row for i, row in enumerate(X)}
d[2][0] = -1
r = X

X = np.arange(6).reshape(3, 2)
q = X[np.array([0, 1])]
q += 1
r = X

X = np.arange(6).reshape(3, 2)
q = X[X > 2]
q += 1
r = X

X = np.arange(6).reshape(3, 2)
X[X > 2] += 1
r = X

X = np.arange(6).reshape(3, 2)
X[np.array([0, 0]), 1] += 1
r = X

x = np.arange(5)
y = x[1:4]
z = y[::-1]
z[0] = 50
x[2] = 7
r = (x, y, z)

x = np.arange(5)
y = x
x = x + 1
y[0] = 9
r = (x, y)

x = np.arange(5)
y = x
x += 1
r = (x, y)

def f(a):
    a[0] = 1
    a = a * 2
    a[1] = 7
    return a
x = np.zeros(3)
y = f(x)
r = (x, y)

def g(a, acc=[]):
    acc.append(a)
    a += 1
    return acc
x = np.zeros(2)
l = g(x)
g(x)
r = (x, l)

u = np.zeros((2, 3))
old, new = u
old[0] = 1
old, new = new, old
old[1] = 2
r = u

u = np.zeros((3, 3))
u[1] = [1, 2, 3]
v = u[1]
u[1] = v[::-1]
r = u

u = np.arange(9).reshape(3, 3)
u[:] = u.T
r = u

u = np.arange(9).reshape(3, 3)
u += u.T
r = u

u = np.arange(9).reshape(3, 3)
u[1:] -= u[:-1]
r = u

u = np.arange(4.0)
u[1:] = u[:-1] + u[1:]
w = u[1:]
w /= 2
r = u

u = np.arange(4)
np.cumsum(u, out=u)
r = u

u = np.arange(4.0)
np.multiply(u[:2], u[2:], out=u[1:3])
r = u

u = np.arange(4.0)
v = u.reshape(2, 2)
w = v.reshape(4, 1)
v[0, 0] = 5
w[3] = 6
r = u

u = np.arange(6).reshape(2, 3)
v = u.T.copy()
v[0] = 9
w = u.T.reshape(-1)
w[0] = 8
r = (u, v, w)

u = np.ones((), bool)
u[()] = 2.5
v = u.reshape(())
v[()] = 0
r = u

u = np.ones((1, 1), np.int8)
u[...] = 2.5
v = u.ravel()
v[0] = 3
r = u

u = np.zeros(3)
u[...] = 2.5
v = np.expand_dims(u, 0)
v[0, 1] = 3
r = u

u = np.arange(4)
v = np.array(u)
w = np.asarray(u)
v[0] = 5
w[1] = 6
r = (u, v, w)

u = np.arange(4)
v = u.astype(int)
w = u.astype(int, copy=False)
v[0] = 5
w[1] = 6
r = u

u = np.arange(4)
v = np.ravel(u)
v[0] = 5
w = u.flatten()
w[1] = 9
r = u

u = np.zeros((2, 2))
v = np.transpose(u)
v[0, 1] = 3
w = np.swapaxes(u, 0, 1)
w[1, 0] = 4
np.squeeze(u[None])[1, 1] = 5
np.expand_dims(u, 0)[0, 0, 0] = 1
r = u

u = np.zeros((2, 2))
a, b = np.split(u, 2)
a[:] = 1
(h,) = np.array_split(u[1:], 1)
h += 2
np.hsplit(u, 2)[0][:] *= 10
r = u

u = np.zeros(4)
np.atleast_2d(u)[0, 1] = 1
np.broadcast_arrays(u, 1)[0]
np.flip(u)[0] = 2
np.moveaxis(u[None], 0, 1)[2] = 3
r = u

u = np.zeros(4, complex)
u.real = 1
u.imag[1] = 2
np.real(u)[0] = 5
r = u

u = np.zeros((3, 3))
u.diagonal()
np.fill_diagonal(u, 1)
u.flat[1] = 5
u.flat[[2, 3]] = 6
r = u

u = np.zeros(3)
it = iter(u)
u[1] = 5
r = list(it)

u = np.zeros((2, 2))
it = iter(u)
u[1] = 5
r = list(it)

u = np.zeros(3)
v = u.view()
v[0] = 1
w = u[...]
w[1] = 2
y = u[()]
y[2] = 3
r = u

u = np.zeros(3)
u[...] += 1
u[:] *= 2
u[[0, 1]] -= 1
u[u > 1] = 0
r = u

a = np.zeros(3)
b = a[:2]
a = np.ones(3)
b += 1
r = (a, b)

a = [np.zeros(2)] * 2
a[0] += 1
r = a

a = np.zeros((2, 2))
a[0] = a[1] = [1, 2]
r = a

a = b = np.zeros(2)
a += 1
r = b

a = np.zeros(2)
b = a.copy()
c = a[:].copy()
a += 1
r = (b, c)

m = np.zeros((3, 3))
m[1][1] = 5
m[:, 0][2] = 7
m[1:][0][0] = 2
m[[1]][0][0] = 99
r = m

m = np.zeros((3, 3))
idx = np.where(np.eye(3))
m[idx] = 1
m[idx[0][0]] += 1
m[idx[0][1], idx[1][2]] = 4
r = m

m = np.ones((4, 4)) * 2
m.fill(2.5)
v = np.flip(m, 1).reshape(16)
v[:] = 0
w = np.flip(m, 0).T.reshape(4, 2, 2)
w[0] = 1
r = m

m = np.arange(6.0).reshape(2, 3) * 1
v = m.T
np.multiply(v, 2, out=v)
w = v.ravel()
v += v % 2
u = m.reshape(-1)
u[1] = 7
m[0, 0] = 5
r = (m, w, u, v.reshape(6))

m = (np.arange(24.0) * (1 + 1j)).reshape(2, 3, 4) * 1
v = m.view()
i = v.imag
np.negative(v.real, out=i)
w = i.ravel()
t = i.reshape(6, 4)
parts = [*v]
w[:] = 5
t[0] = 6
r = (m, *parts)

m = np.zeros((4, 4))
k = np.int64(1)
m[k : k + 2, k] = 1
v = m[k]
v += 1
m[-k] = 9
r = m

m = np.zeros((4, 4))
k = np.array(1)
m[k : k + 2] += 1
m[k, k] = 7
r = m

p = np.array([3, 1, 2])
o = p.argsort()
q = p[o]
q[0] = 9
p.sort()
r = (p, q)

p = np.array([3, 1, 2])
t = p[0]
p[0] = p[1]
p[1] = t
r = p

p = np.arange(10)
n = len(p)
for i in range(n // 2):
    p[i], p[n - 1 - i] = p[n - 1 - i], p[i]
r = p

h = np.zeros(3, int)
for i in np.array([0, 1, 1, 2]):
    h[i] += 1
r = h

q = [np.arange(2)]
q += [np.arange(3)]
r = np.concatenate(q)

s = 0
for v in np.arange(4.0):
    s += v
t = s
t += 1
r = (s, t)

best = np.zeros(2)
X = np.arange(4.0).reshape(2, 2)
for row in X:
    best = row if row.sum() > best.sum() else best
X[1] = 0
r = best

best = None
X = np.arange(4.0).reshape(2, 2)
for row in X:
    best = row.copy()
X[1] = 0
r = best

hist = []
u = np.zeros(2)
for i in range(3):
    u[0] = i
    hist.append(u)
r = hist

hist = []
u = np.zeros(2)
for i in range(3):
    u[0] = i
    hist.append(u.copy())
r = hist

hist = np.zeros((3, 2))
u = np.zeros(2)
for i in range(3):
    u[0] = i
    hist[i] = u
r = hist
"""


def plain(found: Any) -> Any:
    return [plain(i) for i in found] if isinstance(found, list | tuple) else found.tolist()


def result(program: str, module: ModuleType) -> Any:
    names: dict[str, Any] = {"np": module}
    exec(program, names)
    return plain(names["r"])


VIEWS = (
    "x[1:3]",
    "x[::-1]",
    "x[..., 2:0:-1]",
    "x.T",
    "x.reshape(-1)[2:7]",
    "x[:, None, 1]",
    "x[3:]",
    "np.broadcast_to(x[0], (2, 4))",
    "np.moveaxis(x, 0, -1)",
    "x.real.view(np.int64)",
    "x.ravel()",
    "x.swapaxes(0, 1)[1:][::2]",
)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["<f8", "<c16"])
@pytest.mark.parametrize("place", ["x", "x[1:]", "x.T", "x[:, ::2]"])
def test_every_live_view_sees_writes_by_another(place: str, kind: str, order: str) -> None:
    def run(m: ModuleType) -> list[np.ndarray]:
        x = m.asarray(m.arange(12.0).reshape(3, 4).astype(kind) + 0.25, order=order)
        z = x.copy()
        views = [eval(v, {"np": m, "x": x}) for v in VIEWS]
        parts = [x.real, x.imag[1:]] if kind == "<c16" else []
        w = eval(place, {"x": x})
        before = [v + 1 for v in (*views, *parts)]
        seen = []
        for number in (3.0, 4.0):
            w[0] = number
            seen += [np.array(v) for v in (*views, *parts)]
            w[..., 1:] *= 2.0
            views[0][:] += 1.0
            seen += [np.array(v) for v in (*views, *parts, x, z)]
        return seen + [np.array(b) for b in before]

    for found, wanted in zip(run(xp), run(np), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("program", PROGRAMS.strip().split("\n\n"))
def test_who_sees_a_write(program: str) -> None:
    assert result(program, xp) == result(program, np)


@pytest.mark.parametrize(
    "copied",
    [
        lambda x: xp.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)),
        lambda x: xp.lib.stride_tricks.sliding_window_view(x, 2, axis=0),
        lambda x: xp.lib.stride_tricks.sliding_window_view(x, (), axis=()),
    ],
)
def test_copies_that_are_views_in_numpy_cannot_be_written_to(copied: Any) -> None:
    x = xp.eye(3)
    with pytest.raises(ValueError, match="read-only"):
        copied(x)[0] = 5
    x[0] = 7
    assert x[0].tolist() == [7, 7, 7]


ORDERED = """
np.ascontiguousarray(x)
np.ascontiguousarray(x.T)
np.ascontiguousarray(x[:, ::2])
np.ascontiguousarray(x[1])
np.ascontiguousarray(v[::-1])
np.asfortranarray(x)
np.asfortranarray(x.T)
np.asfortranarray(v)
np.asfortranarray(x[:, :1])
np.asarray(x, order="C")
np.asarray(x.T, order="C")
np.asarray(x, order="F")
np.asarray(x.T, order="F")
np.asarray(x.T, order="A")
np.asarray(x, order="X")
np.asanyarray(x.T, order="C")
np.asarray_chkfinite(x, order="F")
np.array(x, copy=None, order="F")
np.array(x, copy=False, order="F")
np.array(x.T, copy=False, order="C")
np.array(x.T, copy=False, order="F")
np.require(x, requirements="F")
np.require(x.T, requirements=["C"])
np.require(x.T, requirements=["F", "W"])
np.require(x, float, ["O"])
np.require(x[1:], float, ["O"])
np.require(np.broadcast_to(v, (2, 3)), float, "W")
np.require(x, requirements=["X"])
np.require(x, requirements="CF")
x.astype(float, order="F", copy=False)
x.T.astype(float, order="C", copy=False)
x.T.astype(float, copy=False)
np.diag(x)
np.frombuffer(b"12345678")
"""


@pytest.mark.parametrize("call", ORDERED.strip().splitlines())
def test_what_is_asked_for_in_an_order_is_a_copy_where_numpys_is(call: str) -> None:
    def changed(namespace: ModuleType) -> Any:
        x, v = namespace.array(np.arange(6.0).reshape(2, 3)), namespace.array(np.arange(3.0))
        try:
            y = eval(call, {"np": namespace, "x": x, "v": v})
            y[...] = 7
        except (ValueError, KeyError) as error:
            return type(error)
        return np.asarray(x).tolist(), np.asarray(v).tolist()

    assert changed(xp) == changed(np)


EINSUMS = """
np.einsum("ii->i", x)
np.einsum("ii->i", x.T)[1:]
np.einsum("ii->i", x[1:3, 2:4])
np.einsum("ij->ji", x)[0]
np.einsum("ba", x)[:, 1]
np.einsum("ij", x)
np.einsum(x, [0, 0], [0])
np.einsum("ii->i", x, dtype="float32")
np.einsum("ii->i", x[:1, :1])
np.einsum("iii->i", z)
np.einsum("iji->ij", z)[1]
np.einsum("ijj->ji", z)[2]
np.einsum("...ii->...i", z)[0]
np.einsum("ij...->...ji", z)[0, 0]
np.einsum("ii->i", z[:0, 0, :0])
np.einsum("ii", x)
np.einsum("i->", z[0, 0])
"""


@pytest.mark.parametrize("n", [4, 150])  # little ones that are known are NumPy's to compute
@pytest.mark.parametrize("call", EINSUMS.strip().splitlines())
def test_einsum_of_one_operand_without_a_sum_is_a_view(call: str, n: int) -> None:
    def changed(namespace: ModuleType) -> Any:
        x = namespace.asarray(np.arange(1.0 * n * n).reshape(n, n))
        z = namespace.asarray(np.arange(64.0).reshape(4, 4, 4))
        y = eval(call, {"np": namespace, "x": x, "z": z})
        if y.shape:
            y[...] = -7
        return np.asarray(y).tolist(), np.asarray(x).tolist(), np.asarray(z).tolist()

    assert changed(xp) == changed(np)


def test_numpys_arrays_share_memory_as_numpy_says() -> None:
    words = np.array(["a", "b"])
    assert xp.may_share_memory(words, words[1:])
    assert xp.shares_memory(words, words[1:])
    assert not xp.shares_memory(words[:1], words[1:])
    assert not xp.shares_memory(words, xp.asarray([1, 2]))


def _random_program(seed: int) -> str:
    """Return lines that make views of views, copies and what is pending, write to some, let go of some."""
    chance = random.Random(seed)
    shape: tuple[int, ...] = chance.choice([(6,), (4, 5), (3, 4, 2), (400, 5)])
    lines = [f"v0 = (np.arange({math.prod(shape)}.0) * 0.25).reshape({shape}).copy()"]
    shapes = {"v0": shape}
    for number in range(1, 20):
        x = chance.choice(list(shapes))
        key = chance.choice(["0", "-1", "1:", "::-1", "..., 0", "::2"])
        views = [f"{x}[{key}]", f"{x}.T", f"{x}.reshape(-1)", f"np.flip({x})", f"np.flip({x}, -1)"]
        new = chance.choice([*views, f"{x} * 2.0", f"{x}.copy()"])
        write = chance.choice([f"{x}[{key}] = {x}.max()", f"{x}[{key}] *= 1.5", f"{x} += 1.0"])
        line = chance.choice([f"v{number} = {new}"] * 4 + [write] * 3 + [f"del {x}"])
        names: dict[str, Any] = {"np": np}
        exec("\n".join([*lines, line]), names)
        arrays = {k: v for k, v in names.items() if isinstance(v, np.ndarray) and v.ndim > 0 and v.size > 2}
        if arrays:
            lines.append(line)
            shapes = {k: v.shape for k, v in arrays.items()}
    return "\n".join([*lines, f"r = [{', '.join(shapes)}]"])


@pytest.mark.parametrize("n", [3, 300])
@pytest.mark.parametrize(
    "call", ["x.diagonal()", "np.diag(x)", "np.diag(x, 1)", "x.diagonal(-1)", "x[1:].diagonal()"]
)
def test_diagonals_see_what_is_written_and_cannot_be_written_to(call: str, n: int) -> None:
    program = f"""
x = np.arange({n}.0 * {n}).reshape({n}, {n}).copy()
d = {call}
x += 1.0
x[1] = 7.0
r = [d.copy(), np.array(d.flags.writeable)]
try:
    d[0] = 1.0
except ValueError:
    r.append(d[:1])
"""
    assert result(program, xp) == result(program, np)


@pytest.mark.parametrize("seed", range(300))
def test_random_programs_of_views(seed: int) -> None:
    program = _random_program(seed)
    assert result(program, xp) == result(program, np), program


@pytest.mark.parametrize("offset", [2**31, 2**32, -(2**32), 2**40])
def test_diagonals_far_outside_are_empty(offset: int) -> None:
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert x.diagonal(offset).shape == xp.diag(x, offset).shape == (0,)
