"""Arrays joined, split, extended and turned."""

from __future__ import annotations

import builtins
import itertools
import math
import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..chapters.filling import full
from ..chapters.indexing_functions import take
from ..chapters.joining import join, tile
from ..chapters.manipulation import flip, moveaxis, reshape, swapaxes
from ..core.array import Array
from ..core.indexing import fitted
from ..core.promotion import as_array, astype, axis_or_flat, listed, normalize_axis
from .described import eager_numpys, numpys

if TYPE_CHECKING:
    from ..core.types import ArrayLike, Axis, DTypeLike, T

_ALL = slice(None)


def flat(function: str, x: Any) -> Array:
    """Return `x` with one axis."""
    y = as_array(function, x)
    return y if y.ndim == 1 else reshape(y, (-1,))


def along(axis: int, key: Any) -> tuple[Any, ...]:
    """Return the key that applies `key` to one axis."""
    return (*[_ALL] * axis, key)


@eager_numpys()
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Return an array with more elements at its end.

    >>> xp.append([1, 2], [[3], [4]])
    array([1, 2, 3, 4])
    """
    if axis is None:
        return join("append", [flat("append", arr), flat("append", values)])
    return join("append", [as_array("append", arr), as_array("append", values)], axis=axis)


@overload
def atleast_3d(array: ArrayLike, /) -> Array: ...
@overload
def atleast_3d(first: ArrayLike, second: ArrayLike, /, *more: ArrayLike) -> tuple[Array, ...]: ...
@numpys
def atleast_3d(*arys: Any) -> Any:
    """Return arrays with three axes or more: new ones go around a vector, and behind a matrix.

    >>> xp.atleast_3d([1, 2]).shape
    (1, 2, 1)
    """
    shapes = {0: (1, 1, 1), 1: (1, -1, 1)}
    out = []
    for a in arys:
        x = as_array("atleast_3d", a)
        shape = (*x.shape, 1) if x.ndim == 2 else shapes.get(x.ndim)
        out.append(x if shape is None else reshape(x, shape))
    return out[0] if len(out) == 1 else tuple(out)


def with_axes(x: Array, ndim: int) -> Array:
    """Return `x` with axes of length 1 before its own, where it has fewer than `ndim`."""
    return x if x.ndim >= ndim else reshape(x, (1,) * (ndim - x.ndim) + x.shape)


def _several(function: str, arrays: Any) -> Any:
    """Return what `arrays` holds; raises TypeError for what is no sequence, as NumPy does."""
    if not hasattr(arrays, "__getitem__"):
        raise TypeError(
            f'{function}: arrays to stack must be passed as a "sequence" type such as list or tuple.'
        )
    return arrays


@eager_numpys()
def vstack(tup: Any, *, dtype: DTypeLike | None = None, casting: Any = "same_kind") -> Array:
    """Join arrays along the first axis; vectors count as rows.

    >>> xp.vstack(([1, 2], [3, 4]))
    array([[1, 2],
           [3, 4]])
    """
    xs = [with_axes(as_array("vstack", a), 2) for a in _several("vstack", tup)]
    return join("vstack", xs, axis=0, dtype=dtype, casting=casting)


@eager_numpys()
def hstack(tup: Any, *, dtype: DTypeLike | None = None, casting: Any = "same_kind") -> Array:
    """Join arrays along the second axis, vectors along the first.

    >>> xp.hstack(([1, 2], [3]))
    array([1, 2, 3])
    """
    xs = [with_axes(as_array("hstack", a), 1) for a in _several("hstack", tup)]
    return join("hstack", xs, axis=0 if xs and xs[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@eager_numpys()
def dstack(tup: Any) -> Array:
    """Join arrays along the third axis.

    >>> xp.dstack(([1, 2], [3, 4])).shape
    (1, 2, 2)
    """
    return join("dstack", [atleast_3d(x) for x in _several("dstack", tup)], axis=2)


@eager_numpys()
def column_stack(tup: Any) -> Array:
    """Join arrays along the second axis; vectors count as columns.

    >>> xp.column_stack(([1, 2], [3, 4]))
    array([[1, 3],
           [2, 4]])
    """
    xs = [as_array("column_stack", a) for a in _several("column_stack", tup)]
    return join("column_stack", [x if x.ndim > 1 else reshape(x, (-1, 1)) for x in xs], axis=1)


row_stack = vstack


# -- blocks ------------------------------------------------------------------------------------------


def _depth(arrays: Any) -> int:
    if type(arrays) is tuple:
        raise TypeError("block: only lists can nest blocks; got a tuple")
    if type(arrays) is not list:
        return 0
    if not arrays:
        raise ValueError("block: a list of blocks is empty")
    depths = {_depth(a) for a in arrays}
    if len(depths) > 1:
        raise ValueError("block: lists of blocks nest to different depths")
    return depths.pop() + 1


def _leaves(arrays: Any) -> list[Any]:
    return [x for a in arrays for x in _leaves(a)] if type(arrays) is list else [arrays]


@numpys
def block(arrays: Any) -> Array:
    """Join nested lists of blocks: the innermost along the last axis, and so on outward.

    >>> xp.block([[xp.eye(2), xp.zeros((2, 1))], [xp.ones((1, 3))]])
    array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 1., 1.]])
    """
    depth = _depth(arrays)
    ndim = builtins.max([depth, *[as_array("block", x).ndim for x in _leaves(arrays)]])

    def joined(part: Any, level: int) -> Array:
        if type(part) is not list:
            return with_axes(as_array("block", part), ndim)
        return join("block", [joined(p, level + 1) for p in part], axis=ndim - depth + level)

    out = joined(arrays, 0)
    return out.copy() if depth == 0 else out


# -- splitting ---------------------------------------------------------------------------------------


def _bounds(indices_or_sections: Any, n: int) -> list[int]:
    try:
        pieces = [operator.index(i) for i in indices_or_sections]
    except TypeError:
        count = int(indices_or_sections)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.") from None
        each, more = divmod(n, count)
        return [0, *itertools.accumulate([each + 1] * more + [each] * (count - more))]
    return [0, *pieces, n]


@numpys
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Return parts of an array along an axis, as views; their lengths may differ by one.

    >>> xp.array_split(xp.arange(5), 2)
    [array([0, 1, 2]), array([3, 4])]
    """
    x = as_array("array_split", ary)
    k = normalize_axis("array_split", axis, x.ndim)
    bounds = _bounds(indices_or_sections, x.shape[k])
    return [x[along(k, slice(a, b))] for a, b in itertools.pairwise(bounds)]


