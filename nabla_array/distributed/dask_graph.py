"""Tasks that are sent to a cluster together, in one message, when all that an evaluation does is known.

What nobody reads is left out. A task goes into those that read it where that saves a way over the scheduler:
where it does little, or where it is all that its only reader waits for.
"""

from __future__ import annotations

import threading
import uuid
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..version import __version__
from . import dask_tasks
from .dask_tasks import Given, Make

# Bytes that must stay where they are for a task that takes only what another worker needs; and those that
# tasks may handle once more, within their readers.
SAVED = 1 << 18
# Parts that one task joins, at the most, where they come whole from other workers.
FAN_IN = 8


class Result:
    """What a task makes, and its future, once it was sent. Whoever holds one wants the results to stay."""

    __slots__ = ("__weakref__", "future", "task")

    def __init__(self, task: Task) -> None:
        self.task: Task | None = task
        self.future: Any = None
        task.result = weakref.ref(self)

    @property
    def source(self) -> Any:
        """What a task is to wait for that reads the results."""
        task = self.task  # which another thread may be sending
        return self.future if task is None else task


class Task:
    """A call on a worker.

    Attributes
    ----------
    worker
        Where it should run.
    function, args
        What is called; what the sources give is its last argument.
    sources
        What it reads: tasks that are not sent yet, futures, or what goes along as `Given`.
    nbytes
        What it handles, if it may be done in several places; or None.
    inside
        Those of the sources that go into it.
    needs
        The tasks and futures that it waits for.
    future
        That of the results, once it was sent.
    again
        What the tasks inside it handle that may be done elsewhere, too.
    """

    def __init__(
        self,
        worker: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        sources: Sequence[Any],
        nbytes: int | None,
    ) -> None:
        self.worker = worker
        self.function = function
        self.args = args
        self.sources = sources
        self.nbytes = nbytes
        self.key = f"{function.__name__}-{uuid.uuid4().hex}"
        self.future: Any = None
        self.result: Callable[[], Result | None] = lambda: None
        self.inside: set[Task] = set()
        self.needs: dict[Any, None] = {}
        self.again = 0

    @property
    def is_wanted(self) -> bool:
        """Whether somebody holds the results."""
        return self.result() is not None

    @property
    def waits(self) -> list[Task]:
        """The tasks in the same message that it reads."""
        return [s for s in self.sources if isinstance(s, Task)]

    def take(self, readers: Counter[Task]) -> None:
        """Put those of the sources inside for which it need not wait."""
        # Another thread may have sent a source since.
        self.sources = [s.future or s if isinstance(s, Task) else s for s in self.sources]
        self.needs = dict.fromkeys([s for s in self.sources if not isinstance(s, Given)])
        for task in self.waits:
            needs = {n: None for n in self.needs if n is not task} | task.needs
            more = 0 if task.nbytes is None else task.nbytes + task.again + self.again
            is_little = task.nbytes is not None and more <= SAVED and len(needs) <= FAN_IN
            if is_little or (self._is_only_reader(task, readers) and self._would_wait_anyway(task)):
                self.needs = needs
                self.inside.add(task)
                self.again += task.again + (task.nbytes or 0) * is_little

    def _is_only_reader(self, task: Task, readers: Counter[Task]) -> bool:
        return readers[task] == 1 and not task.is_wanted and task.worker == self.worker

    def _would_wait_anyway(self, task: Task) -> bool:
        """Say whether nothing runs later because a task runs within this one."""
        if task.function is dask_tasks.join:
            return self.function is not dask_tasks.join  # those of a tree wait for different tasks
        return not [n for n in self.needs if isinstance(n, Task) and n is not task]

    def make(self, positions: dict[Any, int], made: dict[Task, Make]) -> Make:
        """Return what is sent; `positions` are those of the results that the outermost task waits for."""
        if self not in made:
            sources: list[Make | Given | int] = []
            for s in self.sources:
                if isinstance(s, Given):
                    sources.append(s)
                else:
                    sources.append(s.make(positions, made) if s in self.inside else positions[s])
            made[self] = Make(self.function, self.args, sources)
        return made[self]


class Outbox:
    """The tasks that are to be sent."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._tasks: list[Task] = []
        self._sending = threading.RLock()

    def add(self, task: Task) -> Result:
        """Keep a task until the next message; one that nobody wants or reads by then is not sent."""
        result = Result(task)
        with self._sending:
            self._tasks.append(task)
        return result

    def send(self) -> None:
        """Send the tasks, all in one message."""
        from dask import config

        with self._sending:
            tasks, self._tasks = self._tasks, []
            tasks = fused(tasks)
            if not tasks:
                return
            held = [(task, result) for task in tasks if (result := task.result()) is not None]
            # The user asked for what a message carries: Dask need not warn of it.
            with config.set({"distributed.admin.large-graph-warning-threshold": 1 << 62}):
                futures = self._client.get(_graph(tasks), [task.key for task, _ in held], sync=False)
            for (task, result), future in zip(held, futures, strict=True):
                task.future, result.future, result.task = future, future, None


# Meshes of one client are equal: steps that are kept for one run for another, too.
_outboxes: weakref.WeakKeyDictionary[Any, Outbox] = weakref.WeakKeyDictionary()
_making = threading.Lock()


def outbox_of(client: Any) -> Outbox:
    """Return the outbox of all meshes of a client."""
    with _making:
        return _outboxes.setdefault(client, Outbox(weakref.proxy(client)))


def fused(tasks: Sequence[Task]) -> list[Task]:
    """Return those of the tasks that are to be sent, in order, with others inside them."""
    readers = _readers(tasks)
    for task in tasks:
        if readers[task] or task.is_wanted:
            task.take(readers)
    sent: dict[Task, None] = {}
    for task in reversed(tasks):
        if task.is_wanted or task in sent:
            sent.update(dict.fromkeys([task, *[n for n in task.needs if isinstance(n, Task)]]))
    return [task for task in tasks if task in sent]


def _readers(tasks: Sequence[Task]) -> Counter[Task]:
    """Return how many tasks read each one, without those that nobody wants."""
    found: Counter[Task] = Counter()
    for task in reversed(tasks):
        if found[task] or task.is_wanted:
            found.update([t for t in {*task.waits} if t.future is None])
    return found


def _graph(tasks: Sequence[Task]) -> Any:
    """Return a graph of Dask's, with a layer for the tasks of each worker."""
    from dask import _task_spec as spec
    from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

    layers: dict[str, dict[str, Any]] = {}
    for task in tasks:
        needs = [n.key for n in task.needs]
        make = task.make({n: i for i, n in enumerate(task.needs)}, {})
        call = spec.Task(
            task.key, dask_tasks.work, __version__, make, spec.List(*[spec.TaskRef(k) for k in needs])
        )
        layers.setdefault(task.worker, {})[task.key] = call
    # Where a worker has gone, another one takes over.
    found = {
        worker: MaterializedLayer(calls, {"workers": [worker], "allow_other_workers": True})
        for worker, calls in layers.items()
    }
    return HighLevelGraph(found, {worker: set() for worker in found})
