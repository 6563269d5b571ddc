"""Utility functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.graph.primitive import Primitive
from ..._lazy.ops.elementwise import ne, sub
from ..._lazy.ops.reduction import reduce_all, reduce_any
from ..._lazy.ops.structure import broadcast, concat, slice_
from ..core.array import Array, apply
from ..core.outputs import deliver
from ..core.promotion import as_array, astype, normalize_axis, promote, reduced_axes
from ..dispatch import fastpath
from ..dispatch.docstrings import described_like, specify
from .statistical import chosen, reduce

if TYPE_CHECKING:
    from ..core.types import ArrayLike, Axis, Out

__all__ = ["all", "any", "diff"]


def _truth(name: str, prim: Primitive, x: Any, axis: Any, out: Any, keepdims: bool, where: Any) -> Array:
    a = astype(as_array(name, x), np.dtype(np.bool))
    if where is not True:
        a = chosen(name, a, where, name == "all")
    y = reduce(prim, a, reduced_axes(name, axis, a.ndim), keepdims)
    return deliver(name, out, y, "unsafe", exact=True)


@fastpath.whole(np.ndarray.all, "reduce")
def all(
    a: ArrayLike, axis: Axis = None, out: Out = None, keepdims: bool = False, *, where: ArrayLike = True
) -> Array:
    """Test whether all elements along axes are true.

    Parameters
    ----------
    a : Array
        Of any dtype: what is not zero is true, nan too.
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    out : Array, optional
        Where the result goes, too.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.
    where : Array of booleans, optional
        Which elements count.

    Returns
    -------
    Array
        Booleans; True where there is no element.

    >>> xp.all(xp.asarray([[True, False], [True, True]]), axis=1)
    array([False,  True])
    """
    return _truth("all", reduce_all, a, axis, out, keepdims, where)


@fastpath.whole(np.ndarray.any, "reduce")
@described_like(all, {"True where": "False where"})
def any(
    a: ArrayLike, axis: Axis = None, out: Out = None, keepdims: bool = False, *, where: ArrayLike = True
) -> Array:
    """Test whether any element along axes is true.

    >>> xp.any(xp.asarray([[True, False], [False, False]]), axis=1)
    array([ True, False])
    """
    return _truth("any", reduce_any, a, axis, out, keepdims, where)


def _fitted_end(name: str, end: Array, x: Array, axis: int) -> Array:
    """Return what joins `x` along `axis`; as in NumPy a scalar counts as one layer."""
    layer = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    if not end.ndim:
        return apply(broadcast, end, shape=layer, axes=())
    if end.ndim != x.ndim or (*end.shape[:axis], 1, *end.shape[axis + 1 :]) != layer:
        raise ValueError(
            f"diff: {name} has shape {end.shape}, which differs from {x.shape} beyond axis {axis}"
        )
    return end


def _part(x: Array, axis: int, first: int) -> Array:
    """Return `x` without its first (1) or its last (0) layer along `axis`."""
    n = x.shape[axis]
    size = (*x.shape[:axis], n - 1 if n else 0, *x.shape[axis + 1 :])
    start = tuple([first if i == axis and n else 0 for i in range(x.ndim)])
    return apply(slice_, x, start=start, size=size, step=(1,) * x.ndim)


def _numpys_diff(a: Any, n: int = 1, *args: Any, **options: Any) -> Any:
    if n == 0:
        raise ValueError("NumPy takes no notice of what is put before or after")
    return np.diff(a, n, *args, **options)


@fastpath.whole(_numpys_diff)
def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    """Return the differences of neighbours along an axis.

    Parameters
    ----------
    a : Array
        With one axis or more. Of booleans, the difference is whether they differ.
    n : int, optional
        How many times differences are taken.
    axis : int, optional
    prepend, append : Array or scalar, optional
        What is put before and after `a` along the axis first.

    Returns
    -------
    Array
        Shorter by `n` along the axis.

    Raises
    ------
    ValueError
        If `n` is negative, `a` is 0-d, or what is put on does not fit.

    >>> xp.diff(xp.asarray([1, 4, 9, 16]), prepend=xp.asarray([0]))
    array([1, 3, 5, 7])
    """
    if n < 0:
        raise ValueError(f"diff: n is {n}; 0 or more would work")
    out = as_array("diff", a)
    if not out.ndim:
        raise ValueError("diff: needs one axis or more, not a 0-d array")
    k = normalize_axis("diff", axis, out.ndim)
    given = {"prepend": prepend, "a": out, "append": append}
    # A number here has a dtype of its own, as in NumPy.
    parts = {name: as_array("diff", x) for name, x in given.items() if x is not None}
    if len(parts) > 1:
        ready = zip(parts, promote("diff", *parts.values()), strict=True)
        out = apply(concat, *[_fitted_end(name, x, out, k) for name, x in ready], axis=k)
    prim = ne if out.dtype.kind == "b" else sub
    for _ in range(n):
        out = apply(prim, _part(out, k, 1), _part(out, k, 0))
    return out.copy() if n == 0 else out


specify(globals())
