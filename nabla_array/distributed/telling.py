"""How a schedule for a mesh is told: to `explain`, and to whoever counts what moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .._lazy.graph.program import Program, is_literal
from .._lazy.schedule.steps import Schedule
from .partition import Moved, Placing
from .spmd import Collective, Devices, Spread


class Told(NamedTuple):
    """A step of a schedule for a mesh.

    Attributes
    ----------
    kind
        "devices" (each does some operations with its own parts), "spread" (parts of a value of the host's go
        to the devices), or the name of a collective.
    title
        A line on what it is.
    eqns
        Numbers of the operations.
    nbytes
        Bytes that a device receives, on average.
    """

    kind: str
    title: str
    eqns: tuple[int, ...] = ()
    nbytes: int = 0


def told(program: Program, schedule: Schedule) -> Iterator[Told]:
    """Tell the steps of a schedule."""
    whole: Any = schedule.program
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
            title = title_of(program, step.moved)
            yield Told(step.moved.move.kind, title, (), round(step.nbytes))
        elif isinstance(step, Spread):
            aval = whole.values[step.inputs[0]].aval
            layout = step.placing.layout
            part = layout.largest * aval.dtype.itemsize
            yield Told("spread", title_of(program, step.placing), (), part)


def title_of(program: Program, made: Moved | Placing) -> str:
    """Return a line on what moves a value."""
    if isinstance(made, Placing):
        return f"spread of %{made.value}, to {made.layout}"
    how = made.move
    return f"{how.kind} for {_cause(program, made.cause)}, {how.source} to {how.target}"


def _cause(program: Program, k: int) -> str:
    base = len(program.inputs)
    return f"%{k} {program.eqns[k - base].prim}" if k >= base else f"%{k}"
