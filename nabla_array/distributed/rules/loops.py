"""Loops and branches: each device runs its own, where the bodies need nothing of other devices.

Where they do, and the operands are large, the bodies are steps of the mesh, with their own collectives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._lazy.graph.program import Eqn, Program
from ..._lazy.ops.control import SHARED
from ..layouts import Cut, Layout, even, meet, move, part_of, replicated, uncut
from ..merging import received
from ..partition import Local, Moved, Nested, Partition, made_by, read_by
from ..propagation import wishes_of
from ..spmd import device_program
from .bodies import step_of, with_one_condition
from .local import in_terms
from .table import partition_within

# Times that the layouts of a carry are found anew, at the most.
_TIMES = 4


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


def _moved(p: Partition) -> float:
    """Return the bytes that a device receives; of loops whose steps nobody can count, in one of them."""
    total = 0.0
    for m in p.made:
        if isinstance(m, Nested):
            total += sum(map(_moved, m.bodies)) * (m.times or 1)
        elif not isinstance(m, Local):
            total += received(p, m)
    return total


def _body(
    p: Partition,
    program: Program,
    inputs: Sequence[Layout],
    outputs: Sequence[Layout] = (),
    are_joined: bool = True,
) -> Body:
    """Return a body of which inputs and the first outputs lie like that; the others may have to be joined."""
    inner = partition_within(p, program, inputs).copy()
    layouts = [*outputs]
    for i in program.outputs[len(outputs) :]:
        known = inner.layout(i)
        known = replicated(p.mesh, program.aval(i).shape) if known is None else known
        layouts.append(known.joined() if are_joined else known)
    inner.outputs = tuple([in_terms(inner, i, lay) for i, lay in zip(program.outputs, layouts, strict=True)])
    needed, made = {*inner.outputs}, []
    for m in reversed(inner.made):
        if not needed.isdisjoint(made_by(m)):
            made.append(m)
            needed.update(read_by(m))
    inner.made = made[::-1]
    return Body(inner, tuple(layouts))


def _carried(
    p: Partition, program: Program, inputs: Sequence[Layout], carry: int, are_joined: bool = True
) -> Body:
    """Return a body that hands on its first outputs as its first inputs."""
    found = [*inputs]
    for _ in range(_TIMES):
        inner = partition_within(p, program, found)
        after = [inner.layout(i) or b for i, b in zip(program.outputs, found[:carry], strict=False)]
        new = [a.joined() if a.joined().varies else b for a, b in zip(after, found, strict=False)]
        if new == found[:carry]:
            break
        found[:carry] = new
    return _body(p, program, found, found[:carry], are_joined)


def _summing(p: Partition, program: Program, inputs: Sequence[Layout], carry: int, length: int) -> Body:
    """Return a body of a scan that is joined as late as may be.

    What it stacks is joined after the loop, and so are sums over the steps, where that moves less.
    """
    body = _carried(p, program, inputs, carry, are_joined=False)
    if not any(isinstance(m, Moved) and m.move.ufunc is np.add for m in body.inner.made):
        return body
    given = [*body.outputs[:carry], *inputs[carry:]]
    varies = sorted(frozenset().union(*[lay.varies for lay in given]))
    found = [_in_terms(lay, [(a, np.add) for a in varies if a not in lay.varies]) for lay in given[:carry]]
    for _ in range(_TIMES):
        inner = partition_within(p, program, [*found, *given[carry:]])
        after = [inner.layout(i) for i in program.outputs[:carry]]
        new = [
            _in_terms(b, a.partial if a is not None and a.cuts == b.cuts else ())
            for a, b in zip(after, found, strict=True)
        ]
        if new == found:
            break
        found = new
    other = _body(p, program, [*found, *given[carry:]], found, are_joined=False)
    once = [move(lay, lay.joined()).elements for lay in found]
    after_all = sum([n * aval.dtype.itemsize for n, aval in zip(once, program.inputs, strict=False)])
    return other if length * _moved(other.inner) + after_all < length * _moved(body.inner) else body


def _in_terms(layout: Layout, terms: Iterable[tuple[str, np.ufunc]]) -> Layout:
    return Layout(layout.mesh, layout.cuts, terms)


def _operands(p: Partition, eqn: Eqn) -> list[Layout]:
    known = [(p.layout(i), p.program.aval(i).shape) for i in eqn.ins]
    return [replicated(p.mesh, shape) if lay is None else lay.joined() for lay, shape in known]


def _along(
    p: Partition, program: Program, layouts: Sequence[Layout], are_large: bool
) -> Iterator[list[Layout]]:
    """Yield layouts of a body's inputs: as they are, and alike for axes that are one.

    Those of operands that are small also along fewer mesh axes.
    """
    varies = sorted(frozenset().union(*[lay.varies for lay in layouts]))
    for some in (varies, *[[a] for a in varies if len(varies) > 1 and not are_large]):
        found = [_only(lay, some) for lay in layouts]
        yield [*found]
        yield wishes_of(p.mesh, program, found)[: len(found)]


def _are_large(p: Partition, eqn: Eqn) -> bool:
    """Say whether bodies should be steps of the mesh, rather than each device have all operands."""
    return sum([p.program.aval(i).nbytes for i in eqn.ins]) >= p.mesh.engine.meets_from


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
    return Layout(layout.mesh, [*layout.cuts[:axis], cut, *layout.cuts[axis:]], layout.partial)


def scan_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Scan along an axis that is whole: each device by itself, or all together."""
    params = dict(eqn.params)
    n, program, steps = params["carry"], params["program"], uncut(params["length"])
    x_axes, y_axes, are_large = params["x_axes"], params["y_axes"], _are_large(p, eqn)
    layouts = _operands(p, eqn)
    for i, axis in enumerate(x_axes, n):
        layouts[i] = _without(layouts[i], axis)
    found = []
    for inner in _along(p, program, layouts, are_large):
        body = _summing(p, program, inner, n, params["length"])
        inner[:n] = body.outputs[:n]
        for i, axis in enumerate(x_axes, n):
            inner[i] = _with(inner[i], axis, steps)
        ys = [*zip(body.outputs[n:], y_axes, strict=True)]
        results = (*body.outputs[:n], *[_with(lay, axis, steps) for lay, axis in ys])
        if body.is_local:
            return _run(p, eqn, inner, results, program=body)
        found.append((_moved(body.inner), inner, results))
    if not (are_large and params["length"]):
        return p.whole(k, eqn)
    _, inner, results = min(found, key=lambda row: row[0])
    step = step_of(program, n, [p.program.aval(i) for i in eqn.ins[n : n + len(x_axes)]], x_axes, y_axes)
    outputs = [*results[:n], *[lay.with_cut(a, uncut(1)) for lay, a in zip(results[n:], y_axes, strict=True)]]
    return _driven(p, eqn, [_body(p, step, [*inner, replicated(p.mesh, ())], outputs)], inner, results)


