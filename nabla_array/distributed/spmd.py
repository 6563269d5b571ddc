"""What runs a partition: steps in which each device does its part, and steps between devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from .._lazy.cpu.calls import StepFailed
from .._lazy.graph.aval import Aval
from .._lazy.graph.program import Eqn, Program
from .._lazy.ops.placement import reshard, transfer
from .._lazy.run.executors import EXECUTORS
from .._lazy.schedule.steps import Schedule
from .engines import Engine, Segment, Shipment
from .layouts import Box, Layout, indices, volume
from .merging import Moves, merged, received
from .partition import Local, Nested, Partition, Placing, Value, made_by, part_aval, read_by


class Devices(NamedTuple):
    """A step in which the devices of a mesh work, each with its own parts of the values.

    Attributes
    ----------
    causes
        For each device that runs a program, what the equations of that are there for.
    """

    engine: Engine
    segment: Segment
    causes: dict[int, tuple[int, ...]]

    @property
    def inputs(self) -> tuple[int, ...]:
        """What the devices read."""
        return self.segment.inputs

    @property
    def outputs(self) -> tuple[int, ...]:
        """What they make."""
        return self.segment.outputs


class Collective(NamedTuple):
    """A step that moves values between the devices of a mesh, or from the host to the devices.

    Attributes
    ----------
    soon
        For each value whether one step of what devices do reads it, and nobody else.
    nbytes
        For each value the bytes that a device receives, on average.
    """

    engine: Engine
    moves: Moves
    soon: tuple[bool, ...]
    nbytes: tuple[float, ...]

    @property
    def inputs(self) -> tuple[int, ...]:
        """The values."""
        return self.moves.inputs

    @property
    def outputs(self) -> tuple[int, ...]:
        """The same, where they have gone."""
        return self.moves.outputs


class Driven(NamedTuple):
    """A loop, or a branch, that this process steers: its bodies have steps of their own."""

    engine: Engine
    nested: Nested
    schedules: tuple[Schedule, ...]

    @property
    def inputs(self) -> tuple[int, ...]:
        """What it reads."""
        return self.nested.inputs

    @property
    def outputs(self) -> tuple[int, ...]:
        """Its results."""
        return self.nested.outputs


class Whole(NamedTuple):
    """What a schedule of these steps is of."""

    program: Program
    values: tuple[Value, ...]
    outputs: tuple[int, ...]


class Group(NamedTuple):
    """Operations that devices do one after the other, and numbers of the values that they read and make."""

    made: tuple[Local, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def schedule(p: Partition) -> Schedule:
    """Return the steps of a partition."""
    engine = p.mesh.engine
    steps: list[Any] = []
    order = grouped(p)
    often = Counter([i for some in order if isinstance(some, Group) for i in some.inputs])
    # What another step than those of devices reads, or whoever asked for it, is read more than once.
    often.update([*p.outputs, *p.outputs])
    for some in order:
        if not isinstance(some, Group):
            often.update([*some.inputs, *some.inputs])
    for some in order:
        if isinstance(some, Group):
            steps.append(_devices(p, some))
        elif isinstance(some, Nested):
            steps.append(Driven(engine, some, tuple(map(schedule, some.bodies))))
        else:
            soon = tuple([often[i] == 1 for i in some.outputs])
            steps.append(Collective(engine, some, soon, tuple([received(p, m) for m in some.made])))
    return Schedule(Whole(p.program, tuple(p.values), p.outputs), steps)  # type: ignore[arg-type]


def grouped(p: Partition) -> list[Group | Moves | Nested]:
    """Return what a partition does, in order: as many operations at a time as need nothing of others.

    What moves meanwhile moves in one step.
    """
    level = [0] * len(p.values)
    group: list[Any] = [None] * len(p.values)
    nested = [m for m in p.made if isinstance(m, Nested)]
    stored = {*p.outputs, *[i for made in nested for i in made.inputs]}
    made_here = [m for m in p.made if isinstance(m, Local) and m.prim.role == "literal"]
    literals = {made.out: made for made in made_here if made.out not in stored}
    for made in p.made:
        if isinstance(made, Local):
            if made.out in literals:
                continue  # those who use it make it
            varies = frozenset().union(*[_varies(p.values[i].layout) for i in (*made.ins, made.out)])
            ups = [
                level[i] + (level[i] % 2 or (group[i] not in (None, varies)) * 2)
                for i in made.ins
                if i not in literals
            ]
            level[made.out], group[made.out] = max(ups, default=0), varies
        else:
            at = max([level[i] for i in read_by(made)], default=0)
            for i in made_by(made):
                level[i] = at // 2 * 2 + 1 + at % 2 * 2
    read = _readers(p)
    _delay(p, level, group, read, literals)
    groups: dict[int, dict[Any, list[Local]]] = {}
    moves = merged(p, level, read)
    for made in p.made:
        if isinstance(made, Local) and made.out not in literals and made.out in read:
            groups.setdefault(level[made.out], {}).setdefault(group[made.out], []).append(made)
    found: list[Group | Moves | Nested] = []
    for at in range(max(level, default=0) + 1):
        found += moves.get(at, ())
        found += [made for made in nested if level[made.outputs[0]] == at]
        found += [_group(some, read, literals) for some in groups.get(at, {}).values()]
    return found


def _delay(
    p: Partition, level: list[int], group: list[Any], read: dict[int, set[int]], literals: dict[int, Local]
) -> None:
    """Leave operations to the step that reads their results, where no more has to be stored until then.

    They become one with the operations there. Collectives, and what is nested, have odd levels.
    """
    for made in reversed(p.made):
        if not isinstance(made, Local):
            continue
        k = made.out
        readers = read.get(k, set())
        if k in literals or not readers or -1 in readers:
            continue
        at = min([level[r] for r in readers])
        if at == level[k] or any([level[r] == at and group[r] != group[k] for r in readers]):
            continue
        made_here = [i for i in {*made.ins} - {*literals} if i >= len(p.program.inputs)]
        more = [i for i in made_here if not _is_read(read[i] - {k}, level, at)]
        if sum([_size(p.values[i]) for i in more]) <= _size(p.values[k]):
            level[k] = at


def _is_read(readers: set[int], level: list[int], at: int) -> bool:
    """Say whether a value is read at a level, or later."""
    return any([r == -1 or level[r] >= at for r in readers])


def _size(value: Value) -> int:
    """Return the bytes of a device's part, at the most."""
    layouts = value.layout if isinstance(value.layout, tuple) else (value.layout,)
    avals = value.aval if isinstance(value.aval, tuple) else (value.aval,)
    return sum([lay.largest * a.dtype.itemsize for lay, a in zip(layouts, avals, strict=True)])


