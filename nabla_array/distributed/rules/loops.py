"""Loops and branches: each device runs its own, where the bodies need nothing of other devices.

A scan over large arrays whose body does need something is written down step by step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..._lazy.graph.aval import aval_of
from ..._lazy.graph.program import Eqn, Program
from ..._lazy.ops.control import SHARED
from ..._lazy.ops.structure import concat, reshape, several, slice_
from ..layouts import Cut, Layout, even, meet, part_of, replicated, uncut
from ..partition import Local, Moved, Partition
from ..propagation import wishes_of
from ..spmd import device_program
from .local import done
from .table import partition

# Times that the layouts of a carry are found anew, at the most.
_TIMES = 4
# Operations up to which a scan is written down step by step, and bytes of its operands from which.
_STEPS, _LARGE = 1 << 12, 1 << 20


class Body(NamedTuple):
    """A program within a program, for the devices of a mesh, and the layouts of its outputs."""

    inner: Partition
    outputs: tuple[Layout, ...]

    @property
    def is_local(self) -> bool:
        """Whether devices need nothing of each other."""
        return all(isinstance(m, Local) for m in self.inner.made)

    def on(self, device: int) -> Program:
        """Return what a device does."""
        made: Any = self.inner.made
        inputs = tuple(range(len(self.inner.program.inputs)))
        return device_program(self.inner, made, inputs, self.inner.outputs, device)[0]


def _body(p: Partition, program: Program, inputs: Sequence[Layout], outputs: Sequence[Layout] = ()) -> Body:
    """Return a body of which inputs and the first outputs lie like that."""
    inner = partition(p.mesh, program, inputs)
    layouts = [*outputs]
    for i in program.outputs[len(outputs) :]:
        known = inner.layout(i)
        layouts.append(replicated(p.mesh, program.aval(i).shape) if known is None else known.joined())
    inner.outputs = tuple(map(inner.operand, program.outputs, layouts))
    needed, made = {*inner.outputs}, []
    for m in reversed(inner.made):
        if m.out in needed:
            made.append(m)
            needed.update(m.ins if isinstance(m, Local) else (m.value,))
    inner.made = made[::-1]
    return Body(inner, tuple(layouts))


def _carried(p: Partition, program: Program, inputs: Sequence[Layout], carry: int) -> Body:
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
        yield [*found]
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
    bodies = []
    for inner in _along(p, program, layouts):
        body = _carried(p, program, inner, n)
        bodies.append((body, inner))
        inner[:n] = body.outputs[:n]
        for i, axis in enumerate(params["x_axes"], n):
            inner[i] = _with(inner[i], axis, steps)
        if body.is_local:
            ys = zip(body.outputs[n:], params["y_axes"], strict=True)
            results = (*body.outputs[:n], *[_with(lay, axis, steps) for lay, axis in ys])
            return _run(p, eqn, inner, results, program=body)
    body, inner = bodies[0]
    many = params["length"] * len(body.inner.made)
    if 0 < many <= _STEPS and sum(p.program.aval(i).nbytes for i in eqn.ins) >= _LARGE:
        return _step_by_step(p, eqn, body, inner)
    return p.whole(k, eqn)


def _step_by_step(p: Partition, eqn: Eqn, body: Body, layouts: Sequence[Layout]) -> int:
    """Scan by doing what the body does once for each step."""
    params = dict(eqn.params)
    n, x_axes, y_axes, length = (params[name] for name in ("carry", "x_axes", "y_axes", "length"))
    given = [p.operand(i, lay) for i, lay in zip(eqn.ins, layouts, strict=True)]
    carry, xs, rest = given[:n], given[n : n + len(x_axes)], given[n + len(x_axes) :]
    rows: list[list[int]] = [[] for _ in y_axes]
    for t in reversed(range(length)) if params["reverse"] else range(length):
        slices = [_slice_at(p, x, axis, t) for x, axis in zip(xs, x_axes, strict=True)]
        carry, ys = _once(p, body, [*carry, *slices, *rest], n)
        for some, y, axis in zip(rows, ys, y_axes, strict=True):
            some.append(_as_slice(p, y, axis))
    stacks = [
        done(p, concat, some[::-1] if params["reverse"] else some, _with(lay, axis, uncut(length)), axis=axis)
        for some, lay, axis in zip(rows, body.outputs[n:], y_axes, strict=True)
    ]
    numbers = [*carry, *stacks]
    return p.local(several, numbers, {}, eqn.aval, tuple([p.values[i].layout for i in numbers]))


def _once(p: Partition, body: Body, inputs: Sequence[int], carry: int) -> tuple[list[int], list[int]]:
    """Do what a body does; returns its carry and its other outputs."""
    number = dict(enumerate(inputs))
    for m in body.inner.made:
        if isinstance(m, Local):
            value = body.inner.values[m.out]
            number[m.out] = p.local(m.prim, [number[i] for i in m.ins], m.params, *value)
        else:
            assert isinstance(m, Moved)
            number[m.out] = p.moved(number[m.value], m.move.target)
    outs = [number[i] for i in body.inner.outputs]
    return outs[:carry], outs[carry:]


def _slice_at(p: Partition, x: int, axis: int, t: int) -> int:
    """Return a value at a place of an axis that is whole."""
    aval, layout = p.values[x]
    start = tuple([t if a == axis else 0 for a in range(aval.ndim)])
    row, found = layout.with_cut(axis, uncut(1)), _without(layout, axis)

    def params(device: int) -> dict[str, Any]:
        return {"start": start, "size": row.local_shape(device), "step": (1,) * aval.ndim}

    one = p.local(slice_, [x], params, aval_of(row.shape, aval.dtype), row)
    return done(p, reshape, [one], found, shape=found.shape)


def _as_slice(p: Partition, y: int, axis: int) -> int:
    """Return a value with one more axis, of one place."""
    found = _with(p.values[y].layout, axis, uncut(1))
    return done(p, reshape, [y], found, shape=found.shape)


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
        layouts[:n] = body.outputs
        cond = _body(p, params["cond"], layouts)
        rows = layouts[0].cuts[:lead]
        if not (body.is_local and cond.is_local):
            continue
        if all(lay.cuts[:lead] == rows for lay in (*cond.outputs, *layouts[:n])):
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
        bodies: list[Body] = []
        for branch in params["branches"]:
            bodies.append(_body(p, branch, inner, bodies[0].outputs if bodies else ()))
        results = bodies[0].outputs
        if not all(b.is_local for b in bodies):
            continue
        if all(s or lay.cuts[:lead] == rows for lay, s in zip(results, sums, strict=True)):
            return _run(p, eqn, [index, *inner], results, branches=bodies)
    return p.whole(k, eqn)
