"""How things are measured, judged and shown."""

from __future__ import annotations

import math
import os
import platform
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
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

    `unit` is "s", "MB", or "of one thread": what two threads take of its time.
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
            f"{c.against} {c.at_most:.3g}": self.ratio(c.against) <= c.at_most
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
    order, shuffler = list(contestants.items()), random.Random(0)
    for _ in range(rounds):
        shuffler.shuffle(order)  # whom one comes after counts: what is left in the cache, threads still awake
        for name, call in order:
            start = perf_counter()
            for _ in range(number):
                call()
            best[name] = min(best[name], (perf_counter() - start) / number)
    return best


def geometric_mean(case: str, rows: Iterable[Row], *claims: Claim) -> Row:
    """Return the row that sums up others: the geometric mean of each contestant's figures."""
    rows = list(rows)
    figures = {
        name: math.exp(sum(math.log(r.figures[name]) for r in rows) / len(rows)) for name in rows[0].figures
    }
    return Row(case, figures, claims, rows[0].unit)


def _amount(value: float, unit: str) -> str:
    if unit == "MB":
        return f"{value:,.0f} MB"
    if unit == "of one thread":
        return f"{value:.2f}"
    scale, name = next((s, n) for s, n in ((1, "s"), (1e-3, "ms"), (1e-6, "us")) if value >= s or s == 1e-6)
    return f"{value / scale:.{1 if value / scale < 100 else 0}f} {name}"


def _lines(rows: list[Row]) -> list[list[str]]:
    """Return a heading and a line a row: our figure, NumPy's, and ours over each other one."""
    names = list(dict.fromkeys(name for row in rows for name in row.figures if name != OURS))
    lines = [["case", OURS, "numpy", *[f"/ {name}" for name in names], "at most", "held"]]
    for row in rows:
        amounts = [_amount(row.figures[n], row.unit) if n in row.figures else "" for n in (OURS, "numpy")]
        ratios = [f"{row.ratio(n):.2f}" if n in row.figures else "" for n in names]
        held = row.held()
        judged = "" if not held else "yes" if all(held.values()) else "NO"
        lines.append([row.case, *amounts, *ratios, ", ".join(held), judged])
    return lines


_READING = "/ numpy: nabla_array's figure over NumPy's, below 1 is better; so the others."


def show(title: str, rows: list[Row], console: Console) -> None:
    """Print rows as a table."""
    show_lines(title, _READING, _lines(rows), console)


def show_lines(title: str, caption: str, lines: list[list[str]], console: Console) -> None:
    """Print a heading and lines below it as a table."""
    table = Table(title=title, caption=caption, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), title_style="bold")
    head, *lines = lines
    for name in head:
        table.add_column(name, justify="left" if name in ("case", "at most") else "right", no_wrap=True)
    for line in lines:
        table.add_row(*map(escape, line), style={"yes": "green", "NO": "red"}.get(line[-1]))
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
    """Put rows as a Markdown table into a page."""
    put(path, name, _lines(rows))


def put(path: Path, name: str, lines: list[list[str]]) -> None:
    """Put a Markdown table between the marks `<!-- name -->` and `<!-- end name -->` of a page."""
    head, *lines = lines
    table = "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines])
    before, rest = path.read_text().split(f"<!-- {name} -->\n")
    after = rest.split(f"<!-- end {name} -->")[1]
    path.write_text(f"{before}<!-- {name} -->\n{machine()}\n\n{table}\n<!-- end {name} -->{after}")
