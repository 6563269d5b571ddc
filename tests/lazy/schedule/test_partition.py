"""Schedules of random programs, whatever runs where: their order, what they drop, and what they compute."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.cpu.calls import quiet, run_call
from nabla_array._lazy.graph.primitive import as_value
from nabla_array._lazy.graph.program import Program, linearize, pending_order
from nabla_array._lazy.graph.program import run as fold
from nabla_array._lazy.native import compiled
from nabla_array._lazy.run.executors import EXECUTORS, execute
from nabla_array._lazy.schedule import parts as pass_for_max
from nabla_array._lazy.schedule.partition import partition
from nabla_array._lazy.schedule.steps import Call, Compiled, Fused, Part, Schedule, Tiled

from ..canonical_host import may_be_lowered
from ..execution import assert_same, in_pieces
from ..run.test_random_graphs import _INSTRUCTION, build, leaves


class Numpy:
    """Runs a part equation by equation, in MAX's place."""

    def __init__(self, part: Part) -> None:
        self.part = part

    def run(self, ins: list[Any]) -> list[Any]:
        return quiet.copy().run(run_by_host_rules, self.part.program, ins)


def run_by_host_rules(program: Program, ins: list[Any]) -> list[Any]:
    return fold(program, ins, lambda prim, args, params: as_value(prim.host(*args, **params)))


def program_of(*arrays: Array) -> tuple[Program, list[Any]]:
    """The program of pending arrays, and its inputs."""
    nodes = [a._node for a in arrays if a._node.value is None]
    line = linearize(pending_order(nodes), nodes)
    return line.program, [n.value for n in line.inputs]


def check_order(schedule: Schedule) -> None:
    """Each step reads what is there, stores something new, and what nothing needs afterwards goes."""
    program = schedule.program
    there = set(range(len(program.inputs)))
    for n, (step, drop) in enumerate(zip(schedule.steps, schedule.drops, strict=True)):
        assert there.issuperset(step.inputs), step
        assert not there.intersection(step.outputs), step
        there.update(step.outputs)
        assert there.issuperset(drop), step
        there.difference_update(drop)
        later = {i for s in schedule.steps[n + 1 :] for i in s.inputs} | {*program.outputs}
        used = {i for s in schedule.steps[: n + 1] for i in (*s.inputs, *s.outputs)}
        assert not later.intersection(drop)
        assert (there & used) <= later
    assert there.issuperset(program.outputs)


def scheduled(program: Program, everything: bool, chosen: set[int], tiled: bool) -> Schedule:
    with patch.object(pass_for_max, "_is_lowered", may_be_lowered):
        parts = pass_for_max.parts(program, everything)
    runners = {n: Numpy(p) for n, p in enumerate(parts) if p.fusible and n in chosen}
    schedule = partition(program, parts, runners, tiled)
    assert len(runners) == sum(isinstance(s, Compiled) for s in schedule.steps)
    return schedule


@settings(max_examples=400)
@given(
    leaves(),
    st.lists(_INSTRUCTION, min_size=1, max_size=20),
    st.booleans(),
    st.sets(st.integers(0, 9)),
    st.booleans(),
    st.sets(st.integers(0, 25)),
)
def test_random_schedules(
    inputs: list[np.ndarray],
    instructions: list[Any],
    everything: bool,
    chosen: set[int],
    tiled: bool,
    kept: set[int],
) -> None:
    mine, _ = build(inputs, instructions)
    program, values = program_of(*[x for i, x in enumerate(mine) if i in kept], mine[-1])
    if not program.eqns:
        return
    wanted = quiet.copy().run(run_by_host_rules, program, values)
    with in_pieces() if tiled else nullcontext():
        schedule = scheduled(program, everything, chosen, tiled)
        check_order(schedule)
        env = [*values, *[None] * len(program.eqns)]
        quiet.copy().run(execute, schedule, env)
    for k, value in zip(program.outputs, wanted, strict=True):
        assert_same(np.asarray(env[k]), value)
    rest = {*range(len(program.inputs), len(env))}.difference(program.outputs)
    assert all(env[k] is None for k in rest)


