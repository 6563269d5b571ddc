"""Programs that the devices of a mesh run together in each step of a loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..._lazy.graph.aval import Aval, aval_of
from ..._lazy.graph.primitive import Primitive
from ..._lazy.graph.program import Eqn, Program, run
from ..._lazy.ops.control import Axes, with_axis
from ..._lazy.ops.elementwise import select
from ..._lazy.ops.indexing import gather
from ..._lazy.ops.reduction import argmax, reduce_any
from ..._lazy.ops.structure import broadcast, reshape
from .local import INTP


class _Writer:
    """A program while it is written down."""

    def __init__(self, inputs: Sequence[Aval]) -> None:
        self.inputs = [*range(len(inputs))]
        self.avals: list[Any] = [*inputs]
        self.eqns: list[Eqn] = []

    def add(self, prim: Primitive, *ins: int, **params: Any) -> int:
        """Add an operation; returns its result's number."""
        aval = prim.aval(*[self.avals[i] for i in ins], **params)
        self.eqns.append(Eqn(prim, ins, tuple(params.items()), aval))
        self.avals.append(aval)
        return len(self.avals) - 1

    def run(self, program: Program, ins: Sequence[int]) -> list[int]:
        """Add what a program does; returns the numbers of its outputs."""
        return run(program, ins, lambda prim, ins, params: self.add(prim, *ins, **params))

    def end(self, outputs: Sequence[int]) -> Program:
        """Return the program."""
        return Program(tuple(self.avals[: len(self.inputs)]), tuple(self.eqns), tuple(outputs))


def step_of(program: Program, carry: int, whole: Sequence[Aval], x_axes: Axes, y_axes: Axes) -> Program:
    """Return a step of a scan that takes its slices itself: its last input is the number of the step.

    Its other results have one place along the axis that they are stacked along.
    """
    rest = carry + len(whole)
    w = _Writer([*program.inputs[:carry], *whole, *program.inputs[rest:], aval_of((), INTP)])
    *given, at = w.inputs
    given[carry:rest] = [
        w.add(gather, x, at, axes=(axis,), batch=0) for x, axis in zip(given[carry:rest], x_axes, strict=True)
    ]
    outs = w.run(program, given)
    rows = [
        w.add(reshape, y, shape=with_axis(w.avals[y], axis, 1).shape)
        for y, axis in zip(outs[carry:], y_axes, strict=True)
    ]
    return w.end([*outs[:carry], *rows])


def with_one_condition(cond: Program, body: Program, rows: Sequence[bool]) -> tuple[Program, Program]:
    """Return condition and body of a loop that goes on for all rows as long as it does for one.

    `rows` says which inputs have rows, of which those that are done are given one that is not: nothing is
    computed that nobody asked for.
    """
    lead = cond.aval(cond.outputs[0]).shape
    axes, many = tuple(range(len(lead))), math.prod(lead)
    test = _Writer(cond.inputs)
    (goes_on,) = test.run(cond, test.inputs)
    goes_on = test.add(reduce_any, goes_on, axes=axes)
    w = _Writer(body.inputs)
    (active,) = w.run(cond, w.inputs)
    first = w.add(argmax, w.add(reshape, active, shape=(many,)), axis=0)

    def chosen(new: int, old: int) -> int:
        """Take the rows of a new value that go on."""
        return w.add(select, w.add(broadcast, active, shape=w.avals[old].shape, axes=axes), new, old)

    def filled(x: int) -> int:
        shape = w.avals[x].shape
        row = w.add(gather, w.add(reshape, x, shape=(many, *shape[len(lead) :])), first, axes=(0,), batch=0)
        return chosen(x, w.add(broadcast, row, shape=shape, axes=tuple(range(len(lead), len(shape)))))

    outs = w.run(body, [filled(i) if has_rows else i for i, has_rows in zip(w.inputs, rows, strict=True)])
    return test.end([goes_on]), w.end([*map(chosen, outs, w.inputs)])
