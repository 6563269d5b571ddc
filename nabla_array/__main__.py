"""`python -m nabla_array`: the command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from . import cache_command
from .demo.compare import run as run_demo
from .runner import command


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
    cache = commands.add_parser("cache", help="programs that MAX has compiled, kept on disk")
    actions = cache.add_subparsers(metavar="ACTION", required=True)
    info = actions.add_parser("info", help="what is there")
    info.set_defaults(run=lambda args: cache_command.info(Console()))
    clear = actions.add_parser("clear", help="delete it")
    clear.set_defaults(run=lambda args: cache_command.clear(Console()))
    warm = actions.add_parser("warm", help="run a script once, compiling everything for its later runs")
    warm.add_argument("script", type=Path)
    warm.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script is given")
    warm.set_defaults(run=lambda args: cache_command.warm(args.script, args.arguments, Console()))
    run = commands.add_parser("run", help="a NumPy script, unchanged, on our arrays")
    command.add_arguments(run)
    run.set_defaults(run=command.run)
    args = parser.parse_args(argv)
    if "run" not in args:
        parser.print_help()
        return 0
    return args.run(args)


if __name__ == "__main__":
    raise SystemExit(main())
