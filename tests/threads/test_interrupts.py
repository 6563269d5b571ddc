"""Ctrl-C at any moment: afterwards every array has its value, or is pending and comes to it."""

from __future__ import annotations

import random
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.run.claims import lock

from .together import beside

N = 300_000


def chain(m: Any, x: Any) -> list[Any]:
    """Operations each of which may write over what the last one made."""
    y = x * 2.0 + 1.0
    for k in range(4):
        y = m.sqrt(y * y + float(k)) - x
    return [y, m.sum(y), m.max(y)]


def written(m: Any, x: Any) -> list[Any]:
    """Writes that are recorded, and done in place where nobody else has the memory."""
    y = x + 0.0
    for k in range(6):
        y[k::7] = y[k::7] * 2.0 + 1.0
        y[m.asarray([k, k + 10])] = float(k)
    return [y, y[::3] + 1.0]


def added(m: Any, x: Any) -> list[Any]:
    """Additions to elements, which must not be done twice."""
    y = x + 1.0
    np.add.at(y, m.asarray([3, 3, 5]), 1.0)
    y += x
    return [y * 2.0, m.sum(y)]


def sorted_and_multiplied(m: Any, x: Any) -> list[Any]:
    a = m.reshape(x[:250_000], (500, 500)) + 1.0
    return [m.sort(a, axis=1) @ a[:, :30] + 1.0, m.cumulative_sum(a, axis=0)]


def small(m: Any, x: Any) -> list[Any]:
    y = x[:900] * 1.0
    for k in range(60):
        y = y * 0.5 + float(k)
    y += 1.0
    return [y, y[:100] * 2.0]


Program = Callable[[Any, Any], list[Any]]
PROGRAMS: list[Program] = [chain, written, added, sorted_and_multiplied, small]


def moments(work: Callable[[], object], at: int = -1) -> int:
    """Return how often the package's code lets signals come during some work; at moment `at`, one does."""
    count = 0

    def look(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal count
        if event == "c_return" and arg.__name__ == "__enter__":
            return  # a lock is taken by then; Python lets a signal come before that, or within the block
        if event in ("call", "c_return") and "nabla_array" in frame.f_code.co_filename:
            count += 1
            if count == at:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def _leaves_locks_taken() -> bool:
    """Say whether this Python may enter a `with` block and not leave it, when Ctrl-C comes (GH-148874)."""
    other = threading.Lock()
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(50):
            signal.setitimer(signal.ITIMER_REAL, 0.0005)
            try:
                while True:
                    with other:
                        pass
            except KeyboardInterrupt:
                if other.locked():
                    return True
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def interrupted(program: Program, given: np.ndarray, wanted: list[np.ndarray], times: int) -> int:
    """Interrupt evaluations at random moments, and see what comes of the arrays; returns how many it hit."""
    rng, hits = random.Random(times), 0
    counts = []
    for _ in range(5):  # the first ones plan, and any may wait for another thread
        pending = program(xp, xp.asarray(given))
        counts.append(moments(lambda pending=pending: xp.eval(*pending)))  # type: ignore[misc]
    for _ in range(times):
        pending = program(xp, xp.asarray(given))
        try:
            moments(lambda pending=pending: xp.eval(*pending), rng.randint(1, min(counts)))  # type: ignore[misc]
        except KeyboardInterrupt:
            hits += 1
        while lock._is_owned():  # or the threads of later tests would wait for ever
            assert _leaves_locks_taken()
            lock.release()
        for got, right in zip(pending, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(got), right, rtol=1e-12)
    return hits


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("mode", ["auto", "host"])
def test_values_after_an_interrupt(program: Program, mode: Any) -> None:
    given = np.random.default_rng(0).random(N)
    wanted = [
        np.asarray(w) for w in program(np if program is not sorted_and_multiplied else xp, given.copy())
    ]
    with xp.config(mode=mode):
        assert interrupted(program, given, wanted, 20) > 15


def test_values_after_an_interrupt_beside_another_thread() -> None:
    if _leaves_locks_taken():
        pytest.skip("this Python may leave locks taken after Ctrl-C: GH-148874")
    other = xp.asarray(np.arange(2000.0))
    given = np.random.default_rng(0).random(N)
    wanted = [np.asarray(w) for w in chain(np, given)]
    with beside(lambda: xp.eval(xp.sort(other * 2.0 + 1.0))):
        assert interrupted(chain, given, wanted, 20) > 10


def test_an_interrupt_while_waiting_for_another_thread() -> None:
    held, free = threading.Event(), threading.Event()
    x = xp.asarray(np.arange(300_000.0)) * 2.0 + 1.0  # pending in every mode

    def hold() -> None:
        with lock:
            held.set()
            free.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(20)
    me = threading.main_thread().ident or 0
    threading.Timer(0.1, lambda: signal.pthread_kill(me, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        xp.eval(x)
    free.set()
    thread.join()
    assert float(x[0]) == 1.0
