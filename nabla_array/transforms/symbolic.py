"""Programs for any length of some axes, or for any numbers, found by comparing those of a few."""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .._lazy.graph.aval import LARGE, Aval, aval_of
from .._lazy.graph.node import Node, leaf
from .._lazy.graph.program import Eqn, Program, is_literal
from .._lazy.ops.creation import Literal
from .._lazy.ops.indexing import gather
from .._lazy.ops.structure import permute
from .._namespace.core.array import Array, current
from .._namespace.core.lengths import Decision, are_decided_alike, plain
from .calls import arguments_of_leaves
from .fastcall import ArrayLeaf, Leaf, Output, Recipe
from .pytree import TreeDef

# The lengths of the dynamic dimensions by name.
Sizes = tuple[tuple[str, int], ...]
# Axes of these lengths are broadcast, or leave nothing to compute with: they have programs of their own.
_SPECIAL = 2


class Symbols:
    """What `dynamic_dims` says: which axes of which arguments have which name.

    `both` returns the position and the name of a parameter, given one of them.
    """

    def __init__(self, dims: Any, both: Callable[[str, int | str], tuple[int | None, str | None]]) -> None:
        if not isinstance(dims, Mapping) or not all(isinstance(d, Mapping) for d in dims.values()):
            raise TypeError(f"compile: dynamic_dims must be {{argument: {{axis: 'name'}}}}, not {dims!r}")
        self.axes: dict[int | str, dict[int, str]] = {}
        self.needed: list[int | str] = []
        for which, named in dims.items():
            for axis, name in named.items():
                if isinstance(axis, bool) or not isinstance(axis, int) or not isinstance(name, str):
                    raise TypeError(
                        f"compile: dynamic_dims of argument {which!r} must be {{axis: 'name'}}, not {named!r}"
                    )
            place, name = both("dynamic_dims", which)
            for key in (place, name):
                if key is not None:
                    self.axes[key] = dict(named)
            if place is None or name is None:
                self.needed.append(which)

    def __bool__(self) -> bool:
        return bool(self.axes)

    def of_leaves(self, tree: TreeDef, kinds: Sequence[Any]) -> Iterator[tuple[int, str, dict[int, str]]]:
        """Yield each array that has dynamic axes: the place of the leaf, of the argument, and its axes."""
        own, keywords = tree.children
        for which in self.needed:
            if which not in (*range(len(own.children)), *keywords.meta):
                raise ValueError(f"compile: dynamic_dims has an argument {which!r}, and the call has none")
        for i, which in enumerate(arguments_of_leaves(tree)):
            if which in self.axes and isinstance(kinds[i], ArrayLeaf):
                yield i, f"argument {which!r}", self._normal(which, kinds[i].aval.shape)

    def _normal(self, which: int | str, shape: tuple[int, ...]) -> dict[int, str]:
        out = {}
        for axis, name in self.axes[which].items():
            if not -len(shape) <= axis < len(shape):
                raise ValueError(
                    f"compile: dynamic_dims gives argument {which!r} an axis {axis}, which an array of shape "
                    f"{shape} does not have"
                )
            out[axis % len(shape)] = name
        return out

    def read(self, tree: TreeDef, kinds: Sequence[Leaf]) -> tuple[Sizes, list[tuple[Any, ...]]]:
        """Return the lengths by name, and what the leaves are with names in the place of lengths."""
        found: dict[str, tuple[int, str]] = {}
        symbolic: list[Any] = list(kinds)
        for i, place, axes in self.of_leaves(tree, kinds):
            aval = kinds[i].aval  # type: ignore[union-attr]
            shape: list[Any] = list(aval.shape)
            for axis, name in axes.items():
                here = f"{place}, axis {axis}"
                size, there = found.setdefault(name, (shape[axis], here))
                if size != shape[axis]:
                    raise ValueError(
                        f"compile: the dynamic dimension {name!r} has {size} elements in {there}, and "
                        f"{shape[axis]} in {here}"
                    )
                if size >= _SPECIAL:
                    shape[axis] = name
            symbolic[i] = (tuple(shape), aval.dtype, kinds[i].type)
        return tuple((name, size) for name, (size, _) in sorted(found.items())), symbolic


# -- forms ---------------------------------------------------------------------------------------------


class _NoForm(Exception):
    """Programs of several lengths differ in a way that says nothing about other lengths."""


