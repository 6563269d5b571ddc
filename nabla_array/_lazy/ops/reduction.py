"""Reductions, and scans, along axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph.aval import Aval, aval_of
from ..graph.node import Node
from ..graph.primitive import Dims, Primitive, reduction, shift, whole
from ..graph.program import is_literal
from . import lowerings as low
from . import machine as mc
from .creation import fill_like
from .elementwise import cast, eq
from .structure import broadcast, concat, flipped, permute, reshape, span, update_slice


def _spread(y: Node, x: Node, axes: tuple[int, ...]) -> Node:
    """Repeat what a reduction of `x` over `axes` gave along these."""
    if is_literal(y):
        return fill_like(x, y.params["value"].value)
    kept = tuple(a for a in range(x.aval.ndim) if a not in axes)
    return broadcast(y, shape=x.aval.shape, axes=kept)


def _extreme_jvp(tangents: Any, out: Node, x: Node, axes: tuple[int, ...]) -> Node:
    """Share the tangent of the extreme among all that are equal to it."""
    (t,) = tangents
    among = cast(eq(x, _spread(out, x, axes)), dtype=x.aval.dtype)
    return reduce_sum(t * among, axes=axes) / reduce_sum(among, axes=axes)


def _before(x: Node, axis: int) -> Node:
    """Return for each element the product of those before it."""
    one = fill_like(span(x, axis, 0, 1), 1)
    return cumprod(concat(one, span(x, axis, 0, x.aval.shape[axis] - 1), axis=axis), axis=axis)


def _prod_jvp(tangents: Any, out: Node, x: Node, axes: tuple[int, ...]) -> Node | None:
    """Each tangent times the product of all other elements, found without a division: some may be 0."""
    (t,) = tangents
    if x.aval.size == 0:
        return None
    last = out.aval.ndim
    order = (*[a for a in range(x.aval.ndim) if a not in axes], *axes)
    shape = (*out.aval.shape, math.prod(x.aval.shape[a] for a in axes))
    x, t = (reshape(permute(n, axes=order), shape=shape) for n in (x, t))
    others = _before(x, last) * flipped(_before(flipped(x, last), last), last)
    return reduce_sum(t * others, axes=(last,))


def _cumprod_jvp(tangents: Any, out: Node, x: Node, axis: int) -> Node:
    """Find the tangents of the products of pairs first, which are those at the odd places.

    There is no division, since elements may be 0, and as there are half as many pairs, and so on, the work
    is that of a few passes.
    """
    (t,) = tangents
    n = x.aval.shape[axis]
    if n < 2:
        return t
    odd, even = n // 2, n - n // 2 - 1  # how many there are, without the first of the even ones
    x0, x1, t0, t1 = (span(y, axis, first, odd, 2) for y in (x, t) for first in (0, 1))
    products = span(out, axis, 1, odd, 2)
    at_odd = _cumprod_jvp((t0 * x1 + x0 * t1,), products, x0 * x1, axis)
    t2, x2 = (span(y, axis, 2, even, 2) for y in (t, x))
    before, t_before = (span(y, axis, 0, even) for y in (products, at_odd))
    at_even = concat(span(t, axis, 0, 1), t_before * x2 + before * t2, axis=axis)
    step = tuple(2 if a == axis else 1 for a in range(t.aval.ndim))
    both = update_slice(fill_like(t, 0), at_even, start=(0,) * t.aval.ndim, step=step)
    return update_slice(both, at_odd, start=tuple(s - 1 for s in step), step=step)


reduce_sum: Primitive = reduction(
    "reduce_sum",
    np.add,
    max=low.accumulate("sum"),
    llvm=mc.instruction(f="fadd", iu="add"),
    row_kernel=True,
    max_kinds="fiu",
    transpose=lambda ct, wanted, x, axes: (_spread(ct, x, axes),),
)
reduce_prod = reduction(
    "reduce_prod",
    np.multiply,
    max=low.accumulate("prod"),
    llvm=mc.instruction(f="fmul", iu="mul"),
    max_kinds="fiu",
    jvp=_prod_jvp,
)
reduce_max = reduction(
    "reduce_max",
    np.maximum,
    max=low.extreme("max"),
    llvm=mc.extreme("gt", False),
    row_kernel=True,
    jvp=_extreme_jvp,
)
reduce_min = reduction(
    "reduce_min",
    np.minimum,
    max=low.extreme("min"),
    llvm=mc.extreme("lt", False),
    row_kernel=True,
    jvp=_extreme_jvp,
)
reduce_any = reduction(
    "reduce_any", np.logical_or, max=low.truth("max"), max_kinds="b", llvm=mc.instruction(b="or")
)
reduce_all = reduction(
    "reduce_all", np.logical_and, max=low.truth("min"), max_kinds="b", llvm=mc.instruction(b="and")
)


def _count_host(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return np.asarray(np.count_nonzero(x, axis=None if len(axes) == x.ndim else axes))


# Whole, because NumPy counts the true elements of a mask much faster than it sums them.
reduce_count = Primitive(
    "reduce_count",
    lambda x, axes: aval_of(tuple(n for i, n in enumerate(x.shape) if i not in axes), np.dtype(np.intp)),
    _count_host,
    batch=shift("axes"),
    reducer=np.add,
    dims=lambda x, axes: (tuple(range(x.ndim)), tuple(i for i in range(x.ndim) if i not in axes)),
    max=low.count,
    llvm=mc.count,
)


def _index_reduction(
    name: str, function: Callable[..., Any], lowering: Callable[..., Any], how: str
) -> Primitive:
    def aval(x: Aval, axis: int) -> Aval:
        if x.shape[axis] == 0:
            raise ValueError(f"{name}: no index into an empty axis: {x} along axis {axis}")
        return aval_of(x.shape[:axis] + x.shape[axis + 1 :], np.dtype(np.intp))

    def host(x: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(function(x, axis=axis))

    def dims(x: Aval, axis: int) -> Dims:
        labels = tuple(-1 - i if i == axis else i for i in range(x.ndim))
        return labels, labels[:axis] + labels[axis + 1 :]

    return Primitive(name, aval, host, batch=shift("axis"), dims=dims, max=lowering, llvm=mc.index_of(how))


argmax = _index_reduction("argmax", np.argmax, low.index_of("max"), "gt")
argmin = _index_reduction("argmin", np.argmin, low.index_of("min"), "lt")


def _scan(name: str, ufunc: np.ufunc, lowering: Callable[..., Any], **rules: Any) -> Primitive:
    return Primitive(
        name,
        lambda x, axis: x,
        lambda x, axis: ufunc.accumulate(x, axis=axis, dtype=x.dtype),
        kind="scan",
        serial=True,
        by_rows=True,
        fresh=True,
        reducer=ufunc,
        batch=shift("axis"),
        dims=whole("axis"),
        max=lowering,
        max_kinds="fiu",
        **rules,
    )


cumsum: Primitive = _scan(
    "cumsum",
    np.add,
    low.scan("nabla.cumsum"),
    llvm=mc.accumulate(mc.instruction(f="fadd", iu="add")),
    transpose=lambda ct, wanted, x, axis: (flipped(cumsum(flipped(ct, axis), axis=axis), axis),),
)
cumprod: Primitive = _scan(
    "cumprod",
    np.multiply,
    low.scan("nabla.cumprod"),
    llvm=mc.accumulate(mc.instruction(f="fmul", iu="mul")),
    jvp=_cumprod_jvp,
)
