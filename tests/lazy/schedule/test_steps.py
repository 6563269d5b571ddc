"""Steps in the numbers of the programs that they are parts of, and what is dead after each."""

from __future__ import annotations

import numpy as np

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.graph.program import Program, linearize, pending_order
from nabla_array._lazy.schedule.groups import fusion_groups
from nabla_array._lazy.schedule.parts import part_of, users_of
from nabla_array._lazy.schedule.steps import Call, Compiled, Fused, Part, Schedule


def program_of(*arrays: Array) -> Program:
    nodes = [a._node for a in arrays]
    return linearize(pending_order(nodes), nodes).program


def names(program: Program, numbers: tuple[int, ...]) -> list[str]:
    return [program.eqns[k - len(program.inputs)].prim.name for k in numbers]


def chain() -> Program:
    x = xp.asarray(np.ones((6, 5)))
    return program_of(xp.exp(xp.sort(xp.sin(x)) * xp.cos(x)))


def test_steps_of_a_part_are_those_of_the_whole() -> None:
    program = chain()
    size = len(program.inputs) + len(program.eqns)
    last = [*range(size - 3, size)]
    part = part_of(program, last, False, users_of(program))
    assert names(program, part.eqns) == ["cos", "mul", "exp"]
    (step,) = [s.within(part.numbers) for s in fusion_groups(part.program)]
    assert isinstance(step, Fused)
    assert names(program, step.eqns) == ["cos", "mul", "exp"]
    assert step.outputs == program.outputs
    assert set(step.inputs) == {0, *[k for k in part.inputs if k]}


def test_a_part_of_a_part_is_a_part() -> None:
    program = chain()
    base = len(program.inputs)
    outer = part_of(program, [*range(base + 1, base + len(program.eqns))], False, users_of(program))
    size = len(outer.inputs) + len(outer.eqns)
    inside = [*range(size - 2, size)]
    inner = part_of(outer.program, inside, True, users_of(outer.program)).within(outer.numbers)
    assert names(program, inner.eqns) == ["mul", "exp"]
    assert inner.fusible
    for own, number in zip(range(len(inner.inputs)), inner.inputs, strict=True):
        assert inner.program.aval(own) is program.aval(number)


def test_calls_of_a_part() -> None:
    part = Part(chain(), (7, 3), (5,), (4, 5))
    assert Call(2, (0, 1)).within(part.numbers) == Call(4, (7, 3))
    assert Call(2, (0, 1)).outputs == (2,)


def test_what_is_dead_is_dropped_once_and_outputs_never() -> None:
    program = chain()  # %0, then sin, sort, cos, mul, exp
    runner = object()
    part = part_of(program, [3, 4, 5], True, users_of(program))
    schedule = Schedule(program, [Call(1, (0,)), Call(2, (1,)), Compiled(part, runner)])
    assert [sorted(d) for d in schedule.drops] == [[], [1], [0, 2]]
    assert (schedule.fused, schedule.tiled) == (0, [])
    both = Program(program.inputs, program.eqns, (5, 2))
    kept = Schedule(both, [Call(1, (0,)), Call(2, (1,)), Compiled(part, runner)])
    assert [sorted(d) for d in kept.drops] == [[], [1], [0]]


def test_what_nobody_reads_is_dropped_at_once() -> None:
    program = chain()
    schedule = Schedule(program, [Call(1, (0,)), Call(3, (0,))])
    assert [sorted(d) for d in schedule.drops] == [[1], [0, 3]]
