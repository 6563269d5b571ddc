"""Batch levels: a value under `vmap` is a node whose leading axes belong to levels, by id.

A value carries the ids of its levels, newest (largest) first; their axes lead the node's shape in that
order. Ids, not a count: a count cannot tell a value batched by the inner level only from one batched
by the outer only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .aval import Aval
from .node import NO_PARAMS, Node, record
from .primitive import Primitive
from .primitives.structure import broadcast

Levels = tuple[int, ...]


def merge(levels: Sequence[Levels]) -> Levels:
    """Return every level in `levels`, newest first."""
    return tuple(sorted({i for some in levels for i in some}, reverse=True))


def align(node: Node, levels: Levels, wanted: Levels, sizes: dict[int, int]) -> Node:
    """Broadcast `node` along the levels of `wanted` that it lacks."""
    if levels == wanted:
        return node
    aval: Aval = node.aval
    own = aval.shape[len(levels) :]
    shape = tuple(sizes[i] for i in wanted) + own
    axes = [wanted.index(i) for i in levels]
    axes += range(len(wanted), len(shape))
    return record(broadcast, (node,), {"shape": shape, "axes": tuple(axes)})


def bind(
    prim: Primitive, operands: Sequence[tuple[Node, Levels]], params: dict[str, Any] = NO_PARAMS
) -> tuple[Node, Levels]:
    """Record `prim` on operands that may be batched: align them and shift the params, once a level."""
    if not any([some for _, some in operands]):
        return record(prim, tuple([n for n, _ in operands]), params), ()
    levels = merge([some for _, some in operands])
    sizes = {i: n.aval.shape[k] for n, some in operands for k, i in enumerate(some)}
    nodes = tuple(align(n, some, levels, sizes) for n, some in operands)
    for i in reversed(levels):
        params = prim.batch(params, sizes[i])
    return record(prim, nodes, params), levels
