"""SciPy's and scikit-learn's functions under transforms and on a mesh: a table of what is measured.

``python -m tests.transforms.scipy_table`` prints what is measured where it is not what the table says;
``--write`` writes the table into docs/howto/scipy.md.
"""

from __future__ import annotations

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before SciPy is imported

import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
import sklearn

import nabla_array as xp
from nabla_array import Array
from nabla_array.distributed import DeviceMesh, P, shard
from nabla_array.transforms import ValueLeftWarning, compile, grad, jvp, tree_flatten, vmap
from nabla_array.transforms.libraries.delegation import replaced

from .scipy_functions import CHAPTERS as FUNCTIONS
from .scipy_solvers import MORE

CHAPTERS = FUNCTIONS | MORE

# The versions in which the cells are as they are; in others the numbers must be right, whatever is limited.
VERSIONS = {"scipy": "1.17", "sklearn": "1.9"}
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "scipy.md"
MARKS = "<!-- begin {} -->", "<!-- end {} -->"
EXAMPLES = 3
TRANSFORMS = ("vmap", "grad", "jvp", "compile")
COLUMNS = (*TRANSFORMS, "sharded")
MESH = DeviceMesh((4,), ("rows",))
# What limits a cell, in the order of the notes.
NOTES = {
    "s": "Looks at values (to check them, to iterate until all is done, or to index by a mask), or leaves "
    "for NumPy or C, where all part: `vmap` runs the function again for the examples that part.",
    "c": "Leaves for NumPy or C: `vmap` computes example by example; a derivative is refused with a "
    "TypeError.",
    "l": "Looks at values: `compile` falls back to the plain call and counts it; `fullgraph=True` raises, "
    "naming the line.",
    "f": "Gives a Python number, so that no derivative can follow: refused with a TypeError, and told by a "
    "`ValueLeftWarning` where it is computed with.",
    "n": "The derivative has no formula: refused with a NotImplementedError.",
    "0": "Piecewise constant (ranks, counts): the derivative is 0.",
    "i": "Of integers: there is no derivative.",
    "w": "Divides by zero where the result is not taken: reverse mode gives nan, as JAX's would.",
    "h": "The result is in the host's memory, and the work at least partly: it leaves for NumPy or C, or is "
    "put into arrays that the function makes (on the mesh within `with mesh:`).",
}


class Row(NamedTuple):
    """A function, how it is called, and what its cells say: a letter each, or a dot where all is well."""

    chapter: str
    name: str
    call: Callable[..., Any]
    operands: tuple[Any, ...]
    cells: str

    def __str__(self) -> str:
        return f"{self.chapter}.{self.name}"

    def batch(self) -> list[np.ndarray]:
        """Return random operands, with the examples along the first axis."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return [np.asarray(draw((EXAMPLES, *shape), rng)) for draw, shape in self.operands]


def rows() -> Iterator[Row]:
    """Yield every row of the table."""
    for chapter, entries in CHAPTERS.items():
        for name, (call, operands, cells) in entries.items():
            yield Row(chapter, name, call, operands, cells)


# -- measuring -----------------------------------------------------------------------------------------


def leaves(tree: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in tree_flatten(tree)[0]]


def assert_near(got: Iterable[Any], wanted: Iterable[Any], tolerance: float = 1e-8) -> None:
    for x, y in zip(got, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def arrays(operands: Iterable[np.ndarray]) -> list[Array]:
    return [xp.asarray(x) for x in operands]


def measure(row: Row) -> str:
    """Return the row's cells as they are; raises AssertionError where a number is wrong."""
    batch = row.batch()
    with warnings.catch_warnings(), sklearn.config_context(array_api_dispatch=True, assume_finite=True):
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", ValueLeftWarning)  # each would be a false alarm, or wrong
        examples = [[x[i] for x in batch] for i in range(EXAMPLES)]
        wanted = [leaves(row.call(*e)) for e in examples]
        for example, outs in zip(examples, wanted, strict=True):
            assert_near(leaves(row.call(*arrays(example))), outs)
        forward, reverse = _derivatives(row, examples[0])
        together = _vmap(row, batch, wanted, "c" if forward == "c" else "s")
        compiled = _compile(row, examples, wanted)
        return together + reverse + forward + compiled + _sharded(row, examples[0], wanted[0])


