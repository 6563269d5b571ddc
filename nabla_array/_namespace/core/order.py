"""Orders of elements in memory: of axes, by which an array is a view of one in the order of its own axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._lazy.cpu.faults import copied

Axes = tuple[int, ...]


class Order(dict[str, Any]):
    """Params of the first step of an array that owns its elements, in another order than that of its axes."""


def inverse(axes: Axes) -> Axes:
    """Return the axes that lead back from a permutation of them."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


def backwards(ndim: int) -> Axes:
    """Return the axes from the last to the first: Fortran's order."""
    return tuple(range(ndim))[::-1]


def check_order(order: Any) -> str:
    """Return the letter of an order in memory; raises ValueError for another. None is as it is in memory."""
    name = "K" if order is None else str(order).upper()
    if name not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return name


def axes_of(shown: np.ndarray, name: str) -> Axes | None:
    """Return the axes, from slowest to fastest, of a copy that NumPy makes in an order; None for C order."""
    flags = shown.flags
    if shown.ndim < 2 or name == "C" or (name in "AK" and flags.c_contiguous):
        return None
    if name == "F" or flags.f_contiguous:
        return backwards(shown.ndim)
    if name == "A":
        return None
    steps = [abs(step) for step in shown.strides]
    axes = tuple(sorted(range(shown.ndim), key=lambda k: -steps[k]))
    return None if axes == tuple(range(shown.ndim)) else axes


def lying(value: np.ndarray) -> Axes | None:
    """Return the axes in whose order elements lie one after another; None for C order and where none is."""
    axes = axes_of(value, "K")
    if axes is None:
        return None
    turned = value.transpose(axes)
    return axes if turned.flags.c_contiguous and math.prod(value.shape) else None


def copy_of(value: np.ndarray, dtype: np.dtype, axes: Axes | None) -> np.ndarray:
    """Return a copy of NumPy's in the order of these axes in memory."""
    if axes is None:
        return copied(value) if value.dtype == dtype else value.astype(dtype, "C")
    return value.transpose(axes).astype(dtype, "C").transpose(inverse(axes))
