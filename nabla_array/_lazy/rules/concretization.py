"""Values that leave the graph while a transform runs, which could not follow them."""

from __future__ import annotations

from ..graph.aval import is_differentiable
from ..graph.node import Node, tapes
from ..graph.tape import Tape


def differentiating(node: Node) -> list[Tape]:
    """Return the tapes of derivatives that depend on what becomes of the node's value."""
    mine = [t for t in tuple(tapes) if t.thread >= 0 and t.derivative and node in t]
    if not mine:  # no derivative runs, most often
        return []
    from .autodiff import varies

    return [t for t in mine if varies(t, node)] if is_differentiable(node.aval) else []


def is_traced(node: Node) -> bool:
    """Say whether a program is being made of which the node's value is a part."""
    return any(t.thread >= 0 and not t.derivative and node in t for t in tapes)
