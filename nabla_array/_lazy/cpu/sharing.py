"""Whole calls that threads share: reductions, and what goes row by row."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from ..config import threads
from ..graph.aval import aval_of
from ..graph.primitive import Primitive, as_value
from .spreading import PARALLEL, spread

# Bytes from which on threads share one reduction: of fewer, one core's are done before the others begin.
_SHARED = 1 << 24
# Bytes of the rows that are done at once, of a call that goes row by row.
_ROWS_AT_ONCE = 1 << 19


def shared(prim: Primitive, x: Any) -> Callable[..., Any]:
    """Return what runs a reduction, or a call that goes by rows, on threads, where that pays."""
    if prim.by_rows:
        return partial(_rows_on_threads, prim)
    exact = prim.reducer not in (np.add, np.multiply) or x.dtype.kind in "iu"
    order = _order(x) if exact or (prim.reducer is np.add and x.dtype.char in "fd") else None
    return prim.host if order is None else partial(_reduce_in_order, prim, order)


def _order(x: np.ndarray) -> list[int] | None:
    """Return the axes as they lie in memory, the outermost first; None where that has gaps."""
    order = list(range(x.ndim))
    if x.flags.c_contiguous:
        return order
    order.sort(key=lambda axis: -x.strides[axis])
    return order if x.transpose(order).flags.c_contiguous else None


def _reduce_in_order(prim: Primitive, order: list[int], x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Reduce an array along its memory, as NumPy does."""
    found = _reduce_on_threads(prim, x.transpose(order), tuple(sorted([order.index(a) for a in axes])))
    kept = [a for a in order if a not in axes]
    return found.transpose(np.argsort(kept)) if kept else found


def _rows_on_threads(prim: Primitive, x: np.ndarray, **params: Any) -> np.ndarray:
    """Run a call on several threads, which take rows along an axis that it need not have whole."""
    aval = aval_of(x.shape, x.dtype)
    own, made = prim.dims(aval, **params)  # type: ignore[misc]
    axis = next((a for a, label in enumerate(own) if label >= 0 and label in made and x.shape[a] > 1), None)
    if threads() == 1 or (axis is None and prim.joined is None):
        return as_value(prim.host(x, **params))
    if prim.shortcut is not None and (found := prim.shortcut(x, **params)) is not None:
        return as_value(found)
    if axis is None:
        return _joined_on_threads(prim, x, **params)
    result = prim.aval(aval, **params)
    out = np.empty(result.shape, result.dtype)
    before, after = (slice(None),) * axis, (slice(None),) * made.index(own[axis])
    many = max(PARALLEL * threads(), x.nbytes // _ROWS_AT_ONCE)

    def fill(parts: Iterable[slice]) -> None:
        for part in parts:
            out[(*after, part)] = prim.host(x[(*before, part)], **params)

    spread(fill, slices(x.shape[axis], many), in_order=False)
    return out


def _joined_on_threads(prim: Primitive, x: np.ndarray, axis: int, **params: Any) -> np.ndarray:
    """Run a call on several threads, which take parts of the axis that it needs whole."""
    before = (slice(None),) * axis
    cuts = [x[(*before, part)] for part in slices(x.shape[axis], threads())]
    parts = _each(partial(prim.host, axis=axis, **params), cuts)
    return as_value(prim.joined(x, parts, _each, axis, **params))  # type: ignore[misc]


def _each(function: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    """Have threads call a function with each item; return the results in order."""
    return [y for some in spread(lambda some: [function(i) for i in some], items, least=1) for y in some]


def slices(n: int, many: int) -> list[slice]:
    """Cut an axis into so many parts, but no empty ones."""
    many = min(n, many)
    return [slice(n * i // many, n * (i + 1) // many) for i in range(many)]


def _reduce_on_threads(prim: Primitive, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Reduce a contiguous array on several threads; to the bits that one call gives, but for short rows."""
    if axes == tuple(range(len(axes))) and axes and math.prod(x.shape[len(axes) :]) > 1:
        return _reduce_first(prim, x, axes)
    if x.nbytes < _SHARED:
        return prim.host(x, axes)
    many = 4 << (threads() - 1).bit_length()
    rows = math.prod(x.shape[: axes[0]]) if axes else 0
    if axes != tuple(range(x.ndim))[-len(axes) :] or threads() == 1 or 1 < rows < many:
        return prim.host(x, axes)
    reduce = partial(prim.reducer.reduce, dtype=x.dtype)  # type: ignore[union-attr]
    if rows > 1:
        table = x.reshape(rows, -1)
        out = np.empty(rows, x.dtype)
        cuts = [rows * i // many for i in range(many + 1)]

        def fill(parts: Iterable[tuple[int, int]]) -> None:
            for a, b in parts:
                reduce(table[a:b], axis=1, out=out[a:b])

        spread(fill, list(itertools.pairwise(cuts)), in_order=False)
        return out.reshape(x.shape[: axes[0]])
    # NumPy sums pairwise: a half that is a multiple of 8 elements, and the rest, each in the same way.
    flat = [x.reshape(-1)]
    while len(flat) < many:
        flat = [half for part in flat for half in (part[: part.size // 16 * 8], part[part.size // 16 * 8 :])]
    sums = [s for part in spread(lambda parts: [reduce(p) for p in parts], flat) for s in part]
    while len(sums) > 1:
        sums = [prim.reducer(a, b) for a, b in zip(sums[::2], sums[1::2], strict=True)]  # type: ignore[misc]
    return np.asarray(sums[0]).reshape(x.shape[: axes[0]])


# Elements that a row should have where rows are added up: an element of a short one takes NumPy longer.
_WIDE = 512


def _reduce_first(prim: Primitive, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Reduce the first axes of a contiguous array.

    Threads take columns of a wide table, which has the bits of one call. Short rows are joined to wider ones,
    of which several are reduced at once.
    """
    shape = x.shape[len(axes) :]
    width, rows = math.prod(shape), math.prod(x.shape[: len(axes)])
    many = max(1, _WIDE // width)
    if rows < 16 * many:
        return prim.host(x, axes)
    reduce = partial(prim.reducer.reduce, axis=0, dtype=x.dtype)  # type: ignore[union-attr]
    table = x.reshape(rows, width)
    if many == 1:
        columns = slices(width, min(threads(), 2 * width // _WIDE))
        found = spread(lambda some: [reduce(table[:, part]) for part in some], columns, least=1)
        return np.concatenate([y for some in found for y in some]).reshape(shape)
    whole = rows // many * many
    wide = table[:whole].reshape(-1, many * width)
    cuts = slices(len(wide), min(64, max(1, x.nbytes // _ROWS_AT_ONCE)))  # however many threads there are
    parts = spread(lambda some: [reduce(wide[part]) for part in some], cuts)
    joined = [y.reshape(many, width) for some in parts for y in some]
    return reduce(np.concatenate([*joined, table[whole:]])).reshape(shape)
