"""A function's computation as a program: what `compile`, graphs and control flow share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._lazy.graph.node import Node
from .._lazy.graph.program import Program, program_of
from .._lazy.graph.tape import taping
from .._namespace.core.array import Array, current
from .calls import fresh
from .pytree import TreeDef, tree_flatten


class Traced(NamedTuple):
    """One run of a function on arrays, and what it recorded.

    The inputs of the program are the function's, then what it captured; its outputs are those of the result's
    leaves that depend on the inputs, each once.
    """

    program: Program
    captured: list[Node]
    leaves: list[Any]  # of the result: arrays, and whatever else was among them
    numbers: list[int | None]  # of the leaves' values in the program, where they depend on the inputs
    tree: TreeDef
    written: dict[int, tuple[Array, int | None]]  # what inputs have become in place, and such a number


def trace(fun: Callable[..., Any], arrays: Sequence[Array], everything: bool = False) -> Traced:
    """Run `fun`, which takes arrays, on fresh ones of the same values, and write down what it records.

    `everything`: also what does not depend on the arrays, so that nothing that is captured was made in `fun`.
    """
    sources = [fresh(x) for x in arrays]
    given = [Array(x._node, x._levels) for x in sources]
    with taping([x._node for x in sources], derivative=False, everything=everything) as tape:
        leaves, tree = tree_flatten(fun(*given))
        nodes = [current(x) if type(x) is Array else None for x in leaves]
        written = {i: x for i, x in enumerate(given) if current(x) is not sources[i]._node}
    # A constant that the program uses too has a number there, but is none of its outputs.
    every = (*nodes, *[x._node for x in written.values()])
    wanted = [n for n in every if n is not None and n in tape]
    program, captured, known = program_of(tape, wanted)
    numbers = {id(n): known[id(n)] for n in wanted}
    return Traced(
        program,
        captured,
        leaves,
        [numbers.get(id(n)) if n is not None else None for n in nodes],
        tree,
        {i: (Array(x._node, x._levels), numbers.get(id(x._node))) for i, x in written.items()},
    )
