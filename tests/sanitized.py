"""Python with the compiled module under sanitizers: `python -m tests.sanitized address -m pytest tests/lazy`.

The first argument is one of `SANITIZERS`: ``address`` for gcc's address and undefined-behaviour sanitizers,
``thread`` for its thread sanitizer. The others are Python's, in a copy of the tree whose module is compiled
for these. What they report ends the process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]
_FOLDER = Path("nabla_array", "_lazy", "native")
_LEFT_OUT = (".*", "build", "dist", "shared", "__pycache__", "*.so", "*.egg-info")
# -fwrapv: as Python's headers, and its own extensions, are compiled.
_FLAGS = ("-O1", "-g", "-fno-omit-frame-pointer", "-fwrapv", "-fPIC", "-shared", "-Wall")


class Sanitizer(NamedTuple):
    """How one is compiled in, the libraries that must be loaded first, and what the process is told."""

    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    environment: dict[str, str]


SANITIZERS = {
    "address": Sanitizer(
        ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
        ("libasan.so", "libstdc++.so"),  # C++ throws before the sanitizer has seen its library, otherwise
        {
            # Python leaves much to the end of the process, and tests ask for more memory than there is.
            # To note more of who allocates what would take a third of the time.
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:malloc_context_size=2",
            "UBSAN_OPTIONS": "print_stacktrace=1",
            "PYTHONMALLOC": "malloc",  # or objects lie in arenas, which the sanitizer does not look into
        },
    ),
    # Python itself is not compiled for it. Its locks are pthread's, so that the sanitizer sees the handovers.
    "thread": Sanitizer(
        ("-fsanitize=thread",),
        ("libtsan.so",),
        {
            "TSAN_OPTIONS": "halt_on_error=1",
            # Its threads hand work over in loops that the sanitizer cannot see through.
            "OPENBLAS_NUM_THREADS": "1",
            # MAX, which a hot program loads, takes memory at addresses that the sanitizer does not know.
            "NABLA_ARRAY_MODE": "host",
        },
    ),
}


class Unavailable(Exception):
    """There is no gcc, or it has no sanitizers."""


def make(folder: Path, name: str = "address") -> dict[str, str]:
    """Make the copy in a folder; returns the environment that Python needs there. Raises `Unavailable`."""
    sanitizer = SANITIZERS[name]
    gcc = shutil.which("gcc")
    if gcc is None or sys.platform != "linux":
        raise Unavailable("no gcc on Linux, whose sanitizers these are")
    libraries = [_library(gcc, library) for library in sanitizer.libraries]
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*_LEFT_OUT), dirs_exist_ok=True)
    includes = [f"-I{path}" for path in (sysconfig.get_paths()["include"], np.get_include())]
    out = _FOLDER / f"_fast{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = [
        gcc,
        *_FLAGS,
        *sanitizer.flags,
        *includes,
        str(_FOLDER / "module.c"),
        "-o",
        str(out),
        "-lm",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"gcc does not compile with sanitizers: {done.stderr[-500:]}")
    environment = {**os.environ, **sanitizer.environment, "PYTHONPATH": str(folder)}
    environment["LD_PRELOAD"] = ":".join(libraries)
    begun = subprocess.run([sys.executable, "-c", ""], env=environment, capture_output=True, text=True)
    if begun.returncode:  # as of libraries older than the kernel, which puts memory elsewhere
        raise Unavailable(f"Python does not begin under the {name} sanitizer: {begun.stderr[-500:]}")
    return environment


def _library(gcc: str, name: str) -> str:
    found = subprocess.run([gcc, f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(found):
        raise Unavailable(f"gcc has no {name}")
    return found


def main(argv: Sequence[str]) -> int:
    """Run Python under a sanitizer, with the arguments after its name; returns the status."""
    sanitizer, *arguments = argv
    with tempfile.TemporaryDirectory(prefix="nabla-array-") as name:
        environment = make(Path(name), sanitizer)
        return subprocess.call([sys.executable, *arguments], cwd=name, env=environment)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
