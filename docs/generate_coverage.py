"""Write docs/reference/coverage.md: what calling each name of the standard does, found by calling it.

python docs/generate_coverage.py
"""

from __future__ import annotations

import inspect
import operator
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nabla_array as xp
import nabla_array.fft
import nabla_array.linalg
from nabla_array._lazy.graph.node import LIMIT
from nabla_array._lazy.stats import stats
from nabla_array._namespace.core.array import TINY
from nabla_array._namespace.dispatch import eager, fastpath

PAGE = Path(__file__).parent / "reference" / "coverage.md"
STANDARD = "https://data-apis.org/array-api/2025.12/API_specification/generated/array_api."

# The names of the standard 2025.12, by its chapters.
CHAPTERS = {
    "Array attributes": "T device dtype mT ndim shape size",
    "Array operators": (
        "__abs__ __add__ __and__ __eq__ __floordiv__ __ge__ __getitem__ __gt__ __invert__ __le__ __lshift__ "
        "__lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ "
        "__sub__ __truediv__ __xor__"
    ),
    "In-place operators": (
        "__iadd__ __iand__ __ifloordiv__ __ilshift__ __imatmul__ __imod__ __imul__ __ior__ __ipow__ "
        "__irshift__ __isub__ __itruediv__ __ixor__"
    ),
    "Reflected operators": (
        "__radd__ __rand__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__ "
        "__rrshift__ __rsub__ __rtruediv__ __rxor__"
    ),
    "Array methods": (
        "__array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__ __float__ __index__ __int__ "
        "to_device"
    ),
    "Constants": "e inf nan newaxis pi",
    "Creation functions": (
        "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like "
        "tril triu zeros zeros_like"
    ),
    "Data type functions": "astype can_cast finfo iinfo isdtype result_type",
    "Data types": (
        "bool complex128 complex64 float32 float64 int16 int32 int64 int8 uint16 uint32 uint64 uint8"
    ),
    "Elementwise functions": (
        "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift "
        "bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 "
        "floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log10 "
        "log1p log2 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply "
        "negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh "
        "sqrt square subtract tan tanh trunc"
    ),
    "Indexing functions": "take take_along_axis",
    "Inspection": "__array_namespace_info__ __array_api_version__",
    "Linear algebra functions": "matmul matrix_transpose tensordot vecdot",
    "Manipulation functions": (
        "broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip moveaxis permute_dims repeat "
        "reshape roll squeeze stack tile unstack"
    ),
    "Searching functions": "argmax argmin count_nonzero nonzero searchsorted where",
    "Set functions": "isin unique_all unique_counts unique_inverse unique_values",
    "Sorting functions": "argsort sort",
    "Statistical functions": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "Utility functions": "all any diff",
    "Extension linalg": (
        "linalg.cholesky linalg.cross linalg.det linalg.diagonal linalg.eig linalg.eigh linalg.eigvals "
        "linalg.eigvalsh linalg.inv linalg.matmul linalg.matrix_norm linalg.matrix_power linalg.matrix_rank "
        "linalg.matrix_transpose linalg.outer linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.svd "
        "linalg.svdvals linalg.tensordot linalg.trace linalg.vecdot linalg.vector_norm"
    ),
    "Extension fft": (
        "fft.fft fft.fftfreq fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifftn fft.ifftshift fft.ihfft "
        "fft.irfft fft.irfftn fft.rfft fft.rfftfreq fft.rfftn"
    ),
}


def flat(x: Any) -> Any:
    """Return an array in one axis, which computes nothing."""
    return xp.reshape(x, (-1,))