def _driven(
    p: Partition, eqn: Eqn, bodies: Sequence[Body], layouts: Sequence[Layout], results: Sequence[Layout]
) -> int:
    """Add a loop, or a branch, in which devices need each other."""
    ins = [in_terms(p, i, lay) for i, lay in zip(eqn.ins, layouts, strict=True)]
    return p.nested(eqn, [b.inner for b in bodies], ins, results)


def _run(
    p: Partition, eqn: Eqn, layouts: Sequence[Layout], results: tuple[Layout, ...], **bodies: Any
) -> int:
    """Add a loop, or a branch, that each device runs with programs of its own."""
    ins = [in_terms(p, i, lay) for i, lay in zip(eqn.ins, layouts, strict=True)]

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
    """Loop on each device: all alike, or where rows have conditions of their own, each over its rows.

    Or all together, for all rows.
    """
    params = dict(eqn.params)
    n, active = params["carry"], params["cond"].aval(params["cond"].outputs[0])
    lead, have_rows, are_large = active.ndim, [*[True] * n, *params["rows"]], _are_large(p, eqn)
    found = []
    for layouts in _along(p, params["body"], _operands(p, eqn), are_large):
        layouts = _rows(layouts, lead, have_rows)
        body = _carried(p, params["body"], layouts, n)
        layouts[:n] = body.outputs
        cond = _body(p, params["cond"], layouts)
        rows = layouts[0].cuts[:lead]
        if not (body.is_local and cond.is_local):
            found.append((_moved(cond.inner) + _moved(body.inner), [cond, body], layouts))
        elif all(lay.cuts[:lead] == rows for lay in (*cond.outputs, *layouts[:n])):
            return _run(p, eqn, layouts, body.outputs, body=body, cond=cond)
    if not (are_large and active.size):
        return p.whole(k, eqn)
    if lead:
        alike = with_one_condition(params["cond"], params["body"], have_rows)
        params.update(cond=alike[0], body=alike[1], rows=(False,) * len(params["rows"]))
        return while_rule(p, k, eqn._replace(params=tuple(params.items())))
    _, bodies, layouts = min(found, key=lambda row: row[0])
    return _driven(p, eqn, bodies, layouts, bodies[-1].outputs)


def switch_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Branch on each device: all alike, or where rows have branches of their own, each over its rows.

    Or all together, where there is one branch for all.
    """
    params = dict(eqn.params)
    lead, roles, sums = params["lead"], params["roles"], params["sums"]
    index, *operands = _operands(p, eqn)
    are_large = _are_large(p, eqn)
    found = []
    for inner in _along(p, params["branches"][0], operands, are_large and not lead):
        *inner, index = _rows([*inner, index], lead, [*[r != SHARED for r in roles], True])
        rows = index.cuts[:lead]
        if any(sums) and any(c.axes for c in rows):
            continue
        bodies: list[Body] = []
        for branch in params["branches"]:
            bodies.append(_body(p, branch, inner, bodies[0].outputs if bodies else ()))
        results = bodies[0].outputs
        if not all(b.is_local for b in bodies):
            found.append((sum([_moved(b.inner) for b in bodies]), bodies, [index, *inner]))
        elif all(s or lay.cuts[:lead] == rows for lay, s in zip(results, sums, strict=True)):
            return _run(p, eqn, [index, *inner], results, branches=bodies)
    if lead or not are_large:
        return p.whole(k, eqn)
    _, bodies, layouts = min(found, key=lambda row: row[0])
    return _driven(p, eqn, bodies, layouts, bodies[0].outputs)
