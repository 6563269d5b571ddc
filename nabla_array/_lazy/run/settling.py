"""Evaluation where arrays are on devices: each node is computed on its own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from time import perf_counter

from ..cpu.blocks import StepFailed
from ..graph.node import Node
from ..graph.program import held_outside, is_pending, linearize, pending_order
from ..ops.placement import host_value, in_use, is_resident, settle_as
from ..stats import stats
from .devices import CPU, devices
from .evaluator import heard, located, settle_hook

Evaluate = Callable[[list[Node]], None]


def settle(roots: Sequence[Node], evaluate_here: Evaluate) -> None:
    """Evaluate pending nodes, each on its device."""
    order = pending_order(roots)
    where = devices(order)
    moves = [n for n in order if n.prim.role == "transfer"]  # type: ignore[union-attr]
    del order  # whoever holds a node counts
    for node in moves:
        _settle(node.inputs, where, evaluate_here)
        _move(node)
    _settle(roots, where, evaluate_here)


settle_hook[:] = [settle]


def _settle(nodes: Sequence[Node], where: dict[int, Hashable], evaluate_here: Evaluate) -> None:
    """Evaluate nodes below which nothing moves between devices any more."""
    pending = [n for n in nodes if is_pending(n)]
    for device in dict.fromkeys([where[id(n)] for n in pending]):
        some = [n for n in pending if where[id(n)] == device]
        if device == CPU:
            evaluate_here(some)
        else:
            _evaluate_there(some, device, where)


def _move(node: Node) -> None:
    (source,) = node.inputs
    value, device = host_value(source), node.params["device"]
    if device == CPU:
        node.value, node.inputs, node.depth = value, (), 0
        return
    held = in_use[device].place(value)
    in_use[device].send(held)
    settle_as(node, held)


def _evaluate_there(roots: list[Node], device: Hashable, where: dict[int, Hashable]) -> None:
    order = pending_order(roots)
    alive = held_outside(order, order)
    # Of the host's values that only go along with an operand, no result is kept.
    kept = [n for n, more in zip(order, alive, strict=True) if more and where[id(n)] == device]
    line = linearize(order, kept)
    there = in_use[device]
    env = [n.params["value"] if is_resident(n) else there.place(n.value) for n in line.inputs]
    env += [None] * len(line.program.eqns)
    start = perf_counter()
    try:
        heard(order, there.run, line.program, env)
    except StepFailed as failure:
        raise located(failure.error, order[line.numbers.index(failure.eqn)]) from None
    stats.evaluations += 1
    stats.host_seconds += perf_counter() - start
    for node, k in zip(order, line.numbers, strict=True):
        if env[k] is not None and where[id(node)] == device:
            settle_as(node, env[k])
