"""The pass that lets fusion groups write results directly into the concatenations that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    left, steps = [*schedule.steps], list[Step]()
    while left:
        step = left.pop(0)
        if isinstance(step, Fused) and not frame_of.keys().isdisjoint(step.outputs):
            before, frames = _frames(step, left, frame_of)
            left = [s for s in left if s not in before and s not in frames]
            steps += before
            step = step._replace(frames=frames)
        steps.append(step)
    return Schedule(program, steps)


def _frames(
    group: Fused, later: Sequence[Step], frame_of: Mapping[int, int]
) -> tuple[list[Call], tuple[Call, ...]]:
    """Return the later calls that must run before a fusion group, and those that become its frames.

    Only calls move: a concatenation of results of several fusion groups is a frame of the last one.
    """
    made = {*group.outputs}
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
    needed = {i for call in frames for i in call.inputs}
    before: list[Call] = []
    for call in reversed(early):
        if call.eqn in needed:
            needed.update(call.inputs)
            before.insert(0, call)
    return before, tuple(frames)
