"""Work on blocks that threads share."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

import numpy as np
import pytest

from nabla_array._lazy.config import config
from nabla_array._lazy.cpu.faults import listener
from nabla_array._lazy.cpu.spreading import spread


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_each_block_is_worked_on_once(threads: int, in_order: bool) -> None:
    with config(threads=threads):
        found = spread(list, list(range(100)), in_order)
    every = [k for part in found for k in part]
    assert (every if in_order else sorted(every)) == [*range(100)]
    assert len(found) <= threads


def test_few_blocks_stay_here() -> None:
    here = threading.current_thread()
    with config(threads=8):
        assert spread(lambda some: threading.current_thread(), [1, 2, 3]) == [here]
        assert spread(list, []) == [[]]


@pytest.mark.parametrize("at", [0, 99])
@pytest.mark.parametrize("in_order", [True, False])
def test_an_error_is_raised_once_every_thread_is_done(at: int, in_order: bool) -> None:
    at_work: list[int] = []

    def work(some: Iterable[int]) -> None:
        at_work.append(1)
        for k in some:
            time.sleep(1e-3)
            if k == at:
                at_work.pop()
                raise ValueError(f"block {k}")
        at_work.pop()

    with config(threads=3), pytest.raises(ValueError, match=f"block {at}"):
        spread(work, list(range(100)), in_order)
    assert not at_work


def test_threads_have_the_callers_error_state_and_tell_it_their_faults() -> None:
    states = []

    def work(some: Iterable[int]) -> None:
        states.append(np.geterr()["divide"])
        if 99 in some:
            listener.heard.append(("told", 99))

    with config(threads=2), np.errstate(divide="raise"):
        before = listener.heard
        listener.heard = []
        try:
            spread(work, list(range(100)))
            heard = listener.heard
        finally:
            listener.heard = before
    assert states == ["raise"] * 2
    assert heard == [("told", 99)]
