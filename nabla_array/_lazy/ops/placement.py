"""Where values are: moves between devices, and what is on an accelerator.

A node on an accelerator (devices.py) never has a `value`: evaluation turns it into a `resident` one, so that
whoever looks for elements in the host's memory finds none, and records.
"""

from __future__ import annotations

from typing import Any

from ..graph.node import Node
from ..graph.primitive import Primitive, alike

# The accelerators that somebody has asked for: while there is none, nobody need look for what is on one.
in_use: list[str] = []


# A value that is there (accelerator.Placed).
resident = Primitive("resident", lambda value: value.aval, lambda value: value.here(), role="resident")

# The same elements on another device.
transfer: Primitive = Primitive(
    "transfer",
    lambda x, source, device: x,
    lambda x, source, device: x,
    role="transfer",
    dims=alike,
    transpose=lambda ct, wanted, x, source, device: (transfer(ct, source=device, device=source),),
)


def is_resident(node: Node) -> bool:
    """Say whether a node holds a value that is on an accelerator."""
    return node.prim is resident


def host_value(node: Node) -> Any:
    """Return the value of an evaluated node in the host's memory."""
    return node.params["value"].here() if is_resident(node) else node.value


def settle_as(node: Node, value: Any) -> None:
    """Make a node that was computed for an accelerator hold its value: how it was recorded is over."""
    node.prim = resident
    node.params = {"value": value}
    node.inputs = ()
    node.depth = 0