class _Form:
    """Something that depends on the lengths: `at` says how."""

    def __init__(self, at: Callable[[Mapping[str, int]], Any]) -> None:
        self.at = at


def _at(form: Any, sizes: Mapping[str, int]) -> Any:
    return form.at(sizes) if isinstance(form, _Form) else form


def _whole(value: Fraction) -> int:
    if value.denominator != 1:
        raise _NoForm(f"{value} elements")
    return int(value)


def _literal(n: int, dtype: np.dtype, inverse: bool) -> Literal:
    if inverse and n == 0:
        raise _NoForm("1 / 0")
    return Literal(dtype.type(1 / n if inverse else n))


class _Points:
    """The lengths that programs are compared at: a first, one that differs in each name, and a last.

    A form is found from all but the last, and must hold there too.
    """

    def __init__(self, names: Sequence[str], taken: set[int], fixed: Mapping[str, int]) -> None:
        # None that occurs elsewhere in the program; even and odd ones, so that a test for that shows.
        fresh = [filter(lambda n: n not in taken, itertools.count(start, 17)) for start in (11, 26, 259)]
        first, second, last = ({name: next(numbers) for name in names} for numbers in fresh)
        self.names = names
        points = [first, *({**first, name: second[name]} for name in names), last]
        self.sizes = [{**fixed, **p} for p in points]

    def unify(self, values: Sequence[Any]) -> Any:
        """Return the form that has these values at the points."""
        values = [plain(v) for v in values]
        first = values[0]
        if any(type(v) is not type(first) for v in values):
            raise _NoForm(f"{values[0]!r} and {values[-1]!r}")
        if isinstance(first, Program):
            return self._made(Program, [(p.inputs, p.eqns, p.outputs) for p in values])
        if isinstance(first, Eqn) and any((e.prim, e.ins) != (first.prim, first.ins) for e in values):
            raise _NoForm(f"{first.prim} and other operations")
        if isinstance(first, Aval):
            return first if _same(values) else self._made(aval_of, [(a.shape, a.dtype) for a in values])
        if isinstance(first, tuple):
            make = type(first) if hasattr(first, "_fields") else lambda *x: x
            return self._made(make, values)
        if _same(values):
            return first
        if type(first) is int:
            return self._number(values)
        if isinstance(first, Literal):
            return self._scalar(values)
        raise _NoForm(f"{first!r} and {values[-1]!r}")

    def _made(self, function: Callable[..., Any], rows: Sequence[tuple[Any, ...]]) -> Any:
        if any(len(row) != len(rows[0]) for row in rows):
            raise _NoForm(f"{len(rows[0])} and {len(rows[-1])} parts")
        parts = [self.unify(column) for column in zip(*rows, strict=True)]
        if any(isinstance(p, _Form) for p in parts):
            return _Form(lambda sizes: function(*[_at(p, sizes) for p in parts]))
        return function(*parts)

    def _number(self, values: Sequence[int]) -> Any:
        start, last = self.sizes[0], self.sizes[-1]
        slopes = {
            name: Fraction(value - values[0], point[name] - start[name])
            for name, value, point in zip(self.names, values[1:-1], self.sizes[1:-1], strict=True)
            if value != values[0]
        }
        constant = values[0] - sum((s * start[name] for name, s in slopes.items()), Fraction(0))
        factor = Fraction(values[0], math.prod(start[name] for name in slopes))
        for form in (
            _Form(lambda at: _whole(constant + sum(slope * at[name] for name, slope in slopes.items()))),
            _Form(lambda at: _whole(factor * math.prod(at[name] for name in slopes))),
        ):
            if all(_fits(form, size, value) for size, value in zip(self.sizes, values, strict=True)):
                return form
        raise _NoForm(f"{values[0]} and {values[-1]} where the lengths are {start} and {last}")

    def _scalar(self, values: Sequence[Literal]) -> Any:
        dtype = values[0].value.dtype
        for inverse in (False, True):
            try:
                numbers = [round(1 / v.value.item() if inverse else v.value.item()) for v in values]
                exact = [_literal(n, dtype, inverse) for n in numbers]
            except (TypeError, ArithmeticError, ValueError, _NoForm):  # complex, infinite, nan: no int
                continue
            if exact == list(values):
                return self._made(_literal, [(n, dtype, inverse) for n in numbers])
        raise _NoForm(f"the numbers {values[0]} and {values[-1]}")


