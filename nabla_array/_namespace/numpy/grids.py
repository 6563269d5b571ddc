"""Objects that are indexed to make arrays: ``mgrid``, ``ogrid``, ``r_``, ``c_``, ``s_``, ``index_exp``."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np

from ..chapters.creation import arange, linspace
from ..chapters.joining import concat, stack
from ..chapters.manipulation import broadcast_to
from ..core.array import Array, from_value
from ..core.promotion import SCALARS, as_array
from .joining import with_axes

T = TypeVar("T")


def _points(piece: slice) -> Array:
    """Return the numbers that ``start:stop:step`` says; ``5j`` is a number of points."""
    start = 0 if piece.start is None else piece.start
    if isinstance(piece.step, complex):
        return linspace(start, piece.stop, num=int(abs(piece.step)))
    return arange(start, piece.stop, 1 if piece.step is None else piece.step)


class _Grid(Generic[T]):
    """NumPy's ``mgrid`` (dense) or ``ogrid`` (open): coordinates of a grid, by slices.

    >>> import nabla_array as xp
    >>> xp.mgrid[0:2, 0:3]
    array([[[0, 0, 0],
            [1, 1, 1]],
    <BLANKLINE>
           [[0, 1, 2],
            [0, 1, 2]]])
    >>> [axis.shape for axis in xp.ogrid[0:2, 0:3]]
    [(2, 1), (1, 3)]
    """

    def __init__(self, name: str, sparse: bool) -> None:
        self.name, self.sparse = name, sparse

    def __repr__(self) -> str:
        return f"<{self.name}: index it with slices>"

    def __getitem__(self, key: Any) -> T:
        found: Any = self._found(key)
        return found

    def _found(self, key: Any) -> Array | tuple[Array, ...]:
        if not isinstance(key, tuple):
            return _points(key)
        rows = [from_value(row) for row in np.ogrid[key]]
        if self.sparse:
            return tuple(rows)
        shape = tuple(row.size for row in rows)
        return stack([broadcast_to(row, shape) for row in rows]) if rows else from_value(np.mgrid[()])


mgrid: _Grid[Array] = _Grid("mgrid", False)
ogrid: _Grid[Array | tuple[Array, ...]] = _Grid("ogrid", True)


class _Joined:
    """NumPy's ``r_`` and ``c_``: arrays, numbers and ranges joined along an axis.

    >>> import nabla_array as xp
    >>> xp.r_[0, xp.asarray([5, 6]), 1:3]
    array([0, 5, 6, 1, 2])
    >>> xp.c_[xp.asarray([1, 2]), xp.asarray([3, 4])]
    array([[1, 3],
           [2, 4]])
    """

    def __init__(self, name: str, axis: int = 0, ndmin: int = 1, trans1d: int = -1) -> None:
        self.name, self.options = name, (axis, ndmin, trans1d)

    def __repr__(self) -> str:
        return f"<{self.name}: index it with arrays, numbers and slices>"

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Array:
        theirs: Any = np.r_  # for matrices, which are NumPy's own
        if isinstance(key, str):
            return theirs[key]
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, trans1d = self.options
        if items and isinstance(items[0], str):
            word = items.pop(0)
            if word in ("r", "c"):
                return theirs[(word, *[np.asarray(i) if type(i) is Array else i for i in items])]
            numbers = [int(n) for n in word.split(",")]
            axis, ndmin, trans1d = [*numbers, *(axis, ndmin, trans1d)[len(numbers) :]]
        parts = [_part(item, ndmin, trans1d) for item in items]
        dtype = np.result_type(*[p.dtype if type(p) is Array else p for p in parts])
        return concat([with_axes(as_array(self.name, p, dtype), ndmin) for p in parts], axis=axis)


def _part(item: Any, ndmin: int, trans1d: int) -> Any:
    """Return an item of a key as an array, or a Python scalar as it is."""
    if type(item) in SCALARS:
        return item
    x = _points(item) if isinstance(item, slice) else as_array("r_", item)
    new = ndmin - x.ndim
    if new <= 0 or trans1d == -1 or not x.ndim:
        return with_axes(x, ndmin)
    # Where the axes of the item go among the new ones.
    first = trans1d + new + 1 if trans1d < 0 else trans1d
    order = list(range(ndmin))
    return with_axes(x, ndmin).transpose(order[:first] + order[new:] + order[first:new])


r_ = _Joined("r_")
c_ = _Joined("c_", -1, 2, 0)
s_ = np.s_
index_exp = np.index_exp
