"""`python -m nabla_array run`."""

from __future__ import annotations

import argparse
import atexit
import os
import sys
import time
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

from .._lazy.config import MODES, config
from .imports import Own, Redirect
from .script import run_as_main


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Tell the parser what the command takes."""
    parser.add_argument("--mode", choices=MODES, help="which tier evaluates (that of the configuration)")
    parser.add_argument("--report", action="store_true", help="say what ran where, and what would help")
    parser.add_argument("--compare", action="store_true", help="say whether it does the same under NumPy")
    parser.add_argument("--mesh", type=int, metavar="N", help="cut large arrays over N devices")
    parser.add_argument("--engine", choices=("local", "dask"), default="local", help="what the devices are")
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
    if not args.module and (script.is_dir() or not script.exists()):
        print(f"run: there is no script {script}", file=sys.stderr)
        return 2
    if args.mesh is not None and args.mesh < 1:
        print(f"run: a mesh of {args.mesh} devices; one or more would work", file=sys.stderr)
        return 2
    if args.mode is not None:
        config.mode = args.mode
        os.environ["NABLA_ARRAY_MODE"] = args.mode  # for processes that it starts
    if args.compare:
        status: int = _part("comparing").compare(
            ["--report"] * args.report, ["-m"] * args.module + args.command
        )
        return status
    if args.record is not None:
        _part("figures").Recorder(args.record).on()
    if not args.numpy:
        # As under NumPy, unless somebody said otherwise; and for processes that the script starts.
        config.float_warnings = os.environ.setdefault("NABLA_ARRAY_FLOAT_WARNINGS", "1") == "1"
        own = Own(Path.cwd() if args.module else script.resolve().parent)
        Redirect(own).on()
        if args.report:
            places = _part("reporting").Places(own)
            places.on()
            atexit.register(places.write, sys.stderr)  # after the script's own, and after its errors
    began = time.perf_counter()
    try:
        with _part("meshes").mesh(args.mesh, args.engine) if args.mesh else nullcontext():
            run_as_main(args.command, args.module)
    finally:
        if args.record is not None:
            (args.record / "seconds").write_text(repr(time.perf_counter() - began))
    return 0


def _part(name: str) -> Any:
    """Return a module that an option needs: without it, a script should not wait for that."""
    return import_module(f".{name}", __package__)