def _same(values: Sequence[Any]) -> bool:
    first = values[0]
    if isinstance(first, np.ndarray):
        return all(np.array_equal(v, first, equal_nan=True) and v.dtype == first.dtype for v in values)
    return all(v is first or v == first for v in values)


def _fits(form: _Form, sizes: Mapping[str, int], value: int) -> bool:
    try:
        return bool(form.at(sizes) == value)
    except _NoForm:
        return False


# -- templates -----------------------------------------------------------------------------------------


class Template(NamedTuple):
    """A recipe for the lengths from `low` to `high`.

    What the package decides by lengths (where a slice ends, say) is not noted, but has thresholds: what is so
    at both ends is so between them. What the function decides by them is noted: for lengths that decide
    another way it does something else.
    """

    first: Recipe  # for some lengths
    form: Any  # of the decisions, and of the program, leaves and written inputs of the recipe
    low: int = _SPECIAL
    high: int = sys.maxsize

    def at(self, sizes: Mapping[str, int]) -> tuple[tuple[Decision, ...], Recipe] | None:
        """Return the decisions and the recipe for some lengths; None where there is no form for them."""
        if not all(n < _SPECIAL or self.low <= n <= self.high for n in sizes.values()):
            return None
        try:
            decisions, program, leaves, written = _at(self.form, sizes)
        except _NoForm:
            return None
        changed = dict(zip(self.first.written, written, strict=True))
        recipe = self.first._replace(program=program, leaves=list(leaves), written=changed)
        return (decisions, recipe) if are_decided_alike(decisions) else None

    def recipe(self, sizes: Sizes) -> Recipe | None:
        """Return the recipe for some lengths; None where it has no form there."""
        found = self.at(dict(sizes))
        return found and found[1]


def generalize(
    recipe: Recipe,
    arrays: Mapping[int, tuple[Array, dict[int, str]]],
    sizes: Sizes,
    again: Callable[[dict[int, Array], bool], tuple[Recipe, list[Decision]]],
    before: Template | None = None,
) -> Template | None:
    """Return the program of a function for any lengths; where there is none, and was none, warn of that.

    `recipe` is what the function does for the `sizes` at hand, `arrays` the arguments with dynamic axes by
    place. `again` returns the recipe for others in these places, and what was decided if the function is told
    of lengths that note it. `before` holds for other lengths, and is to hold for those at hand too.
    """
    fixed = {name: size for name, size in sizes if size < _SPECIAL}
    names = [name for name, _ in sizes if name not in fixed]

    def at(point: Mapping[str, int], tells: bool = True) -> tuple[Recipe, list[Decision]]:
        return again({i: _resized(*x, point) for i, x in arrays.items()}, tells)

    def holds(template: Template, point: Mapping[str, int]) -> bool:
        try:
            return _holds(template, point, *at(point))
        except Exception:  # as `x[5]` does for fewer elements
            return False

    try:
        if before is not None:
            lengths = [size for _, size in sizes if size >= _SPECIAL]
            template, low, high = before, min(before.low, *lengths), max(before.high, *lengths)
            ranges = [(low, high if high == before.high else high * _GROWTH), (low, high)]
        else:
            taken = {n for e in recipe.program.eqns if isinstance(e.aval, Aval) for n in e.aval.shape}
            taken.update(n for a in recipe.program.inputs if isinstance(a, Aval) for n in a.shape)
            points = _Points(names, taken, fixed)
            template = _template(points, [at(point) for point in points.sizes])
            if not _holds(template, points.sizes[0], *at(points.sizes[0], False), decided=False):
                raise _NoForm("a function that does something else for lengths that are no ints")
            ranges = _RANGES
        for low, high in ranges:
            template = template._replace(low=low, high=high)
            if all(holds(template, p) for p in _corners(names, low, high, fixed)):
                break
        else:
            raise _NoForm(f"another program for {low} than for {high}")
        mine = template.recipe(sizes)
        if mine is not None and _outline(mine) != _outline(recipe):
            raise _NoForm(f"another program for {dict(sizes)} than for other lengths")
    except Exception as error:  # whatever the function raises: it has no program for other lengths
        if before is None:
            told = str(error) if type(error) is _NoForm else f"{type(error).__name__}: {error}"
            warnings.warn(
                f"compile: for the dynamic_dims {', '.join(map(repr, names))} there is no one program for "
                f"all lengths, whose programs differ ({told}); each length has its own. x.shape[0] can be "
                "computed and compared with in one program, len(x) and int() are plain numbers",
                stacklevel=6,
            )
        return None
    return template