X, Y = np.linspace(0, 1, 60).reshape(12, 5), np.linspace(-1, 1, 25).reshape(5, 5)
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "a chain": lambda x, y: xp.exp(x * 2.0) + x,
    "around a sort": lambda x, y: xp.sort(x * 2.0 + 1.0, axis=0) * x - 1.0,
    "a literal on both sides": lambda x, y: xp.sort(x * 2.0 + 2.0, axis=0) * 2.0 + 2.0,
    "a layer": lambda x, y: xp.tanh(x @ y + 1.0) * 2.0,
    "a layer around a sort": lambda x, y: xp.tanh(xp.sort(xp.tanh(x @ y), axis=0) @ y) * 2.0,
    "two results": lambda x, y: (xp.sum(x @ y + 1.0, axis=0), (x @ y).T),
    "views of parts": lambda x, y: (x * 2.0 + 1.0)[1:].T,
    "reduced and spread": lambda x, y: xp.exp(x - xp.max(x, axis=1, keepdims=True)) / xp.sum(x),
    "an index": lambda x, y: xp.take(x * 2.0 + 1.0, xp.argmax(x + 1.0, axis=0), axis=0),
    "several results of one call": lambda x, y: xp.linalg.qr(y * 2.0 + 1.0)[1] * 2.0 + 1.0,
}


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_choice_of_parts(name: str, tiled: bool) -> None:
    made = PROGRAMS[name](xp.asarray(X), xp.asarray(Y))
    program, values = program_of(*(made if isinstance(made, tuple) else (made,)))
    wanted = run_by_host_rules(program, values)
    with in_pieces() if tiled else nullcontext():
        for choice in range(1 << 4):
            schedule = scheduled(program, True, {n for n in range(8) if choice >> n % 4 & 1}, tiled)
            check_order(schedule)
            env = [*values, *[None] * len(program.eqns)]
            execute(schedule, env)
            for k, value in zip(program.outputs, wanted, strict=True):
                assert_same(np.asarray(env[k]), value, exact=False)


def kinds(schedule: Schedule) -> str:
    names = {Call: "call", Fused: "fused", Tiled: "tiled", Compiled: "compiled"}
    base, eqns = len(schedule.program.inputs), schedule.program.eqns
    steps = [s for s in schedule.steps if not isinstance(s, Call) or eqns[s.eqn - base].prim.kind == "call"]
    return " ".join(names[type(s)] for s in steps if not (isinstance(s, Call) and not s.inputs))


@pytest.mark.skipif(compiled is None, reason="compiled code runs tiles")
def test_each_pass_cuts_what_those_before_it_left() -> None:
    x, y = xp.asarray(X), xp.asarray(Y)
    first = xp.sort(xp.exp(x * 2.0) + x, axis=0)
    program, _ = program_of(xp.tanh(first @ y + 1.0) * 2.0)
    with in_pieces():
        assert kinds(scheduled(program, False, set(), False)) == "fused call call fused"
        assert kinds(scheduled(program, False, {0}, False)) == "compiled call call fused"
        assert kinds(scheduled(program, False, set(), True)) == "fused call tiled"
        assert kinds(scheduled(program, False, {0}, True)) == "compiled call tiled"
        every = set(range(9))
        assert kinds(scheduled(program, True, every, True)) == "compiled call compiled"


@pytest.mark.skipif(compiled is None, reason="blocks one by one may fail midway, and write over nothing")
@pytest.mark.parametrize("chosen", [set(), {0}])
def test_memory_is_given_on_from_step_to_step(chosen: set[int]) -> None:
    x = xp.asarray(np.linspace(0, 1, 1 << 16))
    program, values = program_of(xp.sort(xp.exp(x * 2.0) + x) * 3.0 + 1.0)
    sorted_at = []

    def call(program: Program, step: Call, *more: Any) -> None:
        run_call(program, step, *more)
        if program.eqns[step.eqn - len(program.inputs)].prim.name == "sort":
            sorted_at.append(env[step.eqn].ctypes.data)

    env = [*values, *[None] * len(program.eqns)]
    with patch.dict(EXECUTORS, {Call: call}):
        execute(scheduled(program, False, chosen, False), env)
    assert [env[program.outputs[0]].ctypes.data] == sorted_at
