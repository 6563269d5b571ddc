"""Two threads that evaluate independent programs, against one that evaluates both, one after the other.

Each figure is the time of two threads over that of one: 0.5 is the best to be had, 1 means that they took
turns. Each thread computes on one core (`config(threads=1)`, one BLAS thread), as NumPy does. "hashing" is
what the machine gives two threads that share nothing, not even memory. Time in which other processes had the
cores is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from statistics import median
from threading import get_native_id
from time import perf_counter
from typing import Any

import numpy as np

import nabla_array

from .contestants import Contestant, contestants
from .elementwise import chain, row_variance
from .measure import OURS, Claim, Row

THREADS = 2
# Two threads take this much at most of the time of one.
AT_MOST = 0.6


def _sort(xp: Any, x: Any) -> Any:
    return xp.sort(x, axis=1)


def _matmul(xp: Any, x: Any, y: Any) -> Any:
    return x @ y


def _decompositions(xp: Any, x: Any, y: Any) -> Any:
    return xp.linalg.svd(x, full_matrices=False)[0] @ xp.linalg.solve(y, x)


def _many(xp: Any, *xs: Any) -> list[Any]:
    return [xp.sum(xp.sqrt(x * x + 1.0) - x * 0.5, axis=0) for x in xs]


def _chains(xp: Any, *xs: Any) -> list[Any]:
    return [xp.sqrt(x * x + 1.0) - x * 0.5 for x in xs]


def _mix(xp: Any, x: Any, y: Any) -> Any:
    z = xp.exp(-x * x) @ y
    return xp.sum(xp.sort(z, axis=1)[:, ::2] * 0.5 + 1.0, axis=1)


def cases(quick: bool) -> list[tuple[str, Callable[..., Any], list[np.ndarray]]]:
    """Return each case: a name, a function of a namespace and arrays, and the arrays."""
    n, k = (20, 2) if quick else (1000, 20)
    rng = np.random.default_rng(0)

    def some(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape)

    kilobytes = 0.001 * n * n
    return [
        (f"chain of 6, {n} x {2 * n}", chain, [some(n, 2 * n), some(n, 2 * n)]),
        (f"row variance, {n} x {2 * n}", row_variance, [some(n, 2 * n)]),
        (f"sort, {n} x {n}", _sort, [some(n, n)]),
        (f"matmul, {n // 2} x {n // 2}", _matmul, [some(n // 2, n // 2), some(n // 2, n // 2)]),
        (
            f"svd and solve, {n // 10} x {n // 10}",
            _decompositions,
            [some(n // 10, n // 10) for _ in range(2)],
        ),
        (f"{k} sums of columns of {kilobytes / 8:.0f} kB", _many, [some(n // 8, n // 8) for _ in range(k)]),
        (f"{k} sums of columns of {kilobytes:.0f} kB", _many, [some(n // 8, n) for _ in range(k)]),
        (f"{k} chains of {kilobytes / 4:.0f} kB", _chains, [some(n // 4, n // 8) for _ in range(k)]),
        (f"mix, {n // 2} x {n // 2}", _mix, [some(n // 2, n // 2), some(n // 2, n // 2)]),
    ]


@contextmanager
def _one_core_each() -> Iterator[None]:
    """Let NumPy's BLAS use one thread."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # then OPENBLAS_NUM_THREADS must say so
        yield
        return
    with threadpool_limits(1):
        yield


def _waited() -> float:
    """Return how long this thread was ready to run, but other processes had the cores."""
    try:
        return int(Path(f"/proc/self/task/{get_native_id()}/schedstat").read_text().split()[1]) / 1e9
    except OSError:  # only Linux tells
        return 0.0


def _ratios(works: dict[str, Callable[[int], object]], rounds: int, least: float) -> dict[str, float]:
    """Return for each the median of the time of `work(0)` and `work(1)` in two threads over that in one.

    All take turns, so that noise meets all alike. What is measured takes `least` seconds, at least.
    """
    numbers: dict[str, int] = {}
    found: dict[str, list[float]] = {}
    for name, work in works.items():
        for which in range(THREADS):
            work(which)  # plans
        start = perf_counter()
        work(0)
        numbers[name] = max(1, int(least / (perf_counter() - start)))
        found[name] = []

    def often(name: str, which: int) -> float:
        start = perf_counter() - _waited()
        with nabla_array.config(threads=1, mode="host"):
            for _ in range(numbers[name]):
                works[name](which)
        waited = _waited()  # before the clock: a wait between the two is then counted, not deducted alone
        return perf_counter() - waited - start

    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(rounds):
            for name in works:
                alone = [pool.submit(often, name, which).result() for which in range(THREADS)]
                tasks = [pool.submit(often, name, which) for which in range(THREADS)]
                both = max([task.result() for task in tasks])
                found[name].append(both / sum(alone))
    return {name: median(ratios) for name, ratios in found.items()}


def _work(contestant: Contestant, function: Callable[..., Any], arrays: list[np.ndarray]) -> Any:
    given = [[contestant.asarray(a.copy()) for a in arrays] for _ in range(THREADS)]
    return lambda which: contestant.evaluate(function(contestant.xp, *given[which]))


def _hashing(quick: bool) -> Callable[[int], object]:
    content = bytes(1 << 12 if quick else 1 << 20)
    return lambda which: sha256(content).digest()


def run(quick: bool) -> list[Row]:
    """Return a row a case: for each contestant the time of two threads over that of one."""
    rows = []
    rounds, least = (1, 0.0) if quick else (9, 0.05)
    with _one_core_each():
        for name, function, arrays in cases(quick):
            works = {c.name: _work(c, function, arrays) for c in contestants(OURS, "numpy")}
            figures = _ratios({**works, "hashing": _hashing(quick)}, rounds, least)
            rows.append(Row(name, {**figures, "in turn": 1.0}, (Claim("in turn", AT_MOST),), "of one thread"))
    return rows
