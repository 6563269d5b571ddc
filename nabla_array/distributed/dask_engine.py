"""The engine whose devices are workers of a Dask cluster.

A shard is a place in the result of a task, which stays on the worker that ran it. Segments are one task for
each device, collectives one for each distinct part that they make: data go from worker to worker, never
through this process. Dask runs tasks again whose results were lost with a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._lazy.graph.aval import Aval
from .._lazy.graph.program import Program
from ..version import __version__
from . import pickling  # noqa: F401  tells pickle how to send programs
from .engines import Segment, joined, run_program
from .errors import ShardingError
from .layouts import Move, Piece

# Seconds that this process waits for the cluster, unless a mesh says otherwise.
TIMEOUT = 300.0


class Shard(NamedTuple):
    """The place of a device's part: a task, and which of its results."""

    future: Any
    number: int


class Dask:
    """Devices that are workers of a cluster: one worker may be several."""

    name = "dask"

    def __init__(self, size: int, client: Any = None, timeout: float = TIMEOUT) -> None:
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            raise ImportError(
                'DeviceMesh: engine="dask" needs Dask; pip install "nabla_array[distributed]" would work'
            ) from None
        self.size = size
        self.timeout = timeout
        self._cluster = None
        if client is None:
            self._cluster = LocalCluster(
                n_workers=size, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
            )
            client = Client(self._cluster)
        self.client = client
        self._workers = self._found_workers()

    def _found_workers(self) -> list[str]:
        """Return the worker of each device."""
        known = sorted(self.client.scheduler_info(n_workers=-1)["workers"])
        if not known:
            raise ShardingError("DeviceMesh: the cluster has no worker; one or more would work")
        return [known[d * len(known) // self.size] for d in range(self.size)]

    def _submit(self, device: int, function: Callable[..., Any], *args: Any) -> Any:
        if self.client.status != "running":
            raise ShardingError(
                f"mesh: the client is {self.client.status}; a mesh with a running one would work"
            )
        # Where the worker has gone, another one takes over.
        where = {"workers": [self._workers[device]], "allow_other_workers": True}
        return self.client.submit(function, __version__, *args, pure=False, **where)

    def place(self, parts: Sequence[Any]) -> list[Any]:
        """Send the parts. Dask keeps them, so that a lost one can be sent again."""
        sent: dict[int, Shard] = {}
        for d, part in enumerate(parts):
            if id(part) not in sent:
                sent[id(part)] = Shard(self._submit(d, _kept, part), 0)
        return [sent[id(part)] for part in parts]

    def run(self, segment: Segment, shards: Sequence[list[Any]]) -> list[list[Any]]:
        """Run one task for each program."""
        futures = {
            d: self._submit(d, _run, program, *_split([s[d] for s in shards]))
            for d, program in segment.programs.items()
        }
        return [[Shard(futures[r], n) for r in segment.runners] for n in range(len(segment.outputs))]

    def move(self, move: Move, aval: Aval, shards: list[Any]) -> list[Any]:
        """Run one task for each distinct part."""
        made: dict[Any, Shard] = {}
        found = []
        for d, groups in enumerate(move.pieces):
            key = move.target.boxes[d], tuple([tuple([shards[p.source] for p in g]) for g in groups])
            if key not in made:
                sources = list(dict.fromkeys(p.source for g in groups for p in g))
                number = {source: n for n, source in enumerate(sources)}
                mine = [[p._replace(source=number[p.source]) for p in g] for g in groups]
                shape = tuple([b - a for a, b in move.target.boxes[d]])
                args = mine, shape, aval.dtype, move.ufunc
                made[key] = Shard(self._submit(d, _move, *args, *_split([shards[s] for s in sources])), 0)
            found.append(made[key])
        return found

    def fetch(self, shards: Sequence[Any]) -> list[np.ndarray]:
        """Return shards, for which this process waits."""
        tasks = [self._submit(0, _one, s.number, s.future) if s.number else s.future for s in shards]
        found = self.client.gather(tasks)
        return [f if s.number else f[0] for f, s in zip(found, shards, strict=True)]

    def close(self) -> None:
        """Close the cluster, if it was started here."""
        if self._cluster is not None:
            self.client.close()
            self._cluster.close()


def _split(shards: list[Shard]) -> tuple[list[int], list[Any]]:
    return [s.number for s in shards], [s.future for s in shards]


def _check(version: str) -> None:
    if version != __version__:
        raise RuntimeError(
            f"mesh: this worker has nabla_array {__version__}, and was sent a program of {version}; "
            "one version everywhere would work"
        )


def _kept(version: str, part: Any) -> tuple[Any]:
    _check(version)
    return (part,)


def _one(version: str, index: int, results: tuple[Any, ...]) -> Any:
    return results[index]


def _run(
    version: str, program: Program, indices: list[int], results: list[tuple[Any, ...]]
) -> tuple[Any, ...]:
    _check(version)
    return tuple(run_program(program, [r[i] for i, r in zip(indices, results, strict=True)]))


def _move(
    version: str,
    groups: list[list[Piece]],
    shape: tuple[int, ...],
    dtype: np.dtype,
    ufunc: Any,
    indices: list[int],
    results: list[tuple[Any, ...]],
) -> tuple[Any]:
    _check(version)
    parts = [r[i] for i, r in zip(indices, results, strict=True)]
    return (joined(groups, shape, dtype, ufunc, parts.__getitem__),)
