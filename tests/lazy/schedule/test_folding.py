"""Folded programs: they give the bits that they gave, and have no equation that they can do without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nabla_array._lazy.graph import primitive
from nabla_array._lazy.graph.aval import LARGE, aval_of
from nabla_array._lazy.graph.program import Program, run
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops import indexing, linalg, structure
from nabla_array._lazy.ops.creation import Literal, fill
from nabla_array._lazy.ops.reduction import reduce_sum
from nabla_array._lazy.schedule.folding import folded

from ..cpu.test_blocks import Steps, program_of
from ..cpu.test_loops import INSTRUCTIONS, reference
from ..cpu.test_loops import program_of as random_program
from ..execution import assert_same
from ..run.test_random_graphs import leaves

X, Y = np.linspace(-1, 1, 6).reshape(2, 3), np.arange(6.0).reshape(2, 3)


def number(value: Any, shape: tuple[int, ...] = (2, 3), dtype: str = "f8") -> Any:
    """Return the equation of an array full of a number."""
    return fill, (), {"value": Literal(np.dtype(dtype).type(value)), "shape": shape}


def left(program: Program, constants: dict[int, np.ndarray] | None = None) -> list[str]:
    """Return the operations that are left of a program."""
    found, values = folded(program, constants or {})
    assert len(found.inputs) == len(program.inputs) - len(constants or {}) + len(values)
    return [eqn.prim.name for eqn in found.eqns]


def check(program: Program, inputs: list[np.ndarray], constant: set[int]) -> Program:
    """Compare a folded program with what it was made of; returns it."""
    constants = {i: inputs[i] for i in sorted(constant)}
    before = [x.copy() for x in inputs]
    found, values = folded(program, constants)
    others = [x for i, x in enumerate(inputs) if i not in constant]
    assert found.inputs == tuple([aval_of(x.shape, x.dtype) for x in (*others, *values)])
    for x, y in zip(reference(found, [*others, *values]), reference(program, inputs), strict=True):
        assert_same(x, y)
    for x, y in zip(inputs, before, strict=True):
        assert_same(x, y)
    assert len(found.eqns) <= len(program.eqns)
    again, more = folded(found, dict(enumerate(values, len(others))))
    assert (again, len(more)) == (found, len(values))  # nothing is left to be done
    return found


@settings(max_examples=300)
@given(leaves(), INSTRUCTIONS, st.sets(st.integers(0, 2)), st.sets(st.integers(0, 24)))
def test_random_programs(
    inputs: list[np.ndarray], instructions: list[Any], constant: set[int], kept: set[int]
) -> None:
    program = random_program(inputs, instructions)
    outputs = [k for n, k in enumerate(program.outputs) if n in kept] or program.outputs[-1:]
    program = Program(program.inputs, program.eqns, tuple(outputs))
    check(program, inputs, {i for i in constant if i < len(inputs)})


@pytest.mark.parametrize("constant", [set(), {0}, {1}, {0, 1}], ids=str)
def test_constants_are_computed_once(constant: set[int]) -> None:
    steps: Steps = [(e.exp, (0,), {}), (e.sin, (1,), {}), (e.mul, (2, 3), {})]
    program = program_of([X, Y], steps, (4,))
    found = check(program, [X, Y], constant)
    names = [[], ["exp"], ["sin"]]
    assert [eqn.prim.name for eqn in found.eqns] == {
        0: ["exp", "sin", "mul"],
        1: [*names[1 + (constant == {0})], "mul"],
        2: [],
    }[len(constant)]


def test_what_nobody_needs_is_left_out() -> None:
    steps: Steps = [(e.exp, (0,), {}), (e.sin, (0,), {}), (e.cos, (3,), {}), number(3.0)]
    assert left(program_of([X, Y], steps, (2,))) == ["exp"]
    assert left(program_of([X, Y], steps, (1,))) == []
    (found, values) = folded(program_of([X, Y], steps, (2,)), {1: Y})
    assert (len(found.inputs), values) == (1, [])


def test_a_constant_that_is_an_output_is_an_input() -> None:
    program = program_of([X, Y], [(e.exp, (1,), {})], (1, 2, 0, 1))
    found, values = folded(program, {1: Y})
    assert found.eqns == ()
    assert found.outputs == (1, 2, 0, 1)
    np.testing.assert_array_equal(values, [Y, np.exp(Y)])


UNITS: dict[str, tuple[Any, str, Any, bool]] = {
    "times 1": (e.mul, "f8", 1, True),
    "times 1 in single precision": (e.mul, "f4", 1, True),
    "integers times 1": (e.mul, "i4", 1, True),
    "unsigned integers times 1": (e.mul, "u1", 1, True),
    "times 2": (e.mul, "f8", 2, False),
    "times -1": (e.mul, "f8", -1, False),
    "divided by 1": (e.div, "f8", 1, True),
    "booleans times True": (e.mul, "?", 1, False),
    "complex numbers times 1": (e.mul, "c16", 1, False),  # infinities become nan
    "plus 0": (e.add, "f8", 0, False),  # -0.0 becomes 0.0
    "minus 0": (e.sub, "f8", 0, False),
}


@pytest.mark.parametrize("name", UNITS)
def test_units_change_nothing(name: str) -> None:
    prim, dtype, unit, is_left_out = UNITS[name]
    x = np.array([0.0, -0.0, 1.5, -2, np.inf, np.nan, 5e-324, 0, 1])
    with np.errstate(all="ignore"):
        x = np.where(np.isfinite(x) | (dtype[0] in "fc"), x, 7).astype(dtype)
    program = program_of([x], [number(unit, x.shape, dtype), (prim, (0, 1), {})], (2,))
    assert left(program) == ([] if is_left_out else ["fill", prim.name])
    check(program, [x], set())
    if prim is e.mul:
        turned = program_of([x], [number(unit, x.shape, dtype), (prim, (1, 0), {})], (2,))
        assert (left(turned) == []) is is_left_out
        check(turned, [x], set())


def test_units_within_a_chain() -> None:
    steps: Steps = [
        number(1.0),
        (e.mul, (0, 1), {}),
        (e.exp, (2,), {}),
        (e.mul, (1, 3), {}),
        (e.add, (4, 2), {}),
    ]
    program = program_of([X], steps)
    assert left(program) == ["exp", "add"]
    check(program, [X], set())


def test_a_number_divided_is_no_unit() -> None:
    program = program_of([X], [number(1.0), (e.div, (1, 0), {})], (2,))
    assert left(program) == ["fill", "div"]


@pytest.mark.parametrize(
    "value", [np.ones((2, 3)), np.ones((2, 3))[::-1], np.array([[1, 1, 1], [1, 1, 2.0]])]
)
def test_constants_may_be_units_too(value: np.ndarray) -> None:
    program = program_of([X, value], [(e.mul, (0, 1), {}), (e.exp, (2,), {})], (3,))
    assert left(program, {1: value}) == (["exp"] if (value == 1).all() else ["mul", "exp"])
    check(program, [X, value], {1})


@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3)], ids=str)
def test_of_one_element_and_of_none(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 2.0)
    program = program_of([x], [number(1.0, shape), (e.mul, (0, 1), {}), (e.exp, (2,), {})], (3,))
    check(program, [x], set())
    check(program, [x], {0})


def test_views_that_show_the_same_are_left_out() -> None:
    steps: Steps = [
        (structure.reshape, (0,), {"shape": (2, 3)}),
        (structure.alias, (1,), {}),
        (structure.stop_gradient, (2,), {}),
        (structure.reshape, (3,), {"shape": (6,)}),
        (e.exp, (4,), {}),
    ]
    program = program_of([X], steps, (5, 3, 1))
    assert left(program) == ["reshape", "exp"]
    assert folded(program, {})[0].outputs == (2, 0, 0)
    check(program, [X], set())


FAILING: dict[str, tuple[list[np.ndarray], Steps]] = {
    "a fault": ([np.zeros(3)], [(e.log, (0,), {})]),
    "an overflow": ([np.full(3, 800.0)], [(e.exp, (0,), {})]),
    "an index": ([X, np.array([7])], [(indexing.gather, (0, 1), {"axes": (0,), "batch": 0})]),
    "a singular matrix": ([np.zeros((2, 2))], [(linalg.inv, (0,), {})]),
    "a negative power": ([np.ones(3, int), np.full(3, -1)], [(e.pow_, (0, 1), {})]),
}


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_is_told_of_each_time(name: str) -> None:
    inputs, steps = FAILING[name]
    program = program_of(inputs, steps)
    found, values = folded(program, dict(enumerate(inputs)))
    assert [eqn.prim for eqn in found.eqns] == [steps[0][0]]
    assert [x is y for x, y in zip(values, inputs, strict=True)] == [True] * len(inputs)


def test_folding_does_not_warn_and_does_not_heed_what_the_caller_set() -> None:
    program = program_of([X], [(e.log, (0,), {}), number(1.0), (e.exp, (2,), {})], (1, 3))
    for state in ("raise", "warn", "ignore"):
        with np.errstate(all=state):  # type: ignore[call-overload]
            assert left(program, {0: X}) == ["log"]


def test_other_errors_are_bugs() -> None:
    def host(x: np.ndarray) -> np.ndarray:
        raise KeyError

    broken = primitive.Primitive("broken", lambda x: x, host)
    with pytest.raises(KeyError):
        folded(program_of([X], [(broken, (0,), {})]), {0: X})


def test_what_is_large_is_computed_where_it_is_needed() -> None:
    n = LARGE // 8
    for size, names in ((n - 1, []), (n, ["broadcast"])):
        wide: Steps = [(structure.broadcast, (0,), {"shape": (size,), "axes": (0,)})]
        assert left(program_of([np.ones(1)], wide), {0: np.ones(1)}) == names
    summed: Steps = [(reduce_sum, (0,), {"axes": (0,)}), (e.exp, (1,), {})]
    x = np.ones(n) / n
    assert left(program_of([x], summed), {0: x}) == []


def test_several_results_are_left_as_they_are() -> None:
    x = np.eye(2)
    steps: Steps = [(linalg.eigh, (0,), {"uplo": "L"}), (structure.project, (1,), {"index": 0})]
    assert left(program_of([x], steps), {0: x}) == ["eigh", "project"]


def test_programs_run_alike() -> None:
    program = program_of([X, Y], [number(1.0), (e.mul, (0, 2), {}), (e.sin, (1,), {}), (e.add, (3, 4), {})])
    found, values = folded(program, {1: Y})
    (out,) = run(found, [X, *values], lambda prim, ins, params: prim.host(*ins, **params))
    assert_same(out, X + np.sin(Y))
    assert [eqn.prim.name for eqn in found.eqns] == ["add"]
