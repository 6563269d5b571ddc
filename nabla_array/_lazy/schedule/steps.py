"""A schedule: the steps that run a program, in order, and what is dead after each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..graph.program import Program


class Part(NamedTuple):
    """Some equations of a program, as a program of their own.

    Attributes
    ----------
    program
        The equations; inputs and outputs are those of `inputs` and `outputs`.
    inputs, outputs
        Their numbers in the whole program.
    eqns
        The number in the whole program of each equation.
    fusible
        Whether MAX, or a thread tile by tile, could run all of it.
    """

    program: Program
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    eqns: tuple[int, ...]
    fusible: bool = False

    @property
    def numbers(self) -> tuple[int, ...]:
        """The number in the whole program of each value of the part's."""
        return (*self.inputs, *self.eqns)

    def within(self, number: Sequence[int]) -> Part:
        """Return a part of a part as one of the whole program, where its values have these numbers."""
        inputs, outputs, eqns = (tuple([number[i] for i in v]) for v in self[1:4])
        return Part(self.program, inputs, outputs, eqns, self.fusible)


class Call(NamedTuple):
    """One equation, run whole."""

    eqn: int
    inputs: tuple[int, ...]

    @property
    def outputs(self) -> tuple[int, ...]:
        """Its result."""
        return (self.eqn,)

    def within(self, number: Sequence[int]) -> Call:
        """Return the same in the whole program, where the values of the part have these numbers."""
        return Call(number[self.eqn], tuple([number[i] for i in self.inputs]))


class Fused(NamedTuple):
    """A fusion group: equations that treat the leading axes alike, so that they can run block by block.

    Attributes
    ----------
    eqns
        Their numbers, inputs before users.
    lead
        Shape of the leading axes that every value of the group shares and blocks are cut from.
    inputs, outputs
        Numbers of the values read from outside and of those needed outside.
    joined
        Numbers of the outputs that reduce over the leading axes: their blocks are joined at the end.
    frames
        Calls that are part of the step, inner ones first: concatenations, and what changes a part of an
        array. Results that only they read are written into their memory.
    """

    eqns: tuple[int, ...]
    lead: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    joined: frozenset[int]
    frames: tuple[Call, ...] = ()

    def within(self, number: Sequence[int]) -> Fused:
        """Return the same in the whole program, where the values of the part have these numbers."""
        eqns, inputs, outputs, joined = (
            tuple([number[i] for i in v]) for v in (self.eqns, self.inputs, self.outputs, self.joined)
        )
        frames = tuple([call.within(number) for call in self.frames])
        return Fused(eqns, self.lead, inputs, outputs, frozenset(joined), frames)


class Tiled:
    """A part that threads run tile by tile, each all of it on some of the rows.

    Attributes
    ----------
    axes
        For each value of the part's program the axis that is cut; None where each tile has the whole, or
        where the tiles' results are to be joined.
    cuts
        Where the tiles begin and end.
    ready
        What the executor has made of it, by how its inputs lie in memory.
    fits
        Whether nothing was found in it that compiled code cannot do.
    """

    __slots__ = ("axes", "cuts", "fits", "inputs", "outputs", "part", "ready")

    def __init__(self, part: Part, axes: tuple[int | None, ...], cuts: tuple[tuple[int, int], ...]) -> None:
        self.part = part
        self.inputs, self.outputs = part.inputs, part.outputs
        self.axes = axes
        self.cuts = cuts
        self.ready: dict[Any, Any] = {}
        self.fits = True


class Compiled:
    """A part that MAX runs; `runner` decides whether this time, too, and does it."""

    __slots__ = ("inputs", "outputs", "part", "runner")

    def __init__(self, part: Part, runner: Any) -> None:
        self.part = part
        self.inputs, self.outputs = part.inputs, part.outputs
        self.runner = runner


Step = Call | Fused | Tiled | Compiled


class Schedule:
    """The steps that run a program, in order.

    Attributes
    ----------
    drops
        For each step, the values that nothing needs after it.
    fused
        How many fusion groups there are.
    tiled
        The steps that are run tile by tile.
    """

    __slots__ = ("drops", "fused", "program", "steps", "tiled")

    def __init__(self, program: Program, steps: Sequence[Step]) -> None:
        self.program = program
        self.steps = tuple(steps)
        self.drops = _drops(program, steps)
        self.fused = sum([isinstance(s, Fused) for s in steps])
        self.tiled = [s for s in steps if isinstance(s, Tiled)]


def _drops(program: Program, steps: Sequence[Step]) -> tuple[tuple[int, ...], ...]:
    """Say after each step which values are dead."""
    needed = {*program.outputs}
    drops = []
    for step in reversed(steps):
        frames = step.frames if isinstance(step, Fused) else ()
        dead = {i for s in (step, *frames) for i in (*s.inputs, *s.outputs)} - needed
        needed |= dead
        drops.append(tuple(dead))
    return tuple(drops[::-1])
