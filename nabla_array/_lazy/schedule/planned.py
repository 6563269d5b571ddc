"""A program with its schedules, and what was measured of it."""

from __future__ import annotations

from typing import Any

from ..graph.program import Program
from .framing import framed
from .partition import partition
from .steps import Schedule
from .tiling import may_tile


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
