"""Sums and products up to each element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.graph.primitive import Primitive
from ..._lazy.ops import reduction as p
from ..._lazy.ops.structure import concat, reshape
from ..core.array import Array, apply
from ..core.outputs import deliver
from ..core.promotion import (
    as_array,
    astype,
    full,
    normalize_axis,
)
from ..dispatch import fastpath
from ..dispatch.docstrings import described_like, specify
from .statistical import total_dtype

if TYPE_CHECKING:
    from ..core.types import ArrayLike, DTypeLike, Out

__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum"]


def _cumulative(
    name: str, prim: Primitive, first: int, x: Any, axis: Any, dtype: Any, out: Any, include_initial: bool
) -> Array:
    a = as_array(name, x)
    if not a.ndim:  # as NumPy does; the standard leaves it open
        a = apply(reshape, a, shape=(1,))
    if axis is None and a.ndim > 1:
        raise ValueError(f"{name}: axis must be given for shape {a.shape}; one axis alone needs none")
    k = 0 if axis is None else normalize_axis(name, axis, a.ndim)
    y = apply(prim, astype(a, total_dtype(a, dtype)), axis=k)
    if include_initial:
        shape = (*a.shape[:k], 1, *a.shape[k + 1 :])
        y = apply(concat, full(shape, first, y.dtype), y, axis=k)
    return deliver(name, out, y, "unsafe")


def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    include_initial: bool = False,
) -> Array:
    """Return the sums of the elements up to each one along an axis.

    Parameters
    ----------
    x : Array
    axis : int, optional
        May be left out where `x` has one axis.
    dtype : dtype, optional
        Data type to sum in. Where it is None, that of `x`, but 64 bits for booleans and smaller integers.
    out : Array, optional
        Where the result goes, too.
    include_initial : bool, optional
        Begin with 0, which makes the axis one longer.

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If `x` has several axes and none is named.

    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True)
    array([0, 1, 3, 6])
    """
    return _cumulative("cumulative_sum", p.cumsum, 0, x, axis, dtype, out, include_initial)


@described_like(cumulative_sum, {"sum in": "multiply in", "with 0": "with 1"})
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    include_initial: bool = False,
) -> Array:
    """Return the products of the elements up to each one along an axis.

    >>> xp.cumulative_prod(xp.asarray([1, 2, 3]))
    array([1, 2, 6])
    """
    return _cumulative("cumulative_prod", p.cumprod, 1, x, axis, dtype, out, include_initial)


def _flat_scan(name: str, prim: Primitive, first: int, a: Any, axis: Any, dtype: Any, out: Any) -> Array:
    x = as_array(name, a)
    if axis is None:
        x, axis = apply(reshape, x, shape=(x.size,)), 0
    if out is not None and dtype is None:
        dtype = np.result_type(out.dtype, x.dtype)
    return _cumulative(name, prim, first, x, axis, dtype, out, False)


@fastpath.whole(np.ndarray.cumsum)
def cumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: Out = None) -> Array:
    """Return the sums of the elements up to each one, NumPy's way: of the flattened array by default.

    Parameters
    ----------
    a : Array
    axis : int, optional
        The array is flattened where it is None.
    dtype : dtype, optional
        Data type to sum in.
    out : Array, optional
        Where the result goes, too.

    Returns
    -------
    Array

    >>> xp.cumsum([[1, 2], [3, 4]])
    array([ 1,  3,  6, 10])
    """
    return _flat_scan("cumsum", p.cumsum, 0, a, axis, dtype, out)


@fastpath.whole(np.ndarray.cumprod)
@described_like(cumsum, {"sum in": "multiply in"})
def cumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: Out = None) -> Array:
    """Return the products of the elements up to each one, NumPy's way: of the flattened array by default.

    >>> xp.cumprod([[1, 2], [3, 4]])
    array([ 1,  2,  6, 24])
    """
    return _flat_scan("cumprod", p.cumprod, 1, a, axis, dtype, out)


specify(globals())
