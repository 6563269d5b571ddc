"""Orders of elements: by several keys, and in part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.graph.primitive import Primitive
from ..._lazy.ops.ordering import RANKED
from ..._lazy.ops.ordering import argpartition as argpartition_p
from ..._lazy.ops.ordering import partition as partition_p
from ..chapters.indexing_functions import take_along_axis
from ..chapters.sorting import argsort, sort
from ..core.array import Array, apply
from ..core.promotion import as_array, astype, axis_or_flat, full
from .described import eager_numpys, numpys

if TYPE_CHECKING:
    from ..core.types import ArrayLike

_INTP = np.dtype(np.intp)


@eager_numpys()
def lexsort(keys: Any, axis: int = -1) -> Array:
    """Return the indices that sort by the last key, equal ones by that before it, and so on.

    >>> xp.lexsort(([1, 2, 0], [1, 0, 1]))
    array([1, 2, 0])
    """
    ks = [as_array("lexsort", k) for k in keys]
    if not ks:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if not ks[0].ndim:
        return full((), 0, _INTP)
    if len({k.shape for k in ks}) > 1:
        raise ValueError("all keys need to be the same shape")
    order = argsort(ks[0], axis=axis, stable=True)
    for k in ks[1:]:
        again = argsort(take_along_axis(k, order, axis=axis), axis=axis, stable=True)
        order = take_along_axis(order, again, axis=axis)
    return order


# How many times as long as to add up elements NumPy takes to put several in their places.
_FACTOR = 16


def ranked_size(a: Any, axis: Any, many: int = 2) -> int:
    """Return how many elements take as long, where our way to put `many` in their places is shorter."""
    shape = np.shape(a)
    size = math.prod(shape)
    is_axis = type(axis) is int and -len(shape) <= axis < len(shape)
    return size * (_FACTOR if many > 1 and (shape[axis] if is_axis else size) >= RANKED else 1)


def _partitioned(prim: Primitive, a: Any, kth: Any, axis: int | None, kind: str) -> Array:
    if not isinstance(kind, str):
        raise TypeError(f"select kind must be str, not {type(kind).__name__}")
    if kind != "introselect":
        raise ValueError(f"select kind must be 'introselect' (got {kind!r})")
    x, k = axis_or_flat(prim.name, a, axis, takes_0d=prim is argpartition_p)
    places = np.asarray(kth)
    if places.dtype.kind not in "iu":
        raise TypeError("Partition index must be integer")
    n = x.shape[k]
    if x.size and not ((-n <= places) & (places < n)).all():
        raise ValueError(f"kth(={kth}) out of bounds ({n})")
    return apply(prim, x, kth=tuple(places.reshape(-1).tolist()), axis=k)


@eager_numpys(elements=lambda a, kth, axis=-1, *_, **__: ranked_size(a, axis, np.size(kth)))
def partition(
    a: ArrayLike, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Array:
    """Return a copy in which the k-th element is in its place, and smaller ones before it.

    >>> xp.partition([3, 1, 2], 1)
    array([1, 2, 3])
    """
    return _partitioned(partition_p, a, kth, axis, kind)


@eager_numpys()
def argpartition(
    a: ArrayLike, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Array:
    """Return the indices that partition an array.

    >>> xp.argpartition([3, 1, 2], 1)
    array([1, 2, 0])
    """
    return _partitioned(argpartition_p, a, kth, axis, kind)


@numpys
def sort_complex(a: ArrayLike) -> Array:
    """Return a sorted copy as complex numbers, by their real parts first.

    >>> xp.sort_complex([3, 1])
    array([1.+0.j, 3.+0.j])
    """
    x = sort(as_array("sort_complex", a), axis=-1)
    small = x.dtype.char in "bhBHf"
    return x if x.dtype.kind == "c" else astype(x, np.dtype(np.complex64 if small else np.complex128))
