"""Which layout each value of a program would be welcome in: that of the inputs, along the axis classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from .._lazy.graph.aval import Aval
from .._lazy.graph.program import Eqn, Program
from .._lazy.ops.placement import reshard
from .._lazy.schedule.axes import axes_of
from .layouts import Cut, Layout, even, meet, uncut
from .mesh import DeviceMesh
from .specs import ShardingSpec

# For each input of a program the spec that a user gave for it; none where no priority matters.
Specs = Sequence[ShardingSpec | None]


def wishes_of(mesh: DeviceMesh, program: Program, layouts: Sequence[Any], specs: Specs = ()) -> list[Layout]:
    """Return a layout for each value; `specs` are those that users gave for inputs.

    An axis is welcome to be cut like the largest value whose axis is of its class, of the inputs and of what
    is resharded, where priorities do not say otherwise. Axes of one value do not share mesh axes: the first
    has them.
    """
    classes = axes_of(program).alike
    cuts: dict[int, Cut] = {}
    known = {k: lay for k, lay in enumerate(layouts) if isinstance(lay, Layout)}
    asked = _asked(program, specs)
    known.update({k: spec.layout(program.aval(k).shape) for k, spec in asked.items() if k not in known})
    decided = decided_in(program, specs)
    rows = [
        (asked[k].priority(axis) if k in asked else 0, -layout.largest, cls, cut)
        for k, layout in known.items()
        for axis, (cls, cut) in enumerate(zip(classes[k], layout.cuts, strict=True))
        if cut.axes and (k in asked or cls not in decided)
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


def decided_in(program: Program, specs: Specs = ()) -> frozenset[int]:
    """Return the classes of axes of which priorities say how they are cut, as specs may contradict."""
    first: dict[int, set[int]] = {}
    classes = axes_of(program).alike
    for k, spec in _asked(program, specs).items():
        for cls, dim in zip(classes[k], spec.dim_specs, strict=False):
            if dim.axes:
                first.setdefault(cls, set()).add(dim.priority)
    return frozenset([cls for cls, priorities in first.items() if len(priorities) > 1])


@lru_cache(1 << 8)
def has_priorities(program: Program) -> bool:
    """Say whether a program has a spec with priorities."""
    return any(dict(eqn.params)["spec"].has_priorities for _, eqn in _reshards(program))


def asked_for(program: Program, i: int) -> ShardingSpec | None:
    """Return the spec in which a value is asked for, or None."""
    base = len(program.inputs)
    while i >= base and program.eqns[i - base].prim.role == "alias":
        (i,) = program.eqns[i - base].ins
    if i < base or program.eqns[i - base].prim is not reshard:
        return None
    found: ShardingSpec = dict(program.eqns[i - base].params)["spec"]
    return found


def _asked(program: Program, specs: Specs) -> dict[int, Any]:
    """Return the specs that users gave, by the number of what they are for."""
    found = {k: spec for k, spec in enumerate(specs) if spec is not None}
    return found | {k: dict(eqn.params)["spec"] for k, eqn in _reshards(program)}


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
