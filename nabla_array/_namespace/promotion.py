"""Arrays and Python scalars to one shape and one dtype, and the errors when that cannot be."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._lazy.aval import aval_of
from .._lazy.primitive import Primitive, resolve
from .._lazy.primitives.creation import fill_node
from .._lazy.primitives.elementwise import cast
from .._lazy.primitives.structure import broadcast
from .array import Array, apply, from_value

SCALARS = (bool, int, float, complex)
# What a binary operator takes beside an Array; anything else may know better what to do.
OPERANDS = (Array, *SCALARS, np.ndarray, np.generic, list, tuple)

_CATEGORIES = {
    "numeric": "iufc",
    "real numeric": "iuf",
    "floating-point": "fc",
    "real floating-point": "f",
    "complex floating-point": "c",
    "integer": "iu",
    "integer or boolean": "iub",
    "boolean": "b",
}


def require(function: str, category: str, *arrays: Array) -> None:
    """Raise TypeError unless every array's dtype is of the standard's `category`."""
    for x in arrays:
        if x.dtype.kind not in _CATEGORIES[category]:
            raise TypeError(f"{function}: needs a {category} dtype, not {x.dtype}")


def as_array(function: str, x: Any, dtype: Any = None) -> Array:
    """Return `x` as an array: itself, or what NumPy makes of a scalar, a list or its own array."""
    if type(x) is Array:
        return x if dtype is None else astype(x, np.dtype(dtype))
    return from_value(checked(function, np.array(x, dtype=dtype)))


def checked(function: str, value: np.ndarray) -> np.ndarray:
    """Return `value` in native byte order; raises TypeError for dtypes that are not numbers."""
    if value.dtype.kind not in "biufc":
        raise TypeError(f"{function}: no arrays of dtype {value.dtype}; numbers and booleans would work")
    return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))


def astype(x: Array, dtype: np.dtype) -> Array:
    """Return `x` with another dtype, or `x` itself if it has it."""
    return x if x.dtype == dtype else apply(cast, x, dtype=dtype)


def full_like(x: Array, value: Any) -> Array:
    """Return an array of the shape and dtype of `x` filled with a scalar."""
    return full(x.shape, value, x.dtype)


def full(shape: tuple[int, ...], value: Any, dtype: np.dtype) -> Array:
    """Return an array filled with a scalar that fits `dtype`; it takes no memory."""
    return Array(fill_node(aval_of(shape, dtype), value))


def broadcast_to(x: Array, shape: tuple[int, ...]) -> Array:
    """Return `x` broadcast to `shape`, which it must fit."""
    if x.shape == shape:
        return x
    first = len(shape) - x.ndim
    return apply(broadcast, x, shape=shape, axes=tuple(range(first, len(shape))))


def broadcast_shapes(function: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that all `shapes` broadcast to; raises ValueError where they do not."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        given = ", ".join(map(str, shapes))
        raise ValueError(
            f"{function}: shapes {given} do not broadcast: from the right, sizes must be equal or 1"
        ) from None


def elementwise(prim: Primitive, name: str, args: Sequence[Any]) -> Array:
    """Apply an elementwise primitive as a ufunc is applied: promote, broadcast, record."""
    operands = [x if type(x) in SCALARS else as_array(name, x) for x in args]
    if all(type(x) is not Array for x in operands):
        operands = [as_array(name, x) for x in operands]
    kinds = tuple(
        x.dtype if type(x) is Array else type(x) if type(x) is not bool else np.dtype(bool) for x in operands
    )
    dtypes = resolve(prim, kinds)
    shapes = [x.shape for x in operands if type(x) is Array]
    shape = broadcast_shapes(name, *shapes) if len(shapes) > 1 else shapes[0]
    ready = [
        broadcast_to(astype(x, dtype), shape) if type(x) is Array else full(shape, x, dtype)
        for x, dtype in zip(operands, dtypes, strict=False)
    ]
    return apply(prim, *ready)


def result_dtype(*operands: Any) -> np.dtype:
    """Return the promoted dtype of arrays, dtypes and Python scalars (which are weak)."""
    kinds = [x.dtype if type(x) is Array else x for x in operands]
    return np.result_type(*kinds)


def promote(function: str, *operands: Any) -> list[Array]:
    """Return arrays and Python scalars as arrays of one dtype; shapes stay as they are."""
    arrays = [x if type(x) in SCALARS else as_array(function, x) for x in operands]
    dtype = result_dtype(*arrays)
    return [astype(x, dtype) if type(x) is Array else full((), x, dtype) for x in arrays]


def normalize_axis(function: str, axis: Any, ndim: int) -> int:
    """Return a Python axis as a non-negative int; raises numpy.exceptions.AxisError out of range."""
    index = operator.index(axis)
    if not -ndim <= index < ndim:
        raise np.exceptions.AxisError(
            f"{function}: axis {index} is out of bounds for an array of {ndim} dimensions"
        )
    return index % ndim


def normalize_axes(function: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Return `axes` (None for all, an int, or a tuple) sorted and non-negative, each once."""
    if axes is None:
        return tuple(range(ndim))
    many = axes if isinstance(axes, tuple | list) else (axes,)
    out = [normalize_axis(function, a, ndim) for a in many]
    if len(set(out)) != len(out):
        raise ValueError(f"{function}: an axis stands twice in {axes!r}")
    return tuple(sorted(out))
