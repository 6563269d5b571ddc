"""Values that leave the graph while a transform runs, which could not follow them."""

from __future__ import annotations

from threading import get_ident

from .autodiff import is_differentiable
from .node import Node, tapes
from .tape import Tape


def differentiating(node: Node) -> list[Tape]:
    """Return the tapes of this thread's derivatives that depend on what becomes of the node's value."""
    if not is_differentiable(node.aval):
        return []
    me = get_ident()
    return [t for t in tapes if t.thread == me and t.derivative and node in t and _varies(t, node)]


def is_traced(node: Node) -> bool:
    """Say whether this thread is making a program of which the node's value is a part."""
    me = get_ident()
    return any(t.thread == me and not t.derivative and node in t for t in tapes)


def _varies(tape: Tape, node: Node) -> bool:
    """Say whether the node's tangent is not known to be zero."""
    varying = {id(n) for n in tape.sources}
    for entry in tape.below([node]):
        if is_differentiable(entry.node.aval):
            partials = entry.prim.partials or (1,) * len(entry.inputs)
            if any(p is not None and id(i) in varying for p, i in zip(partials, entry.inputs, strict=True)):
                varying.add(id(entry.node))
    return id(node) in varying
