"""Waiting for a cluster: within a time limit, with a bar on a terminal, and errors that say what helps."""

from __future__ import annotations

import asyncio
import concurrent.futures as cf
import copy
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from time import monotonic
from typing import Any

from .errors import ClusterError

# Seconds after which a bar is shown, and between two looks at how far the work is.
_PATIENCE = 2.0
_TICK = 0.2
# What the cluster does when this process has waited long enough.
_GOES_ON, _HAS_NO_WORKER = "the cluster goes on", "the cluster has no worker, and goes on when one comes"


def result_of(
    client: Any, ask: Callable[[], Any], what: Any, timeout: float | None, parts: Sequence[Any] = ()
) -> Any:
    """Return what a coroutine of the client gives, which `ask` makes.

    `what` says in errors what was wanted; `parts` are the futures that the bar counts.
    """
    task = _start(client, ask)
    try:
        found, error = _waited(task, client, timeout, parts)
    except TimeoutError as late:
        raise TimeoutError(
            f"mesh: {what} was not there within {timeout} s; {str(late) or _GOES_ON}: asking again waits on, "
            "and DeviceMesh(..., timeout=seconds), or None for no limit, waits longer"
        ) from late.__cause__
    finally:
        task.cancel()
    if error is not None:
        raise _told(error, what, client) from None
    return found


def _waited(task: cf.Future[Any], client: Any, timeout: float | None, parts: Sequence[Any]) -> Any:
    start = monotonic()
    limit = float("inf") if timeout is None else timeout
    try:
        return task.result(min(limit, _PATIENCE))
    except cf.TimeoutError:
        if limit <= _PATIENCE:
            raise
    free = lambda: _start(client, lambda: client.run_on_scheduler(_freeing(), asynchronous=True))  # noqa: E731
    freeing, asked = free(), monotonic()
    with _bar(client, parts) as advance:
        while True:
            if monotonic() - asked > _PATIENCE and freeing.done():
                freeing, asked = free(), monotonic()
            left = limit - (monotonic() - start)
            try:
                return task.result(max(0, min(left, _TICK)))
            except cf.TimeoutError:
                if left <= _TICK:
                    workers, error = freeing.result() if freeing.done() else (None, None)
                    raise TimeoutError(_HAS_NO_WORKER if workers == 0 else _GOES_ON) from error
                advance(sum([f.done() for f in parts]))


def _start(client: Any, ask: Callable[[], Any]) -> cf.Future[tuple[Any, BaseException | None]]:
    """Let the client's thread run a coroutine, which `ask` makes; returns its result, or its error."""

    async def outcome() -> tuple[Any, BaseException | None]:
        try:
            return await ask(), None
        except (Exception, asyncio.CancelledError) as error:
            # The client keeps the error with the future. Its frames would keep the future with the client.
            return None, copy.copy(error.with_traceback(None))

    return asyncio.run_coroutine_threadsafe(outcome(), client.loop.asyncio_loop)


def _freeing() -> Callable[..., int]:
    """Return what lets any worker run the tasks that wait for workers that are gone, and counts workers.

    When all workers die, Dask keeps tasks waiting for them that others may run, also when others come. It is
    a function in a function so that it is sent by value: the scheduler need not have this library.
    """

    def free(dask_scheduler: Any) -> int:
        stuck = [t for t in dask_scheduler.unrunnable if t.worker_restrictions and t.loose_restrictions]
        for task in stuck:
            task.worker_restrictions = None
        dask_scheduler.transitions({t.key: "processing" for t in stuck}, "nabla_array-free")
        return len(dask_scheduler.workers)

    return free


def _bar(client: Any, parts: Sequence[Any]) -> AbstractContextManager[Callable[[int], None]]:
    """Return what shows how many parts are there, if somebody looks."""
    if not sys.stderr.isatty() or not parts:
        return nullcontext(lambda done: None)
    return _Bar(client.dashboard_link, len(parts))


class _Bar:
    """A bar of rich's, on the terminal until the work is done."""

    def __init__(self, link: str, many: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        title = f"waiting for {many} part{'s' * (many > 1)}" + (f" ({link})" if link else "")
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task(title, total=many)

    def __enter__(self) -> Callable[[int], None]:
        self._progress.start()
        return lambda done: self._progress.update(self._task, completed=done)

    def __exit__(self, *exc: object) -> None:
        self._progress.stop()


def _told(error: BaseException, what: Any, client: Any) -> BaseException:
    """Return the error that says what became of what was wanted, and what would work."""
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        return ClusterError(
            f"mesh: {what} is lost: {error.allowed_failures + 1} workers died as they computed it, as those "
            "do that run out of memory; smaller parts (more devices), or more memory for each would work"
        )
    if isinstance(error, (cf.CancelledError, asyncio.CancelledError)):
        return ClusterError(
            f"mesh: {what} is lost: its parts were deleted on the cluster, or the scheduler was restarted "
            f"({str(error).splitlines()[0] if str(error) else 'cancelled'}); "
            "computing it again from data that is there would work"
        )
    if isinstance(error, OSError) and client.status != "running":
        return ClusterError(
            f"mesh: {what} cannot be had: there is no connection to the scheduler ({error}); "
            "a new mesh with a running client would work"
        )
    if isinstance(error, ClusterError):
        return ClusterError(f"mesh: {what} cannot be had: {error}")
    if isinstance(error, MemoryError):
        return MemoryError(
            f"mesh: {what}: a worker is out of memory ({error}); smaller parts (more devices), or more "
            "memory for each worker would work"
        )
    return error
