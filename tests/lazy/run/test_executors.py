"""The loop that runs schedules: each kind of step, and what an error midway leaves."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.cpu.calls import StepFailed
from nabla_array._lazy.graph.program import Program, linearize, pending_order
from nabla_array._lazy.run.executors import EXECUTORS, execute, execute_part
from nabla_array._lazy.schedule.partition import partition
from nabla_array._lazy.schedule.parts import part_of, users_of
from nabla_array._lazy.schedule.steps import Compiled, Schedule, Step
from nabla_array._lazy.stats import stats

X = np.linspace(0.1, 2.0, 60).reshape(12, 5)


def program_of(*arrays: Array) -> tuple[Program, list[Any]]:
    """The program of pending arrays, and an environment to run it in."""
    nodes = [a._node for a in arrays]
    line = linearize(pending_order(nodes), nodes)
    return line.program, [*[n.value for n in line.inputs], *[None] * len(line.program.eqns)]


def test_every_kind_of_step_has_an_executor() -> None:
    assert EXECUTORS.keys() >= {*get_args(Step)}  # `distributed` adds its own


def test_a_schedule_leaves_its_outputs_alone() -> None:
    x = xp.asarray(X)
    program, env = program_of(xp.sort(xp.exp(x) * 2.0) + x, xp.sum(x * x))
    before = stats.fusion_groups
    schedule = partition(program)
    execute(schedule, env)
    assert stats.fusion_groups - before == schedule.fused > 1
    first, second = (env[k] for k in program.outputs)
    np.testing.assert_array_equal(first, np.sort(np.exp(X) * 2.0) + X)
    np.testing.assert_allclose(second, np.sum(X * X), rtol=1e-14)
    assert [k for k, value in enumerate(env) if value is not None] == sorted(program.outputs)


def failing() -> tuple[Program, list[Any]]:
    x, at = xp.asarray(X), xp.asarray([3, 50])
    return program_of(xp.exp(xp.take(xp.sin(x) * 2.0, at, axis=0)))


def name(program: Program, k: int) -> str:
    return program.eqns[k - len(program.inputs)].prim.name


def test_an_error_names_its_equation_and_leaves_what_was_computed() -> None:
    program, env = failing()
    with pytest.raises(StepFailed) as caught:
        execute(partition(program), env)
    assert name(program, caught.value.eqn) == "gather"
    assert isinstance(caught.value.error, IndexError)
    (mul,) = [k for k in range(len(program.inputs), len(env)) if name(program, k) == "mul"]
    np.testing.assert_array_equal(env[mul], np.sin(X) * 2.0)
    assert env[program.outputs[0]] is None


def test_an_error_in_a_part_is_told_in_the_numbers_of_the_whole() -> None:
    program, env = failing()
    base = len(program.inputs)
    taken = [k for k in range(base, len(env)) if name(program, k) in ("gather", "exp")]
    part = part_of(program, taken, False, users_of(program))
    first = part_of(program, [k for k in range(base, len(env)) if k not in taken], False, users_of(program))

    class Host:
        def __init__(self, own: Any) -> None:
            self.own = own

        def run(self, ins: list[Any]) -> list[Any]:
            return execute_part(self.own, partition(self.own.program), ins)

    schedule = Schedule(program, [Compiled(first, Host(first)), Compiled(part, Host(part))])
    with pytest.raises(StepFailed) as caught:
        execute(schedule, env)
    assert name(program, caught.value.eqn) == "gather"


def test_a_part_takes_the_references_of_its_inputs_over() -> None:
    program, _ = program_of(xp.exp(xp.asarray(X)) * 2.0)
    numbers = tuple(range(len(program.inputs) + len(program.eqns)))
    base = len(program.inputs)
    part = part_of(program, [*numbers[base:]], False, users_of(program))
    ins = [X.copy()]
    (found,) = execute_part(part, partition(part.program), ins)
    assert ins == []
    np.testing.assert_array_equal(found, np.exp(X) * 2.0)
    (again,) = execute_part(part, partition(part.program), [X])
    np.testing.assert_array_equal(again, found)
    np.testing.assert_array_equal(X, np.linspace(0.1, 2.0, 60).reshape(12, 5))  # nothing wrote to it
