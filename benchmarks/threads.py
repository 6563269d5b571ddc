"""Two threads that evaluate independent programs, against one thread that evaluates both one after the other.

Each figure is the time of two threads over that of one: 0.5 is the best to be had, 1 means that they took
turns. Each thread computes on one core (`config(threads=1)`, one BLAS thread), and NumPy does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np

import nabla_array

from .contestants import Contestant, contestants
from .elementwise import chain, row_variance
from .measure import OURS, Claim, Row

THREADS = 2
# Of its own time in one thread, a program takes this much at most.
AT_MOST = 0.6

Work = Callable[[Any, list[Any]], object]


def _sort(xp: Any, x: Any) -> Any:
    return xp.sort(x, axis=1)


def _matmul(xp: Any, x: Any, y: Any) -> Any:
    return x @ y


def _decompositions(xp: Any, x: Any, y: Any) -> Any:
    return xp.linalg.svd(x, full_matrices=False)[0] @ xp.linalg.solve(y, x)


def _many(xp: Any, *xs: Any) -> list[Any]:
    return [xp.sum(xp.sqrt(x * x + 1.0) - x * 0.5, axis=0) for x in xs]


def _mix(xp: Any, x: Any, y: Any) -> Any:
    z = xp.exp(-x * x) @ y
    return xp.sum(xp.sort(z, axis=1)[:, ::2] * 0.5 + 1.0, axis=1)


def cases(quick: bool) -> list[tuple[str, Callable[..., Any], list[np.ndarray]]]:
    """Return each case: a name, a function of a namespace and arrays, and the arrays."""
    n, k = (20, 2) if quick else (1000, 20)
    rng = np.random.default_rng(0)

    def some(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape)

    return [
        (f"chain of 6, {n} x {2 * n}", chain, [some(n, 2 * n), some(n, 2 * n)]),
        (f"row variance, {n} x {2 * n}", row_variance, [some(n, 2 * n)]),
        (f"sort, {n} x {n}", _sort, [some(n, n)]),
        (f"matmul, {n // 2} x {n // 2}", _matmul, [some(n // 2, n // 2), some(n // 2, n // 2)]),
        (f"svd, solve, {n // 10} x {n // 10}", _decompositions, [some(n // 10, n // 10) for _ in range(2)]),
        (f"{k} programs on {0.008 * n * n / 64:.0f} kB", _many, [some(n // 8, n // 8) for _ in range(k)]),
        (f"{k} programs on {0.008 * n * n / 8:.0f} kB", _many, [some(n // 8, n) for _ in range(k)]),
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


def _ratio(
    contestant: Contestant, function: Callable[..., Any], arrays: list[np.ndarray], rounds: int, least: float
) -> tuple[float, float]:
    """Return the best seconds of both programs in one thread, and in two."""
    given = [[contestant.asarray(a.copy()) for a in arrays] for _ in range(THREADS)]

    def work(which: int, number: int) -> None:
        with nabla_array.config(threads=1):
            for _ in range(number):
                contestant.evaluate(function(contestant.xp, *given[which]))

    start = perf_counter()
    work(0, 2)  # plans
    work(1, 1)
    number = max(1, int(least * 3 / (perf_counter() - start)))
    best = [float("inf")] * 2
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(rounds):
            start = perf_counter()
            for which in range(THREADS):
                pool.submit(work, which, number).result()
            best[0] = min(best[0], perf_counter() - start)
            start = perf_counter()
            for task in [pool.submit(work, which, number) for which in range(THREADS)]:
                task.result()
            best[1] = min(best[1], perf_counter() - start)
    return best[0] / number, best[1] / number


def run(quick: bool) -> list[Row]:
    """Return a row a case: for each contestant the time of two threads over that of one."""
    rows = []
    with _one_core_each(), nabla_array.config(mode="host"):
        for name, function, arrays in cases(quick):
            figures = {}
            for contestant in contestants(OURS, "numpy"):
                one, two = _ratio(contestant, function, arrays, *((2, 0.0) if quick else (7, 0.05)))
                figures[contestant.name] = two / one
            rows.append(Row(name, figures, (Claim("one after the other", AT_MOST),), "ratio"))
    return rows
