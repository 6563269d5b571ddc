"""Threads that evaluate, on arrays of their own and on shared ones."""

from __future__ import annotations

import sys
import threading
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import nabla_array as xp

from .together import THREADS, beside, together


def test_deferred_operations_of_a_thread_beside_a_long_evaluation() -> None:
    """An evaluation that has let go of the interpreter is not disturbed by what others record."""
    rng = np.random.default_rng(0)
    given, small = rng.random((500, 4000)), rng.random(4000)
    mine = xp.asarray(np.arange(1000.0))
    kept: list[Any] = []

    def record() -> None:
        for i in range(100):
            kept.append(mine + float(i))
        assert float(kept[-1][3]) == 102.0
        kept.clear()

    for _ in range(4):
        big, named = xp.asarray(given), xp.asarray(small) * 2.0 + 1.0
        pending = xp.sort(big, axis=1) + (named - 1.0)
        with beside(record):
            np.testing.assert_array_equal(np.asarray(pending), np.sort(given, axis=1) + (small * 2 + 1 - 1))
        np.testing.assert_array_equal(np.asarray(named), small * 2.0 + 1.0)


@pytest.mark.parametrize("size", [60, 2000, 200_000])
def test_a_shared_chain_that_all_evaluate(size: int) -> None:
    values = np.random.default_rng(1).random(size)
    for _ in range(5):
        x = xp.asarray(values)
        shared = [x]
        for k in range(6):
            shared.append(shared[-1] * 0.5 + float(k))
        wanted = [values]
        for k in range(6):
            wanted.append(wanted[-1] * 0.5 + float(k))

        def work(t: int, shared: list[Any] = shared, wanted: list[Any] = wanted) -> None:
            for k in (t % 7, 6, 3):
                np.testing.assert_array_equal(np.asarray(shared[k]), wanted[k])
                np.testing.assert_array_equal(np.asarray(shared[k] + 1.0), wanted[k] + 1.0)

        together(work)


def test_loops_let_other_threads_run() -> None:
    """Who computes some hundred kilobytes does not have the interpreter's lock meanwhile."""
    x = xp.asarray(np.arange(30_000.0))
    # On a busy machine the other thread may be woken only after many of them.
    pending = [xp.sqrt(x * x + float(k)) - x for k in range(10_000)]
    go, ran = threading.Event(), []

    def other() -> None:
        go.wait(20)
        ran.append(True)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(other)
        sys.setswitchinterval(100)  # nobody is made to let go
        go.set()
        while pending and not ran:
            pending.pop()[0]
        assert ran
        sys.setswitchinterval(1e-5)


PROGRAMS = {
    "arithmetic": lambda m, x, y: m.sqrt(x * x + y) / (y + 1.0) - x,
    "views": lambda m, x, y: x[::2, 1:] + y.T[1:, ::2].T,
    "reductions": lambda m, x, y: m.sum(x, axis=0) + m.max(y, axis=1) - m.mean(x * y),
    "sorts": lambda m, x, y: m.sort(x, axis=1) + m.argsort(y[0]),
    "matmul": lambda m, x, y: x @ y + 1.0,
    "where": lambda m, x, y: m.where(x > y, x, -y),
    "indices": lambda m, x, y: x[m.argsort(y[:, 0])] + m.take(y, m.asarray([3, 1]), axis=0)[0],
    "joined": lambda m, x, y: m.concat([x, y])[::3],
    "cumulative": lambda m, x, y: m.cumulative_sum(x, axis=1) - y,
    "linalg": lambda m, x, y: m.linalg.inv(x @ x.T + 50.0 * m.eye(x.shape[0])),
}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "host"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_arrays_of_their_own(program: str, mode: Any) -> None:
    run = PROGRAMS[program]

    def work(t: int) -> None:
        rng = np.random.default_rng(t)
        for n in (4, 40, 120):
            x, y = rng.random((n, n)), rng.random((n, n))
            for _ in range(2):
                got = run(xp, xp.asarray(x), xp.asarray(y))
                np.testing.assert_allclose(np.asarray(got), run(np, x, y), rtol=1e-12, atol=1e-12)

    with xp.config(mode=mode):
        together(work)


