"""The tiles of rows: which parts have them, and that they are all of the rows, each once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.graph.program import Program, linearize, pending_order
from nabla_array._lazy.native import compiled
from nabla_array._lazy.schedule import tiling
from nabla_array._lazy.schedule.steps import Part, Tiled
from nabla_array._lazy.schedule.tiling import may_tile, tile, tile_schedule

from ..execution import in_pieces
from ..run.test_random_graphs import _INSTRUCTION, _PRODUCT, build, leaves

pytestmark = pytest.mark.skipif(compiled is None, reason="compiled code runs tiles")

Cut = list[Part | Tiled]


def program_of(*arrays: Array) -> Program:
    nodes = [a._node for a in arrays if a._node.value is None]
    return linearize(pending_order(nodes), nodes).program


def tiles_of(program: Program) -> Cut:
    numbers = tuple(range(len(program.inputs) + len(program.eqns)))
    base = len(program.inputs)
    return tile(Part(program, numbers[:base], program.outputs, numbers[base:]))


def check(step: Tiled) -> None:
    program = step.part.program
    avals = [program.aval(i) for i in range(len(program.inputs) + len(program.eqns))]
    lengths = {a.shape[axis] for a, axis in zip(avals, step.axes, strict=True) if axis is not None}
    (rows,) = lengths
    assert len(step.cuts) > 1
    assert [first for first, _ in step.cuts] == [0, *[last for _, last in step.cuts[:-1]]]
    assert step.cuts[-1][1] == rows
    sizes = [last - first for first, last in step.cuts]
    assert len({*sizes[:-1]}) == 1
    assert 0 < sizes[-1] <= sizes[0]
    # A tile is the same program, but for the rows.
    cut = tile_schedule(step, sizes[-1]).program
    for eqn, whole in zip(cut.eqns, program.eqns, strict=True):
        assert (eqn.prim, eqn.ins) == (whole.prim, whole.ins)
    for k, axis in enumerate(step.axes):
        shape = list(avals[k].shape)
        if axis is not None:
            shape[axis] = sizes[-1]
        assert cut.aval(k).shape == tuple(shape)


@settings(max_examples=300)
@given(leaves(), st.lists(st.one_of(_INSTRUCTION, _PRODUCT), min_size=1, max_size=20), st.integers(2, 8))
def test_random_programs(inputs: list[np.ndarray], instructions: list[Any], most: int) -> None:
    program = program_of(*build(inputs, instructions)[0])
    base = len(program.inputs)
    with in_pieces(most):
        found = tiles_of(program)
        there = {*range(base), *[k for k, e in enumerate(program.eqns, base) if e.prim.name == "fill"]}
        for step in found:
            assert there.issuperset(step.inputs)
            there.update(step.outputs)
            if isinstance(step, Tiled):
                check(step)
                assert len(step.cuts) <= most
        assert there.issuperset(program.outputs)


X, W = np.ones((40, 6)), np.ones((6, 5))
# Given a table and a matrix: the functions, and for each step whether it has tiles, and its operations.
CUTS: dict[str, tuple[Callable[[Array, Array], Any], list[tuple[bool, str]]]] = {
    "a layer": (lambda x, w: xp.tanh(x @ w + 1.0), [(True, "matmul add tanh")]),
    "a product": (lambda x, w: x @ w, [(False, "matmul")]),
    "no product": (lambda x, w: xp.exp(x) * x, [(False, "exp mul")]),
    "summed up": (
        lambda x, w: xp.sum(xp.tanh(x @ w), axis=0) * 2.0,
        [(True, "matmul tanh reduce_sum"), (False, "mul")],
    ),
    "a view at the end": (lambda x, w: xp.tanh(x @ w).T, [(True, "matmul tanh permute"), (False, "permute")]),
    "around a sort of rows": (  # whose axis ends there; what is before it is shorter
        lambda x, w: xp.tanh(xp.sort(xp.tanh(x @ w), axis=0) @ w.T) * 2.0,
        [(False, "matmul tanh sort permute"), (True, "matmul tanh mul")],
    ),
    "around a sum of all rows": (
        lambda x, w: xp.tanh(x @ w) - xp.sum(xp.tanh(x @ w), axis=0),
        [(True, "matmul tanh reduce_sum"), (False, "broadcast sub")],
    ),
}


@pytest.mark.parametrize("name", CUTS)
def test_how_programs_are_cut(name: str) -> None:
    function, wanted = CUTS[name]
    program = program_of(function(xp.asarray(X), xp.asarray(W)))
    base = len(program.inputs)
    with in_pieces():
        found = tiles_of(program)
    told = []
    for step in found:
        part = step.part if isinstance(step, Tiled) else step
        names = [program.eqns[k - base].prim.name for k in part.eqns]
        told.append((isinstance(step, Tiled), " ".join(n for n in names if n != "fill")))
    assert told == wanted


def test_what_is_short_has_no_tiles() -> None:
    assert not may_tile(program_of(xp.tanh(xp.asarray(X) @ xp.asarray(W))))
    long = program_of(xp.tanh(xp.asarray(np.ones((20_000, 60))) @ xp.asarray(np.ones((60, 60)))))
    assert may_tile(long)
    assert [isinstance(s, Tiled) for s in tiles_of(long)] == [True]


def test_few_axes_of_many_products_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    class Cut(tiling._Cut):
        def __init__(self, *args: Any) -> None:
            tried.append(args)
            super().__init__(*args)

    monkeypatch.setattr(tiling, "_Cut", Cut)
    m = xp.asarray(np.ones((300, 300)))
    rows = xp.asarray(np.ones((300, 600))) * 2.0
    many = [m @ xp.reshape(rows[:, k : k + 1] + 1.0, (300,)) for k in range(600)]
    program = program_of(xp.stack(many))
    assert sum(e.prim.name == "matmul" for e in program.eqns) == 600
    assert may_tile(program)
    tiles_of(program)
    assert 0 < len(tried) <= tiling._TRIED
