"""The process that compiles: `compiler` starts it and feeds it, through pipes, with lines of JSON.

It first says its toolchain; then each request, ``{"keys": [...], "timeout": s}``, gets one answer: ``done``,
``error`` (these programs did not compile together) or ``unusable`` (none would, here and now). It exits
when its input ends, but first finishes what it is at: the next process will find it.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import importlib
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from .artifacts import Artifact, Store, toolchain

# Seconds after its time that a compilation is given up here, if nobody has killed this process.
_GRACE = 10.0
# Seconds to wait for another process that compiles the same: it may stand aside, and this one not.
_PATIENCE = 60.0
# Bytes of free space below which the disk, not the programs, is blamed.
_FULL = 64 << 20
_LONGEST = 2000
# Beside a program that computes on the same core, this leaves 4 % of it to us.
_NICENESS = 14
# How a worker can stand aside: on time that nobody else wants alone, or with that share.
ASIDE = ("wholly", "partly")


def main() -> None:
    """Compile what is asked for until there is nobody to ask."""
    parser = argparse.ArgumentParser(prog="python -m nabla_array._lazy.max.worker")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--megabytes", type=int, required=True)
    parser.add_argument("--backend", required=True)
    parser.add_argument("--aside", choices=ASIDE, help="run at the lowest priority, or a low one")
    args = parser.parse_args()
    requests, answers = _pipes()
    if args.aside:
        _step_aside(args.aside == "wholly")
    faulthandler.enable()

    def answer(what: str, text: str = "") -> None:
        answers.write(json.dumps({what: text[:_LONGEST]}) + "\n")
        answers.flush()

    os.umask(0o077)  # what MAX caches is for nobody else either
    store = Store(args.folder, args.megabytes)
    store.sweep()
    try:
        backend = importlib.import_module(args.backend)
    except Exception as error:
        answer("unusable", f"MAX cannot be used: {_said(error)}")
        return
    if store.off:
        answer("unusable", store.off)
        return
    answer("toolchain", toolchain())
    for line in requests:
        request = json.loads(line)
        faulthandler.dump_traceback_later(request["timeout"] + _GRACE, exit=True)
        answer(*_compile(store, backend, request["keys"]))
        faulthandler.cancel_dump_traceback_later()


def _compile(store: Store, backend: Any, keys: Sequence[str]) -> tuple[str, str]:
    try:
        # First what no other process compiles. What is left need not be done twice.
        for patience in (0.0, _PATIENCE):
            missing = _missing(store, keys)
            if missing:
                with store.claimed(missing, patience) as ours:
                    _add(store, backend, ours)
    except ImportError as error:
        return "unusable", f"MAX cannot be used: {_said(error)}"
    except Exception as error:
        free = _free(store.folder)
        if free < _FULL:
            return "unusable", f"the disk of {store.folder} has {free >> 20} MB left: {_said(error)}"
        if isinstance(error, OSError):
            return "unusable", f"cannot write to the cache {store.folder}: {_said(error)}"
        return "error", _said(error)
    return "done", ""


def _missing(store: Store, keys: Sequence[str]) -> list[str]:
    return [key for key in keys if not isinstance(store.find(key), Artifact)]


def _add(store: Store, backend: Any, keys: Sequence[str]) -> None:
    """Compile what nobody has meanwhile."""
    missing = _missing(store, keys)
    if not missing:
        return
    path = store.temporary()
    try:
        backend.compile_programs(missing, path)
        store.add(missing, path)
    finally:
        store.discard(path)


def _free(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except FileNotFoundError:  # deleted meanwhile, which the error at hand says
        return _FULL


def _pipes() -> tuple[TextIO, TextIO]:
    """Keep the pipes for us alone: what compiles may print, read and start processes."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return requests, answers


def _step_aside(wholly: bool) -> None:
    """Take a low priority, or the lowest that there is."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    if wholly and hasattr(os, "SCHED_IDLE"):
        with contextlib.suppress(OSError):  # a sandbox may forbid it
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):  # nobody waits for the answer any more
        main()
    sys.stdout.flush()
    # Without MAX's own exit, which can fail after it has compiled.
    os._exit(0)
