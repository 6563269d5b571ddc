"""Reductions, and scans, along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import lowerings as low
from ..aval import Aval, aval_of
from ..node import Node
from ..primitive import Dims, Primitive, reduction, shift, whole
from .elementwise import cast, eq
from .structure import broadcast, reshape


def _spread(y: Node, x: Node, axes: tuple[int, ...]) -> Node:
    """Repeat what a reduction of `x` over `axes` gave along these."""
    kept = tuple(a for a in range(x.aval.ndim) if a not in axes)
    return broadcast(y, shape=x.aval.shape, axes=kept)


def _broadcast_transpose(ct: Node, wanted: Any, x: Node, shape: Any, axes: tuple[int, ...]) -> tuple[Node]:
    kept = [a for n, a in zip(x.aval.shape, axes, strict=True) if n == shape[a]]
    summed = tuple(a for a in range(len(shape)) if a not in kept)
    y = reduce_sum(ct, axes=summed) if summed else ct
    return (y if y.aval.shape == x.aval.shape else reshape(y, shape=x.aval.shape),)


def _extreme_jvp(tangents: Any, out: Node, x: Node, axes: tuple[int, ...]) -> Node:
    """Share the tangent of the extreme among all that are equal to it."""
    (t,) = tangents
    among = cast(eq(x, _spread(out, x, axes)), dtype=x.aval.dtype)
    return reduce_sum(t * among, axes=axes) / reduce_sum(among, axes=axes)


reduce_sum = reduction(
    "reduce_sum",
    np.add,
    max=low.accumulate("sum"),
    transpose=lambda ct, wanted, x, axes: (_spread(ct, x, axes),),
)
broadcast.transpose = _broadcast_transpose
reduce_prod = reduction("reduce_prod", np.multiply, max=low.accumulate("prod"))
reduce_max = reduction("reduce_max", np.maximum, max=low.extreme("max"), jvp=_extreme_jvp)
reduce_min = reduction("reduce_min", np.minimum, max=low.extreme("min"), jvp=_extreme_jvp)
reduce_any = reduction("reduce_any", np.logical_or, max=low.truth("max"), max_kinds="b")
reduce_all = reduction("reduce_all", np.logical_and, max=low.truth("min"), max_kinds="b")


def _count_host(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return np.asarray(np.count_nonzero(x, axis=None if len(axes) == x.ndim else axes))


# Whole, because NumPy counts the true elements of a mask much faster than it sums them.
reduce_count = Primitive(
    "reduce_count",
    lambda x, axes: aval_of(tuple(n for i, n in enumerate(x.shape) if i not in axes), np.dtype(np.intp)),
    _count_host,
    batch=shift("axes"),
    dims=lambda x, axes: (tuple(range(x.ndim)), tuple(i for i in range(x.ndim) if i not in axes)),
    max=low.count,
)


def _index_reduction(name: str, function: Callable[..., Any], lowering: Callable[..., Any]) -> Primitive:
    def aval(x: Aval, axis: int) -> Aval:
        if x.shape[axis] == 0:
            raise ValueError(f"{name}: no index into an empty axis: {x} along axis {axis}")
        return aval_of(x.shape[:axis] + x.shape[axis + 1 :], np.dtype(np.intp))

    def host(x: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(function(x, axis=axis))

    def dims(x: Aval, axis: int) -> Dims:
        labels = tuple(-1 - i if i == axis else i for i in range(x.ndim))
        return labels, labels[:axis] + labels[axis + 1 :]

    return Primitive(name, aval, host, batch=shift("axis"), dims=dims, max=lowering)


argmax = _index_reduction("argmax", np.argmax, low.index_of("max"))
argmin = _index_reduction("argmin", np.argmin, low.index_of("min"))


def _scan(name: str, ufunc: np.ufunc, lowering: Callable[..., Any]) -> Primitive:
    return Primitive(
        name,
        lambda x, axis: x,
        lambda x, axis: ufunc.accumulate(x, axis=axis, dtype=x.dtype),
        batch=shift("axis"),
        dims=whole("axis"),
        max=lowering,
    )


cumsum = _scan("cumsum", np.add, low.cumsum)
cumprod = _scan("cumprod", np.multiply, low.cumprod)
