"""Numbers of Python among the arguments: part of the kind, or inputs where that comes to the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._lazy.graph.program import is_literal
from .._lazy.ops.creation import Literal
from .fastcall import Output, Recipe
from .symbolic import is_alike

NUMBERS = (int, float, complex)  # but no bool, which is a choice
_DTYPES = {int: np.int64, float: np.float64, complex: np.complex128}


def dtypes_of(numbers: Sequence[Any], recipe: Recipe) -> list[list[np.dtype]]:
    """Return for each number the dtypes that it may have as an input: those of its literals."""
    found = []
    for number in numbers:
        dtypes = [
            value.value.dtype
            for eqn in recipe.program.eqns
            if is_literal(eqn)
            for value in [dict(eqn.params)["value"]]
            if is_number(value, number)
        ]
        found.append(list(dict.fromkeys([*dtypes, np.dtype(_DTYPES[type(number)])])))
    return found


def is_number(literal: Literal, number: Any) -> bool:
    """Say whether a literal is what a number becomes beside arrays of that dtype."""
    try:
        with np.errstate(all="ignore"):
            return literal == Literal(literal.value.dtype.type(number))
    except (TypeError, OverflowError):  # a complex number as a real one; too large an int
        return False


def is_same(general: Recipe, special: Recipe, numbers: Mapping[int, Any]) -> bool:
    """Say whether a program that takes numbers as inputs is, for some numbers, the program without these.

    Parameters
    ----------
    general, special
        The two; the arrays among the inputs are the same, in the same order.
    numbers
        The number that each such input of `general` stands for.
    """
    if general.tree != special.tree or list(general.written) != _moved(special.written, numbers):
        return False
    pairs: list[tuple[int, int]] = []
    mine, theirs = ([*r.leaves, *r.written.values()] for r in (general, special))
    for x, y in zip(mine, theirs, strict=True):
        if type(x) is not type(y):
            return False
        if not isinstance(x, Output):
            if x is not y and not (type(x) in (int, str, bool, float) and x == y):
                return False
        elif isinstance(x.value, int) and isinstance(y.value, int):
            pairs.append((x.value, y.value))
        elif isinstance(x.value, int) or isinstance(y.value, int) or not is_alike(x.value, y.value):
            return False
    return _Comparison(general, special, numbers).holds(pairs)


def _moved(written: Mapping[int, Any], numbers: Mapping[int, Any]) -> list[int]:
    """Return the inputs that are written, numbered as if the numbers were inputs too."""
    count = len(numbers) + max(written, default=-1) + 1
    arrays = [i for i in range(count) if i not in numbers]
    return [arrays[i] for i in written]


class _Comparison:
    """Compares values of two programs by how they are computed."""

    def __init__(self, general: Recipe, special: Recipe, numbers: Mapping[int, Any]) -> None:
        self.general, self.special, self.numbers = general, special, numbers
        first, second = general.program, special.program
        counts = [len(r.program.inputs) - len(r.captured) for r in (general, special)]
        arrays = [i for i in range(counts[0]) if i not in numbers]
        self.arrays = dict(zip(arrays, range(counts[1]), strict=True))
        self.captured = [
            dict(enumerate(r.captured, n)) for r, n in zip((general, special), counts, strict=True)
        ]
        self.eqns = [dict(enumerate(p.eqns, len(p.inputs))) for p in (first, second)]

    def holds(self, pairs: list[tuple[int, int]]) -> bool:
        """Say whether all pairs of values are the same."""
        done = set()
        while pairs:
            pair = pairs.pop()
            if pair in done:
                continue
            done.add(pair)
            below = self._below(*pair)
            if below is None:
                return False
            pairs += below
        return True

    def _below(self, a: int, b: int) -> list[tuple[int, int]] | None:
        """Return what must be the same too for these to be; None where they are not."""
        mine, theirs = self.eqns[0].get(a), self.eqns[1].get(b)
        number = mine.ins[0] if mine is not None and mine.prim.kind == "broadcast" else a
        if number in self.numbers:
            if theirs is None or not is_literal(theirs) or theirs.aval is not self.general.program.aval(a):
                return None
            return [] if is_number(dict(theirs.params)["value"], self.numbers[number]) else None
        if mine is None or theirs is None:
            one, other = self.captured[0].get(a), self.captured[1].get(b)
            if one is not None and other is not None:
                return [] if is_alike(one, other) else None
            return [] if mine is theirs and self.arrays.get(a) == b else None
        if mine._replace(ins=()) != theirs._replace(ins=()) or len(mine.ins) != len(theirs.ins):
            return None
        return list(zip(mine.ins, theirs.ins, strict=True))
