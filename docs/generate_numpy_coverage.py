"""Write docs/reference/numpy-coverage.md: every public name of NumPy's, and what it is here.

python docs/generate_numpy_coverage.py
"""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import nabla_array as xp

PAGE = Path(__file__).parent / "reference" / "numpy-coverage.md"
RELEASE = "NumPy " + np.__version__.rpartition(".")[0]
MANUAL = "https://numpy.org/doc/stable/reference"
MODULES = {
    "numpy": (np, xp),
    "numpy.linalg": (np.linalg, xp.linalg),
    "numpy.fft": (np.fft, xp.fft),
    "numpy.random": (np.random, xp.random),
}

# What does not compute with numbers: files, text, dates, Python objects, settings.
NOT_NUMERIC = (
    "array2string array_repr array_str base_repr binary_repr busday_count busday_offset datetime_as_string "
    "datetime_data format_float_positional format_float_scientific frombuffer fromfile frompyfunc fromregex "
    "fromstring genfromtxt get_include get_printoptions getbufsize geterr geterrcall info is_busday isnat "
    "load loadtxt nested_iters printoptions save savetxt savez savez_compressed set_printoptions setbufsize "
    "seterr seterrcall show_config show_runtime asmatrix bmat errstate test"
)
NOTES = {
    "argpartition": "sorts",
    "bincount": "evaluates the integers: the result's shape depends on them; weights stay lazy",
    "clip": "the standard's bounds: `max` wins where it is below `min`",
    "core": "NumPy's internals under their old name: it warns, as NumPy does",
    "digitize": "evaluates the bins, to see which way they go",
    "expm1": "complex: the standard's infinities, where NumPy gives nan",
    "floor_divide": "the standard's: `inf // 2` is inf (NumPy: nan), `-1 // inf` -0.0 (NumPy: -1)",
    "histogram": "evaluates; with weights, these stay lazy",
    "ndenumerate": "elements are 0-d arrays",
    "partition": "sorts",
    "percentile": "weights, and methods of steps such as inverted_cdf, run on the host",
    "quantile": "weights, and methods of steps such as inverted_cdf, run on the host",
    "tanh": "complex: the standard's signs of zero at infinities",
    "unique": "evaluates: the result's shape depends on data; values are differentiable",
    "unique_all": "the standard's: each nan by itself",
    "unique_counts": "the standard's: each nan by itself",
    "unique_inverse": "the standard's: each nan by itself",
    "unique_values": "the standard's: each nan by itself, ascending",
    "vectorize": "calls the function for each element, as NumPy's; `vmap` does it for all at once",
}
KINDS = {
    "native": "ours: recorded in the graph where there is something to compute",
    "NumPy's": "NumPy's own object: a dtype, a constant, a class, a setting; nothing is computed by it",
    "host": "NumPy's function on the host, counted, its results ours where we can hold them",
    "drawn": "NumPy's own generators on the host, seed for seed; the arrays are ours",
}


def kind_of(module: str, name: str) -> str:
    """Return what a name of NumPy's is here."""
    theirs, ours = MODULES[module]
    thing = getattr(ours, name)
    if getattr(thing, "runs_on_host", False) or type(thing).__name__ == "NumpyModule":
        return "host"
    if thing is getattr(theirs, name) or hasattr(thing, "runs_on_host"):
        return "NumPy's"
    return "drawn" if module == "numpy.random" else "native"


def is_numeric(module: str, name: str) -> bool:
    """Say whether a name of NumPy's is a function that computes with, or makes, arrays of numbers."""
    thing = getattr(MODULES[module][0], name)
    if module == "numpy.random" or isinstance(thing, type) or not callable(thing) or inspect.ismodule(thing):
        return False
    return name not in NOT_NUMERIC.split()


def names() -> list[tuple[str, str]]:
    """Return every public name, with its module."""
    return [(m, n) for m, (theirs, _) in MODULES.items() for n in sorted(theirs.__all__, key=str.lower)]


def rows() -> list[tuple[str, str, str, bool]]:
    """Return (module, name, kind, is it numeric?) for every name."""
    return [(m, n, kind_of(m, n), is_numeric(m, n)) for m, n in names()]


def page() -> str:
    """Return the whole page."""
    table = rows()
    counts: Counter[str] = Counter(kind for _, _, kind, _ in table)
    numeric = [kind for _, _, kind, number in table if number]
    share = 100 * sum(k != "host" for k in numeric) / len(numeric)
    lines = [
        "# NumPy, name by name",
        "",
        f"<!-- Written by {Path(__file__).name}; `python docs/{Path(__file__).name}` writes it anew. -->",
        "",
        f"Every name of `__all__` in `numpy`, `numpy.linalg`, `numpy.fft` and `numpy.random` of {RELEASE} "
        f"({len(table)} names), and what it means after `import nabla_array as np`. Of the "
        f"{len(numeric)} functions that compute with numbers (without random ones), {share:.0f} percent are "
        "implemented here.",
        "",
        *[f"- *{kind}* ({counts[kind]}): {text}." for kind, text in KINDS.items()],
    ]
    for module in MODULES:
        manual = f"{MANUAL}/random/generated" if module == "numpy.random" else f"{MANUAL}/generated"
        lines += ["", f"## {module}", "", "| name | here | notes |", "|---|---|---|"]
        for m, name, kind, _ in table:
            if m == module:
                note = NOTES.get(name, "")
                lines.append(f"| [`{name}`]({manual}/{m}.{name}.html) | {kind} | {note} |")
    return "\n".join([*lines, ""])


def main() -> Any:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE.name}\n")


if __name__ == "__main__":
    main()