@numpys
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Return equal parts of an array along an axis, or those between indices, as views.

    >>> xp.split(xp.arange(4), [1, 3])
    [array([0]), array([1, 2]), array([3])]
    """
    return _equal_parts("split", as_array("split", ary), indices_or_sections, axis)


def _equal_parts(function: str, x: Array, indices_or_sections: Any, axis: int) -> list[Array]:
    if not isinstance(indices_or_sections, list | tuple | Array | np.ndarray):
        n = x.shape[normalize_axis(function, axis, x.ndim)]
        if n % indices_or_sections:
            raise ValueError(
                f"{function}: {n} elements do not make {indices_or_sections} equal parts;"
                " array_split would work"
            )
    return array_split(x, indices_or_sections, axis)


@numpys
def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Split along the second axis, a vector along the first.

    >>> xp.hsplit(xp.arange(4), 2)
    [array([0, 1]), array([2, 3])]
    """
    x = _of_axes("hsplit", ary, 1)
    return _equal_parts("hsplit", x, indices_or_sections, 1 if x.ndim > 1 else 0)


@numpys
def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Split along the first axis.

    >>> xp.vsplit(xp.eye(2), 2)
    [array([[1., 0.]]), array([[0., 1.]])]
    """
    return _equal_parts("vsplit", _of_axes("vsplit", ary, 2), indices_or_sections, 0)


@numpys
def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Split along the third axis.

    >>> [x.shape for x in xp.dsplit(xp.ones((1, 1, 4)), 2)]
    [(1, 1, 2), (1, 1, 2)]
    """
    return _equal_parts("dsplit", _of_axes("dsplit", ary, 3), indices_or_sections, 2)


