"""`report`: what this process has evaluated so far."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from .._lazy.max import trials
from .._lazy.ops.placement import in_use
from .._lazy.run import hot
from .._lazy.run.claims import lock
from .._lazy.stats import stats

if TYPE_CHECKING:
    from rich.table import Table


# Kernels that a printed report shows.
_SHOWN = 10


class KernelReport(NamedTuple):
    """A part of programs that MAX could run: what it does, where it runs and why, and what it has cost.

    `host_seconds` and `max_seconds` are for all runs on that tier; `hits` counts those on MAX.
    """

    operations: str
    where: str
    hits: int
    host_seconds: float
    max_seconds: float

    def __str__(self) -> str:
        times = f"host {self.host_seconds:.3g} s, MAX {self.max_seconds:.3g} s in {self.hits} runs"
        return f"{self.operations}: {self.where} ({times})"


class Report(NamedTuple):
    """What was done between the start (or the last ``report(reset=True)``) and the call of `report`.

    Attributes
    ----------
    evaluations
        How often something pending was evaluated.
    fusion_groups
        How many groups of operations ran fused, block by block.
    compiled
        How many parts of programs ran on MAX.
    seconds
        Time spent evaluating.
    fallbacks
        NumPy functions that nabla_array lacks and NumPy ran instead, with the number of calls.
    kernels
        What MAX could run, the most expensive first; not reset.
    uploaded, downloaded
        Bytes sent to accelerators and fetched from them.
    loops
        Small programs that run often, loops above all: what they do, and whether by machine code; not reset.
    problems
        What went wrong with the cache of compiled programs, or with compiling; not reset.
    """

    evaluations: int
    fusion_groups: int
    compiled: int
    seconds: float
    fallbacks: dict[str, int]
    kernels: tuple[KernelReport, ...]
    problems: tuple[str, ...]
    uploaded: int
    downloaded: int
    loops: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers by name."""
        kernels = [k._asdict() for k in self.kernels]
        return {**self._asdict(), "fallbacks": dict(self.fallbacks), "kernels": kernels}

    def _rows(self) -> list[tuple[str, str]]:
        calls = sorted(self.fallbacks.items(), key=lambda item: (-item[1], item[0]))
        return [
            ("evaluations", str(self.evaluations)),
            ("fusion groups", str(self.fusion_groups)),
            ("run by MAX", str(self.compiled)),
            ("seconds", f"{self.seconds:.4f}"),
            *[("transfers", f"{self.uploaded} B to accelerators, {self.downloaded} B back")][: len(in_use)],
            ("fallbacks", ", ".join(f"{name} ({n})" for name, n in calls) or "none"),
            *[("could fuse" if i == 0 else "", str(k)) for i, k in enumerate(self.kernels[:_SHOWN])],
            *[("loops" if i == 0 else "", text) for i, text in enumerate(self.loops[:_SHOWN])],
            *[("problems" if i == 0 else "", text) for i, text in enumerate(self.problems)],
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name:<13} {value}" for name, value in self._rows())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = [f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self._rows()]
        return f"<table>{''.join(rows)}</table>"

    def __rich__(self) -> Table:
        from rich.table import Table

        table = Table("nabla_array", "", show_header=False)
        for row in self._rows():
            table.add_row(*row)
        return table


def _kernels() -> tuple[KernelReport, ...]:
    used = [k for k in trials.kernels() if k.host_seconds or k.hits or k.message]
    used.sort(key=lambda k: -(k.host_seconds + k.max_seconds))
    return tuple(KernelReport(k.title(), k.status(), k.hits, k.host_seconds, k.max_seconds) for k in used)


def _loops() -> tuple[str, ...]:
    used = sorted([h for h in hot.hots() if h.state != "cold"], key=lambda h: -h.seconds)
    return tuple([f"{h.title()}: {h.status()} ({h.seconds:.3g} s on the host)" for h in used])


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
    >>> float(xp.sum(xp.arange(5000.0) + 1))
    12502500.0
    >>> xp.report().evaluations - before
    1
    """
    with lock:
        found = Report(
            stats.evaluations,
            stats.fusion_groups,
            stats.compiled,
            stats.host_seconds,
            dict(stats.fallbacks),
            _kernels(),
            trials.problems(),
            stats.uploaded,
            stats.downloaded,
            _loops(),
        )
        if reset:
            stats.reset()
    return found
