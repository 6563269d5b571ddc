"""Threads that write to disjoint parts of one array, or read what others leave alone: nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp

from .together import THREADS, together

ROWS = np.arange(float(THREADS))[:, None]


def add_in_place(out: Any, t: int) -> None:
    view = out[t]
    view += t + 1.0


def multiply_into(out: Any, t: int) -> None:
    xp.multiply(xp.ones(out.shape[1]), t + 1.0, out=out[t])


def write_elements(out: Any, t: int) -> None:
    for i in range(0, out.shape[1], max(1, out.shape[1] // 50)):
        out[t, i : i + max(1, out.shape[1] // 50)] = t + 1.0


def write_through_reshaped(out: Any, t: int) -> None:
    n = out.shape[1]
    out.reshape(-1)[t * n : (t + 1) * n] = t + 1.0


def fill(out: Any, t: int) -> None:
    out[t].fill(t + 1.0)


# How a thread makes the row t of zeros t + 1, with functions that the test gives.
WAYS: dict[str, Callable[[Any, int], object]] = {
    "setitem": lambda out, t: out.__setitem__(t, t + 1.0),
    "setitem of an array": lambda out, t: out.__setitem__(t, xp.full(out.shape[1], t + 1.0)),
    "setitem of something pending": lambda out, t: out.__setitem__(
        t, xp.arange(out.shape[1]) * 0.0 + (t + 1)
    ),
    "in place": add_in_place,
    "in place by a key": lambda out, t: out.__setitem__(t, out[t] + (t + 1.0)),
    "out": multiply_into,
    "transposed": lambda out, t: out.T.__setitem__((slice(None), t), t + 1.0),
    "reversed": lambda out, t: out[::-1].__setitem__(THREADS - 1 - t, t + 1.0),
    "reshaped": write_through_reshaped,
    "an array as key": lambda out, t: out.__setitem__(xp.asarray([t]), t + 1.0),
    "a mask": lambda out, t: out.__setitem__(xp.arange(THREADS) == t, t + 1.0),
    "elements": write_elements,
    "fill": fill,
    "copyto": lambda out, t: xp.copyto(out[t], t + 1.0),
    "copyto where": lambda out, t: xp.copyto(out, t + 1.0, where=t == ROWS),
    "putmask": lambda out, t: xp.putmask(out, xp.broadcast_to(t == ROWS, out.shape), t + 1.0),
    "add.at": lambda out, t: np.add.at(out, xp.asarray([t]), t + 1.0),
}


@pytest.mark.parametrize("size", [3, 1000, 50_000])
@pytest.mark.parametrize("way", WAYS)
def test_disjoint_rows_are_all_written(way: str, size: int) -> None:
    for _ in range(8):
        out = xp.zeros((THREADS, size))
        together(lambda t, out=out: WAYS[way](out, t))  # type: ignore[misc]
        np.testing.assert_array_equal(np.asarray(out), np.broadcast_to(ROWS + 1, out.shape))


def test_views_made_before_see_all_writes() -> None:
    for _ in range(15):
        out = xp.zeros((800, 500))
        views = [out[100 * t : 100 * t + 100] for t in range(THREADS)]

        def work(t: int, views: list[Any] = views) -> None:
            views[t] += t + 1.0

        together(work)
        np.testing.assert_array_equal(np.asarray(out), np.repeat(ROWS + 1, 100, axis=0).repeat(500, axis=1))
        for t, view in enumerate(views):
            assert float(view[5, 5]) == t + 1.0


def test_columns_written_while_others_are_read() -> None:
    """What a thread has written stays as it is while the others write."""
    out = xp.zeros((200, THREADS))

    def work(t: int) -> None:
        for k in range(30):
            out[:, t] = float(k)
            assert (np.asarray(out[:, t]) == k).all()
            out[:, t] += 0.5
            assert float(out[:, t].sum()) == 200 * (k + 0.5)

    together(work)


def test_an_array_that_all_read_and_nobody_writes() -> None:
    values = np.random.default_rng(0).standard_normal((300, 400))
    shared = xp.asarray(values) * 2.0 + 1.0
    wanted = values * 2.0 + 1.0

    def work(t: int) -> None:
        for k in range(10):
            mine = shared[t::THREADS]
            mine = mine.copy() if k % 2 else mine * 1.0
            mine += 1.0
            mine[:, k] = 0.0
            right = wanted[t::THREADS] + 1.0
            right[:, k] = 0.0
            np.testing.assert_array_equal(np.asarray(mine), right)

    together(work)
    np.testing.assert_array_equal(np.asarray(shared), wanted)


def test_memory_that_was_given_away_is_written_to() -> None:
    for _ in range(10):
        out = xp.zeros((THREADS, 2000))

        def work(t: int, out: Any = out) -> None:
            np.frombuffer(out[t].data)[:] = t + 1.0

        together(work)
        np.testing.assert_array_equal(np.asarray(out), np.broadcast_to(ROWS + 1, out.shape))


def test_shapes_set_by_many() -> None:
    out = xp.arange(THREADS * 60.0)
    parts = [out[60 * t : 60 * t + 60] for t in range(THREADS)]

    def work(t: int) -> None:
        for k in range(40):
            parts[t].shape = (6, 10) if k % 2 else (60,)
            parts[t][...] = parts[t] + 1.0

    together(work)
    np.testing.assert_array_equal(np.asarray(out), np.arange(THREADS * 60.0) + 40)
