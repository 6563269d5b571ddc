"""What arrays without axes do as NumPy's scalars do: NumPy's sums and elements are such."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import elementwise
from .array import Array, note_numbers


def _scalar(x: Array, function: str) -> Any:
    """Return the one element, NumPy's; raises TypeError where there are axes."""
    if x.shape:
        raise TypeError(f"{function}: needs an array without axes, not one of shape {x.shape}")
    note_numbers(x)
    return x._value()[()]


def hash_(self: Array) -> int:
    """Return the hash of the element, which is that of the equal Python number."""
    if self.shape:
        raise TypeError("unhashable type: 'Array' (of more than one element)")
    return hash(_scalar(self, "hash"))


def round_(self: Array, ndigits: int | None = None) -> Any:
    """Return what `round` gives: an int, or with a number of digits an array."""
    if ndigits is None or self.shape:
        return round(_scalar(self, "round"))
    return elementwise.round(self, ndigits)


def _of_scalar(name: str) -> Callable[..., Any]:
    def method(self: Array) -> Any:
        return getattr(_scalar(self, name), name)()

    method.__name__ = name
    method.__doc__ = f"Return what NumPy's scalars give as `{name}`, for an array without axes."
    return method


_METHODS = {
    "__hash__": hash_,
    "__round__": round_,
    **{n: _of_scalar(n) for n in ("__trunc__", "as_integer_ratio", "bit_count", "hex", "is_integer")},
}
for _name, _method in _METHODS.items():
    setattr(Array, _name, _method)
