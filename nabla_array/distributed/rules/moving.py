"""Operations that move elements: as many as can stay where they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from ..._lazy.graph.program import Eqn
from ..layouts import Cut, Layout, even, uncut
from ..partition import Partition, sized
from .ways import by_labels, carried_by


def _joined_or_linear(p: Partition, eqn: Eqn, layout: Layout) -> Layout:
    """Return a layout without what is still to be joined, unless the operation may be done before."""
    return layout if not layout.partial or carried_by(p, eqn) else layout.joined()


def slice_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Leave the elements where they are: the pieces of the result have other bounds.

    Slices that differ by a shift alone get the same bounds, so that they meet without a move: what a part
    lacks for all of them comes in one. A slice that goes backwards ends in the usual pieces.
    """
    (i,), params = eqn.ins, dict(eqn.params)
    layout = p.layout(i)
    if layout is None or not layout.varies:
        return by_labels(p, k, eqn)
    base = found = _joined_or_linear(p, eqn, layout)
    for axis, (cut, *row) in enumerate(zip(base.cuts, *_rows_of(params), strict=True)):
        start, size, step = row
        bounds: tuple[int, ...] = (0, size)
        if cut.axes and step < 0:
            bounds = even(p.mesh, cut.axes, size).bounds
            base = base.with_cut(axis, _holding(cut, bounds, [start], step))
        elif cut.axes:
            shifted = _shifted(p, i, axis, cut, (start, size, step))
            first = shifted[(len(shifted) - 1) // 2]
            bounds = bounds_within(cut, first, size, step)
            if start != first:
                base = base.with_cut(axis, _holding(cut, bounds, shifted, step))
        found = found.with_cut(axis, Cut(cut.axes, bounds))
    source = p.operand(i, base)
    local = _slices_of(base, found, params["start"], params["step"])
    return p.local(eqn.prim, [source], lambda d: {**local(d), "size": found.local_shape(d)}, eqn.aval, found)


def _rows_of(params: dict[str, Any]) -> tuple[tuple[int, ...], ...]:
    return params["start"], params["size"], params["step"]


def _shifted(p: Partition, i: int, axis: int, cut: Cut, row: tuple[int, int, int]) -> list[int]:
    """Return in order where slices of a value begin that differ from one along an axis by a shift alone."""
    start, size, step = row
    if 2 * size * step < cut.bounds[-1]:  # what has little in common need not meet
        return [start]
    starts = p.slices[i, axis, size, step]
    shortest = min([b - a for a, b in pairwise(cut.bounds) if b > a], default=0)
    middle = starts[(len(starts) - 1) // 2]
    near = [s for s in starts if abs(s - middle) <= shortest]
    return near if start in near else [start]


def _holding(cut: Cut, bounds: tuple[int, ...], starts: Sequence[int], step: int) -> Cut:
    """Return the cut by which each device has all that slices need of which it has these pieces."""
    held = []
    for own, (first, last) in zip(pairwise(cut.bounds), pairwise(bounds), strict=True):
        ends = [s + n * step for s in starts for n in (first, last - 1)]
        held.append((min(ends), max(ends) + 1) if last > first else own)
    return cut._replace(held=tuple(held))


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
    size = p.program.aval(eqn.ins[1]).shape
    before = p.layout(eqn.ins[0])
    base = (p.wishes[k] if before is None or not before.varies else before).joined()
    rows = zip(base.cuts, params["start"], size, params["step"], strict=True)
    cuts = [_written(c, *row) if c.axes else uncut(row[1]) for c, *row in rows]
    part = Layout(p.mesh, cuts)
    ins = [p.operand(eqn.ins[0], base), p.operand(eqn.ins[1], part)]
    return p.local(eqn.prim, ins, _slices_of(base, part, params["start"], params["step"]), eqn.aval, base)


def _written(cut: Cut, start: int, size: int, step: int) -> Cut:
    """Return the cut by which each device has those of the new elements that go into its piece."""
    if step > 0:
        return Cut(cut.axes, bounds_within(cut, start, size, step))
    held = []
    for lo, hi in pairwise(cut.bounds):
        first = max(-((start - hi + 1) // step), 0)
        held.append((min(first, size), max(min((start - lo) // -step + 1, size), min(first, size))))
    return Cut(cut.axes, (*[0] * len(held), size), tuple(held))


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
    """Keep cuts of axes that stay, and of the first of those that become others: another's goes there."""
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
            if a in mine[:1]:
                continue
            over = layout.cuts[a].axes
            layout = layout.with_cut(a, uncut(before[a]))
            if over and mine and not layout.cuts[mine[0]].axes and before[mine[0]] >= p.mesh.length(over):
                layout = layout.with_cut(mine[0], even(p.mesh, over, before[mine[0]]))
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
