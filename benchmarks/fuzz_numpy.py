"""Random programs on arrays, ours and NumPy's: `python -m benchmarks fuzz-numpy --programs N --seed S`."""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Sequence
from time import perf_counter

from rich.console import Console
from rich.markup import escape
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from . import numpy_steps
from .numpy_programs import Machine, Seeded

# Programs that differ that are shown whole.
_SHOWN = 5


def run_program(seed: int, longest: int) -> Machine:
    """Run the program of a seed; raises where ours does not do what NumPy's does."""
    machine = Machine(Seeded(seed))
    machine.run(numpy_steps.EVERYTHING, machine.number(4, longest))
    return machine


def main(argv: Sequence[str]) -> int:
    """Run random programs; returns 1 if one differs from NumPy's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fuzz-numpy", description=__doc__)
    parser.add_argument("--programs", type=int, default=5000, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of the first program; each has the next")
    parser.add_argument("--longest", type=int, default=24, help="steps of a program, at most")
    args = parser.parse_args(argv)
    console = Console()
    done: Counter[str] = Counter()
    failures: list[tuple[int, Exception]] = []
    arrays = failing = 0
    start = perf_counter()
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in progress.track(range(args.seed, args.seed + args.programs), description="programs"):
            try:
                machine = run_program(seed, args.longest)
            except Exception as error:  # whatever ours raises is what is looked for
                failures.append((seed, error))
                continue
            done.update(machine.done)
            arrays += len(machine.pairs)
            failing += sum(line.endswith("# fails") for line in machine.log)
    for seed, error in failures[:_SHOWN]:
        console.rule(f"python -m benchmarks fuzz-numpy --programs 1 --seed {seed}")
        console.print(escape("\n".join([*error.__notes__, f"{type(error).__name__}: {error}"])))
    console.print(
        f"{args.programs} programs of {sum(done.values())} steps on {arrays} arrays in "
        f"{perf_counter() - start:.0f} s; NumPy refuses {failing} steps; {len(failures)} programs differ"
    )
    console.print(", ".join(f"{name} {n}" for name, n in done.most_common()))
    return 1 if failures else 0
