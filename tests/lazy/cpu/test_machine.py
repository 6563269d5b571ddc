"""Machine code against the host's functions: random programs and loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nabla_array._lazy.cpu.kernels import Unfit
from nabla_array._lazy.cpu.machine import Machine, _optimized
from nabla_array._lazy.graph.aval import Aval, aval_of, aval_of_value
from nabla_array._lazy.graph.bodies import placed
from nabla_array._lazy.graph.program import Eqn, Program
from nabla_array._lazy.native import compiled
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops.contraction import matmul
from nabla_array._lazy.ops.control import scan, while_
from nabla_array._lazy.ops.structure import project

from ..execution import assert_same
from ..run.test_random_graphs import leaves
from .test_loops import INSTRUCTIONS, NUMBERS, Values, chosen, looped, program_of, reference

pytestmark = pytest.mark.skipif(compiled is None, reason="machine code calls the compiled module")


def check(program: Program, inputs: Values) -> None:
    """Compare two runs of machine code with the host."""
    machine, before = Machine(program), [x.copy() for x in inputs]
    wanted = reference(program, inputs)
    for _ in range(2):
        found = machine.run(inputs)
        assert found is not None
        for x, y in zip(found[0], wanted, strict=True):
            assert_same(x, y)
    for x, y in zip(inputs, before, strict=True):
        assert_same(x, y)


def is_rounded(body: Program) -> bool:
    """Say whether a loop may differ from the host in its last digits, and so in what it decides."""
    return any(eqn.prim is matmul for eqn in body.eqns)


@settings(max_examples=150, deadline=None)
@given(leaves(), INSTRUCTIONS, NUMBERS)
def test_random_programs(inputs: list[np.ndarray], instructions: list[Any], kept: set[int]) -> None:
    program = chosen(program_of(inputs, instructions), kept)
    try:
        Machine(program)
    except Unfit:
        return
    check(program, inputs)


def scanned(
    body: Program,
    avals: list[Aval],
    carry: int,
    x_axes: tuple[int, ...],
    y_axes: tuple[int, ...],
    n: int,
    reverse: bool,
) -> Program:
    params = {
        "program": body,
        "length": n,
        "reverse": reverse,
        "carry": carry,
        "x_axes": x_axes,
        "y_axes": y_axes,
    }
    results = scan.aval(*avals, **params)
    many = len(avals)
    eqns = [Eqn(scan, tuple(range(many)), tuple(params.items()), results)]
    eqns += [Eqn(project, (many,), (("index", i),), a) for i, a in enumerate(results)]
    return Program(tuple(avals), tuple(eqns), tuple(range(many + 1, many + 1 + len(results))))


@settings(max_examples=100, deadline=None)
@given(leaves(), INSTRUCTIONS, st.data())
def test_random_scans(inputs: list[np.ndarray], instructions: list[Any], data: st.DataObject) -> None:
    program = program_of(inputs, instructions)
    numbers = range(len(program.inputs) + len(program.eqns))
    carry = data.draw(st.integers(0, len(inputs)))
    cut = data.draw(st.integers(0, len(inputs) - carry))
    outs = [
        data.draw(st.sampled_from([k for k in numbers if program.aval(k) is aval]))
        for aval in program.inputs[:carry]
    ]
    arrays = [k for k in numbers if isinstance(program.aval(k), Aval)]
    outs += data.draw(st.lists(st.sampled_from(arrays), max_size=3))
    body = Program(program.inputs, program.eqns, tuple(outs))
    n, reverse = data.draw(st.integers(0, 12)), data.draw(st.booleans())
    cuts = inputs[carry : carry + cut]
    x_axes = tuple([data.draw(st.integers(0, x.ndim)) for x in cuts])
    y_axes = tuple([data.draw(st.integers(0, body.aval(k).ndim)) for k in outs[carry:]])
    xs = [np.stack([np.roll(x, t) for t in range(n)] or [x])[:n] for x in cuts]
    given_ = [
        *inputs[:carry],
        *[np.moveaxis(x, 0, a) for x, a in zip(xs, x_axes, strict=True)],
        *inputs[carry + cut :],
    ]
    whole = scanned(body, [aval_of_value(x) for x in given_], carry, x_axes, y_axes, n, reverse)
    if is_rounded(body):
        return
    try:
        machine = Machine(whole)
    except Unfit:
        return
    steps = range(n - 1, -1, -1) if reverse else range(n)
    wanted, stacks = looped(body, inputs[:carry], xs, inputs[carry + cut :], steps)
    found = machine.run(given_)
    assert found is not None
    for x, y in zip(found[0], wanted, strict=False):
        assert_same(x, np.asarray(y))
    for x, stack, axis in zip(found[0][carry:], stacks, y_axes, strict=True):
        for one, other in zip(np.moveaxis(x, axis, 0), stack, strict=True):
            assert_same(np.asarray(one), np.asarray(other))


@settings(max_examples=100, deadline=None)
@given(leaves(), INSTRUCTIONS, st.data())
def test_random_whiles(inputs: list[np.ndarray], instructions: list[Any], data: st.DataObject) -> None:
    """Loops that count their steps, and batches of them, of which each entry has another number of steps."""
    program = program_of(inputs, instructions)
    numbers = range(len(program.inputs) + len(program.eqns))
    carry, many = data.draw(st.integers(0, len(inputs))), len(inputs)
    outs = [
        data.draw(st.sampled_from([k for k in numbers if program.aval(k) is aval]))
        for aval in program.inputs[:carry]
    ]
    step = Program(program.inputs, program.eqns, tuple(outs))
    if is_rounded(step):
        return
    batch = data.draw(st.sampled_from([None, 1, 3]))
    limits = data.draw(st.lists(st.integers(0, 9), min_size=batch or 1, max_size=batch or 1))
    # Operands: the carry, how many steps were made, what stays, a one, and how many are to be made.
    one = np.array(1)
    given_ = [[*inputs[:carry], np.array(0), *inputs[carry:], one, np.array(n)] for n in limits]
    avals = [aval_of_value(x) for x in given_[0]]
    body = placed(step, avals, [k if k < carry else k + 1 for k in range(many)])
    body = Program(
        body.inputs,
        (*body.eqns, Eqn(e.add, (carry, many + 1), (), avals[carry])),
        (*body.outputs, len(avals) + len(body.eqns)),
    )
    is_less = Eqn(e.lt, (carry, many + 2), (), aval_of((), np.dtype(bool)))
    cond = Program(tuple(avals), (is_less,), (len(avals),))
    params: dict[str, Any] = {
        "cond": cond,
        "body": body,
        "carry": carry + 1,
        "rows": (False,) * (many - carry + 2),
    }
    operands = given_[0]
    if batch is not None:
        params = while_.batch(params, batch)
        operands = [np.stack(some) for some in zip(*given_, strict=True)]
    avals = [aval_of_value(x) for x in operands]
    results = while_.aval(*avals, **params)
    n = len(avals)
    eqns = [Eqn(while_, tuple(range(n)), tuple(params.items()), results)]
    eqns += [Eqn(project, (n,), (("index", i),), a) for i, a in enumerate(results)]
    try:
        machine = Machine(Program(tuple(avals), tuple(eqns), tuple(range(n + 1, n + 1 + len(results)))))
    except Unfit:
        return
    found = machine.run(operands)
    assert found is not None
    for i, some in enumerate(given_):
        wanted, _ = looped(step, some[:carry], [], some[carry + 1 : many + 1], range(limits[i]))
        for x, y in zip(found[0], [*wanted, np.array(limits[i])], strict=True):
            assert_same(np.asarray(x if batch is None else x[i]), np.asarray(y))


def test_code_that_llvm_breaks_is_compiled_with_less_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def broken(text: str, binding: Any, target: Any, slp: bool) -> Any:
        asked.append(slp)
        if slp:
            raise RuntimeError("Instruction does not dominate all uses!")
        return _optimized(text, binding, target, slp)

    monkeypatch.setattr("nabla_array._lazy.cpu.machine._optimized", broken)
    aval = aval_of_value(np.arange(3.0))
    check(Program((aval,), (Eqn(e.mul, (0, 0), (), aval),), (1,)), [np.arange(3.0)])
    assert asked == [True, False]