def _of_axes(function: str, x: Any, fewest: int) -> Array:
    y = as_array(function, x)
    if y.ndim < fewest:
        raise ValueError(f"{function}: needs an array of {fewest} axes or more, not of shape {y.shape}")
    return y


# -- elements put in and taken out -------------------------------------------------------------------


@eager_numpys(large=np.delete)
def delete(arr: ArrayLike, obj: Any, axis: int | None = None) -> Array:
    """Return an array without some places along an axis.

    >>> xp.delete([1, 2, 3, 4], [0, -1])
    array([2, 3])
    """
    x, k = axis_or_flat("delete", arr, axis, takes_0d=False)
    n, places = x.shape[k], _of_numpys(obj)
    if isinstance(places, int | np.integer) and not isinstance(places, bool):
        if not -n <= places < n:
            raise IndexError(f"delete: index {places} is out of bounds for axis {k} with size {n}")
        first = int(places) % n
        return join("delete", [x[along(k, slice(0, first))], x[along(k, slice(first + 1, None))]], axis=k)
    kept = np.ones(n, np.bool)
    if isinstance(places, slice):
        kept[places] = False
    elif (which := np.asarray(places)).dtype.kind != "b":
        kept[which if which.size or isinstance(places, np.ndarray) else which.astype(np.intp)] = False
    elif which.shape == (n,):
        kept = ~which
    else:
        raise ValueError(f"delete: a mask of shape {which.shape} does not fit {n} places; shape ({n},) would")
    return x[along(k, kept)]


def _of_numpys(obj: Any) -> Any:
    return np.asarray(obj) if type(obj) is Array else obj


@eager_numpys()
def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: int | None = None) -> Array:
    """Return an array with values put in before some places along an axis.

    >>> xp.insert([1, 2, 3], 1, 9)
    array([1, 9, 2, 3])
    """
    x, k = axis_or_flat("insert", arr, axis, takes_0d=False)
    n, places = x.shape[k], _of_numpys(obj)
    new = with_axes(astype(as_array("insert", values), x.dtype), x.ndim)
    if not isinstance(places, slice) and np.ndim(places) == 0:
        first = operator.index(places)
        if not -n <= first <= n:
            raise IndexError(f"insert: index {first} is out of bounds for axis {k} with size {n}")
        first += n if first < 0 else 0
        new = moveaxis(new, 0, k)  # as NumPy: at one place, the values have the axis first
        new = fitted("insert", new, x.dtype, (*x.shape[:k], new.shape[k], *x.shape[k + 1 :]))
        parts = [x[along(k, slice(0, first))], new, x[along(k, slice(first, None))]]
        return join("insert", parts, axis=k)
    old = np.insert(np.ones(n, np.bool), places, False)
    if old.size == n + 1:
        return insert(x, int(old.argmin()), moveaxis(new, k, 0), axis=k)
    spots = np.flatnonzero(~old)
    new = fitted("insert", new, x.dtype, (*x.shape[:k], spots.size, *x.shape[k + 1 :]))
    given = np.asarray(places)
    if given.dtype.kind in "iu" and given.size:  # in the order of the places
        new = take(new, np.argsort(np.where(given < 0, given + n, given), kind="stable"), axis=k)
    out = full((*x.shape[:k], old.size, *x.shape[k + 1 :]), 0, dtype=x.dtype)
    out[along(k, np.flatnonzero(old))] = x
    out[along(k, spots)] = new
    return out