# The lengths between which a program is tried, the widest first; how far beyond a larger one it is tried.
_RANGES = [(2, 1031), (16, 1031), (2, 300), (16, 300)]
_GROWTH = 4


def _corners(names: Sequence[str], low: int, high: int, fixed: Mapping[str, int]) -> list[dict[str, int]]:
    """Return the least and the greatest lengths: of several names all but one, at most, of one kind."""
    n = len(names)
    rows = [row for row in itertools.product((low, high), repeat=n) if row.count(low) in (0, 1, n - 1, n)]
    return [{**fixed, **dict(zip(names, row, strict=True))} for row in rows]


def _holds(
    template: Template,
    sizes: Mapping[str, int],
    recipe: Recipe,
    decisions: list[Decision],
    decided: bool = True,
) -> bool:
    """Say whether a function that did this for some lengths did what the template says."""
    found = template.at(sizes)
    if found is None or (decided and found[0] != tuple(decisions)):
        return False
    mine = found[1]
    theirs = _expanded(recipe)
    return (mine.tree, list(mine.written)) == (theirs.tree, list(theirs.written)) and is_same(mine, theirs)


def is_same(one: Recipe, other: Recipe, numbers: Mapping[int, Any] = MappingProxyType({})) -> bool:
    """Say whether two recipes do the same; `numbers` stand for these inputs of the first."""
    mine, theirs = _canonical(one, numbers), _canonical(other, {})
    return mine[0] == theirs[0] and len(mine[1]) == len(theirs[1]) and all(map(is_alike, mine[1], theirs[1]))


