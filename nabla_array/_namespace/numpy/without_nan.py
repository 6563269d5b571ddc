"""NumPy's functions that leave nan out: what they leave out is masked, so that all stays in the graph."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.config import active
from ..._lazy.cpu.faults import unheard, warn_of_shape
from ..._lazy.graph.node import tapes
from ..chapters.elementwise import abs as abs_
from ..chapters.elementwise import (
    divide,
    floor,
    isnan,
    logical_not,
    maximum,
    minimum,
    multiply,
    sqrt,
    square,
    subtract,
)
from ..chapters.indexing_functions import take_along_axis
from ..chapters.manipulation import moveaxis, reshape
from ..chapters.scans import cumprod, cumsum
from ..chapters.searching import argmax, argmin, count_nonzero, pick
from ..chapters.sorting import sort
from ..chapters.statistical import kept, prod
from ..chapters.statistical import max as max_
from ..chapters.statistical import min as min_
from ..chapters.statistical import sum as sum_
from ..chapters.utility import all as all_
from ..core.array import Array, as_scalar, from_value
from ..core.outputs import deliver
from ..core.promotion import SCALARS, as_array, astype, normalize_axes
from ..dispatch import eager
from .described import eager_numpys, numpys, of_family
from .statistics import (
    between,
    checked_fractions,
    in_rows,
    median,
    percentile,
    quantile,
    quantile_dtype,
    quantiles,
    quantiles_on_host,
)

if TYPE_CHECKING:
    from ..core.types import ArrayLike, Axis, DTypeLike, Out

_F64 = np.dtype(np.float64)
_ALL_NAN = "All-NaN slice encountered"


def _filled(function: str, a: Any, value: Any, may_be_whole: bool = True) -> tuple[Array, Array | None]:
    """Return the array with `value` where it is nan, and where that is; None where nothing is, if it may."""
    x = as_array(function, a)
    if x.dtype.kind not in "fc":
        return x, None
    known = eager.at_hand(x) if x._node.aval.nbytes >= eager.PART else None
    if known is not None:  # a look is less work than to fill, and mostly enough
        found = np.isnan(known)
        if may_be_whole and not found.any():
            return x, None
        known = known.copy()
        np.copyto(known, value, where=found)
        return from_value(known), from_value(found)
    lacking = isnan(x)
    return pick(lacking, x.dtype.type(value), x), lacking


def _warn_of_few(lacking: Array, axes: tuple[int, ...], most: float, message: str) -> None:
    """Warn, where that is wanted, if slices have so many numbers at most, and that is known."""
    found = eager.evaluated(lacking) if active.settings["float_warnings"] else None
    if found is not None and ((~found).sum(axes) <= most).any():
        warn_of_shape(message)


def _total(
    name: str, reduce: Callable[..., Array], neutral: int, summary: str, result: str
) -> Callable[..., Array]:
    """Return `nansum` or `nanprod`."""

    def call(
        a: ArrayLike,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Out = None,
        keepdims: bool = False,
        initial: Any = None,
        where: ArrayLike = True,
    ) -> Array:
        x, _ = _filled(name, a, neutral)
        return reduce(x, axis, dtype, out, keepdims, initial, where)

    return eager_numpys()(of_family(call, name, summary, "[3.0, xp.nan, 2.0]", result))


nansum = _total("nansum", sum_, 0, "Return the sum along axes, nan counting as 0.", "np.float64(5.0)")
nanprod = _total("nanprod", prod, 1, "Return the product along axes, nan counting as 1.", "np.float64(6.0)")


def _scan(
    name: str, scan: Callable[..., Array], neutral: int, summary: str, result: str
) -> Callable[..., Array]:
    """Return `nancumsum` or `nancumprod`."""

    def call(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: Out = None) -> Array:
        return scan(_filled(name, a, neutral)[0], axis, dtype, out)

    return eager_numpys()(of_family(call, name, summary, "[3.0, xp.nan, 2.0]", result))


nancumsum = _scan(
    "nancumsum", cumsum, 0, "Return the sums up to each element, nan counting as 0.", "array([3., 3., 5.])"
)
nancumprod = _scan(
    "nancumprod",
    cumprod,
    1,
    "Return the products up to each element, nan counting as 1.",
    "array([3., 3., 6.])",
)


def _extreme(
    name: str,
    reduce: Callable[..., Array],
    a: Any,
    axis: Any,
    out: Any,
    keepdims: bool,
    initial: Any,
    mask: Any,
) -> Array:
    x, lacking = _filled(name, a, -np.inf if name == "nanmax" else np.inf)
    y = reduce(x, axis, None, keepdims, initial, mask)
    if lacking is not None:  # nan where there is nothing else
        _warn_of_few(lacking, normalize_axes(name, axis, x.ndim), 0, _ALL_NAN)
        y = pick(all_(lacking, axis, keepdims=keepdims), np.nan, y)
    return deliver(name, out, y)


def _joined(like: np.ufunc) -> Callable[..., Any]:
    """Return the reduction by a ufunc that leaves out nan, for what `nanmax` takes."""

    def reduce(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        y = like.reduce(a, axis=axis, keepdims=keepdims)
        if np.isnan(y).any():
            warn_of_shape(_ALL_NAN)
        return y

    return reduce


@eager_numpys(large=_joined(np.fmax))
def nanmax(
    a: ArrayLike,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Any = None,
    where: ArrayLike = True,
) -> Array:
    """Return the largest element along axes that is not nan.

    >>> xp.nanmax([1.0, xp.nan, 2.0])
    np.float64(2.0)
    """
    return _extreme("nanmax", max_, a, axis, out, keepdims, initial, where)


@eager_numpys(large=_joined(np.fmin))
def nanmin(
    a: ArrayLike,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Any = None,
    where: ArrayLike = True,
) -> Array:
    """Return the smallest element along axes that is not nan.

    >>> xp.nanmin([1.0, xp.nan, 2.0])
    np.float64(1.0)
    """
    return _extreme("nanmin", min_, a, axis, out, keepdims, initial, where)


def _place(name: str, find: Callable[..., Array], summary: str, result: str) -> Callable[..., Array]:
    """Return `nanargmax` or `nanargmin`."""

    def call(a: ArrayLike, axis: int | None = None, out: Out = None, *, keepdims: bool = False) -> Array:
        x, lacking = _filled(name, a, -np.inf if name == "nanargmax" else np.inf)
        if lacking is not None and x.size and bool(all_(lacking, axis).any()):
            raise ValueError(_ALL_NAN)
        return find(x, axis, out, keepdims=keepdims)

    return eager_numpys()(of_family(call, name, summary, "[xp.nan, 1.0, 2.0]", result))


nanargmax = _place(
    "nanargmax", argmax, "Return the index of the largest element that is not nan.", "np.int64(2)"
)
nanargmin = _place(
    "nanargmin", argmin, "Return the index of the smallest element that is not nan.", "np.int64(1)"
)


def _check_kind(x: Array, dtype: Any, out: Any) -> None:
    """Raise TypeError where means of floating-point numbers are to be integers."""
    for name, wanted in (("dtype", dtype), ("out", getattr(out, "dtype", None))):
        if wanted is not None and x.dtype.kind in "fc" and np.dtype(wanted).kind not in "fc":
            raise TypeError(f"If a is inexact, then {name} must be inexact")


def _counted(x: Array, lacking: Array, axis: Any, keepdims: bool, mask: Any) -> Array:
    there = logical_not(lacking)
    if mask is True:
        return count_nonzero(there, axis, keepdims=keepdims)
    return sum_(there, axis, keepdims=keepdims, where=mask)


@eager_numpys()
def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
) -> Array:
    """Return the mean along axes of the elements that are not nan.

    >>> xp.nanmean([1.0, xp.nan, 2.0])
    np.float64(1.5)
    """
    x, lacking = _filled("nanmean", a, 0, dtype is None and where is True)
    _check_kind(x, dtype, out)
    if lacking is not None and where is True:
        _warn_of_few(lacking, normalize_axes("nanmean", axis, x.ndim), 0, "Mean of empty slice")
    with unheard():
        if lacking is None:
            y: Array = x.mean(axis, dtype, keepdims=keepdims, where=where)
            return deliver("nanmean", out, y, "unsafe")
        total = sum_(x, axis, dtype, keepdims=keepdims, where=where)
        y = divide(total, _counted(x, lacking, axis, keepdims, where))
        return deliver("nanmean", out, astype(y, total.dtype), "unsafe")


def _filled_variance(
    x: Array, lacking: Array, axes: tuple[int, ...], dtype: Any, ddof: Any, mask: Any, center: Any
) -> Array:
    """Return the variance, with the axes kept, of elements that are 0 where they are lacking."""
    x = x if dtype is None else astype(x, np.dtype(dtype))
    count = _counted(x, lacking, axes, True, mask)
    if center is None:
        center = astype(divide(sum_(x, axes, keepdims=True, where=mask), count), x.dtype)
    off = pick(lacking, x.dtype.type(0), astype(subtract(x, center), x.dtype))
    squares = square(off) if x.dtype.kind != "c" else square(abs_(off))
    left = subtract(count, ddof)
    left = pick(left > 0, astype(left, _F64), np.nan)
    total = sum_(squares, axes, keepdims=True, where=mask)
    return astype(divide(total, left), total.dtype)


def _variance(name: str, summary: str) -> Callable[..., Array]:
    """Return `nanvar` or `nanstd`."""

    def call(
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
        if correction is not None:
            if ddof:
                raise ValueError("ddof and correction can't be provided simultaneously.")
            ddof = correction
        x = as_array(name, a)
        _check_kind(x, dtype, out)
        axes = normalize_axes(name, axis, x.ndim)
        # Of too few numbers the variance is nan, where that of all might be infinite.
        are_enough = where is True and math.prod(x.shape[k] for k in axes) > ddof
        x, lacking = _filled(name, x, 0, dtype is None and are_enough)
        if lacking is not None and where is True:
            _warn_of_few(lacking, axes, ddof, "Degrees of freedom <= 0 for slice.")
        with unheard():
            if lacking is None:
                y: Array = x.var(axis, dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean)
            else:
                y = _filled_variance(x, lacking, axes, dtype, ddof, where, mean)
                rest = tuple(n for k, n in enumerate(y.shape) if k not in axes)
                y = y if keepdims else as_scalar(reshape(y, rest))
            return deliver(name, out, y, "unsafe") if name == "nanvar" else deliver(name, out, sqrt(y))

    return eager_numpys()(of_family(call, name, summary, "[1.0, xp.nan, 3.0]", "np.float64(1.0)"))


nanvar = _variance("nanvar", "Return the variance along axes of the elements that are not nan.")
nanstd = _variance("nanstd", "Return the standard deviation along axes of the elements that are not nan.")


# -- quantiles ---------------------------------------------------------------------------------------


def _numbers(name: str, x: Array, axis: Any) -> tuple[Array, Any] | None:
    """Return what is left of an array without its nan, and of which axes that is; None where it is no array.

    It is one of an array that is known, and has no nan, or whose axes are all to go.
    """
    known = eager.at_hand(x)
    if known is None:
        return None
    axes = normalize_axes(name, axis, x.ndim)
    found = np.isnan(known)
    if not found.any():
        return x, axis
    for _ in range(int(found.all(axes).sum()) if active.settings["float_warnings"] else 0):
        warn_of_shape(_ALL_NAN)  # of each slice, as NumPy
    return (from_value(known[~found]), None) if len(axes) == x.ndim and not found.all() else None


def _with_axes(y: Array, x: Array, axis: Any) -> Array:
    """Return quantiles of `x` with its axes that went, each of length 1."""
    axes = normalize_axes("reshape", axis, x.ndim)
    return reshape(y, (*y.shape[: y.ndim - x.ndim + len(axes)], *kept(x, axes)))


def _sorted_counts(name: str, a: Any, axis: Any) -> tuple[Array, Array, tuple[int, ...]]:
    """Return the elements sorted along a last axis, how many are not nan, and the shape with axes kept."""
    rows, shape = in_rows(name, a, axis)
    rows = sort(rows, axis=-1)
    count = sum_(logical_not(isnan(rows)), -1, keepdims=True)
    return rows, count, shape


def _nan_quantile(
    name: str, percent: bool, x: Array, q: Any, axis: Any, method: str, keepdims: bool, weights: Any
) -> Array:
    plain = percentile if percent else quantile
    if not x.size:
        return nanmean(x, axis, keepdims=keepdims)
    if x.dtype.kind != "f":
        return plain(x, q, axis, None, False, method, keepdims, weights=weights)
    if method != "linear" or weights is not None:
        return quantiles_on_host(name, x, q, axis, method, keepdims, weights)
    if (numbers := _numbers(name, x, axis)) is not None:
        y = plain(numbers[0], q, numbers[1], method=method)
        return _with_axes(y, x, axis) if keepdims else y
    given = as_array(name, q)
    fractions = checked_fractions(given, percent)
    each: Any = fractions.reshape(-1).astype(np.float64)
    if tapes and type(q) not in SCALARS:  # a derivative by q goes through
        each = reshape(astype(given, _F64) / (100 if percent else 1), (-1,))
    with unheard():
        rows, count, shape = _sorted_counts(name, x, axis)
        place = maximum(multiply(subtract(count, 1), each), 0.0)
        low = astype(floor(place), np.dtype(np.intp))
        high = minimum(low + 1, maximum(count - 1, 0))
        first, second = [take_along_axis(rows, i, axis=-1) for i in (low, high)]
        is_extreme = not percent and given.dtype.kind in "iu"  # an element, also where it is infinite
        y = pick(count > 0, first if is_extreme else between(first, second, place - low), np.nan)
        y = reshape(moveaxis(y, -1, 0), (*fractions.shape, *(shape if keepdims else rows.shape[:-1])))
        return astype(y, quantile_dtype(percent, x.dtype, q, method))


nanquantile = quantiles(
    numpys,
    "nanquantile",
    _nan_quantile,
    "Return quantiles along axes of the elements that are not nan.",
    "[1.0, xp.nan, 2.0], 0.5",
    "np.float64(1.5)",
)
nanpercentile = quantiles(
    numpys,
    "nanpercentile",
    _nan_quantile,
    "Return percentiles along axes of the elements that are not nan.",
    "[1.0, xp.nan, 2.0], 50",
    "np.float64(1.5)",
)


@numpys
def nanmedian(
    a: ArrayLike, axis: Axis = None, out: Out = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """Return the middle element along axes of those that are not nan.

    >>> xp.nanmedian([1.0, xp.nan, 2.0])
    np.float64(1.5)
    """
    x = as_array("nanmedian", a)
    if not x.size:
        return nanmean(x, axis, out=out, keepdims=keepdims)
    if x.dtype.kind not in "fc":
        return median(x, axis, out, keepdims=keepdims)
    if (numbers := _numbers("nanmedian", x, axis)) is not None:
        y = median(*numbers)
        return deliver("nanmedian", out, _with_axes(y, x, axis) if keepdims else y, "unsafe")
    with unheard():
        rows, count, shape = _sorted_counts("nanmedian", x, axis)
        last = maximum(count - 1, 0)
        middle = [
            take_along_axis(rows, astype(i, np.dtype(np.intp)), axis=-1) for i in (last // 2, (last + 1) // 2)
        ]
        y = pick(count > 0, (middle[0] + middle[1]) / 2, np.nan)
        return deliver("nanmedian", out, reshape(y, shape if keepdims else y.shape[:-1]), "unsafe")
