"""The engine whose devices are workers of a Dask cluster.

A shard is a place in the results of a task, which stay on the worker that ran it. A segment is at most one
task for each device, and the tasks of an evaluation are sent together; data go from worker to worker, never
through this process. Dask runs tasks again whose results were lost with a worker.
"""

from __future__ import annotations

import atexit
import math
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from time import monotonic, sleep
from typing import Any, NamedTuple

import numpy as np

from .._lazy.config import active
from .._lazy.cpu.faults import is_asked, listener
from .._lazy.graph.aval import Aval
from .._lazy.graph.program import Program
from ..version import __version__
from . import dask_tasks as tasks
from .dask_graph import FAN_IN, SAVED, Result, Task, outbox_of
from .dask_waiting import result_of
from .engines import Segment, Shipment
from .errors import ClusterError, ShardingError
from .layouts import Move, Piece, volume
from .sources import MappedPart, Repeated, once, opened

# Seconds between two looks at which workers there are.
_LOOK = 2.0
# Seconds in which what runs may end before a cluster is closed.
_MOMENT = 2.0
# Bytes up to which a part goes along with each task that reads it.
_SMALL = 1 << 12


class Shard:
    """The place of a device's part.

    Attributes
    ----------
    source
        The `Result` of a task, or what that would be where it is so small that it goes along.
    number
        Which of the results it is.
    many
        How many results there are that are shards.
    rest
        Bytes of the other ones.
    device
        The device that has it.
    """

    __slots__ = ("alone", "device", "many", "number", "rest", "source")

    def __init__(self, source: Any, device: int, number: int = 0, many: int = 1, rest: int = 0) -> None:
        self.source = source
        self.device = device
        self.number = number
        self.many = many
        self.rest = rest
        self.alone: Shard | None = None


