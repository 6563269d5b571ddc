"""What is folded gives what the whole program gives, with fewer operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.graph.program import Program, linearize, pending_order, run
from nabla_array._lazy.schedule.folding import folded


def program_of(*roots: xp.Array) -> tuple[Program, list[np.ndarray]]:
    """Return the program of pending arrays, and the values of its inputs."""
    nodes = [x._node for x in roots]
    line = linearize(pending_order(nodes), nodes)
    return line.program, [np.asarray(n.value) for n in line.inputs]


def results(program: Program, values: list[np.ndarray]) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return [np.asarray(y) for y in run(program, values, lambda p, ins, params: p.host(*ins, **params))]


def check(program: Program, values: list[np.ndarray], constants: set[int]) -> Program:
    """Assert that a folded program gives the same bits, and return it."""
    less, known = folded(program, {i: values[i] for i in constants})
    rest = [x for i, x in enumerate(values) if i not in constants]
    for got, wanted in zip(results(less, rest + known), results(program, values), strict=True):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(got, wanted)
        if got.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))
    return less


def names(program: Program) -> list[str]:
    return [e.prim.name for e in program.eqns if e.prim.name != "fill"]


X, Y = np.asarray([1.0, -0.0, np.nan, 3.0]), np.asarray([2.0, 0.5, 1.0, -1.0])


def arrays(*given: np.ndarray) -> list[xp.Array]:
    return [xp.asarray(x) for x in given]


def test_what_depends_on_constants_alone_is_computed() -> None:
    x, y = arrays(X, Y)
    program, values = program_of(xp.exp(y) * 2 + x)
    (constant,) = [i for i, v in enumerate(values) if v is not None and np.array_equal(v, Y)]
    assert names(check(program, values, {constant})) == ["add"]
    assert names(check(program, values, set())) == names(program)


def test_all_of_it_may_be_constant() -> None:
    x, y = arrays(X, Y)
    program, values = program_of(x * y + 1)
    assert check(program, values, {0, 1}).eqns == ()


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda x: x * 1, []),
        (lambda x: 1 * x, []),
        (lambda x: x / 1, []),
        (lambda x: 1 / x, ["div"]),
        (lambda x: 0 - x, ["sub"]),
        (lambda x: x * 2, ["mul"]),
        (lambda x: xp.exp(x * 1) * 1, ["exp"]),
    ],
)
def test_units_change_nothing(function: Any, left: list[str]) -> None:
    (x,) = arrays(X)
    program, values = program_of(function(xp.exp(x)))
    assert names(check(program, values, set())) == ["exp", *left]


def test_the_sum_with_0_is_another_number() -> None:
    (x,) = arrays(X)  # -0.0 + 0.0 is 0.0
    program, values = program_of(xp.negative(x) + 0.0)
    check(program, values, set())


def test_what_raises_or_is_to_be_told_of_stays() -> None:
    x, y = arrays(np.asarray([0.0, 1.0]), np.asarray([3.0, 4.0]))
    program, values = program_of(xp.log(x) + y)
    assert names(check(program, values, {0})) == ["log", "add"]


def test_what_is_large_stays() -> None:
    large = np.ones(300_000)
    x, y = arrays(large, large)
    program, _ = program_of(xp.exp(x) * y)
    assert names(folded(program, {0: large})[0]) == names(program)


def test_what_nobody_needs_is_left_out() -> None:
    x, y = arrays(X, Y)
    nodes = [xp.exp(x)._node, (x + y)._node]
    line = linearize(pending_order(nodes), nodes[1:])
    less, _ = folded(line.program, {})
    assert names(less) == ["add"]


@given(st.data())
def test_random_programs(data: st.DataObject) -> None:
    values = [X[:3], Y[:3], np.asarray(1.0), np.asarray([0.0, 1.0, 2.0])]
    pool = arrays(*values)
    for _ in range(data.draw(st.integers(1, 12))):
        function = data.draw(
            st.sampled_from([xp.add, xp.subtract, xp.multiply, xp.maximum, xp.divide, xp.negative, xp.square])
        )
        operands = [data.draw(st.sampled_from([*pool[-4:], *pool[:3], 0, 1.0])) for _ in range(2)]
        if not isinstance(operands[0], xp.Array):
            operands[0] = pool[0]
        pool.append(function(*operands[: 1 if function in (xp.negative, xp.square) else 2]))
    roots = [y for y in pool[-3:] if y._node.value is None]
    program, given = program_of(*roots)
    chosen = data.draw(st.sets(st.integers(0, max(len(given) - 1, 0)))) & {*range(len(given))}
    check(program, given, chosen)
