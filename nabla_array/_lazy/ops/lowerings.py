"""How MAX runs primitives that are no single operation of its own: `max` fields of records.

Each is `(b, *tensors, out, **params) -> tensor`: `b` is the `backend.Builder`, `out` the result's
shape and dtype. `tests/lazy/ops/test_lowerings.py` compares every one with the host.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

# Reductions over axes of so few elements are written out, which fuses where a loop would not: their size
# is part of the program.
UNROLLED = 8

# Arithmetic and comparisons are our own kernels: MAX simplifies its own as if there were no nan, no
# infinity and no -0.0 (x == x is true, x - x is 0), and contracts products with sums.

Lowering = Callable[..., Any]


def by_kind(**kinds: Lowering | str) -> Lowering:
    """Return the lowering that takes the one for the kind of the first operand ("other": the rest)."""

    def lower(b: Any, *xs: Any, out: Any, **params: Any) -> Any:
        dtype = xs[0].dtype
        kind = "b" if dtype == b.dtype(np.bool) else "f" if dtype.is_float() else "i"
        return b.run(kinds.get(kind) or kinds["other"], *xs, out=out, **params)

    return lower


def identity(b: Any, x: Any, out: Any) -> Any:
    """What is whole already stays."""
    return x


def square(b: Any, x: Any, out: Any) -> Any:
    """Multiply by itself."""
    return b.custom("nabla.mul", x, x)


def reciprocal(b: Any, x: Any, out: Any) -> Any:
    """Divide one by it."""
    return b.custom("nabla.div", b.constant(1, out.dtype), x)


def round_to(b: Any, x: Any, out: Any, decimals: int) -> Any:
    """Round to even in units of a power of ten, as NumPy composes it."""
    if decimals == 0:
        return b.ops.round(x)
    unit = b.constant(10.0 ** abs(decimals), out.dtype)
    to, back = ("nabla.mul", "nabla.div") if decimals > 0 else ("nabla.div", "nabla.mul")
    return b.custom(back, b.ops.round(b.custom(to, x, unit)), unit)


def beside_nan(kernel: str) -> Lowering:
    """Return the lowering that gives the other operand where one is nan, and else what the kernel does."""

    def lower(b: Any, x: Any, y: Any, out: Any) -> Any:
        x_is, y_is = [b.custom("nabla.isnan", z, dtype=np.bool) for z in (x, y)]
        return b.ops.where(x_is, y, b.ops.where(y_is, x, b.custom(kernel, x, y)))

    return lower


def cast(b: Any, x: Any, out: Any, dtype: np.dtype) -> Any:
    """Cast; to bool it says what is not zero, and floats reach narrow integers through wider ones."""
    if dtype.kind == "b" and x.dtype != b.dtype(np.bool):
        return b.custom("nabla.ne", x, b.cast(b.constant(0, np.int8), b.numpy(x)), dtype=np.bool)
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
    """Take every so manieth element from a start; MAX's own slices only go forward."""
    for axis, s in enumerate(slices):
        if s.step < 0:
            x = b.ops.gather(x, _places(b, s, out.shape[axis]), axis)
    # MAX fuses slices with other operands where it is told that the sizes are theirs; later is too late.
    return b.ops.slice_tensor(
        x,
        [
            slice(None) if s.step < 0 or x.shape[axis] == n else (_bounded(s), n)
            for axis, (s, n) in enumerate(zip(slices, out.shape, strict=True))
        ],
    )


def _bounded(s: slice) -> slice:
    return s if s.stop is not None else slice(s.start, np.iinfo(np.int64).max, s.step)


def _places(b: Any, s: slice, size: Any) -> Any:
    """Return the indices that a slice takes."""
    steps = b.ops.range(0, size, 1, out_dim=size, dtype=b.dtype(np.int64), device=b.device)
    return b.custom(
        "nabla.add", b.custom("nabla.mul", steps, b.constant(s.step, np.int64)), b.constant(s.start, np.int64)
    )


def concat(b: Any, *xs: Any, out: Any, axis: int) -> Any:
    """Put the operands behind each other."""
    return b.ops.concat(list(xs), axis)


# What joins the parts of a reduction that is written out.
_JOINS = {"sum": "nabla.add", "prod": "nabla.mul", "max": "nabla.maximum", "min": "nabla.minimum"}


def _is_short(b: Any, x: Any, axes: tuple[int, ...]) -> bool:
    return all((b.size(x, a) or UNROLLED + 1) <= UNROLLED for a in axes)


def _parts(b: Any, x: Any, axis: int) -> list[Any]:
    """Return the slices along a short axis."""
    at: list[slice] = [slice(None)] * x.rank
    return [
        b.ops.slice_tensor(x, [*at[:axis], slice(i, i + 1), *at[axis + 1 :]]) for i in range(b.size(x, axis))
    ]


