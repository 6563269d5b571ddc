"""Dtypes and shapes of mixed operands, against NumPy for every pair of dtypes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.graph.program import is_literal

DTYPES = "?bBhHiIlLefdFD"
NUMBERS = [True, 2, 2.5, 1j]


@pytest.mark.parametrize("pair", [*itertools.product(DTYPES, DTYPES)], ids="".join)
def test_two_arrays_have_numpys_dtype(pair: tuple[str, str]) -> None:
    a, b = (np.ones(2, char) for char in pair)
    assert xp.multiply(xp.asarray(a), xp.asarray(b)).dtype == np.multiply(a, b).dtype


@pytest.mark.parametrize("char", DTYPES)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_has_numpys_say(char: str, number: Any) -> None:
    x = np.ones(2, char)
    for ours, theirs in ((xp.asarray(x) * number, x * number), (number * xp.asarray(x), number * x)):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(np.asarray(ours), theirs)


@pytest.mark.parametrize(("char", "number"), [("b", 200), ("B", -1), ("i", 2**40), ("l", 2**70)])
def test_a_number_that_does_not_fit_raises_as_in_numpy(char: str, number: int) -> None:
    x = np.ones(2, char)
    with pytest.raises(OverflowError):
        x + number
    with pytest.raises(OverflowError):
        xp.asarray(x) + number


def test_a_scalar_of_the_dtype_is_a_literal_from_the_first_call_on() -> None:
    x = xp.asarray(np.ones((131, 37), np.float32))  # of a shape that no other test has: no rule is known
    for y in (x + np.float32(2), x + np.float32(2)):
        assert is_literal(y._node.inputs[1])


@pytest.mark.parametrize(
    "shapes", [((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((0, 1), (3,)), ((4,), (1, 1))]
)
def test_shapes_broadcast(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (np.arange(np.prod(s, dtype=int), dtype=float).reshape(s) for s in shapes)
    np.testing.assert_array_equal(np.asarray(xp.asarray(a) - xp.asarray(b)), a - b, strict=True)


def test_shapes_that_do_not_broadcast_are_named() -> None:
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(4,\)"):
        xp.ones((2, 3)) + xp.ones(4)


def test_lists_that_hold_arrays_are_stacked() -> None:
    x = np.array([1.0, 2.0])
    ours = xp.asarray([[xp.asarray(x), x], [[3, 4], (xp.asarray(5), 6.5)]])
    np.testing.assert_array_equal(np.asarray(ours), [[x, x], [[3, 4], [5, 6.5]]], strict=True)
