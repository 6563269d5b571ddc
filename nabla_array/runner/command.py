"""`python -m nabla_array run`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .._lazy.config import MODES, config
from .imports import Own, Redirect
from .script import run_as_main


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Tell the parser what the command takes."""
    parser.add_argument("--mode", choices=MODES, help="which tier evaluates (that of the configuration)")
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, not a script")
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="script.py", help="the script, and what it is given"
    )


def run(args: argparse.Namespace) -> int:
    """Run a script on our arrays; returns the exit status."""
    if not args.command:
        print("run: no script given; run script.py or run -m module would work", file=sys.stderr)
        return 2
    script = Path(args.command[0])
    if not args.module and not script.is_file():
        print(f"run: there is no script {script}", file=sys.stderr)
        return 2
    if args.mode is not None:
        config.mode = args.mode
        os.environ["NABLA_ARRAY_MODE"] = args.mode  # for processes that it starts
    Redirect(Own(Path.cwd() if args.module else script.resolve().parent)).on()
    run_as_main(args.command, args.module)
    return 0
