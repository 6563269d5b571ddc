"""The partitioner: three passes make a schedule of a program, each of what those before it left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from ..graph.program import Program
from .groups import fusion_groups
from .parts import merge
from .steps import Compiled, Part, Schedule, Step, Tiled
from .tiling import tile


def partition(
    program: Program,
    parts: Sequence[Part] = (),
    runners: Mapping[int, Any] | None = None,
    tiled: bool = False,
) -> Schedule:
    """Cut a program into steps: MAX's parts, then tiles of rows, then fusion groups and calls.

    Parameters
    ----------
    parts
        What the program could be cut into for MAX.
    runners
        By their numbers, what runs those of the parts that MAX is to run.
    tiled
        Whether rows are to be cut into tiles for threads.
    """
    base = len(program.inputs)
    numbers = tuple(range(base + len(program.eqns)))
    whole = Part(program, numbers[:base], program.outputs, numbers[base:])
    left = _for_max(program, parts, runners) if runners else [whole]
    if tiled:
        left = [s for step in left for s in (tile(step) if isinstance(step, Part) else [step])]
    steps: list[Step] = []
    made: set[int] = set()
    for step in left:
        if isinstance(step, Part):
            numbers = step.numbers
            cut: list[Step] = [s.within(numbers) for s in fusion_groups(step.program)]
        else:
            cut = [step]
        for s in cut:
            if not made.issuperset(s.outputs):  # parts have the same literals
                steps.append(s)
                made.update(s.outputs)
    return Schedule(program, steps)


def _for_max(
    program: Program, parts: Sequence[Part], runners: Mapping[int, Any]
) -> list[Part | Tiled | Compiled]:
    """Return the steps that MAX runs, and between them what is left as one part each."""
    steps: list[Part | Tiled | Compiled] = []
    for _, run in groupby(range(len(parts)), lambda n: n if n in runners else -1):
        some = [*run]
        if some[0] in runners:
            steps.append(Compiled(parts[some[0]], runners[some[0]]))
        else:
            steps.append(merge(program, [parts[n] for n in some]))
    return steps
