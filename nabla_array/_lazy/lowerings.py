"""How MAX runs primitives that are no single operation of its own: `max` fields of records.

Each is `(b, *tensors, out, **params) -> tensor`: `b` is the `max_backend.Builder`, `out` the result's
shape and dtype. `tests/lazy/test_lowerings.py` compares every one with the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# Arithmetic and comparisons are our own kernels: MAX simplifies its own as if there were no nan, no
# infinity and no -0.0 (x == x is true, x - x is 0), and contracts products with sums.

Lowering = Callable[..., Any]


def by_kind(**kinds: Lowering | str) -> Lowering:
    """Return the lowering that takes the one for the kind of the first operand ("other": the rest)."""

    def lower(b: Any, *xs: Any, out: Any, **params: Any) -> Any:
        dtype = xs[0].dtype
        kind = "b" if dtype == b.dtype(np.bool) else "f" if dtype.is_float() else "i"
        chosen = kinds.get(kind) or kinds["other"]
        if not isinstance(chosen, str):
            return chosen(b, *xs, out=out, **params)
        own = chosen.startswith("nabla.")
        return b.custom(chosen, *xs, dtype=out.dtype) if own else getattr(b.ops, chosen)(*xs)

    return lower


def scalar(b: Any, value: Any, dtype: Any) -> Any:
    """Return a constant without axes."""
    return b.ops.reshape(b.constant(value, dtype), ())


def identity(b: Any, x: Any, out: Any) -> Any:
    """What is whole already stays."""
    return x


def square(b: Any, x: Any, out: Any) -> Any:
    """Multiply by itself."""
    return b.custom("nabla.mul", x, x)


def reciprocal(b: Any, x: Any, out: Any) -> Any:
    """Divide one by it."""
    return b.custom("nabla.div", scalar(b, 1, out.dtype), x)


def round_to(b: Any, x: Any, out: Any, decimals: int) -> Any:
    """Round to even in units of a power of ten, as NumPy composes it."""
    whole = out.dtype.kind in "iu"
    if whole and decimals >= 0:
        return x
    unit = scalar(b, 10.0 ** abs(decimals), np.float64 if whole else out.dtype)
    y = b.cast(x, np.float64) if whole else x
    if decimals == 0:
        y = b.ops.round(y)
    elif decimals > 0:
        y = b.custom("nabla.div", b.ops.round(b.custom("nabla.mul", y, unit)), unit)
    else:
        y = b.custom("nabla.mul", b.ops.round(b.custom("nabla.div", y, unit)), unit)
    return b.cast(y, out.dtype) if whole else y


def cast(b: Any, x: Any, out: Any, dtype: np.dtype) -> Any:
    """Cast; to bool it says what is not zero, and floats reach narrow integers through wider ones."""
    if dtype.kind == "b" and x.dtype != b.dtype(np.bool):
        return b.custom("nabla.ne", x, b.cast(scalar(b, 0, np.int8), b.numpy(x)), dtype=np.bool)
    if dtype.kind in "iu" and dtype.itemsize < 4 and x.dtype.is_float():
        x = b.cast(x, np.int32)
    return b.cast(x, dtype)


def broadcast(b: Any, x: Any, out: Any, shape: Any, axes: tuple[int, ...]) -> Any:
    """Give the operand's axes their places, and repeat it along the others."""
    full = [1] * len(out.shape)
    for n, a in zip(x.shape, axes, strict=True):
        full[a] = n
    return b.ops.broadcast_to(b.ops.reshape(x, full), out.shape)


def permute(b: Any, x: Any, out: Any, axes: tuple[int, ...]) -> Any:
    """Reorder axes."""
    return b.ops.permute(x, list(axes))


def reshape(b: Any, x: Any, out: Any, shape: Any) -> Any:
    """Read the elements in another shape."""
    return b.ops.reshape(x, out.shape)


def slice_(b: Any, x: Any, out: Any, slices: list[slice]) -> Any:
    """Take every so manieth element from a start."""
    return b.ops.slice_tensor(x, slices)


def concat(b: Any, *xs: Any, out: Any, axis: int) -> Any:
    """Put the operands behind each other."""
    return b.ops.concat(list(xs), axis)


def _reduced(b: Any, name: str, x: Any, axes: tuple[int, ...], out: Any) -> Any:
    for a in axes:
        x = getattr(b.ops, name)(x, axis=a)
    return b.ops.reshape(x, out.shape)


def accumulate(name: str) -> Lowering:
    """Reduce by the operation `name`; float32 in float64, which is as good as NumPy's pairwise sums."""

    def lower(b: Any, x: Any, out: Any, axes: tuple[int, ...]) -> Any:
        wide = {np.dtype(np.float32): np.float64}.get(out.dtype, out.dtype)
        return b.cast(_reduced(b, name, b.cast(x, wide), axes, out), out.dtype)

    return lower


def extreme(name: str) -> Lowering:
    """Reduce by "max" or "min"; floats as integers of the same order, in which nan is beyond all."""

    def lower(b: Any, x: Any, out: Any, axes: tuple[int, ...]) -> Any:
        if out.dtype.kind == "b":
            return truth(name)(b, x, out=out, axes=axes)
        if out.dtype.kind != "f":
            return _reduced(b, name, x, axes, out)
        key = b.custom(f"nabla.{name}_key", x, dtype=f"i{out.dtype.itemsize}")
        return b.custom("nabla.from_key", _reduced(b, name, key, axes, out), dtype=out.dtype)

    return lower


def truth(name: str) -> Lowering:
    """Reduce truth values, as bytes."""

    def lower(b: Any, x: Any, out: Any, axes: tuple[int, ...]) -> Any:
        y = _reduced(b, name, b.cast(x, np.uint8), axes, out)
        return b.custom("nabla.ne", y, scalar(b, 0, np.uint8), dtype=np.bool)

    return lower


def count(b: Any, x: Any, out: Any, axes: tuple[int, ...]) -> Any:
    """Add up what is true."""
    true = cast(b, x, out, np.dtype(np.bool))
    return _reduced(b, "sum", b.cast(true, out.dtype), axes, out)


def index_of(name: str) -> Lowering:
    """Return where the "max" or "min" is first; a nan is it."""

    def lower(b: Any, x: Any, out: Any, axis: int) -> Any:
        if x.dtype.is_float():
            x = b.custom(f"nabla.{name}_key", x, dtype=f"i{x.dtype.size_in_bytes}")
        elif x.dtype == b.dtype(np.bool):
            x = b.cast(x, np.uint8)
        return b.ops.reshape(getattr(b.ops, f"arg{name}")(x, axis=axis), out.shape)

    return lower


def cumsum(b: Any, x: Any, out: Any, axis: int) -> Any:
    """Add up along an axis; float32 in float64."""
    wide = {np.dtype(np.float32): np.float64}.get(out.dtype, out.dtype)
    return b.cast(b.ops.cumsum(b.cast(x, wide), axis), out.dtype)


def cumprod(b: Any, x: Any, out: Any, axis: int) -> Any:
    """Multiply up along an axis, which our kernel wants last; float32 in float64."""
    wide = {np.dtype(np.float32): np.float64}.get(out.dtype, out.dtype)
    order = [*(i for i in range(len(out.shape)) if i != axis), axis]
    y = b.custom("nabla.cumprod", b.ops.permute(b.cast(x, wide), order))
    return b.cast(b.ops.permute(y, [order.index(i) for i in range(len(order))]), out.dtype)
