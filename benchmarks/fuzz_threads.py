"""Random programs in several threads, against the same programs one after the other.

Each thread has arrays of its own, reads arrays that all threads have (some of them pending), and writes to
its rows of one array: `python -m benchmarks fuzz-threads --programs N --threads T --seed S`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

import nabla_array as xp
from nabla_array import transforms as t

# Shapes are (rows, columns). The larger ones are planned, and claimed; most programs are on smaller ones.
ROWS = 12
COLUMNS = (7, 60, 700, 700, 9000)
SHARED = 3
# Programs that differ that are shown.
_SHOWN = 5


def _bounded(x: Any) -> Any:
    return x / (1.0 + abs(x))


def _loss(x: Any) -> Any:
    y = x * 0.5
    y[0] = 0.25
    return xp.sum(xp.tanh(y) * y)


@t.compile
def _compiled(x: Any, y: Any) -> Any:
    z = xp.sin(x) * y + 0.25
    return z, xp.mean(z, axis=0)


class World:
    """What a thread's program works on.

    Attributes
    ----------
    mine
        Arrays of the thread's own, all of one shape.
    shared
        Arrays that all threads read and none writes to.
    rows
        The thread's rows of an array that all write to.
    told
        Numbers that were read on the way.
    """

    def __init__(self, seed: Any, shared: list[Any], rows: Any) -> None:
        self.rng = np.random.default_rng(seed)
        self.shared = shared
        self.rows = rows
        self.mine = [self.new(), self.new()]
        self.told: list[Any] = []

    def new(self) -> Any:
        """Make an array of random numbers in ours."""
        seed = int(self.rng.integers(1 << 30))
        return xp.random.default_rng(seed).uniform(-1.0, 1.0, (ROWS, self.rows.shape[-1]))

    def any(self) -> Any:
        """Return one of the arrays that may be read."""
        some = [*self.mine, *self.shared]
        return some[int(self.rng.integers(len(some)))]

    def place(self) -> int:
        """Return the place of one of its own."""
        return int(self.rng.integers(len(self.mine)))

    def keep(self, x: Any) -> None:
        """Put a result in the place of an array, or beside them."""
        if len(self.mine) < 4:
            self.mine.append(x)
        else:
            self.mine[self.place()] = x


Step = Callable[[World], object]
STEPS: dict[str, Step] = {}


def step(function: Step) -> Step:
    STEPS[function.__name__] = function
    return function


@step
def arithmetic(w: World) -> None:
    x, y = w.any(), w.any()
    w.keep(_bounded(xp.sqrt(x * x + 0.5) - y * 0.75))


@step
def views(w: World) -> None:
    x = w.any()
    k = int(w.rng.integers(1, 4))
    w.keep(x[::-1, ::-1] * 0.5 + xp.roll(x.T, k, axis=0).T)


@step
def write(w: World) -> None:
    x, k = w.mine[w.place()], int(w.rng.integers(1, 5))
    y = w.any()
    x[k % ROWS] = y[0] * 0.5
    x[:, ::k] *= 0.75
    x[k::3] += y[k::3] * 0.125


@step
def written_where(w: World) -> None:
    x = w.mine[w.place()]
    x[x > 0.5] = float(w.rng.uniform(-1, 1))
    x[[0, 3, 5]] = x[[5, 0, 3]]


@step
def in_place(w: World) -> None:
    x, y = w.mine[w.place()], w.any()
    x += y
    x *= 0.5
    xp.sin(x, out=x)


@step
def view_written(w: World) -> None:
    x = w.mine[w.place()]
    part = x[2:7]
    part += 0.25
    w.told.append(part[0].sum())
    x[3] = part[1] - part[0]


@step
def reduction(w: World) -> None:
    x = w.any()
    w.told += [xp.sum(x, axis=1), xp.max(x), x.mean(axis=0)]
    w.keep(_bounded(x - xp.mean(x, axis=0) + xp.cumulative_sum(x, axis=1) * 0.1))


@step
def sort(w: World) -> None:
    x = w.any()
    w.keep(xp.sort(x, axis=1) * 0.5 + xp.take(x, xp.argsort(x[:, 0]), axis=0) * 0.25)


@step
def matmul(w: World) -> None:
    x, y = w.any(), w.any()
    w.keep(_bounded((x @ y.T) @ x / x.shape[1]))


@step
def random(w: World) -> None:
    w.keep(w.new())


@step
def gradient(w: World) -> None:
    w.keep(_bounded(t.grad(_loss)(w.any())))


@step
def batch(w: World) -> None:
    x, y = w.any(), w.any()

    def row(a: Any, b: Any) -> Any:
        c = a * 0.5
        c[0] = b[-1]
        return c if a[0] > 0 else c - b

    w.keep(_bounded(t.vmap(row)(x, y)))


@step
def tangent(w: World) -> None:
    value, tangent = t.jvp(lambda x: xp.sin(x) * w.shared[0], (w.any(),), (w.any(),))
    w.keep(value * 0.5 + tangent * 0.25)


@step
def compiled(w: World) -> None:
    z, mean = _compiled(w.any(), w.any())
    w.told.append(mean)
    w.keep(z * 0.75)


@step
def rows_written(w: World) -> None:
    k = int(w.rng.integers(len(w.rows)))
    w.rows[k] = w.any()[k]
    w.rows[:, 1:3] = float(w.rng.uniform(-1, 1))
    w.rows += 0.125
    w.keep(w.any() * 0.5 + w.rows[k] * 0.5)


@step
def look(w: World) -> None:
    x = w.any()
    w.told += [float(x[1, 2]), np.asarray(x)[0].copy()]
    if float(x[0, 0]) > 0.25:
        w.keep(x - 0.25)


class Round:
    """One program for each thread, and what they share."""

    def __init__(self, seed: int, threads: int, longest: int, columns: Sequence[int]) -> None:
        self.seed, self.threads, self.longest, self.columns = seed, threads, longest, columns

    def begin(self) -> list[Callable[[], list[np.ndarray]]]:
        """Return the threads' programs, on new arrays."""
        rng = np.random.default_rng(self.seed)
        columns = int(rng.choice(self.columns))
        out = xp.zeros((self.threads, 4, columns))
        shared = [xp.asarray(rng.uniform(-1, 1, (ROWS, columns)))]
        for k in range(SHARED - 1):  # pending until somebody looks
            shared.append(xp.sin(shared[-1] * (k + 2.0)) + 0.125)
        shared.append(xp.sort(shared[-1], axis=1))
        return [lambda i=i: self._run(i, shared, out) for i in range(self.threads)]  # type: ignore[misc]

    def _run(self, thread: int, shared: list[Any], out: Any) -> list[np.ndarray]:
        world = World([self.seed, thread], shared, out[thread])
        names = [*STEPS]
        for _ in range(int(world.rng.integers(4, self.longest + 1))):
            STEPS[names[int(world.rng.integers(len(names)))]](world)
        return [np.asarray(x) for x in [*world.told, *world.mine, world.rows, out[thread]]]

    def compare(self, found: list[list[np.ndarray]], wanted: list[list[np.ndarray]]) -> None:
        """Raise AssertionError where results differ by more than rounding."""
        for k, (ours, right) in enumerate(zip(found, wanted, strict=True)):
            for a, b in zip(ours, right, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=f"thread {k} of {self.seed}")


