"""What a ufunc of vectors or matrices takes beside its operands: ``axes=``, ``axis=``, ``out=``, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.outputs import deliver
from ..core.promotion import as_array
from .manipulation import expand_dims, moveaxis


def with_core_options(
    function: Callable[[Any, Any], Array],
    like: np.ufunc,
    args: tuple[Any, ...],
    *,
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    out: Any = None,
    dtype: Any = None,
    casting: Any = None,
    order: Any = None,
    subok: bool = True,
) -> Any:
    """Call a ufunc of whole vectors or matrices with more than its operands."""
    name = like.__name__
    if axis is not None and axes is not None:
        raise TypeError("cannot specify both 'axis' and 'axes'")
    if (axis is not None or keepdims) and like is not np.vecdot:
        raise TypeError(f"{name}: axis and keepdims are for functions of vectors alone; axes would work")
    places = [(axis,)] * like.nin if axis is not None else _places(name, axes, like)
    arrays = [as_array(name, x, dtype) for x in args]
    y = function(*[moveaxis(x, a, _last(a)) for x, a in zip(arrays, places or [()] * like.nin, strict=False)])
    if len(places) > like.nin:
        y = moveaxis(y, _last(places[-1]), places[-1])
    if keepdims:
        y = expand_dims(y, axis=-1 if axis is None else axis)
    return y if out is None else deliver(name, out, y, casting or "same_kind")


def _places(name: str, axes: Any, like: np.ufunc) -> list[tuple[int, ...]]:
    if axes is None:
        return []
    if not isinstance(axes, list):
        raise TypeError(f"{name}: axes should be a list, not {type(axes).__name__}")
    assert like.signature is not None
    if len(axes) != like.nargs and not (len(axes) == like.nin and like.signature.endswith("()")):
        raise ValueError(f"{name}: axes has {len(axes)} entries for {like.nargs} operands")
    return [a if isinstance(a, tuple) else (a,) for a in axes]


def _last(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(range(-len(axes), 0))
