"""Numbers of Python among the arguments: part of the kind, or inputs where that comes to the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._lazy.graph.program import is_literal
from .._lazy.ops.creation import Literal
from .fastcall import Output, Recipe
from .symbolic import is_same

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
    if general.tree != special.tree or list(general.written) != _moved(special.written, numbers):
        return False
    for x, y in zip(general.leaves, special.leaves, strict=True):
        is_plain = type(x) is type(y) and type(x) in (int, str, bool, float)
        if not (x is y or isinstance(x, Output) or (is_plain and x == y)):
            return False
    return is_same(general, special, numbers)


def _moved(written: Mapping[int, Any], numbers: Mapping[int, Any]) -> list[int]:
    """Return the inputs that are written, numbered as if the numbers were inputs too."""
    count = len(numbers) + max(written, default=-1) + 1
    arrays = [i for i in range(count) if i not in numbers]
    return [arrays[i] for i in written]
