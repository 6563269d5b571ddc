"""Operators, plain, reflected and in place, against NumPy."""

from __future__ import annotations

import pytest

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
    compare(f"y = {array}; y {operator}= {other}; y is {array}", host=True)
    compare(f"{array} {operator}= {other}; {array}", host=True)


@pytest.mark.parametrize(
    "call", ["-x", "+x", "abs(c)", "~i", "~b", "-b", "~x", "x @ x.T", "x @ v", "divmod(i, 2)"]
)
def test_one_operand_and_products(call: str) -> None:
    compare(call)
