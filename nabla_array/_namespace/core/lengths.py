"""Lengths as a function for any length is told of them: numbers that note what is decided by them."""

from __future__ import annotations

import operator
import sys
from _thread import _local as local  # `threading` takes a millisecond to import
from collections.abc import Callable, Sequence
from typing import Any

from ..._lazy.graph.node import is_ours
from .array import Array
from .promotion import lengths

# ``(operation, left, right, repr(outcome))``: left and right are numbers, or such tuples without outcome.
Decision = tuple[str, Any, Any, str]


class _Watched(local):
    decisions: list[Decision] | None = None


watched = _Watched()
_NUMBERS = (bool, int, float, complex)
_PLAIN: dict[str, Callable[..., Any]] = {"plain": lambda x, _: x, "bool": lambda x, _: bool(x)}


def _operation(name: str) -> Callable[..., Any]:
    return _PLAIN.get(name) or getattr(operator, name)


def decided(name: str, left: Any, right: Any, outcome: Any) -> Any:
    if watched.decisions is not None:
        watched.decisions.append((name, left, right, repr(outcome)))
    return outcome


def _evaluated(x: Any) -> Any:
    if type(x) is not tuple:
        return x
    name, left, right = x
    return _operation(name)(_evaluated(left), _evaluated(right))


def are_decided_alike(decisions: Sequence[Decision]) -> bool:
    """Say whether decisions have their outcomes for the lengths that are in them."""
    try:
        return all(repr(_evaluated(d[:3])) == d[3] for d in decisions)
    except ArithmeticError:
        return False


class Length:
    """The length of an axis, or a number computed from such.

    Arithmetic goes on, and so do arrays and functions of this package that take it for a number. What else
    looks at it is a decision: comparisons with their outcome, and the number itself where it leaves.
    """

    __slots__ = ("expression", "value")
    __array_ufunc__ = None  # NumPy's arrays leave operators to us

    def __init__(self, value: Any, expression: Any) -> None:
        self.value = value
        self.expression = expression

    def look(self) -> Any:
        """Return the number, for who may decide anything by it."""
        return decided("plain", self.expression, None, self.value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.look(), name)

    def __neg__(self) -> Any:
        return Length(-self.value, ("mul", -1, self.expression))

    def __pos__(self) -> Any:
        return self

    def __bool__(self) -> bool:
        return bool(decided("bool", self.expression, None, bool(self.value)))


def _expression(x: Any) -> Any:
    return x.expression if type(x) is Length else x


def plain(x: Any) -> Any:
    """Return a number as it is."""
    return x.value if type(x) is Length else x


def _binary(name: str, reflected: bool, decides: bool) -> Callable[[Length, Any], Any]:
    operation = getattr(operator, name)

    def method(self: Length, other: Any) -> Any:
        if type(other) is Array:
            return NotImplemented
        if type(other) is not Length and type(other) not in _NUMBERS:
            mine = self.look()
            return operation(other, mine) if reflected else operation(mine, other)
        left, right = (other, self) if reflected else (self, other)
        value = operation(plain(left), plain(right))
        if decides:
            return decided(name, _expression(left), _expression(right), value)
        return Length(value, (name, _expression(left), _expression(right)))

    return method


def _leaving(name: str) -> Callable[..., Any]:
    def method(self: Length, *args: Any) -> Any:
        ours = name in ("__index__", "__int__", "__float__") and is_ours(sys._getframe(1))
        return getattr(self.value if ours else self.look(), name)(*args)

    return method


lengths.add(Length)
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Length, f"__{_name}__", _binary(_name, False, False))
    setattr(Length, f"__r{_name}__", _binary(_name, True, False))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Length, f"__{_name}__", _binary(_name, False, True))
for _name in (
    *("index", "int", "float", "complex", "hash", "repr", "str", "format", "round", "trunc", "floor", "ceil"),
    *("abs", "invert", "divmod", "rdivmod", "and", "rand", "or", "ror", "xor", "rxor"),
    *("lshift", "rlshift", "rshift", "rrshift"),
):
    setattr(Length, f"__{_name}__", _leaving(f"__{_name}__"))


def told(value: Any) -> Any:
    """Return a length, or a shape, as the user is told of it; a run that is watched notes what it decides."""
    if watched.decisions is None:
        return value
    if type(value) is tuple:
        return tuple([told(n) for n in value])
    return Length(value, value) if type(value) is int else value
