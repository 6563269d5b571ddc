"""Ctrl-C waits while memory is written over, and comes then."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nabla_array._lazy.interrupts import Uninterrupted


@pytest.fixture
def handled() -> Iterator[list[int]]:
    """Let SIGINT be noted in a list."""
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    yield came
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_while_memory_is_written_over() -> None:
    done = []

    def work() -> None:
        with Uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("times", [0, 1, 3])
def test_what_came_is_told_once_and_the_handler_is_back(handled: list[int], times: int) -> None:
    before: Callable[..., Any] | int | None = signal.getsignal(signal.SIGINT)
    with Uninterrupted():
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        assert not handled
    assert handled == [signal.SIGINT] * min(times, 1)
    assert signal.getsignal(signal.SIGINT) is before
    signal.raise_signal(signal.SIGINT)
    assert len(handled) == min(times, 1) + 1


def test_an_interrupt_within_two_waits_for_the_outer_one(handled: list[int]) -> None:
    with Uninterrupted():
        with Uninterrupted():
            signal.raise_signal(signal.SIGINT)
        assert not handled
    assert handled == [signal.SIGINT]


def test_an_error_goes_on_and_the_handler_is_back(handled: list[int]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), Uninterrupted():
        1 / 0  # noqa: B018
    assert signal.getsignal(signal.SIGINT) is before


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Uninterrupted():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_leaves_the_handler_alone(handled: list[int]) -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[Any] = []

    def work() -> None:
        with Uninterrupted():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
