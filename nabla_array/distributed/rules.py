"""How operations are cut: by the labels of their records, or by a rule of their own.

A rule is `(partition, k, eqn) -> number`: it adds what computes equation `k` of the program to the partition,
and returns the number of its result there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from .._lazy.graph.primitive import Dims, Primitive
from .._lazy.graph.program import Eqn
from .._lazy.ops import contraction, elementwise, structure
from .._lazy.ops.placement import reshard, transfer
from .._lazy.schedule.axes import axes_of
from .layouts import Cut, Layout, even, move, uncut, volume
from .partition import Partition, everywhere, sized

Rule = Callable[[Partition, int, Eqn], int]

# What a byte that moves costs against one that an operation reads or writes.
_MOVED = 8.0
# Ways to cut an operation that are looked at, at the most.
_WAYS = 512
# By which of their operands, the others being whole, operations are linear.
_LINEAR: dict[Primitive, tuple[int, ...]] = {
    elementwise.mul: (0, 1),
    elementwise.div: (0,),
    contraction.matmul: (0, 1),
}


def rule_of(prim: Primitive) -> Rule:
    """Return the rule of an operation."""
    return RULES.get(prim, by_labels)


def by_labels(p: Partition, k: int, eqn: Eqn) -> int:
    """Cut an operation as the labels of its record allow."""
    labels = axes_of(p.program).labels.get(k)
    if labels is None:
        return p.whole(k, eqn)
    return cut_by(p, k, eqn, labels)


def cut_by(p: Partition, k: int, eqn: Eqn, labels: Dims) -> int:
    """Cut an operation in the best of the ways that labels allow."""
    carried = _carried(p, eqn)
    *operands, _ = ways = _Ways(p, k, eqn, labels, carried).best()
    ins = [p.operand(i, layout) for i, layout in zip(eqn.ins, operands, strict=True)]
    return p.local(eqn.prim, ins, sized(dict(eqn.params), ways[-1]), eqn.aval, ways[-1])


def _carried(p: Partition, eqn: Eqn) -> tuple[tuple[str, np.ufunc], ...]:
    """Return what stays a sum that has not been taken: the operation may be done with its terms."""
    layouts = [p.layout(i) for i in eqn.ins]
    terms = {lay.partial for lay in layouts if lay is not None and lay.partial}
    if len(terms) != 1:
        return ()
    (partial,) = terms
    if any(f is not np.add for _, f in partial):
        return ()
    where = [n for n, lay in enumerate(layouts) if lay is not None and lay.partial]
    prim = eqn.prim
    is_linear = (
        prim.transpose is not None and prim.jvp is None and prim.partials is None and len(eqn.ins) == 1
    )
    # The derivative by each operand is a number: it is linear in all of them together.
    is_sum = len(where) == len(eqn.ins) and all([type(d) is int for d in prim.partials or (None,)])
    if eqn.aval.size > p.program.aval(eqn.ins[where[0]]).size:  # a later sum would move more
        return ()
    return partial if is_linear or is_sum or (len(where) == 1 and where[0] in _LINEAR.get(prim, ())) else ()


class _Ways:
    """The ways in which an operation could be cut."""

    def __init__(self, p: Partition, k: int, eqn: Eqn, labels: Dims, carried: Any) -> None:
        self.p, self.k, self.eqn, self.labels, self.carried = p, k, eqn, labels, carried
        self.mesh = p.mesh
        self.avals = [p.program.aval(i) for i in (*eqn.ins, k)]
        self.layouts = [p.layout(i) for i in eqn.ins]
        self.sizes = {
            f: n
            for aval, own in zip(self.avals, labels, strict=True)
            for f, n in zip(own, aval.shape, strict=True)
        }
        self.kept = {*labels[-1]}

    def _options(self) -> dict[int, list[Cut]]:
        """Return by label how its axis could be cut."""
        found: dict[int, dict[Cut, None]] = {f: {} for f in self.sizes if f >= 0}
        freed: dict[tuple[str, ...], None] = {}
        seen = [*zip(self.labels, [*self.layouts, None], strict=True)]
        seen += zip(self.labels, [self.p.wishes[i] for i in (*self.eqn.ins, self.k)], strict=True)
        for own, layout in seen:
            for f, cut in zip(own, layout.cuts if layout is not None else (), strict=False):
                if f >= 0 and cut.axes:
                    found[f].setdefault(cut)
                elif cut.axes:
                    freed.setdefault(cut.axes)
        for axes in freed:  # what an axis that has to be whole is cut over may cut another one
            for f, cuts in found.items():
                if f in self.kept and self.sizes[f] >= self.mesh.length(axes):
                    cuts.setdefault(even(self.mesh, axes, self.sizes[f]))
        return {f: [c for c in cuts if self._is_possible(f, c)] for f, cuts in found.items() if cuts}

    def _is_possible(self, f: int, cut: Cut) -> bool:
        if any(own.count(f) > 1 for own in self.labels) or {*cut.axes} & {a for a, _ in self.carried}:
            return False
        if f in self.kept:
            return True
        reducer = self.eqn.prim.reducer
        if reducer is None or (self.carried and reducer is not np.add):
            return False
        pieces = [b - a for a, b in zip(cut.bounds, cut.bounds[1:], strict=False)]
        return reducer.identity is not None or min(pieces) > 0

    def _assignments(self) -> Iterator[dict[int, Cut]]:
        options = self._options()
        while math.prod(len(cuts) + 1 for cuts in options.values()) > _WAYS:
            longest = max(options, key=lambda f: len(options[f]))
            options[longest].pop()
        for chosen in product(*[[*cuts, None] for cuts in options.values()]):
            some = {f: c for f, c in zip(options, chosen, strict=True) if c is not None}
            axes = [a for c in some.values() for a in c.axes]
            if len({*axes}) == len(axes):
                yield some

    def _layouts_of(self, assigned: Mapping[int, Cut]) -> list[Layout]:
        """Return the layouts of the operands and the result for cuts of the labels."""
        found = []
        for n, (aval, own) in enumerate(zip(self.avals, self.labels, strict=True)):
            cuts = [assigned.get(f) or uncut(size) for f, size in zip(own, aval.shape, strict=True)]
            partial: Any = ()
            if n < len(self.layouts):
                layout = self.layouts[n]
                partial = self.carried if layout is not None and layout.partial else ()
            else:
                summed = [a for f, c in assigned.items() if f not in self.kept for a in c.axes]
                partial = (*self.carried, *[(a, self.eqn.prim.reducer) for a in summed])
            found.append(Layout(self.mesh, cuts, partial))
        return found

    def _cost(self, layouts: Sequence[Layout]) -> float:
        """Return what a way costs a device: bytes that move, and bytes that it reads and writes."""
        total = 0.0
        for before, after, aval in zip([*self.layouts, None], layouts, self.avals, strict=True):
            part = max(map(volume, after.boxes)) * aval.dtype.itemsize
            total += part
            if before is not None and before != after:
                total += _MOVED * move(before, after).elements() * aval.dtype.itemsize
        *_, result = layouts
        summed = [a for a, _ in result.partial if a not in {b for b, _ in self.carried}]
        if summed:
            many = self.mesh.length(tuple(summed))
            total += _MOVED * 2 * part * (many - 1) / many
        if self.eqn.prim is contraction.matmul:
            length = self.avals[0].shape[-1]
            share = volume(layouts[0].boxes[0]) / max(self.avals[0].size, 1)
            columns = volume(result.boxes[0]) / max(self.avals[-1].size, 1)
            total += min(share, 1) * columns * self.avals[-1].size * length / 8
        return total

    def best(self) -> list[Layout]:
        """Return the layouts of the operands and the result that cost least."""
        ways = [self._layouts_of(assigned) for assigned in self._assignments()]
        return min(ways, key=self._cost) if len(ways) > 1 else ways[0]


def _reshard(p: Partition, k: int, eqn: Eqn) -> int:
    (i,) = eqn.ins
    return p.operand(i, dict(eqn.params)["spec"].layout(p.program.aval(i).shape))


def _transfer(p: Partition, k: int, eqn: Eqn) -> int:
    """Take the value where it is: in the host's memory until a device needs its part."""
    number = p.number[eqn.ins[0]]
    return p.operand(eqn.ins[0], everywhere(p.mesh, eqn.aval)) if number is None else number  # type: ignore[arg-type]


def _project(p: Partition, k: int, eqn: Eqn) -> int:
    params = dict(eqn.params)
    number = p.number[eqn.ins[0]]
    assert number is not None
    return p.local(eqn.prim, [number], params, eqn.aval, p.values[number].layout[params["index"]])


def _joined_or_linear(p: Partition, eqn: Eqn, layout: Layout) -> Layout:
    """Return a layout without what is still to be joined, unless the operation may be done before."""
    return layout if not layout.partial or _carried(p, eqn) else layout.joined()


def _slice(p: Partition, k: int, eqn: Eqn) -> int:
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


def _update_slice(p: Partition, k: int, eqn: Eqn) -> int:
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


def _concat(p: Partition, k: int, eqn: Eqn) -> int:
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


def _reshape(p: Partition, k: int, eqn: Eqn) -> int:
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


RULES: dict[Primitive, Rule] = {
    reshard: _reshard,
    transfer: _transfer,
    structure.project: _project,
    structure.slice_: _slice,
    structure.update_slice: _update_slice,
    structure.concat: _concat,
    structure.reshape: _reshape,
}
