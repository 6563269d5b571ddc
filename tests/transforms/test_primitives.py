"""Every primitive inside every pair of transforms, on smooth rows of the registry; compiled, on all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import nabla_array as xp
from nabla_array._lazy.graph.aval import aval_of
from nabla_array._lazy.ops import linalg
from nabla_array._namespace.core.array import Array, apply, apply_many, from_value
from nabla_array.transforms import compile, grad, jacfwd, jacrev, jvp, vmap

from ..lazy import registry
from ..lazy.registry import Row, each
from ..lazy.rules.test_autodiff import SAMPLES

Function = Callable[..., tuple[Array, ...]]
SYMMETRIC = (linalg.cholesky, linalg.eigh, linalg.eigvalsh)


def results(row: Row, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """Return what the row's primitive gives, always as a tuple."""
    if isinstance(row.prim.aval(*[aval_of(x.shape, x.dtype) for x in inputs], **row.params), tuple):
        return apply_many(row.prim, *inputs, **row.params)
    return (apply(row.prim, *inputs, **row.params),)


def function(row: Row) -> Function:
    """Return the row's primitive as a function of arrays, the operands that it has derivatives by."""

    def call(*operands: Array) -> tuple[Array, ...]:
        given = iter(operands)
        inputs = [next(given) if is_variable(row, i) else from_value(x) for i, x in enumerate(row.inputs)]
        if row.prim in SYMMETRIC:
            inputs = [xp.multiply(xp.add(inputs[0], xp.conj(xp.matrix_transpose(inputs[0]))), 0.5)]
        return results(row, inputs)

    return call


def is_variable(row: Row, place: int) -> bool:
    """Say whether the primitive has a derivative by that operand."""
    return row.inputs[place].dtype.kind in "fc" and place not in row.held


# Vectors that are known but for a phase change with the batch that LAPACK is given.
ROWS = [
    r
    for r in SAMPLES
    if any(is_variable(r, i) for i in range(len(r.inputs)))
    and not (r.prim in (linalg.eigh, linalg.svd, linalg.eig) and r.inputs[0].dtype.kind == "c")
]
rows = each(ROWS)


def operands(row: Row) -> list[np.ndarray]:
    return [x for i, x in enumerate(row.inputs) if is_variable(row, i)]


def batched(row: Row) -> list[np.ndarray]:
    """Three examples close to the row's operands, where its function is smooth."""
    return [np.stack([x, x * 1.001, x * 0.999]) for x in operands(row)]


def examples(columns: Sequence[np.ndarray]) -> list[list[Array]]:
    return [[from_value(c[i].copy()) for c in columns] for i in range(3)]


def arrays(columns: Sequence[np.ndarray]) -> list[Array]:
    return [from_value(c) for c in columns]


def directions(columns: Sequence[np.ndarray], seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    out = []
    for x in columns:
        t = rng.uniform(-1, 1, x.shape)
        out.append(
            np.asarray(t + 1j * rng.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else t).astype(x.dtype)
        )
    return out


def size(f: Function) -> Callable[..., Array]:
    """Return a function to one real number, of second degree in what `f` gives."""

    def total(*xs: Array) -> Any:
        out: Any = 0.0
        for y in f(*xs):
            if y.dtype.kind == "c":
                out = out + xp.sum(y.real * y.real + y.imag * 0.5)
            elif y.dtype.kind == "f":
                out = out + xp.sum(y * y + y)
        return out

    return total


def same(found: Any, wanted: Any, rtol: float = 1e-9) -> None:
    for a, b in zip(found, wanted, strict=True):
        x, y = np.asarray(a), np.asarray(b)
        assert x.shape == y.shape
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * max(1.0, np.abs(y).max(initial=0)))


def stacked(results: Sequence[Sequence[Array]]) -> list[np.ndarray]:
    return [np.stack([np.asarray(x) for x in row]) for row in zip(*results, strict=True)]


@rows
def test_vmap_is_a_loop(row: Row) -> None:
    f, x = function(row), batched(row)
    same(vmap(f, strict=True)(*arrays(x)), stacked([f(*e) for e in examples(x)]))
    if len(x) > 1:  # one operand for all examples
        axes = (0, *[None] * (len(x) - 1))
        rest = [from_value(c[0].copy()) for c in x[1:]]
        wanted = stacked([f(e[0], *rest) for e in examples(x)])
        same(vmap(f, in_axes=axes, strict=True)(from_value(x[0]), *rest), wanted)


