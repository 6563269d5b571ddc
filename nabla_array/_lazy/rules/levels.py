"""Batch levels: a value under `vmap` is a node whose leading axes belong to levels, by id.

A value carries the ids of its levels, newest (largest) first; their axes lead the node's shape in that
order. Ids, not a count: a count cannot tell a value batched by the inner level only from one batched
by the outer only.
"""

from __future__ import annotations

from _thread import _local as local  # `threading` takes a millisecond to import
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from types import MappingProxyType
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.node import NO_PARAMS, Node, record
from ..graph.primitive import Primitive
from ..ops.structure import broadcast, permute

Levels = tuple[int, ...]

# Ids of levels, ever larger.
new_level = count(1).__next__


class Frame:
    """A `vmap` that runs: its level, how many examples it has, and what it calls their axis.

    One that has ended may be in force again, for a rule that goes on with its examples. These go together:
    nobody may look at what differs between them.
    """

    active: np.ndarray | None = None  # which of them go this way; None for all
    line = ""  # where the ways parted last

    def __init__(self, level: int, size: int, name: Hashable = None) -> None:
        self.level = level
        self.size = size
        self.name = name

    @property
    def key(self) -> Hashable:
        """What the programs of compiled functions that are called meanwhile depend on."""
        return self.size

    def is_behind(self) -> bool:
        """Say whether another run has done all this already, for these examples too."""
        return False

    def has_parted(self, level: int) -> bool:
        """Say whether only some of a level's examples go this way."""
        return False


class _Frames(local):
    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.seen: dict[int, tuple[Node, Levels]] | None = None


_frames = _Frames()
# Not empty while some thread gathers what it binds: compiled code does not tell of that.
seeing: list[None] = []


def frames() -> list[Any]:
    """Return the frames that run in this thread, outermost first: a list to push to and pop from."""
    return _frames.stack


@contextmanager
def seeing_levels() -> Iterator[dict[int, tuple[Node, Levels]]]:
    """Gather by id the operands of what this thread binds along levels meanwhile, with these levels."""
    before = _frames.seen
    found: dict[int, tuple[Node, Levels]] = {}
    _frames.seen = found
    seeing.append(None)
    try:
        yield found
    finally:
        seeing.pop()
        if before is not None:
            before.update(found)
        _frames.seen = before


def is_seeing() -> bool:
    """Say whether `bind` must be told of what is recorded along levels."""
    return _frames.seen is not None


def in_force() -> Levels:
    """Return the levels of the frames that run in this thread, newest first."""
    stack = _frames.stack
    if len(stack) == 1:
        return (stack[0].level,)
    return tuple([f.level for f in reversed(stack)]) if stack else ()


def sizes_in_force() -> dict[int, int]:
    """Return how many examples the frames that run in this thread have, by level."""
    return {f.level: f.size for f in _frames.stack}


@contextmanager
def only(levels: Levels, ended: Mapping[int, int] = MappingProxyType({})) -> Iterator[None]:
    """Let only the frames of these levels be in force in this thread meanwhile.

    `ended` gives the sizes of those whose `vmap` has ended.
    """
    stack = _frames.stack
    before = stack[:]
    stack[:] = [f for f in before if f.level in levels]
    if ended:
        stack += [Frame(level, size) for level, size in ended.items()]
        stack.sort(key=lambda f: f.level)
    try:
        yield
    finally:
        stack[:] = before


def align_to_force(node: Node, levels: Levels) -> tuple[Node, Levels]:
    """Broadcast a value along every level in force."""
    if not _frames.stack or levels == (force := in_force()):
        return node, levels
    wanted = merge([levels, force])
    return align(node, levels, wanted, sizes_in_force()), wanted


def merge(levels: Sequence[Levels]) -> Levels:
    """Return every level in `levels`, newest first."""
    return tuple(sorted({i for some in levels for i in some}, reverse=True))


def align(node: Node, levels: Levels, wanted: Levels, sizes: dict[int, int]) -> Node:
    """Broadcast `node` along the levels of `wanted` that it lacks, which have these sizes."""
    if levels == wanted:
        return node
    aval: Aval = node.aval
    own = aval.shape[len(levels) :]
    shape = (*[aval.shape[levels.index(i)] if i in levels else sizes[i] for i in wanted], *own)
    axes = [wanted.index(i) for i in levels]
    axes += range(len(wanted), len(shape))
    return record(broadcast, (node,), {"shape": shape, "axes": tuple(axes)})


def opened(node: Node, levels: Levels, level: int) -> tuple[Node, Levels]:
    """Return a value whose first own axis is what was that of a level."""
    wanted = merge([levels, (level,)])
    node = _noted(align(_noted(node, levels), levels, wanted, sizes_in_force()), wanted)
    rest = tuple([i for i in wanted if i != level])
    return _noted(_moved(node, wanted.index(level), len(rest)), rest), rest


def closed(node: Node, levels: Levels, level: int) -> tuple[Node, Levels]:
    """Undo `opened`."""
    wanted = merge([levels, (level,)])
    return _noted(_moved(_noted(node, levels), len(levels), wanted.index(level)), wanted), wanted


def _moved(node: Node, source: int, target: int) -> Node:
    if source == target:
        return node
    order = [*range(node.aval.ndim)]
    order.insert(target, order.pop(source))
    return record(permute, (node,), {"axes": tuple(order)})


def _noted(node: Node, levels: Levels) -> Node:
    if _frames.seen is not None:
        _frames.seen[id(node)] = node, levels
    return node


def bind(
    prim: Primitive, operands: Sequence[tuple[Node, Levels]], params: dict[str, Any] = NO_PARAMS
) -> tuple[Node, Levels]:
    """Record `prim` on operands that may be batched: align them and shift the params, once a level."""
    levels: Levels = operands[0][1] if operands else ()
    for _, some in operands:
        if some is not levels and some != levels:
            merged = merge([some for _, some in operands])
            # The same object where there is one: equal levels are told by identity on the fast paths.
            levels = next((some for _, some in operands if some == merged), merged)
            break
    if not levels or prim.role == "projection":  # which takes a tuple apart, that has no shape
        return record(prim, tuple([n for n, _ in operands]), params), levels
    sizes = {i: n.aval.shape[k] for n, some in operands for k, i in enumerate(some)}
    if _frames.seen is not None:
        _frames.seen.update({id(n): (n, some) for n, some in operands})
    if prim.mixed is not None and {some for _, some in operands} == {levels, ()}:
        lead = tuple([sizes[i] for i in levels])
        mixed = prim.mixed([n for n, _ in operands], [bool(some) for _, some in operands], lead, **params)
        if mixed is not None:
            return mixed, levels
    nodes = tuple(align(n, some, levels, sizes) for n, some in operands)
    if _frames.seen is not None:
        _frames.seen.update({id(n): (n, levels) for n in nodes})
    for i in reversed(levels):
        params = prim.batch(params, sizes[i])
    return record(prim, nodes, params), levels
