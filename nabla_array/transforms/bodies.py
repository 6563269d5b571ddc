"""Bodies of branches and loops: run once on holes, and written down as programs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from .._lazy.graph.aval import aval_of
from .._lazy.graph.bodies import Body, closed, hole_for, writing
from .._lazy.graph.node import Node, mark_origin, record
from .._lazy.graph.primitive import Primitive
from .._lazy.graph.program import Program
from .._lazy.graph.tape import taping
from .._lazy.ops.structure import project
from .._lazy.rules.levels import Levels, align, merge, seeing_levels, sizes_in_force
from .._namespace.core.array import Array, current
from .._namespace.core.promotion import SCALARS, astype
from .._namespace.core.weak import let_stand, number_of, number_type, standing_for_numbers
from . import vmap as _vmap  # noqa: F401  whose hook must be there before ours
from .calls import array_leaf
from .captured import Capturing
from .pytree import TreeDef, tree_flatten, tree_unflatten
from .watching import is_disabled, writing_body


class Kind(NamedTuple):
    """What a body's operand is: shape and dtype as the body sees them, and the levels that it lies along.

    `weak`: it stands for a Python number: it promotes as one, and takes the dtype that the body makes of it.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    levels: Levels
    weak: bool = False

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


def kind_of(x: Array, leaf: Any = None) -> Kind:
    is_weak = type(leaf) in SCALARS or number_type(x) is not None
    return Kind(x.shape, x.dtype, x._levels, is_weak)


def kinds_of(function: str, leaves: Sequence[Any]) -> list[Kind]:
    return [kind_of(array_leaf(function, x), x) for x in leaves]


@contextmanager
def handed(state: Sequence[Any], kinds: Sequence[Kind]) -> Iterator[list[Array]]:
    """Give copies of a carry to a body that is run as it is: what it does to them concerns nobody else."""
    given = [x.copy() for x in state]
    numbers = [current(x) for x, k in zip(given, kinds, strict=True) if k.weak]
    with standing_for_numbers(numbers):
        yield given


def result(node: Node, kind: Kind) -> Array:
    x = Array(node, kind.levels)
    if kind.weak:
        let_stand(x)
    return x


def aligned(x: Array, levels: Levels) -> Node:
    node = current(x)
    return align(node, x._levels, levels, sizes_in_force())


class Run:
    """A run of a body on holes.

    What it returned is there as `leaves`, as `arrays`, and as the structure `tree`. One that has `looked` at
    a value, or was about to write to what it captures, cannot be written down. Where functions are to be run
    as they are, it counts as such, unless it is `always` run.
    """

    def __init__(
        self,
        function: str,
        body: Callable[..., Any],
        kinds: Sequence[Kind],
        everything: bool = False,
        always: bool = False,
    ) -> None:
        state, sizes = Body(function), sizes_in_force()
        avals = [aval_of((*[sizes[i] for i in k.levels], *k.shape), k.dtype) for k in kinds]
        sources = [hole_for(aval, state) for aval in avals]
        self.leaves: list[Any] = []
        self.arrays: list[Array] = []
        self.kinds: list[Kind] = []
        self.tree: Any = None
        self.looked = is_disabled() and not always
        if self.looked:
            return
        try:
            with (
                Capturing(body) as scope,
                writing(),
                seeing_levels() as self.seen,
                taping(sources, derivative=False, everything=everything) as self.tape,
                writing_body(state, self.tape),
                standing_for_numbers([n for n, k in zip(sources, kinds, strict=True) if k.weak]),
            ):
                given = [Array(n, k.levels) for n, k in zip(sources, kinds, strict=True)]
                self.leaves, self.tree = tree_flatten(body(*given))
                found = [array_leaf(function, x) for x in self.leaves]
                self.arrays = [Array(current(x), x._levels) for x in found]
                self.kinds = [kind_of(x, leaf) for x, leaf in zip(self.arrays, self.leaves, strict=True)]
        except Exception:
            if not state.looked:
                raise
        finally:
            state.open = False
        self.looked = state.looked or bool(scope.line)

    def handed_on(self) -> list[int | None]:
        """Say of each result which operand it is, unchanged; None for what was made of them."""
        place = {id(n): i for i, n in enumerate(self.tape.sources)}
        return [place.get(id(x._node)) for x in self.arrays]

    def close(
        self, kinds: Sequence[Kind], chosen: Sequence[int] | None = None, order: Sequence[int] | None = None
    ) -> tuple[Program, list[Node], list[Levels]]:
        """Return the body as a program that gives results of these kinds, the nodes that it needs beside its
        operands, and their levels. `chosen` says which results, and `order` how the operands come, if they do
        not stay as they are."""
        if order is not None:
            self.tape.sources = tuple([self.tape.sources[i] for i in order])
        arrays = self.arrays if chosen is None else [self.arrays[i] for i in chosen]
        with writing(), self.tape:
            made = [astype(x, k.dtype) for x, k in zip(arrays, kinds, strict=True)]
            outs = [aligned(x, k.levels) for x, k in zip(made, kinds, strict=True)]
        self.seen.update({id(n): (n, k.levels) for n, k in zip(outs, kinds, strict=True)})
        program, more = closed(self.tape, outs)
        return program, more, [self.seen[id(n)][1] if id(n) in self.seen else () for n in more]


