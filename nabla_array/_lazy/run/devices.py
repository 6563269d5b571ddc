"""Which device a node is on.

It is on an accelerator if it was moved there, or has an operand there. Known arrays of the host, and what is
pending of them alone, go along with an operand that is there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any
from weakref import WeakKeyDictionary

from ..graph.node import Node
from ..graph.program import pending_order
from ..ops.placement import in_use, is_resident, reshard, sharding_of
from .claims import lock

CPU = "cpu"
# The devices of pending nodes that somebody has asked for: a loop asks again after each operation.
_known: WeakKeyDictionary[Node, Hashable] = WeakKeyDictionary()


def devices(order: Iterable[Node]) -> dict[int, Hashable]:
    """Return by id the device of each node of `order`, which has operands before users.

    Raises ValueError where operands are on two accelerators.
    """
    found: dict[int, Hashable] = {}
    for node in order:
        if node.prim.role == "transfer":  # type: ignore[union-attr]
            found[id(node)] = node.params["device"]
            continue
        where = [found.get(id(i)) or device_here(i) for i in node.inputs]
        there = {*where} - {CPU}
        if node.prim is reshard and there:
            there.add(node.params["spec"].mesh)
        if len(there) > 1:
            raise _of_several(node, where, there)
        found[id(node)] = there.pop() if there else CPU
    return found


def _of_several(node: Node, where: Iterable[Hashable], there: Iterable[Hashable]) -> ValueError:
    """Return the error of an operation whose operands are on several devices."""
    arrays = [_placed(i, d) for i, d in zip(node.inputs, where, strict=True) if d != CPU]
    if node.prim is reshard:
        arrays.append(f"to be cut by {node.params['spec']}")
    # Accelerators are known by names, meshes by themselves.
    is_named = all([isinstance(d, str) for d in there])
    remedy = "to_device" if is_named else "reshard(x, y.sharding), or gather(x),"
    return ValueError(
        f"{node.prim}: operands are on {' and '.join(sorted(map(str, there)))}; "
        f"{remedy} would bring them together: {', '.join(arrays)}"
    )


def _placed(node: Node, device: Hashable) -> str:
    spec = sharding_of(node)
    return f"{node.aval} on {device}" if spec is None else f"{node.aval} cut by {spec}"


def device_here(node: Node) -> Hashable:
    """Return the device of a node that has a value, or whose device somebody has asked for."""
    if is_resident(node):
        return _device(node)
    return CPU if node.value is not None else _known.get(node, CPU)


def _device(node: Node) -> Hashable:
    device: Hashable = node.params["value"].device
    return device


def device_of(node: Node) -> Any:
    """Return the device that a node is on."""
    if not in_use or node.value is not None:
        return CPU
    with lock:
        if is_resident(node):
            return _device(node)
        if node not in _known:
            order = pending_order([node], _known)
            found = devices(order)
            for n in order:
                _known[n] = found[id(n)]
        return _known.get(node, CPU)