def _reduced(b: Any, name: str, x: Any, axes: tuple[int, ...], out: Any) -> Any:
    """Reduce by MAX's loop, and over short axes by an operation for each element, which fuses."""
    for a in sorted(axes, key=lambda a: not _is_short(b, x, (a,))):
        if _is_short(b, x, (a,)):
            x = reduce(lambda y, part: b.custom(_JOINS[name], y, part), _parts(b, x, a))
        else:
            x = _loop(b, name, x, a)
    return b.ops.reshape(x, out.shape)


# The reductions for which we have kernels.
_OWN = ("sum", "max", "min")


def _loop(b: Any, name: str, x: Any, axis: int) -> Any:
    """Reduce a long axis by our kernels for the last two, or by MAX's own operation.

    These want the innermost axis as long as a vector.
    """
    last = x.rank - 1
    if axis == last:
        return b.rows(name, x) if name in _OWN and b.has_loops else getattr(b.ops, name)(x, axis=axis)
    if not _is_short(b, x, (last,)):
        is_own = axis == last - 1 and name in _OWN and b.has_loops
        return b.columns(name, x) if is_own else getattr(b.ops, name)(x, axis=axis)
    sums = []
    for part in _parts(b, x, last):
        y = _loop(b, name, b.ops.reshape(part, x.shape[:last]), axis)
        sums.append(b.ops.reshape(y, [*y.shape, 1]))
    return b.ops.concat(sums, last)


def accumulate(name: str) -> Lowering:
    """Reduce by the operation `name`."""

    def lower(b: Any, x: Any, out: Any, axes: tuple[int, ...]) -> Any:
        wide = out.dtype
        if not _is_short(b, x, axes):  # doubles are as good as NumPy's pairwise sums of floats
            wide = np.dtype(np.float64 if wide.kind == "f" else np.int64)
        return b.cast(_reduced(b, name, b.cast(x, wide), axes, out), out.dtype)

    return lower


def _ordered(b: Any, name: str, x: Any) -> Any:
    """Return integers in the order of `x`, in which nan is beyond all."""
    if x.dtype.is_float():
        return b.custom(f"nabla.{name}_key", x, dtype=f"i{x.dtype.size_in_bytes}")
    return x if b.numpy(x).itemsize == 8 else b.cast(x, np.int64)


def extreme(name: str) -> Lowering:
    """Reduce by "max" or "min"."""

    def lower(b: Any, x: Any, out: Any, axes: tuple[int, ...]) -> Any:
        if out.dtype.kind == "b":
            return truth(name)(b, x, out=out, axes=axes)
        if _is_short(b, x, axes):
            return _reduced(b, name, x, axes, out)
        y = _reduced(b, name, _ordered(b, name, x), axes, out)
        return (
            b.custom("nabla.from_key", y, dtype=out.dtype) if out.dtype.kind == "f" else b.cast(y, out.dtype)
        )

    return lower


def truth(name: str) -> Lowering:
    """Reduce truth values, as bytes."""

    def lower(b: Any, x: Any, out: Any, axes: tuple[int, ...]) -> Any:
        y = _reduced(b, name, b.cast(x, np.uint8), axes, out)
        return b.custom("nabla.ne", y, b.constant(0, np.uint8), dtype=np.bool)

    return lower


def count(b: Any, x: Any, out: Any, axes: tuple[int, ...]) -> Any:
    """Add up what is true."""
    true = cast(b, x, out, np.dtype(np.bool))
    return _reduced(b, "sum", b.cast(true, out.dtype), axes, out)


def _better(b: Any, name: str, first: tuple[Any, Any], *others: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the better of one or two values, and its place; the first where they are equal."""
    for other in others:
        beyond = b.custom(f"nabla.beyond_{name}", other[0], first[0], dtype=np.bool)
        first = b.ops.where(beyond, other[0], first[0]), b.ops.where(beyond, other[1], first[1])
    return first


def index_of(name: str) -> Lowering:
    """Return where the "max" or "min" is first; a nan is it."""

    def lower(b: Any, x: Any, out: Any, axis: int) -> Any:
        if not _is_short(b, x, (axis,)):
            y = _ordered(b, name, x)
            return b.ops.reshape(getattr(b.ops, f"arg{name}")(y, axis=axis), out.shape)
        if x.dtype == b.dtype(np.bool):
            x = b.cast(x, np.uint8)
        found = [(part, b.constant(i, out.dtype)) for i, part in enumerate(_parts(b, x, axis))]
        while len(found) > 1:  # in pairs, since MAX computes anew what is looked at twice
            found = [_better(b, name, *found[i : i + 2]) for i in range(0, len(found), 2)]
        ((best, place),) = found
        return b.ops.reshape(b.ops.broadcast_to(place, best.shape), out.shape)

    return lower


def scan(name: str) -> Callable[..., Any]:
    """Return the lowering of a running sum or product along an axis, which our kernel wants last.

    Floats are summed in 64 bits. MAX's own sum starts at 0, to which -0 adds as 0.
    """

    def lower(b: Any, x: Any, out: Any, axis: int) -> Any:
        order = [*(i for i in range(len(out.shape)) if i != axis), axis]
        y = b.custom(name, b.ops.permute(x, order))
        return b.ops.permute(y, [order.index(i) for i in range(len(order))])

    return lower
