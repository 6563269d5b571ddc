"""What the steps of a partition cost, by a model: operations, bytes, and the time that they take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .._lazy.graph.aval import Aval
from .layouts import Move
from .merging import Moves, received
from .partition import Local, Moved, Nested, Partition, Placing, part_aval
from .spmd import Group, grouped
from .telling import title_of

# Kinds of operations that move nothing and compute nothing.
_FREE = ("view", "broadcast")


class Machine(NamedTuple):
    """What each device of a mesh, and its link to the others, can do.

    Attributes
    ----------
    bandwidth
        Bytes a second that a device receives.
    latency
        Seconds that a message takes, however short.
    flops
        Operations on numbers a second.
    memory_bandwidth
        Bytes a second that a device reads and writes.

    Examples
    --------
    >>> from nabla_array.distributed import Machine
    >>> Machine(bandwidth=2.5e9)  # a link of 20 gigabits a second
    Machine(bandwidth=2500000000.0, latency=1e-05, flops=100000000000.0, memory_bandwidth=50000000000.0)
    """

    bandwidth: float = 1e10
    latency: float = 1e-5
    flops: float = 1e11
    memory_bandwidth: float = 5e10


class StepCost(NamedTuple):
    """What a step costs a device: the one that has the most to do.

    Attributes
    ----------
    kind
        "devices" (each does some operations with its own parts), "spread", or the name of a collective.
    title
        A line on what it is.
    flops
        Operations on numbers.
    touched
        Bytes that are read and written.
    nbytes
        Bytes that are received, on average.
    seconds
        How long it takes.
    """

    kind: str
    title: str
    flops: float
    touched: float
    nbytes: float
    seconds: float


class Costs(NamedTuple):
    """What all steps of a partition cost a device.

    Attributes
    ----------
    steps
        In order.
    memory
        Bytes of what is held at one time, at the most.
    """

    steps: tuple[StepCost, ...]
    memory: int

    @property
    def seconds(self) -> float:
        """How long all steps take, one after the other."""
        return sum(step.seconds for step in self.steps)


def costs_of(p: Partition, machine: Machine) -> Costs:
    """Return what the steps of a partition cost.

    A step takes as long as its operations, or as what they read and write, whichever is longer; a collective
    as long as its messages and bytes.
    """
    groups = grouped(p)
    views = {made.out for made in p.made if isinstance(made, Local) and made.prim.kind in _FREE}
    steps: list[StepCost] = []
    more = {}
    for some in groups:
        if isinstance(some, Nested):
            bodies = [costs_of(body, machine) for body in some.bodies]
            more[some.outputs] = max([body.memory for body in bodies]) - _bytes(p, some.inputs)
            steps += _repeated(some, bodies)
        else:
            steps.append(_cost(p, some, machine, views))
    return Costs(tuple(steps), _memory(p, groups, views, more))


def _repeated(nested: Nested, bodies: Sequence[Costs]) -> Iterator[StepCost]:
    """Yield what the steps of a loop cost all in all, or once where nobody knows how many there are.

    Of branches it is the dearest.
    """
    many, kind = nested.times, str(nested.prim)
    some = [max(bodies, key=lambda body: body.seconds)] if nested.is_branch else bodies
    often = "" if nested.is_branch else ", for each step" if many is None else f", {many:,} times"
    for step in [step for body in some for step in body.steps]:
        costs = [x * (many or 1) for x in step[2:]]
        yield StepCost(step.kind, f"in {kind}{often}: {step.title}", *costs)


def _cost(p: Partition, some: Group | Moves, machine: Machine, views: set[int]) -> StepCost:
    if isinstance(some, Group):
        flops = sum([_flops(p, made) for made in some.made])
        whole = [i for made in some.made if made.prim.kind == "call" for i in (*made.ins, made.out)]
        touched = _bytes(p, {*some.inputs, *some.outputs} - views) + _bytes(p, {*whole} - views)
        seconds = max(flops / machine.flops, touched / machine.memory_bandwidth)
        names = ", ".join(dict.fromkeys([str(m.prim) for m in some.made if m.prim.role != "literal"]))
        return StepCost("devices", names, flops, touched, 0, seconds)
    # What moves together shares its messages.
    messages = max([_messages_of(p, made) for made in some.made])
    nbytes = sum([received(p, made) for made in some.made])
    seconds = messages * machine.latency + nbytes / machine.bandwidth
    return StepCost(some.kind, title_of(p.program, some), 0, 0, nbytes, seconds)


def seconds_to_move(how: Move, aval: Aval, machine: Machine) -> float:
    """Return how long it takes to move a value from one layout to another."""
    return _messages(how) * machine.latency + how.elements * aval.dtype.itemsize / machine.bandwidth


def _messages_of(p: Partition, made: Moved | Placing) -> int:
    if isinstance(made, Placing):
        return math.ceil(math.log2(p.mesh.size))  # passed on from device to device
    return _messages(made.move)


def _messages(move: Move) -> int:
    """Return how many messages a device waits for, one after the other."""
    if move.is_local:
        return 0
    if move.kind == "ppermute":
        return 1
    many = move.source.mesh.length(tuple(move.along))
    if move.kind == "all_to_all":
        return many - 1
    # As in a tree; an all_reduce there and back.
    return math.ceil(math.log2(many)) * (2 if move.kind == "all_reduce" else 1)


def _flops(p: Partition, made: Local) -> float:
    """Return how many operations on numbers a device's part of an operation takes.

    That is one for each element, or for each combination of elements that a product joins two; of what the
    labels do not tell, as a decomposition, it is one for each element of operands and results.
    """
    if made.prim.kind in _FREE or made.prim.role != "ordinary":
        return 0
    avals = [_part(p, i) for i in made.ins]
    if made.prim.dims is None or not all(isinstance(a, Aval) for a in avals):
        return float(sum([_elements(p, i) for i in (*made.ins, made.out)]))
    labels = made.prim.dims(*avals, **made.params_of(0))
    sizes = {f: n for own, a in zip(labels, avals, strict=False) for f, n in zip(own, a.shape, strict=True)}
    kept = {f for own in labels[len(avals) :] for f in own}
    joins = any(f not in kept and sum(f in own for own in labels[: len(avals)]) > 1 for f in sizes)
    return float(math.prod(sizes.values()) * (2 if joins else 1))


def _part(p: Partition, i: int) -> Any:
    """Return the aval of the first device's part of a value: nobody has more of an even cut."""
    value = p.values[i]
    return value.aval if isinstance(value.layout, tuple) else part_aval(value.aval, value.layout, 0)


