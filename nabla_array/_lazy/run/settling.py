"""Evaluation where arrays are on devices: what can be computed first, and what computes it there."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from ..cpu.calls import StepFailed
from ..cpu.faults import heard_of
from ..graph.node import Node, located
from ..graph.program import Program, held_outside, linearize, pending_order, written
from ..ops.placement import host_value, in_use, is_resident, settle_as
from ..schedule.plan_cache import keep, plans
from .claims import Claim, lock_within
from .devices import CPU, device_here, devices


def begin(roots: list[Node]) -> tuple[list[Move | There], list[Node]]:
    """Return what evaluates pending nodes on a device, or those that the host evaluates next."""
    key, order, leaves, _ = written(roots)
    spot = tuple([device_here(n) for n in leaves]), key
    found: _Found | None = plans.get(spot) if key is not None else None
    if found is not None:
        return [There(order, leaves, found)], []
    del order, leaves  # `held_outside` counts references
    device, nodes, where = _first(roots)
    if where is None:
        return [Move(nodes[0])], []
    if device == CPU:
        return [], nodes
    order, leaves, found = _found_for(nodes, device, where)
    if key is not None and nodes == roots:
        keep(spot, found)
    return [There(order, leaves, found)], []


def _first(roots: Sequence[Node]) -> tuple[Hashable, list[Node], dict[int, Hashable] | None]:
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


class _Found(NamedTuple):
    """The program of nodes below which all is on one device, or goes along with what is.

    Attributes
    ----------
    numbers, is_there
        Of each node the number of its value, and whether it is on the device: of the host's values that only
        go along with an operand, no result is kept.
    """

    device: Hashable
    program: Program
    numbers: list[int]
    is_there: list[bool]


def _found_for(
    roots: list[Node], device: Hashable, where: dict[int, Hashable]
) -> tuple[list[Node], list[Node], _Found]:
    order = pending_order(roots)
    alive = held_outside(order, order)
    is_there = [where[id(n)] == device for n in order]
    kept = [n for n, more, there in zip(order, alive, is_there, strict=True) if more and there]
    line = linearize(order, kept)
    return order, line.inputs, _Found(device, line.program, line.numbers, is_there)


class There:
    """An evaluation of nodes on a device."""

    def __init__(self, order: list[Node], leaves: list[Node], found: _Found) -> None:
        self.order = order
        self.leaves = leaves
        self.found = found
        self.claim = Claim(order, donates=False)

    def run(self) -> None:
        """Compute the nodes on the device."""
        device, program, numbers, is_there = self.found
        there = in_use[device]
        env = [n.params["value"] if is_resident(n) else there.place(n.value) for n in self.leaves]
        env += [None] * len(program.eqns)
        try:
            heard_of(self.order, there.run, program, env)
        except StepFailed as failure:
            raise located(failure.error, self.order[numbers.index(failure.eqn)]) from None
        with lock_within():
            for node, k, is_kept in zip(self.order, numbers, is_there, strict=True):
                if env[k] is not None and is_kept:
                    settle_as(node, env[k])
