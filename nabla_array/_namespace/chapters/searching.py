"""Searching functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..._lazy.graph.node import mark_origin
from ..._lazy.graph.primitive import Primitive
from ..._lazy.ops import reduction as p
from ..._lazy.ops.elementwise import select
from ..._lazy.ops.indexing import gather
from ..._lazy.ops.ordering import search
from ..._lazy.ops.ordering import searchsorted as searchsorted_p
from ..._lazy.ops.structure import reshape
from ..core.array import Array, apply, from_value, zero_d
from ..core.indexing import nonzero_indices
from ..core.outputs import deliver
from ..core.promotion import (
    as_array,
    astype,
    axis_or_flat,
    broadcast_shapes,
    broadcast_to,
    promote,
    reduced_axes,
    require,
)
from ..dispatch import fastpath
from ..dispatch.docstrings import described_like, specify
from .statistical import kept, reduce

if TYPE_CHECKING:
    from ..core.types import ArrayLike, Axis, Out

__all__ = ["argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where"]


def _extreme_index(name: str, prim: Primitive, x: Any, axis: int | None, out: Any, keepdims: bool) -> Array:
    a = as_array(name, x)
    flat, k = axis_or_flat(name, a, axis)
    if flat.shape[k] == 0:
        raise ValueError(f"{name}: no index into an empty axis: shape {a.shape} along axis {axis}")
    y = apply(prim, flat, axis=k)
    if keepdims:
        y = apply(reshape, y, shape=(1,) * a.ndim if axis is None else kept(a, (k,)))
    return deliver(name, out, y, exact=True)


@fastpath.whole(np.ndarray.argmax)
def argmax(a: ArrayLike, axis: int | None = None, out: Out = None, *, keepdims: bool = False) -> Array:
    """Return the index of the largest element along an axis, the first of equal ones.

    Parameters
    ----------
    a : Array
    axis : int, optional
        Axis to search; where it is None, the index is one into the flattened array.
    out : Array, optional
        Where the result goes, too.
    keepdims : bool, optional
        Keep the searched axis, with size 1.

    Returns
    -------
    Array
        Of dtype intp; a nan counts as the largest.

    Raises
    ------
    ValueError
        If there is no element to choose from.

    >>> xp.argmax(xp.asarray([[1, 5], [4, 2]]), axis=1)
    array([1, 0])
    """
    return _extreme_index("argmax", p.argmax, a, axis, out, keepdims)


@fastpath.whole(np.ndarray.argmin)
@described_like(argmax, {"largest": "smallest"})
def argmin(a: ArrayLike, axis: int | None = None, out: Out = None, *, keepdims: bool = False) -> Array:
    """Return the index of the smallest element along an axis, the first of equal ones.

    >>> xp.argmin(xp.asarray([[1, 5], [4, 2]]), axis=1)
    array([0, 1])
    """
    return _extreme_index("argmin", p.argmin, a, axis, out, keepdims)


@fastpath.whole(np.count_nonzero)
def count_nonzero(a: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Count the elements that are not zero along axes.

    Parameters
    ----------
    x : Array
    axis : int or tuple of ints, optional
        Axes to count along; all of them where it is None.
    keepdims : bool, optional
        Keep the counted axes, with size 1.

    Returns
    -------
    Array
        Of dtype intp.

    >>> xp.count_nonzero(xp.asarray([[0, 5], [4, 2]]), axis=1)
    array([1, 2])
    """
    x = as_array("count_nonzero", a)
    return reduce(p.reduce_count, x, reduced_axes("count_nonzero", axis, x.ndim), keepdims)


@fastpath.whole(nonzero_indices, large=nonzero_indices)
def nonzero(a: ArrayLike) -> tuple[Array, ...]:
    """Return the indices of the elements that are not zero, in row-major order.

    The result's shape depends on the elements, so they are evaluated.

    Parameters
    ----------
    a : Array
        With one axis or more.

    Returns
    -------
    tuple of Array
        One index array (of dtype intp) for each axis.

    Raises
    ------
    ValueError
        If `a` is 0-d.

    >>> xp.nonzero(xp.asarray([3, 0, 4]))
    (array([0, 2]),)
    """
    a = as_array("nonzero", a)
    if not a.ndim:
        raise ValueError("nonzero: Calling nonzero on 0d arrays is not allowed; atleast_1d gives one axis")
    return tuple([from_value(i) for i in nonzero_indices(a._value())])