class Dask:
    """Devices that are workers of a cluster: one worker may be several."""

    name = "dask"
    meets_from = 1 << 24  # a step between workers takes milliseconds

    def __init__(self, size: int, client: Any = None, timeout: float | None = None) -> None:
        try:
            from dask.system import CPU_COUNT
            from distributed import Client, LocalCluster
        except ImportError:
            raise ImportError(
                'DeviceMesh: engine="dask" needs Dask; pip install "nabla_array[distributed]" would work'
            ) from None
        self.size = size
        self.timeout = timeout
        self._end: Callable[[], Any] | None = None
        if client is None:
            workers = min(size, CPU_COUNT)
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=CPU_COUNT // workers,  # which the devices of a worker share
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
            )
            client = Client(cluster, set_as_default=False)
            self._end = weakref.finalize(self, _closed, client, cluster)
            # Where the interpreter ends, before Dask's own ends, which come upon arrays that are alive.
            atexit.register(self._end)
        elif not isinstance(client, Client) or client.asynchronous:
            raise ShardingError(
                f"DeviceMesh: {client!r} is no client that waits; distributed.Client(address) would work"
            )
        self.client = client
        self._outbox = outbox_of(client)
        self._workers: list[str] = []
        self._looked = -_LOOK
        self._look()
        self.given: Mapping[str, Any] = {"engine": self.name, "client": client.scheduler.address}
        self._check_versions()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dask) and (self.client, self.timeout) == (other.client, other.timeout)

    def __hash__(self) -> int:
        return hash(self.client)

    @property
    def dashboard_link(self) -> str:
        """Where the cluster's dashboard is; empty where it has none."""
        return self.client.dashboard_link if self.client.status == "running" else ""

    # -- tasks ---------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Note which worker each device is: the one that it was, where that is still there."""
        if monotonic() - self._looked < _LOOK or (self._workers and not self._is_running):
            return  # whoever sends or fetches can say what cannot be had
        scheduler = self.client.scheduler
        info = self._result(lambda: scheduler.identity(n_workers=-1), "the list of workers")
        known = sorted(info["workers"])
        if not known and not self._workers:
            raise ClusterError("DeviceMesh: the cluster has no worker; one or more would work")
        self._workers = assigned(self.size, known, self._workers)
        self._looked = monotonic()

    def _check_versions(self) -> None:
        what = "the version of the library on each worker"
        run = self.client.run
        found = self._result(lambda: run(tasks.version, on_error="return", asynchronous=True), what)
        found = {f"worker {worker}": theirs for worker, theirs in found.items()}
        try:
            ask = self.client.run_on_scheduler
            found["scheduler"] = self._result(lambda: ask(tasks.version, asynchronous=True), what)
        except ImportError as error:
            found["scheduler"] = error
        for who, theirs in found.items():
            if theirs != __version__:
                has = f"nabla_array {theirs}" if isinstance(theirs, str) else f"no nabla_array ({theirs!r})"
                raise ClusterError(
                    f"DeviceMesh: the {who} has {has}, and this process {__version__}; "
                    "one version everywhere would work"
                )

    def _result(self, ask: Callable[[], Any], what: Any, parts: Sequence[Any] = ()) -> Any:
        self._check_client(what)
        return result_of(self.client, ask, what, self.timeout, parts)

    @property
    def _is_running(self) -> bool:
        return self.client.status in ("running", "connecting")

    def _check_client(self, what: Any) -> None:
        if not self._is_running:
            raise ClusterError(
                f"mesh: {what} cannot be had, since the client is {self.client.status}: "
                "its arrays are lost; a new mesh with a running client would work"
            )

    def _submit(
        self,
        device: int,
        function: Callable[..., Any],
        args: Sequence[Any],
        sources: Sequence[Any],
        nbytes: int | None = None,
    ) -> Result:
        """Note a task, which is sent with the others; `nbytes`: what it handles if that may be done twice."""
        return self._outbox.add(Task(self._workers[device], function, tuple(args), sources, nbytes))

    def send(self, what: Any) -> None:
        """Send the tasks of an evaluation."""
        self._check_client(what)
        self._outbox.send()

    # -- the protocol --------------------------------------------------------------------------------

    def place(self, parts: Sequence[Any]) -> list[Any]:
        """Send the parts. The scheduler keeps them, so that one that is lost can be sent again."""
        self._look()
        sent: dict[int, Shard] = {}
        for d, part in enumerate(parts):
            if id(part) not in sent:
                given = once(part)
                is_small = not isinstance(given, (np.ndarray, Repeated)) or given.nbytes <= _SMALL
                source = (given,) if is_small else self._submit(d, tasks.keep, (), [tasks.Given(given)])
                sent[id(part)] = Shard(source, d)
        return [sent[id(part)] for part in parts]

    def run(self, segment: Segment, shards: Sequence[list[Any]]) -> list[list[Any]]:
        """Run one task for each program."""
        self._look()
        mode, many = active.settings["mode"], len(segment.outputs)
        workers = self._workers  # another thread may look meanwhile
        share = Counter(workers)
        sources = {}
        for d, program in segment.programs.items():
            places, read = _split(self._near([s[d] for s in shards], d))
            args = program, mode, share[workers[d]], places
            nbytes = _handled(program) if len(segment.programs) == 1 else None
            sources[d] = self._submit(d, tasks.run, args, read, nbytes)
        made = {}
        for d, program in segment.programs.items():
            sizes = [_nbytes(program.aval(i)) for i in program.outputs]
            rests = [sum(sizes) - size for size in sizes]
            made.update({(d, n): Shard(sources[d], d, n, many, rest) for n, rest in enumerate(rests)})
        if is_asked():
            self._hear(sources, many)
        return [[made[r, n] for r in segment.runners] for n in range(many)]

    def _hear(self, sources: dict[int, Any], many: int) -> None:
        """Tell this thread of the floating-point errors that tasks heard: the last of their results."""
        told = self.fetch(
            [Shard(s, d, many, many + 1, SAVED) for d, s in sources.items()], "floating-point errors"
        )
        listener.take([(message, None) for messages in told for message in messages])

    def _near(self, shards: list[Shard], device: int) -> list[Shard]:
        """Return shards that may be read by a device without what else their tasks have made."""
        read = Counter([id(s.source) for s in {id(s): s for s in shards}.values()])
        return [s if read[id(s.source)] == s.many else self._alone(s, device) for s in shards]

    def _alone(self, shard: Shard, device: int | None = None) -> Shard:
        """Return a shard without much else that its task has made, unless it is where a device is."""
        is_there = device is not None and self._workers[shard.device] == self._workers[device]
        if shard.rest < SAVED or is_there:
            return shard
        if shard.alone is None:
            shard.alone = self._cut(shard)
        return shard.alone

    def _cut(self, shard: Shard, taken: tuple[slice, ...] = ()) -> Shard:
        """Return some elements of a shard, or all: of one in a file, what the file has."""
        (place,), read = _split([shard])
        return Shard(self._submit(shard.device, tasks.cut, (taken, place), read), shard.device)

    def move(self, shipments: Sequence[Shipment]) -> list[list[Any]]:
        """Run one task for each device that joins parts, and what cuts and joins on the way there."""
        self._look()
        joins = _Joins(self)
        found = [_Moving(joins, s.move, s.aval, s.shards).done() for s in shipments]
        joins.submit()
        return found

    def call(
        self,
        function: Callable[..., Any],
        arguments: Mapping[int, tuple[Any, ...]],
        what: Any,
        shards: Sequence[Any] | None = None,
    ) -> dict[int, Any]:
        """Run one task for each device that has arguments."""
        self._look()
        found = {}
        for d, args in arguments.items():
            places, read = _split([] if shards is None else [shards[d]])
            found[d] = Shard(self._submit(d, tasks.call, (function, args, places), read), d)
        self.send(what)
        return found

    def compute(self, collections: Mapping[int, Any], what: Any) -> dict[int, Any]:
        """Let the chunks go from worker to worker."""
        self._look()
        self._check_client(what)
        futures = self.client.compute([*collections.values()])
        pairs = zip(collections, futures, strict=True)
        found = {d: Shard(self._submit(d, tasks.keep, (), [future]), d) for d, future in pairs}
        self.send(what)
        return found

    def fetch(self, shards: Sequence[Any], what: Any = "a part") -> list[np.ndarray]:
        """Return shards, for which this process waits."""
        self._check_client(what)
        wanted = [s if isinstance(s.source, tuple) else self._alone(s) for s in shards]
        self.send(what)
        futures = list(dict.fromkeys([s.source.future for s in wanted if not isinstance(s.source, tuple)]))
        found: dict[Any, Any] = {}
        if futures:
            ask = lambda: self.client.gather(futures, asynchronous=True)  # noqa: E731
            found = dict(zip(futures, self._result(ask, what, futures), strict=True))
        results = [s.source if isinstance(s.source, tuple) else found[s.source.future] for s in wanted]
        parts = [r[s.number] for r, s in zip(results, wanted, strict=True)]
        parts = [opened(p) if isinstance(p, Repeated) else p for p in parts]
        mapped = {n: self._cut(s) for n, s in enumerate(wanted) if isinstance(parts[n], MappedPart)}
        if mapped:
            for n, part in zip(mapped, self.fetch([*mapped.values()], what), strict=True):
                parts[n] = part
        return parts

    def alone(self, shards: Sequence[Any]) -> list[Any]:
        """Return shards of tasks that make nothing else that is worth mentioning."""
        return [*map(self._alone, shards)]

    def rooted(self, values: Sequence[list[Any]]) -> list[list[Any]]:
        """Send the parts anew, as this process's: the scheduler forgets how they were made."""
        distinct = {id(s): s for shards in values for s in shards}
        parts = dict(zip(distinct, self.fetch([*distinct.values()], "the carry of a loop"), strict=True))
        return [self.place([parts[id(s)] for s in shards]) for shards in values]

    def close(self) -> None:
        """Close the cluster, if it was started here."""
        if self._end is not None:
            self._end()
            atexit.unregister(self._end)


