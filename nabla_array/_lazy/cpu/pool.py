"""A pool of threads: what `concurrent.futures` gives, without the 12 ms that importing it takes."""

from __future__ import annotations

import threading
from _queue import SimpleQueue  # `queue` brings others: 1 ms
from collections.abc import Callable
from typing import Any


class Task:
    """A call that some thread makes."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._function = function
        self._args = args
        self._taken = threading.Lock()
        self._done = threading.Lock()
        self._done.acquire()
        self._value: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Make the call, here, unless it is dropped."""
        if not self._taken.acquire(blocking=False):
            return
        try:
            self._value = self._function(*self._args)
        except BaseException as error:  # `result` raises it, in the thread that asks
            self._error = error
        finally:
            self._done.release()

    def drop(self) -> None:
        """Let the call never begin; if it has begun, return once it is over."""
        if self._taken.acquire(blocking=False):
            self._done.release()
        else:
            self.wait()

    def wait(self) -> None:
        """Return once the call is over."""
        with self._done:
            pass

    def result(self) -> Any:
        """Return what the call returned, once it is over, or raise what it raised; None if it was dropped."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._value


class Pool:
    """Threads that make calls; they are started at once, and end with the process."""

    def __init__(self, workers: int) -> None:
        self._tasks: SimpleQueue[Task] = SimpleQueue()
        for i in range(workers):
            threading.Thread(target=self._work, name=f"nabla_array_{i}", daemon=True).start()

    def _work(self) -> None:
        while True:
            self._tasks.get().run()

    def submit(self, function: Callable[..., Any], *args: Any) -> Task:
        """Have a thread call ``function(*args)``."""
        task = Task(function, args)
        self._tasks.put(task)
        return task
