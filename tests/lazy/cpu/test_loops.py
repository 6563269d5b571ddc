"""Loops and programs made ready: the bits that host rules give, equation by equation."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array import Array, transforms
from nabla_array._lazy.cpu import loops
from nabla_array._lazy.cpu.loops import Loop
from nabla_array._lazy.graph import primitive
from nabla_array._lazy.graph.aval import Aval, aval_of_value
from nabla_array._lazy.graph.bodies import holes, written
from nabla_array._lazy.graph.node import Node
from nabla_array._lazy.graph.primitive import as_value
from nabla_array._lazy.graph.program import Eqn, Program, run
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops import structure
from nabla_array._lazy.ops.creation import Literal, fill
from nabla_array._lazy.run import control, hot
from nabla_array._namespace.core.array import current

from ..execution import assert_same
from ..registry import ROWS, Row, each
from ..run.test_random_graphs import _INSTRUCTION, OPERATIONS, leaves

Values = Sequence[Any]


def reference(program: Program, values: Values) -> list[Any]:
    with np.errstate(all="ignore"):
        return run(program, values, lambda prim, ins, params: as_value(prim.host(*ins, **params)))


@contextmanager
def made_by(native: Any) -> Iterator[None]:
    """Make loops ready with compiled code or without it, also those that are bodies of others."""
    with patch.object(loops, "compiled", native), np.errstate(all="ignore"):
        control._function_of.cache_clear()
        control._loop.cache_clear()
        yield
    control._function_of.cache_clear()
    control._loop.cache_clear()


def check(program: Program, values: Values, constants: set[int] = frozenset()) -> None:  # type: ignore[assignment]
    """Compare twice, compiled and in Python: neither inputs nor constants may be written to."""
    before = [x.copy() for x in values]
    wanted = reference(program, values)
    given = [x for i, x in enumerate(values) if i not in constants]
    for native in {loops.compiled, None}:
        with made_by(native):
            loop = Loop(program, constants={i: values[i] for i in constants})
            for _ in range(2):
                for x, y in zip(loop.call(*given), wanted, strict=True):
                    assert type(x) is np.ndarray
                    assert_same(x, y)
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


@each(ROWS)
def test_every_primitive(row: Row) -> None:
    program = of_row(row)
    check(program, row.inputs)
    check(program, row.inputs, set(range(len(row.inputs))))


def program_of(inputs: list[np.ndarray], instructions: list[Any]) -> Program:
    """Return the instructions that NumPy accepts as a program whose outputs are all its values."""
    program, captured = recorded(inputs, instructions, OPERATIONS)
    assert not captured
    return program


def recorded(
    inputs: list[np.ndarray], instructions: list[Any], operations: dict[str, Any]
) -> tuple[Program, list[Node]]:
    """Return the same of any operations, and the constants that are inputs of the program too."""
    sources = holes([aval_of_value(x) for x in inputs])

    def make() -> list[Any]:
        mine, theirs = [Array(n) for n in sources], list(inputs)
        for name, picks, k in instructions:
            arity, operation = operations[name]
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

    return written(sources, make)


def chosen(program: Program, kept: set[int]) -> Program:
    """Return a program with some outputs, the last one always."""
    n = len(program.outputs)
    outs = [k for i, k in enumerate(program.outputs) if i in kept or i == n - 1]
    return Program(program.inputs, program.eqns, tuple(dict.fromkeys(outs)))


INSTRUCTIONS = st.lists(_INSTRUCTION, min_size=1, max_size=20)
NUMBERS = st.sets(st.integers(0, 24))


@settings(max_examples=400)
@given(leaves(), INSTRUCTIONS, NUMBERS, NUMBERS)
def test_random_programs(
    inputs: list[np.ndarray], instructions: list[Any], kept: set[int], constants: set[int]
) -> None:
    program = chosen(program_of(inputs, instructions), kept)
    check(program, inputs, constants & set(range(len(inputs))))


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


def test_a_number_is_written_over() -> None:
    values = [np.array(1.0), np.array(5.0)]
    check(of_eqns(values, (structure.update_slice, (0, 1), {"start": (), "step": ()})), values)


def test_faults_of_constants_are_heard_each_time() -> None:
    zero = {"value": Literal(np.float64(0)), "shape": (3,)}
    program = of_eqns([X[0]], (fill, (), zero), (e.log, (1,), {}), (e.add, (0, 2), {}))
    with np.errstate(all="ignore"):
        made = Loop(program).call
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made(X[0])
        assert ["divide by zero" in str(w.message) for w in caught] == [True]
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        made(X[0])


# -- loops -------------------------------------------------------------------------------------------------


def looped(body: Program, state: list[Any], xs: list[Any], whole: list[Any], steps: range) -> tuple[Any, Any]:
    """Do what a loop means: its carry, and what it stacks."""
    stacks: list[list[Any]] = [[None] * len(steps) for _ in body.outputs[len(state) :]]
    n = len(state)
    for t in steps:
        outs = reference(body, [*state, *[x[t] for x in xs], *whole])
        state = outs[:n]
        for stack, y in zip(stacks, outs[n:], strict=True):
            stack[t] = y
    return state, stacks


@settings(max_examples=200)
@given(leaves(), INSTRUCTIONS, st.data())
def test_random_scans(inputs: list[np.ndarray], instructions: list[Any], data: st.DataObject) -> None:
    program = program_of(inputs, instructions)
    numbers = range(len(program.inputs) + len(program.eqns))
    carry = data.draw(st.integers(0, len(inputs)))
    cut = data.draw(st.integers(0, len(inputs) - carry))
    # A carry may be any value of the aval that it had, or be handed on by others.
    outs = [
        data.draw(st.sampled_from([k for k in numbers if program.aval(k) is inputs_aval]))
        for inputs_aval in program.inputs[:carry]
    ]
    arrays = [k for k in numbers if isinstance(program.aval(k), Aval)]
    outs += data.draw(st.lists(st.sampled_from(arrays), max_size=3))
    body = Program(program.inputs, program.eqns, tuple(outs))
    n = data.draw(st.integers(0, 4))
    steps = range(n - 1, -1, -1) if data.draw(st.booleans()) else range(n)
    state, whole = inputs[:carry], inputs[carry + cut :]
    xs = [np.stack([np.roll(x, t) for t in range(n)] or [x])[:n] for x in inputs[carry : carry + cut]]
    before = [x.copy() for x in (*inputs, *xs)]
    wanted, stacks = looped(body, list(state), xs, whole, steps)
    for native in {loops.compiled, None}:
        with made_by(native):
            loop = Loop(body, carry, cut)
            for _ in range(2):
                ys = [np.empty((n, *a.shape), a.dtype) for a in loop.stacked]
                found = loop.run(state, [*xs, *whole], ys, steps)
                for x, y in zip(found, wanted, strict=True):
                    assert_same(x, np.asarray(y))
                for y, stack in zip(ys, stacks, strict=True):
                    for one, other in zip(y, stack, strict=True):
                        assert_same(np.asarray(one), np.asarray(other))
    for x, y in zip((*inputs, *xs), before, strict=True):
        assert_same(x, y)


def test_loops_on_many_threads_have_memory_of_their_own() -> None:
    x = np.linspace(0, 1, 50)
    body = of_eqns([x, x], (e.sin, (0,), {}), (e.add, (2, 1), {}))
    loop = Loop(body, 1)

    def run(k: int) -> np.ndarray:
        return loop.run([x * k], [x], (), range(2000))[0]

    wanted = [run(k) for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for found, right in zip(pool.map(run, [*range(8)] * 5), wanted * 5, strict=True):
            assert_same(found, right)


def test_what_stays_is_not_copied_at_each_step() -> None:
    """An element is written in the memory of the carry, however large that is."""
    table = np.zeros(1000)
    params = {"start": (3,), "step": (1,)}
    body = of_eqns([table, np.ones(1)], (structure.update_slice, (0, 1), params))
    assert "in place" in str(Loop(body, 1))
    (found,) = Loop(body, 1).run([table], [np.ones(1)], (), range(3))
    assert found[3] == 1
    assert not table.any()


def test_an_error_in_the_midst() -> None:
    """It is raised, and the next run of the loop is right."""
    bad = primitive.Primitive("bad", lambda x: x, raise_at_zero)
    x = np.array([3.0])
    body = of_eqns([x, np.ones(1)], (bad, (0,), {}), (e.sub, (2, 1), {}))
    loop = Loop(body, 1)
    with pytest.raises(ValueError, match="zero"):
        loop.run([x], [np.ones(1)], (), range(10))
    assert loop.run([x], [np.ones(1)], (), range(2))[0] == 1


def raise_at_zero(x: np.ndarray) -> np.ndarray:
    if not x.all():
        raise ValueError("zero")
    return x.copy()


def test_ctrl_c_ends_a_loop() -> None:
    x = np.array(1.0)
    forever = of_eqns([x], (fill, (), {"value": Literal(np.bool_(True)), "shape": ()}))
    loop = Loop(of_eqns([x], (e.mul, (0, 0), {})), 1, 0, forever)  # of 1: it never overflows

    def run() -> None:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        loop.run([x], [], (), range(0))

    with pytest.raises(KeyboardInterrupt):
        run()


@pytest.mark.parametrize("n", [130, 700])
def test_many_arrays(n: int) -> None:
    xs = [xp.asarray(np.arange(3.0) + i) for i in range(n)]
    doubled = transforms.compile(lambda xs: [x * 2.0 for x in xs])
    with xp.config(mode="auto", compile_after=0):
        for _ in range(4):
            ways = [
                doubled(xs),
                transforms.scan(lambda c, x: (c, [v * 2.0 for v in x]), 0.0, xs)[1],
                transforms.scan(lambda c, _: ([v * 2.0 for v in c], None), xs, None, length=1)[0],
                transforms.grad(lambda xs: sum([xp.sum(x * x) for x in xs]))(xs),
            ]
            for found in ways:
                for x, y in zip(found, xs, strict=True):
                    np.testing.assert_array_equal(np.asarray(x), 2 * np.asarray(y))
            hot.wait_for_compilers()
