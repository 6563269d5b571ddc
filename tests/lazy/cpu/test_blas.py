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


def counts() -> list[int]:
    return [library.get_num_threads() for library in blas._libraries()]


@pytest.fixture
def before() -> Iterator[list[int]]:
    """Let BLAS take three threads, so that one and what there was before are told apart anywhere."""
    found = counts()
    for library in blas._libraries():
        blas._set(library, 3)
    yield counts()
    for library, n in zip(blas._libraries(), found, strict=True):
        blas._set(library, n)


def in_threads(*functions: Callable[[], None]) -> None:
    threads = [threading.Thread(target=f) for f in functions]
    for t in threads:
        t.start()
    for t in threads:
        t.join(30)
        assert not t.is_alive()


def test_one_thread_and_then_as_many_as_before(before: list[int]) -> None:
    assert blas.is_controlled()
    with blas.one_thread():
        assert set(counts()) == {1}
        with blas.one_thread():
            assert set(counts()) == {1}
        assert set(counts()) == {1}
    assert counts() == before


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_puts_them_back(before: list[int], error: type[BaseException]) -> None:
    with pytest.raises(error), blas.one_thread():
        raise error
    assert counts() == before


def test_the_last_thread_to_leave_puts_them_back(before: list[int]) -> None:
    one_is_in, both_are_in, one_has_left = threading.Event(), threading.Event(), threading.Event()
    seen = []

    def leaves_first() -> None:
        with blas.one_thread():
            one_is_in.set()
            both_are_in.wait(30)
        seen.append(counts())
        one_has_left.set()

    def leaves_last() -> None:
        one_is_in.wait(30)
        with blas.one_thread():
            both_are_in.set()
            one_has_left.wait(30)
            seen.append(counts())

    in_threads(leaves_first, leaves_last)
    assert [set(some) for some in seen] == [{1}, {1}]
    assert counts() == before


def test_whoever_else_set_them(before: list[int]) -> None:
    """Also a thread that set them by threadpoolctl, and lives on."""
    for library in blas._libraries():
        library.set_num_threads(2)
    found, seen = counts(), []

    def work() -> None:
        with blas.one_thread():
            seen.extend(counts())

    in_threads(work)
    assert {*seen} == {1}
    assert counts() == found


def test_many_threads_come_and_go(before: list[int]) -> None:
    wrong = []

    def work() -> None:
        for _ in range(100):
            with blas.one_thread():
                if {*counts()} != {1}:
                    wrong.append(counts())

    in_threads(*[work] * 8)
    assert not wrong
    assert counts() == before


def test_a_library_that_cannot_be_asked_is_asked_again(before: list[int]) -> None:
    with patch.object(blas, "_libraries", side_effect=ImportError), pytest.raises(ImportError):
        blas.one_thread().__enter__()
    with blas.one_thread():
        assert set(counts()) == {1}
    assert counts() == before


def test_without_a_library_nothing_is_set(before: list[int]) -> None:
    with patch.object(blas, "_libraries", list):
        assert not blas.is_controlled()
        with blas.one_thread():
            pass
    assert counts() == before


def test_accelerate_is_not_controlled() -> None:
    """What threadpoolctl finds there is another library's BLAS."""
    config = {"Build Dependencies": {"blas": {"name": "accelerate"}}}
    with patch.object(np, "show_config", lambda mode: config):
        assert blas._libraries.__wrapped__() == []


SHAPES = [((0, 3), (3, 4)), ((1, 1), (1, 1)), ((3, 0), (0, 2)), ((40, 30), (30, 20)), ((2, 5, 6), (6,))]


@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_products_of_one_thread_are_products(
    before: list[int], left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(left), rng.standard_normal(right)
    with blas.one_thread():
        for a in (x, x[::-1], np.asfortranarray(x)):
            wanted = np.einsum("...k,k...->..." if y.ndim == 1 else "ik,kj->ij", a, y)
            np.testing.assert_allclose(a @ y, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(compiled is None, reason="compiled code runs tiles")
def test_tiles_leave_them_as_they_were(before: list[int]) -> None:
    x, w = np.linspace(-1, 1, 240).reshape(40, 6), np.eye(6)
    with in_pieces(), patch.object(blas, "one_thread", side_effect=blas.one_thread) as spy:
        np.testing.assert_allclose(np.asarray(xp.tanh(xp.asarray(x) @ xp.asarray(w) + 1.0)), np.tanh(x + 1))
    assert spy.call_count == 1
    assert counts() == before


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

    def test_a_child_has_the_threads_that_were_there_before(self, before: list[int]) -> None:
        inside, leave = threading.Event(), threading.Event()
        ended = []

        def stays() -> None:
            with blas.one_thread():
                inside.set()
                leave.wait(30)

        def works() -> bool:
            with blas.one_thread():
                one = {*counts()} == {1}
            return one and counts() == before

        def forks() -> None:
            inside.wait(30)
            ended.append(child(works))
            leave.set()

        in_threads(stays, forks)
        assert ended == [0]
        assert counts() == before

    def test_a_child_does_not_wait_for_a_thread_of_its_parents(self, before: list[int]) -> None:
        stop = False

        def comes_and_goes() -> None:
            while not stop:
                with blas.one_thread():
                    pass

        def works() -> bool:
            with blas.one_thread():
                return {*counts()} == {1}

        thread = threading.Thread(target=comes_and_goes)
        thread.start()
        ended = [child(works) for _ in range(10)]
        stop = True
        thread.join()
        assert ended == [0] * 10
        assert counts() == before


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
