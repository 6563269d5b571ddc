"""Windows that slide over arrays, and arrays told by strides: what `lib.stride_tricks` holds."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..._lazy.config import active
from ..chapters.indexing_functions import take
from ..chapters.manipulation import reshape
from ..core.array import Array, freeze, from_value
from ..core.evaluation import fresh_value
from ..core.promotion import as_array, listed, normalize_axis
from ..core.views import base_of, layout, view_dtype
from .described import numpys_in

__all__ = ["as_strided", "sliding_window_view"]

numpys = numpys_in("numpy.lib.stride_tricks", np.lib.stride_tricks)


@numpys
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Array:
    """Return all windows of a shape into an array (here: of the elements that it has now, read-only).

    >>> xp.lib.stride_tricks.sliding_window_view(xp.arange(4), 2)
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    y = as_array("sliding_window_view", x)
    if writeable:
        raise ValueError(
            "sliding_window_view: windows that can be written to are not there; writeable=False is"
        )
    value = fresh_value(y) if active.settings["mode"] != "max" else None
    if value is not None and value.size:
        # Of a view of its own, so that nobody takes the memory for his alone, and writes to it.
        shown = np.lib.stride_tricks.sliding_window_view(value.view(), window_shape, axis)
        return _read_only(from_value(shown))
    window = tuple(map(operator.index, listed(window_shape)))
    if any(n < 0 for n in window):
        raise ValueError("`window_shape` cannot contain negative values")
    axes = range(y.ndim) if axis is None else listed(axis)
    if len(window) != len(axes):
        raise ValueError(f"sliding_window_view: {len(window)} lengths of windows do not fit {len(axes)} axes")
    for k, n in zip([normalize_axis("sliding_window_view", k, y.ndim) for k in axes], window, strict=True):
        length = y.shape[k] - n + 1
        if (length < 1 and n > 1) or length < 0:
            raise ValueError("window shape cannot be larger than input array shape")
        places = np.arange(length)[:, None] + np.arange(n)
        y = take(y, places, axis=k)  # the window's axis comes next to its own
        order = [*range(k + 1), *range(k + 2, y.ndim), k + 1]
        y = y.transpose(order)
    return _read_only(y.copy())


@numpys
def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True
) -> Array:
    """Return the elements that strides lead to, in bytes from the first one (here: a copy, read-only).

    >>> x = xp.arange(4)
    >>> xp.lib.stride_tricks.as_strided(x, (3, 2), (8, 8))
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    y = as_array("as_strided", x)
    owner = base_of(y)
    base = y if owner is None else owner
    first = np.empty(1, base.dtype)
    shown = layout(y, first, operator.index)
    target = y.shape if shape is None else tuple(map(operator.index, shape))
    steps = shown.strides if strides is None else tuple(map(operator.index, strides))
    if any([n < 0 for n in target]):
        raise ValueError(f"as_strided: shape {target} has a length below 0")
    flat = reshape(base, (-1,))
    # Counted in elements, or in bytes where those of the base are of another dtype.
    unit = y.itemsize if base.dtype == y.dtype else 1
    place: Any = np.asarray((shown.ctypes.data - first.ctypes.data) // unit)
    for n, by in zip(target, steps, strict=True):
        if n > 1 and by % unit:
            raise ValueError(f"as_strided: a stride of {by} bytes is no multiple of an element's {unit}")
        place = place[..., None] + np.arange(n) * (by // unit)
    if place.size and not 0 <= place.min() <= place.max() <= (base.nbytes - y.itemsize) // unit:
        raise ValueError(
            f"as_strided: shape {target} with strides {steps} leads out of the {base.nbytes} bytes of the "
            "array, or of what it is a view of"
        )
    if unit == y.itemsize:
        return _read_only(flat[place])
    parts = view_dtype(flat, np.dtype(np.uint8))[place[..., None] + np.arange(y.itemsize)]
    return _read_only(reshape(view_dtype(parts, y.dtype), target))


def _read_only(copy: Array) -> Array:
    """Return a copy that cannot be written to: in NumPy it would be a view."""
    freeze(copy)
    return copy
