"""Whole calls that threads share: reductions, calls by rows, stacks of matrices, joins and copies."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from ..config import threads
from ..graph.aval import Aval, aval_of
from ..graph.primitive import Primitive, as_value
from ..native import compiled
from .spreading import PARALLEL, spread

# Bytes from which on threads share one reduction: of fewer, one core's are done before the others begin.
_REDUCED = 1 << 24
# Elements of a row up to which compiled code may be the shorter way.
_SHORT_ROW = 32
# Bytes of the rows that are done at once, of a call that goes row by row.
_ROWS_AT_ONCE = 1 << 19
# Bytes up to which a matrix is small.
_MATRIX = 1 << 15


def shared(prim: Primitive, x: Any, least: int) -> Callable[..., Any]:
    """Return what runs a primitive on threads, where that pays; `x` is its first operand.

    Of what they share, `least` bytes are worth it.
    """
    if prim.by_rows:
        return partial(_rows_on_threads, prim, least)
    if prim.by_matrices is not None:
        return partial(_matrices_on_threads, prim, least)
    if prim.places is not None:
        return partial(_put_on_threads, prim)
    if prim.reshapes is not None:
        return reshaped
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


def _rows_on_threads(prim: Primitive, least: int, *operands: np.ndarray, **params: Any) -> np.ndarray:
    """Run a call on several threads, which take rows along an axis that it need not have whole."""
    avals = [aval_of(x.shape, x.dtype) for x in operands]
    *own, made = prim.dims(*avals, **params)  # type: ignore[misc]
    shape = prim.aval(*avals, **params).shape
    axis = next((a for a, n in enumerate(shape) if n > 1 and _is_cut(made[a], n, own, avals)), None)
    if threads() == 1 or not _is_ordered(operands) or (axis is None and prim.joined is None):
        return as_value(prim.host(*operands, **params))
    if prim.shortcut is not None and (found := prim.shortcut(*operands, **params)) is not None:
        return as_value(found)
    if axis is None:
        return as_value(prim.joined(operands[0], _each, **params))  # type: ignore[misc]
    axes = [row.index(made[axis]) if made[axis] in row else None for row in own]
    return _in_parts(prim, least, operands, params, axes, axis)


def _is_cut(label: int, n: int, own: Iterable[tuple[int, ...]], avals: Iterable[Aval]) -> bool:
    """Say whether an axis of the result, of length `n`, is one of the operands' that need not be whole."""
    lengths = {aval.shape[row.index(label)] for row, aval in zip(own, avals, strict=True) if label in row}
    return label >= 0 and lengths == {n}


def _is_ordered(operands: Sequence[np.ndarray]) -> bool:
    """Say whether NumPy makes what lies in C order of several operands: none has its axes in another."""
    if len(operands) == 1 or all([x.flags.c_contiguous for x in operands]):
        return True
    steps = [[abs(k) for k, n in zip(x.strides, x.shape, strict=True) if n > 1 and k] for x in operands]
    return all([some == sorted(some, reverse=True) for some in steps])


def _matrices_on_threads(prim: Primitive, least: int, *operands: np.ndarray, **params: Any) -> Any:
    """Run a call of many small matrices on several threads; BLAS has threads of its own for large ones."""
    lead = operands[0].shape[:-2]
    axis = next((a for a, n in enumerate(lead) if n > 1), None)
    if axis is None or threads() == 1 or not _is_ordered(operands):
        return as_value(prim.host(*operands, **params))
    if max([x.nbytes for x in operands]) > _MATRIX * math.prod(lead):
        return as_value(prim.host(*operands, **params))
    if prim.shortcut is not None and (found := prim.shortcut(*operands, **params)) is not None:
        return as_value(found)
    return _in_parts(prim, least, operands, params, [axis] * len(operands), axis)


def _in_parts(
    prim: Primitive,
    least: int,
    operands: Sequence[np.ndarray],
    params: dict[str, Any],
    axes: Sequence[int | None],
    axis: int,
) -> Any:
    """Run a call on several threads, which take parts of an axis of the results, and of `axes` of operands.

    Where these have fewer than `least` bytes, it is one call.
    """
    found = prim.aval(*[aval_of(x.shape, x.dtype) for x in operands], **params)
    results = (found,) if isinstance(found, Aval) else found
    given = [0 if a is None else x.nbytes for x, a in zip(operands, axes, strict=True)]
    size = max([*given[prim.picks :], *[r.nbytes for r in results]])
    if size < least:
        return as_value(prim.host(*operands, **params))
    outs = [np.empty(r.shape, r.dtype) for r in results]
    if len(outs) == len(operands) == 1 and (outs[0].dtype.kind in "fc" or outs[0].dtype == operands[0].dtype):
        # It lies as the operand does, unless it holds places, which NumPy puts in C order.
        outs = [np.empty_like(operands[0], outs[0].dtype, shape=outs[0].shape)]

    def fill(parts: Iterable[slice]) -> None:
        for part in parts:
            some = [x if a is None else x[_at(a, part)] for x, a in zip(operands, axes, strict=True)]
            values = as_value(prim.host(*some, **params))
            for out, value in zip(outs, values if type(values) is tuple else (values,), strict=True):
                out[_at(axis, part)] = value

    spread(fill, slices(results[0].shape[axis], _many(size)), in_order=False)
    return outs[0] if isinstance(found, Aval) else tuple(outs)


