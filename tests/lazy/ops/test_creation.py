"""Literals: bits are what they are compared by, and no memory is what they take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nabla_array._lazy.graph.aval import aval_of
from nabla_array._lazy.graph.program import is_literal
from nabla_array._lazy.ops.creation import Literal, fill, fill_like, fill_node, scalar_node
from nabla_array._lazy.ops.elementwise import add

from ..execution import assert_same

D, B, F, Z = (aval_of((2, 3), np.dtype(c)) for c in "dBfD")


def test_literals_are_equal_bit_for_bit() -> None:
    numbers = [np.float64(0.0), np.float64(-0.0), np.float32(0.0), np.bool(False), np.int64(0), np.uint64(0)]
    numbers += [np.float64(np.nan), np.array(0x7FF8000000000001).view(float)[()], np.float64(1.0)]
    literals = [Literal(x) for x in numbers]
    assert len({*literals}) == len(numbers)
    assert [Literal(x) for x in numbers] == literals
    assert Literal(np.float64(1.0)) != 1.0
    assert str(Literal(np.float64(1.5))) == "1.5"


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (4, 5)])
def test_a_literal_takes_no_memory_and_cannot_be_written(shape: tuple[int, ...]) -> None:
    out = fill.host(Literal(np.float32(-0.0)), shape)
    assert_same(out, np.full(shape, -0.0, np.float32))
    assert out.strides == (0,) * len(shape)
    assert not out.flags.writeable


def test_nodes_of_literals_are_one_and_known_at_once() -> None:
    one = fill_node(D, 1)
    assert one is fill_node(D, 1.0) is fill_like(one, True)
    assert one.value is not None
    assert is_literal(one)
    assert not is_literal(add(one, one))
    assert fill_node(D, 0.0) is not fill_node(D, -0.0)
    assert fill_node(F, 1) is not one
    with pytest.raises(OverflowError):
        fill_node(B, 256)


@pytest.mark.parametrize(
    ("aval", "value", "taken"),
    [
        (D, 2, True),
        (D, 2.5, True),
        (D, -0.0, True),
        (D, np.float64(2.5), True),
        (Z, 1j, True),
        (B, 255, True),
        (D, float("inf"), True),
        (D, float("nan"), False),  # a key that nothing equals
        (D, True, False),
        (D, 1j, False),
        (D, np.float32(2.5), False),
        (D, 10**400, False),
        (B, 256, False),
        (B, 1.0, False),
        (B, -1, False),
        (aval_of((), np.dtype(bool)), 1, False),
        (D, "1", False),
    ],
    ids=str,
)
def test_numbers_that_take_an_arrays_dtype(aval: Any, value: Any, taken: bool) -> None:
    node = scalar_node(aval, value)
    assert (node is not None) == taken
    if node is not None:
        assert node is fill_node(aval, value) is scalar_node(aval, value)
        assert_same(node.value, np.full(aval.shape, value, aval.dtype))


def test_numbers_that_are_equal_are_not_one() -> None:
    found = [scalar_node(D, x) for x in (0, 0.0, -0.0)]
    assert [np.signbit(n.value[0, 0]) for n in found if n is not None] == [False, False, True]
    halves = [scalar_node(Z, complex(*x)) for x in ((0.0, 0.0), (-0.0, 0.0), (0.0, -0.0))]
    signs = [
        (np.signbit(n.value[0, 0].real), np.signbit(n.value[0, 0].imag)) for n in halves if n is not None
    ]
    assert signs == [(False, False), (True, False), (False, True)]
