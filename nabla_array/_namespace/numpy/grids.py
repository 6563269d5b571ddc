"""Objects that are indexed to make arrays: ``mgrid``, ``ogrid``, ``r_``, ``c_``, ``s_``, ``index_exp``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..chapters.creation import arange, linspace
from ..chapters.joining import concat, stack
from ..chapters.manipulation import broadcast_to
from ..core.array import Array, from_value
from ..core.promotion import as_array, astype
from .joining import with_axes


def _points(piece: slice) -> Array:
    """Return the numbers that ``start:stop:step`` says; ``5j`` is a number of points."""
    start = 0 if piece.start is None else piece.start
    if isinstance(piece.step, complex):
        return linspace(start, piece.stop, num=int(abs(piece.step)))
    return arange(start, piece.stop, 1 if piece.step is None else piece.step)


class _Grid:
    """NumPy's ``mgrid`` (dense) or ``ogrid`` (open): coordinates of a grid, by slices."""

    def __init__(self, name: str, sparse: bool) -> None:
        self.name, self.sparse = name, sparse

    def __repr__(self) -> str:
        return f"<{self.name}: index it with slices>"

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return _points(key)
        rows = [from_value(row) for row in np.ogrid[key]]
        if self.sparse:
            return tuple(rows)
        shape = tuple(row.size for row in rows)
        return stack([broadcast_to(row, shape) for row in rows]) if rows else from_value(np.mgrid[()])


mgrid = _Grid("mgrid", False)
ogrid = _Grid("ogrid", True)


class _Joined:
    """NumPy's ``r_`` and ``c_``: arrays, numbers and ranges joined along an axis."""

    def __init__(self, name: str, axis: int = 0, ndmin: int = 1, trans1d: int = -1) -> None:
        self.name, self.options = name, (axis, ndmin, trans1d)

    def __repr__(self) -> str:
        return f"<{self.name}: index it with arrays, numbers and slices>"

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return np.r_[key]  # matrices: NumPy's own
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, trans1d = self.options
        if items and isinstance(items[0], str):
            word = items.pop(0)
            if word in ("r", "c"):
                return np.r_[(word, *[np.asarray(i) if type(i) is Array else i for i in items])]
            numbers = [int(n) for n in word.split(",")]
            axis, ndmin, trans1d = [*numbers, *(axis, ndmin, trans1d)[len(numbers) :]]
        parts = [_part(item, ndmin, trans1d) for item in items]
        arrays = [p for p, weak in parts if not weak]
        scalars = [p for p, weak in parts if weak]
        dtype = np.result_type(*[a.dtype for a in arrays], *scalars)
        ready = [
            with_axes(as_array(self.name, p, dtype), ndmin) if weak else astype(p, dtype) for p, weak in parts
        ]
        return concat(ready, axis=axis)


def _part(item: Any, ndmin: int, trans1d: int) -> tuple[Any, bool]:
    """Return an item of a key as an array, or as a Python scalar and True."""
    if isinstance(item, slice):
        x, given = _points(item), 1
    elif isinstance(item, bool | int | float | complex):
        return item, True
    else:
        x = as_array("r_", item)
        given = x.ndim
    if given >= ndmin:
        return x, False
    y = with_axes(x, ndmin)
    if trans1d != -1 and given:  # where the axes of the item go among the new ones
        new = ndmin - given
        first = trans1d + new + 1 if trans1d < 0 else trans1d
        order = list(range(ndmin))
        y = y.transpose(order[:first] + order[new:] + order[first:new])
    return y, False


r_ = _Joined("r_")
c_ = _Joined("c_", -1, 2, 0)
s_ = np.s_
index_exp = np.index_exp
