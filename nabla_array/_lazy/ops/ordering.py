"""Sorting, and searching in what is sorted."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..config import threads
from ..graph.aval import Aval, aval_of
from ..graph.node import Node
from ..graph.primitive import Primitive, shift, whole
from ..native import compiled
from .indexing import gather
from .structure import permute

_INTP = np.dtype(np.intp)


def _mirrored(x: np.ndarray) -> np.ndarray:
    """Return keys whose ascending order is the descending order of `x`, nan last in both.

    The function undoes itself. Equal elements stay equal, so a stable sort stays stable.
    """
    return np.negative(x) if x.dtype.kind in "fc" else np.invert(x)


# Elements along an axis below which NumPy's stable way is as short as any.
_FEW = 40

# Elements along an axis, of each kind of dtype, and in all, from which NumPy's way with vectors is shorter;
# of integers, more are equal. And sorted runs along an axis up to which its stable way is, which merges them.
_LONG, _MANY, _RUNS = {"f": 128, "i": 512, "u": 512}, 1 << 13, 16


def _is_for_vectors(x: np.ndarray, axis: int) -> bool:
    """Say whether NumPy would sort with vector instructions, were equal elements left in any order."""
    n = x.shape[axis]
    is_long = x.size >= _MANY and x.dtype.itemsize >= 4 and n >= _LONG.get(x.dtype.kind, n + 1)
    # With a nan, NumPy does not use vectors either.
    if not is_long or (x.dtype.kind == "f" and np.isnan(x).any()):
        return False
    x = np.moveaxis(x, axis, -1)
    return bool(np.count_nonzero(x[..., 1:] < x[..., :-1]) >= _RUNS * (x.size // n))


def _sort_host(x: np.ndarray, axis: int, descending: bool, stable: bool) -> np.ndarray:
    # Equal numbers are one number, but for the signs of zeros.
    is_free = not stable or (
        _is_for_vectors(x, axis) and not (x.dtype.kind == "f" and np.signbit(x[x == 0]).any())
    )
    kind: Any = None if is_free else "stable"
    if not descending:
        return np.sort(x, axis=axis, kind=kind)
    keys = _mirrored(x)
    keys.sort(axis=axis, kind=kind)
    return _mirrored(keys)


# -- lines that threads sort ---------------------------------------------------------------------------

# Bytes of a line from which threads share its sorting, and that of its order, which takes four times as long.
_SHARED, _ORDERED = 3 << 21, 1 << 21
# A line's sorted keys, and where each was, where that is asked for.
Sorted = tuple[np.ndarray, ...]
Each = Callable[[Callable[[Any], Any], list[Any]], list[Any]]


def _is_for_one(x: np.ndarray, axis: int, least: int) -> bool:
    """Say whether one thread sorts a line: a short one, or one of keys that compiled code does not merge."""
    is_merged = compiled is not None and x.dtype.kind in "fiu" and x.dtype.itemsize in (4, 8)
    return x.shape[axis] == x.size and (x.nbytes < least or not is_merged)


def _merged(lines: list[Sorted], each: Each) -> Sorted:
    """Merge sorted lines, two at a time; of equal elements those of the first come first."""
    many = 2 * len(lines)
    while len(lines) > 1:
        made: list[Sorted] = []
        jobs: list[list[np.ndarray]] = []
        for first, second in zip(lines[::2], lines[1::2], strict=False):
            n = len(first[0]) + len(second[0])
            made.append(tuple([np.empty(n, y.dtype) for y in first]))
            jobs += _jobs(first, second, made[-1], many)
        each(lambda job: compiled.merge(*job), jobs)
        lines = [*made, *lines[len(made) * 2 :]]
    return lines[0]


def _jobs(first: Sorted, second: Sorted, out: Sorted, many: int) -> Iterator[list[np.ndarray]]:
    """Yield the arguments of the calls that merge two lines, a part each."""
    a, b = first[0], second[0]
    cuts = [len(a) * k // many for k in range(many)]
    found = np.searchsorted(b, a[cuts[1:]]).tolist()  # all before are smaller, all others not
    ends = [*zip(cuts, [0, *found], strict=True), (len(a), len(b))]
    for (i, j), (to_i, to_j) in itertools.pairwise(ends):
        places = slice(i, to_i), slice(j, to_j), slice(i + j, to_i + to_j)
        lines = [*zip(first, second, out, strict=True)]
        yield [y[place] for line in lines for y, place in zip(line, places, strict=True)]


def _sort_joined(x: np.ndarray, each: Each, axis: int, descending: bool, **params: Any) -> np.ndarray:
    sort_part = partial(_sort_host, axis=axis, descending=descending, **params)
    lines = [p.reshape(-1) for p in each(sort_part, np.array_split(x, threads(), axis))]
    (keys,) = _merged([(_mirrored(y) if descending else y,) for y in lines], each)
    return (_mirrored(keys) if descending else keys).reshape(x.shape)


def _argsort_joined(x: np.ndarray, each: Each, axis: int, descending: bool, **params: Any) -> np.ndarray:
    sort_part = partial(_argsort_host, axis=axis, descending=descending, **params)
    parts = each(sort_part, np.array_split(x, threads(), axis))
    starts = itertools.accumulate([0, *[p.size for p in parts[:-1]]])
    flat = x.reshape(-1)

    def line(part: tuple[np.ndarray, int]) -> Sorted:
        order = part[0].reshape(-1) + part[1]
        return _mirrored(flat[order]) if descending else flat[order], order

    _, order = _merged(each(line, [*zip(parts, starts, strict=True)]), each)
    return order.reshape(x.shape)


def stable_argsort(x: np.ndarray, axis: int | None = -1) -> np.ndarray:
    """Return what ``np.argsort(x, axis, "stable")`` gives, often in less time.

    NumPy sorts numbers with vector instructions where the order of equal ones is left open, in a quarter of
    the time. Then the positions in each run of these are sorted.
    """
    if axis is None or x.ndim == 0:
        return stable_argsort(x.reshape(-1))
    if compiled is None or x.shape[axis] < _FEW or x.dtype.kind not in "fiu" or x.dtype.itemsize < 4:
        return x.argsort(axis, "stable")
    is_last = axis in (-1, x.ndim - 1)
    found = compiled.stable_order(np.ascontiguousarray(x if is_last else np.moveaxis(x, axis, -1)))
    if found is None:
        return x.argsort(axis, "stable")
    return found if is_last else np.moveaxis(found, -1, axis)


def _above(x: np.ndarray, least: int) -> np.ndarray:
    """Return how much larger than the least integers are; all must be near it."""
    if x.dtype.kind == "u":  # of 64 bits, too large for others
        return (x - x.dtype.type(least) if least else x).astype(np.intp, copy=False)
    wide = x.astype(np.intp, copy=False)
    return wide - least if least else wide


# Integers from which counting is the shorter way to tell distinct ones.
_COUNTED = 1 << 12


def distinct(
    x: np.ndarray, index: bool, inverse: bool, counts: bool, axis: int | None = None, equal_nan: bool = False
) -> Any:
    """Return what ``np.unique`` gives, often in less time.

    NumPy sorts, or hashes. Many integers in a narrow range, as labels are, can be counted.
    """
    is_whole = x.dtype.kind in "iub" and axis is None and x.size >= _COUNTED
    least, most = (int(x.min()), int(x.max())) if is_whole else (0, 0)
    if not is_whole or most - least >= x.size:
        numpys: Any = np.unique  # one of its overloads for each choice
        return numpys(x, index, inverse, counts, axis, equal_nan=equal_nan)
    flat = x.reshape(-1)
    places = _above(flat, least)
    times = np.bincount(places, minlength=most - least + 1)
    there = np.flatnonzero(times)
    values = there.astype(x.dtype) + x.dtype.type(least) if x.dtype.kind == "u" else there + least
    found: list[Any] = [values.astype(x.dtype, copy=False)]
    if index:
        first = np.empty(times.size, np.intp)
        first[places[::-1]] = np.arange(x.size - 1, -1, -1)  # of several writes to a place the last one stays
        found.append(first[there])
    if inverse:
        found.append(np.take(np.cumsum(times > 0) - 1, places).reshape(x.shape))
    if counts:
        found.append(times[there])
    return tuple(found) if len(found) > 1 else found[0]


# Integers from which to see that they follow one another is worth a look.
_SEEN = 1 << 8


def places(x: np.ndarray) -> np.ndarray | None:
    """Return where each of some integers is that follow one another, in any order; None for others."""
    if x.ndim != 1 or x.dtype.kind not in "iu" or x.size < _SEEN:
        return None
    least = int(x.min())
    if int(x.max()) - least != x.size - 1:
        return None
    found = np.full(x.size, -1, np.intp)
    found[_above(x, least)] = np.arange(x.size)
    return None if found.min() < 0 else found


def _argsort_for_one(x: np.ndarray, axis: int, descending: bool, stable: bool) -> np.ndarray | None:
    """Return the order of a line that threads would not share, or of a permutation."""
    if _is_for_one(x, axis, _ORDERED):
        return _argsort_host(x, axis, descending, stable)
    return places(_mirrored(x) if descending else x)


def _sort_for_one(x: np.ndarray, axis: int, **params: Any) -> np.ndarray | None:
    return _sort_host(x, axis, **params) if _is_for_one(x, axis, _SHARED) else None


def _argsort_host(x: np.ndarray, axis: int, descending: bool, stable: bool) -> np.ndarray:
    keys = _mirrored(x) if descending else x
    found = places(keys)
    if found is not None:
        return found
    return stable_argsort(keys, axis) if stable else np.argsort(keys, axis)


def _taken(x: Node, order: Node, axis: int) -> Node:
    """Return the elements along an axis in an order, the axis being the last meanwhile."""
    last = x.aval.ndim - 1
    there = (*[a for a in range(x.aval.ndim) if a != axis], axis)
    back = (*range(axis), last, *range(axis, last))
    x, order = (permute(n, axes=there) for n in (x, order))
    return permute(gather(x, order, axes=(last,), batch=last), axes=back)


def _sort_jvp(tangents: Any, out: Node, x: Node, axis: int, **params: Any) -> Node:
    return _taken(tangents[0], argsort(x, axis=axis, **params), axis)


sort = Primitive(
    "sort",
    lambda x, axis, descending, stable: x,
    _sort_host,
    batch=shift("axis"),
    dims=whole("axis"),
    by_rows=True,
    joined=_sort_joined,
    shortcut=_sort_for_one,
    jvp=_sort_jvp,
)
argsort = Primitive(
    "argsort",
    lambda x, axis, descending, stable: aval_of(x.shape, _INTP),
    _argsort_host,
    batch=shift("axis"),
    dims=whole("axis"),
    by_rows=True,
    joined=_argsort_joined,
    shortcut=_argsort_for_one,
)


# Elements of a line from which several ranks are put in place one by one: NumPy puts one there with vector
# instructions, in a fifth of the time that several take it.
RANKED = 1 << 10
# Ranks up to which it takes less time to put their elements in place than to sort.
FEW_RANKS = 16


def _partition_one_by_one(x: np.ndarray, kth: tuple[int, ...], axis: int) -> np.ndarray | None:
    """Put several ranks of long lines in place, by calls that are too short to be shared; None of others."""
    if len(kth) < 2 or x.dtype.kind not in "iuf" or x.shape[axis] < RANKED:
        return None
    if len(kth) > FEW_RANKS:
        return np.sort(x, axis)  # which puts all of them in place
    lines = np.array(np.moveaxis(x, axis, -1), order="C")
    for line in lines.reshape(-1, lines.shape[-1]):
        _put_in_place(line, sorted({k % line.size for k in kth}))
    return np.moveaxis(lines, -1, axis)


def _partition_host(x: np.ndarray, kth: tuple[int, ...], axis: int) -> np.ndarray:
    found = _partition_one_by_one(x, kth, axis)
    return np.partition(x, np.asarray(kth, np.intp), axis) if found is None else found


def _put_in_place(line: np.ndarray, ranks: list[int]) -> None:
    """Put the elements of these ranks where sorting a line does, with all smaller ones before."""
    todo = [(line, ranks)]
    while todo:
        part, ranks = todo.pop()
        while ranks and ranks[-1] == part.size - 1:  # nan is the largest
            at = part.argmax()
            part[at], part[-1] = part[-1], part[at]
            part, ranks = part[:-1], ranks[:-1]
        if ranks:
            # Of two neighbours the second: then the first is the largest of what is left of it.
            middle = len(ranks) // 2
            k = ranks[middle]
            part.partition(k)
            todo += [(part[:k], ranks[:middle]), (part[k + 1 :], [r - k - 1 for r in ranks[middle + 1 :]])]


def _partition_jvp(tangents: Any, out: Node, x: Node, kth: tuple[int, ...], axis: int) -> Node:
    """Move the tangents as sorting both would: to the place that has the rank of their own."""

    def order(y: Node) -> Node:
        return argsort(y, axis=axis, descending=False, stable=True)

    return _taken(tangents[0], _taken(order(x), order(order(out)), axis), axis)


partition = Primitive(
    "partition",
    lambda x, kth, axis: x,
    _partition_host,
    batch=shift("axis"),
    dims=whole("axis"),
    by_rows=True,
    shortcut=_partition_one_by_one,
    jvp=_partition_jvp,
)
argpartition = Primitive(
    "argpartition",
    lambda x, kth, axis: aval_of(x.shape, _INTP),
    lambda x, kth, axis: np.argpartition(x, np.asarray(kth, np.intp), axis),
    batch=shift("axis"),
    dims=whole("axis"),
)


def _each(function: Callable[..., Any], vectors: np.ndarray, x: np.ndarray, dtype: Any) -> np.ndarray:
    """Return `function(vector, x)`, for each vector along the last axis with its own part of `x`."""
    if vectors.ndim == 1:
        return np.asarray(function(vectors, x))
    out = np.empty(x.shape, dtype)
    for i in np.ndindex(vectors.shape[:-1]):
        out[i] = function(vectors[i], x[i])
    return out


def _check_vectors(name: str, vectors: Aval, x: Aval) -> None:
    if vectors.dtype != x.dtype or vectors.shape[:-1] != x.shape[: vectors.ndim - 1]:
        raise ValueError(f"{name}: dtypes or batch axes differ: {vectors} and {x}")


def _vector(vectors: Aval) -> tuple[int, ...]:
    """Label vectors that are needed whole; their batch axes are the first ones of the other operand."""
    return (*range(vectors.ndim - 1), -1)


def _searchsorted_aval(x1: Aval, x2: Aval, side: str) -> Aval:
    _check_vectors("searchsorted", x1, x2)
    return aval_of(x2.shape, _INTP)


# Numbers from which compiled code that seeks many in step pays for its look whether the keys are sorted.
SOUGHT = 64


def search(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """Return what ``np.searchsorted(a, v, side, sorter)`` gives, for many numbers in a part of the time."""
    is_known = side in ("left", "right") and sorter is None and type(a) is type(v) is np.ndarray
    if compiled is not None and is_known and v.size >= SOUGHT:
        if a.dtype != v.dtype and a.dtype.kind in "fiu" and v.dtype.kind in "fiu":
            common = np.promote_types(a.dtype, v.dtype)
            a, v = a.astype(common), v.astype(common)
        found = compiled.search(a, np.ascontiguousarray(v), side == "right")
        if found is not None:
            return found
    return np.searchsorted(a, v, side, sorter)


def _searchsorted_host(x1: np.ndarray, x2: np.ndarray, side: Any) -> np.ndarray:
    return _each(lambda v, x: search(v, x, side), x1, x2, np.intp)


# x1 is sorted along its last axis; its leading axes are batch axes of x2 too.
searchsorted: Primitive = Primitive(
    "searchsorted",
    _searchsorted_aval,
    _searchsorted_host,
    dims=lambda x1, x2, side: (_vector(x1), tuple(range(x2.ndim)), tuple(range(x2.ndim))),
    by_rows=True,
    mixed=lambda operands, batched, lead, side: (
        None if batched[0] or operands[0].aval.ndim > 1 else searchsorted(*operands, side=side)
    ),
)


def _isin_aval(x: Aval, among: Aval) -> Aval:
    _check_vectors("isin", among, x)
    return aval_of(x.shape, np.dtype(np.bool))


# Is each element of x in `among`, a vector whose leading axes are batch axes of x too?
isin: Primitive = Primitive(
    "isin",
    _isin_aval,
    lambda x, among: _each(lambda v, part: np.isin(part, v), among, x, np.bool),
    dims=lambda x, among: (tuple(range(x.ndim)), _vector(among), tuple(range(x.ndim))),
    mixed=lambda operands, batched, lead: (
        None if batched[1] or operands[1].aval.ndim > 1 else isin(*operands)
    ),
)
