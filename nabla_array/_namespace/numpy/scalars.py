"""What arrays without axes do as NumPy's scalars do; sums and elements are such."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any

import numpy as np

from ..chapters import elementwise
from ..core.array import Array, is_scalar, note_number
from ..dispatch import fastpath
from .methods import tobytes


def _scalar(x: Array, function: str) -> Any:
    """Return the one element, NumPy's; raises TypeError where there are axes."""
    if x.shape:
        raise TypeError(f"{function}: needs an array without axes, not one of shape {x.shape}")
    return x._value()[()]


def hash_(self: Array) -> int:
    """Return the hash of the element, which is that of the equal Python number; arrays have none in NumPy."""
    if not is_scalar(self):
        raise TypeError(f"unhashable type: 'Array' (of shape {self.shape}); x.item() has a hash")
    return hash(_scalar(self, "hash"))


def round_(self: Array, ndigits: int | None = None) -> Any:
    """Return what `round` gives: an int, or with a number of digits an array."""
    if ndigits is None or self.shape:
        return round(_scalar(self, "round"))
    return elementwise.round(self, ndigits)


def _of_scalar(name: str, is_exact: bool = False) -> Callable[..., Any]:
    def method(self: Array) -> Any:
        if is_exact:
            note_number(self)
        return getattr(_scalar(self, name), name)()

    method.__name__ = name
    method.__doc__ = f"Return what NumPy's scalars give as `{name}`, for an array without axes."
    return method


def _of_kinds(name: str, is_exact: bool = False) -> Callable[..., Any]:
    return OfScalars(_of_scalar(name, is_exact))


def _whole(name: str) -> property:
    def part(self: Array) -> int:
        if self.shape or self.dtype.kind not in "iu":
            raise AttributeError(f"{name}: only integers have one, in arrays without axes")
        return int(getattr(_scalar(self, name), name))

    return property(part, doc=f"The {name} of an integer, as NumPy's scalars have it.")


def bytes_(self: Array) -> bytes:
    """Return the bytes of the elements; so many zeros for an integer, as Python does."""
    return bytes(int(self)) if not self.shape and self.dtype.kind in "iu" else tobytes(self)


def conform(self: Array, protocol: Any) -> Any:
    """Return what a database is given: a float, or bytes, as of NumPy's."""
    return float(self) if not self.shape and self.dtype == np.float64 else tobytes(self)


class OfAxes:
    """A method that an array without axes lacks: `hasattr` says so, as of NumPy's scalars."""

    def __init__(self, function: Callable[[Array], Any]) -> None:
        self._function = function
        update_wrapper(self, function)

    def __get__(self, x: Array | None, kind: type[Array]) -> Any:
        if x is None:
            return self
        return MethodType(self._function, x) if x.shape else self._lacking(x)

    def __call__(self, x: Array) -> Any:
        return self._function(x)

    def _lacking(self, x: Array) -> Any:
        return self._function(x)


class OfManyAxes(OfAxes):
    """`__iter__`, which is None where it lacks: Python takes elements by index where it finds none at all."""

    def _lacking(self, x: Array) -> None:
        return None


class OfScalars(OfAxes):
    """A method of arrays without axes, and of those dtypes alone whose scalars have it in NumPy.

    Python's `Fraction` asks by `hasattr` alone what a number can give.
    """

    def __get__(self, x: Array | None, kind: type[Array]) -> Any:
        if x is None:
            return self
        name = self._function.__name__
        if x.shape or not hasattr(x.dtype.type, name):
            what = f"an array of shape {x.shape}" if x.shape else f"a number of dtype {x.dtype}"
            raise AttributeError(f"{name}: only numbers have it, of the dtypes as in NumPy; this is {what}")
        return MethodType(self._function, x)


_METHODS = {
    "__len__": fastpath.of_axes(Array.__len__, "length", "len", OfAxes),
    "__iter__": fastpath.of_axes(Array.__iter__, "iter", "iter", OfManyAxes),
    "__bytes__": bytes_,
    "__conform__": conform,
    "__hash__": fastpath.wrap("scalar", hash_, "hash"),
    "denominator": _whole("denominator"),
    "numerator": _whole("numerator"),
    "__round__": round_,
    "__trunc__": _of_scalar("__trunc__"),
    **{n: _of_kinds(n) for n in ("bit_count", "is_integer")},
    **{n: _of_kinds(n, is_exact=True) for n in ("as_integer_ratio", "hex")},
}
for _name, _method in _METHODS.items():
    setattr(Array, _name, _method)
fastpath.fill_slots()
