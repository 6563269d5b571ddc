"""Programs as lines of Python: the bits that their host rules give, equation by equation."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.cpu import codegen
from nabla_array._lazy.cpu.blocks import as_value
from nabla_array._lazy.cpu.codegen import Source, write
from nabla_array._lazy.graph.aval import Aval, aval_of_value
from nabla_array._lazy.graph.bodies import holes, written
from nabla_array._lazy.graph.program import Eqn, Program, run
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops import ordering, structure
from nabla_array._lazy.ops.creation import Literal, fill
from nabla_array._namespace.core.array import current

from ..execution import assert_same
from ..registry import ROWS, Row
from ..run.test_random_graphs import _INSTRUCTION, OPERATIONS, leaves

Values = Sequence[Any]


def reference(program: Program, values: Values) -> list[Any]:
    with np.errstate(all="ignore"):
        return run(program, values, lambda prim, ins, params: as_value(prim.host(*ins, **params)))


def function(program: Program, constants: dict[int, Any] | None = None, scalars: bool = False) -> Any:
    source = Source()
    names = [f"x{i}" for i in range(len(program.inputs)) if i not in (constants or {})]
    with patch.object(codegen, "MEDIUM", 0):  # so that everything is dropped in time, and nothing before
        outs = write(program, source, names, constants, scalars)
    source.line(f"return {', '.join(outs)},")
    made = source.function(f"program({', '.join(names)})")

    def quietly(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            return made(*values)

    return quietly


def check(program: Program, values: Values, constants: set[int] = frozenset(), scalars: bool = False) -> None:  # type: ignore[assignment]
    """Compare twice: neither inputs nor what the function keeps may be written to."""
    before = [x.copy() for x in values]
    wanted = reference(program, values)
    made = function(program, {i: values[i] for i in constants}, scalars)
    given = [x for i, x in enumerate(values) if i not in constants]
    if scalars:
        given = [x[()] for x in given]  # a scalar where there are no axes
    for _ in range(2):
        for x, y in zip(made(*given), wanted, strict=True):
            assert scalars or type(x) is np.ndarray
            assert_same(np.asarray(x), y)
    for x, y in zip(values, before, strict=True):
        assert_same(x, y)


def of_row(row: Row) -> Program:
    avals = tuple([aval_of_value(x) for x in row.inputs])
    n, aval = len(avals), row.prim.aval(*avals, **row.params)
    eqns = [Eqn(row.prim, tuple(range(n)), tuple(row.params.items()), aval)]
    if not isinstance(aval, Aval):
        eqns += [Eqn(structure.project, (n,), (("index", i),), a) for i, a in enumerate(aval)]
        return Program(avals, tuple(eqns), tuple(range(n + 1, n + 1 + len(aval))))
    return Program(avals, tuple(eqns), (n,))


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_every_primitive(row: Row) -> None:
    program = of_row(row)
    check(program, row.inputs)
    check(program, row.inputs, set(range(len(row.inputs))))
    check(program, row.inputs, scalars=True)


def program_of(inputs: list[np.ndarray], instructions: list[Any]) -> Program:
    """Return the instructions that NumPy accepts as a program whose outputs are all its values."""
    sources = holes([aval_of_value(x) for x in inputs])

    def make() -> list[Any]:
        mine, theirs = [Array(n) for n in sources], list(inputs)
        for name, picks, k in instructions:
            arity, operation = OPERATIONS[name]
            at = [p % len(theirs) for p in picks[:arity]]
            try:
                with np.errstate(all="ignore"):
                    wanted = np.asarray(operation(np, [theirs[i] for i in at], k))
            except (IndexError, OverflowError, TypeError, ValueError):
                continue
            if wanted.size <= 2000:
                theirs.append(wanted)
                mine.append(operation(xp, [mine[i] for i in at], k))
        return [current(x) for x in mine]

    program, captured = written(sources, make)
    assert not captured
    return program


def chosen(program: Program, kept: set[int]) -> Program:
    """Return a program with some outputs, the last one always."""
    n = len(program.outputs)
    outs = [k for i, k in enumerate(program.outputs) if i in kept or i == n - 1]
    return Program(program.inputs, program.eqns, tuple(dict.fromkeys(outs)))


INSTRUCTIONS = st.lists(_INSTRUCTION, min_size=1, max_size=20)
NUMBERS = st.sets(st.integers(0, 24))


@settings(max_examples=400)
@given(leaves(), INSTRUCTIONS, NUMBERS, NUMBERS, st.booleans())
def test_random_programs(
    inputs: list[np.ndarray], instructions: list[Any], kept: set[int], constants: set[int], scalars: bool
) -> None:
    program = chosen(program_of(inputs, instructions), kept)
    check(program, inputs, constants & set(range(len(inputs))), scalars)


def of_eqns(inputs: Values, *steps: tuple[Any, tuple[int, ...], dict[str, Any]]) -> Program:
    avals: list[Any] = [aval_of_value(x) for x in inputs]
    eqns = []
    for prim, ins, params in steps:
        avals.append(prim.aval(*[avals[i] for i in ins], **params))
        eqns.append(Eqn(prim, ins, tuple(params.items()), avals[-1]))
    return Program(tuple(avals[: len(inputs)]), tuple(eqns), (len(avals) - 1,))


X = np.linspace(-1, 1, 6).reshape(2, 3)


@pytest.mark.parametrize(
    "steps",
    [
        [(structure.barrier, (0,), {}), (e.add, (1, 0), {})],
        [(structure.stop_gradient, (0,), {}), (e.mul, (1, 0), {})],
        [(structure.alias, (0,), {}), (structure.barrier, (1,), {})],
        [(e.exp, (0,), {}), (structure.barrier, (1,), {}), (e.add, (1, 2), {}), (e.sub, (3, 1), {})],
        [
            (e.exp, (0,), {}),
            (structure.permute, (1,), {"axes": (1, 0)}),
            (e.sin, (1,), {}),
            (e.cos, (2,), {}),
        ],
        [
            (e.exp, (0,), {}),
            (structure.reshape, (1,), {"shape": (6,)}),
            (e.neg, (1,), {}),
            (structure.broadcast, (2,), {"shape": (2, 6), "axes": (1,)}),
            (structure.broadcast, (4,), {"shape": (2, 2, 6), "axes": (1, 2)}),
            (e.sin, (5,), {}),
        ],
        [(fill, (), {"value": Literal(np.float64(1)), "shape": (2, 3)}), (e.mul, (1, 0), {})],
        [(fill, (), {"value": Literal(np.float64(2)), "shape": (2, 3)}), (e.exp, (1,), {})],
    ],
    ids=lambda steps: "-".join(prim.name for prim, _, _ in steps),
)
def test_what_shares_memory(steps: Any) -> None:
    program = of_eqns([X], *steps)
    check(program, [X])
    check(Program(program.inputs, program.eqns, tuple(range(1 + len(steps)))), [X])


def test_faults_of_constants_are_heard_each_time() -> None:
    zero = {"value": Literal(np.float64(0)), "shape": (3,)}
    program = of_eqns([X[0]], (fill, (), zero), (e.log, (1,), {}), (e.add, (0, 2), {}))
    source = Source()
    with np.errstate(all="ignore"):
        source.line(f"return {write(program, source, ['x'])[0]}")
    made = source.function("program(x)")
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made(X[0])
        assert ["divide by zero" in str(w.message) for w in caught] == [True]
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        made(X[0])


@pytest.mark.parametrize(
    "step",
    [
        (ordering.sort, {"axis": 0, "descending": False, "stable": True}),
        (e.sin, {}),
        (structure.reshape, {"shape": (1 << 15,)}),
    ],
    ids=lambda step: step[0].name,
)
def test_dead_values_are_let_go(step: tuple[Any, dict[str, Any]]) -> None:
    """Of 40 values in a row, whether or not they may share memory, few are there at a time."""
    x = np.linspace(0, 1e-9, 1 << 15)
    steps: list[Any] = []
    for k in range(20):
        steps += [(step[0], (2 * k,), step[1]), (e.add, (2 * k + 1, 0), {})]
    source = Source()
    source.line(f"return {write(of_eqns([x], *steps), source, ['x'])[0]}")
    made: Callable[..., Any] = source.function("program(x)")
    made(x)
    tracemalloc.start()
    try:
        made(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * x.nbytes
