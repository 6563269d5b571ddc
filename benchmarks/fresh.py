"""Calls of one case in a fresh process, timed there: `python -m benchmarks.fresh LIBRARY CASE`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

from nabla_array._lazy.stats import stats

from .contestants import contestants
from .fused import Case, cases, compile_all, mixed_cases


class Call(NamedTuple):
    """When a call began, counted from the first, how long it took, and how many parts of it MAX ran."""

    start: float
    seconds: float
    on_max: int


def all_cases(quick: bool) -> list[Case]:
    """Return every case in float64; the index is its number on the command line."""
    return [*cases(quick), *mixed_cases(quick)]


@contextmanager
def empty_cache() -> Iterator[Path]:
    """Make a folder for compiled programs, and remove it afterwards."""
    with TemporaryDirectory(prefix="nabla-array-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def environment(**more: str) -> dict[str, str]:
    """Return this process's environment, and more, for a fresh one.

    Installed packages bring their bytecode along; an editable one must be allowed to keep its own.
    """
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | more


def child(module: str, *args: object, cache: Path, mode: str = "auto") -> Any:
    """Run a module in a fresh process with this cache and mode; returns what it prints, which is JSON."""
    env = environment(NABLA_ARRAY_CACHE_DIR=str(cache), NABLA_ARRAY_MODE=mode)
    command = [sys.executable, "-m", module, *map(str, args)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=env).stdout)


def calls(library: str, case: int, cache: Path, *options: object) -> list[Call]:
    """Return the calls of a case in a fresh process; none where the library is not installed."""
    return [Call(*c) for c in child("benchmarks.fresh", library, case, *options, cache=cache)]


def _timed(library: str, case: Case, seconds: float) -> list[Call]:
    """Call once, and again until so many seconds have passed."""
    _, function, args = case
    found: list[Call] = []
    for c in contestants(library):
        own = [c.asarray(a) for a in args]
        prepared = c.prepare(lambda *xs, xp=c.xp: function(xp, *xs))
        begin = end = perf_counter()
        while not found or end - begin < seconds:
            before = stats.compiled
            start = perf_counter()
            c.evaluate(prepared(*own))
            end = perf_counter()
            found.append(Call(start - begin, end - start, stats.compiled - before))
    return found


def main() -> None:
    """Run the case named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fresh", description=__doc__)
    parser.add_argument("library", help="nabla_array, numpy or jax.jit")
    parser.add_argument("case", type=int, help="its number")
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--prepare", action="store_true", help="have MAX compile the case before")
    parser.add_argument("--import", dest="imports", metavar="MODULE", help="import a module before")
    parser.add_argument("--seconds", type=float, default=0.0, help="go on calling for so long")
    args = parser.parse_args()
    case = all_cases(args.quick)[args.case]
    if args.imports:
        importlib.import_module(args.imports)
    if args.prepare:
        compile_all(("auto", [case]))
    print(json.dumps(_timed(args.library, case, args.seconds)))


if __name__ == "__main__":
    main()