def _vmap(row: Row, batch: list[np.ndarray], wanted: list[list[np.ndarray]], parted: str) -> str:
    runs = []

    def counted(*x: Any) -> Any:
        runs.append(1)
        return row.call(*x)

    got = vmap(counted)(*arrays(batch))
    assert_near(leaves(got), [np.stack(column) for column in zip(*wanted, strict=True)])
    return "." if len(runs) == 1 else parted


def _derivatives(row: Row, example: list[np.ndarray]) -> tuple[str, str]:
    """Return the cells of jvp and of grad, compared with central differences."""
    places = [i for i, x in enumerate(example) if x.dtype.kind == "f"]
    rng = np.random.default_rng(1)
    tangents = [rng.standard_normal(example[i].shape) for i in places]

    def at(step: float) -> list[np.ndarray]:
        moved = list(example)
        for i, t in zip(places, tangents, strict=True):
            moved[i] = example[i] + step * t
        return leaves(row.call(*moved))

    h = 1e-4
    steps = zip(at(-2 * h), at(-h), at(h), at(2 * h), strict=True)
    inexact = [x.dtype.kind == "f" for x in leaves(row.call(*example))]
    if not places or not any(inexact):
        return "i", "i"
    slopes = [
        (a - 8 * b + 8 * c - d) / (12 * h) for (a, b, c, d), keep in zip(steps, inexact, strict=True) if keep
    ]
    weights = [rng.uniform(0.5, 1.5, s.shape) for s in slopes]

    def of_floats(*values: Any) -> list[Any]:
        given = arrays(example)
        for i, v in zip(places, values, strict=True):
            given[i] = v
        outs = tree_flatten(row.call(*given))[0]
        return [y for y, keep in zip(outs, inexact, strict=True) if keep]

    def number(*values: Any) -> Any:
        total = 0
        for w, y in zip(weights, of_floats(*values), strict=True):
            total = total + (xp.sum(xp.asarray(w) * y) if isinstance(y, Array) else float(w) * y)
        return total

    primals = arrays(example[i] for i in places)

    def forward() -> None:
        assert_near(leaves(jvp(of_floats, primals, arrays(tangents))[1]), slopes, 1e-5)

    def reverse() -> None:
        found = grad(number, argnums=tuple(range(len(places))))(*primals)
        slope = sum(float(np.sum(g * t)) for g, t in zip(leaves(found), tangents, strict=True))
        if np.isnan(slope):
            raise ZeroDivisionError
        assert_near([slope], [sum(float(np.sum(w * s)) for w, s in zip(weights, slopes, strict=True))], 1e-5)

    flat = all(np.abs(s).max(initial=0) < 1e-6 for s in slopes)
    return _limit(forward, flat), _limit(reverse, flat)


def _limit(derive: Callable[[], None], flat: bool) -> str:
    try:
        derive()
    except ZeroDivisionError:
        return "w"
    except NotImplementedError as error:
        _check_says(error, "no derivative")
        return "n"
    except ValueLeftWarning:
        return "f"
    except TypeError as error:
        reasons = {"leaves for NumPy": "c", "no array": "f"}
        found = [code for text, code in reasons.items() if text in str(error)]
        _check_says(error, next(iter(reasons)) if not found else "")
        return found[0]
    return "0" if flat else "."


def _check_says(error: Exception, text: str) -> None:
    if text not in str(error):
        raise AssertionError(f"another error than expected: {error}") from error