def _varies(layout: Any) -> frozenset[str]:
    if isinstance(layout, tuple):
        return frozenset().union(*[x.varies for x in layout])
    return layout.varies


def _readers(p: Partition) -> dict[int, set[int]]:
    """Return by value what reads it, by its result's number; -1 stands for the partition's user."""
    found: dict[int, set[int]] = {i: {-1} for i in p.outputs}
    for made in p.made:
        for i in read_by(made):
            found.setdefault(i, set()).update(made_by(made))
    return found


def _group(some: list[Local], read: dict[int, set[int]], literals: dict[int, Local]) -> Group:
    used = dict.fromkeys([i for made in some for i in made.ins if i in literals])
    inside = {made.out for made in some}
    outputs = tuple([made.out for made in some if not read.get(made.out, set()) <= inside])
    some = [*[literals[i] for i in used], *some]
    inside = {made.out for made in some}
    inputs = tuple(dict.fromkeys([i for made in some for i in made.ins if i not in inside]))
    return Group(tuple(some), inputs, outputs)


def _devices(p: Partition, group: Group) -> Devices:
    """Return the step that does some operations, on each device."""
    some, inputs, outputs = group
    inside = {made.out for made in some}
    varies = frozenset().union(*[_varies(p.values[i].layout) for i in (*inputs, *inside)])
    coordinates = p.mesh.coordinates
    first: dict[Any, int] = {}
    runners = tuple(
        [first.setdefault(tuple([c[a] for a in sorted(varies)]), d) for d, c in enumerate(coordinates)]
    )
    programs: dict[int, Program] = {}
    causes: dict[int, tuple[int, ...]] = {}
    same: dict[Program, Program] = {}
    for d in first.values():
        program, causes[d] = device_program(p, some, inputs, outputs, d)
        programs[d] = same.setdefault(program, program)
    nbytes = sum(map(_nbytes, programs.values()))
    return Devices(
        p.mesh.engine, Segment(programs, runners, inputs, outputs, nbytes, _cut(p, some, outputs)), causes
    )


def _cut(
    p: Partition, some: Iterable[Local], outputs: tuple[int, ...]
) -> dict[int, tuple[Aval, tuple[Box, ...]]]:
    """Return shape, dtype and boxes of outputs that are written element by element, each on one device."""
    found = {}
    prims = {made.out: made.prim for made in some}
    for n, i in enumerate(outputs):
        aval, layout = p.values[i]
        if not prims[i].can_place:
            continue
        is_cut = layout.varies and not layout.partial
        if is_cut and sum([volume(box) for box in {*layout.boxes}]) == aval.size:
            found[n] = aval, tuple(layout.boxes)
    return found


