"""Operations that move elements and change none."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ..forks import late
from ..graph.aval import Aval, aval_of
from ..graph.node import Node
from ..graph.primitive import Dims, Primitive, alike, prefix, shift
from . import lowerings as low
from . import machine as mc
from .creation import fill_like, fill_node
from .elementwise import conj


def _reshape_aval(x: Aval, shape: tuple[int, ...]) -> Aval:
    if math.prod(shape) != x.size:
        raise ValueError(
            f"reshape: cannot turn shape {x.shape} into {shape}: {x.size} elements against {math.prod(shape)}"
        )
    return aval_of(shape, x.dtype)


def _reshape_dims(x: Aval, shape: tuple[int, ...]) -> Dims:
    """Label alike the axes that stay, between the places where both shapes have the same product."""
    before, after = [-1 - i for i in range(x.ndim)], [-1 - x.ndim - i for i in range(len(shape))]
    i = j = 0
    while x.size and i < x.ndim and j < len(shape):
        if x.shape[i] == shape[j]:
            before[i] = after[j] = i
            i, j = i + 1, j + 1
        elif x.shape[i] == 1:
            i += 1
        elif shape[j] == 1:
            j += 1
        else:
            m, n, i, j = x.shape[i], shape[j], i + 1, j + 1
            while m != n:
                if m < n:
                    m, i = m * x.shape[i], i + 1
                else:
                    n, j = n * shape[j], j + 1
    return tuple(before), tuple(after)


def _reshape_host(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    # Where the last axis repeats one element and becomes part of a longer one, NumPy would copy row by row,
    # which takes twice as long. Elsewhere the result may be a view.
    if x.ndim > 1 and x.strides[-1] == 0 != x.strides[-2] and 1 < x.shape[-1] < shape[-1]:
        return np.repeat(x[..., 0].reshape(-1), x.shape[-1]).reshape(shape)
    return x.reshape(shape)


reshape: Primitive = Primitive(
    "reshape",
    _reshape_aval,
    _reshape_host,
    kind="view",
    keeps_order=True,
    reshapes=lambda shape: shape,
    merge=lambda first, second: second,
    put=lambda apply, old, new, shape: apply(reshape, new, shape=old.shape),
    batch=prefix(shape=lambda size: size),
    dims=_reshape_dims,
    max=low.reshape,
    transpose=lambda ct, wanted, x, shape: (reshape(ct, shape=x.aval.shape),),
)


def _identity(name: str, **rules: Any) -> Primitive:
    return Primitive(name, lambda x: x, lambda x: x, kind="view", keeps_order=True, dims=alike, **rules)


# Another node of the same value: transforms tell by it what they differentiate from what they do not.
alias = _identity("alias", role="alias", max=low.identity, transpose=lambda ct, wanted, x: (ct,))
# The same, but without a derivative.
stop_gradient = _identity("stop_gradient", max=low.identity, partials=(None,))
# The same, but what is computed from it is not what was computed from its operand: it is computed again.
barrier = _identity("barrier", transpose=lambda ct, wanted, x: (ct,))


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


permute: Primitive = Primitive(
    "permute",
    lambda x, axes: aval_of(tuple(x.shape[a] for a in axes), x.dtype),
    lambda x, axes: x.transpose(axes),
    kind="view",
    batch=lambda params, size: {"axes": (0, *[a + 1 for a in params["axes"]])},
    dims=lambda x, axes: (tuple(range(x.ndim)), axes),
    max=low.permute,
    transpose=lambda ct, wanted, x, axes: (permute(ct, axes=_inverse(axes)),),
    put=lambda apply, old, new, axes: apply(permute, new, axes=_inverse(axes)),
)


def _broadcast_aval(x: Aval, shape: tuple[int, ...], axes: tuple[int, ...]) -> Aval:
    for n, a in zip(x.shape, axes, strict=True):
        if n not in (1, shape[a]):
            raise ValueError(f"broadcast: {x} does not fit axes {axes} of {shape}")
    return aval_of(shape, x.dtype)


def _broadcast_host(x: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    full = [1] * len(shape)
    for n, a in zip(x.shape, axes, strict=True):
        full[a] = n
    return np.broadcast_to(x.reshape(full), shape)


def _broadcast_dims(x: Aval, shape: tuple[int, ...], axes: tuple[int, ...]) -> Dims:
    stays = [n == shape[a] for n, a in zip(x.shape, axes, strict=True)]
    return tuple(a if s else -1 - a for a, s in zip(axes, stays, strict=True)), tuple(range(len(shape)))


def _broadcast_transpose(ct: Node, wanted: Any, x: Node, shape: Any, axes: tuple[int, ...]) -> tuple[Node]:
    reduce_sum = late(".reduction", __package__).reduce_sum  # it stands on this module
    kept = [a for n, a in zip(x.aval.shape, axes, strict=True) if n == shape[a]]
    summed = tuple(a for a in range(len(shape)) if a not in kept)
    y = reduce_sum(ct, axes=summed) if summed else ct
    return (y if y.aval.shape == x.aval.shape else reshape(y, shape=x.aval.shape),)


# Axis i of the input becomes axis axes[i] of the result (axes ascend); the others are new.
broadcast = Primitive(
    "broadcast",
    _broadcast_aval,
    _broadcast_host,
    kind="broadcast",
    read_only=True,
    batch=lambda params, size: {
        "shape": (size, *params["shape"]),
        "axes": (0, *[a + 1 for a in params["axes"]]),
    },
    dims=_broadcast_dims,
    max=low.broadcast,
    transpose=_broadcast_transpose,
)


def slices(start: tuple[int, ...], size: tuple[int, ...], step: tuple[int, ...]) -> tuple[slice, ...]:
    """Return Python's slices for `size` elements from `start` by `step` on each axis."""
    out = []
    for first, n, by in zip(start, size, step, strict=True):
        stop = first + n * by
        out.append(slice(0, 0) if n == 0 else slice(first, stop if stop >= 0 else None, by))
    return tuple(out)


