"""What rules are written with: operations that each device does with what it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._lazy.graph.aval import aval_of
from ..._lazy.graph.primitive import Primitive
from ..._lazy.ops import elementwise
from ..._lazy.ops.creation import Literal, fill
from ..._lazy.ops.structure import reshape
from ..layouts import Cut, Layout
from ..partition import Partition, sized

INTP = np.dtype(np.intp)


def done(p: Partition, prim: Primitive, ins: Sequence[int], layout: Layout, **params: Any) -> int:
    """Add an operation that each device does; `params` are those on whole values."""
    aval = prim.aval(*[p.values[i].aval for i in ins], **params)
    return p.local(prim, ins, sized(params, layout), aval, layout)


def full(p: Partition, value: Callable[[int], Any], dtype: np.dtype, layout: Layout) -> int:
    """Add a value of which each device has its own number everywhere."""

    def params(device: int) -> dict[str, Any]:
        return {"value": Literal(dtype.type(value(device))), "shape": layout.local_shape(device)}

    return p.local(fill, (), params, aval_of(layout.shape, dtype), layout)


def fill_of(dtype: np.dtype) -> Any:
    """Return what can be added to any number, -0.0 too, and leaves it."""
    return {"f": -0.0, "c": complex(-0.0, -0.0)}.get(dtype.kind, 0)


def in_terms(p: Partition, i: int, target: Layout) -> int:
    """Return a value of the program in a layout that may ask for terms of a sum where it has none.

    The first device along their axes has the value then, and the others have zero.
    """
    now = p.layout(i)
    terms = {*target.partial} - {*(now.partial if now is not None else ())}
    if not terms:
        return p.operand(i, target)
    x = p.operand(i, Layout(p.mesh, target.cuts, {*target.partial} - terms))
    others, dtype = tuple([a for a, _ in terms]), p.values[x].aval.dtype
    flags = full(p, lambda d: p.mesh.index(d, others) == 0, np.dtype(bool), target)
    zeros = full(p, lambda d: fill_of(dtype), dtype, target)
    return done(p, elementwise.select, [flags, x, zeros], target)


def without(layout: Layout, axis: int) -> Layout:
    """Return a layout without an axis: of what each device finds along that axis of its own part."""
    cuts = [c for a, c in enumerate(layout.cuts) if a != axis]
    return differing(Layout(layout.mesh, cuts, layout.partial), layout.cuts[axis].axes)


def differing(layout: Layout, axes: Sequence[str]) -> Layout:
    """Return the layout of what devices along some mesh axes have each its own of."""
    known = {a for a, _ in layout.partial}
    return Layout(layout.mesh, layout.cuts, [*layout.partial, *[(a, np.add) for a in axes if a not in known]])


def stacked(p: Partition, number: int, over: tuple[str, ...], axis: int) -> int:
    """Return what devices along some mesh axes have each its own of as parts along a new axis."""
    aval, layout = p.values[number]
    cut = Cut(over, tuple(range(p.mesh.length(over) + 1)))
    left = [(a, f) for a, f in layout.partial if a not in over]
    found = Layout(p.mesh, [*layout.cuts[:axis], cut, *layout.cuts[axis:]], left)
    aval = aval_of(found.shape, aval.dtype)
    return p.local(reshape, [number], lambda d: {"shape": found.local_shape(d)}, aval, found)


def inside(p: Partition, index: int, cut: Cut, outside: Callable[[int], int]) -> tuple[int, int]:
    """Return which indices into a cut axis are in a device's part, and where; the others are `outside`."""
    layout = differing(p.values[index].layout, cut.axes)

    def piece(device: int) -> int:
        return p.mesh.index(device, cut.axes)

    def number(value: Callable[[int], int]) -> int:
        return full(p, value, INTP, layout)

    def of(prim: Primitive, *ins: int, **params: Any) -> int:
        return done(p, prim, ins, layout, **params)

    at = index if p.values[index].aval.dtype == INTP else of(elementwise.cast, index, dtype=INTP)
    from_end = of(elementwise.add, at, number(lambda d: cut.bounds[-1]))
    at = of(elementwise.select, of(elementwise.lt, at, number(lambda d: 0)), from_end, at)
    begin, end = number(lambda d: cut.bounds[piece(d)]), number(lambda d: cut.bounds[piece(d) + 1])
    is_here = of(elementwise.and_, of(elementwise.ge, at, begin), of(elementwise.lt, at, end))
    return is_here, of(elementwise.select, is_here, of(elementwise.sub, at, begin), number(outside))