@numpys
def resize(a: ArrayLike, new_shape: Any) -> Array:
    """Return an array of another size, filled with repeated copies of the elements.

    >>> xp.resize([1, 2, 3], (2, 2))
    array([[1, 2],
           [3, 1]])
    """
    x = flat("resize", a)
    shape = tuple(map(operator.index, listed(new_shape)))
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    return repeated(x, shape) if x.size else full(shape, 0, dtype=x.dtype)


def repeated(values: Array, shape: tuple[int, ...]) -> Array:
    """Return an array of a shape that the values fill in order, over and over."""
    n = math.prod(shape)
    if values.size == 1:
        return full(shape, reshape(values, ()), dtype=values.dtype)
    return reshape(tile(values, -(-n // values.size))[:n], shape)


@overload
def trim_zeros(filt: Array, trim: str = "fb", axis: Axis = None) -> Array: ...
@overload
def trim_zeros(filt: Sequence[T], trim: str = "fb", axis: Axis = None) -> Sequence[T] | Array: ...
@numpys
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Return an array without zeros at its front ("f"), its back ("b") or both.

    >>> xp.trim_zeros(xp.asarray([0, 1, 0, 2, 0]))
    array([1, 0, 2])
    """
    parts = set(trim.lower())
    if not parts or not parts <= {"f", "b"}:
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    x = as_array("trim_zeros", filt)
    if not x.ndim:
        return filt
    found = x._value().nonzero()
    key = [_ALL] * x.ndim
    axes: Iterable[int] = range(x.ndim)
    if axis is not None:
        axes = [normalize_axis("trim_zeros", a, x.ndim) for a in np.ravel(axis)]
    for k in axes:
        if found[k].size:
            first, last = int(found[k].min()), int(found[k].max())
            key[k] = slice(first if "f" in parts else None, last + 1 if "b" in parts else None)
        else:
            key[k] = slice(0, 0)
    if isinstance(filt, list | tuple) and x.ndim == 1:
        return filt[key[0]]
    return x[tuple(key)]


# -- turning -----------------------------------------------------------------------------------------


@numpys
def fliplr(m: ArrayLike) -> Array:
    """Reverse the second axis, as a view.

    >>> xp.fliplr([[1, 2], [3, 4]])
    array([[2, 1],
           [4, 3]])
    """
    return flip(_of_axes("fliplr", m, 2), 1)


@numpys
def flipud(m: ArrayLike) -> Array:
    """Reverse the first axis, as a view.

    >>> xp.flipud([1, 2])
    array([2, 1])
    """
    return flip(_of_axes("flipud", m, 1), 0)


@numpys
def rot90(m: ArrayLike, k: int = 1, axes: Any = (0, 1)) -> Array:
    """Turn an array by 90 degrees in the plane of two axes, `k` times, from the first to the second.

    >>> xp.rot90([[1, 2], [3, 4]])
    array([[2, 4],
           [1, 3]])
    """
    x = as_array("rot90", m)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    try:
        a, b = [normalize_axis("rot90", i, x.ndim) for i in axes]
    except np.exceptions.AxisError:
        raise ValueError(f"Axes={tuple(axes)} out of range for array of ndim={x.ndim}.") from None
    if a == b:
        raise ValueError("Axes must be different.")
    turns = operator.index(k) % 4
    if turns == 0:
        return x[...]
    if turns == 2:
        return flip(x, (a, b))
    return swapaxes(flip(x, b), a, b) if turns == 1 else flip(swapaxes(x, a, b), b)


@numpys
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Move an axis to before another one, as a view.

    >>> xp.rollaxis(xp.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = as_array("rollaxis", a)
    k = normalize_axis("rollaxis", axis, x.ndim)
    first = start + x.ndim if start < 0 else start
    if not 0 <= first <= x.ndim:
        raise np.exceptions.AxisError(f"rollaxis: start is {start}; {-x.ndim} to {x.ndim} would work")
    return moveaxis(x, k, first - 1 if k < first else first)
