"""Statistical functions."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from .._lazy.primitive import Primitive
from .._lazy.primitives import reduction as p
from .._lazy.primitives.elementwise import add, div, imag, maximum, minimum, mul, real, sqrt, square, sub
from .._lazy.primitives.elementwise import select as select_p
from .._lazy.primitives.structure import broadcast, concat, reshape
from .array import Array, apply
from .outputs import deliver
from .promotion import (
    as_array,
    astype,
    broadcast_shapes,
    broadcast_to,
    elementwise,
    full,
    full_like,
    normalize_axes,
    normalize_axis,
)

__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]

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


def chosen(function: str, x: Array, where: Any, neutral: Any) -> Array:
    """Return `x` with what a reduction does not see in place of what it is to leave out."""
    mask = astype(as_array(function, where), np.dtype(np.bool))
    shape = broadcast_shapes(function, x.shape, mask.shape)
    return apply(select_p, broadcast_to(mask, shape), broadcast_to(x, shape), full(shape, neutral, x.dtype))


def _lowest(name: str, dtype: np.dtype) -> Any:
    """Return the number of a dtype that never is the result of `max`, or of `min`, of others."""
    sign = -1 if name == "max" else 1
    if dtype.kind in "fc":
        return sign * math.inf
    if dtype.kind == "b":
        return name == "min"
    return np.iinfo(dtype).min if name == "max" else np.iinfo(dtype).max


def _extreme(
    name: str,
    prim: Primitive,
    x: Any,
    axis: Any,
    out: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Array:
    if initial is not None or where is not True or out is not None:
        y = _bounded_extreme(name, prim, as_array(name, x), axis, keepdims, initial, where)
        return y if out is None else deliver(name, out, y)
    a = as_array(name, x)
    axes = normalize_axes(name, axis, a.ndim)
    if a.size == 0 and builtins.any(a.shape[i] == 0 for i in axes):
        raise ValueError(
            f"{name}: no value for an empty axis: shape {a.shape} over axes {axes}; one element would do"
        )
    return reduce(prim, a, axes, keepdims)


def _bounded_extreme(
    name: str, prim: Primitive, a: Array, axis: Any, keepdims: bool, initial: Any, where: Any
) -> Array:
    """Do what `_extreme` does with all that NumPy takes."""
    if where is not True:
        if initial is None:
            raise ValueError(
                f"reduction operation '{name}imum' does not have an identity, so to use a where mask one has "
                "to specify 'initial'"
            )
        a = chosen(name, a, where, _lowest(name, a.dtype))
    if initial is None:
        return _extreme(name, prim, a, axis, None, keepdims, None, True)
    axes = normalize_axes(name, axis, a.ndim)
    pair = maximum if name == "max" else minimum
    if builtins.any(a.shape[i] == 0 for i in axes):
        shape = _kept(a, axes) if keepdims else tuple([n for i, n in enumerate(a.shape) if i not in axes])
        return full(shape, a.dtype.type(initial), a.dtype)
    return elementwise(pair, name, (reduce(prim, a, axes, keepdims), initial))


def max(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Array:
    """Return the largest element along axes.

    Parameters
    ----------
    a : Array
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    out : Array, optional
        Where the result goes, too.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.
    initial : scalar, optional
        A number that counts as one more element.
    where : Array of booleans, optional
        Which elements count.

    Returns
    -------
    Array
        Of the dtype of `a`; nan where any element is nan.

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
    return _extreme("max", p.reduce_max, a, axis, out, keepdims, initial, where)


