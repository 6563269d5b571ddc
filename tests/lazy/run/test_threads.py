"""Many threads on shared graphs, and processes forked from them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.run.evaluator import evaluate
from nabla_array._namespace.core.array import apply

from ..execution import in_blocks

THREADS = 8


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], object]) -> list[object]:
    """Run `work(k)` in many threads that start together; an error in any is raised."""
    barrier = threading.Barrier(THREADS)

    def one(k: int) -> object:
        barrier.wait()
        return work(k)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, range(THREADS)))


@pytest.mark.parametrize("size", [10, 50_000])
def test_one_pending_array_is_evaluated_once(size: int) -> None:
    for _ in range(20):
        x = xp.asarray(np.arange(float(size)))
        y = xp.sort(x * 2.0 + 1.0)[::-1]
        values = at_once(lambda k, y=y: float(y[0]))  # type: ignore[misc]
        assert values == [2.0 * size - 1.0] * THREADS


@pytest.mark.parametrize("size", [10, 50_000])
def test_building_and_evaluating_on_shared_graphs(size: int) -> None:
    shared = [xp.asarray(np.full(size, 1.0))]
    for _ in range(20):
        shared.append(shared[-1] + 1.0)

    def work(k: int) -> None:
        for r in range(30):
            i, j = (k * 7 + r) % 21, (k + r * 5) % 21
            mine = shared[i] * 2.0 - shared[j]
            mine[0] = -1.0
            total = xp.sum(mine[1:]) + mine[0]
            assert float(total) == (2.0 * (i + 1) - (j + 1)) * (size - 1) - 1.0
            if len(shared) < 1000:
                shared.append(shared[i] + 0.0)

    at_once(work)
    assert [float(s[0]) for s in shared[:21]] == [float(k + 1) for k in range(21)]


def test_long_chains_in_every_thread() -> None:
    start = xp.asarray([0.0])

    def work(k: int) -> float:
        x = start + float(k)
        for _ in range(3000):
            x = x + 1.0
        return float(x[0])

    assert at_once(work) == [3000.0 + k for k in range(THREADS)]


def test_errors_stay_in_their_thread() -> None:
    x = xp.asarray(np.arange(10.0)) * 1.0

    def work(k: int) -> bool:
        for r in range(50):
            i = xp.asarray([k + r % 3]) * 1
            try:
                got = float(x[i][0])
            except IndexError:
                assert k + r % 3 >= 10
            else:
                assert got == k + r % 3
        return True

    assert all(at_once(work))


def test_regions_on_threads_see_no_floating_point_warnings() -> None:
    with in_blocks(4, threads=2), np.errstate(all="raise"):
        x = xp.asarray(np.zeros(100))
        assert np.isnan(np.asarray(x / x + 0.0)).all()


def test_the_number_of_threads_can_change() -> None:
    x = xp.asarray(np.arange(1000.0))
    for threads in (1, 2, 5, 3, 2):
        with in_blocks(16, threads):
            np.testing.assert_array_equal(np.asarray(x * 2.0 + 1.0), np.arange(1000.0) * 2 + 1)


def test_every_thread_has_finished_when_an_error_is_raised() -> None:
    """What a failed evaluation read may be written by the next one."""
    running = 0

    def slow(x: np.ndarray, out: np.ndarray) -> None:
        nonlocal running
        running += 1
        if x[0] == 0:
            running -= 1
            raise ValueError("first block")
        threading.Event().wait(0.01)
        np.copyto(out, x)
        running -= 1

    prim = Primitive("slow", lambda x: x, np.copy, kind="elementwise", into=slow)
    y = apply(prim, xp.asarray(np.arange(40.0)))
    with in_blocks(4, threads=2), pytest.raises(ValueError, match=r"^slow: first block"):
        evaluate([y._node])
    assert running == 0


FORK = """
import os, sys, threading
import numpy as np
import nabla_array as xp

xp.config.threads = 2
stop = False

def busy():
    while not stop:
        x = xp.asarray(np.arange(200_000.0))
        assert float(xp.sum(x * 2.0 - x)) == 199_999.0 * 100_000.0
        assert float((xp.asarray([1.0]) + 1.0)[0]) == 2.0

threads = [threading.Thread(target=busy) for _ in range(3)]
for t in threads:
    t.start()
pending = xp.asarray(np.arange(300_000.0)) + 1.0
for k in range(20):
    pid = os.fork()
    if pid == 0:
        good = float(pending[k]) == k + 1.0 and float(xp.sum(xp.asarray([1.0, 2.0]) + 1.0)) == 5.0
        os._exit(0 if good else 1)
    _, status = os.waitpid(pid, 0)
    if status:
        stop = True
        sys.exit(f"child {k} ended with {status}")
alive = all(t.is_alive() for t in threads)
stop = True
for t in threads:
    t.join()
print("forked" if alive else "a thread failed")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_forked_during_an_evaluation_works() -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "forked\n"), done.stderr


def test_jobs_in_close_succession_are_shared_rightly() -> None:
    # Of a size that is shared only while another thread is awake; asleep, woken and awake by turns.
    x = np.random.default_rng(0).standard_normal(9_000)
    a = xp.asarray(x)
    wanted = (x * x + x) / (x * x + 1) - x
    with xp.config(mode="host", threads=2):
        for pause in (0.0, 2e-5, 5e-5, 1e-4, 1e-3):
            for _ in range(60):
                np.testing.assert_array_equal(np.asarray((a * a + a) / (a * a + 1) - a), wanted)
                time.sleep(pause)
