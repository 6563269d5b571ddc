"""Runs every step on NumPy arrays and on ours, and shows how the results compare."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import nabla_array as xp

from ..distributed import DeviceMesh, P, shard
from .picture import draw
from .steps import STEPS, Step, load, standard_scores

# Rounding may differ (sums in blocks); a result that is off by more than this is another result.
TOLERANCE = 1e-9
# Devices that the data are cut over for the second table: threads of this process.
DEVICES = 4


@dataclass(frozen=True)
class Outcome:
    """How one step went: the largest difference, relative to the largest value, and best seconds."""

    step: Step
    difference: float
    numpy_seconds: float
    our_seconds: float

    @property
    def agrees(self) -> bool:
        """Whether both gave the same, up to rounding."""
        return self.difference <= TOLERANCE

    @property
    def ratio(self) -> float:
        """Our time over NumPy's."""
        return self.our_seconds / self.numpy_seconds


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


def _timed(step: Step, known: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Run a step on what is known; its time ends when all its results have values."""
    start = perf_counter()
    results = step.function(*[known[name] for name in step.needs])
    results = results if isinstance(results, tuple) else (results,)
    for result in results:
        np.asarray(result)
    return perf_counter() - start, dict(zip(step.gives, results, strict=True))


def compare(step: Step, theirs: dict[str, Any], ours: dict[str, Any], rounds: int) -> Outcome:
    """Run a step both ways, in turns, and add its results to `theirs` and `ours`."""
    numpy_seconds, our_seconds = [], []
    for _ in range(rounds):
        seconds, reference = _timed(step, theirs)
        numpy_seconds.append(seconds)
        seconds, results = _timed(step, ours)
        our_seconds.append(seconds)
    theirs.update(reference)
    ours.update(results)
    worst = max(difference(np.asarray(reference[k]), np.asarray(results[k])) for k in step.gives)
    return Outcome(step, worst, min(numpy_seconds), min(our_seconds))


def _row(o: Outcome) -> tuple[str, ...]:
    colour = "green" if o.agrees else "bold red"
    how = (
        "identical" if o.difference == 0 else f"to {o.difference:.0e}" if o.agrees else f"{o.difference:.0e}"
    )
    times = [f"{seconds * 1e3:.1f} ms" for seconds in (o.numpy_seconds, o.our_seconds)]
    return o.step.title, f"[{colour}]{'yes' if o.agrees else 'NO'}, {how}[/]", *times, f"{o.ratio:.2f}x"


def table(outcomes: list[Outcome], title: str) -> Table:
    """Return the outcomes as a table."""
    out = Table(
        title=title,
        caption="Differences: relative to the largest value. Times: evaluated, best of a few.",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title_style="bold",
    )
    for name in ("step", "results agree", "NumPy", "nabla_array", "ratio"):
        out.add_column(name, justify="left" if name in ("step", "results agree") else "right", no_wrap=True)
    for o in outcomes:
        out.add_row(*_row(o))
    mean = math.exp(sum(math.log(o.ratio) for o in outcomes) / len(outcomes))
    out.add_section()
    out.add_row("geometric mean", "", "", "", f"{mean:.2f}x")
    return out


def compare_all(
    title: str, theirs: dict[str, Any], ours: dict[str, Any], rounds: int, console: Console
) -> list[Outcome]:
    """Run every step both ways, and print how they compare; the results are added to `theirs` and `ours`."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    outcomes = []
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=len(STEPS))
        for step in STEPS:
            progress.update(task, description=step.title)
            outcomes.append(compare(step, theirs, ours, rounds))
            progress.advance(task)
        progress.update(task, description="all steps")
    console.print(table(outcomes, title))
    return outcomes


def compare_on_mesh(data: dict[str, Any], rounds: int, console: Console) -> list[Outcome]:
    """Do the same with the data cut over a mesh, and print what a covariance moves between its devices."""
    mesh = DeviceMesh((DEVICES,), ("rows",))
    ours = {name: shard(value, mesh, P("rows")) for name, value in data.items()}
    title = f"The same code on rows cut over {DEVICES} devices"
    try:
        outcomes = compare_all(title, dict(data), ours, rounds, console)
        centred = ours["digits"] - xp.mean(ours["digits"], axis=0)
        moves = [s for s in xp.explain(centred.T @ centred).steps if s.reads and s.kind != "spread"]
        console.print("What the digits' covariance moves there:")
        for step in moves:
            console.print(
                f"  {step.where}: {step.reads:,} bytes to each device", markup=False, soft_wrap=True
            )
    finally:
        mesh.close()
    return outcomes


def run(output: Path, quick: bool, console: Console) -> int:
    """Run the demo; returns 1 where a result differs and 2 where SciPy or scikit-learn is missing."""
    if not (find_spec("scipy") and find_spec("sklearn")):
        console.print("The demo needs SciPy and scikit-learn: pip install 'nabla_array[scipy]'")
        return 2
    os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy reads it once, when it is imported
    import sklearn

    data, about = load(quick)
    console.print(f"Data: {about}")
    theirs: dict[str, Any] = dict(data)
    ours: dict[str, Any] = {name: xp.asarray(value) for name, value in data.items()}
    title = "The same code on NumPy's arrays and on nabla_array's"
    with sklearn.config_context(array_api_dispatch=True):
        outcomes = compare_all(title, theirs, ours, 2 if quick else 5, console)
        sharded = compare_on_mesh(data, 1 if quick else 3, console)
    output.mkdir(parents=True, exist_ok=True)
    path = output / "graph.svg"
    path.write_text(xp.explain(standard_scores(ours["digits"]), format="svg"))
    console.print(f"Graph that scipy.stats.zscore has recorded: {path}")
    if find_spec("matplotlib"):
        path = output / "demo.png"
        draw({name: np.asarray(value) for name, value in ours.items()}, outcomes, path)
        console.print(f"Picture of the results: {path}")
    else:
        console.print("No picture: Matplotlib is not installed (pip install 'nabla_array[plot]')")
    return 0 if all(o.agrees for o in (*outcomes, *sharded)) else 1
