"""The loop that runs schedules, and the table of what runs each kind of step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cpu.blocks import run_fused
from ..cpu.calls import StepFailed, run_call
from ..cpu.kernels import Unfit
from ..cpu.row_tiling import run_tiles
from ..graph.program import Program
from ..native import compiled
from ..schedule.partition import partition
from ..schedule.steps import Call, Compiled, Fused, Part, Schedule, Tiled
from ..stats import stats

Executor = Callable[[Program, Any, tuple[int, ...], list[Any], set[int]], None]


def execute(schedule: Schedule, env: list[Any], owned: frozenset[int] = frozenset()) -> None:
    """Run a schedule over `env`, which holds the program's inputs and room for one value an equation.

    Values that nothing needs any more are dropped from `env` on the way. The inputs in `owned` have
    no other user, so they may be written over; the caller holds each of them once.
    """
    program = schedule.program
    over = {*owned}  # and what is written over these
    stats.fusion_groups += schedule.fused
    counts = compiled is not None and len(schedule.steps) > 1  # memory of one step is for the next ones
    if counts:
        compiled.count_run(1)
    try:
        for step, drop in zip(schedule.steps, schedule.drops, strict=True):
            EXECUTORS[type(step)](program, step, drop, env, over)
            for i in drop:
                env[i] = None
    finally:
        if counts:
            compiled.count_run(-1)


def execute_part(part: Part, schedule: Schedule, ins: list[Any]) -> list[Any]:
    """Run a part of a program by a schedule of its own, which takes the inputs' references over."""
    env = [*ins, *[None] * len(part.program.eqns)]
    ins.clear()
    try:
        execute(schedule, env)
    except StepFailed as failure:
        raise StepFailed(failure.error, part.eqns[failure.eqn - len(part.inputs)]) from failure.error
    return [env[i] for i in part.program.outputs]


def _of_parts(run: Callable[[Any, list[Any]], list[Any]]) -> Executor:
    """Return the executor of steps that are parts of programs, of which `run` makes the outputs."""

    def execute_step(
        program: Program, step: Any, drop: tuple[int, ...], env: list[Any], owned: set[int]
    ) -> None:
        ins = [env[i] for i in step.inputs]
        for i in drop:
            env[i] = None
        for i, value in zip(step.outputs, run(step, ins), strict=True):
            env[i] = value

    return execute_step


def _run_tiled(step: Tiled, ins: list[Any]) -> list[Any]:
    try:
        return run_tiles(step, ins)
    except Unfit:
        step.fits = False
        return execute_part(step.part, partition(step.part.program), ins)


def _run_compiled(step: Compiled, ins: list[Any]) -> list[Any]:
    outs: list[Any] = step.runner.run(ins)
    return outs


EXECUTORS: dict[type, Executor] = {
    Call: run_call,
    Fused: run_fused,
    Tiled: _of_parts(_run_tiled),
    Compiled: _of_parts(_run_compiled),
}
