"""Which layout each value of a program would be welcome in: that of the inputs, along the axis classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .._lazy.graph.aval import Aval
from .._lazy.graph.program import Eqn, Program
from .._lazy.ops.placement import reshard
from .._lazy.schedule.axes import axes_of
from .layouts import Cut, Layout, even, meet, uncut
from .mesh import DeviceMesh


def wishes_of(mesh: DeviceMesh, program: Program, layouts: Sequence[Any]) -> list[Layout]:
    """Return a layout for each value.

    An axis is welcome to be cut like the largest value whose axis is of its class, of the inputs and of what
    is resharded, where the priorities of these do not say otherwise. Axes of one value do not share mesh
    axes: the first has them.
    """
    classes = axes_of(program).alike
    cuts: dict[int, Cut] = {}
    known = {k: (lay, [0] * len(lay.cuts)) for k, lay in enumerate(layouts) if isinstance(lay, Layout)}
    for k, eqn in _reshards(program):
        spec = dict(eqn.params)["spec"]
        layout = spec.layout(eqn.aval.shape)
        first = [d.priority for d in spec.dim_specs]
        known[k] = layout, first + [0] * (len(layout.cuts) - len(first))
    rows = [
        (priority, -layout.largest, cls, cut)
        for k, (layout, priorities) in known.items()
        for priority, cls, cut in zip(priorities, classes[k], layout.cuts, strict=True)
        if cut.axes
    ]
    for _, _, cls, cut in sorted(rows, key=lambda row: row[:2]):
        cuts.setdefault(cls, cut)
    targets = targets_of(program)
    wishes = []
    for k, own in enumerate(classes):
        aval = program.aval(k)
        shape = aval.shape if isinstance(aval, Aval) else ()
        used: set[str] = set()
        found = []
        for cls, n in zip(own, shape, strict=True):
            wanted = cuts.get(cls)
            if wanted is None or meet(used, wanted.axes):
                found.append(uncut(n))
                continue
            used |= {*wanted.axes}
            found.append(wanted if wanted.bounds[-1] == n else even(mesh, wanted.axes, n))
        wishes.append(targets[k] if k in targets else Layout(mesh, found))
    return wishes


def decided_in(program: Program) -> frozenset[int]:
    """Return the classes of axes of which priorities say how they are cut, as specs may contradict."""
    first: dict[int, set[int]] = {}
    classes = axes_of(program).alike
    for k, eqn in _reshards(program):
        for cls, dim in zip(classes[k], dict(eqn.params)["spec"].dim_specs, strict=False):
            if dim.axes:
                first.setdefault(cls, set()).add(dim.priority)
    return frozenset([cls for cls, priorities in first.items() if len(priorities) > 1])


def _reshards(program: Program) -> Iterator[tuple[int, Eqn]]:
    pairs = enumerate(program.eqns, len(program.inputs))
    return ((k, eqn) for k, eqn in pairs if eqn.prim is reshard)


def targets_of(program: Program) -> dict[int, Layout]:
    """Return for each value that is resharded, and in no way that is left open, the layout that it gets."""
    specs = [(eqn, dict(eqn.params)["spec"]) for _, eqn in _reshards(program)]
    return {
        eqn.ins[0]: spec.layout(eqn.aval.shape)
        for eqn, spec in specs
        if not any(d.is_open for d in spec.dim_specs)
    }
