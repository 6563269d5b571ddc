"""Operations that are cut by the labels of their records: the best of the ways that these allow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from ..._lazy.graph.aval import Aval
from ..._lazy.graph.primitive import Dims, Primitive
from ..._lazy.graph.program import Eqn
from ..._lazy.ops import contraction, elementwise
from ..._lazy.schedule.axes import axes_of
from ..layouts import Cut, Layout, even, meet, move, replicated, stand_twice, uncut
from ..partition import Partition, sized

# What a byte that moves costs against one that an operation reads or writes.
_MOVED = 8.0
# Ways to cut an operation that are looked at, at the most.
_WAYS = 512
# Bytes up to which a sum is taken sooner where that saves waiting for messages once more.
_SOON = 1 << 17
# By which of their operands, the others being whole, operations are linear.
_LINEAR: dict[Primitive, tuple[int, ...]] = {
    elementwise.mul: (0, 1),
    elementwise.div: (0,),
    contraction.matmul: (0, 1),
}


def by_labels(p: Partition, k: int, eqn: Eqn) -> int:
    """Cut an operation as the labels of its record allow."""
    labels = axes_of(p.program).labels.get(k)
    if eqn.prim.kind == "view" and isinstance(eqn.aval, tuple):
        return _passed(p, eqn)
    if labels is None:
        return p.whole(k, eqn)
    return cut_by(p, k, eqn, labels)


def _passed(p: Partition, eqn: Eqn) -> int:
    """Leave operands, the first of which are the results, as they are."""
    layouts = [p.layout(i) or replicated(p.mesh, p.program.aval(i).shape) for i in eqn.ins]
    layouts = [lay.joined() for lay in layouts]
    ins = [p.operand(i, lay) for i, lay in zip(eqn.ins, layouts, strict=True)]
    return p.local(eqn.prim, ins, dict(eqn.params), eqn.aval, tuple(layouts[: len(eqn.aval)]))


def cut_by(p: Partition, k: int, eqn: Eqn, labels: Dims) -> int:
    """Cut an operation in the best of the ways that labels allow."""
    # A sum that has not been taken may be taken before, or be carried on.
    sums = dict.fromkeys([carried_by(p, eqn), ()])
    found = [Ways(p, k, eqn, labels, carried, eqn.prim.reducer) for carried in sums]
    best = [ways.best() for ways in found]
    costs = [ways.cost(way) for ways, way in zip(found, best, strict=True)] if len(found) > 1 else [0.0]
    return cut_in(p, eqn, best[costs.index(min(costs))])


def cut_in(p: Partition, eqn: Eqn, way: Sequence[Layout]) -> int:
    """Cut an operation in a way: these are the layouts of its operands and its results."""
    ins = [p.operand(i, layout) for i, layout in zip(eqn.ins, way, strict=False)]
    found = way[len(ins) :]
    if not isinstance(eqn.aval, Aval):
        return p.local(eqn.prim, ins, dict(eqn.params), eqn.aval, tuple(found))
    return p.local(eqn.prim, ins, sized(dict(eqn.params), found[0]), eqn.aval, found[0])


def carried_by(p: Partition, eqn: Eqn) -> tuple[tuple[str, np.ufunc], ...]:
    """Return what stays a sum that has not been taken: the operation may be done with its terms."""
    layouts = [p.layout(i) for i in eqn.ins]
    terms = {lay.partial for lay in layouts if lay is not None and lay.partial}
    if len(terms) != 1 or not isinstance(eqn.aval, Aval):
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
    aval = p.program.aval(eqn.ins[where[0]])
    if eqn.aval.size > aval.size:  # a later sum would move more
        return ()
    rounds = [0 if (number := p.number[i]) is None else p.rounds[number] for i in eqn.ins]
    if aval.nbytes <= _SOON and max(rounds) > max([rounds[n] for n in where]):
        return ()  # what the operation waits for anyway, this sum can move with
    return partial if is_linear or is_sum or (len(where) == 1 and where[0] in _LINEAR.get(prim, ())) else ()


class Ways:
    """The ways in which an operation could be cut.

    Attributes
    ----------
    reducer
        What joins the results where an axis is cut that they lack, if anything does.
    may_be_empty
        Whether there is a result of nothing.
    """

    def __init__(
        self,
        p: Partition,
        k: int,
        eqn: Eqn,
        labels: Dims,
        carried: Any,
        reducer: np.ufunc | None,
        may_be_empty: bool | None = None,
    ) -> None:
        self.p, self.k, self.eqn, self.labels, self.carried = p, k, eqn, labels, carried
        self.reducer = reducer
        self.may_be_empty = (
            reducer is None or reducer.identity is not None if may_be_empty is None else may_be_empty
        )
        self.mesh = p.mesh
        results = [eqn.aval] if isinstance(eqn.aval, Aval) else eqn.aval
        self.avals = [*[p.program.aval(i) for i in eqn.ins], *results]
        self.layouts = [p.layout(i) for i in eqn.ins]
        self.unknown = [None] * len(results)
        self.sizes = {
            f: n
            for aval, own in zip(self.avals, labels, strict=True)
            for f, n in zip(own, aval.shape, strict=True)
        }
        self.kept = {*labels[-1]}.intersection(*labels[len(eqn.ins) :])

    def _options(self) -> dict[int, list[Cut]]:
        """Return by label how its axis could be cut."""
        found: dict[int, dict[Cut, None]] = {f: {} for f in self.sizes if f >= 0}
        freed: dict[tuple[str, ...], None] = {}
        seen = [*zip(self.labels, [*self.layouts, *self.unknown], strict=True)]
        seen += zip(self.labels, [self.p.wishes[i] for i in (*self.eqn.ins, self.k)], strict=False)
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
        if self.p.decided:
            self._decide(found)
        return {f: [c for c in cuts if self._is_possible(f, c)] for f, cuts in found.items() if cuts}

    def _decide(self, found: dict[int, dict[Cut, None]]) -> None:
        """Leave of the cuts of axes of which priorities decide the one that is welcome."""
        classes = axes_of(self.p.program).alike
        for i, own in zip((*self.eqn.ins, self.k), self.labels, strict=False):
            for f, cls, wish in zip(own, classes[i], self.p.wishes[i].cuts, strict=False):
                if f >= 0 and cls in self.p.decided:
                    found[f] = {wish: None} if wish.axes else {}

    def _is_possible(self, f: int, cut: Cut) -> bool:
        if any(own.count(f) > 1 for own in self.labels) or meet(cut.axes, [a for a, _ in self.carried]):
            return False
        if f in self.kept:
            return True
        if self.reducer is None or (self.carried and self.reducer is not np.add):
            return False
        pieces = [b - a for a, b in zip(cut.bounds, cut.bounds[1:], strict=False)]
        return self.may_be_empty or min(pieces) > 0

    def _assignments(self) -> Iterator[dict[int, Cut]]:
        options = self._options()
        while math.prod(len(cuts) + 1 for cuts in options.values()) > _WAYS:
            longest = max(options, key=lambda f: len(options[f]))
            options[longest].pop()
        for chosen in product(*[[*cuts, None] for cuts in options.values()]):
            some = {f: c for f, c in zip(options, chosen, strict=True) if c is not None}
            axes = [a for c in some.values() for a in c.axes]
            if not stand_twice(axes):
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
                partial = (*self.carried, *[(a, self.reducer) for a in summed])
            found.append(Layout(self.mesh, cuts, partial))
        return found

    def cost(self, layouts: Sequence[Layout]) -> float:
        """Return what a way costs a device: bytes that move, and bytes that it reads and writes."""
        total = 0.0
        for before, after, aval in zip([*self.layouts, *self.unknown], layouts, self.avals, strict=True):
            part = after.largest * aval.dtype.itemsize
            total += part
            if before is not None and before != after:
                total += _MOVED * move(before, after).elements * aval.dtype.itemsize
        *_, result = layouts
        summed = [a for a, _ in result.partial]
        if self.k in self.p.targets:
            target = self.p.targets[self.k]
            if target != result:
                total += _MOVED * move(result, target).elements * self.avals[-1].dtype.itemsize
        elif summed:
            many = self.mesh.length(tuple(summed))
            # A result that is welcome to be cut over the same axes is scattered, not given to all.
            scattered = {*summed} <= {a for c in self.p.wishes[self.k].cuts for a in c.axes}
            total += _MOVED * (1 if scattered else 2) * part * (many - 1) / many
        if self.eqn.prim is contraction.matmul:
            length = self.avals[0].shape[-1]
            share = layouts[0].largest / max(self.avals[0].size, 1)
            columns = result.largest / max(self.avals[-1].size, 1)
            total += min(share, 1) * columns * self.avals[-1].size * length / 8
        return total

    def best(self) -> list[Layout]:
        """Return the layouts of the operands and the results that cost least."""
        ways = [self._layouts_of(assigned) for assigned in self._assignments()]
        return min(ways, key=self.cost) if len(ways) > 1 else ways[0]
