"""How programs are run: their plans, in the mode in force, and the schedules of those."""

from __future__ import annotations

from ..config import active, threads
from ..cpu import blas
from ..graph.program import Program
from ..schedule.plan_cache import keep, plans
from ..schedule.planned import Planned
from ..schedule.steps import Schedule

_NONE: frozenset[int] = frozenset()


def planned(program: Program) -> Planned:
    """Return how a program is run in the mode in force."""
    key = active.settings["mode"] == "max", program
    return plans.get(key) or keep(key, Planned(program))


def schedule_of(plan: Planned, on_max: frozenset[int] = _NONE) -> Schedule:
    """Return the schedule in which these parts run on MAX, and the host runs all else."""
    return plan.schedule(on_max, plan.may_tile and threads() > 1 and blas.is_controlled())
