"""The pass that has fusion groups write results where concatenations put them."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.program import Program
from .parts import users_of
from .steps import Call, Framed, Fused, Schedule, Step


def framed(schedule: Schedule) -> Schedule:
    """Return a schedule in which results that nobody but a concatenation reads are never stored apart."""
    program, steps = schedule.program, [*schedule.steps]
    if all([eqn.prim.places is None for eqn in program.eqns]):
        return schedule
    users = users_of(program)
    n = 0
    while n < len(steps):
        step = steps[n]
        if isinstance(step, Fused):
            n = _frame(program, steps, n, step, users)
        n += 1
    return Schedule(program, steps)


def _frame(program: Program, steps: list[Step], n: int, group: Fused, users: dict[int, list[int]]) -> int:
    """Make a group and the concatenations around its results one step; returns where that is."""
    base = len(program.inputs)

    def around(k: int) -> int | None:
        """Return the only reader of a value, if that puts it somewhere."""
        readers = {*users.get(k, ())}
        is_one = len(readers) == 1 and k not in program.outputs
        return next((c for c in readers if is_one and program.eqns[c - base].prim.places is not None), None)

    frames: list[int] = []
    prims = {k: program.eqns[k - base].prim for k in group.outputs}
    ready = [k for k, prim in prims.items() if prim.kind == "elementwise" and not prim.contiguous]
    placed: list[int] = []
    while ready:
        c = around(ready[-1])
        if c is not None:
            placed.append(ready[-1])
        ready.pop()
        if c is None or c in frames:
            continue
        last = next((m for m in range(n + 1, len(steps)) if steps[m].outputs == (c,)), None)
        before = None if last is None else _needed(steps, n, last, {*group.outputs, *frames})
        if last is not None and before is not None:
            moved = [steps[m] for m in before]
            for m in sorted([*before, last], reverse=True):
                del steps[m]
            steps[n:n] = moved
            n += len(moved)
            frames.append(c)
            ready.append(c)
    if frames:
        inside = {k for k in placed if around(k) in frames}
        read = [i for c in frames for i in program.eqns[c - base].ins]
        made = (*group.outputs, *frames)
        inputs = tuple(dict.fromkeys([i for i in (*group.inputs, *read) if i not in made]))
        outputs = tuple([k for k in made if k not in inside])
        steps[n] = Framed(group, tuple(frames), inputs, outputs)
    return n


def _needed(steps: Sequence[Step], n: int, last: int, made: set[int]) -> list[int] | None:
    """Return which calls after one step another one waits for.

    None: those wait for what is `made`, or it waits for other groups, of which the last may write there.
    """
    wanted = {*steps[last].inputs} - made
    found = []
    for m in range(last - 1, n, -1):
        if not wanted.isdisjoint(steps[m].outputs):
            if not isinstance(steps[m], Call):
                return None
            found.append(m)
            wanted.update(steps[m].inputs)
    return found[::-1] if wanted.isdisjoint(made) else None
