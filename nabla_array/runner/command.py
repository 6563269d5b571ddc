"""`python -m nabla_array run`."""

from __future__ import annotations

import argparse
import atexit
import json
import os
import sys
import time
from pathlib import Path

from .._lazy.config import MODES, config
from .comparing import compare
from .figures import Recorder
from .imports import Own, Redirect
from .reporting import Places
from .script import run_as_main


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Tell the parser what the command takes."""
    parser.add_argument("--mode", choices=MODES, help="which tier evaluates (that of the configuration)")
    parser.add_argument("--report", action="store_true", help="say what ran where, and what would help")
    parser.add_argument("--compare", action="store_true", help="say whether it does the same under NumPy")
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, not a script")
    # What the processes are told that `--compare` starts: whether to stay with NumPy, where to keep figures.
    parser.add_argument("--numpy", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--record", type=Path, help=argparse.SUPPRESS)
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
    if args.compare:
        return compare(["--report"] * args.report, ["-m"] * args.module + args.command)
    if args.record is not None:
        Recorder(args.record).on()
    if not args.numpy:
        # As under NumPy, unless somebody said otherwise; and for processes that the script starts.
        config.float_warnings = os.environ.setdefault("NABLA_ARRAY_FLOAT_WARNINGS", "1") == "1"
        own = Own(Path.cwd() if args.module else script.resolve().parent)
        Redirect(own).on()
        if args.report:
            places = Places(own)
            places.on()
            atexit.register(places.write, sys.stderr)  # after the script's own, and after its errors
    began = time.perf_counter()
    try:
        run_as_main(args.command, args.module)
    finally:
        if args.record is not None:
            seconds = time.perf_counter() - began
            (args.record / "run.json").write_text(json.dumps({"seconds": seconds}))
    return 0
