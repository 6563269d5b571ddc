"""Write the table of differences in docs/howto/porting.md: what NumPy answers, what we do, and why.

python docs/generate_differences.py
"""

from __future__ import annotations

import datetime
import json
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy

import nabla_array

PAGE = Path(__file__).parent / "howto" / "porting.md"
BEGIN, END = "<!-- differences: written by generate_differences.py -->\n", "<!-- end of differences -->\n"


class Difference(NamedTuple):
    """Code (statements, then an expression), what NumPy and we answer, and why.

    An error is claimed by its type alone.
    """

    code: str
    numpy: str
    ours: str
    why: str


DIFFERENCES = {
    "Values": [
        Difference("np.array([np.inf]) // 2.0", "array([nan])", "array([inf])", "the standard's"),
        Difference("np.array([-1.0]) // np.inf", "array([-1.])", "array([-0.])", "the standard's"),
        Difference(
            "np.tanh(np.array([np.inf + 2j]))", "array([1.-0.j])", "array([1.+0.j])", "the standard's"
        ),
        Difference(
            "float(np.percentile(np.array([92, -84, -106, 88], dtype=np.int8), 50))",
            "130.0",
            "2.0",
            "NumPy subtracts neighbours in the integers' own dtype, where -84 and 88 are too far apart",
        ),
        Difference(
            "a = np.arange(1000) % 2; bool(np.all(np.argsort(a) == np.argsort(a, kind='stable')))",
            "False",
            "True",
            "sorts are stable unless `stable=False`; NumPy's are only with `kind='stable'`",
        ),
        Difference(
            "np.finfo(np.float32).eps",
            "np.float32(1.1920929e-07)",
            "1.1920928955078125e-07",
            "the standard's: a Python float",
        ),
        Difference(
            "type(np.ones(2)).__name__",
            "'ndarray'",
            "'Array'",
            "`isinstance(x, np.ndarray)` and `type(x) == np.ndarray` are true; `is` is not",
        ),
        Difference("np.__version__ == numpy.__version__", "True", "False", "ours; NumPy's under the runner"),
        Difference("np.__name__", "'numpy'", "'nabla_array'", "the module's own"),
    ],
    "Results without axes": [
        Difference(
            "isinstance(np.ones(2)[0], np.ndarray)",
            "False",
            "True",
            "they are arrays, and lazy; False under the runner, but not with `type(np.ones(2))` in place of "
            "`np.ndarray`",
        ),
        Difference(
            "datetime.timedelta(seconds=np.ones(2)[0])",
            "datetime.timedelta(seconds=1)",
            "TypeError",
            "as `Decimal` and `time.sleep`, C code that takes Python's numbers and asks nothing: `float(x)`",
        ),
        Difference(
            'hasattr(np.ones(2)[0], "__iter__")', "False", "True", "it is None; `iter` raises the same error"
        ),
        Difference(
            "np.timedelta64(np.arange(2)[1], 'D')",
            "np.timedelta64(1,'D')",
            "ValueError",
            "C code that knows Python's and NumPy's numbers alone: `int(i)`",
        ),
    ],
    "Errors that only elements show": [
        Difference(
            'n = 600_000; x = np.ones(n); y = x[n * np.ones(n, int)]; "later"',
            "IndexError",
            "'later'",
            "raised where a value is needed; the message names the line that recorded it",
        ),
        Difference(
            'y = np.linalg.svd(np.full((2, 2), np.nan)); "later"',
            "LinAlgError",
            "'later'",
            "the same error, then; `inv`, `solve` and `cholesky` raise it at once",
        ),
    ],
    "Memory": [
        Difference(
            "a = numpy.ones(3); x = np.asarray(a); a[0] = 5; float(x[0])",
            "5.0",
            "1.0",
            "`asarray` copies NumPy's arrays, which may change before the evaluation; `copy=False` shares",
        ),
        Difference(
            "x = np.ones(3); a = numpy.asarray(x); a[0] = 5; float(x[0])",
            "5.0",
            "1.0",
            "NumPy gets a copy that it may write to",
        ),
        Difference(
            "(np.ones((999, 999)).T + 1).strides",
            "(8, 7992)",
            "(7992, 8)",
            "what is recorded of views is in C order; of arrays made with `order=`, in theirs",
        ),
        Difference(
            "memoryview(np.ones(3)).nbytes",
            "24",
            "BufferError",
            "NumPy asks for the same, and gets a copy; `x.data` is one; a script under the runner has it",
        ),
        Difference(
            "len(bytearray(np.arange(3)))",
            "24",
            "BufferError",
            "the same; `x.tobytes()` and `bytes(x)` have all",
        ),
        Difference(
            "x = np.ones(3); m = np.ma.array(x); m[0] = 5; float(x[0])",
            "5.0",
            "1.0",
            "masked arrays, which are NumPy's, get a copy that they may write to",
        ),
        Difference(
            "x = np.zeros(3); np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8))[0, 1] = 5; float(x[1])",
            "5.0",
            "ValueError",
            "a copy, read-only",
        ),
    ],
}


def told(code: str, np: ModuleType) -> str:
    """Run code with `np` meaning a module; returns the repr of its last expression, or an error's type."""
    *statements, expression = code.split("; ")
    names: dict[str, Any] = {"np": np, "numpy": numpy, "json": json, "datetime": datetime}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for statement in statements:
                exec(statement, names)
            return repr(eval(expression, names))
        except Exception as error:
            return type(error).__name__


def table() -> str:
    """Return the tables."""
    lines = []
    for topic, rows in DIFFERENCES.items():
        lines += [f"### {topic}", "", "| code | NumPy | nabla_array | why |", "|---|---|---|---|"]
        lines += [f"| `{d.code}` | `{d.numpy}` | `{d.ours}` | {d.why} |" for d in rows]
        lines.append("")
    return "\n".join(lines)


def page() -> str:
    """Return the page with the tables in their place."""
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table()}\n{END}{tail}"


def main() -> None:
    """Write the page, after checking what it says."""
    for rows in DIFFERENCES.values():
        for d in rows:
            found = told(d.code, numpy), told(d.code, nabla_array)
            if found != (d.numpy, d.ours):
                sys.exit(f"{d.code}: NumPy and we answer {found}, not {d.numpy, d.ours}")
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE.name}\n")


if __name__ == "__main__":
    main()
