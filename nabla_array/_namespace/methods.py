"""NumPy's methods of `Array`: each is a function of the namespace with the array in first place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import elementwise, manipulation, moments, scans, searching, sorting, statistical, utility
from .array import Array, write
from .data_types import astype
from .indexing import fitted


def ravel(self: Array) -> Array:
    """Return the elements in one axis, as a view where NumPy gives one."""
    return manipulation.reshape(self, (-1,))


def flatten(self: Array) -> Array:
    """Return the elements in one axis, as a copy."""
    return ravel(self).copy()


def reshape(self: Array, *shape: Any, copy: bool | None = None) -> Array:
    """Return the array with another shape, given as one tuple or as several ints."""
    return manipulation.reshape(self, shape[0] if len(shape) == 1 else shape, copy=copy)


def transpose(self: Array, *axes: Any) -> Array:
    """Return a view with the axes permuted, or reversed if none are given."""
    if not axes or axes == (None,):
        return self.T
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return manipulation.permute_dims(self, tuple(order))


def squeeze(self: Array, axis: Any = None) -> Array:
    """Return a view without axes of length 1: all of them, or the given ones."""
    ones = tuple(a for a, n in enumerate(self.shape) if n == 1)
    return manipulation.squeeze(self, ones if axis is None else axis)


def fill(self: Array, value: Any) -> None:
    """Set every element to `value`."""
    write(self, fitted("fill", value, self.dtype, self.shape))


def sort(self: Array, axis: int = -1) -> None:
    """Sort in place along an axis."""
    write(self, sorting.sort(self, axis=axis))


_METHODS: dict[str, Callable[..., Any]] = {
    "all": utility.all,
    "any": utility.any,
    "argmax": searching.argmax,
    "argmin": searching.argmin,
    "argsort": lambda self, axis=-1: sorting.argsort(self, axis=axis),
    "astype": lambda self, dtype, *, copy=True: astype(self, dtype, copy=copy),
    "clip": lambda self, min=None, max=None: elementwise.clip(self, min, max),
    "conj": elementwise.conj,
    "conjugate": elementwise.conj,
    "cumprod": scans.cumprod,
    "cumsum": scans.cumsum,
    "fill": fill,
    "flatten": flatten,
    "max": statistical.max,
    "mean": moments.mean,
    "min": statistical.min,
    "nonzero": searching.nonzero,
    "prod": statistical.prod,
    "ravel": ravel,
    "repeat": lambda self, repeats, axis=None: manipulation.repeat(self, repeats, axis=axis),
    "reshape": reshape,
    "round": lambda self, decimals=0: elementwise.round(self, decimals),
    "sort": sort,
    "squeeze": squeeze,
    "std": moments.std,
    "sum": statistical.sum,
    "transpose": transpose,
    "var": moments.var,
}

for _name, _method in _METHODS.items():
    setattr(Array, _name, _method)
