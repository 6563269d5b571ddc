"""`pad`, in all of its modes."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..chapters.elementwise import floor
from ..chapters.elementwise import round as round_
from ..chapters.indexing_functions import take
from ..chapters.joining import concat
from ..chapters.moments import mean as mean_
from ..chapters.statistical import max as max_
from ..chapters.statistical import min as min_
from ..core.array import Array
from ..core.promotion import as_array, astype, broadcast_to, full
from .described import eager_numpys
from .joining import along
from .statistics import median as median_

if TYPE_CHECKING:
    from ..core.types import ArrayLike

_STATISTICS: dict[str, Callable[..., Array]] = {
    "maximum": max_,
    "mean": mean_,
    "median": median_,
    "minimum": min_,
}
# The option that a mode takes, if any.
_OPTIONS = {
    "constant": "constant_values",
    "linear_ramp": "end_values",
    **dict.fromkeys(("edge", "empty", "wrap")),
    **dict.fromkeys(("reflect", "symmetric"), "reflect_type"),
    **dict.fromkeys(_STATISTICS, "stat_length"),
}


def _pairs(given: Any, ndim: int) -> list[tuple[Any, Any]]:
    """Return (before, after) for each axis, which may be given once for all."""
    return [(a, b) for a, b in np.broadcast_to(given, (ndim, 2)).tolist()]


def _turned(n: int, before: int, after: int, mode: str) -> np.ndarray:
    """Return for each place of the padded axis the place that it repeats."""
    return np.pad(np.arange(n), (before, after), mode)  # type: ignore[call-overload]


def _odd(x: Array, axis: int, before: int, after: int, mode: str) -> Array:
    """Reflect as an odd function does: about the value at the edge."""
    n = x.shape[axis]
    reach = builtins.max(n - 1, 1) if mode == "reflect" else n
    while before or after:
        here = x.shape[axis]
        left, right = builtins.min(before, reach), builtins.min(after, reach)
        places = _turned(here, left, right, mode)
        y = take(x, places, axis=axis)
        first, last = x[along(axis, slice(0, 1))], x[along(axis, slice(-1, None))]
        parts = [
            2 * first - y[along(axis, slice(0, left))],
            x,
            2 * last - y[along(axis, slice(left + here, None))],
        ]
        x = concat([astype(p, x.dtype) for p in parts], axis=axis)
        before, after = before - left, after - right
    return x


def _ramp(x: Array, axis: int, count: int, end: Any, front: bool) -> Array:
    edge = x[along(axis, slice(0, 1) if front else slice(-1, None))]
    edge = astype(edge, np.dtype(np.float64)) if x.dtype.kind in "iu" else edge  # differences may be negative
    shape = [1] * x.ndim
    shape[axis] = count
    steps = np.arange(count) if front else np.arange(count)[::-1]
    out = end + (edge - end) * (steps.reshape(shape) / builtins.max(count, 1))
    return astype(floor(out) if x.dtype.kind in "iu" else out, x.dtype)


def _ends(
    x: Array, axis: int, widths: tuple[int, int], values: tuple[Any, Any], mode: str, lengths: Any
) -> Array:
    """Pad an axis with a number, a ramp to it, what is at the edge, or a statistic of what is near that."""
    n = x.shape[axis]
    parts = []
    for front, count, value, length in zip((True, False), widths, values, lengths, strict=True):
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
        if mode in ("constant", "empty"):
            fill = np.empty((), x.dtype)
            fill[()] = value
            part = full(shape, fill[()], x.dtype)
        elif mode == "edge":
            part = broadcast_to(x[along(axis, slice(0, 1) if front else slice(-1, None))], shape)
        elif mode == "linear_ramp":
            part = _ramp(x, axis, count, value, front)
        else:
            if length is not None and length < 0:
                raise ValueError("index can't contain negative values")
            length = n if length is None or length > n else length
            near = x[along(axis, slice(0, length) if front else slice(n - length, None))]
            stat = _STATISTICS[mode](near, axis=axis, keepdims=True)
            if x.dtype.kind in "iu" and mode in ("mean", "median"):
                stat = round_(stat)
            part = broadcast_to(astype(stat, x.dtype), shape)
        parts.append(part)
    return concat([parts[0], x, parts[1]], axis=axis)


@eager_numpys(large=np.pad)
def pad(array: ArrayLike, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Array:
    """Return an array with more elements around it.

    >>> xp.pad([1, 2, 3], (1, 2), mode="edge")
    array([1, 1, 2, 3, 3, 3])
    """
    x = as_array("pad", array)
    if isinstance(pad_width, dict):
        each = [(0, 0)] * x.ndim
        for k, w in pad_width.items():
            each[k] = (w, w) if isinstance(w, int) else tuple(w)
        pad_width = each
    given = np.asarray(pad_width)
    if given.dtype.kind not in "iu":
        raise TypeError("`pad_width` must be of integral type.")
    if (given < 0).any():
        raise ValueError("index can't contain negative values")
    widths = _pairs(given, x.ndim)
    if callable(mode):
        return _by_function(x, widths, mode, kwargs)
    if mode not in _OPTIONS:
        raise ValueError(f"mode '{mode}' is not supported")
    wrong = set(kwargs) - {_OPTIONS[mode]}
    if wrong:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {wrong}")
    values = _pairs(kwargs.get("constant_values", kwargs.get("end_values", 0)), x.ndim)
    lengths = _pairs(kwargs.get("stat_length"), x.ndim)
    if mode in ("maximum", "minimum") and any([0 in pair for pair in lengths]):
        raise ValueError("stat_length of 0 yields no value for padding")
    for k, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        if not x.shape[k] and mode not in ("constant", "empty"):
            raise ValueError(f"can't extend empty axis {k} using modes other than 'constant' or 'empty'")
        if mode in ("wrap", "reflect", "symmetric"):
            if kwargs.get("reflect_type", "even") == "odd":
                x = _odd(x, k, before, after, mode)
            else:
                x = take(x, _turned(x.shape[k], before, after, mode), axis=k)
        else:
            x = _ends(x, k, (before, after), values[k], mode, lengths[k])
    return x if type(array) is not Array or x is not array else x.copy()


def _by_function(x: Array, widths: list[tuple[Any, Any]], function: Any, kwargs: dict[str, Any]) -> Array:
    out = pad(x, widths)
    for k in range(x.ndim):
        for i in np.ndindex(*out.shape[:k], *out.shape[k + 1 :]):
            row = out[*i[:k], :, *i[k:]]
            function(row, widths[k], k, kwargs)
    return out
