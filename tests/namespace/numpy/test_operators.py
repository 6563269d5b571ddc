"""Operators, plain, reflected and in place, against NumPy."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import nabla_array as xp

from .comparing import compare

BINARY = ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=")
OPERANDS = (
    "x",
    "i",
    "u[:3]",
    "b",
    "c",
    "2",
    "-1",
    "2.5",
    "True",
    "1j",
    "x[0]",
    "np.float32(2)",
    "None",
    "'a'",
)


@pytest.mark.parametrize("operator", BINARY)
@pytest.mark.parametrize("other", OPERANDS)
@pytest.mark.parametrize("array", ["x", "i", "b"])
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_both_ways_round(array: str, operator: str, other: str) -> None:
    compare(f"{array} {operator} {other}", host=True)
    compare(f"{other} {operator} {array}", host=True)


@pytest.mark.parametrize("operator", BINARY[:12])
@pytest.mark.parametrize("other", OPERANDS[:10])
@pytest.mark.parametrize("array", ["x", "i", "b"])
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_in_place(array: str, operator: str, other: str) -> None:
    # An error that elements show may come only where somebody looks.
    compare(f"y = {array}; y {operator}= {other}; y.tolist(); y is {array}", host=True)
    compare(f"{array} {operator}= {other}; {array}", host=True)


@pytest.mark.parametrize(
    "call", ["-x", "+x", "abs(c)", "~i", "~b", "-b", "~x", "x @ x.T", "x @ v", "divmod(i, 2)"]
)
def test_one_operand_and_products(call: str) -> None:
    compare(call)


class Halves:
    """Knows operators, and is an array of objects besides."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array([Fraction(1, 2), Fraction(1, 3)], dtype=object)

    def __rmul__(self, other: Any) -> Any:
        return "rmul"


class Asked(Halves):
    __array_priority__ = 2000


@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
@pytest.mark.parametrize("kind", [Halves, Asked])
def test_an_array_of_objects_is_met_as_numpys_meet_it(kind: type) -> None:
    for mine, numpys in ((xp.asarray([1, 2]), np.array([1, 2])), (xp.asarray([1, 2])[1], np.int64(2))):
        assert np.array_equal(mine * kind(), numpys * kind())


class Forwarding:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self.value, name)


def test_a_class_made_of_an_arrays_forwards_to_it() -> None:
    for x in (xp.asarray([1.0, 2.0]), xp.asarray([1.0])[0]):
        kind: Any = type("Derived", (Forwarding, type(x)), {})
        tagged = kind(x)
        assert tagged.__class__ is kind
        assert not isinstance(tagged, float)
        assert (tagged + 1).tolist() == (x + 1).tolist()
