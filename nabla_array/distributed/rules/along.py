"""Operations along an axis that is cut: each device does its part, and what they found is put together."""

from __future__ import annotations

import numpy as np

from ..._lazy.graph.aval import aval_of
from ..._lazy.graph.primitive import Dims, Primitive
from ..._lazy.graph.program import Eqn, is_literal
from ..._lazy.ops import elementwise, ordering, reduction, structure
from ..._lazy.ops.indexing import gather
from ..._lazy.schedule.axes import axes_of
from ..layouts import Cut, Layout, uncut
from ..partition import Partition
from .local import INTP, differing, done, fill_of, full, inside, stacked, without
from .ways import Ways, by_labels, cut_in

# By the ufunc that joins two elements: what joins those along axes, and what those of two arrays.
_JOINS: dict[np.ufunc | None, tuple[Primitive, Primitive]] = {
    np.add: (reduction.reduce_sum, elementwise.add),
    np.multiply: (reduction.reduce_prod, elementwise.mul),
}


def _cut_along(p: Partition, i: int, axis: int) -> Layout | None:
    """Return the layout of a value that is cut along an axis, all of it joined."""
    layout = p.layout(i)
    return None if layout is None or not layout.cuts[axis].axes else layout.joined()


def scan_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Scan each part, and join to it what the parts before it come to."""
    axis = dict(eqn.params)["axis"]
    layout = _cut_along(p, eqn.ins[0], axis)
    if layout is None or eqn.prim.reducer not in _JOINS:
        return by_labels(p, k, eqn)
    reduce, join = _JOINS[eqn.prim.reducer]
    cut = layout.cuts[axis]
    x = p.operand(eqn.ins[0], layout)
    own = done(p, eqn.prim, [x], layout, axis=axis)
    totals = stacked(p, done(p, reduce, [x], without(layout, axis), axes=(axis,)), cut.axes, axis)
    several = p.values[totals].layout
    many = several.shape[axis]
    several = several.with_cut(axis, several.cuts[axis]._replace(held=tuple([(0, n) for n in range(many)])))
    before = done(p, reduce, [p.moved(totals, several)], without(layout, axis), axes=(axis,))
    kept = tuple([a for a in range(len(layout.cuts)) if a != axis])
    before = done(p, structure.broadcast, [before], layout, shape=eqn.aval.shape, axes=kept)
    return done(p, join, [own, before], layout)


def _at(p: Partition, x: int, index: int, axis: int, layout: Layout) -> int:
    """Take one element along an axis for each place of the others."""
    base, last = p.values[x].layout, len(p.values[x].layout.cuts) - 1
    order = (*[a for a in range(last + 1) if a != axis], axis)
    turned = Layout(p.mesh, [base.cuts[a] for a in order], base.partial)
    x = done(p, structure.permute, [x], turned, axes=order)
    return done(p, gather, [x, index], layout, axes=(last,), batch=last)


def index_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Find the extreme of each part and where it is, then the first extreme among these."""
    axis = dict(eqn.params)["axis"]
    layout = _cut_along(p, eqn.ins[0], axis)
    if layout is None or not _has_no_empty_part(layout.cuts[axis]):
        return by_labels(p, k, eqn)
    cut = layout.cuts[axis]
    x = p.operand(eqn.ins[0], layout)
    own = without(layout, axis)
    index = done(p, eqn.prim, [x], own, axis=axis)
    value = _at(p, x, index, axis, own)
    start = full(p, lambda d: cut.bounds[p.mesh.index(d, cut.axes)], INTP, own)
    index = done(p, elementwise.add, [index, start], own)
    found = []
    for number in (index, value):
        parts = stacked(p, number, cut.axes, 0)
        several = p.values[parts].layout
        found.append(p.moved(parts, several.with_cut(0, uncut(several.shape[0]))))
    among = Layout(p.mesh, p.values[found[0]].layout.cuts[1:])
    first = done(p, eqn.prim, [found[1]], among, axis=0)
    return _at(p, found[0], first, 0, among)


def _has_no_empty_part(cut: Cut) -> bool:
    return all(b > a for a, b in zip(cut.bounds, cut.bounds[1:], strict=False))


def _without_whole(labels: Dims, rows: list[int], first: int) -> Dims:
    """Give axes of some rows that are needed whole labels of their own: their parts can do, too."""
    return tuple(
        tuple([first - f if f < 0 else f for f in own]) if n in rows else own for n, own in enumerate(labels)
    )