def carried(
    function: str, what: str, tree: TreeDef, kinds: Sequence[Kind], made: Sequence[Kind], out: TreeDef
) -> list[Kind]:
    """Return the kinds of a carry, grown by those that a body made of it; raises TypeError if it is another.

    What stands for a Python number takes the dtype that the body makes of it, if numbers of its kind fit in.
    """
    if out != tree:
        raise TypeError(f"{function}: {what} must keep its structure: {tree} goes in, {out} comes out")
    grown = []
    for kind, new in zip(kinds, made, strict=True):
        if new.shape != kind.shape:
            break
        if new.dtype != kind.dtype:
            dtype = common_dtype([kind, new])
            if (not kind.weak and dtype != kind.dtype) or (not new.weak and dtype != new.dtype):
                break
            kind = kind._replace(dtype=dtype, weak=kind.weak and new.weak)
        levels = merge([kind.levels, new.levels]) if new.levels != kind.levels else kind.levels
        grown.append(kind._replace(levels=levels))
    if len(grown) < len(kinds):
        raise TypeError(
            f"{function}: {what} must keep its shapes and dtypes: {tree_unflatten(tree, kinds)} goes in, "
            f"{tree_unflatten(tree, made)} comes out"
        )
    return grown


def common_dtype(kinds: Sequence[Kind]) -> np.dtype:
    weak = all(k.weak for k in kinds)
    return np.result_type(*[k.dtype if weak or not k.weak else number_of(k.dtype) for k in kinds])


def recorded(prim: Primitive, function: str, operands: Sequence[Node], params: dict[str, Any]) -> list[Node]:
    node = mark_origin(record(prim, tuple(operands), params), function)
    return [project(node, index=i) for i in range(len(node.aval))]


def arrays_of(function: str, tree: Any) -> tuple[list[Any], list[Array], TreeDef]:
    leaves, treedef = tree_flatten(tree)
    return leaves, [array_leaf(function, x) for x in leaves], treedef


def copied(tree: TreeDef, arrays: Sequence[Array]) -> Any:
    """Return arrays of their own: what a body does to them in place concerns nobody else."""
    return tree_unflatten(tree, [x.copy() for x in arrays])


def length_of(function: str, slices: Sequence[Array], length: int | None) -> int:
    for x in slices:
        if not x.shape:
            raise ValueError(f"{function}: xs holds a number, which has no first axis to go along")
    there = one_length(f"{function}: the leaves of xs", [x.shape[0] for x in slices])
    if length is None:
        if there is None:
            raise ValueError(f"{function}: needs xs or length to know the number of steps")
        return there
    steps = operator.index(length)
    if steps < 0:
        raise ValueError(f"{function}: length must not be negative, but is {steps}")
    if there not in (None, steps):
        raise ValueError(f"{function}: length is {steps}, but xs has {there} entries")
    return steps


def one_length(what: str, lengths: Sequence[int]) -> int | None:
    """Return the length that all have, None if there are none; raises ValueError where they differ."""
    found = dict.fromkeys(lengths)
    if len(found) > 1:
        raise ValueError(f"{what} have different lengths: {', '.join(map(str, found))}")
    return next(iter(found), None)