def _nbytes(program: Program) -> int:
    avals = [*program.inputs, *[e.aval for e in program.eqns]]
    return sum([a.nbytes for aval in avals for a in (aval if isinstance(aval, tuple) else (aval,))])


def device_program(
    p: Partition, some: Iterable[Local], inputs: tuple[int, ...], outputs: tuple[int, ...], device: int
) -> tuple[Program, tuple[int, ...]]:
    """Return a device's program of some operations, and what each of its equations is there for."""
    avals: list[Any] = [_part(p.values[i], device) for i in inputs]
    number = {i: n for n, i in enumerate(inputs)}
    eqns: dict[Eqn, int] = {}
    causes = []
    for made in some:
        ins = tuple([number[i] for i in made.ins])
        params = {k: _on_one_device(v) for k, v in made.params_of(device).items()}
        aval = made.prim.aval(*[avals[i] for i in ins], **params)
        assert aval == _part(p.values[made.out], device), (made.prim, aval, p.values[made.out], device)
        eqn = Eqn(made.prim, ins, tuple(params.items()), aval)
        if eqn not in eqns:
            eqns[eqn] = len(avals)
            avals.append(aval)
            causes.append(made.cause)
        number[made.out] = eqns[eqn]
    found = Program(tuple(avals[: len(inputs)]), tuple(eqns), tuple([number[i] for i in outputs]))
    return found, tuple(causes)


def _on_one_device(param: Any) -> Any:
    """Return a param whose programs, bodies of loops say, name no mesh: on one device nothing moves."""
    if isinstance(param, tuple):
        return tuple([_on_one_device(v) for v in param]) if any(map(_has_programs, param)) else param
    return _without_moves(param) if isinstance(param, Program) else param


def _has_programs(param: Any) -> bool:
    return isinstance(param, Program) or (isinstance(param, tuple) and any(map(_has_programs, param)))


@lru_cache(1 << 8)
def _without_moves(program: Program) -> Program:
    number = [*range(len(program.inputs))]
    eqns: list[Eqn] = []
    for eqn in program.eqns:
        ins = tuple([number[i] for i in eqn.ins])
        if eqn.prim is reshard or eqn.prim is transfer:
            number.append(ins[0])
            continue
        params = tuple([(k, _on_one_device(v)) for k, v in eqn.params])
        eqns.append(Eqn(eqn.prim, ins, params, eqn.aval))
        number.append(len(program.inputs) + len(eqns) - 1)
    return Program(program.inputs, tuple(eqns), tuple([number[i] for i in program.outputs]))


def _part(value: Value, device: int) -> Any:
    """Return the aval of a device's part of a value."""
    if isinstance(value.layout, tuple):
        return tuple([part_aval(a, lay, device) for a, lay in zip(value.aval, value.layout, strict=True)])
    return part_aval(value.aval, value.layout, device)


def _run_devices(program: Any, step: Devices, drop: Any, env: list[Any], owned: set[int]) -> None:
    try:
        found = step.engine.run(step.segment, [env[i] for i in step.inputs])
    except StepFailed as failure:
        causes = next(iter(step.causes.values()))
        raise StepFailed(failure.error, causes[failure.eqn - len(step.inputs)]) from failure.error
    for i, shards in zip(step.outputs, found, strict=True):
        env[i] = shards


def _run_collective(program: Any, step: Collective, drop: Any, env: list[Any], owned: set[int]) -> None:
    shipments = []
    for made, soon in zip(step.moves.made, step.soon, strict=True):
        if isinstance(made, Placing):
            env[made.out] = spread(step.engine, made.layout, env[made.value])
        else:
            aval = program.values[made.value].aval
            shipments.append(Shipment(made.move, aval, env[made.value], soon))
    if shipments:
        for i, shards in zip(step.outputs, step.engine.move(shipments), strict=True):
            env[i] = shards


def spread(engine: Any, layout: Layout, value: Any) -> list[Any]:
    """Return the shards of a value of the host's, or of a tuple of them."""
    parts: dict[Any, Any] = {}
    for box in layout.boxes:
        if box not in parts:
            parts[box] = value[indices(box)]
    return engine.place([parts[box] for box in layout.boxes])


EXECUTORS.update({Devices: _run_devices, Collective: _run_collective})
