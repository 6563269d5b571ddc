"""Which device a node is on.

It is on an accelerator if it was moved there, or has an operand there. Known arrays of the host, and what is
pending of them alone, go along with an operand that is there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from ..graph.node import Node
from ..graph.program import pending_order
from ..ops.placement import in_use, is_resident
from .claims import lock

CPU = "cpu"


def devices(order: Iterable[Node]) -> dict[int, Hashable]:
    """Return by id the device of each node of `order`, which has operands before users.

    Raises ValueError where operands are on two accelerators.
    """
    found: dict[int, Hashable] = {}
    for node in order:
        if node.prim.role == "transfer":  # type: ignore[union-attr]
            found[id(node)] = node.params["device"]
            continue
        there = {_device(i) if is_resident(i) else found.get(id(i), CPU) for i in node.inputs} - {CPU}
        if len(there) > 1:
            raise ValueError(
                f"{node.prim}: operands are on {' and '.join(sorted(map(str, there)))}; "
                "to_device would bring them together"
            )
        found[id(node)] = there.pop() if there else CPU
    return found


def _device(node: Node) -> Hashable:
    device: Hashable = node.params["value"].device
    return device


def device_of(node: Node) -> Any:
    """Return the device that a node is on."""
    if not in_use or node.value is not None:
        return CPU
    with lock:
        return _device(node) if is_resident(node) else devices(pending_order([node])).get(id(node), CPU)
