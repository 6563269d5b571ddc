"""Where values are: moves between devices, and what is on an accelerator.

A node on an accelerator (devices.py) never has a `value`: evaluation turns it into a `resident` one, so that
whoever looks for elements in the host's memory finds none, and records.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..graph.node import Node
from ..graph.primitive import Primitive, alike

if TYPE_CHECKING:
    from ..graph.program import Program


class Device(Protocol):
    """What holds values outside of the host's memory, and computes with them."""

    def place(self, value: Any) -> Any:
        """Return a value of the host's, or a tuple of them, as one that is held here."""

    def send(self, held: Any) -> None:
        """Move what `place` gave now, so that a lack of memory is told of where it was asked for."""

    def run(self, program: Program, env: list[Any]) -> None:
        """Run a program over `env`, which begins with the inputs, held here."""

    def schedule(self, program: Program, inputs: Sequence[Any]) -> Any:
        """Return the schedule by which a program runs whose inputs are held so (None: in the host's memory).

        A mesh tells its steps instead: kind, title, equations, and what else `inspect.Step` has of each.
        """


# By its name, or by itself, each device that somebody has asked for: while there is none, nobody need look
# for what is on one.
in_use: dict[Hashable, Device] = {}
# Each returns the device that a name, or an object, is of; None where it is none of its.
finders: list[Callable[[Any], Device | None]] = []


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


# The same elements, on the mesh of `spec` and cut over it so.
reshard: Primitive = Primitive(
    "reshard",
    lambda x, spec: x,
    lambda x, spec: x,
    batch=lambda params, size: {"spec": params["spec"].batched()},
    dims=alike,
    transpose=lambda ct, wanted, x, spec: (reshard(ct, spec=spec),),
)


def is_resident(node: Node) -> bool:
    """Say whether a node holds a value that is on an accelerator."""
    return node.prim is resident


def sharding_of(node: Node) -> Any:
    """Return how a node's value is cut over a mesh, where that is known before it is computed; else None."""
    while node.prim is not None and node.prim.role == "alias" and node.inputs:
        (node,) = node.inputs
    if node.prim is reshard:
        return node.params["spec"]
    return node.params["value"].sharding if is_resident(node) else None


def host_value(node: Node) -> Any:
    """Return the value of an evaluated node in the host's memory."""
    return node.params["value"].here() if is_resident(node) else node.value


def settle_as(node: Node, value: Any) -> None:
    """Make a node that was computed for an accelerator hold its value: how it was recorded is over."""
    node.prim = resident
    node.params = {"value": value}
    node.inputs = ()
    node.depth = 0
