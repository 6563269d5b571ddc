"""Branches and loops against the same in plain Python, alone and under every transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array import transforms as T

X = np.array([0.3, -0.4, 0.8])
W = np.random.default_rng(0).normal(size=(3, 3))
ROWS = np.random.default_rng(1).normal(size=(5, 3))
BATCH = np.random.default_rng(2).normal(size=(4, 3))


def same(got: Any, wanted: Any, rtol: float = 1e-10) -> None:
    left, right = T.tree_leaves(got), T.tree_leaves(wanted)
    assert len(left) == len(right)
    for g, w in zip(left, right, strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol)


# -- the same in Python --------------------------------------------------------------------------------------


def python_scan(f: Any, init: Any, xs: Any, length: int | None = None, reverse: bool = False) -> Any:
    leaves, tree = T.tree_flatten(xs)
    n = len(leaves[0]) if leaves else length
    assert n is not None
    carry, ys = init, []
    for t in reversed(range(n)) if reverse else range(n):
        carry, y = f(carry, T.tree_unflatten(tree, [x[t] for x in leaves]))
        ys.append(y)
    if reverse:
        ys.reverse()
    return carry, T.tree_map(lambda *rows: xp.stack([xp.asarray(r) for r in rows]), *ys)


def python_while(cond: Any, body: Any, value: Any) -> Any:
    while cond(value):
        value = body(value)
    return value


def python_fori(lower: Any, upper: Any, body: Any, value: Any) -> Any:
    for i in range(int(lower), int(upper)):
        value = body(i, value)
    return value


def python_cond(pred: Any, true_fun: Any, false_fun: Any, *operands: Any) -> Any:
    return true_fun(*operands) if pred else false_fun(*operands)


def python_switch(index: Any, branches: Any, *operands: Any) -> Any:
    return branches[min(max(int(index), 0), len(branches) - 1)](*operands)


class Ours:
    scan, cond, switch = staticmethod(T.scan), staticmethod(T.cond), staticmethod(T.switch)
    while_loop, fori_loop = staticmethod(T.while_loop), staticmethod(T.fori_loop)


class Python:
    scan, cond, switch = staticmethod(python_scan), staticmethod(python_cond), staticmethod(python_switch)
    while_loop, fori_loop = staticmethod(python_while), staticmethod(python_fori)


# -- functions of one vector, built of control flow ----------------------------------------------------------


def rnn(m: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = xp.tanh(xp.asarray(W) @ h + x * xp.sum(h))
        return h, {"out": xp.sin(h), "mixed": (h[0] * x, None)}

    return lambda x: m.scan(step, x, xp.asarray(ROWS))


def backwards(m: Any) -> Any:
    return lambda x: m.scan(lambda c, a: (c * a + x[0], c), x[1], (x), reverse=True)


def counted(m: Any) -> Any:
    """A carry of integers, booleans and floats, without xs."""

    def step(state: Any, _: None) -> Any:
        i, odd, y = state
        return (i + 1, ~odd, y * xp.where(odd, 0.5, -1.5) + i), (odd, y[::-1])

    return lambda x: m.scan(step, (xp.asarray(2), xp.asarray(True), x), None, length=5)


def weights(m: Any) -> Any:
    """The matrix that stays is what is differentiated by."""

    def f(x: Any) -> Any:
        matrix = x[:, None] * x
        return m.scan(lambda h, a: (xp.tanh(matrix @ h) + a, matrix[0]), xp.ones(3), xp.asarray(ROWS))

    return f


def nested(m: Any) -> Any:
    def outer(c: Any, a: Any) -> Any:
        return m.scan(lambda d, b: (xp.sin(d * b) + a, d * a), c, xp.asarray(X))[0], c * a

    return lambda x: m.scan(outer, x[0], x)


def branches(m: Any) -> Any:
    def f(x: Any) -> Any:
        one = m.cond(xp.sum(x) > 0, lambda v: (xp.exp(v), v[0]), lambda v: (v * x[1], v[1]), 2 * x)
        return one, m.cond(x[0] > x[1], lambda: x[0] ** 2, lambda: xp.sin(x[1]))

    return f


def switched(m: Any) -> Any:
    def f(x: Any) -> Any:
        index = xp.astype(xp.floor(3 * x[0]), xp.int64)
        return m.switch(index, [xp.sin, lambda v: v * v, lambda v: v[::-1] * x[2]], x)

    return f


def branch_in_loop(m: Any) -> Any:
    def step(c: Any, a: Any) -> Any:
        return m.cond(a > 0, lambda c: c * a, lambda c: c + xp.sin(a), c), c

    return lambda x: m.scan(step, x[0], x)


def loop_in_branch(m: Any) -> Any:
    def f(x: Any) -> Any:
        return m.cond(
            x[0] > 0,
            lambda v: m.scan(lambda c, a: (c * a + v[1], None), 1.0, v)[0],
            lambda v: m.fori_loop(0, 4, lambda i, c: c * v[2] + i, v[0]),
            x,
        )

    return f


def power(m: Any) -> Any:
    return lambda x: m.fori_loop(2, 7, lambda i, v: v * x + i, x)


def gathered(m: Any) -> Any:
    return lambda x: m.fori_loop(0, 3, lambda i, v: v + x[i] ** 2 * v, xp.sum(x))


def halved(m: Any) -> Any:
    def body(s: Any) -> Any:
        v, n, by = s
        return v * by, n + 1, by

    return lambda x: m.while_loop(
        lambda s: xp.abs(s[0]) > 1e-2, body, (x[0], xp.asarray(0), 0.5 * xp.sin(x[2]))
    )


def collatz(m: Any) -> Any:
    def body(s: Any) -> Any:
        n, steps = s
        return m.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n), steps + 1

    def f(x: Any) -> Any:
        n = xp.astype(xp.abs(10 * x[0]), xp.int64) + 1
        return m.while_loop(lambda s: s[0] != 1, body, (n, xp.asarray(0)))[1] * x

    return f


REVERSIBLE = [
    rnn,
    backwards,
    counted,
    weights,
    nested,
    branches,
    switched,
    branch_in_loop,
    loop_in_branch,
    power,
    gathered,
]
ALL = [*REVERSIBLE, halved, collatz]
every = pytest.mark.parametrize("make", ALL, ids=lambda f: f.__name__)
reversible = pytest.mark.parametrize("make", REVERSIBLE, ids=lambda f: f.__name__)


def total(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A number that all inexact results go into."""

    def call(x: Any) -> Any:
        parts = [y for y in T.tree_leaves(f(x)) if y.dtype.kind == "f"]
        return sum(xp.sum(xp.sin(y) * (k + 1)) for k, y in enumerate(parts))

    return call