# What is done with arrays of fewer elements is done at once.
N = 60
# Every function is tried on x (N x N), on (x, x), and on integers, unless it stands here.
CALLS: dict[str, Callable[..., Any]] = {
    "__getitem__": lambda f, x, i: [x[0], x[::-1], x[..., None], x[i[:, 0] % N]],
    "__setitem__": lambda f, x, i: operator.setitem(x, (0, slice(None)), 5.0) or x,
    "__array_namespace__": lambda f, x, i: x.__array_namespace__(),
    "__dlpack_device__": lambda f, x, i: x.__dlpack_device__(),
    "to_device": lambda f, x, i: x.to_device(x.device),
    "arange": lambda f, x, i: f(5),
    "asarray": lambda f, x, i: f([1.0, 2.0]),
    "astype": lambda f, x, i: f(x, xp.float32),
    "broadcast_shapes": lambda f, x, i: f((3, 1), (3,)),
    "broadcast_to": lambda f, x, i: f(x, (2, N, N)),
    "can_cast": lambda f, x, i: f(x, xp.float32),
    "concat": lambda f, x, i: f([x, x]),
    "cross": lambda f, x, i: f(xp.reshape(x, (-1, 3)), xp.reshape(x, (-1, 3))),
    "cumulative_prod": lambda f, x, i: f(x, axis=0),
    "cumulative_sum": lambda f, x, i: f(x, axis=0),
    "empty": lambda f, x, i: f((3, 3)),
    "expand_dims": lambda f, x, i: f(x, axis=0),
    "eye": lambda f, x, i: f(3),
    "fftfreq": lambda f, x, i: f(4),
    "finfo": lambda f, x, i: f(xp.float64),
    "from_dlpack": lambda f, x, i: f(np.ones(3)),
    "full": lambda f, x, i: f((3, 3), 1.0),
    "full_like": lambda f, x, i: f(x, 1.0),
    "iinfo": lambda f, x, i: f(xp.int32),
    "imag": lambda f, x, i: f(x + 1j),
    "isdtype": lambda f, x, i: f(xp.int32, "integral"),
    "linspace": lambda f, x, i: f(0.0, 1.0, 5),
    "matrix_power": lambda f, x, i: f(x, 3),
    "meshgrid": lambda f, x, i: f(flat(x), flat(x)),
    "moveaxis": lambda f, x, i: f(x, 0, 1),
    "ones": lambda f, x, i: f((3, 3)),
    "outer": lambda f, x, i: f(flat(x), flat(x)),
    "permute_dims": lambda f, x, i: f(x, (1, 0)),
    "repeat": lambda f, x, i: f(x, 2),
    "reshape": lambda f, x, i: f(x, (N * N,)),
    "rfftfreq": lambda f, x, i: f(4),
    "roll": lambda f, x, i: f(x, 1),
    "searchsorted": lambda f, x, i: f(flat(x), flat(x)),
    "squeeze": lambda f, x, i: f(xp.reshape(x, (1, N * N)), axis=0),
    "stack": lambda f, x, i: f([x, x]),
    "take": lambda f, x, i: f(x, flat(i) % N, axis=0),
    "take_along_axis": lambda f, x, i: f(x, i % N, axis=0),
    "tile": lambda f, x, i: f(x, (2, 1)),
    "where": lambda f, x, i: f(x > 0, x, -x),
    "zeros": lambda f, x, i: f((3, 3)),
}
for _name in ("__bool__", "__complex__", "__float__", "__int__"):
    CALLS[_name] = lambda f, x, i: f(x[0, 0])
CALLS["__index__"] = lambda f, x, i: f(i[0, 0])

NOTES = {
    "T": "as NumPy's: any number of axes",
    "__dlpack__": "exports the elements",
    "__getitem__": "evaluates for a small part, and for a mask: the result's shape depends on data",
    "__setitem__": "evaluates small arrays; accepts NumPy's keys, and views alias as in NumPy",
    "empty": "zeros",
    "empty_like": "zeros",
    "expm1": "complex: the standard's infinities, where NumPy gives nan",
    "floor_divide": "the standard's: `inf // 2` is inf (NumPy: nan), `-1 // inf` -0.0 (NumPy: -1)",
    **dict.fromkeys(
        ("cholesky", "inv", "solve"),
        "evaluates, so that the error for a singular matrix is raised where programs catch it",
    ),
    "repeat": "evaluates `repeats` where it is an array: the result's shape depends on it",
    "std": "`correction` for NumPy's `ddof`; nan where it leaves no elements to divide by",
    "tanh": "complex: the standard's signs of zero at infinities",
    "var": "`correction` for NumPy's `ddof`; nan where it leaves no elements to divide by",
}
# Parameters of NumPy's that the function does not take are noted, but for those that mean nothing here.
_NO_MATTER = {
    "like",
    "subok",
    "copy",
    "ddof",
    "assume_unique",
    "kind",
    "kwargs",
    "a_min",
    "a_max",
    "x",
    "y",
    "M",
}


def not_taken(name: str, thing: Any) -> str:
    """Return a note on the parameters of NumPy's function of that name that ours lacks."""
    theirs: Any = np
    for part in name.split("."):
        theirs = getattr(theirs, part, None)
    if not callable(theirs) or isinstance(theirs, np.ufunc | type):
        return ""
    try:
        parameters = list(inspect.signature(theirs).parameters.values())
        ours = inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return ""
    # The first ones are given by place, whatever their names; so are those that must be given.
    optional = [p.name for p in parameters[1:] if p.default is not p.empty]
    lacking = [f"`{n}`" for n in optional if n not in ours and n not in _NO_MATTER]
    return f"not NumPy's {', '.join(lacking)}" if lacking else ""


def find(name: str) -> Any:
    """Return what a name stands for: in the namespace, in an extension, or of an array."""
    if (name.startswith("__") or name == "to_device") and name not in (
        "__array_namespace_info__",
        "__array_api_version__",
    ):
        return getattr(xp.Array, name, None)
    where: Any = xp
    for part in name.split("."):
        where = getattr(where, part, None)
    return None if hasattr(where, "runs_on_host") else where  # NumPy's functions do not count


