"""`python -m nabla_array`: the command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from .demo.compare import run as run_demo


def main(argv: list[str] | None = None) -> int:
    """Run a subcommand; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m nabla_array", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND")
    demo = commands.add_parser(
        "demo", help="unchanged SciPy and scikit-learn code, on NumPy arrays and on ours"
    )
    demo.add_argument(
        "--output", type=Path, default=Path("demo"), help="folder for the pictures (%(default)s)"
    )
    demo.add_argument("--quick", action="store_true", help="less data, each step once")
    demo.set_defaults(run=lambda args: run_demo(args.output, args.quick, Console()))
    args = parser.parse_args(argv)
    if "run" not in args:
        parser.print_help()
        return 0
    return args.run(args)


if __name__ == "__main__":
    raise SystemExit(main())