def _canonical(recipe: Recipe, numbers: Mapping[int, Any]) -> tuple[Any, list[Node]]:
    """Return a recipe's operations, equal ones once, and results; and its constants, in the order of use.

    Lengths that are equal may make operations so; where literals stand among them says nothing.
    """
    program = recipe.program
    count = len(program.inputs) - len(recipe.captured)
    arrays = [i for i in range(count) if i not in numbers]
    names: dict[int, Any] = dict(zip(arrays, range(len(arrays)), strict=True))
    for i, number in numbers.items():
        with np.errstate(all="ignore"):
            names[i] = Literal(program.inputs[i].dtype.type(number)), program.inputs[i]
    found: dict[Eqn, int] = {}
    constants: list[Node] = []

    def named(i: int) -> Any:
        if i not in names:
            names[i] = "constant", len(constants)
            constants.append(recipe.captured[i - count])
        return names[i]

    literals = {*numbers}
    for i, e in enumerate(program.eqns, len(program.inputs)):
        if is_literal(e):
            names[i] = dict(e.params)["value"], e.aval
            literals.add(i)
        elif e.prim.kind == "broadcast" and e.ins[0] in literals:
            names[i] = names[e.ins[0]][0], e.aval
            literals.add(i)
        else:
            eqn = e._replace(ins=tuple([named(k) for k in e.ins]))
            names[i] = found.setdefault(eqn, len(arrays) + len(found))

    def result(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return x.dtype, x.shape, x.tobytes()
        if not isinstance(x, Output):
            return type(x), x
        if isinstance(x.value, int):
            return x._replace(value=named(x.value))
        constants.append(x.value)
        return x._replace(value="constant")  # type: ignore[arg-type]

    results = [result(x) for x in [*recipe.leaves, *recipe.written.values()]]
    return ([program.inputs[i] for i in arrays], list(found), results), constants


def _outline(recipe: Recipe) -> Any:
    """Return what a recipe's results are."""

    def told(x: Any) -> Any:
        if not isinstance(x, Output):
            return x
        return x.value.aval if isinstance(x.value, Node) else recipe.program.aval(x.value)

    return [told(x) for x in recipe.leaves], list(recipe.written)


def _resized(x: Array, axes: Mapping[int, str], sizes: Mapping[str, int]) -> Array:
    """Return an array of other lengths that repeats the elements of `x`."""
    node = current(x)
    for axis, name in axes.items():
        rows = np.arange(sizes[name]) % node.aval.shape[axis]
        node = gather(node, leaf(rows), axes=(axis,), batch=0)  # its first axis is the one of the rows
        order = (*range(1, axis + 1), 0, *range(axis + 1, node.aval.ndim))
        node = permute(node, axes=order) if axis else node
    return Array(node)


def _template(points: _Points, runs: Sequence[tuple[Recipe, list[Decision]]]) -> Template:
    found = [_expanded(r) for r, _ in runs]
    first = found[0]
    for other in found[1:]:
        if other.tree != first.tree or list(other.written) != list(first.written):
            raise _NoForm(f"results {first.tree} and {other.tree}")
        if len(other.captured) != len(first.captured) or not all(
            map(is_alike, first.captured, other.captured)
        ):
            raise _NoForm("arrays whose elements depend on the length")
    parts = [
        (tuple(decisions), r.program, tuple(r.leaves), tuple(r.written.values()))
        for r, (_, decisions) in zip(found, runs, strict=True)
    ]
    return Template(first, points.unify(parts))


def is_alike(x: Node, y: Node) -> bool:
    """Say whether two constants are the same one, or have the same few elements."""
    if x is y:
        return True
    if x.aval is not y.aval or x.aval.nbytes >= LARGE or x.value is None or y.value is None:
        return False
    return bool(x.value.tobytes() == y.value.tobytes())


def _expanded(recipe: Recipe) -> Recipe:
    """Take literals that are results into the program."""
    eqns = list(recipe.program.eqns)

    def renumbered(x: Any) -> Any:
        if not isinstance(x, Output) or isinstance(x.value, int) or not is_literal(x.value):
            return x
        eqns.append(Eqn(x.value.prim, (), tuple(x.value.params.items()), x.value.aval))  # type: ignore[arg-type]
        return x._replace(value=len(recipe.program.inputs) + len(eqns) - 1)

    leaves = [renumbered(x) for x in recipe.leaves]
    written = {i: renumbered(x) for i, x in recipe.written.items()}
    outputs = dict.fromkeys(x.value for x in [*leaves, *written.values()] if isinstance(x, Output))
    numbers = tuple([k for k in outputs if isinstance(k, int)])
    program = Program(recipe.program.inputs, tuple(eqns), numbers)
    return recipe._replace(program=program, leaves=leaves, written=written)


# -- numbers -------------------------------------------------------------------------------------------
# Those of Python among the arguments are part of the kind, or inputs where that comes to the same.

NUMBERS = (int, float, complex)  # but no bool, which is a choice
_DTYPES = {int: np.int64, float: np.float64, complex: np.complex128}


def dtypes_of(numbers: Sequence[Any], recipe: Recipe) -> list[list[np.dtype]]:
    """Return for each number the dtypes that it may have as an input: those of its literals."""
    literals = [dict(eqn.params)["value"] for eqn in recipe.program.eqns if is_literal(eqn)]
    found = [[x.value.dtype for x in literals if _is_number(x, number)] for number in numbers]
    usual = [np.dtype(_DTYPES[type(number)]) for number in numbers]
    return [list(dict.fromkeys([*some, last])) for some, last in zip(found, usual, strict=True)]


def _is_number(literal: Literal, number: Any) -> bool:
    """Say whether a literal is what a number becomes beside arrays of that dtype."""
    try:
        with np.errstate(all="ignore"):
            return literal == Literal(literal.value.dtype.type(number))
    except (TypeError, OverflowError):  # a complex number as a real one; too large an int
        return False


def is_general(general: Recipe, special: Recipe, numbers: Mapping[int, Any]) -> bool:
    """Say whether a program that takes `numbers` as these inputs is the program without them.

    The arrays among the inputs are the same, in the same order.
    """
    count = len(general.program.inputs) - len(general.captured)
    arrays = [i for i in range(count) if i not in numbers]
    if general.tree != special.tree or [*general.written] != [arrays[i] for i in special.written]:
        return False
    for x, y in zip(general.leaves, special.leaves, strict=True):
        is_plain = type(x) is type(y) and type(x) in (int, str, bool, float)
        if not (x is y or isinstance(x, Output) or (is_plain and x == y)):
            return False
    return is_same(general, special, numbers)