def gather_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Let each device take what it has, and zero for the rest; or gather the array, where that is cheaper."""
    params, aval = dict(eqn.params), p.program.aval(eqn.ins[0])
    layout = p.layout(eqn.ins[0])
    axes = params["axes"]
    if layout is None or not any(layout.cuts[a].axes for a in axes) or aval.dtype.kind not in "biufc":
        return by_labels(p, k, eqn)
    labels = _without_whole(axes_of(p.program).labels[k], [0], aval.ndim + p.program.aval(eqn.ins[1]).ndim)
    way = Ways(p, k, eqn, labels, (), np.add, may_be_empty=False).best()
    x, *indices = [p.operand(i, lay) for i, lay in zip(eqn.ins, way, strict=False)]
    local = [a for a in axes if way[0].cuts[a].axes]
    if not local:
        return cut_in(p, eqn, way)
    found = differing(way[-1], [])
    masks = []
    for n, a in enumerate(axes):
        if a in local:
            is_here, indices[n] = inside(p, indices[n], way[0].cuts[a], lambda d: 0)
            masks.append(is_here)
    mask = masks[0]
    for other in masks[1:]:
        both = differing(p.values[mask].layout, [b for b, _ in p.values[other].layout.partial])
        mask = done(p, elementwise.and_, [mask, other], both)
    taken = done(p, gather, [x, *indices], found, **params)
    over = tuple(range(p.values[mask].aval.ndim))
    mask = done(p, structure.broadcast, [mask], found, shape=eqn.aval.shape, axes=over)
    zero = full(p, lambda d: fill_of(aval.dtype), aval.dtype, found)
    return done(p, elementwise.select, [mask, taken, zero], found)


def search_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Let each device search its own part: places are added, and what is found by one is found."""
    labels = axes_of(p.program).labels[k]
    row = 0 if eqn.prim is ordering.searchsorted else 1
    first = sum([p.program.aval(i).ndim for i in eqn.ins])
    joined = np.add if eqn.prim is ordering.searchsorted else np.logical_or
    return cut_in(p, eqn, Ways(p, k, eqn, _without_whole(labels, [row], first), (), joined).best())


def _is_zero(p: Partition, i: int) -> bool:
    """Say whether a value is a literal of the program that holds zeros."""
    k = i - len(p.program.inputs)
    if k < 0 or not is_literal(p.program.eqns[k]):
        return False
    value = dict(p.program.eqns[k].params)["value"].value
    return bool(value == 0) and not np.signbit(np.real(value))


def scatter_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Let each device write what goes into its part; or, what is only added up, those that have it."""
    params, aval = dict(eqn.params), p.program.aval(eqn.ins[0])
    first = 2 * (aval.ndim + p.program.aval(eqn.ins[1]).ndim)
    is_sum = params["mode"] == "add" and _is_zero(p, eqn.ins[0])
    rows = [0, len(eqn.ins), *[n for n in range(1, len(eqn.ins)) if is_sum]]
    labels = _without_whole(axes_of(p.program).labels[k], rows, first)
    way = Ways(p, k, eqn, labels, (), np.add if is_sum else None).best()
    local = [a for a in params["axes"] if way[0].cuts[a].axes]
    if not local:
        return cut_in(p, eqn, way)
    x, value, *indices = [p.operand(i, lay) for i, lay in zip(eqn.ins, way, strict=False)]
    base = way[0]
    for n, a in enumerate(params["axes"]):
        if a in local:
            cut = base.cuts[a]

            def length(device: int, cut: Cut = cut) -> int:
                at = p.mesh.index(device, cut.axes)
                return cut.bounds[at + 1] - cut.bounds[at]

            indices[n] = inside(p, indices[n], cut, length)[1]
    found = x
    for a in local:
        found = _longer(p, found, a)
    wide = Layout(p.mesh, p.values[found].layout.cuts, way[-1].partial)
    written = p.local(eqn.prim, [found, value, *indices], params, p.values[found].aval, wide)
    start, step = (0,) * aval.ndim, (1,) * aval.ndim
    return p.local(
        structure.slice_,
        [written],
        lambda d: {"start": start, "size": base.local_shape(d), "step": step},
        eqn.aval,
        way[-1],
    )


def _longer(p: Partition, x: int, axis: int) -> int:
    """Add a row to each part, for what goes elsewhere."""
    aval, layout = p.values[x]
    cut = layout.cuts[axis]
    pieces = [*zip(cut.bounds, cut.bounds[1:], strict=False)]
    row = Cut(cut.axes, (*[0] * len(pieces), 1), ((0, 1),) * len(pieces))
    more = Cut(cut.axes, (*cut.bounds[:-1], cut.bounds[-1] + 1), tuple([(a, b + 1) for a, b in pieces]))
    rows = full(p, lambda d: 0, aval.dtype, layout.with_cut(axis, row))
    found = layout.with_cut(axis, more)
    return p.local(structure.concat, [x, rows], {"axis": axis}, aval_of(found.shape, aval.dtype), found)
