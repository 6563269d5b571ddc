"""Python with the compiled module under sanitizers: `python -m tests.sanitized -m pytest tests/namespace`.

The arguments are Python's, in a copy of the tree whose module is compiled for gcc's address and
undefined-behaviour sanitizers. What these report ends the process.
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

import numpy as np

ROOT = Path(__file__).parents[1]
_FOLDER = Path("nabla_array", "_lazy", "native")
_LEFT_OUT = (".*", "build", "dist", "shared", "__pycache__", "*.so", "*.egg-info")
# -fwrapv: as Python's headers, and its own extensions, are compiled.
_FLAGS = ("-O1", "-g", "-fno-omit-frame-pointer", "-fwrapv", "-fPIC", "-shared", "-Wall")
_SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")


class Unavailable(Exception):
    """There is no gcc, or it has no sanitizers."""


def make(folder: Path) -> dict[str, str]:
    """Make the copy in a folder; returns the environment that Python needs there. Raises `Unavailable`."""
    gcc = shutil.which("gcc")
    if gcc is None or sys.platform != "linux":
        raise Unavailable("no gcc on Linux, whose sanitizers these are")
    # C++ throws before the sanitizer has seen its library, otherwise.
    libraries = [_library(gcc, name) for name in ("libasan.so", "libstdc++.so")]
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*_LEFT_OUT), dirs_exist_ok=True)
    includes = [f"-I{path}" for path in (sysconfig.get_paths()["include"], np.get_include())]
    out = _FOLDER / f"_fast{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = [
        gcc,
        *_FLAGS,
        *_SANITIZERS,
        *includes,
        str(_FOLDER / "module.c"),
        "-o",
        str(out),
        "-lm",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"gcc does not compile with sanitizers: {done.stderr[-500:]}")
    return {
        **os.environ,
        "LD_PRELOAD": ":".join(libraries),
        # Python leaves much to the end of the process, and tests ask for more memory than there is.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",  # or objects lie in arenas, which the sanitizer does not look into
        "PYTHONPATH": str(folder),
    }


def _library(gcc: str, name: str) -> str:
    found = subprocess.run([gcc, f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(found):
        raise Unavailable(f"gcc has no {name}")
    return found


def main(argv: Sequence[str]) -> int:
    """Run Python with these arguments; returns its status."""
    with tempfile.TemporaryDirectory(prefix="nabla-array-") as name:
        environment = make(Path(name))
        return subprocess.call([sys.executable, *argv], cwd=name, env=environment)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
