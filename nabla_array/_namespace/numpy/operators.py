"""The operators of `Array`, from one table; this breaks the circle between arrays and functions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from ..._lazy.graph.node import tapes
from ..._lazy.ops.elementwise import pow_ as pow_p
from ..._lazy.run.devices import CPU
from ..chapters import elementwise as e
from ..core.array import Array, current, is_scalar, write
from ..core.indexing import fitted, getitem, setitem
from ..core.promotion import UnheldDtypeError, as_array, full, is_derived, is_operand, lengths
from ..dispatch import eager, fastpath
from ..dispatch.elementwise_calls import PRIMITIVES, binary_call, unary_call
from ..dispatch.ufuncs import host_hook
from .homes import find

_Function = Callable[..., Array]


def matmul(x1: Any, x2: Any) -> Array:
    """Multiply matrices."""
    product: Array = find("matmul")(x1, x2)
    return product


_BOOL = np.dtype(bool)
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


_LISTS = (list, tuple, str, bytes, bytearray)


def _repeats(name: str, self: Array, other: Any) -> bool:
    """Say whether a number times a list is the list, so often repeated, which Python knows how to do."""
    return name == "mul" and not self.shape and isinstance(other, _LISTS) and self.dtype.kind in "iu"


# What has another knows itself what to do with arrays.
_NUMPYS = np.ndarray.__array_ufunc__


def _is_as_array(kind: type) -> bool:
    """Say whether objects of a class count as the arrays that they can be made: they know no operators."""
    known = ("__array_priority__", "__array_ufunc__")
    return hasattr(kind, "__array__") and not any([hasattr(kind, name) for name in known])


def _defers(self: Array, kind: type) -> bool:
    """Say whether an array defers to an operand of another class, whose operator answers, or refuses."""
    return bool(tapes or self._levels) or getattr(kind, "__array_ufunc__", _NUMPYS) is not _NUMPYS


_REFLECTED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _knows_ufuncs_alone(kind: type, name: str, reflected: bool) -> bool:
    """Say whether a class overrides ufuncs, and lacks the operator that Python would ask next."""
    theirs = getattr(kind, "__array_ufunc__", _NUMPYS)
    if theirs is None or theirs is _NUMPYS:
        return False
    method = f"__{_REFLECTED.get(name, f'r{name}')}__"
    return reflected or not any(method in vars(c) for c in kind.__mro__[:-1])


def _with_numpy(name: str, left: Any, right: Any) -> Any:
    """Let NumPy's array, or scalar, meet what is no operand here: a Fraction, a date, a set, a matrix."""
    self, other = (left, right) if type(left) is Array else (right, left)
    if _is_as_array(type(other)):
        with suppress(UnheldDtypeError):  # of objects, say, which know operators themselves
            made = as_array(name, other)
            return getattr(operator, f"__{name}__")(*((self, made) if self is left else (made, self)))
    if _defers(self, type(other)):
        return NotImplemented
    mine = self if self.shape else self._value()[()]
    given = (mine, other) if self is left else (other, mine)
    return host_hook[0](getattr(operator, f"__{name}__"), f"{type(other).__name__}.__{name}__", given, {})


def _is_pythons(x: Array) -> bool:
    """Say whether NumPy has a float64 for an array, and it is no trace's.

    That is a `float` to Python's complex numbers, so that their operators come first, and give Python's.
    """
    return is_scalar(x) and x.dtype == np.float64 and not (tapes or x._levels) and x.device == CPU


def _operator(name: str, function: _Function, reflected: bool = False) -> _Function:
    """Return the method of an operator, or of the reflected one, that asks who knows what to do."""
    pythons = getattr(operator, f"__{name}__")

    def operate(self: Array, other: Any) -> Array:
        if type(self) is not Array:  # but derived: its elements may be another's
            self = Array(current(self), self._levels)
        left, right = (other, self) if reflected else (self, other)
        if is_derived(kind := type(other)):
            if _defers(self, kind):
                return NotImplemented
            return host_hook[0](pythons, f"{kind.__name__}.__{name}__", (left, right), {})
        if _repeats(name, self, other):
            return NotImplemented
        if reflected and type(other) is complex and _is_pythons(self):
            return pythons(other, float(self))
        if is_operand(other):
            with suppress(UnheldDtypeError):  # NumPy's to answer, or to refuse
                if type(other) is list or type(other) is tuple:
                    other = as_array(name, other)
                return function(other, self) if reflected else function(self, other)
        elif type(other) in lengths:
            return function(other.value, self) if reflected else function(self, other.value)
        elif name in ("eq", "ne") and (other is None or isinstance(other, str | bytes)):
            return full(self.shape, name == "ne", _BOOL)  # no number is text
        answer = _with_numpy(name, left, right)
        if answer is NotImplemented and _knows_ufuncs_alone(kind, name, reflected):
            return getattr(np, function.__name__)(left, right)
        return answer

    return operate


