"""Sorting along an axis that is cut: neighbours merge what each has sorted, and share it out again.

Each device sorts its part. Then, in as many rounds as there are devices, pairs of neighbours, whose first
are even and odd in turn, get each other's part, merge both, and keep their half. In all a device
receives on average what an `all_gather` would give it, but never has more than two parts, and does a share
of the work. Equal elements never pass each other, so that the order is the stable one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._lazy.graph.aval import aval_of
from ..._lazy.graph.primitive import Primitive
from ..._lazy.graph.program import Eqn
from ..._lazy.ops import elementwise, ordering, structure
from ..._lazy.ops.indexing import gather
from ..layouts import Cut, Layout, even
from ..partition import Partition
from .local import INTP, done, full
from .ways import by_labels

# Parts that are merged, at the most, and bytes from which that is worth the messages.
_PARTS, _LARGE = 64, 1 << 16


def sort_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Sort along an axis that is cut, where no other axis can be cut instead."""
    (i,), params, aval = eqn.ins, dict(eqn.params), p.program.aval(eqn.ins[0])
    layout, axis = p.layout(i), params["axis"]
    over = () if layout is None else layout.cuts[axis].axes
    many = p.mesh.length(over)
    if layout is None or not 1 < many <= _PARTS or aval.dtype.kind not in "biufc" or aval.nbytes < _LARGE:
        return by_labels(p, k, eqn)
    if any(n >= many and not layout.cuts[a].axes for a, n in enumerate(aval.shape) if a != axis):
        return by_labels(p, k, eqn)
    base = layout.joined().with_cut(axis, even(p.mesh, over, aval.shape[axis]))
    return _Merging(p, eqn.prim, base, params).of(p.operand(i, base))


class _Merging:
    """How a value is sorted, or how it would be: then the elements take their places along."""

    def __init__(self, p: Partition, prim: Primitive, base: Layout, params: dict[str, Any]) -> None:
        self.p, self.base = p, base
        self.axis = axis = params["axis"]
        self.is_order = prim is ordering.argsort
        self.descending, self.is_stable = params["descending"], params["stable"]
        # Stable sorts merge what is in order already.
        self.options: dict[str, Any] = {"axis": axis, "descending": self.descending, "stable": True}
        cut = base.cuts[axis]
        self.many, self.step = len(cut.pieces), cut.bounds[1]
        # Parts of one size: what fills them up comes last, as it is in the last places.
        bounds = tuple([n * self.step for n in range(self.many + 1)])
        self.parts = base.with_cut(axis, Cut(cut.axes, bounds))

    def of(self, x: int) -> int:
        """Add what sorts a value; returns its number."""
        values = [self._filled(x)]
        if self.is_order:
            values.append(self._places(values[0]))
        values = self._sorted(values, self.parts, self.is_stable)
        for n in range(self.many):
            held = self._held(n % 2)
            if held is not None:
                both = self._sorted([self.p.moved(v, held) for v in values], held)
                values = [self._kept(v, held, n % 2) for v in both]
        return self._slice(values[-1], self.base, lambda d: 0)

    def _filled(self, x: int) -> int:
        aval = self.p.values[x].aval
        rows = [self.step - (b - a) for a, b in self.base.cuts[self.axis].pieces]
        if not any(rows):
            return x
        over = self.base.cuts[self.axis].axes
        more = self.base.with_cut(self.axis, Cut(over, tuple(np.cumsum([0, *rows]).tolist())))
        last = full(self.p, lambda d: _last(aval.dtype, self.descending), aval.dtype, more)
        wide = aval_of(self.parts.shape, aval.dtype)
        return self.p.local(structure.concat, [x, last], {"axis": self.axis}, wide, self.parts)

    def _places(self, x: int) -> int:
        p, parts = self.p, self.parts
        own = done(p, ordering.argsort, [full(p, lambda d: 0, INTP, parts)], parts, **self.options)
        over = parts.cuts[self.axis].axes
        start = full(p, lambda d: p.mesh.index(d, over) * self.step, INTP, parts)
        return done(p, elementwise.add, [own, start], parts)

    def _sorted(self, values: list[int], layout: Layout, stable: bool = True) -> list[int]:
        """Sort what each device has, and take the places along."""
        options = {**self.options, "stable": stable}
        if not self.is_order:
            return [done(self.p, ordering.sort, values, layout, **options)]
        order = done(self.p, ordering.argsort, values[:1], layout, **options)
        return [self._taken(v, order, layout) for v in values]

    def _taken(self, x: int, order: int, layout: Layout) -> int:
        last = len(layout.cuts) - 1
        there = (*[a for a in range(last + 1) if a != self.axis], self.axis)
        back = (*range(self.axis), last, *range(self.axis, last))
        turned = Layout(self.p.mesh, [layout.cuts[a] for a in there])
        x, order = (done(self.p, structure.permute, [v], turned, axes=there) for v in (x, order))
        found = done(self.p, gather, [x, order], turned, axes=(last,), batch=last)
        return done(self.p, structure.permute, [found], layout, axes=back)

    def _held(self, first: int) -> Layout | None:
        """Return the layout in which each device has both parts of its pair; None where there is no pair."""
        if first + 1 >= self.many:
            return None
        cut, spans = self.parts.cuts[self.axis], []
        for own in range(self.many):
            left = own - (own - first) % 2
            spans.append((max(left, 0) * self.step, min(left + 2, self.many) * self.step))
        return self.parts.with_cut(self.axis, cut._replace(held=tuple(spans)))

    def _kept(self, x: int, held: Layout, first: int) -> int:
        """Keep the half of a pair that is a device's: of a part without a neighbour all."""

        def start(device: int) -> int:
            own = self.p.mesh.index(device, held.cuts[self.axis].axes)
            return (own - max(own - (own - first) % 2, 0)) * self.step

        return self._slice(x, self.parts, start)

    def _slice(self, x: int, layout: Layout, start: Any) -> int:
        zeros, steps = [0] * len(layout.cuts), (1,) * len(layout.cuts)

        def params(device: int) -> dict[str, Any]:
            starts = [*zeros]
            starts[self.axis] = start(device)
            return {"start": tuple(starts), "size": layout.local_shape(device), "step": steps}

        aval = aval_of(layout.shape, self.p.values[x].aval.dtype)
        return self.p.local(structure.slice_, [x], params, aval, layout)


def _last(dtype: np.dtype, descending: bool) -> Any:
    """Return what no element of a dtype comes after."""
    if dtype.kind in "fc":
        return complex(np.nan, np.nan) if dtype.kind == "c" else np.nan
    if dtype.kind == "b":
        return not descending
    return np.iinfo(dtype).min if descending else np.iinfo(dtype).max
