"""How a line of the demo's table comes about: NumPy and nabla_array in turns, and what they differ by."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

# Rounding may differ (sums in blocks); a result that is off by more than this is another result.
TOLERANCE = 1e-9
# Seconds, and results.
Run = tuple[float, tuple[Any, ...]]


@dataclass(frozen=True)
class Outcome:
    """A line of the table: the largest difference, relative to the largest value, and best seconds."""

    part: str
    title: str
    difference: float
    numpy_seconds: float
    our_seconds: float
    tolerance: float = TOLERANCE

    @property
    def agrees(self) -> bool:
        """Whether both gave the same, up to rounding."""
        return self.difference <= self.tolerance

    @property
    def ratio(self) -> float:
        """Our time over NumPy's."""
        return self.our_seconds / self.numpy_seconds

    def cells(self) -> tuple[str, ...]:
        """Return what the table has on it."""
        agrees = "identical" if self.difference == 0 else f"to {self.difference:.0e}"
        times = [
            f"{seconds:.2f} s" if seconds > 0.9995 else f"{seconds * 1e3:.3g} ms"
            for seconds in (self.numpy_seconds, self.our_seconds)
        ]
        return self.title, f"{'yes' if self.agrees else 'NO'}, {agrees}", *times, f"{self.ratio:.2f}x"


HEAD = ("", "results agree", "NumPy", "nabla_array", "ratio")
CAPTION = (
    "Differences: relative to the largest value. Times: the best of a few. Ratio: below 1x is faster than "
    "NumPy; for several lines it is the geometric mean."
)


def difference(theirs: np.ndarray, ours: np.ndarray) -> float:
    """Return the largest difference relative to the largest value; inf where they cannot be compared."""
    if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
        return math.inf
    if theirs.dtype.kind not in "fc":
        return 0.0 if np.array_equal(theirs, ours) else math.inf
    known = ~np.isnan(theirs)
    if not np.array_equal(known, ~np.isnan(ours)):
        return math.inf
    if not known.any():
        return 0.0
    return float(np.max(np.abs(theirs[known] - ours[known])) / max(np.max(np.abs(theirs[known])), 1e-300))


def timed(function: Callable[..., Any], *args: Any) -> Run:
    """Call a function; its time ends when all its results have values."""
    start = perf_counter()
    results = function(*args)
    results = results if isinstance(results, tuple) else (results,)
    for result in results:
        np.asarray(result)
    return perf_counter() - start, results


def race(
    part: str,
    title: str,
    theirs: Callable[[], Run],
    ours: Callable[[], Run],
    rounds: int,
    tolerance: float = TOLERANCE,
) -> tuple[Outcome, tuple[Any, ...], tuple[Any, ...]]:
    """Run something both ways, in turns; returns how it went, and the results of both."""
    numpy_seconds, our_seconds = [], []
    for _ in range(rounds):
        seconds, expected = theirs()
        numpy_seconds.append(seconds)
        seconds, found = ours()
        our_seconds.append(seconds)
    worst = max(difference(np.asarray(a), np.asarray(b)) for a, b in zip(expected, found, strict=True))
    outcome = Outcome(part, title, worst, min(numpy_seconds), min(our_seconds), tolerance)
    return outcome, expected, found


def mean(outcomes: Iterable[Outcome]) -> float:
    """Return the geometric mean of the ratios."""
    ratios = [math.log(o.ratio) for o in outcomes]
    return math.exp(sum(ratios) / len(ratios))


def table(outcomes: list[Outcome]) -> Table:
    """Return the outcomes as a table, a section a part."""
    out = Table(caption=CAPTION, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in HEAD:
        out.add_column(name, justify="left" if name in HEAD[:2] else "right", no_wrap=True)
    for part in dict.fromkeys(o.part for o in outcomes):
        own = [o for o in outcomes if o.part == part]
        mean_of_part = f"{mean(own):.2f}x" if len(own) > 1 else ""
        out.add_row(f"[bold]{part}[/]", "", "", "", f"[bold]{mean_of_part}[/]")
        for o in own:
            title, agrees, *rest = o.cells()
            out.add_row(f"  {title}", f"[{'green' if o.agrees else 'bold red'}]{agrees}[/]", *rest)
    out.add_section()
    out.add_row("geometric mean", "", "", "", f"{mean(outcomes):.2f}x")
    return out
