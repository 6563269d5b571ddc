"""Batch levels: values aligned by the ids of their levels, and which levels are in force."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from nabla_array._lazy.graph.node import leaf
from nabla_array._lazy.ops.elementwise import add, sub
from nabla_array._lazy.ops.linalg import eigh
from nabla_array._lazy.ops.reduction import reduce_sum
from nabla_array._lazy.ops.structure import project
from nabla_array._lazy.rules.levels import (
    Frame,
    align,
    align_to_force,
    bind,
    frames,
    in_force,
    is_seeing,
    merge,
    new_level,
    only,
    seeing_levels,
)
from nabla_array._lazy.run.evaluator import value_of

from ..execution import assert_same
from ..registry import random


@pytest.fixture
def two() -> tuple[Frame, Frame]:
    """Return two frames that run: of 2 examples, and inside of 3."""
    outer, inner = Frame(new_level(), 2), Frame(new_level(), 3)
    return outer, inner


def test_levels_are_ids_newest_first() -> None:
    older, newer = new_level(), new_level()
    assert newer > older
    assert merge([(older,), (newer,), (), (newer, older)]) == (newer, older)
    assert merge([]) == ()


def test_values_of_different_levels_do_not_share_an_axis() -> None:
    """A counter would take the outer level of one for the inner level of the other."""
    x, y = random("d", 3, 4), random("d", 2, 4, seed=1)
    node, levels = bind(sub, [(leaf(x), (7,)), (leaf(y), (5,))])
    assert levels == (7, 5)
    assert_same(value_of(node), x[:, None] - y)
    node, levels = bind(sub, [(leaf(y), (5,)), (leaf(x), (7,))])
    assert levels == (7, 5)
    assert_same(value_of(node), y - x[:, None])


def test_params_move_once_a_level() -> None:
    x = random("d", 2, 3, 4, 5)
    node, levels = bind(reduce_sum, [(leaf(x), (9, 2))], {"axes": (0,)})
    assert node.params["axes"] == (2,)
    np.testing.assert_allclose(value_of(node), x.sum(2))
    assert levels == (9, 2)


def test_results_that_are_taken_apart_keep_their_levels() -> None:
    node, levels = bind(eigh, [(leaf(np.stack([np.eye(3)] * 2)), (4,))], {"uplo": "L"})
    part, found = bind(project, [(node, levels)], {"index": 0})
    assert (part.aval.shape, found) == ((2, 3), (4,))


def test_equal_levels_stay_one_object() -> None:
    """Fast paths tell them by identity."""
    mine, same = (8, 6), tuple([8, 6])
    assert bind(add, [(leaf(np.ones((2, 3))), mine), (leaf(np.ones((2, 3))), same)])[1] is mine
    wide = (8, 6)
    assert bind(add, [(leaf(np.ones(2)), (8,)), (leaf(np.ones((2, 3))), wide)])[1] is wide


def test_aligning_adds_what_is_missing_in_its_place() -> None:
    x = random("d", 3, 4)
    sizes = {9: 2, 5: 3, 1: 5}
    got = align(leaf(x), (5,), (9, 5, 1), sizes)
    assert_same(value_of(got), np.broadcast_to(x[None, :, None], (2, 3, 5, 4)))
    node = leaf(x)
    assert align(node, (5,), (5,), sizes) is node


def test_the_frames_of_a_thread_are_in_force(two: tuple[Frame, Frame]) -> None:
    outer, inner = two
    assert in_force() == ()
    frames().extend(two)
    try:
        assert in_force() == (inner.level, outer.level)
        node, levels = align_to_force(leaf(np.ones((2, 4))), (outer.level,))
        assert (node.aval.shape, levels) == ((3, 2, 4), in_force())
        older = 0  # of a vmap that is over, or of another thread's
        node, levels = align_to_force(leaf(np.ones((7, 4))), (older,))
        assert (node.aval.shape, levels) == ((3, 2, 7, 4), (*in_force(), older))
        with only((inner.level,)):
            assert in_force() == (inner.level,)
        found: list[object] = []
        thread = threading.Thread(target=lambda: found.append(in_force()))
        thread.start()
        thread.join()
        assert found == [()]
        assert in_force() == (inner.level, outer.level)
    finally:
        frames().clear()


def test_operands_along_levels_are_seen_by_every_watcher() -> None:
    x, y = leaf(np.ones((2, 3))), leaf(np.ones(3))
    assert not is_seeing()
    with seeing_levels() as outer:
        bind(add, [(y, ()), (y, ())])  # along none
        with seeing_levels() as inner:
            node, _ = bind(add, [(x, (4,)), (y, ())])
        assert is_seeing()
    assert not is_seeing()
    assert inner == outer
    assert inner[id(x)] == (x, (4,))
    assert inner[id(y)] == (y, ())
    widened = node.inputs[1]
    assert inner[id(widened)] == (widened, (4,))