def test_writes_and_random_numbers_of_their_own() -> None:
    def work(t: int) -> np.ndarray:
        rng, theirs = xp.random.default_rng(t), np.random.default_rng(t)
        for n in (5, 500, 30_000):
            x = rng.standard_normal(n)
            wanted = theirs.standard_normal(n)
            for k in range(10):
                x[k % 5 :: 7] += x[0]
                x *= 0.5
                wanted[k % 5 :: 7] += wanted[0]
                wanted *= 0.5
            np.testing.assert_array_equal(np.asarray(x), wanted)
        return wanted

    assert len({w.tobytes() for w in together(work)}) == THREADS


def test_an_error_state_is_its_thread_s_own() -> None:
    def work(t: int) -> None:
        x = xp.asarray(np.linspace(0.0, 1.0, 700 + t))
        for k in range(20):
            if t % 2:
                with xp.errstate(divide="raise"), pytest.raises(FloatingPointError):
                    np.asarray(1.0 / x + k)
            else:
                with xp.errstate(divide="ignore"):
                    assert np.isinf(np.asarray(1.0 / x + k)[0])

    together(work)


def test_faults_are_told_in_the_thread_that_computes() -> None:
    told: dict[int, set[str]] = {}

    def show(message: Any, *args: Any, **kwargs: Any) -> None:
        told.setdefault(threading.get_ident(), set()).add(str(message))

    def work(t: int) -> tuple[int, bool]:
        x = xp.asarray(np.arange(5.0 + t) - (0.0 if t % 2 else -1.0))
        with xp.config(float_warnings=True):
            for _ in range(50):
                np.asarray(1.0 / x)
                np.asarray(xp.sum(1.0 / (x * 1.0)))
        return threading.get_ident(), bool(t % 2)

    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("always")
        patch.setattr(warnings, "showwarning", show)
        for ident, divides in together(work):
            assert bool(told.get(ident)) == divides, told


def test_a_finalizer_that_evaluates_while_others_do() -> None:
    found: list[float] = []

    class Dying:
        def __init__(self, x: Any) -> None:
            self.x = x

        def __del__(self) -> None:
            found.append(float(xp.sum(self.x + 1.0)))

    def work(t: int) -> None:
        for k in range(20):
            x = xp.asarray(np.full(600, float(k)))
            Dying(x)
            assert float(xp.max(x * 2.0 + 1.0)) == 2.0 * k + 1.0

    together(work)
    assert sorted(set(found)) == [600.0 * (k + 1) for k in range(20)]


def test_what_a_foreign_array_waits_for_can_run() -> None:
    """Elements of others are taken before the lock is."""
    x = xp.zeros(1000)

    class Slow:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            done = threading.Thread(target=lambda: float(xp.sum(xp.asarray(np.ones(1000)) * 2.0)))
            done.start()
            done.join(20)
            assert not done.is_alive()
            return np.full(1000, 3.0)

    x[:] = Slow()
    xp.copyto(x, x + Slow())
    x[x > 0] = Slow().__array__()
    assert float(x[7]) == 3.0


def test_arrays_that_die_in_other_threads() -> None:
    def work(t: int) -> list[weakref.ref[Any]]:
        made = [xp.asarray(np.arange(600.0)) * float(k) for k in range(100)]
        return [weakref.ref(x) for x in made]

    assert all(r() is None for refs in together(work) for r in refs)


def test_the_lock_is_free_afterwards() -> None:
    from nabla_array._lazy.run.claims import lock

    together(lambda t: float(xp.asarray(np.arange(700.0) + t)[3] + 1.0))
    with lock, lock:
        pass
    with pytest.raises(RuntimeError):
        lock.release()
    assert sys.getswitchinterval() < 1e-4