@rows
def test_vmap_and_jvp_in_both_orders(row: Row) -> None:
    f, x = function(row), batched(row)
    t = directions(x)
    wanted = stacked([jvp(f, e, d)[1] for e, d in zip(examples(x), examples(t), strict=True)])
    same(vmap(lambda *xt: jvp(f, xt[: len(x)], xt[len(x) :])[1])(*arrays(x), *arrays(t)), wanted)
    same(jvp(vmap(f), arrays(x), arrays(t))[1], wanted)


@rows
def test_vmap_and_grad_in_both_orders(row: Row) -> None:
    f, x = size(function(row)), batched(row)
    places = tuple(range(len(x)))
    wanted = stacked([grad(f, places)(*e) for e in examples(x)])
    same(vmap(grad(f, places))(*arrays(x)), wanted)
    same(grad(lambda *xs: xp.sum(vmap(f)(*xs)), places)(*arrays(x)), wanted)


@rows
def test_second_derivatives_in_every_order(row: Row) -> None:
    f, x = size(function(row)), arrays(operands(row))
    d = arrays(directions(operands(row)))
    places = tuple(range(len(x)))

    def along(*xs: Array) -> Any:
        """The gradient along d: its own gradient is the product of the Hessian with d."""
        return sum(
            (
                xp.sum((g * t).real if g.dtype.kind == "c" else g * t)
                for g, t in zip(grad(f, places)(*xs), d, strict=True)
            ),
            xp.asarray(0.0),
        )

    wanted = jvp(grad(f, places), x, d)[1]
    same(grad(along, places)(*x), wanted, 1e-7)
    same(grad(lambda *xs: jvp(f, xs, d)[1], places)(*x), wanted, 1e-7)
    columns = batched(row)
    batch = [from_value(np.stack([np.asarray(t)] * 3)) for t in d]
    found = vmap(lambda *xt: jvp(grad(f, places), xt[: len(x)], xt[len(x) :])[1])(*arrays(columns), *batch)
    same(found, stacked([jvp(grad(f, places), e, d)[1] for e in examples(columns)]), 1e-7)


# A Jacobian is of real numbers; holomorphic functions are tested in test_derivatives.py.
@each([r for r in ROWS if all(x.dtype.kind != "c" for x in r.inputs)])
def test_jacobians_by_column_and_by_row(row: Row) -> None:
    f = function(row)
    x = arrays(operands(row))

    def real(*xs: Array) -> list[Array]:
        return [
            part
            for y in f(*xs)
            if y.dtype.kind in "fc"
            for part in ((y.real, y.imag) if y.dtype.kind == "c" else (y,))
        ]

    places = tuple(range(len(x)))
    columns, lines = jacfwd(real, places)(*x), jacrev(real, places)(*x)
    for a, b in zip(columns, lines, strict=True):
        same(a, b)


@each(registry.ROWS)
def test_compiled_is_uncompiled(row: Row) -> None:
    """The first call traces, the second runs what was kept; both give what the primitive gives alone."""

    compiled = compile(lambda *inputs: results(row, inputs), fullgraph=True)
    wanted = results(row, arrays(row.inputs))
    for _ in range(2):
        for a, b in zip(compiled(*arrays(row.inputs)), wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b), strict=True)
    assert compiled.cache_info().hits == 1


@rows
def test_compile_and_other_transforms_in_both_orders(row: Row) -> None:
    f, columns = size(function(row)), batched(row)
    x = arrays(operands(row))
    places = tuple(range(len(x)))
    wanted = [np.asarray(g) for g in grad(f, places)(*x)]
    batch = [np.asarray(y) for y in vmap(function(row))(*arrays(columns))]
    inside, outside = grad(compile(f), places), compile(grad(f, places), fullgraph=True)
    mapped, mapping = vmap(compile(function(row))), compile(vmap(function(row)), fullgraph=True)
    for _ in range(2):
        same(inside(*x), wanted)
        same(outside(*x), wanted)
        same(mapped(*arrays(columns)), batch)
        same(mapping(*arrays(columns)), batch)
