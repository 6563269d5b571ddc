"""NPBench's programs, unchanged, against NumPy and jax.numpy: `python -m benchmarks npbench --preset M`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import track

from .fresh import empty_cache, environment
from .measure import OURS, Claim, Row, geometric_mean, show, write
from .npbench_program import JAX, NUMPY, names

_PROGRAM = "benchmarks.npbench_program"
_PAGE = Path(__file__).parent.parent / "docs" / "reference" / "benchmarks.md"
# From so many reads of one element on, a program is a loop over elements.
_MANY = 1000
_JAX = {"JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
# Seconds for one program.
_LONGEST = 600.0


def _child(folder: Path, name: str, preset: str, task: str, *options: str, mode: str) -> Any:
    """Run a program in a fresh process with an empty cache; returns what it prints, or what went wrong."""
    with empty_cache() as cache:
        env = environment(NABLA_ARRAY_CACHE_DIR=str(cache), NABLA_ARRAY_MODE=mode, JAX_ENABLE_X64="1")
        command = [
            sys.executable,
            "-m",
            "benchmarks.npbench_program",
            str(folder),
            name,
            preset,
            task,
            *options,
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=_LONGEST)
        except subprocess.TimeoutExpired:
            return f"not done after {_LONGEST:.0f} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
    return json.loads(done.stdout.splitlines()[-1])


def _cold(folder: Path, name: str, preset: str, mode: str, processes: int) -> Row:
    """Return the whole time of a fresh process that runs a program once: the best of several, in turn."""
    best = {OURS: float("inf"), NUMPY: float("inf")}
    for _ in range(processes):
        for library in best:
            start = perf_counter()
            _child(folder, name, preset, "cold", library, mode=mode)
            best[library] = min(best[library], perf_counter() - start)
    return Row(f"{name}, fresh process", best)


def measure(
    folder: Path,
    chosen: Sequence[str],
    preset: str,
    mode: str,
    budget: float,
    processes: int,
    mesh: int | None = None,
) -> tuple[list[Row], list[str]]:
    """Return the rows of the table, and a line for each program that was not right.

    On a mesh nothing is claimed of the time: the arrays of NPBench are small for that.
    """
    whole, elements, fresh, wrong = [], [], [], []
    libraries = [NUMPY, OURS, JAX]
    for name in track(chosen, "programs", console=Console(stderr=True)):
        reads = _child(folder, name, "S", "reads", mode=mode)
        options = [f"--budget={budget}", *([f"--mesh={mesh}"] if mesh else [])]
        found = _child(folder, name, preset, "race", *libraries, *options, mode=mode)
        if isinstance(found, str) or OURS not in found["figures"]:
            wrong.append(f"{name}: {found if isinstance(found, str) else found['wrong'][OURS]}")
            continue
        figures = {key.replace(JAX, "jnp"): seconds for key, seconds in found["figures"].items()}
        if isinstance(reads, int) and reads > _MANY:
            elements.append(Row(name, figures, () if mesh else (Claim(NUMPY, 1 / 0.2),)))
        else:
            whole.append(Row(name, figures, () if mesh else (Claim(NUMPY, 1 / 0.8),)))
        if processes:
            fresh.append(_cold(folder, name, preset, mode, processes))
    rows = [*whole, *elements]
    pairs = [
        ("geometric mean without element loops", whole, None if mesh else Claim(NUMPY, 1 / 1.5)),
        ("geometric mean of element loops", elements, None),
        ("geometric mean of fresh processes", fresh, Claim(NUMPY, 1.15)),
    ]
    for title, some, claim in pairs:
        own = [Row(r.case, {k: r.figures[k] for k in (OURS, NUMPY)}) for r in some]
        if own:
            rows.append(geometric_mean(title, own, *([claim] if claim else [])))
    return rows, wrong


def main(argv: Sequence[str]) -> int:
    """Measure; returns 1 where a program is not right or a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks npbench", description=__doc__)
    parser.add_argument(
        "--npbench", type=Path, default=os.environ.get("NPBENCH_DIR"), help="a checkout of it"
    )
    parser.add_argument("--preset", default="M", choices=["S", "M", "L", "paper"])
    parser.add_argument("--only", nargs="*", help="names of programs")
    parser.add_argument("--mode", default="host", choices=["auto", "host", "max"])
    parser.add_argument("--budget", type=float, default=5.0, help="seconds of warm calls for a program")
    parser.add_argument("--processes", type=int, default=1, help="fresh processes for each (0: none)")
    parser.add_argument("--mesh", type=int, metavar="N", help="cut large arrays over N threads")
    parser.add_argument("--write", action="store_true", help=f"put the table into {_PAGE.name}")
    args = parser.parse_args(argv)
    if args.npbench is None:
        parser.error("name a checkout of github.com/spcl/npbench by --npbench or NPBENCH_DIR")
    chosen = args.only or names(args.npbench)
    if not chosen:
        parser.error(f"{args.npbench} is no checkout of github.com/spcl/npbench: it has no bench_info/*.json")
    rows, wrong = measure(
        args.npbench, chosen, args.preset, args.mode, args.budget, args.processes, args.mesh
    )
    console = Console()
    console.width = max(console.width, 104)
    show(f"npbench, preset {args.preset}", rows, console)
    console.print(f"{len(chosen) - len(wrong)} of {len(chosen)} programs right")
    for line in wrong:
        console.print(f"  {line}", style="red", markup=False)
    if args.write:
        write(_PAGE, "npbench", rows)
    return 1 if wrong or not all(all(r.held().values()) for r in rows) else 0