def assigned(size: int, known: Sequence[str], before: Sequence[str]) -> list[str]:
    """Return the worker of each device: evenly many, and the one that it was wherever that is possible."""
    if not known:
        return list(before)
    if not before:
        return [known[d * len(known) // size] for d in range(size)]
    most = -(-size // len(known))
    load = dict.fromkeys(known, 0)
    found: list[str | None] = []
    for worker in before:
        stays = worker in load and load[worker] < most
        found.append(worker if stays else None)
        if stays:
            load[worker] += 1
    for d, stayed in enumerate(found):
        if stayed is None:
            found[d] = least = min(known, key=load.__getitem__)
            load[least] += 1
    return found  # type: ignore[return-value]


def _nbytes(aval: Any) -> int:
    return sum([a.nbytes for a in aval]) if isinstance(aval, tuple) else aval.nbytes


def _closed(client: Any, cluster: Any) -> None:
    """Close a cluster after a moment in which its tasks may end: workers log those cut off as errors."""
    end = monotonic() + _MOMENT
    while client.status == "running" and monotonic() < end and any(client.processing().values()):
        sleep(0.01)
    client.close()
    cluster.close()


def _split(shards: Sequence[Shard]) -> tuple[list[tasks.Place], list[Any]]:
    """Return where among the results of others a task finds parts, and what it reads for these."""
    results: dict[int, tuple[int, Any]] = {}
    places = []
    for shard in shards:
        source = shard.source.source if isinstance(shard.source, Result) else tasks.Given(shard.source)
        position, _ = results.setdefault(id(shard.source), (len(results), source))
        places.append(tasks.Place(position, shard.number))
    return places, [source for _, source in results.values()]


def _handled(program: Program) -> int | None:
    """Return the bytes of all values of a program, or None where these do not tell how much it does."""
    if any(isinstance(p, (Program, tuple)) and _has_program(p) for e in program.eqns for _, p in e.params):
        return None
    return sum(map(_nbytes, [*program.inputs, *[e.aval for e in program.eqns]]))


def _has_program(param: Any) -> bool:
    return isinstance(param, Program) or (isinstance(param, tuple) and any(map(_has_program, param)))


class _Given(NamedTuple):
    """A piece of a part: of which shard, and how many elements that has."""

    piece: Piece
    shard: Shard
    size: int

    @property
    def key(self) -> Any:
        """What tells it from others."""
        return self.shard, _spans(self.piece.taken), _spans(self.piece.put)


def _spans(slices: Sequence[slice]) -> tuple[tuple[int, int], ...]:
    return tuple([(s.start, s.stop) for s in slices])


class _Joining(NamedTuple):
    """A part that is to be made of pieces of others, which are numbered."""

    made: Shard
    groups: list[list[Piece]]
    shape: tuple[int, ...]
    dtype: np.dtype
    ufunc: Any
    parts: list[Shard]

    @property
    def nbytes(self) -> int:
        """The bytes of the part."""
        return math.prod(self.shape) * self.dtype.itemsize


class _Joins:
    """What is joined in one step, of all values: a task for each device, and each floor of its trees."""

    def __init__(self, engine: Dask) -> None:
        self.engine = engine
        self._floor: dict[Shard, int] = {}
        self._waiting: dict[tuple[int, int], list[_Joining]] = {}

    def add(self, joining: _Joining) -> Shard:
        """Keep what is to be joined until all is known; returns the part."""
        made = joining.made
        self._floor[made] = 1 + max([self._floor.get(part, 0) for part in joining.parts], default=0)
        self._waiting.setdefault((self._floor[made], made.device), []).append(joining)
        return made

    def submit(self) -> None:
        """Note the tasks."""
        for (_, device), some in sorted(self._waiting.items(), key=lambda item: item[0]):
            places, read = _split(self.engine._near([part for j in some for part in j.parts], device))
            at = iter(places)
            joins = [tasks.Join(*j[1:-1], [next(at) for _ in j.parts]) for j in some]
            nbytes = sum([j.nbytes * (1 + len(j.parts)) for j in some])
            source = self.engine._submit(device, tasks.join, (joins,), read, nbytes)
            for n, j in enumerate(some):
                j.made.source, j.made.number, j.made.many = source, n, len(some)
                j.made.rest = sum([other.nbytes for other in some]) - j.nbytes


class _Moving:
    """A value's way from one layout to another."""

    def __init__(self, joins: _Joins, move: Move, aval: Aval, shards: list[Shard]) -> None:
        self.joins, self.engine = joins, joins.engine
        self.move, self.aval, self.shards = move, aval, shards
        self._cuts: dict[Any, Shard] = {}
        self._joined: dict[Any, Shard] = {}

    def done(self) -> list[Shard]:
        """Return the new parts, of which devices that are to have the same share one."""
        sizes = [*map(volume, self.move.source.boxes)]
        found = []
        for d, groups in enumerate(self.move.pieces):
            given = [[_Given(p, self.shards[p.source], sizes[p.source]) for p in g] for g in groups]
            found.append(self._part(d, self.move.target.local_shape(d), given))
        return found

    def _part(self, device: int, shape: tuple[int, ...], groups: list[list[_Given]]) -> Shard:
        """Return a part made of pieces; many that come whole are joined as in a tree."""
        # What only lies side by side each worker puts together from the parts that it lacks.
        where = self.engine._workers[device] if len(groups) == 1 else None
        key = where, shape, tuple([tuple([g.key for g in group]) for group in groups])
        if key not in self._joined:
            if len(groups) > FAN_IN and all([g.piece.size == g.size for group in groups for g in group]):
                everything = tuple([slice(0, n) for n in shape])
                size = math.prod(shape)
                chunks = [groups[i : i + FAN_IN] for i in range(0, len(groups), FAN_IN)]
                parts = [self._part(some[0][0].shard.device, shape, some) for some in chunks]
                groups = [[_Given(Piece(0, everything, everything), part, size)] for part in parts]
                self._joined[key] = self._part(device, shape, groups)
            else:
                self._joined[key] = self._made(device, shape, groups)
        return self._joined[key]

    def _made(self, device: int, shape: tuple[int, ...], groups: list[list[_Given]]) -> Shard:
        number: dict[Shard, int] = {}
        mine = []
        for group in groups:
            pieces = []
            for given in group:
                near, taken = self._taken(device, given)
                pieces.append(Piece(number.setdefault(near, len(number)), taken, given.piece.put))
            mine.append(pieces)
        made = Shard(None, device)
        return self.joins.add(_Joining(made, mine, shape, self.aval.dtype, self.move.ufunc, [*number]))

    def _taken(self, device: int, given: _Given) -> tuple[Shard, tuple[slice, ...]]:
        """Return what to read for a piece, and where it is in there: cut off first, where that saves much."""
        engine, (piece, shard, size) = self.engine, given
        saved = (size - piece.size) * self.aval.dtype.itemsize
        if saved < SAVED or engine._workers[shard.device] == engine._workers[device]:
            return shard, piece.taken
        key = shard, _spans(piece.taken)
        if key not in self._cuts:
            self._cuts[key] = engine._cut(shard, piece.taken)
        return self._cuts[key], tuple([slice(0, s.stop - s.start) for s in piece.taken])