def _try(name: str, f: Callable[..., Any]) -> tuple[str, int]:
    """Call a function on pending arrays; returns what became of it and the evaluations it took."""
    arguments: list[Callable[..., Any]] = [
        lambda f, x, i: f(x),
        lambda f, x, i: f(x, x),
        lambda f, x, i: f(i),
        lambda f, x, i: f(i, i),
    ]
    call = CALLS.get(name.rpartition(".")[2])
    error: Exception | None = None
    for attempt in [call] if call else arguments:
        if fastpath.compiled is not None:  # what it would do with larger ones
            fastpath.compiled.limit(eager.PART, 0, TINY, sys.maxsize, LIMIT)
        x = xp.asarray(np.eye(N) + 1) * 2
        i = xp.asarray(np.arange(N * N).reshape(N, N)) + 1
        before = stats.evaluations
        try:
            result = attempt(f, x, i)
        except (TypeError, ValueError) as found:
            error = found
            continue
        finally:
            fastpath.limit()
        took = stats.evaluations - before
        arrays = [a for a in _flat(result) if isinstance(a, xp.Array)]
        if took:
            return "evaluates", took
        if not arrays:
            return "no array", took
        return ("lazy" if any(xp.explain(a).steps for a in arrays) else "at once"), took
    raise RuntimeError(f"{name}: no way to call it; put one into CALLS") from error


def _flat(result: Any) -> list[Any]:
    return [a for r in result for a in _flat(r)] if isinstance(result, list | tuple) else [result]


WORDS = {
    "lazy": "lazy",
    "at once": "at once",
    "evaluates": "evaluates",
    "no array": "shape and dtype only",
    "value": "there",
    "missing": "**missing**",
}
BY_DATA = "the result's shape depends on data"
PYTHON_VALUE = "gives Python a value"


def row(chapter: str, name: str) -> tuple[str, str]:
    """Return the kind of a name, and a note."""
    short = name.rpartition(".")[2]
    if chapter == "Array attributes":
        kind = "missing" if not hasattr(xp.Array, name) else "no array"
        return ("lazy" if name in ("T", "mT") and kind != "missing" else kind), NOTES.get(name, "")
    thing = find(name)
    if thing is None and name != "newaxis":
        return "missing", ""
    if chapter in ("Constants", "Data types", "Inspection"):
        return "value", ""
    kind, _ = _try(name, thing)
    note = "; ".join(filter(None, (NOTES.get(short, ""), not_taken(name, thing))))
    if kind == "evaluates" and not note:
        note = PYTHON_VALUE if chapter == "Array methods" else BY_DATA
    return kind, note


def page() -> str:
    """Return the whole page."""
    lines: list[str] = []
    counts: Counter[str] = Counter()
    for chapter, names in CHAPTERS.items():
        lines += ["", f"## {chapter}", "", "| name | calling it | notes |", "|---|---|---|"]
        for name in names.split():
            kind, note = row(chapter, name)
            counts[kind] += 1
            lines.append(f"| {link(chapter, name)} | {WORDS[kind]} | {note} |")
    total = sum(counts.values())
    head = [
        "# The standard, name by name",
        "",
        f"<!-- Written by {Path(__file__).name}; `python docs/{Path(__file__).name}` writes it anew. -->",
        "",
        f"Every name of the [Python Array API standard](https://data-apis.org/array-api/2025.12/) 2025.12 "
        f"({total} names, {counts['missing']} missing) and what calling it with arrays that are still "
        "pending does, found by calling it:",
        "",
        f"- *lazy* ({counts['lazy']}): it records an operation; nothing is computed.",
        f"- *evaluates* ({counts['evaluates']}): it needs the elements of its arguments, for the reason in "
        "the notes.",
        f"- *at once* ({counts['at once']}): it makes an array from known values, or one that takes no "
        "memory.",
        f"- *shape and dtype only* ({counts['no array']}): it answers without the elements.",
        "",
        "Where the standard leaves a value open, it is NumPy's. NumPy's own names for these functions, and "
        "NumPy's other functions, have [a table of their own](numpy-coverage.md). Parameters that the notes "
        "call *not NumPy's* are accepted by NumPy's function (`numpy.sum(x, where=...)`) on our arrays, if "
        "necessary through NumPy on the host. This holds for all parameters of ufuncs (`out`, `where`, "
        "`dtype`, ...).",
    ]
    return "\n".join([*head, *lines, ""])


def link(chapter: str, name: str) -> str:
    """Return the name as a link to its page of the standard, where it has one."""
    if chapter in ("Array attributes", "Array operators", "Array methods"):
        return f"[`{name}`]({STANDARD}array.{name}.html)"
    if chapter in ("In-place operators", "Reflected operators", "Inspection", "Data types", "Constants"):
        return f"`{name}`"
    return f"[`{name}`]({STANDARD}{name}.html)"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE.name}\n")
