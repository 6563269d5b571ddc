"""The cases of `fused` with our arrays on an accelerator: `python -m benchmarks accelerator`.

NumPy computes on the CPU, and `jax.jit` on the device that JAX takes by itself.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

import nabla_array
from nabla_array._lazy.run import accelerator

from . import fused
from .contestants import Contestant
from .measure import OURS, Row, geometric_mean, show, write

_PAGE = Path(__file__).parent.parent / "docs" / "reference" / "benchmarks.md"


def _evaluate(x: nabla_array.Array) -> None:
    nabla_array.eval(x)
    value = x._node.params.get("value")
    if isinstance(value, accelerator.Placed):
        value.there().device.synchronize()


def run(device: str, quick: bool) -> list[Row]:
    """Measure everything; `quick` only tries whether it works."""
    there = Contestant(OURS, nabla_array, lambda a: nabla_array.asarray(a, device=device), _evaluate)
    mode = "host" if quick else "max"
    groups = {
        "float64": fused.cases(quick, "float64"),
        "float32": fused.cases(quick, "float32"),
        "in part": fused.mixed_cases(quick),
    }
    if not quick:
        fused.compile_all((mode, [case for some in groups.values() for case in some]), device=device)
    rows = []
    with nabla_array.config(mode=mode):
        for name, some in groups.items():
            found = [
                fused.measure((f"{title}, {name}", f, args), 1 if quick else 10, ours=there)
                for title, f, args in some
            ]
            rows += [*found, geometric_mean(f"geometric mean, {name}", found)]
    return rows


def main(argv: list[str]) -> int:
    """Measure the first accelerator."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks accelerator", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"put the table into {_PAGE.name}")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, on the CPU: does it work")
    args = parser.parse_args(argv)
    found, why = accelerator.names()
    console = Console()
    console.width = max(console.width, 104)
    if not (found or args.quick):
        console.print(why)
        return 1
    rows = run("cpu" if args.quick else found[0], args.quick)
    show("accelerator", rows, console)
    if args.write:
        write(_PAGE, "accelerator", rows)
    return 0
