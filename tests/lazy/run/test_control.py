"""Loops and branches on the host, against their bodies run equation by equation."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.graph.aval import aval_of_value
from nabla_array._lazy.graph.bodies import holes, written
from nabla_array._lazy.graph.program import Program, run
from nabla_array._lazy.ops import control
from nabla_array._lazy.run import control as _run_control  # noqa: F401  gives the records their host functions
from nabla_array._namespace.core.array import current

from ..cpu.test_loops import INSTRUCTIONS, NUMBERS, chosen, program_of, reference
from ..execution import assert_same
from ..run.test_random_graphs import leaves


@settings(max_examples=200)
@given(leaves(), INSTRUCTIONS, NUMBERS, st.booleans())
def test_random_loops(
    inputs: list[np.ndarray], instructions: list[Any], kept: set[int], reverse: bool
) -> None:
    """A scan that hands on its first input plus what is cut, and a while loop of as many steps."""
    first = inputs[0]
    assume(first.size <= 2000)  # `program_of` leaves out what is larger
    values = [first, np.stack([first, first[::-1] if first.ndim else first, first]), *inputs[1:]]
    program = program_of([first, first, *inputs[1:]], [("add", [0, 1, 0], 0), *instructions])
    added = program.outputs[len(program.inputs)]
    program = chosen(program, kept)
    outs = tuple([k for k in program.outputs if program.aval(k).ndim < 6])
    program = Program(program.inputs, program.eqns, (added, *outs))
    carry, rows = first, []
    for t in (2, 1, 0) if reverse else (0, 1, 2):
        carry, *ys = reference(program, [carry, values[1][t], *values[2:]])
        rows.append(ys)
    params = {"length": 3, "reverse": reverse, "carry": 1, "x_axes": (0,), "y_axes": (0,) * len(outs)}
    with np.errstate(all="ignore"):
        found = control.scan.host(*values, program=program, **params)
    assert_same(np.asarray(found[0]), carry)
    for got, ys in zip(found[1:], zip(*(rows[::-1] if reverse else rows), strict=True), strict=True):
        assert_same(got, np.stack(ys))
    counted = counting(program)
    with np.errstate(all="ignore"):
        state = control.while_.host(
            first, np.array(0), values[1], *values[2:], body=counted, cond=fewer(counted, 3), carry=2, rows=()
        )
    for t in range(3):
        first = reference(program, [first, values[1][t], *values[2:]])[0]
    assert_same(np.asarray(state[0]), first)
    assert state[1] == 3


def counting(program: Program) -> Program:
    """Return the body of a while loop, which counts its steps and cuts what a scan cuts."""
    first, _, *rest = program.inputs
    stacked = aval_of_value(np.empty((3, *first.shape), first.dtype))

    def make() -> list[Any]:
        c, i, x, *more = [Array(n) for n in sources]
        step = xp.take(x, xp.reshape(i, (1,)), axis=0)[0]
        outs = run(
            program, [current(y) for y in (c, step, *more)], lambda prim, ins, params: prim(*ins, **params)
        )
        return [outs[0], current(i + 1)]

    sources = holes([first, aval_of_value(np.array(0)), stacked, *rest])
    return written(sources, make)[0]


def fewer(body: Program, steps: int) -> Program:
    sources = holes(body.inputs)
    return written(sources, lambda: [current(Array(sources[1]) < steps)])[0]


@settings(max_examples=150)
@given(leaves(), INSTRUCTIONS, INSTRUCTIONS, st.integers(0, 1))
def test_random_branches(inputs: list[np.ndarray], one: list[Any], other: list[Any], which: int) -> None:
    """A branch, and entries that go either way."""
    branches = [chosen(program_of(inputs, some), set()) for some in (one, other)]
    wanted = reference(branches[which], inputs)
    alone = {"lead": 0, "roles": (control.SHARED,) * len(inputs), "sums": (False,)}
    with np.errstate(all="ignore"):
        found = control.switch.host(np.array(which), *inputs, branches=tuple(branches), **alone)
    for x, y in zip(found, wanted, strict=True):
        assert_same(np.asarray(x), y)


def test_records_say_what_they_miss() -> None:
    """Without what runs them; the records can be imported without it, and without derivatives."""
    code = (
        "import sys\n"
        "from nabla_array._lazy.ops import control\n"
        "above = {'nabla_array._lazy.run.control', 'nabla_array._lazy.rules.autodiff'}\n"
        "assert not above & set(sys.modules)\n"
        "try: control.scan.host()\n"
        "except NotImplementedError as error: print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "loops and branches run once _lazy.run.control is imported\n"
