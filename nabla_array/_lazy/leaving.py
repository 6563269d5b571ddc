"""Values that leave the graph while a transform runs, which could not follow them."""

from __future__ import annotations

from _thread import get_ident

from .node import Node, tapes
from .tape import Tape


def differentiating(node: Node) -> list[Tape]:
    """Return the tapes of this thread's derivatives that depend on what becomes of the node's value."""
    me = get_ident()
    mine = [t for t in tapes if t.thread == me and t.derivative and node in t]
    if not mine:  # no derivative runs, most often
        return []
    from .autodiff import is_differentiable, varies

    return [t for t in mine if varies(t, node)] if is_differentiable(node.aval) else []


def is_traced(node: Node) -> bool:
    """Say whether this thread is making a program of which the node's value is a part."""
    me = get_ident()
    return any(t.thread == me and not t.derivative and node in t for t in tapes)
