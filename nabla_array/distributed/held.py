"""Arrays on meshes: what holds their parts, and what evaluates programs there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._lazy.graph.aval import Aval, aval_of_value
from .._lazy.graph.program import Program
from .._lazy.ops.placement import Device, finders
from .._lazy.run.executors import execute
from .._lazy.schedule.plan_cache import keep, plans
from .._lazy.schedule.steps import Schedule
from . import driving  # noqa: F401  tells how loops are run
from .engines import Shipment
from .layouts import Box, Layout, indices, move
from .mesh import DeviceMesh
from .partition import Layouts, everywhere
from .propagation import asked_for, has_priorities
from .rules import partition
from .specs import ShardingSpec, spec_of
from .spmd import schedule
from .telling import Told, told

# Bytes up to which the elements of a value stay in this process once they were fetched.
_KEPT = 1 << 20


class Sharded:
    """A value on a mesh, which nobody changes.

    What the host has given to the mesh stays here until a program says which device needs which part.

    Attributes
    ----------
    device
        The mesh.
    aval
        Shape and dtype of the value, or a tuple of them for several.
    layout
        Which part each device has.
    shards
        The engine's, one for each device; None for what is still here.
    asked
        The spec that a user gave for it; None where it came as it came.
    """

    __slots__ = ("_here", "asked", "aval", "device", "layout", "shards")

    def __init__(
        self,
        device: DeviceMesh,
        aval: Any,
        layout: Layouts,
        shards: Any = None,
        here: Any = None,
        asked: ShardingSpec | None = None,
    ) -> None:
        self.device = device
        self.aval = aval
        self.layout = layout
        self.shards = shards
        self.asked = asked
        self._here = here

    @property
    def sharding(self) -> ShardingSpec | None:
        """The spec that the layout is of; None for several values."""
        return spec_of(self.layout, self.asked) if isinstance(self.layout, Layout) else None

    def here(self) -> Any:
        """Return the elements in the host's memory, read-only."""
        if self._here is not None:
            return self._here
        found = self._fetched()
        if not isinstance(found, tuple) and found.nbytes <= _KEPT:
            self._here = found
        return found

    def __str__(self) -> str:
        spec = self.sharding
        return f"{self.aval} on {self.device}" if spec is None else f"{self.aval} cut by {spec}"

    @property
    def distinct(self) -> dict[Box, int]:
        """The parts that there are, each with a device that has it."""
        return {box: d for d, box in reversed([*enumerate(self.layout.boxes)])}  # type: ignore[union-attr]

    def _fetched(self) -> Any:
        engine, layout = self.device.engine, self.layout
        if isinstance(layout, Layout):
            shards = self.shards
            if layout.partial:
                aval: Any = self.aval
                (shards,) = engine.move([Shipment(move(layout, layout.joined()), aval, shards, False)])
            distinct = self.distinct
            parts = engine.fetch([shards[d] for d in distinct.values()], self)
            return _assembled(self.aval, [*distinct], parts)
        varies = any(lay.varies for lay in layout)
        several: Any = engine.fetch(self.shards if varies else self.shards[:1], self)
        return tuple(
            [
                _assembled(aval, lay.boxes[: len(several)], [results[n] for results in several])
                for n, (aval, lay) in enumerate(zip(self.aval, layout, strict=True))
            ]
        )


def _assembled(aval: Aval, boxes: Sequence[Box], parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return a value made of its parts, read-only."""
    if len(parts) == 1:
        (part,) = parts
        out = part.copy() if 0 in part.strides else part.view()
    else:
        out = np.empty(aval.shape, aval.dtype)
        for box, part in zip(boxes, parts, strict=True):
            out[indices(box)] = part
    out.flags.writeable = False
    return out


class OnMesh:
    """The device that a mesh is: arrays on it are cut over its devices."""

    def __init__(self, mesh: DeviceMesh) -> None:
        self.mesh = mesh

    def place(self, value: Any) -> Sharded:
        """Return a value of the host's, or a tuple of them, as one of the mesh's."""
        aval = tuple([aval_of_value(v) for v in value]) if isinstance(value, tuple) else aval_of_value(value)
        return Sharded(self.mesh, aval, everywhere(self.mesh, aval), here=value)

    def send(self, held: Sharded) -> None:
        """Leave it here: a program will say which device needs which part."""

    def run(self, program: Program, env: list[Any]) -> None:
        """Run a program over `env`, whose values are on the mesh."""
        base = len(program.inputs)
        inputs: list[Sharded] = env[:base]
        found = self._schedule(program, inputs)
        whole: Any = found.program
        mine: list[Any] = [x.here() if x.shards is None else x.shards for x in inputs]
        mine += [None] * (len(whole.values) - base)
        execute(found, mine)
        for i, n in zip(program.outputs, whole.outputs, strict=True):
            value = whole.values[n]
            env[i] = Sharded(self.mesh, value.aval, value.layout, mine[n], asked=asked_for(program, i))
        mine.clear()  # what is between is nobody's any more
        self.mesh.engine.send(env[program.outputs[-1]])

    def schedule(self, program: Program, inputs: Sequence[Any]) -> list[Told]:
        """Tell how a program would run, step by step."""
        return [*told(self._schedule(program, inputs))]

    def _schedule(self, program: Program, inputs: Sequence[Sharded | None]) -> Schedule:
        layouts = tuple([None if x is None or x.shards is None else x.layout for x in inputs])
        specs = specs_of(program, inputs)
        key = self.mesh, (program, layouts, specs)
        found: Schedule | None = plans.get(key)
        if found is None:
            found = keep(key, schedule(partition(self.mesh, program, layouts, specs)))
        return found


def specs_of(program: Program, inputs: Sequence[Sharded | None]) -> tuple[ShardingSpec | None, ...]:
    """Return the specs that users gave for inputs, if priorities matter."""
    specs = tuple([None if x is None else x.asked for x in inputs])
    matter = has_priorities(program) or any([s is not None and s.has_priorities for s in specs])
    return specs if matter else ()


def _find(device: Any) -> Device | None:
    return OnMesh(device) if isinstance(device, DeviceMesh) else None


finders.append(_find)
