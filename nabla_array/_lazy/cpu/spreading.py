"""Work on blocks that threads share."""

from __future__ import annotations

import contextvars
import itertools
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..config import threads
from ..forks import at_fork
from .faults import listener

if TYPE_CHECKING:
    from .pool import Pool

# Blocks from which a fusion group is worth a second thread.
PARALLEL = 4


def workers_for(blocks: int, least: int | None = None) -> int:
    """Return how many threads share so many blocks, at least `least` each."""
    return max(1, min(threads(), blocks // (least or PARALLEL)))


def spread(
    work: Callable[[Iterable[Any]], Any], blocks: list[Any], in_order: bool = True, least: int | None = None
) -> list[Any]:
    """Have threads work on blocks, at least so many each; returns what each gives.

    In order, each gets a run of them, and the results are in the blocks' order. Else each takes the next
    one that is left, so that a thread which does not get a core holds nobody up.
    """
    n = workers_for(len(blocks), least)
    if n == 1:
        return [work(blocks)]
    cuts = [len(blocks) * t // n for t in range(n + 1)]
    left = iter(blocks)
    parts = [blocks[a:b] if in_order else left for a, b in itertools.pairwise(cuts)]
    pool = _pool(max(threads() - 1, 1))
    tasks = [pool.submit(contextvars.copy_context().run, _with_faults, work, part) for part in parts[1:]]
    try:
        first = work(parts[0])
    finally:
        for task in tasks:  # after an error too: nobody may read on in what the caller then changes
            task.wait() if in_order else task.drop()
    results = [first]
    for task in tasks:
        if (found := task.result()) is not None:
            results.append(found[0])
            listener.take(found[1])
    return results


def _with_faults(work: Callable[[Any], Any], part: Any) -> tuple[Any, list[Any]]:
    """Return what a thread of the pool gives, and the faults that were heard there."""
    try:
        return work(part), listener.heard
    finally:
        listener.heard = []


@lru_cache(1)
def _pool(workers: int) -> Pool:
    from .pool import Pool

    return Pool(workers)


# A forked child has none of its parent's threads.
at_fork(after_in_child=_pool.cache_clear)
