"""Run one script of other people's, and write down what it leaves in its global names.

    python -m tests.upstream.script FOLDER SCRIPT [--numpy]

The runner runs it, unchanged, from its own folder; with `--numpy`, NumPy's arrays stay. FOLDER gets `left`,
the numbers, arrays and texts among its globals and in objects of its classes, and what `run --record` keeps:
its figures, and `seconds`, which the import of libraries is not part of.
"""

from __future__ import annotations

import ast
import gc
import importlib
import os
import pickle
import random
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contestants import import_late
from nabla_array.__main__ import main as nabla_array

DEPTH, ITEMS, BYTES = 5, 2000, 64_000_000


def plain(value: Any, depth: int = DEPTH) -> Any:
    """Return a value as NumPy's arrays, Python's numbers and containers of them; None where it is no data."""
    if value is None or (isinstance(value, bool | int | float | complex | str) and len(str(value)) < ITEMS):
        return np.asarray(value).item() if isinstance(value, float | complex) else value
    if hasattr(value, "__array__") and hasattr(value, "dtype") and hasattr(value, "shape"):
        array = np.asarray(value)
        return np.array(array) if array.dtype.kind in "biufcUSmM" and array.nbytes < BYTES else None
    if depth == 0:
        return None
    if isinstance(value, dict):
        items = [(k, v) for k, v in list(value.items())[:ITEMS] if isinstance(k, str)]
    elif isinstance(value, list | tuple):
        items = [(str(i), v) for i, v in enumerate(value[:ITEMS])]
    elif type(value).__module__ == "__main__" and hasattr(value, "__dict__"):
        items = [(k, v) for k, v in vars(value).items() if not k.startswith("_")]
    else:
        return None
    found = {k: plain(v, depth - 1) for k, v in items}
    return {k: v for k, v in found.items() if v is not None}


def _libraries(script: Path) -> None:
    """Import the installed libraries that a script does, and what comes with our names' first use."""
    import_late()
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module, *[f"{node.module}.{a.name}" for a in node.names]]
        for name in names:
            if name.partition(".")[0] in (
                "matplotlib",
                "mpl_toolkits",
                "pandas",
                "scipy",
                "sklearn",
                "sympy",
            ):
                with suppress(ImportError):  # it is the script that says so
                    importlib.import_module(name)
    if "matplotlib.pyplot" in sys.modules:  # nobody looks at the frames of an animation
        sys.modules["matplotlib.pyplot"].__dict__["pause"] = lambda seconds: None
    gc.collect()  # what was imported is not for the script to go through


def main(folder: str, script: str, *numpy: str) -> None:
    importlib.import_module("nabla_array")
    _libraries(Path(script))
    os.chdir(Path(script).parent)
    random.seed(0)
    np.random.seed(0)
    try:
        nabla_array(["run", *numpy, "--record", folder, script])
    finally:
        left = {
            name: plain(value)
            for name, value in vars(sys.modules["__main__"]).items()
            if not name.startswith("_")
        }
        kept = {name: value for name, value in left.items() if value is not None}
        Path(folder, "left").write_bytes(pickle.dumps(kept))


if __name__ == "__main__":
    main(*sys.argv[1:])