def _at(axis: int, part: slice) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, part)


def _many(size: int) -> int:
    """Return in how many parts threads take rows of so many bytes."""
    return max(PARALLEL * threads(), size // _ROWS_AT_ONCE)


def _put_on_threads(prim: Primitive, *operands: np.ndarray, **params: Any) -> np.ndarray:
    """Join arrays on several threads, which copy parts of them."""
    avals = [aval_of(x.shape, x.dtype) for x in operands]
    result = prim.aval(*avals, **params)
    if threads() == 1 or not _is_ordered(operands):
        return as_value(prim.host(*operands, **params))
    out = np.empty(result.shape, result.dtype)
    places = prim.places(*avals, **params)  # type: ignore[misc]
    cuts = [
        [(out[place][part], x[part]) for part in slices(len(x), _many(x.nbytes))]
        for x, place in zip(operands, places, strict=True)
    ]
    # What stands side by side is written one after the other.
    pairs = [pair for some in itertools.zip_longest(*cuts) for pair in some if pair is not None]
    spread(_copy, pairs, in_order=False)
    return out


def patched(prim: Primitive, x: np.ndarray, value: np.ndarray, **params: Any) -> np.ndarray:
    """Change a part of an array as a primitive that `patches` does, on several threads."""
    avals = [aval_of(a.shape, a.dtype) for a in (x, value)]
    place = x[prim.patches(*avals, **params)]  # type: ignore[misc]
    spread(_copy, _tiles(place, value) or _rows(place, value), in_order=False)
    return x


def by_elements(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, dtype: Any) -> np.ndarray:
    """Run a function that goes element by element, and lets other threads run, on several threads."""
    flat, out = x.reshape(-1), np.empty(x.size, dtype)

    def fill(parts: Iterable[slice]) -> None:
        for part in parts:
            out[part] = function(flat[part])

    spread(fill, slices(x.size, _many(x.nbytes)), in_order=False)
    return out.reshape(x.shape)


# Elements of a part that is copied by itself, so that it stays in the cache.
_TILE = 1 << 14
# Elements of a last axis for which several copies of one element each are quicker than one of all.
_FEW = 3
# Parts that are worth a call each.
_MOST = 1 << 14

_Pair = tuple[np.ndarray, np.ndarray]


def reshaped(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array in another shape: a view if there is one, else a copy that threads make."""
    with suppress(ValueError):
        return x.reshape(shape, copy=False)
    out = np.empty(x.shape, x.dtype)
    spread(_copy, _tiles(out, x) or _rows(out, x), in_order=False)
    return out.reshape(shape)


def _rows(out: np.ndarray, x: np.ndarray) -> list[_Pair]:
    """Cut what is copied along its longest axis."""
    longest = max(range(x.ndim), key=lambda a: x.shape[a])
    cuts = [_at(longest, part) for part in slices(x.shape[longest], PARALLEL * threads())]
    return [(out[cut], x[cut]) for cut in cuts]


def _tiles(out: np.ndarray, x: np.ndarray) -> list[_Pair]:
    """Cut along the last axis of the copy, and that along which `x` lies in memory, if these are two."""
    steps = [abs(k) if n > 1 and k else sys.maxsize for k, n in zip(x.strides, x.shape, strict=True)]
    near, last = steps.index(min(steps)), x.ndim - 1
    if near == last or min(x.shape[near], x.shape[last]) <= _FEW:
        return []
    order = [*[a for a in range(last) if a != near], near, last]
    out, x = out.transpose(order), x.transpose(order)
    side = math.isqrt(_TILE)
    sides = [max(side, _TILE // min(n, side)) for n in x.shape[:-3:-1]]  # long beside a short one
    cuts = [slices(n, -(-n // k)) for n, k in zip(x.shape[-2:], sides, strict=True)]
    if math.prod(x.shape[:-2]) * len(cuts[0]) * len(cuts[1]) > _MOST:
        return []
    places = [(*i, *tile) for i in np.ndindex(x.shape[:-2]) for tile in itertools.product(*cuts)]
    return [(out[place], x[place]) for place in places]


def _copy(pairs: Iterable[_Pair]) -> None:
    for out, x in pairs:
        if x.ndim > 1 and x.shape[-1] <= _FEW and not (x.flags.c_contiguous and out.flags.c_contiguous):
            for i in range(x.shape[-1]):
                out[..., i] = x[..., i]
        else:
            out[...] = x


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
    reduce_rows: Any = getattr(compiled, "reduce_rows", None)
    has_short_rows = reduce_rows and 0 < math.prod([x.shape[a] for a in axes]) <= _SHORT_ROW
    if x.nbytes < _REDUCED and not has_short_rows:
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
                if not (has_short_rows and reduce_rows(table[a:b], out[a:b], prim.reducer)):
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
