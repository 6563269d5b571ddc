"""Evaluations claim what they compute: several run at one time, and none computes what another one does."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.graph.aval import Aval
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.run import claims
from nabla_array._lazy.run.claims import lock
from nabla_array._namespace.core.array import Array, apply

from .together import THREADS, together

# Of so many elements, an operation is planned, and claimed.
LARGE = 1 << 18
SECONDS = 30


@contextmanager
def operation(function: Callable[[np.ndarray], np.ndarray]) -> Iterator[Callable[[Any], Array]]:
    """Make an operation that calls a function once it is evaluated; afterwards nothing is claimed."""

    def aval(x: Aval) -> Aval:
        return x

    prim = Primitive("tested", aval=aval, host=function)
    yield lambda x: apply(prim, xp.asarray(x))
    assert not claims.claims
    assert not claims._waits
    assert not claims._wanting


def large(value: float = 1.0) -> Array:
    return xp.asarray(np.full(LARGE, value))


def test_two_evaluations_run_at_one_time() -> None:
    barrier = threading.Barrier(2, timeout=SECONDS)

    def meet(x: np.ndarray) -> np.ndarray:
        barrier.wait()  # each waits until the other one computes, too
        return x + 1

    with operation(meet) as tested:
        assert together(lambda t: float(xp.sum(tested(large(t)))[...]), 2) == [LARGE, 2 * LARGE]


def test_what_is_claimed_is_computed_once() -> None:
    calls = []

    def count(x: np.ndarray) -> np.ndarray:
        calls.append(threading.get_ident())
        return x + 1

    with operation(count) as tested:
        for _ in range(20):
            shared = tested(large()) * 2
            calls.clear()
            assert together(lambda t, y=shared: float(y[t]) + float(xp.sum(y * t)[...])) == [  # type: ignore[misc]
                4.0 + 4.0 * t * LARGE for t in range(THREADS)
            ]
            assert len(calls) == 1


def test_who_records_on_what_is_claimed_waits_for_it() -> None:
    begun, go = threading.Event(), threading.Event()

    def pause(x: np.ndarray) -> np.ndarray:
        begun.set()
        assert go.wait(SECONDS)
        return x + 1

    with operation(pause) as tested, ThreadPoolExecutor(2) as pool:
        y = tested(large())
        first = pool.submit(np.asarray, y)
        assert begun.wait(SECONDS)
        second = pool.submit(lambda: np.asarray(y * 3))
        other = xp.asarray(np.arange(LARGE * 1.0)) + 1  # nothing of it is claimed
        assert float(xp.sum(other)) == LARGE * (LARGE + 1) / 2
        assert not second.done()
        go.set()
        assert first.result()[0] == 2
        assert second.result()[-1] == 6


def test_who_waits_with_the_lock_does_not_wait_for_itself() -> None:
    """An evaluation ends although somebody who has the lock waits for it."""
    begun, go = threading.Event(), threading.Event()

    def pause(x: np.ndarray) -> np.ndarray:
        begun.set()
        assert go.wait(SECONDS)
        return x + 1

    def wait(y: Array) -> np.ndarray:
        with lock:
            threading.Timer(0.1, go.set).start()
            return np.asarray(y)

    with operation(pause) as tested, ThreadPoolExecutor(2) as pool:
        y = tested(large())
        first = pool.submit(np.asarray, y)
        assert begun.wait(SECONDS)
        assert pool.submit(wait, y).result(5)[0] == 2
        assert first.result(5)[0] == 2


def test_an_error_ends_the_claim() -> None:
    fails = [True]

    def fail(x: np.ndarray) -> np.ndarray:
        if fails[0]:
            raise ValueError("not yet")
        return x + 1

    with operation(fail) as tested:
        x = large()
        y = tested(x * 2) * 3
        for _ in range(3):
            with pytest.raises(ValueError, match="not yet"):
                np.asarray(y)
            assert not claims.claims
        fails[0] = False
        assert set(together(lambda t: float(y[t]))) == {9.0}
        assert float(x[0]) == 1.0


def test_who_waits_for_what_fails_fails_too() -> None:
    def fail(x: np.ndarray) -> np.ndarray:
        raise ValueError("never")

    def work(y: Array) -> None:
        with pytest.raises(ValueError, match="never"):
            np.asarray(y)

    with operation(fail) as tested:
        y = tested(large())
        together(lambda t: work(y))


def test_evaluations_within_evaluations() -> None:
    inner = [large(t) + 1 for t in range(THREADS)]
    shared = large(5) * 2

    def nested(x: np.ndarray) -> np.ndarray:
        t = int(x[0])
        return x + np.asarray(inner[t]) + float(shared[t]) + float(inner[(t + 1) % THREADS][0])

    with operation(nested) as tested:
        values = together(lambda t: float(tested(large(t))[0]))
    assert values == [t + (t + 1) + 10 + ((t + 1) % THREADS + 1) for t in range(THREADS)]


def test_evaluations_that_wait_for_each_other_raise() -> None:
    barrier = threading.Barrier(2, timeout=SECONDS)
    ours: list[Array] = []
    met: list[int] = []

    def cross(x: np.ndarray) -> np.ndarray:
        if len(met) == 2:  # what failed is computed again
            return x
        met.append(1)
        barrier.wait()
        return x + np.asarray(ours[1 - int(x[0])])

    def work(t: int) -> str:
        try:
            np.asarray(ours[t])
        except RuntimeError as error:
            return str(error)
        return ""

    with operation(cross) as tested:
        ours += [tested(large(t)) for t in range(2)]
        said = together(work, 2)
    assert any("wait for each other" in text for text in said), said
    del ours[:]


def test_a_write_waits_for_what_it_reads() -> None:
    """Rows that threads write to one pending array are all written, however long it is computed."""
    go = threading.Event()

    def slow(x: np.ndarray) -> np.ndarray:
        go.wait(0.2)
        return x + 0.0

    with operation(slow) as tested:
        for _ in range(3):
            out = xp.reshape(tested(np.zeros(THREADS * LARGE // 8)), (THREADS, -1))
            together(lambda t, x=out: x[t].fill(t + 1.0))  # type: ignore[misc]
            np.testing.assert_array_equal(np.asarray(out)[:, 5], np.arange(THREADS) + 1.0)


def test_memory_that_is_read_is_not_written_to() -> None:
    """An evaluation sees what an array was when the operation was recorded, whatever is written meanwhile."""
    begun, written = threading.Event(), threading.Event()

    def look(x: np.ndarray) -> np.ndarray:
        begun.set()
        assert written.wait(SECONDS)
        return x + 1

    with operation(look) as tested, ThreadPoolExecutor(1) as pool:
        x = large()
        y = tested(x)
        task = pool.submit(np.asarray, y)
        assert begun.wait(SECONDS)
        x[3] = 50.0
        x += 1
        written.set()
        assert task.result()[3] == 2.0
        assert float(x[3]) == 51.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_waits_for_what_is_computed() -> None:
    begun = threading.Event()

    def slow(x: np.ndarray) -> np.ndarray:
        begun.set()
        threading.Event().wait(0.2)
        return x + 1

    with operation(slow) as tested, ThreadPoolExecutor(1) as pool:
        y = tested(large())
        task = pool.submit(np.asarray, y)
        assert begun.wait(SECONDS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a fork of a process with threads
            child = os.fork()
        if child == 0:
            os._exit(0 if float(y[0]) == 2.0 and not claims.claims else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert task.result()[0] == 2.0


def test_a_finalizer_evaluates_what_its_thread_computes_or_says_so() -> None:
    class Holder:
        def __init__(self, y: Array) -> None:
            self.y, self.me = y, self

        def __del__(self) -> None:
            try:
                seen.append(float(self.y[0]))
            except RuntimeError as error:
                seen.append(str(error))

    seen: list[Any] = []

    def collect(x: np.ndarray) -> np.ndarray:
        gc.collect()
        return x + 1

    with operation(collect) as tested:
        y = tested(large() * 2) * 3
        Holder(y)
        assert float(y[0]) == 9.0
    while not seen:  # another thread was collecting
        gc.collect()
    assert seen[0] == 9.0 or "is being computed" in seen[0]


REWRITES: dict[str, Callable[[Array, int], object]] = {
    "mask": lambda x, t: x.__setitem__(np.arange(x.size) % THREADS == t, t + 1.0),
    "index": lambda x, t: x.__setitem__(np.arange(t, x.size, THREADS), t + 1.0),
    "put": lambda x, t: xp.put(x, np.arange(t, x.size, THREADS), t + 1.0),
    "putmask": lambda x, t: xp.putmask(x, np.arange(x.size) % THREADS == t, t + 1.0),
    "place": lambda x, t: xp.place(x, np.arange(x.size) % THREADS == t, [t + 1.0]),
    "copyto": lambda x, t: xp.copyto(x, t + 1.0, where=np.arange(x.size) % THREADS == t),
}


@pytest.mark.parametrize("way", REWRITES)
def test_writes_that_read_what_they_replace(way: str) -> None:
    """Elements that threads write to one pending array are all written, whatever each of them reads first."""
    go = threading.Event()

    def slow(x: np.ndarray) -> np.ndarray:
        go.wait(0.1)
        return x + 0.0

    with operation(slow) as tested:
        for size in (LARGE, 1000):
            x = tested(np.zeros(size))
            together(lambda t, x=x: REWRITES[way](x, t))  # type: ignore[misc]
            np.testing.assert_array_equal(np.asarray(x), np.arange(size) % THREADS + 1.0)
