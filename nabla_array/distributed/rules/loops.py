"""Loops and branches: each device runs its own, where the bodies need nothing of other devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..._lazy.graph.program import Eqn, Program
from ..._lazy.ops.control import SHARED
from ..layouts import Cut, Layout, even, meet, part_of, replicated, uncut
from ..partition import Local, Partition
from ..propagation import wishes_of
from ..spmd import device_program
from .table import partition

# Times that the layouts of a carry are found anew, at the most.
_TIMES = 4


class Body(NamedTuple):
    """A program within a program, for the devices of a mesh, and the layouts of its outputs."""

    inner: Partition
    outputs: tuple[Layout, ...]

    def on(self, device: int) -> Program:
        """Return what a device does."""
        made: Any = self.inner.made
        inputs = tuple(range(len(self.inner.program.inputs)))
        return device_program(self.inner, made, inputs, self.inner.outputs, device)[0]


def _body(
    p: Partition, program: Program, inputs: Sequence[Layout], outputs: Sequence[Layout] = ()
) -> Body | None:
    """Return a body of which inputs and the first outputs lie like that; None where devices need others."""
    inner = partition(p.mesh, program, inputs)
    layouts = [*outputs]
    for i in program.outputs[len(outputs) :]:
        known = inner.layout(i)
        layouts.append(replicated(p.mesh, program.aval(i).shape) if known is None else known.joined())
    inner.outputs = tuple(map(inner.operand, program.outputs, layouts))
    return Body(inner, tuple(layouts)) if all(isinstance(m, Local) for m in inner.made) else None


def _carried(p: Partition, program: Program, inputs: Sequence[Layout], carry: int) -> Body | None:
    """Return a body that hands on its first outputs as its first inputs."""
    found = [*inputs]
    for _ in range(_TIMES):
        inner = partition(p.mesh, program, found)
        after = [inner.layout(i) or b for i, b in zip(program.outputs, found[:carry], strict=False)]
        new = [a.joined() if a.joined().varies else b for a, b in zip(after, found, strict=False)]
        if new == found[:carry]:
            break
        found[:carry] = new
    return _body(p, program, found, found[:carry])


def _operands(p: Partition, eqn: Eqn) -> list[Layout]:
    known = [(p.layout(i), p.program.aval(i).shape) for i in eqn.ins]
    return [replicated(p.mesh, shape) if lay is None else lay.joined() for lay, shape in known]


def _along(p: Partition, program: Program, layouts: Sequence[Layout]) -> Iterator[list[Layout]]:
    """Yield layouts of a body's inputs: as they are, alike for axes that are one, along fewer mesh axes."""
    varies = sorted(frozenset().union(*[lay.varies for lay in layouts]))
    for some in (varies, *[[a] for a in varies if len(varies) > 1]):
        found = [_only(lay, some) for lay in layouts]
        yield found
        yield wishes_of(p.mesh, program, found)[: len(found)]


def _only(layout: Layout, axes: Sequence[str]) -> Layout:
    cuts = [c if {part_of(a)[0] for a in c.axes} <= {*axes} else uncut(c.bounds[-1]) for c in layout.cuts]
    return Layout(layout.mesh, cuts)


def _without(layout: Layout, axis: int) -> Layout:
    """Return the layout of slices along an axis: what that is cut over cuts their longest axis, if it can."""
    cuts = [c for a, c in enumerate(layout.cuts) if a != axis]
    sizes = [0 if c.axes else c.bounds[-1] for c in cuts]
    over = layout.cuts[axis].axes
    if over and max(sizes, default=0) >= layout.mesh.length(over):
        longest = sizes.index(max(sizes))
        cuts[longest] = even(layout.mesh, over, sizes[longest])
    return Layout(layout.mesh, cuts)


def _with(layout: Layout, axis: int, cut: Cut) -> Layout:
    return Layout(layout.mesh, [*layout.cuts[:axis], cut, *layout.cuts[axis:]])


