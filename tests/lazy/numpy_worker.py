"""NumPy in MAX's place across processes: the worker compiles with it, and programs run with it.

`FAULT` in the environment says, in the words of `fake_backend`, what goes wrong when something is compiled.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nabla_array._lazy.max import backend, compiler
from nabla_array._lazy.run import tiers

from . import fake_backend
from .canonical_host import execute, runner_of


def compile_programs(keys: Sequence[str], path: Path) -> None:
    """Write the programs' texts: what `load` reads."""
    fault = os.environ.get("FAULT", "ok")
    if fault == "full":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    if fault == "gone":
        shutil.rmtree(path.parent)
        path.write_bytes(b"")
    fake_backend.compile_programs([f"{fault}:"], path)
    path.write_text(json.dumps(list(keys)))


def _load(name: str, mef: bytes, target: str) -> dict[str, Any]:
    return {f"g{i}": key for i, key in enumerate(json.loads(mef))}


def install(load: bool = True) -> None:
    """Take MAX's place in this process; `load`: also where compiled programs are loaded and run."""
    compiler.Compiler.__init__.__defaults__ = (__name__, 0.05, 60.0)
    if load:
        backend.load = _load
        backend.runner = runner_of(execute)
    # Tests run beside each other, and a worker that stands aside would wait for the others.
    request = compiler.Compiler.request
    compiler.Compiler.request = lambda self, key, awaited=True, target="": request(self, key, True, target)
    on_host = tiers.Runner.on_host

    def late(self: tiers.Runner, ins: list[Any]) -> list[Any]:
        time.sleep(0.05)  # the host loses trials
        return on_host(self, ins)

    tiers.Runner.on_host = late
