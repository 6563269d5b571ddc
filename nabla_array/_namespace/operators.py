"""The operators of `Array`, from one table; this breaks the circle between arrays and functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import elementwise as e
from .array import Array, write
from .elementwise_calls import PRIMITIVES, binary_call, unary_call
from .indexing import fitted, getitem, setitem
from .linear_algebra import matmul
from .promotion import SCALARS

_Function = Callable[..., Array]

# What an operator takes beside an array; anything else may know better what to do.
_OPERANDS = (*SCALARS, np.ndarray, np.generic, list, tuple)

_BINARY: dict[str, _Function] = {
    "add": e.add,
    "sub": e.subtract,
    "mul": e.multiply,
    "truediv": e.divide,
    "floordiv": e.floor_divide,
    "mod": e.remainder,
    "pow": e.pow,
    "and": e.bitwise_and,
    "or": e.bitwise_or,
    "xor": e.bitwise_xor,
    "lshift": e.bitwise_left_shift,
    "rshift": e.bitwise_right_shift,
    "matmul": matmul,
}
_COMPARISON: dict[str, _Function] = {
    "eq": e.equal,
    "ne": e.not_equal,
    "lt": e.less,
    "le": e.less_equal,
    "gt": e.greater,
    "ge": e.greater_equal,
}
_UNARY: dict[str, _Function] = {
    "neg": e.negative,
    "pos": e.positive,
    "abs": e.abs,
    "invert": e.bitwise_invert,
}


def _forward(function: _Function) -> _Function:
    def operator(self: Array, other: Any) -> Array:
        if type(other) is Array or isinstance(other, _OPERANDS):
            return function(self, other)
        return NotImplemented

    prim = PRIMITIVES.get(function)
    return binary_call(prim, operator) if prim else operator


def _reflected(function: _Function) -> _Function:
    def operator(self: Array, other: Any) -> Array:
        if isinstance(other, _OPERANDS):
            return function(other, self)
        return NotImplemented

    return operator


def _in_place(name: str, function: _Function) -> Callable[[Array, Any], Array]:
    def operator(self: Array, other: Any) -> Array:
        if not (type(other) is Array or isinstance(other, _OPERANDS)):
            return NotImplemented
        new = function(self, other)
        # What is a scalar in NumPy (x[0], a sum) is a 0-d array here; as there, `+=` makes a new one.
        if self._view is None and not self.shape:
            return new
        if new.dtype != self.dtype and not np.can_cast(new.dtype, self.dtype, "same_kind"):
            raise TypeError(f"{name}: the result is {new.dtype}, which does not fit into {self.dtype}")
        if new.shape != self.shape:
            raise ValueError(f"{name}: the result's shape {new.shape} is not the array's, {self.shape}")
        write(self, fitted(name, new, self.dtype, self.shape))
        return self

    return operator


def _own(function: _Function) -> _Function:
    prim = PRIMITIVES.get(function)
    return unary_call(prim, function) if prim else lambda self: function(self)


def _install(name: str, method: Callable[..., Any]) -> None:
    method.__name__ = name
    method.__qualname__ = f"Array.{name}"
    setattr(Array, name, method)


for _name, _function in _BINARY.items():
    _install(f"__{_name}__", _forward(_function))
    _install(f"__r{_name}__", _reflected(_function))
    _install(f"__i{_name}__", _in_place(f"i{_name}", _function))
for _name, _function in _COMPARISON.items():
    _install(f"__{_name}__", _forward(_function))
for _name, _function in _UNARY.items():
    _install(f"__{_name}__", _own(_function))
_install("__divmod__", lambda self, other: (self // other, self % other))
_install("__rdivmod__", lambda self, other: (other // self, other % self))
_install("__getitem__", lambda self, key: getitem(self, key))
_install("__setitem__", lambda self, key, value: setitem(self, key, value))