@every
def test_value(make: Any) -> None:
    for x in (X, -X, BATCH[0]):
        same(make(Ours)(xp.asarray(x)), make(Python)(xp.asarray(x)))


@every
def test_vmap(make: Any) -> None:
    rows = [make(Python)(xp.asarray(x)) for x in BATCH]
    same(T.vmap(make(Ours))(xp.asarray(BATCH)), T.tree_map(lambda *r: xp.stack(r), *rows))


@every
def test_two_vmaps(make: Any) -> None:
    grid = np.stack([BATCH, -BATCH[::-1], BATCH + 1])
    rows = [[make(Python)(xp.asarray(x)) for x in row] for row in grid]
    wanted = T.tree_map(lambda *r: xp.stack(r), *[T.tree_map(lambda *r: xp.stack(r), *row) for row in rows])
    same(T.vmap(T.vmap(make(Ours)))(xp.asarray(grid)), wanted)


@every
def test_jvp(make: Any) -> None:
    for x in (X, -X):
        args = (xp.asarray(x),), (xp.asarray(ROWS[0]),)
        got, wanted = (T.jvp(total(make(m)), *args) for m in (Ours, Python))
        same(got, wanted)


@every
def test_vmap_of_jvp_and_back(make: Any) -> None:
    def pushed(m: Any) -> Any:
        return lambda x: T.jvp(total(make(m)), (x,), (xp.cos(x),))[1]

    wanted = xp.stack([pushed(Python)(xp.asarray(x)) for x in BATCH])
    same(T.vmap(pushed(Ours))(xp.asarray(BATCH)), wanted)
    batch = xp.asarray(BATCH)
    same(T.jvp(T.vmap(total(make(Ours))), (batch,), (xp.cos(batch),))[1], wanted)


@reversible
def test_gradient(make: Any) -> None:
    for x in (X, -X):
        same(T.grad(total(make(Ours)))(xp.asarray(x)), T.grad(total(make(Python)))(xp.asarray(x)))


@reversible
def test_vmap_of_gradient_and_back(make: Any) -> None:
    wanted = xp.stack([T.grad(total(make(Python)))(xp.asarray(x)) for x in BATCH])
    same(T.vmap(T.grad(total(make(Ours))))(xp.asarray(BATCH)), wanted)
    same(T.grad(lambda xs: xp.sum(T.vmap(total(make(Ours)))(xs)))(xp.asarray(BATCH)), wanted)


@reversible
def test_hessian(make: Any) -> None:
    wanted = T.hessian(total(make(Python)))(xp.asarray(X))
    same(T.hessian(total(make(Ours)))(xp.asarray(X)), wanted, 1e-8)
    same(T.jacrev(T.jacrev(total(make(Ours))))(xp.asarray(X)), wanted, 1e-8)


