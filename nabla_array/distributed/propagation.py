"""Which layout each value of a program would be welcome in: that of the inputs, along the axis classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._lazy.graph.aval import Aval
from .._lazy.graph.program import Program
from .._lazy.ops.placement import reshard
from .._lazy.schedule.axes import axes_of
from .layouts import Cut, Layout, even, uncut
from .mesh import DeviceMesh


def wishes_of(mesh: DeviceMesh, program: Program, layouts: Sequence[Any]) -> list[Layout]:
    """Return a layout for each value.

    An axis is welcome to be cut like the largest value whose axis is of its class, of the inputs and of what
    is resharded; axes of one value do not share mesh axes: the first has them.
    """
    classes = axes_of(program).alike
    cuts: dict[int, Cut] = {}
    known = {k: lay for k, lay in enumerate(layouts) if isinstance(lay, Layout)}
    for k, eqn in enumerate(program.eqns, len(layouts)):
        if eqn.prim is reshard:
            known[k] = dict(eqn.params)["spec"].layout(eqn.aval.shape)
    for k in sorted(known, key=lambda k: -known[k].largest * mesh.size):
        for cls, cut in zip(classes[k], known[k].cuts, strict=True):
            if cut.axes:
                cuts.setdefault(cls, cut)
    wishes = []
    for k, own in enumerate(classes):
        aval = program.aval(k)
        shape = aval.shape if isinstance(aval, Aval) else ()
        used: set[str] = set()
        found = []
        for cls, n in zip(own, shape, strict=True):
            wanted = cuts.get(cls)
            if wanted is None or used & {*wanted.axes}:
                found.append(uncut(n))
                continue
            used |= {*wanted.axes}
            found.append(wanted if wanted.bounds[-1] == n else even(mesh, wanted.axes, n))
        wishes.append(Layout(mesh, found))
    return wishes
