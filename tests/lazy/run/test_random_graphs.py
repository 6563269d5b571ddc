"""Random graphs, evaluated in every way, against NumPy: bit for bit where no float is summed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.graph import program
from nabla_array._lazy.run.evaluator import evaluate

from ..execution import assert_same, in_blocks, in_pieces, over_dead_values

Operands = list[Any]
# Given a namespace, operands (as many as `arity`) and a number from 0 to 9 to choose params with.
Operation = tuple[int, Callable[[Any, Operands, int], Any]]

DTYPES = [np.bool, np.int8, np.int32, np.int64, np.uint16, np.float16, np.float32, np.float64]
DTYPES += [np.complex64, np.complex128]


def _axes(x: Any, k: int) -> Any:
    """Some axes of `x`, or None for all."""
    if not x.ndim or k == 9:
        return None
    return (k % x.ndim,) if k < 6 else tuple(range(k % x.ndim + 1))


def _reduce(name: str) -> Operation:
    def operation(ns: Any, xs: Operands, k: int) -> Any:
        x = xs[0]
        if name in ("sum", "prod") and x.dtype.kind not in "biu":
            x = ns.astype(ns.isfinite(x), np.int64)  # what sums exactly, in any order
        if name in ("max", "min") and x.dtype.kind == "f":
            x = x + 0.0  # so that there is no -0.0, which any order of comparing may pick
        return getattr(ns, name)(x, axis=_axes(x, k), keepdims=k % 2 == 0)

    return 1, operation


def _named(name: str, arity: int) -> Operation:
    return arity, lambda ns, xs, k: getattr(ns, name)(*xs)


def _where(ns: Any, xs: Operands, k: int) -> Any:
    return ns.where(ns.astype(xs[0], np.bool), xs[1], xs[2])


def _cast(ns: Any, xs: Operands, k: int) -> Any:
    dtype = np.dtype(DTYPES[k])
    if np.can_cast(xs[0].dtype, dtype, "same_kind") or dtype.kind == "b":
        return ns.astype(xs[0], dtype)
    raise TypeError  # nan as an integer is any integer


def _reshape(ns: Any, xs: Operands, k: int) -> Any:
    shape = xs[0].shape
    if k < 3:
        return ns.reshape(xs[0], (*shape, 1))
    if k < 5:
        return ns.reshape(xs[0], (1, *shape))
    if k < 7 and len(shape) > 1:
        return ns.reshape(xs[0], (*shape[:-2], shape[-2] * shape[-1]))
    if shape and shape[-1] % 2 == 0:
        return ns.reshape(xs[0], (*shape[:-1], 2, shape[-1] // 2))
    return ns.reshape(xs[0], (xs[0].size,))


def _slice(ns: Any, xs: Operands, k: int) -> Any:
    keys = [slice(1, None), slice(None, -1), slice(None, None, -1), slice(None, None, 2), slice(1, 2)]
    return xs[0][..., keys[k % 5]] if k < 5 else xs[0][keys[k % 5]]


def _spread(ns: Any, xs: Operands, k: int) -> Any:
    shape = xs[0].shape
    if k < 5:
        return ns.broadcast_to(xs[0], (k % 4, *shape))
    return ns.broadcast_to(ns.expand_dims(xs[0], axis=-1), (*shape, k % 4))


def _scalar(ns: Any, xs: Operands, k: int) -> Any:
    scalars = [2, -1, 0.5, True, 3.0]
    scalar = scalars[k % 5]
    return xs[0] * scalar if k < 5 else scalar + xs[0]


def _product(ns: Any, xs: Operands, k: int) -> Any:
    """A product of matrices, which sums exactly, in any order."""
    x, y = (ns.astype(ns.isfinite(x), np.float32 if k % 2 else np.float64) for x in xs)
    return ns.matmul(x, ns.matrix_transpose(y)) if k < 5 else ns.matmul(ns.matrix_transpose(x), y)


OPERATIONS: dict[str, Operation] = {
    **{n: _named(n, 1) for n in ("abs", "negative", "square", "floor", "sqrt", "exp", "sin", "isnan")},
    **{n: _named(n, 2) for n in ("add", "subtract", "multiply", "divide", "maximum", "less", "not_equal")},
    **{n: _reduce(n) for n in ("sum", "prod", "max", "min", "any", "all")},
    "where": (3, _where),
    "cast": (1, _cast),
    "reshape": (1, _reshape),
    "slice": (1, _slice),
    "spread": (1, _spread),
    "scalar": (1, _scalar),
    "matrix_transpose": (1, lambda ns, xs, k: ns.matrix_transpose(xs[0])),
    "product": (2, _product),
    "concat": (2, lambda ns, xs, k: ns.concat([xs[0], xs[1]], axis=-1)),
}
_PICKS = st.lists(st.integers(0, 30), min_size=3, max_size=3)
_INSTRUCTION = st.tuples(st.sampled_from(sorted(OPERATIONS)), _PICKS, st.integers(0, 9))
_PRODUCT = st.tuples(st.just("product"), _PICKS, st.integers(0, 9))


@st.composite
def leaves(draw: st.DrawFn) -> list[np.ndarray]:
    """A few arrays whose shapes broadcast; some are strided or reversed."""
    base = draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 7, 16]), max_size=3))
    out = []
    for seed in range(draw(st.integers(1, 3))):
        shape = [n if draw(st.integers(0, 3)) else 1 for n in base][draw(st.integers(0, 1)) :]
        dtype = np.dtype(draw(st.sampled_from(DTYPES)))
        rng = np.random.default_rng(seed)
        x = rng.integers(-4, 5, shape) * 0.5
        with np.errstate(all="ignore"):
            x = np.abs(x).astype(dtype) if dtype.kind in "bu" else x.astype(dtype)
        if dtype.kind in "fc" and x.size and draw(st.booleans()):
            x.flat[:: draw(st.integers(1, 5))] = draw(st.sampled_from([np.nan, np.inf, -np.inf, -0.0]))
        out.append(x[::-1] if shape and draw(st.booleans()) else np.asarray(x))
    return out


def build(inputs: list[np.ndarray], instructions: list[Any]) -> tuple[list[Array], list[np.ndarray]]:
    """Record the instructions that NumPy accepts; return each value, pending and as NumPy's."""
    mine = [xp.asarray(x) for x in inputs]
    theirs = list(inputs)
    for name, picks, k in instructions:
        arity, operation = OPERATIONS[name]
        at = [p % len(theirs) for p in picks[:arity]]
        try:
            with np.errstate(all="ignore"):
                wanted = np.asarray(operation(np, [theirs[i] for i in at], k))
        except (IndexError, OverflowError, TypeError, ValueError):
            continue
        if wanted.size > 2000:
            continue
        theirs.append(wanted)
        mine.append(operation(xp, [mine[i] for i in at], k))
    return mine, theirs


