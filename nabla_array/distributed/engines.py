"""Engines: where the devices of a mesh are, and what runs there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._lazy.config import active, config, threads
from .._lazy.cpu import blas
from .._lazy.cpu.faults import listener, listening
from .._lazy.graph.aval import Aval
from .._lazy.graph.primitive import as_value
from .._lazy.graph.program import Program
from .._lazy.run import early, planning
from .layouts import Box, Move, Piece, apply_pieces, indices, volume
from .sources import opened

# Bytes that devices read and make together below which one thread does it sooner than several are woken.
_FEW = 1 << 18


class Segment(NamedTuple):
    """What devices do between two collectives.

    Attributes
    ----------
    programs
        The programs of those devices that run one; by number.
    runners
        For each device the number of the one whose results it shares: itself, where it runs its own.
    inputs, outputs
        Numbers of the values that the programs read and make.
    nbytes
        Bytes of all values in all programs.
    cut
        Shape, dtype and boxes of outputs that are written element by element, each element on one
        device; by number.
    """

    programs: dict[int, Program]
    runners: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    nbytes: int
    cut: dict[int, tuple[Aval, tuple[Box, ...]]]


class Shipment(NamedTuple):
    """A value that goes from one layout to another.

    Attributes
    ----------
    soon
        Whether one `run` will read it, and nobody else.
    """

    move: Move
    aval: Aval
    shards: list[Any]
    soon: bool


class Engine(Protocol):
    """What a mesh asks of the place where its devices are. A shard is whatever the engine makes of one.

    Attributes
    ----------
    given
        The arguments of a mesh by which it has this engine, as the mesh prints them.
    meets_from
        Bytes of the operands of a loop from which its steps are worth that devices wait for each other.
    """

    meets_from: int

    name: str
    given: Mapping[str, Any]

    @property
    def dashboard_link(self) -> str:
        """Where one can see what the engine does; empty where there is no such place."""

    def place(self, parts: Sequence[Any]) -> list[Any]:
        """Return as shards, one for each device, parts in this process; those that are one object are one."""

    def run(self, segment: Segment, shards: Sequence[list[Any]]) -> list[list[Any]]:
        """Run a segment; `shards` are those of each input. Returns those of each output."""

    def move(self, shipments: Sequence[Shipment]) -> list[list[Any]]:
        """Return the shards of each value in its other layout. What goes together is of one kind."""

    def call(
        self,
        function: Callable[..., Any],
        arguments: Mapping[int, tuple[Any, ...]],
        what: Any,
        shards: Sequence[Any] | None = None,
    ) -> dict[int, Any]:
        """Call a function for each device that has arguments, on its shard first where there are shards.

        Returns shards: what the function gives. A `MappedPart` stands for its elements.
        """

    def compute(self, collections: Mapping[int, Any], what: Any) -> dict[int, Any]:
        """Return as shards what Dask collections are, one for each device that has one."""

    def fetch(self, shards: Sequence[Any], what: Any = "a part") -> list[np.ndarray]:
        """Return shards as arrays in this process, which nobody may write to; errors name `what`."""

    def alone(self, shards: Sequence[Any]) -> list[Any]:
        """Return the same shards, without what else lies in memory as long as they are there."""

    def rooted(self, values: Sequence[list[Any]]) -> list[list[Any]]:
        """Return the shards of values, which the engine can have again without what they were made of."""

    def send(self, what: Any) -> None:
        """Start what was asked for, at the latest; errors name `what`."""

    def close(self) -> None:
        """End what was started."""


class _Parts(list[Any]):
    """Shards that are views of one array, each of its box."""

    def __init__(self, parts: Iterable[Any], whole: np.ndarray) -> None:
        super().__init__(parts)
        self.whole = whole


class Local:
    """Devices that are threads of this process. A shard is an array that nobody writes to.

    Where devices can write their parts of a value into one array, what they then need of each other's parts
    is a view of that.
    """

    name = "local"
    meets_from = 1 << 20
    given: Mapping[str, Any] = MappingProxyType({})
    dashboard_link = ""

    def __init__(self, size: int) -> None:
        self.size = size
        self._pool: ThreadPoolExecutor | None = None
        self._pid = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Local)

    def __hash__(self) -> int:
        return hash(Local)

    def place(self, parts: Sequence[Any]) -> list[Any]:
        """Return the parts themselves."""
        return list(parts)

    def run(self, segment: Segment, shards: Sequence[list[Any]]) -> list[list[Any]]:
        """Run the programs, each on a thread if they are worth it."""
        wholes = {n: np.empty(aval.shape, aval.dtype) for n, (aval, _) in segment.cut.items()}
        places = {
            d: {n: whole[indices(segment.cut[n][1][d])] for n, whole in wholes.items()}
            for d in segment.programs
        }
        calls = [
            partial(run_program, program, [s[d] for s in shards], places[d])
            for d, program in segment.programs.items()
        ]
        found = dict(zip(segment.programs, self._all(calls, segment.nbytes), strict=True))
        made = [[found[r][n] for r in segment.runners] for n in range(len(segment.outputs))]
        for n, whole in wholes.items():
            if all([found[d][n] is places[d][n] for d in segment.programs]):
                made[n] = _Parts(made[n], whole)
        return made

    def move(self, shipments: Sequence[Shipment]) -> list[list[Any]]:
        """Make new parts; those of devices that are to have the same are one array.

        A small one is no view of a large array, which would stay in memory with it.
        """
        calls: list[Callable[[], Any]] = []
        numbers, nbytes = [], 0
        for move, aval, shards, soon in shipments:
            is_large = soon or 2 * sum(map(volume, move.target.boxes)) > aval.size
            whole = shards.whole if isinstance(shards, _Parts) and move.ufunc is None and is_large else None
            distinct: dict[Any, int] = {}
            which = []
            for d, groups in enumerate(move.pieces):
                box = move.target.boxes[d]
                key = box, tuple([tuple([id(shards[p.source]) for p in g]) for g in groups])
                if key not in distinct:
                    distinct[key] = len(calls)
                    shape, get = move.target.local_shape(d), shards.__getitem__
                    if whole is not None:
                        calls.append(partial(whole.__getitem__, indices(box)))
                    else:
                        calls.append(partial(joined, groups, shape, aval.dtype, move.ufunc, get))
                        nbytes += volume(box) * aval.dtype.itemsize
                which.append(distinct[key])
            numbers.append(which)
        found = self._all(calls, nbytes)
        return [[found[n] for n in which] for which in numbers]

    def call(
        self,
        function: Callable[..., Any],
        arguments: Mapping[int, tuple[Any, ...]],
        what: Any,
        shards: Sequence[Any] | None = None,
    ) -> dict[int, Any]:
        """Call the function, for each device on a thread."""
        calls = [
            partial(_called, function, () if shards is None else (shards[d],), given)
            for d, given in arguments.items()
        ]
        return dict(zip(arguments, self._all(calls), strict=True))

    def compute(self, collections: Mapping[int, Any], what: Any) -> dict[int, Any]:
        """Compute the collections here."""
        from dask.base import compute

        return dict(zip(collections, map(np.asarray, compute(*collections.values())), strict=True))

    def fetch(self, shards: Sequence[Any], what: Any = "a part") -> list[np.ndarray]:
        """Return the shards, which are arrays."""
        return list(shards)

    def alone(self, shards: Sequence[Any]) -> list[Any]:
        """Return the shards, or copies of those that are small views."""
        return [*map(compact, shards)]

    def rooted(self, values: Sequence[list[Any]]) -> list[list[Any]]:
        """Return the values: nothing is lost here."""
        return [*values]

    def send(self, what: Any) -> None:
        """Do nothing: it is done."""

    def close(self) -> None:
        """Let the threads end."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None

    def _all(self, calls: Sequence[Callable[[], Any]], nbytes: int = _FEW) -> list[Any]:
        """Call functions at one time; this thread tells of the floating-point errors that they hear."""
        if len(calls) == 1 or nbytes < _FEW:
            return [call() for call in calls]
        if self._pool is None or self._pid != os.getpid():  # a fork has no threads
            self._pool, self._pid = ThreadPoolExecutor(self.size, "nabla_array_mesh"), os.getpid()
        share = {**active.settings, "threads": max(1, threads() // len(calls))}
        # Of BLAS, too, no more threads than cores: each product would wait for all of its own.
        with blas.one_thread() if share["threads"] == 1 else nullcontext():
            results = [f.result() for f in [self._pool.submit(hearing, call, share) for call in calls]]
        for _, heard in results:
            listener.take(heard)
        return [result for result, _ in results]


def hearing(call: Callable[[], Any], settings: dict[str, Any]) -> tuple[Any, list[Any]]:
    """Call a function under some settings; returns its result, and the floating-point errors heard."""
    try:
        with config(**settings):
            return listening.copy().run(call), listener.heard
    finally:
        listener.heard = []


def compact(part: np.ndarray) -> np.ndarray:
    """Return a part, or a copy of one that is a view of a much larger array, which would stay with it."""
    base = part.base
    return part.copy() if isinstance(base, np.ndarray) and base.nbytes > 2 * part.nbytes else part


def _called(function: Callable[..., Any], parts: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
    return opened(function(*parts, *arguments))


def run_program(
    program: Program, inputs: list[np.ndarray], places: Mapping[int, np.ndarray] = MappingProxyType({})
) -> list[Any]:
    """Run a device's program on arrays, on the tiers that are best for it; outputs may have `places`."""
    env: list[Any] = [*inputs, *[None] * len(program.eqns)]
    for n, place in places.items():
        env[program.outputs[n]] = place
    inputs.clear()
    early.run(planning.planned(program), env, frozenset())
    return [as_value(env[i]) for i in program.outputs]


def joined(
    groups: Sequence[Sequence[Piece]],
    shape: tuple[int, ...],
    dtype: np.dtype,
    ufunc: Any,
    get: Callable[[int], np.ndarray],
) -> np.ndarray:
    """Return a part made of pieces of old ones, which `get` gives; the ufunc joins several of them."""
    out, *rest = [apply_pieces(pieces, shape, dtype, get) for pieces in groups]
    for n, part in enumerate(rest):
        out = np.asarray(ufunc(out, part, out=out if n else None, dtype=dtype))
    return out
