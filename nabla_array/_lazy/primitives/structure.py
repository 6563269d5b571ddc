"""Operations that move elements and change none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..aval import Aval, aval_of
from ..primitive import Primitive, prefix, shift


def _reshape_aval(x: Aval, shape: tuple[int, ...]) -> Aval:
    if math.prod(shape) != x.size:
        raise ValueError(
            f"reshape: cannot turn shape {x.shape} into {shape}: {x.size} elements against {math.prod(shape)}"
        )
    return aval_of(shape, x.dtype)


reshape = Primitive(
    "reshape",
    _reshape_aval,
    lambda x, shape: x.reshape(shape),
    kind="view",
    batch=prefix(shape=lambda size: size),
)

permute = Primitive(
    "permute",
    lambda x, axes: aval_of(tuple(x.shape[a] for a in axes), x.dtype),
    lambda x, axes: x.transpose(axes),
    kind="view",
    batch=lambda params, size: {"axes": (0, *[a + 1 for a in params["axes"]])},
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


# Axis i of the input becomes axis axes[i] of the result (axes ascend); the others are new.
broadcast = Primitive(
    "broadcast",
    _broadcast_aval,
    _broadcast_host,
    kind="broadcast",
    batch=lambda params, size: {
        "shape": (size, *params["shape"]),
        "axes": (0, *[a + 1 for a in params["axes"]]),
    },
)


def slices(start: tuple[int, ...], size: tuple[int, ...], step: tuple[int, ...]) -> tuple[slice, ...]:
    """Return Python's slices for `size` elements from `start` by `step` on each axis."""
    out = []
    for first, n, by in zip(start, size, step, strict=True):
        stop = first + n * by
        out.append(slice(0, 0) if n == 0 else slice(first, stop if stop >= 0 else None, by))
    return tuple(out)


# `step` may be negative, never 0: reversal is a slice.
slice_ = Primitive(
    "slice",
    lambda x, start, size, step: aval_of(size, x.dtype),
    lambda x, start, size, step: x[slices(start, size, step)],
    kind="view",
    batch=prefix(start=lambda size: 0, size=lambda size: size, step=lambda size: 1),
)


def _update_aval(x: Aval, value: Aval, start: Any, step: Any) -> Aval:
    if x.dtype != value.dtype or x.ndim != value.ndim:
        raise ValueError(f"update_slice: {value} does not fit into {x}")
    return x


def _update_inplace(x: np.ndarray, value: np.ndarray, start: Any, step: Any) -> np.ndarray:
    x[slices(start, value.shape, step)] = value
    return x


update_slice = Primitive(
    "update_slice",
    _update_aval,
    lambda x, value, start, step: _update_inplace(x.copy(), value, start, step),
    batch=prefix(start=lambda size: 0, step=lambda size: 1),
    inplace=_update_inplace,
)


def _concat_aval(*xs: Aval, axis: int) -> Aval:
    first = xs[0]
    for x in xs[1:]:
        same = x.shape[:axis] == first.shape[:axis] and x.shape[axis + 1 :] == first.shape[axis + 1 :]
        if not same or x.ndim != first.ndim or x.dtype != first.dtype:
            raise ValueError(f"concat: {first} and {x} differ beyond axis {axis}")
    total = sum(x.shape[axis] for x in xs)
    return aval_of((*first.shape[:axis], total, *first.shape[axis + 1 :]), first.dtype)


concat = Primitive(
    "concat",
    _concat_aval,
    lambda *xs, axis: np.concatenate(xs, axis=axis),
    batch=shift("axis"),
)


# One result of a primitive that has several.
project = Primitive(
    "project", lambda results, index: results[index], lambda results, index: results[index], kind="view"
)