def run_rounds(
    seeds: Sequence[int],
    threads: int = 8,
    longest: int = 24,
    columns: Sequence[int] = COLUMNS,
    around: Callable[[], Any] = xp.config,
) -> list[tuple[int, Exception]]:
    """Run rounds with these seeds, each first serially, then in threads; returns what went wrong.

    `columns` has the sizes of arrays to choose from; `around` makes the context that each thread works in.
    """
    failures: list[tuple[int, Exception]] = []
    barrier = Barrier(threads)

    def one(program: Callable[[], list[np.ndarray]]) -> list[np.ndarray]:
        barrier.wait(60)
        with around():
            return program()

    with ThreadPoolExecutor(threads) as pool, switching_often():
        for seed in seeds:
            this = Round(seed, threads, longest, columns)
            wanted = [program() for program in this.begin()]
            try:
                this.compare([*pool.map(one, this.begin())], wanted)
            except Exception as error:  # whatever a thread raises is what is looked for
                failures.append((seed, error))
    return failures


@contextmanager
def switching_often() -> Iterator[None]:
    """Let Python's threads take turns at any moment."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def main(argv: Sequence[str]) -> int:
    """Run random programs; returns 1 if one does not do what it does alone."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fuzz-threads", description=__doc__)
    parser.add_argument("--programs", type=int, default=200, help="of each thread (200)")
    parser.add_argument("--threads", type=int, default=8, help="how many (8)")
    parser.add_argument("--seed", type=int, default=0, help="of the first programs; others have the next")
    parser.add_argument("--longest", type=int, default=24, help="steps of a program, at most (24)")
    args = parser.parse_args(argv)
    console = Console()
    start = perf_counter()
    seeds = range(args.seed, args.seed + args.programs)
    failures = run_rounds(seeds, args.threads, args.longest)
    for seed, error in failures[:_SHOWN]:
        console.rule(f"python -m benchmarks fuzz-threads --programs 1 --seed {seed}")
        console.print(f"{type(error).__name__}: {error}", markup=False)
    console.print(
        f"{args.programs} programs in each of {args.threads} threads in {perf_counter() - start:.0f} s; "
        f"{len(failures)} rounds differ"
    )
    return 1 if failures else 0