def _compile(row: Row, examples: list[list[np.ndarray]], wanted: list[list[np.ndarray]]) -> str:
    try:
        whole = compile(row.call, fullgraph=True)
        whole(*arrays(examples[0]))
    except TypeError as error:
        _check_says(error, "fullgraph")
    except NotImplementedError as error:
        _check_says(error, "lazy")
    else:
        assert_near(leaves(whole(*arrays(examples[1]))), wanted[1])
        assert whole.cache_info().hits == 1
        return "."
    falling = compile(row.call)
    for example, outs in zip(examples, wanted, strict=True):
        assert_near(leaves(falling(*arrays(example))), outs)
    assert falling.cache_info().fallbacks == len(examples)
    return "l"


def _sharded(row: Row, example: list[np.ndarray], wanted: list[np.ndarray]) -> str:
    """Return the cell for operands that are cut along their first axis over the devices of a mesh."""
    operands = [shard(x, MESH, P("rows") if x.ndim else P()) for x in example]
    results = tree_flatten(row.call(*operands))[0]
    assert_near(leaves(results), wanted)
    # A number of Python's is one of ours whose value was asked for in the end; NumPy's come from NumPy.
    there = [x.device == MESH if isinstance(x, Array) else type(x) in (bool, int, float) for x in results]
    return "." if all(there) else "h"


# -- the page ------------------------------------------------------------------------------------------


def versions_differ() -> bool:
    found = {"scipy": scipy.__version__, "sklearn": sklearn.__version__}
    return any(not found[name].startswith(version + ".") for name, version in VERSIONS.items())


def table() -> str:
    """Return the table, and its notes, as Markdown."""
    every = list(rows())
    used = [code for code in NOTES if any(code in r.cells for r in every)]
    mark = {code: str(k) for k, code in enumerate(used, 1)}
    works = [Counter("." if r.cells[k] in ".0" else "" for r in every)["."] for k in range(len(COLUMNS))]
    told = ", ".join(f"`{name}` {n}" for name, n in zip(COLUMNS, works, strict=True))
    lines = [f"{len(every)} calls. As a whole, without a limit: {told}.", ""]
    for k, code in enumerate(used, 1):
        lines.append(f"{k}. {NOTES[code]}")
    for chapter in CHAPTERS:
        lines += [
            "",
            f"### {chapter}",
            "",
            f"| function | {' | '.join(COLUMNS)} |",
            "|---|---|---|---|---|---|",
        ]
        for cells, names in _alike(r for r in every if r.chapter == chapter):
            shown = ["yes" if c == "." else f"yes [{mark[c]}]" if c in "s0h" else mark[c] for c in cells]
            shown = [c if not c.isdigit() else f"no [{c}]" for c in shown]
            shown[0] = shown[0].replace("no", "yes")  # it never refuses
            shown[3] = shown[3].replace("no", "falls back")
            lines.append(f"| {', '.join(f'`{n}`' for n in names)} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def _alike(some: Iterable[Row]) -> list[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {}
    for r in some:
        groups.setdefault(r.cells, []).append(r.name)
    return list(groups.items())


def replaced_list() -> str:
    """Return what is replaced, a line for each module and reason, as Markdown."""
    lines: dict[tuple[str, str], list[str]] = {}
    for row, names in replaced():
        lines.setdefault((row.module, row.reason), []).extend(names)
    return "".join(
        f"- `{module}` ({reason}): {', '.join(f'`{n}`' for n in sorted(set(names)))}\n"
        for (module, reason), names in lines.items()
    )


def page() -> str:
    """Return the page with the list and the table as they should be."""
    text = PAGE.read_text(encoding="utf-8")
    for name, part in (("list", replaced_list()), ("table", table())):
        begin, end = (mark.format(name) for mark in MARKS)
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n\n{part}\n{end}{rest.partition(end)[2]}"
    return text


def main(arguments: Sequence[str]) -> None:
    if "--write" in arguments:
        PAGE.write_text(page(), encoding="utf-8")
        return
    for row in rows():
        if arguments and not any(a in str(row) for a in arguments):
            continue
        try:
            cells = measure(row)
        except Exception as error:  # printed, to go on with the others
            cells = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        if cells != row.cells:
            sys.stdout.write(f"{row}: {cells}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