def _elements(p: Partition, i: int) -> int:
    found = _part(p, i)
    return found.size if isinstance(found, Aval) else sum(a.size for a in found)


def _bytes(p: Partition, numbers: Iterable[int]) -> int:
    total = 0
    for i in dict.fromkeys(numbers):
        found = _part(p, i)
        total += sum(a.size * a.dtype.itemsize for a in ([found] if isinstance(found, Aval) else found))
    return total


def _memory(
    p: Partition, groups: Sequence[Group | Moves | Nested], views: set[int], more: Mapping[Any, int]
) -> int:
    """Return the most bytes that a device holds at one time; `more` is what bodies add, by results."""
    # What is still in the host's memory is nobody's; the program's user holds inputs and outputs to the end.
    held = {i for i in range(len(p.program.inputs)) if i not in p.hosted}
    kept = {*p.outputs, *held}
    rows = [(g.inputs, g.outputs) for g in groups]
    last = {i: n for n, (ins, _) in enumerate(rows) for i in ins}
    most = now = _bytes(p, held)
    for n, (ins, outs) in enumerate(rows):
        most = max(most, now + more.get(outs, 0))
        now += _bytes(p, {*outs} - views)
        most = max(most, now)
        gone = [i for i in {*ins, *outs} - kept if last.get(i, n) == n and i not in p.hosted]
        now -= _bytes(p, {*gone} - views)
    return most
