"""`python -m nabla_array cache`: what is compiled and kept on disk."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ._lazy.config import config
from ._lazy.max import trials
from ._lazy.max.artifacts import FAILURES, Store, default_store, toolchain
from ._lazy.run import tiers


def info(console: Console) -> int:
    """Print what the cache holds; returns the exit status."""
    store = default_store()
    entries = store.entries()
    programs = _programs(store)
    others = sum(bool(e.mef) for e in entries) - len(programs)
    failing = [e for e in entries if e.failures >= FAILURES and e.toolchain == toolchain()]
    rows = [
        ("folder", str(store.folder)),
        (
            "size",
            f"{store.size() / 1e6:.1f} of {store.megabytes} MB, {store.max_size() / 1e6:.1f} of them MAX's",
        ),
        ("toolchain", toolchain()),
        ("programs", f"{len(programs)}" + (f", and {others} of other toolchains" if others else "")),
        ("failing", f"{len(failing)}"),
        *(("", f"{e.key[:100]}{'...' * (len(e.key) > 100)}: {e.message}") for e in failing),
        *(("problem", problem) for problem in store.problems),
    ]
    table = Table("", "", show_header=False)
    for name, text in rows:
        table.add_row(name, Text(text))
    console.print(table)
    return bool(store.off)


def clear(console: Console) -> int:
    """Delete what the cache holds; returns the exit status."""
    store = default_store()
    before = store.size()
    store.clear()
    _say(console, f"{(before - store.size()) / 1e6:.1f} MB deleted from {store.folder}", store)
    return bool(store.problems)


def warm(script: Path, arguments: list[str], console: Console) -> int:
    """Run a script on the host, and have MAX compile for its later runs; returns the exit status."""
    if not script.is_file():
        _say(console, f"cache warm: there is no script {script}")
        return 2
    store = default_store()
    before = _programs(store)
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    left: SystemExit | None = None
    # What later runs in this mode will hand to MAX; it runs on the host now, whatever the mode.
    mode = "max" if config.mode == "max" else "auto"
    with tiers.gather() as keys, config(mode=mode):
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as error:
            left = error
    kernels = trials.prepare(sorted(keys))
    compiled, found = len(_programs(store) - before), len(store.found & before)
    _say(console, f"{compiled} compiled, {found} found in {store.folder}", store)
    failed = [k for k in kernels if k.state == "failed"]
    for k in failed:
        if k.message not in store.problems:  # it is the program's, not that of all
            _say(console, f"{k.title()}: {k.message}")
    if left is not None:
        raise left
    return bool(failed)


def _programs(store: Store) -> set[str]:
    return {e.key for e in store.entries() if e.mef and e.toolchain == toolchain()}


def _say(console: Console, text: str, store: Store | None = None) -> None:
    for line in (text, *(store.problems if store is not None else ())):
        console.print(Text(line), soft_wrap=True)
