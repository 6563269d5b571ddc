"""Arrays cut over two devices: against our own that are whole, JAX's sharded jit, and dask.array.

``python -m benchmarks distributed`` has threads of this process as devices, ``--engine dask`` two workers of
a cluster. Each library runs in processes of its own, and those take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from .distributed_cases import CASES, DASK, JAX, WHOLE
from .fresh import environment
from .measure import OURS, Claim, Row, geometric_mean, show, write

_PAGE = Path(__file__).parent.parent / "docs" / "reference" / "benchmarks.md"
_ELEMENTS = 40_000_000
# Bytes that a case needs for each element: its array, a second one, and what lies between.
_BYTES = 64
# Seconds that a library may take for a case: dask.array would take far longer for a stencil of many steps.
_LONGEST = 120


def _affordable() -> int:
    """Return how many elements the memory of this machine has room for."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return int(min(_ELEMENTS, free // (2 * _BYTES)))


def _child(python: str, library: str, case: str, elements: int, rounds: int, engine: str) -> dict[str, Any]:
    """Run a case in a fresh process; returns seconds, bytes of memory, a number of tasks, and a checksum."""
    # Compiled tiers come when they come: sharded and whole are to be run by the same code.
    env = environment(
        NABLA_ARRAY_MODE="host", XLA_FLAGS="--xla_force_host_platform_device_count=2", JAX_PLATFORMS="cpu"
    )
    command = [
        python,
        "-m",
        "benchmarks.distributed_cases",
        library,
        case,
        str(elements),
        str(rounds),
        engine,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {_LONGEST} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _round_trips() -> str:
    """Return a line on what a small program takes on Dask; two segments are at most six round trips."""
    command = [sys.executable, "-m", "benchmarks.distributed_cases"]
    env = environment(NABLA_ARRAY_MODE="host")
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=600, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return (
        f"a small program in round trips of client.submit ({1e3 * found['bare']:.1f} ms): "
        f"{found['one']:.2f} for one segment, {found['two']:.2f} for two with a sum between (at most 3 each)"
    )


def measure(
    elements: int, rounds: int, engine: str, chosen: Sequence[str], pythons: dict[str, str]
) -> tuple[list[Row], list[str]]:
    """Return the rows of the table, and a line for each thing that went wrong or is counted."""
    libraries = [OURS, WHOLE, JAX] if engine == "local" else [OURS, DASK]
    claims = (Claim(WHOLE, 1 / 0.8), Claim(JAX, 1 / 0.8)) if engine == "local" else ()
    rows, notes = [], []
    if (
        JAX in libraries
        and subprocess.run([pythons[JAX], "-c", "import jax"], capture_output=True).returncode
    ):
        libraries.remove(JAX)
        notes.append(f"{JAX}: {pythons[JAX]} has no JAX; --jax would name another Python")
    for case in chosen:
        best: dict[str, float] = {}
        sums: dict[str, float] = {}
        counts: dict[str, str] = {}
        late: set[str] = set()
        for turn in range(2 * len(libraries)):
            library = libraries[turn % len(libraries)]
            if library in late:
                continue
            python = pythons.get(library, sys.executable)
            found = _child(python, library, case, elements, rounds, engine)
            if "error" in found:
                notes.append(f"{case}, {library}: {found['error']}")
                late.add(library)
                continue
            best[library] = min(best.get(library, found["seconds"]), found["seconds"])
            sums[library] = found["sum"]
            if found["tasks"]:
                counts[library] = found["tasks"]
        if OURS not in best:
            continue
        for library, total in sums.items():
            if abs(total - sums[OURS]) > 1e-6 * max(abs(sums[OURS]), 1.0):
                notes.append(f"{case}: {library} finds {total!r}, {OURS} {sums[OURS]!r}")
        if counts:
            notes.append(f"{case}: " + ", ".join(f"{n} tasks by {library}" for library, n in counts.items()))
        rows.append(Row(case, best, claims))
    complete = [r for r in rows if {*libraries} <= {*r.figures}]
    if complete:
        means = (Claim(WHOLE, 1.0), Claim(JAX, 1.0)) if engine == "local" else (Claim(DASK, 1 / 3),)
        rows.append(geometric_mean("geometric mean", complete, *means))
    return rows, notes


def main(argv: Sequence[str]) -> int:
    """Measure; returns 1 where a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks distributed", description=__doc__)
    parser.add_argument("--engine", default="local", choices=["local", "dask"])
    parser.add_argument(
        "--elements", type=int, default=None, help="of each array; fewer where memory is short"
    )
    parser.add_argument("--rounds", type=int, default=5, help="warm calls in each process")
    parser.add_argument("--only", nargs="*", default=[*CASES], help=", ".join(CASES))
    parser.add_argument("--jax", default=sys.executable, help="a Python that has JAX")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it work, not how fast is it")
    parser.add_argument("--write", action="store_true", help=f"put the table into {_PAGE.name}")
    args = parser.parse_args(argv)
    for case in args.only:
        if case not in CASES:
            parser.error(f"there is no case {case!r}; {', '.join(CASES)} would work")
    elements = args.elements or (20_000 if args.quick else _affordable())
    rounds = 1 if args.quick else args.rounds
    rows, notes = measure(elements, rounds, args.engine, args.only, {JAX: args.jax})
    if args.engine == "dask":
        notes.append(_round_trips())
    console = Console()
    console.width = max(console.width, 104)
    title = "distributed" if args.engine == "local" else "distributed-dask"
    show(f"{title}, {elements:,} elements", rows, console)
    for line in notes:
        console.print(f"  {line}", markup=False)
    if args.write:
        write(_PAGE, title, rows)
    return 0 if args.quick or (rows and all(all(r.held().values()) for r in rows)) else 1
