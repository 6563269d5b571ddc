"""How things are measured, judged and shown."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

OURS = "nabla_array"


@dataclass(frozen=True)
class Claim:
    """What must hold: our figure is at most `at_most` times that of `against`."""

    against: str
    at_most: float


@dataclass(frozen=True)
class Row:
    """One case: a figure for each contestant (less is better) and what ours must reach.

    `unit` is "s" or "MB".
    """

    case: str
    figures: dict[str, float]
    claims: tuple[Claim, ...] = ()
    unit: str = "s"

    def ratio(self, against: str) -> float:
        """Return our figure over theirs."""
        return self.figures[OURS] / self.figures[against]

    def held(self) -> dict[str, bool]:
        """Say of each claim whose opponent was there whether it holds."""
        return {
            f"<= {c.at_most:.2f}x {c.against}": self.ratio(c.against) <= c.at_most
            for c in self.claims
            if c.against in self.figures
        }

    def as_json(self) -> dict[str, Any]:
        """Return everything about the row as plain data."""
        ratios = {name: self.ratio(name) for name in self.figures if name != OURS}
        return {
            "case": self.case,
            "unit": self.unit,
            "figures": self.figures,
            "ratios": ratios,
            "held": self.held(),
        }


def race(contestants: Mapping[str, Callable[[], object]], rounds: int, number: int = 1) -> dict[str, float]:
    """Return each contestant's best seconds a call; they take turns, so that noise meets all alike."""
    best = dict.fromkeys(contestants, math.inf)
    for _ in range(rounds):
        for name, call in contestants.items():
            start = perf_counter()
            for _ in range(number):
                call()
            best[name] = min(best[name], (perf_counter() - start) / number)
    return best


def geometric_mean(case: str, rows: Iterable[Row], claim: Claim) -> Row:
    """Return the row that sums up others: the geometric mean of each contestant's figures."""
    rows = list(rows)
    figures = {
        name: math.exp(sum(math.log(r.figures[name]) for r in rows) / len(rows)) for name in rows[0].figures
    }
    return Row(case, figures, (claim,), rows[0].unit)


def _amount(value: float, unit: str) -> str:
    if unit == "MB":
        return f"{value:,.0f} MB"
    scale, name = next((s, n) for s, n in ((1, "s"), (1e-3, "ms"), (1e-6, "us")) if value >= s or s == 1e-6)
    return f"{value / scale:.3g} {name}"


def _cells(row: Row, names: list[str]) -> list[str]:
    cells = [row.case]
    for name in names:
        if name not in row.figures:
            cells.append("")
        elif name == OURS:
            cells.append(_amount(row.figures[name], row.unit))
        else:
            cells.append(f"{_amount(row.figures[name], row.unit)} ({row.ratio(name):.2f}x)")
    return [*cells, ", ".join(row.held()) or "-", "yes" if all(row.held().values()) else "NO"]


def _columns(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.figures))


_READING = "In brackets: nabla_array's figure over this one; below 1 is better. Best of interleaved rounds."


def show(title: str, rows: list[Row], console: Console) -> None:
    """Print rows as a table."""
    table = Table(title=title, caption=_READING, caption_justify="left", title_style="bold")
    names = _columns(rows)
    for name in ["case", *names, "target", "held"]:
        table.add_column(name, justify="left" if name in ("case", "target") else "right")
    for row in rows:
        colour = "green" if all(row.held().values()) else "red"
        table.add_row(*_cells(row, names), style=colour if row.held() else None)
    console.print(table)


def machine() -> str:
    """Return the machine and the versions that figures belong to, in one line."""
    found = []
    for package in (OURS, "numpy", "jax"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, {', '.join(found)}"


def write(path: Path, name: str, rows: list[Row]) -> None:
    """Put rows as a Markdown table between the marks `<!-- name -->` and `<!-- end name -->` of a page."""
    names = _columns(rows)
    lines = [["case", *names, "target", "held"], ["---"] * (len(names) + 3)]
    lines += [_cells(row, names) for row in rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    page = path.read_text()
    head, rest = page.split(f"<!-- {name} -->\n")
    tail = rest.split(f"<!-- end {name} -->")[1]
    path.write_text(f"{head}<!-- {name} -->\n{machine()}\n\n{table}\n<!-- end {name} -->{tail}")
