"""Means and variances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.cpu.faults import warn_of_shape
from ..._lazy.ops import reduction as p
from ..._lazy.ops.elementwise import add, div, imag, maximum, real, sqrt, square, sub
from ..._lazy.ops.structure import broadcast, reshape
from ..core.array import Array, apply
from ..core.outputs import deliver
from ..core.promotion import (
    as_array,
    astype,
    broadcast_to,
    elementwise,
    full_like,
    normalize_axes,
)
from ..dispatch import fastpath
from ..dispatch.docstrings import described_like, specify
from .statistical import chosen, count, reduce

if TYPE_CHECKING:
    from ..core.types import ArrayLike, Axis, DTypeLike, Out

__all__ = ["mean", "std", "var"]

# Whole numbers up to these divide in the dtype with the same bits as in double precision.
_EXACT = {np.dtype(np.float16): 1 << 11, np.dtype(np.float32): 1 << 24}
_HALF = np.dtype(np.float16)


def _inexact(name: str, a: Any, dtype: Any) -> Array:
    """Return `a` as an array of a dtype; where that is None, integers and booleans become float64."""
    x = as_array(name, a)
    if dtype is None:
        return astype(x, np.dtype(np.float64)) if x.dtype.kind in "biu" else x
    return astype(x, np.dtype(dtype))


def _divide(total: Array, n: float) -> Array:
    """Divide by a number as NumPy's mean does: in double precision where that makes a difference."""
    dtype = total.dtype
    same = n <= _EXACT.get(dtype, 0) and n % 1 == 0
    wide = dtype if same else np.result_type(dtype, np.float64)
    total = astype(total, wide)
    return astype(apply(div, total, full_like(total, n)), dtype)


@fastpath.whole(np.ndarray.mean, "reduce")
def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
) -> Array:
    """Return the arithmetic mean of the elements along axes.

    Parameters
    ----------
    a : Array
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    dtype : dtype, optional
        Data type to sum in.
    out : Array, optional
        Where the result goes, too.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.
    where : Array of booleans, optional
        Which elements count.

    Returns
    -------
    Array
        Of the dtype of `a`, float64 for integers and booleans; nan where there is no element.

    >>> xp.mean(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([2., 3.])
    """
    x = _inexact("mean", a, dtype)
    axes = normalize_axes("mean", axis, x.ndim)
    if not count(x, axes):
        warn_of_shape("Mean of empty slice")
    # NumPy sums half precision in single precision.
    wide = astype(x, np.dtype(np.float32)) if x.dtype == _HALF and dtype is None else x
    if where is True:
        y = _divide(reduce(p.reduce_sum, wide, axes, keepdims), count(x, axes))
    else:
        wide = chosen("mean", wide, where, 0)
        total = reduce(p.reduce_sum, wide, axes, keepdims)
        y = elementwise(div, "mean", (total, _number_chosen("mean", wide, where, axes, keepdims)))
    y = astype(y, x.dtype if y.dtype.kind in "fc" and x.dtype.kind in "fc" else y.dtype)
    return deliver("mean", out, y, "unsafe", exact=True)


def _number_chosen(function: str, x: Array, where: Any, axes: tuple[int, ...], keepdims: bool) -> Array:
    mask = broadcast_to(astype(as_array(function, where), np.dtype(np.bool)), x.shape)
    return reduce(p.reduce_count, mask, axes, keepdims)


def _squared(x: Array) -> Array:
    if x.dtype.kind != "c":
        return apply(square, x)
    return apply(add, apply(square, apply(real, x)), apply(square, apply(imag, x)))


def _variance(name: str, a: Array, axis: Any, correction: float, keepdims: bool, center: Any) -> Array:
    axes = normalize_axes(name, axis, a.ndim)
    n = count(a, axes)
    if n <= correction:
        warn_of_shape("Degrees of freedom <= 0 for slice")
    if center is None:
        center = _divide(apply(p.reduce_sum, a, axes=axes), n)
    else:
        kept = tuple([m for i, m in enumerate(a.shape) if i not in axes])
        center = apply(reshape, astype(as_array(name, center), a.dtype), shape=kept)
    others = tuple([i for i in range(a.ndim) if i not in axes])
    off = apply(sub, a, apply(broadcast, center, shape=a.shape, axes=others))
    total = reduce(p.reduce_sum, _squared(off), axes, keepdims)
    # NumPy divides by 0 where the standard asks for nan.
    return _divide(total, n - correction if n > correction else math.nan)


def _chosen_variance(
    name: str, a: Array, axis: Any, correction: float, keepdims: bool, center: Any, where: Any
) -> Array:
    """Do what `_variance` does for the elements that count."""
    center = mean(a, axis, keepdims=True, where=where) if center is None else as_array(name, center)
    off = chosen(name, elementwise(sub, name, (a, center)), where, 0)
    axes = normalize_axes(name, axis, off.ndim)
    count = _number_chosen(name, off, where, axes, keepdims)
    left = elementwise(maximum, name, (elementwise(sub, name, (count, correction)), 0))
    total = reduce(p.reduce_sum, _squared(off), axes, keepdims)
    return astype(elementwise(div, name, (total, left)), total.dtype)


def _spread(
    name: str,
    a: Any,
    axis: Any,
    dtype: Any,
    ddof: float,
    keepdims: bool,
    where: Any,
    center: Any,
    correction: Any,
) -> Array:
    if correction is not None:
        if ddof:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    x = _inexact(name, a, dtype)
    if where is not True:
        return _chosen_variance(name, x, axis, ddof, keepdims, center, where)
    return _variance(name, x, axis, ddof, keepdims, center)


@fastpath.whole(np.var, "reduce")  # which takes `correction`, as its method does not
def var(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
    mean: Any = None,
    correction: float | None = None,
) -> Array:
    """Return the variance of the elements along axes.

    Parameters
    ----------
    a : Array
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    dtype : dtype, optional
        Data type to compute in.
    out : Array, optional
        Where the result goes, too.
    ddof : int or float, optional
        NumPy's name for `correction`.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.
    where : Array of booleans, optional
        Which elements count.
    mean : Array, optional
        The mean, with the reduced axes kept, where it is known.
    correction : int or float, optional
        The sum of squares is divided by the number of elements less this; 1 gives the sample variance.

    Returns
    -------
    Array
        Of the (real) dtype of `a`, float64 for integers and booleans; nan where the divisor is not
        positive.

    >>> xp.var(xp.asarray([1.0, 2.0, 3.0]), correction=1)
    np.float64(1.0)
    """
    y = _spread("var", a, axis, dtype, ddof, keepdims, where, mean, correction)
    return deliver("var", out, y, "unsafe", exact=True)


@fastpath.whole(np.std, "reduce")
@described_like(var)
def std(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
    mean: Any = None,
    correction: float | None = None,
) -> Array:
    """Return the standard deviation of the elements along axes.

    >>> xp.std(xp.asarray([[1.0, 3.0], [2.0, 8.0]]), axis=1)
    array([1., 3.])
    """
    y = _spread("std", a, axis, dtype, ddof, keepdims, where, mean, correction)
    return deliver("std", out, apply(sqrt, y), exact=True)


specify(globals())