@fastpath.whole(search)
def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: Any = None) -> Array:
    """Return where each element of `v` would go into the sorted `a` so that it stays sorted.

    Parameters
    ----------
    a : Array
        With one axis, ascending (once taken in the order of `sorter`, where that is given).
    v : Array or scalar
        The values to place; a Python scalar takes the dtype of `a`.
    side : {"left", "right"}, optional
        Whether a value goes before or after those equal to it.
    sorter : Array, optional
        Indices that sort `a`.

    Returns
    -------
    Array
        Indices (of dtype intp) in the shape of `v`.

    Raises
    ------
    ValueError
        If `a` has not one axis, `sorter` has not its shape, or the side is unknown.
    TypeError
        If the dtype of `sorter` is no integer.

    >>> xp.searchsorted(xp.asarray([1.0, 2.0, 4.0]), xp.asarray([2.0, 3.0]))
    array([1, 2])
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: no side {side!r}; 'left' or 'right' would work")
    a, values = promote("searchsorted", as_array("searchsorted", a), as_array("searchsorted", v))
    if a.ndim != 1:
        raise ValueError(f"searchsorted: needs a with one axis, not of shape {a.shape}")
    if sorter is not None:
        order = as_array("searchsorted", sorter)
        require("searchsorted", "integer", order)
        if order.shape != a.shape:
            raise ValueError(f"searchsorted: the sorter's shape {order.shape} is not that of a, {a.shape}")
        a = apply(gather, a, astype(order, np.dtype(np.intp)), axes=(0,), batch=0)
        mark_origin(a._node, "searchsorted")
    return apply(searchsorted_p, a, values, side=side)


def pick(condition: Any, x1: Any, x2: Any) -> Array:
    """Return what `where` does, without axes as a scalar: what functions of numbers end with."""
    mask = astype(as_array("where", condition), np.dtype(np.bool))
    a, b = promote("where", x1, x2)
    shape = broadcast_shapes("where", mask.shape, a.shape, b.shape)
    return apply(select, *[broadcast_to(x, shape) for x in (mask, a, b)])


_MISSING: Any = object()


def _numpys_where(condition: Any, *chosen: Any) -> Any:
    return np.where(condition, *chosen) if chosen else nonzero_indices(condition)


def _chosen(condition: Any, x1: Any = None, x2: Any = None) -> int:
    """Return four times how many elements are chosen: of blocks, which choose without branches, fewer pay."""
    return 0 if x1 is None else 4 * fastpath.size(condition)


@overload
def where(condition: ArrayLike, /) -> tuple[Array, ...]: ...
@overload
def where(condition: ArrayLike, x1: ArrayLike, x2: ArrayLike, /) -> Array: ...
@fastpath.whole(_numpys_where, elements=_chosen)
def where(condition: ArrayLike, x1: ArrayLike = _MISSING, x2: ArrayLike = _MISSING, /) -> Any:
    """Return elements of `x1` where the condition is true, and of `x2` elsewhere.

    Parameters
    ----------
    condition : Array
        What is not boolean is true where it is not zero.
    x1, x2 : Array or scalar
        They broadcast with the condition; a Python scalar takes the other's dtype. Without both, this
        is ``nonzero(condition)``, as in NumPy.

    Returns
    -------
    Array
        Of the promoted dtype of `x1` and `x2`.

    Raises
    ------
    ValueError
        If shapes do not broadcast, or only one of `x1` and `x2` is given.

    >>> x = xp.asarray([1.0, -2.0, 3.0])
    >>> xp.where(x > 0, x, 0.0)
    array([1., 0., 3.])
    """
    if x1 is _MISSING:
        return nonzero(condition)
    if x2 is _MISSING:
        raise ValueError("where: either both or neither of x1 and x2 should be given")
    return zero_d(pick(condition, x1, x2))


specify(globals())