def _native(way: str, function: _Function, operate: _Function) -> _Function:
    """Return an operator with the short way that native code has for the primitive of a function, if any."""
    prim = PRIMITIVES.get(function)
    return fastpath.wrap(way, operate, prim.name, prim) if prim else operate


def _forward(name: str, function: _Function) -> _Function:
    operate = _operator(name, function)
    prim = PRIMITIVES.get(function)
    if function is matmul:
        return fastpath.product(np.matmul)(operate)
    if function is e.pow:  # NumPy's operator takes other roads than its function
        return fastpath.wrap("binary", _squaring(operate), "pow", pow_p, operator.pow)
    return _native("binary", function, binary_call(prim, operate) if prim else operate)


def _squaring(operate: Callable[[Array, Any], Array]) -> Callable[[Array, Any], Array]:
    """Let the square of booleans have the dtype of `square`, which NumPy's operator takes for ``x ** 2``."""

    def power(self: Array, other: Any) -> Array:
        is_square = type(other) is int and other == 2 and self.dtype == _BOOL
        return e.square(self) if is_square else operate(self, other)

    return power


def _reflected(name: str, function: _Function) -> _Function:
    operate = _operator(name, function, reflected=True)
    if function is e.pow:
        return fastpath.wrap("reflected", operate, "pow", pow_p, operator.pow)
    return _native("reflected", function, operate)


def _in_place(name: str, function: _Function, forward: _Function) -> Callable[[Array, Any], Array]:
    def operate(self: Array, other: Any) -> Array:
        if self.shape and isinstance(other, np.ndarray) and type(other).__array_ufunc__ is _NUMPYS:
            other = np.asarray(other)  # a mask is not written, nor does a matrix multiply as such
        new = forward(self, other)
        if type(new) is Array and new._node.aval is self._node.aval and eager.put_whole(self, new):
            return self
        if new is NotImplemented or is_scalar(self):
            return new
        dtype = getattr(new, "dtype", np.dtype(object))
        if dtype != self.dtype and not np.can_cast(dtype, self.dtype, "same_kind"):
            raise TypeError(
                f"{name}: a result of {dtype} does not fit in place into an array of {self.dtype};"
                f" astype({str(dtype)!r}) before, or a new array, would work"
            )
        if new.shape != self.shape:
            raise ValueError(
                f"{name}: a result of shape {new.shape} does not fit in place into an array of shape"
                f" {self.shape}; a new array would work"
            )
        fitting = fitted(name, new, self.dtype, self.shape)
        if not eager.put_whole(self, fitting):
            write(self, fitting)
        return self

    return _native("in_place", function, operate)


def _own(function: _Function) -> _Function:
    prim = PRIMITIVES.get(function)
    return _native("unary", function, unary_call(prim, function) if prim else lambda self: function(self))


def _getitem(self: Array, key: Any) -> Array:
    y = eager.read(self, key)
    return y if y is not None else getitem(self, key)


def _install(name: str, method: Callable[..., Any]) -> None:
    method.__name__ = name
    method.__qualname__ = f"Array.{name}"
    setattr(Array, name, method)


for _name, _function in _BINARY.items():
    _plain = _forward(_name, _function)
    _install(f"__i{_name}__", _in_place(_function.__name__, _function, _plain))
    _install(f"__{_name}__", _plain)
    _install(f"__r{_name}__", _reflected(_name, _function))
for _name, _function in _COMPARISON.items():
    _install(f"__{_name}__", _forward(_name, _function))
for _name, _function in _UNARY.items():
    _install(f"__{_name}__", _own(_function))
_install("__divmod__", lambda self, other: (self // other, self % other))
_install("__rdivmod__", lambda self, other: (other // self, other % self))
_install("__getitem__", fastpath.wrap("getitem", _getitem, "getitem"))
_install(
    "__setitem__", fastpath.wrap("setitem", lambda self, key, value: setitem(self, key, value), "setitem")
)
for _name in ("bool", "complex", "float", "format", "index", "int", "repr", "str"):
    _install(f"__{_name}__", fastpath.wrap("scalar", getattr(Array, f"__{_name}__"), _name))
for _name in ("item", "tolist"):
    _install(_name, fastpath.wrap("python", getattr(Array, _name), _name))