def scan_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Scan on each device, along an axis that is whole."""
    params = dict(eqn.params)
    n, program, steps = params["carry"], params["program"], uncut(params["length"])
    layouts = _operands(p, eqn)
    for i, axis in enumerate(params["x_axes"], n):
        layouts[i] = _without(layouts[i], axis)
    for inner in _along(p, program, layouts):
        body = _carried(p, program, inner, n)
        if body is not None:
            inner[:n] = body.outputs[:n]
            for i, axis in enumerate(params["x_axes"], n):
                inner[i] = _with(inner[i], axis, steps)
            ys = zip(body.outputs[n:], params["y_axes"], strict=True)
            results = (*body.outputs[:n], *[_with(lay, axis, steps) for lay, axis in ys])
            return _run(p, eqn, inner, results, program=body)
    return p.whole(k, eqn)


def _run(
    p: Partition, eqn: Eqn, layouts: Sequence[Layout], results: tuple[Layout, ...], **bodies: Any
) -> int:
    """Add a loop, or a branch, that each device runs with programs of its own."""
    ins = [p.operand(i, lay) for i, lay in zip(eqn.ins, layouts, strict=True)]

    def params(device: int) -> dict[str, Any]:
        own = {
            name: tuple([b.on(device) for b in body]) if isinstance(body, list) else body.on(device)
            for name, body in bodies.items()
        }
        return {**dict(eqn.params), **own}

    return p.local(eqn.prim, ins, params, eqn.aval, results)


def _rows(layouts: Sequence[Layout], lead: int, are_rows: Sequence[bool]) -> list[Layout]:
    """Return layouts of which all of those that have rows have them cut alike."""
    some = [lay.cuts[:lead] for lay, r in zip(layouts, are_rows, strict=True) if r]
    rows = max(some, key=lambda cuts: sum(len(c.axes) for c in cuts))
    over = {a for c in rows for a in c.axes}
    found = []
    for lay, r in zip(layouts, are_rows, strict=True):
        rest = [uncut(c.bounds[-1]) if meet(over, c.axes) else c for c in lay.cuts[lead:]]
        found.append(Layout(lay.mesh, [*rows, *rest]) if r else lay)
    return found


def while_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Loop on each device: all alike, or where rows have conditions of their own, each over its rows."""
    params = dict(eqn.params)
    n, lead = params["carry"], params["cond"].aval(params["cond"].outputs[0]).ndim
    for layouts in _along(p, params["body"], _operands(p, eqn)):
        layouts = _rows(layouts, lead, [*[True] * n, *params["rows"]])
        body = _carried(p, params["body"], layouts, n)
        if body is None:
            continue
        layouts[:n] = body.outputs
        cond = _body(p, params["cond"], layouts)
        rows = layouts[0].cuts[:lead]
        if cond is not None and all(lay.cuts[:lead] == rows for lay in (*cond.outputs, *layouts[:n])):
            return _run(p, eqn, layouts, body.outputs, body=body, cond=cond)
    return p.whole(k, eqn)


def switch_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Branch on each device: all alike, or where rows have branches of their own, each over its rows."""
    params = dict(eqn.params)
    lead, roles, sums = params["lead"], params["roles"], params["sums"]
    index, *operands = _operands(p, eqn)
    for inner in _along(p, params["branches"][0], operands):
        *inner, index = _rows([*inner, index], lead, [*[r != SHARED for r in roles], True])
        rows = index.cuts[:lead]
        if any(sums) and any(c.axes for c in rows):
            continue
        bodies: list[Body | None] = []
        for branch in params["branches"]:
            known = bodies[0].outputs if bodies and bodies[0] is not None else ()
            bodies.append(_body(p, branch, inner, known))
        first = bodies[0]
        if first is None or None in bodies:
            continue
        if all(s or lay.cuts[:lead] == rows for lay, s in zip(first.outputs, sums, strict=True)):
            return _run(p, eqn, [index, *inner], first.outputs, branches=bodies)
    return p.whole(k, eqn)
