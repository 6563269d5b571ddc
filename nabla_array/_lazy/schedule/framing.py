"""The pass that lets fusion groups write results into what they are parts of: concatenations, or arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .parts import users_of
from .steps import Call, Fused, Schedule, Step


def framed(schedule: Schedule) -> Schedule:
    """Return the schedule in which a concatenation is a frame of the group whose results only it reads.

    So is what changes a part of an array that nothing else reads, but for views of it.
    """
    program, base = schedule.program, len(schedule.program.inputs)
    eqns = dict(enumerate(program.eqns, base))
    frame_of = {}  # of each value that one frame reads and nothing else: its number
    users = users_of(program)
    for i, (c, *others) in users.items():
        if i < base or not eqns[i].prim.can_place or i in program.outputs or not {c}.issuperset(others):
            continue
        x, prim = eqns[c].ins[0], eqns[c].prim
        is_changed = prim.patches is not None and x != i and x not in program.outputs
        if is_changed:
            is_changed = all([k == c or eqns[k].prim.kind == "view" for k in users[x]])
        if prim.places is not None or is_changed:
            frame_of[i] = c
    if not frame_of:
        return schedule
    last = dict[int, int]()  # of each concatenation the last step, but calls, that makes a part of it
    for n, step in enumerate(schedule.steps):
        if not isinstance(step, Call):
            last.update((frame_of[i], n) for i in step.outputs if i in frame_of)
    moved = set[int]()  # calls that run in an earlier step
    steps = list[Step]()
    for n, step in enumerate(schedule.steps):
        if isinstance(step, Fused) and any([last.get(frame_of.get(i, -1)) == n for i in step.outputs]):
            later = (schedule.steps[k] for k in range(n + 1, len(schedule.steps)))
            before, frames = _frames(step, (s for s in later if moved.isdisjoint(s.outputs)), frame_of)
            moved.update(call.eqn for call in (*before, *frames))
            steps += before
            step = step._replace(frames=frames)
        if moved.isdisjoint(step.outputs):
            steps.append(step)
    return Schedule(program, steps)


def _frames(
    group: Fused, later: Iterable[Step], frame_of: Mapping[int, int]
) -> tuple[list[Call], tuple[Call, ...]]:
    """Return the later calls that must run before a fusion group, and those that become its frames.

    Only calls move: a concatenation of results of several fusion groups is a frame of the last one.
    """
    made = {*group.outputs}
    awaited = set[int]()  # what may become a frame: nothing that comes after these matters
    for i in group.outputs:
        while (i := frame_of.get(i, -1)) >= 0:
            awaited.add(i)
    waiting = set[int]()  # what comes after the group
    early: list[Call] = []
    frames: list[Call] = []
    for step in later:
        if not isinstance(step, Call) or not waiting.isdisjoint(step.inputs):
            waiting.update(step.outputs)
        elif any([i in made and frame_of.get(i) == step.eqn for i in step.inputs]):
            frames.append(step)
            made.add(step.eqn)
        elif made.isdisjoint(step.inputs):
            early.append(step)
        else:
            waiting.add(step.eqn)
        awaited.difference_update(step.outputs)
        if not awaited:
            break
    needed = {i for call in frames for i in call.inputs}
    before: list[Call] = []
    for call in reversed(early):
        if call.eqn in needed:
            needed.update(call.inputs)
            before.append(call)
    return before[::-1], tuple(frames)
