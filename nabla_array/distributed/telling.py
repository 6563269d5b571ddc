"""How a schedule for a mesh is told: to `explain`, and to whoever counts what moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .._lazy.graph.program import Program, is_literal
from .._lazy.schedule.steps import Schedule
from ..inspect.text import count_text
from .merging import Moves
from .partition import Moved, Placing
from .spmd import Collective, Devices, Driven


class Told(NamedTuple):
    """A step of a schedule for a mesh.

    Attributes
    ----------
    kind
        "devices" (each does some operations with its own parts), "spread" (parts of a value of the host's go
        to the devices), the name of a collective, or of a loop or branch that has steps of its own.
    title
        A line on what it is.
    eqns
        Numbers of the operations.
    nbytes
        Bytes that a device receives, on average: in all steps of a loop, or in one where nobody knows how
        many there are; in the branch where that is most.
    rows
        A line on each value, where several move, or on each step of a loop.
    """

    kind: str
    title: str
    eqns: tuple[int, ...] = ()
    nbytes: int = 0
    rows: tuple[str, ...] = ()


def told(schedule: Schedule) -> Iterator[Told]:
    """Tell the steps of a schedule."""
    whole: Any = schedule.program
    program: Program = whole.program
    base = len(program.inputs)
    seen: set[int] = set()
    for step in schedule.steps:
        if isinstance(step, Devices):
            causes = {k for some in step.causes.values() for k in some if k >= base} - seen
            eqns = tuple(sorted([k for k in causes if not is_literal(program.eqns[k - base])]))
            seen.update(eqns)
            many = len(step.segment.programs)
            yield Told("devices", f"{many} devices" if many > 1 else "every device alike", eqns)
        elif isinstance(step, Collective):
            made, title = step.moves.made, title_of(program, step.moves)
            rows = [f"{_what(program, m)}; {n:,.0f} B" for m, n in zip(made, step.nbytes, strict=True)]
            yield Told(step.moves.kind, title, (), round(sum(step.nbytes)), tuple(rows * (len(rows) > 1)))
        elif isinstance(step, Driven):
            seen.add(step.nested.cause)
            yield _of_bodies(step)


def _of_bodies(step: Driven) -> Told:
    """Tell a loop, or a branch, with the steps of its bodies."""
    bodies = [[*told(schedule)] for schedule in step.schedules]
    nbytes = [sum([t.nbytes for t in steps]) for steps in bodies]
    nested, kind = step.nested, str(step.nested.prim)
    if nested.is_branch:
        names, total, often = (
            [f"branch {n}" for n in range(len(bodies))],
            max(nbytes),
            f"one of {len(bodies)}",
        )
    else:
        names, total = ["condition", "step"][-len(bodies) :], sum(nbytes) * (nested.times or 1)
        often = "for each step" if nested.times is None else f"{nested.times:,} steps"
    rows = []
    for name, steps in zip(names, bodies, strict=True):
        for k, t in enumerate(steps, 1):
            does = count_text(len(t.eqns), "operation") if t.kind == "devices" else f"{t.nbytes:,.0f} B"
            rows += [f"{name} {k}. {t.title}; {does}", *[f"  {row}" for row in t.rows]]
    return Told(kind, f"{kind}, {often}", (nested.cause,), total, tuple(rows))


def title_of(program: Program, moves: Moves) -> str:
    """Return a line on what moves values."""
    if len(moves.made) == 1:
        return f"{moves.kind} {_what(program, moves.made[0])}"
    return f"{moves.kind} of {len(moves.made)} values"


def _what(program: Program, made: Moved | Placing) -> str:
    """Return what moves a value, and for which operation."""
    if isinstance(made, Placing):
        return f"of %{made.value}, to {made.layout}"
    base, k = len(program.inputs), made.cause
    cause = f"%{k} {program.eqns[k - base].prim}" if k >= base else f"%{k}"
    return f"for {cause}, {made.move.source} to {made.move.target}"
