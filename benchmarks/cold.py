"""The first result in a fresh process, with nothing compiled before."""

from __future__ import annotations

from statistics import median

from .contestants import JIT
from .fresh import all_cases, calls, empty_cache
from .measure import OURS, Claim, Row, geometric_mean


def _first(case: int, processes: int, *options: str) -> dict[str, float]:
    """Return each library's seconds to the first result: the median of several processes, in turn."""
    seconds: dict[str, list[float]] = {OURS: [], "numpy": [], JIT: []}
    for _ in range(processes):
        for library, some in seconds.items():
            with empty_cache() as cache:
                some += [c.seconds for c in calls(library, case, cache, *options)]
    return {library: median(some) for library, some in seconds.items() if some}


def run(quick: bool) -> list[Row]:
    """Measure everything here; `quick` only tries whether it works, on the first case and the last."""
    names = [name for name, _, _ in all_cases(quick=True)]
    chosen = [0, len(names) - 1] if quick else range(len(names))
    options = ["--quick"] if quick else []
    processes = 1 if quick else 5
    rows = [Row(names[k], _first(k, processes, *options), (Claim("numpy", 1.2),)) for k in chosen]
    return [*rows, geometric_mean("geometric mean", rows)]
