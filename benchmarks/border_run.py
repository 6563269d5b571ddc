"""A process of `benchmarks.borders`: runs a library's lines and writes what they give, as plain data.

python border_run.py LIBRARY OUT [MODULE]: `np` in the lines is MODULE, numpy where none is given.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# NumPy itself, which `import numpy` does not mean here under the runner.
numpy: Any = sys.modules[importlib.import_module("numpy._core").__package__.partition(".")[0]]  # type: ignore[union-attr]

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.border_lines import DATA, LIBRARIES  # noqa: E402

_ADDRESS = re.compile(r"0x[0-9a-f]+", re.IGNORECASE)


def plain(value: Any) -> Any:
    """Return a result as JSON has it; whose arrays are in it does not show."""
    kind = type(value).__module__.partition(".")[0]
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, dict):
        return ["dict", *([plain(k), plain(v)] for k, v in value.items())]
    if isinstance(value, list | tuple | set):
        return [type(value).__name__, *map(plain, value)]
    if kind == "nabla_array" and hasattr(value, "dtype"):
        value = numpy.asarray(value)
        value = value if value.ndim else value[()]
    elif kind in ("torch", "jaxlib", "jax") and hasattr(value, "dtype"):
        value = numpy.asarray(value.detach() if kind == "torch" else value)
        return [kind, plain(value)]
    elif kind in ("polars", "pyarrow"):
        made = next(
            (getattr(value, n)() for n in ("to_pylist", "to_dicts", "to_list") if hasattr(value, n)), None
        )
        if made is not None:
            return [
                type(value).__name__,
                str(getattr(value, "type", getattr(value, "dtype", ""))),
                plain(made),
            ]
    elif kind == "pandas" and hasattr(value, "to_numpy"):
        return [type(value).__name__, repr(value), plain(value.to_numpy())]
    if isinstance(value, numpy.ma.MaskedArray):
        return ["masked", plain(value.filled(0)), plain(numpy.ma.getmaskarray(value))]
    if isinstance(value, numpy.ndarray):
        if value.dtype.names:
            value = value.tolist()
            return plain(value)
        return [str(value.dtype), list(value.shape), [plain(e) for e in value.ravel().tolist()]]
    if isinstance(value, numpy.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, complex):
        return [value.real, value.imag]
    return _ADDRESS.sub("0x", repr(value))


def outcome(setup: str, line: str, module: str) -> dict[str, Any]:
    """Run a line; return its value or its error, and the warnings at lines that are not the user's."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found: dict[str, Any] = {}
    *statements, expression = line.split("; ")
    if "nabla_array" in sys.modules:
        sys.modules["nabla_array"].report(reset=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            exec(compile(f"import {module} as np\n{setup}", "<line>", "exec"), names)
            for statement in statements:
                exec(compile(statement, "<line>", "exec"), names)
            found["value"] = plain(eval(compile(expression, "<line>", "eval"), names))
        except Exception as error:
            found["error"] = f"{type(error).__name__}: {error}"
    fallbacks = [w for w in told if w.category.__name__ == "HostFallbackWarning"]
    found["warned"] = [f"{w.message} ({w.filename})" for w in fallbacks if w.filename != "<line>"]
    return found


def run(name: str, module: str) -> Iterable[dict[str, Any]]:
    """Run the lines of a library."""
    library = LIBRARIES[name]
    setup = "\n".join(["import " + "\nimport ".join(library.imports.split("; ")), DATA, library.setup])
    return [outcome(setup, line, module) for line in library.lines]


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(run(sys.argv[1], *(sys.argv[3:] or ["numpy"]))), encoding="utf-8")