@reversible
def test_hessians_of_a_batch(make: Any) -> None:
    wanted = xp.stack([T.hessian(total(make(Python)))(xp.asarray(x)) for x in BATCH[:2]])
    same(T.vmap(T.hessian(total(make(Ours))))(xp.asarray(BATCH[:2])), wanted, 1e-8)


@reversible
def test_third_derivative(make: Any) -> None:
    def third(m: Any) -> Any:
        second = T.grad(lambda x: xp.sum(T.grad(total(make(m)))(x) ** 2))
        return T.grad(lambda x: xp.sum(second(x) * x))

    same(third(Ours)(xp.asarray(X)), third(Python)(xp.asarray(X)), 1e-7)


@every
def test_compiled(make: Any) -> None:
    compiled = T.compile(make(Ours), fullgraph=True)
    for x in (X, -X, BATCH[0]):
        same(compiled(xp.asarray(x)), make(Python)(xp.asarray(x)))
    assert compiled.cache_info().misses == 1


@reversible
def test_compiled_gradient_and_batch(make: Any) -> None:
    gradient = T.compile(T.grad(total(make(Ours))), fullgraph=True)
    batch = T.compile(T.vmap(T.grad(total(make(Ours)))), fullgraph=True)
    wanted = [T.grad(total(make(Python)))(xp.asarray(x)) for x in BATCH]
    for x, w in zip(BATCH, wanted, strict=True):
        same(gradient(xp.asarray(x)), w)
    same(batch(xp.asarray(BATCH)), xp.stack(wanted))
    same(T.vmap(gradient)(xp.asarray(BATCH)), xp.stack(wanted))


@reversible
def test_linearize_and_vjp(make: Any) -> None:
    x, t = xp.asarray(X), xp.asarray(BATCH)
    out, push = T.linearize(total(make(Ours)), x)
    value, pull = T.vjp(total(make(Ours)), x)
    same((out, value), (total(make(Python))(x),) * 2)
    wanted = t @ T.grad(total(make(Python)))(x)
    same(T.vmap(push)(t), wanted)
    same(t @ pull(xp.asarray(1.0))[0], wanted)


@reversible
def test_recomputed(make: Any) -> None:
    same(T.grad(T.checkpoint(total(make(Ours))))(xp.asarray(X)), T.grad(total(make(Python)))(xp.asarray(X)))


# -- any stack of transforms on any loop ---------------------------------------------------------------------

ATOMS: list[Callable[[Any, Any], Any]] = [
    lambda c, a: xp.sin(c) + a,
    lambda c, a: c * a,
    lambda c, a: xp.tanh(c * a) - c,
    lambda c, a: T.cond(c > a, lambda: c * 0.5, lambda: a * c + 1),
    lambda c, a: T.fori_loop(0, 2, lambda i, v: v * a + i, c),
    lambda c, a: T.scan(lambda v, b: (v * b + c, None), a, xp.stack([a, c]))[0],
    lambda c, a: xp.where(c > 0, c, a * 0.3),
]
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: T.grad(lambda x: xp.sum(f(x) * xp.cos(x))),
    "jvp": lambda f: lambda x: T.jvp(f, (x,), (xp.sin(x) + 0.5,))[1],
    "vmap": lambda f: lambda x: xp.sum(T.vmap(lambda s: f(x * s))(xp.asarray([1.0, -0.5])), axis=0),
    "compile": lambda f: T.compile(f, fullgraph=True),
    "checkpoint": T.checkpoint,
}


def composed(atoms: list[int], reverse: bool, loop: Callable[..., Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        def step(c: Any, a: Any) -> Any:
            y = c
            for k in atoms:
                y = ATOMS[k](y, a)
            return y, y * a

        carry, ys = loop(step, x[0], x, reverse=reverse)
        return ys + carry * x

    return f


@settings(max_examples=40, deadline=None)
@given(
    atoms=st.lists(st.integers(0, len(ATOMS) - 1), min_size=1, max_size=3),
    reverse=st.booleans(),
    stack=st.lists(st.sampled_from(sorted(TRANSFORMS)), max_size=3),
)
def test_stacks_of_transforms(atoms: list[int], reverse: bool, stack: list[str]) -> None:
    ours, python = composed(atoms, reverse, T.scan), composed(atoms, reverse, python_scan)
    for name in stack:
        ours = TRANSFORMS[name](ours)
        if name not in ("compile", "checkpoint"):
            python = TRANSFORMS[name](python)
    same(ours(xp.asarray(X)), python(xp.asarray(X)), 1e-7)
