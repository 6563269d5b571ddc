"""Statistical functions."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from .._lazy.primitive import Primitive
from .._lazy.primitives import reduction as p
from .._lazy.primitives.elementwise import add, div, imag, real, sqrt, square, sub
from .._lazy.primitives.structure import broadcast, concat, reshape
from .array import Array, apply
from .promotion import as_array, astype, full, full_like, normalize_axes, normalize_axis

__all__ = ["cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var"]

# Whole numbers up to these divide in the dtype with the same bits as in double precision.
_EXACT = {np.dtype(np.float16): 1 << 11, np.dtype(np.float32): 1 << 24}
_HALF = np.dtype(np.float16)


def reduce(prim: Primitive, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Record a reduction; with `keepdims`, the reduced axes stay, with size 1."""
    out = apply(prim, x, axes=axes)
    return apply(reshape, out, shape=_kept(x, axes)) if keepdims else out


def _kept(x: Array, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([1 if i in axes else n for i, n in enumerate(x.shape)])


def _count(x: Array, axes: tuple[int, ...]) -> int:
    return math.prod([x.shape[i] for i in axes])


def _total_dtype(x: Array, dtype: Any) -> np.dtype:
    """Return the dtype that sums and products have: small integers grow to the default one's size."""
    if dtype is not None:
        return np.dtype(dtype)
    if x.dtype.kind in "bi" and x.dtype.itemsize < 8:
        return np.dtype(np.int64)
    if x.dtype.kind == "u" and x.dtype.itemsize < 8:
        return np.dtype(np.uint64)
    return x.dtype


def _extreme(name: str, prim: Primitive, x: Any, axis: Any, keepdims: bool) -> Array:
    a = as_array(name, x)
    axes = normalize_axes(name, axis, a.ndim)
    if a.size == 0 and builtins.any(a.shape[i] == 0 for i in axes):
        raise ValueError(
            f"{name}: no value for an empty axis: shape {a.shape} over axes {axes}; one element would do"
        )
    return reduce(prim, a, axes, keepdims)


def max(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Return the largest element along axes.

    Parameters
    ----------
    x : Array
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.

    Returns
    -------
    Array
        Of the dtype of `x`; nan where any element is nan.

    Raises
    ------
    ValueError
        If there is no element to choose from.

    References
    ----------
    https://data-apis.org/array-api/2025.12/API_specification/generated/array_api.max.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.max(xp.asarray([[1, 5], [4, 2]]), axis=1)
    array([5, 4])
    """
    return _extreme("max", p.reduce_max, x, axis, keepdims)


def min(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Return the smallest element along axes.

    Parameters
    ----------
    x : Array
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.

    Returns
    -------
    Array
        Of the dtype of `x`; nan where any element is nan.

    Raises
    ------
    ValueError
        If there is no element to choose from.

    References
    ----------
    https://data-apis.org/array-api/2025.12/API_specification/generated/array_api.min.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.min(xp.asarray([[1, 5], [4, 2]]), axis=1)
    array([1, 2])
    """
    return _extreme("min", p.reduce_min, x, axis, keepdims)


def sum(x: Any, /, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
    """Return the sum of the elements along axes.

    Parameters
    ----------
    x : Array
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    dtype : dtype, optional
        Data type to sum in. Where it is None, that of `x`, but 64 bits for booleans and smaller integers.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.

    Returns
    -------
    Array
        The sums; 0 where there is nothing to sum.

    References
    ----------
    https://data-apis.org/array-api/2025.12/API_specification/generated/array_api.sum.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.sum(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([4., 6.])
    """
    a = as_array("sum", x)
    axes = normalize_axes("sum", axis, a.ndim)
    return reduce(p.reduce_sum, astype(a, _total_dtype(a, dtype)), axes, keepdims)


def prod(x: Any, /, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
    """Return the product of the elements along axes.

    Parameters
    ----------
    x : Array
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    dtype : dtype, optional
        Data type to multiply in. Where it is None, that of `x`, but 64 bits for booleans and smaller
        integers.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.

    Returns
    -------
    Array
        The products; 1 where there is nothing to multiply.

    References
    ----------
    https://data-apis.org/array-api/2025.12/API_specification/generated/array_api.prod.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.prod(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([3., 8.])
    """
    a = as_array("prod", x)
    axes = normalize_axes("prod", axis, a.ndim)
    return reduce(p.reduce_prod, astype(a, _total_dtype(a, dtype)), axes, keepdims)


def _inexact(x: Array) -> Array:
    return astype(x, np.dtype(np.float64)) if x.dtype.kind in "biu" else x


def _divide(total: Array, n: float) -> Array:
    """Divide by a number as NumPy's mean does: in double precision where that makes a difference."""
    dtype = total.dtype
    same = n <= _EXACT.get(dtype, 0) and n % 1 == 0
    wide = dtype if same else np.result_type(dtype, np.float64)
    total = astype(total, wide)
    return astype(apply(div, total, full_like(total, n)), dtype)


def mean(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Return the arithmetic mean of the elements along axes.

    Parameters
    ----------
    x : Array
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.

    Returns
    -------
    Array
        Of the dtype of `x`, float64 for integers and booleans; nan where there is no element.

    References
    ----------
    https://data-apis.org/array-api/2025.12/API_specification/generated/array_api.mean.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.mean(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([2., 3.])
    """
    a = _inexact(as_array("mean", x))
    axes = normalize_axes("mean", axis, a.ndim)
    # NumPy sums half precision in single precision.
    total = reduce(p.reduce_sum, astype(a, np.dtype(np.float32)) if a.dtype == _HALF else a, axes, keepdims)
    return astype(_divide(total, _count(a, axes)), a.dtype)


def _squared(x: Array) -> Array:
    if x.dtype.kind != "c":
        return apply(square, x)
    return apply(add, apply(square, apply(real, x)), apply(square, apply(imag, x)))


def _variance(name: str, x: Any, axis: Any, correction: float, keepdims: bool) -> Array:
    a = _inexact(as_array(name, x))
    axes = normalize_axes(name, axis, a.ndim)
    n = _count(a, axes)
    center = _divide(apply(p.reduce_sum, a, axes=axes), n)
    others = tuple([i for i in range(a.ndim) if i not in axes])
    off = apply(sub, a, apply(broadcast, center, shape=a.shape, axes=others))
    total = reduce(p.reduce_sum, _squared(off), axes, keepdims)
    # NumPy divides by 0 where the standard asks for nan.
    return _divide(total, n - correction if n > correction else math.nan)


def var(x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Return the variance of the elements along axes.

    Parameters
    ----------
    x : Array
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    correction : int or float, optional
        The sum of squares is divided by the number of elements less this; 1 gives the sample variance.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.

    Returns
    -------
    Array
        Of the (real) dtype of `x`, float64 for integers and booleans; nan where the divisor is not
        positive.

    References
    ----------
    https://data-apis.org/array-api/2025.12/API_specification/generated/array_api.var.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.var(xp.asarray([1.0, 2.0, 3.0]), correction=1)
    array(1.)
    """
    return _variance("var", x, axis, correction, keepdims)


def std(x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Return the standard deviation of the elements along axes.

    Parameters
    ----------
    x : Array
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    correction : int or float, optional
        The sum of squares is divided by the number of elements less this; 1 is for a sample.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.

    Returns
    -------
    Array
        Of the (real) dtype of `x`, float64 for integers and booleans; nan where the divisor is not
        positive.

    References
    ----------
    https://data-apis.org/array-api/2025.12/API_specification/generated/array_api.std.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.std(xp.asarray([[1.0, 3.0], [2.0, 8.0]]), axis=1)
    array([1., 3.])
    """
    return apply(sqrt, _variance("std", x, axis, correction, keepdims))


def _cumulative(
    name: str, prim: Primitive, first: int, x: Any, axis: Any, dtype: Any, include_initial: bool
) -> Array:
    a = as_array(name, x)
    if not a.ndim:  # as NumPy does; the standard leaves it open
        a = apply(reshape, a, shape=(1,))
    if axis is None and a.ndim > 1:
        raise ValueError(f"{name}: axis must be given for shape {a.shape}; one axis alone needs none")
    k = 0 if axis is None else normalize_axis(name, axis, a.ndim)
    out = apply(prim, astype(a, _total_dtype(a, dtype)), axis=k)
    if not include_initial:
        return out
    shape = (*a.shape[:k], 1, *a.shape[k + 1 :])
    return apply(concat, full(shape, first, out.dtype), out, axis=k)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Return the sums of the elements up to each one along an axis.

    Parameters
    ----------
    x : Array
    axis : int, optional
        May be left out where `x` has one axis.
    dtype : dtype, optional
        Data type to sum in. Where it is None, that of `x`, but 64 bits for booleans and smaller integers.
    include_initial : bool, optional
        Begin with 0, which makes the axis one longer.

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If `x` has several axes and none is named.

    References
    ----------
    https://data-apis.org/array-api/2025.12/API_specification/generated/array_api.cumulative_sum.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True)
    array([0, 1, 3, 6])
    """
    return _cumulative("cumulative_sum", p.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Return the products of the elements up to each one along an axis.

    Parameters
    ----------
    x : Array
    axis : int, optional
        May be left out where `x` has one axis.
    dtype : dtype, optional
        Data type to multiply in. Where it is None, that of `x`, but 64 bits for booleans and smaller
        integers.
    include_initial : bool, optional
        Begin with 1, which makes the axis one longer.

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If `x` has several axes and none is named.

    References
    ----------
    https://data-apis.org/array-api/2025.12/API_specification/generated/array_api.cumulative_prod.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.cumulative_prod(xp.asarray([1, 2, 3]))
    array([1, 2, 6])
    """
    return _cumulative("cumulative_prod", p.cumprod, 1, x, axis, dtype, include_initial)
