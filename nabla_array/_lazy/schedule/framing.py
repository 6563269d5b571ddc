"""The pass that lets fusion groups write results directly into the concatenations that read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .parts import users_of
from .steps import Call, Fused, Schedule, Step


def framed(schedule: Schedule) -> Schedule:
    """Return the schedule in which a concatenation is a frame of the group whose results only it reads."""
    program, base = schedule.program, len(schedule.program.inputs)
    prims = {k: eqn.prim for k, eqn in enumerate(program.eqns, base)}
    frame_of = {}  # of each value that one concatenation reads and nothing else: its number
    for i, (c, *others) in users_of(program).items():
        is_put = prims[c].places is not None and i >= base and prims[i].can_place
        if is_put and {c}.issuperset(others) and i not in program.outputs:
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
