"""`python -m benchmarks`: see docs/reference/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console

import nabla_array  # noqa: F401  (before NumPy, as docs/concepts/laziness.md says)

from . import (
    accelerator,
    auto,
    borders,
    calls,
    cold,
    distributed,
    elementwise,
    fused,
    fuzz_numpy,
    fuzz_objects,
    fuzz_threads,
    fuzz_tiers,
    fuzz_transforms,
    libraries,
    memory,
    npbench,
    overhead,
    threads,
    transforms,
    warm,
)
from .measure import machine, show, write

SUITES = {
    "overhead": overhead.run,
    "elementwise": elementwise.run,
    "calls": calls.run,
    "memory": memory.run,
    "fused": fused.run,
    "cold": cold.run,
    "warm": warm.run,
    "auto": auto.run,
    "transforms": transforms.run,
    "threads": threads.run,
}
_PAGE = Path(__file__).parent.parent / "docs" / "reference" / "benchmarks.md"


def main(argv: list[str] | None = None) -> int:
    """Run the benchmarks named on the command line; returns 1 where a target is missed."""
    argv = sys.argv[1:] if argv is None else argv
    others = {
        "accelerator": accelerator.main,
        "borders": borders.main,
        "distributed": distributed.main,
        "fuzz-numpy": fuzz_numpy.main,
        "fuzz-objects": fuzz_objects.main,
        "fuzz-threads": fuzz_threads.main,
        "fuzz-tiers": fuzz_tiers.main,
        "fuzz-transforms": fuzz_transforms.main,
        "libraries": libraries.main,
        "npbench": npbench.main,
    }
    if argv and argv[0] in others:  # with settings of its own
        return others[argv[0]](argv[1:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", choices=[*SUITES, []], metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--json", action="store_true", help="print JSON, not tables")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {_PAGE.name}")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it work, not how fast is it")
    args = parser.parse_args(argv)
    console = Console()
    console.width = max(console.width, 104)
    found = {}
    for name in args.suites or SUITES:
        rows = found[name] = SUITES[name](args.quick)
        if not args.json:
            show(name, rows, console)
        if args.write:
            write(_PAGE, name, rows)
    if args.json:
        tables = {name: [r.as_json() for r in rows] for name, rows in found.items()}
        print(json.dumps({"machine": machine(), **tables}, indent=1))
    return 0 if args.quick or all(all(r.held().values()) for rows in found.values() for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
