"""The plan cache: how programs, and graphs, were cut, for those that are like them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeVar

from ..graph.program import Program
from .framing import framed
from .partition import partition
from .steps import Schedule
from .tiling import may_tile

T = TypeVar("T")

# By the mode and a program: its `Planned`; by the accelerator and a program: its schedule there. By the mode
# and a graph key: what runs its program, the `Planned` of that, and which of its values the nodes are, in
# order; None where the nodes are run one by one.
plans: dict[tuple[Hashable, Hashable], Any] = {}
MOST = 1024


def keep(key: tuple[Hashable, Hashable], found: T) -> T:
    """Keep what was found for a key, for the next that comes."""
    if len(plans) >= MOST:
        plans.clear()
    plans[key] = found
    return found


class Planned:
    """How a program is run.

    Attributes
    ----------
    runners
        What could run each of the parts that the program is cut into for MAX; None until somebody asks.
    seconds
        How long it ran before.
    may_tile
        Whether threads might share its rows.
    trials
        For sets of parts on MAX, whether the host alone, with tiles, is faster, or the trial that will tell.
    """

    __slots__ = ("_schedules", "may_tile", "program", "runners", "seconds", "trials")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.runners: tuple[Any, ...] | None = None
        self.seconds = 0.0
        self.trials: dict[frozenset[int], Any] = {}
        self.may_tile = may_tile(program)
        self._schedules: dict[tuple[frozenset[int], bool], Schedule] = {}

    def schedule(self, on_max: frozenset[int], can_tile: bool) -> Schedule:
        """Return the schedule in which these parts run on MAX; `can_tile`: threads can share rows."""
        key = on_max, can_tile
        found = self._schedules.get(key)
        if found is None:
            runners = {n: r for n, r in enumerate(self.runners or ()) if n in on_max}
            parts = [r.part for r in self.runners or ()]
            schedule = partition(self.program, parts, runners, can_tile)
            found = self._schedules[key] = framed(schedule)
        if not all([step.fits for step in found.tiled]):
            self.may_tile = False
            return self.schedule(on_max, False)
        return found
