"""The table of the rules, and the partitioner that follows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..._lazy.graph.primitive import Primitive
from ..._lazy.graph.program import Eqn, Program, is_literal
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
    found = Partition(mesh, program, layouts, wishes_of(mesh, program, layouts, specs), targets_of(program))
    found.decided = decided_in(program, specs)
    for k, eqn in enumerate(program.eqns, len(layouts)):
        found.cause = k
        found.number.append(None if is_literal(eqn) else rule_of(eqn.prim)(found, k, eqn))
    found.end()
    return found
