"""Work that many threads begin at one time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
THREADS = 8


def together(work: Callable[[int], T], threads: int = THREADS) -> list[T]:
    """Run `work(k)` in threads that begin together; an error in any is raised."""
    barrier = threading.Barrier(threads)

    def one(k: int) -> T:
        barrier.wait()
        return work(k)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(threads)))


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Have another thread do something over and over meanwhile; an error there is raised."""
    stop = threading.Event()

    def again() -> None:
        while not stop.is_set():
            work()

    with ThreadPoolExecutor(1) as pool:
        task = pool.submit(again)
        try:
            yield
        finally:
            stop.set()
            task.result()
