"""`python -m nabla_array`: the command line."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .runner import command

if TYPE_CHECKING:
    from rich.console import Console


def _console() -> Console:
    from rich.console import Console

    return Console()


def _module(name: str) -> Any:
    """Return a module that one command needs: a script that is run should not wait for the others'."""
    return import_module(f".{name}", __package__)


def _cache() -> Any:
    """Return the module of the cache's commands; ends the program where the system lacks what it needs."""
    try:
        return _module("cache_command")
    except ModuleNotFoundError as error:
        if error.name not in ("fcntl", "grp", "pwd"):  # POSIX's
            raise
        reason = f"MAX compiles on Linux and macOS, and keeps nothing here: there is no module {error.name!r}"
        raise SystemExit(f"cache: {reason}") from None


def main(argv: list[str] | None = None) -> int:
    """Run a subcommand; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m nabla_array", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND")
    run = commands.add_parser("run", help="a NumPy script, unchanged, on our arrays")
    command.add_arguments(run)
    run.set_defaults(run=command.run)
    demo = commands.add_parser("demo", help="what this library is for, beside NumPy, and a page of pictures")
    demo.add_argument(
        "--output", type=Path, default=Path("demo"), help="folder for the page and its pictures (%(default)s)"
    )
    demo.add_argument("--quick", action="store_true", help="less data, each step once")
    demo.set_defaults(run=lambda args: _module("demo.command").run(args.output, args.quick, _console()))
    _add_cache(commands.add_parser("cache", help="programs that MAX has compiled, kept on disk"))
    args = parser.parse_args(argv)
    if "run" not in args:
        parser.print_help()
        return 0
    status: int = args.run(args)
    return status


def _add_cache(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    for name, text in (("info", "what is there"), ("clear", "delete it")):
        simple = actions.add_parser(name, help=text)
        simple.set_defaults(run=lambda args, name=name: getattr(_cache(), name)(_console()))
    warm = actions.add_parser("warm", help="run a script once, compiling everything for its later runs")
    warm.add_argument("script", type=Path)
    warm.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script is given")
    warm.set_defaults(run=lambda args: _cache().warm(args.script, args.arguments, _console()))


if __name__ == "__main__":
    raise SystemExit(main())