ways = st.sampled_from(
    [
        nullcontext,
        over_dead_values,
        in_blocks,
        lambda: in_blocks(7),
        lambda: in_blocks(64),
        lambda: in_blocks(4, threads=2),
        in_pieces,
    ]
)


@settings(max_examples=600)
@given(leaves(), st.lists(_INSTRUCTION, min_size=1, max_size=25), ways, st.sets(st.integers(0, 30)))
def test_random_graphs(inputs: list[np.ndarray], instructions: list[Any], way: Any, kept: set[int]) -> None:
    mine, theirs = build(inputs, instructions)
    # What is not kept is dead, unless another array needs it.
    alive = [(x, y) for i, (x, y) in enumerate(zip(mine, theirs, strict=True)) if i in kept]
    alive.append((mine[-1], theirs[-1]))
    del mine
    with way():
        evaluate([alive[-1][0]._node])  # the others get their values on the way, or later
        for x, y in alive:
            assert_same(np.asarray(x), y)


@settings(max_examples=200)
@given(leaves(), st.lists(_INSTRUCTION, min_size=1, max_size=15), ways)
def test_random_graphs_all_at_once(inputs: list[np.ndarray], instructions: list[Any], way: Any) -> None:
    mine, theirs = build(inputs, instructions)
    with way():
        evaluate([x._node for x in mine])
        for x, y in zip(mine, theirs, strict=True):
            assert_same(np.asarray(x), y)


