"""Trials: whose turn it is, when one is over, and what is remembered of it."""

from __future__ import annotations

import numpy as np
import pytest

from nabla_array._lazy.max import trials
from nabla_array._lazy.max.trials import Kernel, Trial

from ..canonical_host import numpy_as_max


def tried(host: list[float], on_max: list[float]) -> Trial:
    """A trial with these times, of which the tiers took turns, until it was over."""
    trial = Trial()
    times = {True: iter(host), False: iter(on_max)}
    while not trial.is_over:
        turn = trial.next_on_host
        trial.add(next(times[turn]), turn)
    return trial


def test_the_host_begins_and_they_take_turns() -> None:
    trial = Trial()
    turns = []
    for _ in range(6):
        turns.append(trial.next_on_host)
        trial.add(1.0, turns[-1])
    assert turns == [True, False] * 3
    assert trial.is_over


@pytest.mark.parametrize(
    ("host", "on_max", "runs", "ratio"),
    [
        ([1, 1, 1], [1, 1, 1], 3, 1.0),
        ([1], [5], 1, 5.0),  # one is four times as fast: enough is known
        ([5], [1], 1, 0.2),
        ([1, 9, 1], [3, 3, 3], 3, 3.0),  # one slow run decides nothing
        ([1, 1, 1], [2, 50, 2], 3, 2.0),
    ],
)
def test_medians_decide(host: list[float], on_max: list[float], runs: int, ratio: float) -> None:
    trial = tried(host, on_max)
    assert len(trial.max) == runs
    assert trial.ratio == pytest.approx(ratio)


def test_a_winner_is_remembered_for_its_size_alone() -> None:
    with numpy_as_max() as fake:
        kernel = Kernel("((), (), ())", "")
        kernel.decide(20, tried([5], [1]))
        assert kernel.faster == {20: True}
        assert fake.store.verdicts(kernel.key) == {20: True}
        assert kernel.wants(20)
        assert kernel.wants(21)  # be it to try


def test_a_loser_is_tried_again_after_long() -> None:
    with numpy_as_max():
        kernel = Kernel("((), (), ())", "")
        kernel.trials[20] = trial = tried([1, 1, 1], [2, 2, 2])
        kernel.host_seconds = 3.0
        kernel.decide(20, trial)
        assert not kernel.trials
        assert kernel.message == "not faster: 2.0 of the host's time"
        assert not kernel.wants(20)
        kernel.host_seconds += 50 * 6.0
        assert kernel.wants(20)


def test_a_liar_is_never_used_again() -> None:
    with numpy_as_max() as fake:
        kernel = Kernel("((), (), ())", "")
        kernel.state = "ready"
        kernel.distrust()
        assert kernel.status() == "host: its results differ from the host's"
        assert fake.store.failures == {kernel.key: "its results differ from the host's"}


def test_a_program_has_one_kernel_for_each_target() -> None:
    with numpy_as_max():
        key = "((), (), ())"
        one = trials.kernel(key)
        there = trials.kernel(key, "cuda:sm_90")
        assert trials.kernel(key) is one is not there is trials.kernel(key, "cuda:sm_90")
        assert {*trials.kernels()} == {one, there}
        trials.begin_anew()
        assert trials.kernels() == []
        assert trials.kernel(key) is not one


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_agree_up_to_half_of_the_digits(dtype: type) -> None:
    x = np.linspace(1, 2, 7, dtype=dtype)
    eps = float(np.finfo(dtype).eps)
    assert trials.agree(x * dtype(1 + eps**0.5 / 4), x)
    assert not trials.agree(x * dtype(1 + 4 * eps**0.5), x)
    assert not trials.agree(x[:-1], x)
    assert not trials.agree(x.astype(np.int64), x.astype(np.int32))
