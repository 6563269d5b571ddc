"""The table of the rules, and the partitioner that follows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..._lazy.graph.primitive import Primitive
from ..._lazy.graph.program import Eqn, Program, is_literal
from ..layouts import Layout
from ..mesh import DeviceMesh
from ..partition import Layouts, Partition
from ..propagation import Specs, decided_in, targets_of, wishes_of
from .ways import by_labels

Rule = Callable[[Partition, int, Eqn], int | None]

# Of the operations that are more than their labels: each module of rules adds its own.
RULES: dict[Primitive, Rule] = {}


def rule_of(prim: Primitive) -> Rule:
    """Return the rule of an operation."""
    return RULES.get(prim, by_labels)


def partition(
    mesh: DeviceMesh, program: Program, layouts: Sequence[Layouts | None], specs: Specs = ()
) -> Partition:
    """Return what each device does for a program whose inputs lie like that; None: in the host's memory."""
    found = _begun(mesh, program, layouts, specs)
    _follow_rules(found)
    found.bodies.clear()
    return found


def partition_within(p: Partition, program: Program, layouts: Sequence[Layout]) -> Partition:
    """Return the same for a program within one that is being cut. It is kept there: add to a copy alone."""
    key = id(program), *layouts
    if key not in p.bodies:
        found = _begun(p.mesh, program, layouts)
        found.bodies = p.bodies
        _follow_rules(found)
        p.bodies[key] = found  # which holds the program: no other one has its id meanwhile
    return p.bodies[key]


def _begun(
    mesh: DeviceMesh, program: Program, layouts: Sequence[Layouts | None], specs: Specs = ()
) -> Partition:
    found = Partition(mesh, program, layouts, wishes_of(mesh, program, layouts, specs), targets_of(program))
    found.decided = decided_in(program, specs)
    return found


def _follow_rules(p: Partition) -> None:
    for k, eqn in enumerate(p.program.eqns, len(p.program.inputs)):
        p.cause = k
        p.number.append(None if is_literal(eqn) else rule_of(eqn.prim)(p, k, eqn))
    p.end()
