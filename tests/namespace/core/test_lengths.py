"""Lengths that note what is decided by them: they count as numbers, and decisions hold for others too."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._namespace.core.lengths import Decision, Length, are_decided_alike, plain, told, watched

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.truediv]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
LOOKS: list[Callable[[Any], Any]] = [int, float, bool, str, hash, abs, round, "{:03}".format]

numbers = st.integers(1, 9)
# What is done with a length, step by step: an operation, a number, and whether that stands on the left.
steps = st.lists(st.tuples(st.sampled_from(ARITHMETIC), numbers, st.booleans()), max_size=4)


@pytest.fixture(autouse=True)
def _watched() -> Iterator[None]:
    watched.decisions = []
    yield
    watched.decisions = None


def noted() -> list[Decision]:
    assert watched.decisions is not None
    found, watched.decisions = watched.decisions, []
    return found


def computed(n: Any, todo: list[tuple[Callable[[Any, Any], Any], int, bool]]) -> Any:
    for operation, number, is_left in todo:
        n = operation(number, n) if is_left else operation(n, number)
    return n


def replaced(x: Any, n: int) -> Any:
    """Return an expression with a number in place of its length."""
    return tuple(replaced(i, n) for i in x) if type(x) is tuple else n if x == "n" else x


def outcome(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except ArithmeticError as error:
        return type(error)


@given(numbers, steps)
def test_arithmetic_is_that_of_numbers_and_decides_nothing(n: int, todo: Any) -> None:
    found = outcome(lambda: computed(Length(n, "n"), todo))
    wanted = outcome(lambda: computed(n, todo))
    assert repr(plain(found)) == repr(wanted)
    assert not noted()


@given(numbers, numbers, steps, st.sampled_from(COMPARISONS), numbers, st.sampled_from(LOOKS))
def test_decisions_hold_for_the_lengths_for_which_they_come_out_alike(
    n: int, other: int, todo: Any, compare: Any, bound: int, look: Any
) -> None:
    def decide(n: Any) -> list[Any]:
        m = computed(n, todo)
        return [compare(m, bound), compare(bound, m), look(computed(n, todo[:1]))]

    wanted = outcome(lambda: decide(n))
    assert outcome(lambda: decide(Length(n, "n"))) == wanted
    decisions = noted()
    if type(wanted) is not list:
        return
    assert are_decided_alike([(*replaced(d[:3], n), d[3]) for d in decisions])
    there = [(*replaced(d[:3], other), d[3]) for d in decisions]
    if are_decided_alike(there):
        assert repr(outcome(lambda: decide(other))) == repr(wanted)


def test_a_length_that_leaves_is_a_decision_for_that_length_alone() -> None:
    assert [10, 20, 30][Length(2, "n")] == 30
    assert len(noted()) == 1
    np.add(1, int(Length(2, "n")))
    assert noted() == [("plain", "n", None, "2")]


def test_our_functions_take_lengths_without_a_decision() -> None:
    n = Length(3, "n")
    x = xp.zeros(3) + n
    np.testing.assert_array_equal(np.asarray(x), np.full(3, 3.0))
    np.testing.assert_array_equal(np.asarray(n * xp.ones(2)), np.full(2, 3.0))
    assert not noted()


def test_decisions_that_cannot_be_made_are_not_alike() -> None:
    assert not are_decided_alike([("floordiv", 1, 0, "0")])


def test_shapes_are_told_as_lengths_only_while_watched() -> None:
    shape = told((2, 3))
    assert [type(n) for n in shape] == [Length, Length]
    assert type(told("name")) is str
    watched.decisions = None
    assert told((2, 3)) == (2, 3)
    assert type(told(2)) is int
