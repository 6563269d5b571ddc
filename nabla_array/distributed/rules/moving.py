"""Operations that move elements: as many as can stay where they are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..._lazy.graph.program import Eqn
from ..layouts import Cut, Layout, even, uncut
from ..partition import Partition, sized
from .ways import by_labels, carried_by


def _joined_or_linear(p: Partition, eqn: Eqn, layout: Layout) -> Layout:
    """Return a layout without what is still to be joined, unless the operation may be done before."""
    return layout if not layout.partial or carried_by(p, eqn) else layout.joined()


def slice_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Leave the elements where they are: the pieces of the result have other bounds."""
    (i,), params = eqn.ins, dict(eqn.params)
    layout = p.layout(i)
    if layout is None or not layout.varies:
        return by_labels(p, k, eqn)
    layout = _joined_or_linear(p, eqn, layout)
    rows = [*zip(params["start"], params["size"], params["step"], strict=True)]
    for axis, (cut, (_, size, by)) in enumerate(zip(layout.cuts, rows, strict=True)):
        if cut.axes and (by < 0 or size == 0):
            layout = layout.with_cut(axis, uncut(cut.bounds[-1]))
    source, base = p.operand(i, layout), layout
    cuts = [
        Cut(c.axes, bounds_within(c, *row)) if c.axes else uncut(row[1])
        for c, row in zip(base.cuts, rows, strict=True)
    ]
    found = Layout(p.mesh, cuts, base.partial)
    local = _slices_of(base, found, params["start"], params["step"])
    return p.local(
        eqn.prim,
        [source],
        lambda d: {**local(d), "size": found.local_shape(d)},
        eqn.aval,
        found,
    )


def bounds_within(cut: Cut, start: int, size: int, step: int) -> tuple[int, ...]:
    """Return which of `size` elements from `start` by `step` each piece of a cut axis has."""
    return (0, *[min(max(-(-(b - start) // step), 0), size) for b in cut.bounds[1:-1]], size)


def _slices_of(base: Layout, found: Layout, start: tuple[int, ...], step: tuple[int, ...]) -> Any:
    """Return what gives a device's start of a slice, `found`, within its part of `base`."""

    def params(device: int) -> dict[str, Any]:
        firsts = []
        for (lo, hi), (first, last), begin, by in zip(
            base.boxes[device], found.boxes[device], start, step, strict=True
        ):
            firsts.append(min(begin + first * by - lo, hi - lo) if last > first or by < 0 else 0)
        return {"start": tuple(firsts), "step": step}

    return params


def update_slice_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Give each device those of the new elements that go into its part."""
    params = dict(eqn.params)
    shape, size = p.program.aval(eqn.ins[0]).shape, p.program.aval(eqn.ins[1]).shape
    before = p.layout(eqn.ins[0])
    base = (p.wishes[k] if before is None or not before.varies else before).joined()
    rows = [*zip(params["start"], size, params["step"], strict=True)]
    for axis, (_, n, by) in enumerate(rows):
        if base.cuts[axis].axes and (by < 0 or n == 0):
            base = base.with_cut(axis, uncut(shape[axis]))
    cuts = [
        Cut(c.axes, bounds_within(c, *row)) if c.axes else uncut(row[1])
        for c, row in zip(base.cuts, rows, strict=True)
    ]
    part = Layout(p.mesh, cuts)
    ins = [p.operand(eqn.ins[0], base), p.operand(eqn.ins[1], part)]
    return p.local(eqn.prim, ins, _slices_of(base, part, params["start"], params["step"]), eqn.aval, base)


def concat_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Give each device those elements of each operand that are in its part of the result."""
    axis = dict(eqn.params)["axis"]
    layouts = [lay for lay in map(p.layout, eqn.ins) if lay is not None and lay.varies]
    if not any(lay.cuts[axis].axes for lay in layouts):
        return by_labels(p, k, eqn)
    like = max(layouts, key=lambda lay: math.prod(lay.shape)).joined()
    shape = p.program.aval(k).shape
    found = Layout(
        p.mesh,
        [c if n == c.bounds[-1] else even(p.mesh, c.axes, n) for c, n in zip(like.cuts, shape, strict=True)],
    )
    ins, offset = [], 0
    for i in eqn.ins:
        n = p.program.aval(i).shape[axis]
        cut = found.cuts[axis]
        bounds = tuple([min(max(b - offset, 0), n) for b in cut.bounds])
        ins.append(p.operand(i, found.with_cut(axis, Cut(cut.axes, bounds) if cut.axes else uncut(n))))
        offset += n
    return p.local(eqn.prim, ins, dict(eqn.params), eqn.aval, found)


def _groups(before: tuple[int, ...], after: tuple[int, ...]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the axes of two shapes of one size between the places where both have the same product."""
    i = j = 0
    while i < len(before) or j < len(after):
        mine: list[int] = []
        theirs: list[int] = []
        m = n = 1
        while not mine or m != n or not theirs:
            if (m <= n or j == len(after)) and i < len(before):
                mine.append(i)
                m, i = m * before[i], i + 1
            elif j < len(after):
                theirs.append(j)
                n, j = n * after[j], j + 1
            else:
                break
        yield mine, theirs


def reshape_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Keep cuts of axes that stay, and of the first of those that become others."""
    (i,) = eqn.ins
    layout, before, after = p.layout(i), p.program.aval(i).shape, eqn.aval.shape
    if layout is None or not layout.varies or 0 in before:
        return by_labels(p, k, eqn)
    layout = _joined_or_linear(p, eqn, layout)
    cuts = {j: uncut(n) for j, n in enumerate(after)}
    for mine, theirs in _groups(before, after):
        all_mine, mine = mine, [a for a in mine if before[a] != 1]
        theirs = [a for a in theirs if after[a] != 1]
        for a in all_mine:
            if a not in mine[:1]:
                layout = layout.with_cut(a, uncut(before[a]))
        if not mine or not layout.cuts[mine[0]].axes:
            continue
        first = mine[0]
        inner = math.prod([before[a] for a in mine[1:]])
        outer = math.prod([after[a] for a in theirs[1:]])
        for cut in (layout.cuts[first], even(p.mesh, layout.cuts[first].axes, before[first])):
            bounds = [b * inner for b in cut.bounds]
            if all(b % outer == 0 for b in bounds):
                break
        else:
            rows = even(p.mesh, cut.axes, after[theirs[0]])
            bounds = [b * outer for b in rows.bounds]
            if any(b % inner for b in bounds):
                layout = layout.with_cut(first, uncut(before[first]))
                continue
            cut = Cut(cut.axes, tuple([b // inner for b in bounds]))
        layout = layout.with_cut(first, cut)
        cuts[theirs[0]] = Cut(cut.axes, tuple([b // outer for b in bounds]))
    found = Layout(p.mesh, cuts.values(), layout.partial)
    return p.local(eqn.prim, [p.operand(i, layout)], sized(dict(eqn.params), found), eqn.aval, found)