def min(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Array:
    """Return the smallest element along axes.

    Parameters
    ----------
    a : Array
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    out : Array, optional
        Where the result goes, too.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.
    initial : scalar, optional
        A number that counts as one more element.
    where : Array of booleans, optional
        Which elements count.

    Returns
    -------
    Array
        Of the dtype of `a`; nan where any element is nan.

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
    return _extreme("min", p.reduce_min, a, axis, out, keepdims, initial, where)


def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Array:
    """Return the sum of the elements along axes.

    Parameters
    ----------
    a : Array
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    dtype : dtype, optional
        Data type to sum in. Where it is None, that of `a`, but 64 bits for booleans and smaller integers.
    out : Array, optional
        Where the result goes, too.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.
    initial : scalar, optional
        A number that counts as one more element.
    where : Array of booleans, optional
        Which elements count.

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
    x = as_array("sum", a)
    if out is not None and dtype is None and type(out) is not tuple:
        dtype = out.dtype
    x = astype(x, _total_dtype(x, dtype))
    if where is not True:
        x = chosen("sum", x, where, 0)
    y = reduce(p.reduce_sum, x, normalize_axes("sum", axis, x.ndim), keepdims)
    if initial is not None:
        y = elementwise(add, "sum", (y, initial))
    return y if out is None else deliver("sum", out, y)


def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Array:
    """Return the product of the elements along axes.

    Parameters
    ----------
    a : Array
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    dtype : dtype, optional
        Data type to multiply in. Where it is None, that of `a`, but 64 bits for booleans and smaller
        integers.
    out : Array, optional
        Where the result goes, too.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.
    initial : scalar, optional
        A number that counts as one more element.
    where : Array of booleans, optional
        Which elements count.

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
    x = as_array("prod", a)
    if out is not None and dtype is None and type(out) is not tuple:
        dtype = out.dtype
    x = astype(x, _total_dtype(x, dtype))
    if where is not True:
        x = chosen("prod", x, where, 1)
    y = reduce(p.reduce_prod, x, normalize_axes("prod", axis, x.ndim), keepdims)
    if initial is not None:
        y = elementwise(mul, "prod", (y, initial))
    return y if out is None else deliver("prod", out, y)


def _inexact(x: Array) -> Array:
    return astype(x, np.dtype(np.float64)) if x.dtype.kind in "biu" else x


def _divide(total: Array, n: float) -> Array:
    """Divide by a number as NumPy's mean does: in double precision where that makes a difference."""
    dtype = total.dtype
    same = n <= _EXACT.get(dtype, 0) and n % 1 == 0
    wide = dtype if same else np.result_type(dtype, np.float64)
    total = astype(total, wide)
    return astype(apply(div, total, full_like(total, n)), dtype)


def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
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

    References
    ----------
    https://data-apis.org/array-api/2025.12/API_specification/generated/array_api.mean.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.mean(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([2., 3.])
    """
    x = as_array("mean", a)
    x = _inexact(x) if dtype is None else astype(x, np.dtype(dtype))
    axes = normalize_axes("mean", axis, x.ndim)
    # NumPy sums half precision in single precision.
    wide = astype(x, np.dtype(np.float32)) if x.dtype == _HALF and dtype is None else x
    if where is True:
        y = _divide(reduce(p.reduce_sum, wide, axes, keepdims), _count(x, axes))
    else:
        wide = chosen("mean", wide, where, 0)
        total = reduce(p.reduce_sum, wide, axes, keepdims)
        y = elementwise(div, "mean", (total, _number_chosen("mean", wide, where, axes, keepdims)))
    y = astype(y, x.dtype if y.dtype.kind in "fc" and x.dtype.kind in "fc" else y.dtype)
    return y if out is None else deliver("mean", out, y)


def _number_chosen(function: str, x: Array, where: Any, axes: tuple[int, ...], keepdims: bool) -> Array:
    mask = broadcast_to(astype(as_array(function, where), np.dtype(np.bool)), x.shape)
    return reduce(p.reduce_count, mask, axes, keepdims)


def _squared(x: Array) -> Array:
    if x.dtype.kind != "c":
        return apply(square, x)
    return apply(add, apply(square, apply(real, x)), apply(square, apply(imag, x)))


def _variance(name: str, a: Array, axis: Any, correction: float, keepdims: bool, center: Any) -> Array:
    axes = normalize_axes(name, axis, a.ndim)
    n = _count(a, axes)
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
    x = as_array(name, a)
    x = _inexact(x) if dtype is None else astype(x, np.dtype(dtype))
    if where is not True:
        return _chosen_variance(name, x, axis, ddof, keepdims, center, where)
    return _variance(name, x, axis, ddof, keepdims, center)


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
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

    References
    ----------
    https://data-apis.org/array-api/2025.12/API_specification/generated/array_api.var.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.var(xp.asarray([1.0, 2.0, 3.0]), correction=1)
    array(1.)
    """
    y = _spread("var", a, axis, dtype, ddof, keepdims, where, mean, correction)
    return y if out is None else deliver("var", out, y)


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Array:
    """Return the standard deviation of the elements along axes.

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
        The sum of squares is divided by the number of elements less this; 1 is for a sample.

    Returns
    -------
    Array
        Of the (real) dtype of `a`, float64 for integers and booleans; nan where the divisor is not
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
    y = _spread("std", a, axis, dtype, ddof, keepdims, where, mean, correction)
    y = apply(sqrt, y)
    return y if out is None else deliver("std", out, y)


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
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
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

    References
    ----------
    https://data-apis.org/array-api/2025.12/API_specification/generated/array_api.cumulative_sum.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True)
    array([0, 1, 3, 6])
    """
    y = _cumulative("cumulative_sum", p.cumsum, 0, x, axis, dtype, include_initial)
    return y if out is None else deliver("cumulative_sum", out, y)


def cumulative_prod(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
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
    out : Array, optional
        Where the result goes, too.
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
    y = _cumulative("cumulative_prod", p.cumprod, 1, x, axis, dtype, include_initial)
    return y if out is None else deliver("cumulative_prod", out, y)


def _flat_scan(function: Any, name: str, a: Any, axis: Any, dtype: Any, out: Any) -> Array:
    x = as_array(name, a)
    if axis is None:
        x, axis = apply(reshape, x, shape=(x.size,)), 0
    if out is not None and dtype is None:
        dtype = out.dtype
    return function(x, axis=axis, dtype=dtype, out=out)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
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

    References
    ----------
    https://numpy.org/doc/stable/reference/generated/numpy.cumsum.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.cumsum([[1, 2], [3, 4]])
    array([ 1,  3,  6, 10])
    """
    return _flat_scan(cumulative_sum, "cumsum", a, axis, dtype, out)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """Return the products of the elements up to each one, NumPy's way: of the flattened array by default.

    Parameters
    ----------
    a : Array
    axis : int, optional
        The array is flattened where it is None.
    dtype : dtype, optional
        Data type to multiply in.
    out : Array, optional
        Where the result goes, too.

    Returns
    -------
    Array

    References
    ----------
    https://numpy.org/doc/stable/reference/generated/numpy.cumprod.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.cumprod([[1, 2], [3, 4]])
    array([ 1,  2,  6, 24])
    """
    return _flat_scan(cumulative_prod, "cumprod", a, axis, dtype, out)