def _written(arrays: list[Array]) -> tuple[Any, ...]:
    """What is written of arrays' graph: its key, the rest, and its program."""
    roots = [x._node for x in arrays]
    key, order, leaves, alone = program.written(roots)
    kept = [n for n, more in zip(order, program.held_outside(order, order), strict=True) if more]
    line = program.linearize(order, kept)
    assert line.inputs == leaves
    # Not the nodes themselves: who holds one more counts.
    return key, ([*map(id, order)], [*map(id, leaves)], alone), (line.program, line.numbers)


@pytest.mark.skipif(program.compiled is None, reason="what is tested here was not compiled")
@settings(max_examples=300)
@given(leaves(), st.lists(_INSTRUCTION, min_size=1, max_size=15), st.integers(0, 14), st.integers(1, 3))
def test_graphs_are_written_alike(
    inputs: list[np.ndarray], instructions: list[Any], other: int, last: int
) -> None:
    arrays = build(inputs, instructions)[0][-last:]
    key, found, made = _written(arrays)
    with patch.object(program, "compiled", None):
        assert _written(arrays) == (None, found, made)
    roots = [x._node for x in arrays]
    members = {*found[0][:other], *[id(n) for n in roots]}
    within = program.written(roots, members)
    with patch.object(program, "compiled", None):
        assert program.written(roots, members)[1:3] == within[1:3]
    again, _, made_again = _written(build(inputs, instructions)[0][-last:])
    assert key == again
    assert made == made_again
    # With one instruction less it is another graph, or the same.
    less = instructions[:other] + instructions[other + 1 :]
    key_of_less, _, made_of_less = _written(build(inputs, less)[0][-last:])
    assert (key_of_less == key) <= (made_of_less == made)


@settings(max_examples=400)
@given(
    leaves(),
    st.lists(st.one_of(_INSTRUCTION, _PRODUCT), min_size=2, max_size=15),
    st.sampled_from([2, 3, 16]),
)
# Rows that are not the first axis, since that has length 1.
@example(
    [np.ones((1, 3, 4), bool)], [("abs", [0, 0, 0], 0), ("max", [0, 0, 0], 1), ("product", [0, 0, 0], 5)], 2
)
def test_random_graphs_in_pieces(inputs: list[np.ndarray], instructions: list[Any], most: int) -> None:
    mine, theirs = build(inputs, instructions)
    with in_pieces(most):
        evaluate([x._node for x in mine])
        for x, y in zip(mine, theirs, strict=True):
            assert_same(np.asarray(x), y)


@settings(max_examples=200)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.sampled_from(["f", "d", "F", "D"]),
    st.integers(1, 40),
    st.integers(1, 3),
    st.data(),
)
def test_sums_in_blocks_are_as_good(
    shape: list[int], char: str, block: int, threads: int, data: st.DataObject
) -> None:
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    x = np.random.default_rng(0).standard_normal(shape).astype(char)
    y = xp.asarray(x)
    total = xp.sum(y * y, axis=tuple(axes))
    product = xp.prod(y + 1.0, axis=tuple(axes))
    with in_blocks(block, threads):
        evaluate([total._node, product._node])
        assert_same(np.asarray(total), np.asarray((x * x).sum(axis=tuple(axes))), exact=False)
        assert_same(np.asarray(product), np.asarray((x + 1).prod(axis=tuple(axes))), exact=False)


def test_large_float_sums_are_as_accurate_as_numpys() -> None:
    x = np.random.default_rng(0).random(3_000_000).astype(np.float32)
    exact = float(np.sum(x.astype(np.float64)))
    got = float(xp.sum(xp.asarray(x) * 1.0))
    assert abs(got - exact) <= max(abs(float(np.sum(x)) - exact), exact * 1e-7)
    wide = x.reshape(1500, 2000)
    columns = np.sum(wide.astype(np.float64), axis=0)
    error = np.abs(np.asarray(xp.sum(xp.asarray(wide) * 1.0, axis=0)) - columns).max()
    assert error <= np.abs(np.sum(wide, axis=0) - columns).max()


def test_float16_sums_do_not_overflow_on_the_way() -> None:
    x = np.full(200_000, 60000.0, np.float16)
    x[1::2] *= -1
    assert float(xp.sum(xp.asarray(x) * 1.0)) == float(np.sum(x)) == 0.0
