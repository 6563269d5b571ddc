"""`report`: what this process has evaluated so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .._lazy.evaluate import lock
from .._lazy.stats import stats

if TYPE_CHECKING:
    from rich.table import Table


class Report(NamedTuple):
    """What was done between the start (or the last ``report(reset=True)``) and the call of `report`.

    Attributes
    ----------
    evaluations
        How often something pending was evaluated.
    regions
        How many regions of several operations ran in blocks.
    host_seconds
        Time spent evaluating.
    fallbacks
        NumPy functions that nabla_array lacks and NumPy ran instead, with the number of calls.
    """

    evaluations: int
    regions: int
    host_seconds: float
    fallbacks: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return {**self._asdict(), "fallbacks": dict(self.fallbacks)}

    def _rows(self) -> list[tuple[str, str]]:
        calls = sorted(self.fallbacks.items(), key=lambda item: (-item[1], item[0]))
        return [
            ("evaluations", str(self.evaluations)),
            ("regions", str(self.regions)),
            ("host seconds", f"{self.host_seconds:.4f}"),
            ("fallbacks", ", ".join(f"{name} ({n})" for name, n in calls) or "none"),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name:<13} {value}" for name, value in self._rows())

    def __repr__(self) -> str:
        return str(self)

    def __rich__(self) -> Table:
        from rich.table import Table

        table = Table("nabla_array", "", show_header=False)
        for row in self._rows():
            table.add_row(*row)
        return table


def report(*, reset: bool = False) -> Report:
    """Return what this process has evaluated so far; it prints as a table.

    Parameters
    ----------
    reset : bool, optional
        Whether to count from zero again afterwards.

    Returns
    -------
    Report

    Examples
    --------
    >>> import nabla_array as xp
    >>> before = xp.report().evaluations
    >>> float(xp.asarray(1.0) + 1)
    2.0
    >>> xp.report().evaluations - before
    1
    """
    with lock:
        found = Report(stats.evaluations, stats.regions, stats.host_seconds, dict(stats.fallbacks))
        if reset:
            stats.reset()
    return found
