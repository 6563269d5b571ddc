"""The threads of BLAS: one each while several products are computed at once, then as many as before."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.cpu import blas
from nabla_array._lazy.native import compiled

from ..execution import in_pieces


def count() -> int:
    found = blas.threads_of_blas()
    return found.get() if found else 1


def set_count(n: int) -> None:
    found = blas.threads_of_blas()
    if found:
        found.set(n)


@pytest.fixture
def before() -> Iterator[int]:
    """Let BLAS take three threads, so that one and what there was before are told apart anywhere."""
    found = count()
    set_count(3)
    yield count()
    set_count(found)


def in_threads(*functions: Callable[[], None]) -> None:
    threads = [threading.Thread(target=f) for f in functions]
    for t in threads:
        t.start()
    for t in threads:
        t.join(30)
        assert not t.is_alive()


def test_one_thread_and_then_as_many_as_before(before: int) -> None:
    assert blas.is_controlled()
    with blas.one_thread():
        assert count() == 1
        with blas.one_thread():
            assert count() == 1
        assert count() == 1
    assert count() == before


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_puts_them_back(before: int, error: type[BaseException]) -> None:
    with pytest.raises(error), blas.one_thread():
        raise error
    assert count() == before


def test_the_last_thread_to_leave_puts_them_back(before: int) -> None:
    one_is_in, both_are_in, one_has_left = threading.Event(), threading.Event(), threading.Event()
    seen = []

    def leaves_first() -> None:
        with blas.one_thread():
            one_is_in.set()
            both_are_in.wait(30)
        seen.append(count())
        one_has_left.set()

    def leaves_last() -> None:
        one_is_in.wait(30)
        with blas.one_thread():
            both_are_in.set()
            one_has_left.wait(30)
            seen.append(count())

    in_threads(leaves_first, leaves_last)
    assert seen == [1, 1]
    assert count() == before


def test_whoever_else_set_them(before: int) -> None:
    set_count(2)
    found, seen = count(), []

    def work() -> None:
        with blas.one_thread():
            seen.append(count())

    in_threads(work)
    assert seen == [1]
    assert count() == found


@pytest.mark.parametrize("in_other_thread", [False, True])
def test_what_threadpoolctl_set(before: int, in_other_thread: bool) -> None:
    """It is put back for the thread that set it, which lives on."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        found, seen = count(), []

        def work() -> None:
            with blas.one_thread():
                seen.append(count())

        if in_other_thread:
            in_threads(work)
        else:
            work()
        assert seen == [1]
        assert count() == found


def test_many_threads_come_and_go(before: int) -> None:
    wrong = []

    def work() -> None:
        for _ in range(100):
            with blas.one_thread():
                if count() != 1:
                    wrong.append(count())

    in_threads(*[work] * 8)
    assert not wrong
    assert count() == before


def test_a_library_that_cannot_be_asked_is_asked_again(before: int) -> None:
    failing = patch.object(blas, "threads_of_blas", side_effect=OSError("no library"))
    with failing, pytest.raises(OSError, match="no library"):
        blas.one_thread().__enter__()
    with blas.one_thread():
        assert count() == 1
    assert count() == before


def test_it_is_found_where_numpy_ships_openblas() -> None:
    """And what sets the threads of products is what threadpoolctl finds."""
    if np.show_config(mode="dicts")["Build Dependencies"]["blas"].get("name") != "scipy-openblas":
        pytest.skip("this NumPy was not built with the OpenBLAS of its wheels")
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with blas.one_thread():
        theirs = [x for x in threadpoolctl.threadpool_info() if "numpy" in x["filepath"]]
    assert [x["num_threads"] for x in theirs] == [1]


def test_without_its_functions_nothing_is_set(before: int) -> None:
    with patch.object(blas, "threads_of_blas", lambda: None):
        assert not blas.is_controlled()
        with blas.one_thread():
            assert not blas.is_controlled()
    assert count() == before


def test_a_library_without_them() -> None:
    """Accelerate, which takes as many threads as it likes."""
    with patch.object(blas, "_NAMES", [("no_such_get", "no_such_set")]):
        assert blas.threads_of_blas.__wrapped__() is None


SHAPES = [((0, 3), (3, 4)), ((1, 1), (1, 1)), ((3, 0), (0, 2)), ((40, 30), (30, 20)), ((2, 5, 6), (6,))]


@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_products_of_one_thread_are_products(
    before: int, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(left), rng.standard_normal(right)
    with blas.one_thread():
        for a in (x, x[::-1], np.asfortranarray(x)):
            wanted = np.einsum("...k,k...->..." if y.ndim == 1 else "ik,kj->ij", a, y)
            np.testing.assert_allclose(a @ y, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(compiled is None, reason="compiled code runs tiles")
def test_tiles_leave_them_as_they_were(before: int) -> None:
    x, w = np.linspace(-1, 1, 240).reshape(40, 6), np.eye(6)
    with in_pieces(), patch.object(blas, "one_thread", side_effect=blas.one_thread) as spy:
        np.testing.assert_allclose(np.asarray(xp.tanh(xp.asarray(x) @ xp.asarray(w) + 1.0)), np.tanh(x + 1))
    assert spy.call_count == 1
    assert count() == before


def child(work: Callable[[], Any]) -> int:
    """Run a function in a forked child, 20 seconds at most; returns how that ended, 0 where it gave True."""
    import signal

    pid = os.fork()
    if not pid:
        signal.alarm(20)
        os._exit(not work())
    return os.waitpid(pid, 0)[1]


forks = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


class TestForks:
    pytestmark = forks

    def test_a_child_has_the_threads_that_were_there_before(self, before: int) -> None:
        inside, leave = threading.Event(), threading.Event()
        ended = []

        def stays() -> None:
            with blas.one_thread():
                inside.set()
                leave.wait(30)

        def works() -> bool:
            with blas.one_thread():
                one = count() == 1
            return one and count() == before

        def forks() -> None:
            inside.wait(30)
            ended.append(child(works))
            leave.set()

        in_threads(stays, forks)
        assert ended == [0]
        assert count() == before

    def test_a_child_does_not_wait_for_a_thread_of_its_parents(self, before: int) -> None:
        stop = False

        def comes_and_goes() -> None:
            while not stop:
                with blas.one_thread():
                    pass

        def works() -> bool:
            with blas.one_thread():
                return count() == 1

        thread = threading.Thread(target=comes_and_goes)
        thread.start()
        ended = [child(works) for _ in range(10)]
        stop = True
        thread.join()
        assert ended == [0] * 10
        assert count() == before


IMPORTED = """
import os{first}, nabla_array, numpy
timeout = os.environ.get("OPENBLAS_THREAD_TIMEOUT")
print(nabla_array._lazy.cpu.blas.was_first, timeout)
"""


@pytest.mark.parametrize(
    ("first", "given", "wanted"),
    [("", {}, "True None"), (", numpy", {}, "False None"), ("", {"OPENBLAS_THREAD_TIMEOUT": "9"}, "False 9")],
)
def test_the_environment_is_as_it_was(first: str, given: dict[str, str], wanted: str) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS")} | given
    command = [sys.executable, "-c", IMPORTED.format(first=first)]
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == wanted
