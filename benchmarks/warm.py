"""The results of a chain of operations in a fresh process that finds it compiled in the cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from statistics import median

from .contestants import JIT
from .fresh import Call, calls, empty_cache
from .measure import OURS, Claim, Row

# The number of the chain, and seconds after which MAX has been imported and has taken over.
_CHAIN, _ENOUGH = 0, 8.0
Figure = Callable[[list[Call]], float]


def _first(found: list[Call]) -> float:
    return found[0].seconds


def _slowest(found: list[Call]) -> float:
    return max(c.seconds for c in found[1:] or found)


def _until_max(found: list[Call]) -> float:
    return next((c.start for c in found if c.on_max), math.inf)


def _last(found: list[Call]) -> float:
    return min(c.seconds for c in found[len(found) // 2 :])


def _rows(cache: Path, processes: int, how: str, at_most: float, *options: str) -> list[Row]:
    """Return the rows of fresh processes of each library, in turn; the figures are medians."""
    found: dict[str, list[list[Call]]] = {OURS: [], "numpy": [], JIT: []}
    for _ in range(processes):
        found[OURS].append(calls(OURS, _CHAIN, cache, *options, "--seconds", _ENOUGH))
        for library in ("numpy", JIT):
            found[library].append(calls(library, _CHAIN, cache, "--seconds", 1.0))

    def row(case: str, figure: Figure, *claims: Claim) -> Row:
        figures = {name: median(map(figure, some)) for name, some in found.items() if some[0]}
        return Row(f"{case}, {how}", figures, claims)

    def own(case: str, figure: Figure) -> Row:
        found_here = median(map(figure, found[OURS]))
        return Row(f"{case}, {how}", {OURS: found_here} if found_here < math.inf else {})

    return [
        row("first result", _first, Claim("numpy", at_most)),
        row("slowest of the later ones", _slowest),
        own("until MAX runs it", _until_max),
        row("a result then", _last),
    ]


def run(quick: bool) -> list[Row]:
    """Measure everything here; `quick` only tries whether a process gives a result."""
    with empty_cache() as cache:
        if quick:
            return [Row("first result", {OURS: _first(calls(OURS, _CHAIN, cache, "--quick"))})]
        # Compiled; then tried, which the cache remembers.
        calls(OURS, _CHAIN, cache, "--prepare", "--seconds", 1.0)
        return [
            *_rows(cache, 5, "MAX imported", 1.0, "--import", "max.engine"),
            *_rows(cache, 5, "MAX not imported", 1.2),
        ]
