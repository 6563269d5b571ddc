"""Evaluation where arrays are on devices: what can be computed first, and what computes it there."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ..cpu.blocks import StepFailed
from ..cpu.faults import heard_of
from ..graph.node import Node, located
from ..graph.program import held_outside, linearize, pending_order
from ..ops.placement import host_value, in_use, is_resident, settle_as
from .claims import Claim, lock_within
from .devices import CPU, devices


def first(roots: Sequence[Node]) -> tuple[Hashable, list[Node], dict[int, Hashable] | None]:
    """Return a device, pending nodes that it computes next, and by id the device of each below them.

    Below these nothing moves between devices any more. Without the last, the node is a move to the device.
    There may be no nodes: another thread's values need no lock to be published.
    """
    order = pending_order(roots)
    where = devices(order)
    roots = [n for n in roots if id(n) in where]
    move = next((n for n in order if n.prim.role == "transfer"), None)  # type: ignore[union-attr]
    nodes = roots if move is None else [n for n in move.inputs if id(n) in where]
    if move is not None and not nodes:
        return where[id(move)], [move], None
    device = where[id(nodes[0])] if nodes else CPU
    return device, [n for n in nodes if where[id(n)] == device], where


class Move:
    """The move of a computed value to another device."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.claim = Claim([node], donates=False)

    def run(self) -> None:
        """Move it."""
        (source,) = self.node.inputs
        value, device = host_value(source), self.node.params["device"]
        if device == CPU:
            self.node.value, self.node.inputs, self.node.depth = value, (), 0
            return
        held = in_use[device].place(value)
        in_use[device].send(held)
        with lock_within():
            settle_as(self.node, held)


class There:
    """An evaluation of nodes below which all is on one device, or goes along with what is."""

    def __init__(self, roots: list[Node], device: Hashable, where: dict[int, Hashable]) -> None:
        order = pending_order(roots)
        alive = held_outside(order, order)
        self.is_there = [where[id(n)] == device for n in order]
        # Of the host's values that only go along with an operand, no result is kept.
        kept = [n for n, more, there in zip(order, alive, self.is_there, strict=True) if more and there]
        self.line = linearize(order, kept)
        self.order = order
        self.device = device
        self.claim = Claim(order, donates=False)

    def run(self) -> None:
        """Compute the nodes on the device."""
        line, there = self.line, in_use[self.device]
        env = [n.params["value"] if is_resident(n) else there.place(n.value) for n in line.inputs]
        env += [None] * len(line.program.eqns)
        try:
            heard_of(self.order, there.run, line.program, env)
        except StepFailed as failure:
            raise located(failure.error, self.order[line.numbers.index(failure.eqn)]) from None
        with lock_within():
            for node, k, is_there in zip(self.order, line.numbers, self.is_there, strict=True):
                if env[k] is not None and is_there:
                    settle_as(node, env[k])