def _slice_dims(x: Aval, start: Any, size: tuple[int, ...], step: Any) -> Dims:
    full = [n == m and s == 1 for n, m, s in zip(x.shape, size, step, strict=True)]
    before = tuple(i if f else -1 - i for i, f in enumerate(full))
    return before, tuple(i if f else -1 - x.ndim - i for i, f in enumerate(full))


def _slice_merge(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    rows = zip(first["start"], first["step"], second["start"], second["step"], strict=True)
    start, step = zip(*[(a + b * c, b * d) for a, b, c, d in rows], strict=True) or ((), ())
    return {"start": start, "size": second["size"], "step": step}


def _slice_put(apply: Any, old: Any, new: Any, start: Any, size: tuple[int, ...], step: Any) -> Any:
    if size == old.shape and all(s == 1 for s in step):
        return new
    return apply(update_slice, old, new, start=start, step=step)


# `step` may be negative, never 0: reversal is a slice.
slice_ = Primitive(
    "slice",
    lambda x, start, size, step: aval_of(size, x.dtype),
    lambda x, start, size, step: x[(*slices(start, size, step), ...)],
    kind="view",
    batch=prefix(start=lambda size: 0, size=lambda size: size, step=lambda size: 1),
    dims=_slice_dims,
    max=low.slice_,
    transpose=lambda ct, wanted, x, start, size, step: (
        update_slice(fill_like(x, 0), ct, start=start, step=step),
    ),
    merge=_slice_merge,
    put=_slice_put,
)


def span(x: Node, axis: int, first: int, size: int, by: int = 1) -> Node:
    """Return `size` elements along an axis from `first` on: all, or every `by`-th."""
    start = tuple(first if a == axis else 0 for a in range(x.aval.ndim))
    shape = tuple(size if a == axis else n for a, n in enumerate(x.aval.shape))
    step = tuple(by if a == axis else 1 for a in range(x.aval.ndim))
    return slice_(x, start=start, size=shape, step=step)


def flipped(x: Node, axis: int) -> Node:
    """Turn an axis round."""
    start = tuple(n - 1 if a == axis else 0 for a, n in enumerate(x.aval.shape))
    step = tuple(-1 if a == axis else 1 for a in range(x.aval.ndim))
    return slice_(x, start=start, size=x.aval.shape, step=step)


def _update_aval(x: Aval, value: Aval, start: Any, step: Any) -> Aval:
    if x.dtype != value.dtype or x.ndim != value.ndim:
        raise ValueError(f"update_slice: {value} does not fit into {x}")
    return x


def _update_inplace(x: np.ndarray, value: np.ndarray, start: Any, step: Any) -> np.ndarray:
    x[slices(start, value.shape, step)] = value
    return x


def _update_transpose(
    ct: Node, wanted: Any, x: Node, value: Node, start: Any, step: Any
) -> tuple[Node | None, ...]:
    return (
        update_slice(ct, fill_like(value, 0), start=start, step=step) if wanted[0] else None,
        slice_(ct, start=start, size=value.aval.shape, step=step) if wanted[1] else None,
    )


update_slice: Primitive = Primitive(
    "update_slice",
    _update_aval,
    lambda x, value, start, step: _update_inplace(x.copy(), value, start, step),
    batch=prefix(start=lambda size: 0, step=lambda size: 1),
    inplace=_update_inplace,
    patches=lambda x, value, start, step: slices(start, value.shape, step),
    llvm=lambda code, aval, x, value, start, step: mc.update(
        code, aval, x, value, slices(start, value.aval.shape, step)
    ),
    transpose=_update_transpose,
)


def _concat_aval(*xs: Aval, axis: int) -> Aval:
    first = xs[0]
    for x in xs[1:]:
        same = x.shape[:axis] == first.shape[:axis] and x.shape[axis + 1 :] == first.shape[axis + 1 :]
        if not same or x.ndim != first.ndim or x.dtype != first.dtype:
            raise ValueError(f"concat: {first} and {x} differ beyond axis {axis}")
    total = sum(x.shape[axis] for x in xs)
    return aval_of((*first.shape[:axis], total, *first.shape[axis + 1 :]), first.dtype)


def _concat_dims(*xs: Aval, axis: int) -> Dims:
    labels = range(xs[0].ndim)
    return tuple(tuple(-1 - k if i == axis else i for i in labels) for k in range(len(xs) + 1))


def _concat_transpose(ct: Node, wanted: Any, *xs: Node, axis: int) -> tuple[Node | None, ...]:
    out: list[Node | None] = []
    first = 0
    for x, want in zip(xs, wanted, strict=True):
        size = x.aval.shape[axis]
        out.append(span(ct, axis, first, size) if want else None)
        first += size
    return tuple(out)


def _concat_places(*xs: Aval, axis: int) -> tuple[tuple[slice, ...], ...]:
    ends = [0, *itertools.accumulate([x.shape[axis] for x in xs])]
    return tuple([(*[slice(None)] * axis, slice(*some)) for some in itertools.pairwise(ends)])


concat = Primitive(
    "concat",
    _concat_aval,
    lambda *xs, axis: np.concatenate(xs, axis=axis),
    places=_concat_places,
    batch=shift("axis"),
    dims=_concat_dims,
    max=low.concat,
    llvm=mc.concat,
    transpose=_concat_transpose,
)


def _diagonal_aval(x: Aval, offset: int) -> Aval:
    *lead, m, n = x.shape
    size = min(m + min(offset, 0), n - max(offset, 0))
    return aval_of((*lead, max(size, 0)), x.dtype)


def _diagonal_dims(x: Aval, offset: int) -> Dims:
    lead = tuple(range(x.ndim - 2))
    return (*lead, -1, -2), (*lead, -3)


def _diagonal_transpose(ct: Node, wanted: Any, x: Node, offset: int) -> tuple[Node]:
    """Write into zeros, of which a diagonal is every (n + 1)th, row by row."""
    *lead, m, n = x.aval.shape
    zero = fill_node(aval_of((*lead, m * n), x.aval.dtype), 0)
    first = offset if offset >= 0 else -offset * n
    step = (*[1] * len(lead), n + 1)
    return (reshape(update_slice(zero, ct, start=(*[0] * len(lead), first), step=step), shape=x.aval.shape),)


# Of any dtype: the elements x[..., i, i + offset].
diagonal: Primitive = Primitive(
    "diagonal",
    _diagonal_aval,
    lambda x, offset: np.diagonal(x, offset, -2, -1),
    kind="view",
    dims=_diagonal_dims,
    read_only=True,
    transpose=_diagonal_transpose,
)


def _reinterpret_aval(x: Aval, dtype: np.dtype) -> Aval:
    if x.dtype.itemsize == dtype.itemsize:
        return aval_of(x.shape, dtype)
    if not x.ndim or x.shape[-1] * x.dtype.itemsize % dtype.itemsize:
        raise ValueError(f"reinterpret: the last axis of {x} does not divide into elements of {dtype}")
    return aval_of((*x.shape[:-1], x.shape[-1] * x.dtype.itemsize // dtype.itemsize), dtype)


def _reinterpret_host(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if x.dtype.itemsize == dtype.itemsize or x.shape[-1] == 1 or x.strides[-1] == x.itemsize:
        return x.view(dtype)
    return np.ascontiguousarray(x).view(dtype)


def _reinterpret_dims(x: Aval, dtype: np.dtype) -> Dims:
    if x.dtype.itemsize == dtype.itemsize:
        return alike(x)
    lead = tuple(range(x.ndim - 1))
    return (*lead, -1), (*lead, -2)


def are_parts(a: np.dtype, b: np.dtype) -> bool:
    """Say whether one is complex and the other the dtype of its parts; other bits have no derivative."""
    return {a.kind, b.kind} == {"f", "c"} and a.type(0).real.dtype == b.type(0).real.dtype


def _reinterpret_jvp(tangents: Any, out: Node, x: Node, dtype: np.dtype) -> Node | None:
    return reinterpret(tangents[0], dtype=dtype) if are_parts(x.aval.dtype, dtype) else None


def _reinterpret_transpose(ct: Node, wanted: Any, x: Node, dtype: np.dtype) -> tuple[Node | None]:
    if not are_parts(x.aval.dtype, dtype):
        return (None,)
    # Cotangents pair with tangents as the real part of their product.
    back = reinterpret(conj(ct) if dtype.kind == "c" else ct, dtype=x.aval.dtype)
    return (conj(back) if dtype.kind == "f" else back,)


# The bits of elements, read as elements of another dtype: where its itemsize is not the operand's, the last
# axis holds more elements, or fewer.
reinterpret: Primitive = Primitive(
    "reinterpret",
    _reinterpret_aval,
    _reinterpret_host,
    dims=_reinterpret_dims,
    jvp=_reinterpret_jvp,
    transpose=_reinterpret_transpose,
    put=lambda apply, old, new, dtype: apply(reinterpret, new, dtype=old.dtype),
)

# One result of a primitive that has several.
project = Primitive(
    "project",
    lambda results, index: results[index],
    lambda results, index: results[index],
    kind="view",
    role="projection",
)

# Its operands, as the results of one operation.
several: Primitive = Primitive(
    "several",
    lambda *xs: xs,
    lambda *xs: xs,
    kind="view",
    jvp=lambda tangents, out, *xs: list(tangents),
    transpose=lambda ct, wanted, *xs: [c if want else None for c, want in zip(ct, wanted, strict=True)],
)
