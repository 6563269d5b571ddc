"""Which layout each value of a program would be welcome in: that of the inputs, along the axis classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._lazy.graph.aval import Aval
from .._lazy.graph.program import Program
from .._lazy.schedule.axes import axes_of
from .layouts import Cut, Layout, even, uncut, volume
from .mesh import DeviceMesh


def wishes_of(mesh: DeviceMesh, program: Program, layouts: Sequence[Any]) -> list[Layout]:
    """Return a layout for each value.

    An axis is welcome to be cut like the largest input whose axis is of its class; axes of one value do not
    share mesh axes: the first has them.
    """
    classes = axes_of(program).alike
    cuts: dict[int, Cut] = {}
    inputs = [k for k, lay in enumerate(layouts) if isinstance(lay, Layout) and lay.varies]
    for k in sorted(inputs, key=lambda k: -volume(layouts[k].boxes[0]) * mesh.size):
        for cls, cut in zip(classes[k], layouts[k].cuts, strict=True):
            if cut.axes:
                cuts.setdefault(cls, cut)
    wishes = []
    for k, own in enumerate(classes):
        aval = program.aval(k)
        shape = aval.shape if isinstance(aval, Aval) else ()
        used: set[str] = set()
        found = []
        for cls, n in zip(own, shape, strict=True):
            cut = cuts.get(cls)
            if cut is None or used & {*cut.axes}:
                found.append(uncut(n))
                continue
            used |= {*cut.axes}
            found.append(cut if cut.bounds[-1] == n else even(mesh, cut.axes, n))
        wishes.append(Layout(mesh, found))
    return wishes
