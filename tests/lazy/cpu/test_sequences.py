"""Schedules made ready for compiled code: where their values are, and what is not for it.

What they compute is compared with NumPy in test_row_tiling.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.cpu import sequences
from nabla_array._lazy.cpu.kernels import Unfit
from nabla_array._lazy.graph.aval import aval_of
from nabla_array._lazy.graph.program import linearize, pending_order
from nabla_array._lazy.native import compiled
from nabla_array._lazy.schedule.partition import partition
from nabla_array._lazy.schedule.steps import Schedule

pytestmark = pytest.mark.skipif(compiled is None, reason="what is tested here was not compiled")


def scheduled(function: Callable[..., Any], *arrays: np.ndarray) -> tuple[Schedule, list[np.ndarray]]:
    """Return the schedule of a function of arrays, and the arrays as its program takes them."""
    given = [xp.asarray(a) for a in arrays]
    found = function(*given)
    roots = [x._node for x in (found if isinstance(found, list) else [found])]
    line = linearize(pending_order(roots), roots)
    return partition(line.program), [np.asarray(n.value) for n in line.inputs]


def bound(function: Callable[..., Any], *arrays: np.ndarray, is_quick: bool = False) -> sequences.Bound:
    """Return a function's schedule made ready for one tile, which is all of its arrays."""
    schedule, inputs = scheduled(function, *arrays)
    outputs = [np.empty(a.shape, a.dtype) for a in map(schedule.program.aval, schedule.program.outputs)]
    return sequences.bind(schedule, inputs, outputs, is_quick)


X, W = np.arange(12.0).reshape(4, 3), np.arange(15.0).reshape(3, 5) - 7


def test_memory_is_used_again() -> None:
    workspace = sequences.Workspace(1000)
    first = workspace.take(1, aval_of((10,), np.dtype(float)))
    second = workspace.take(2, aval_of((1,), np.dtype(float)))
    assert workspace.size == 192  # each begins at a multiple of 64
    workspace.give_back(1)
    workspace.give_back(5)  # which has none
    third = workspace.take(3, aval_of((8,), np.dtype(float)))
    assert np.may_share_memory(first, third)
    assert not np.may_share_memory(second, third)
    assert workspace.size == 192
    fourth = workspace.take(4, aval_of((8,), np.dtype(float)))  # the rest of the hole
    assert np.may_share_memory(first, fourth)
    assert not np.may_share_memory(third, fourth)


def test_the_smallest_hole_that_fits_is_taken() -> None:
    workspace = sequences.Workspace(1000)
    for k, n in enumerate((32, 8, 8, 8)):
        workspace.take(k, aval_of((n,), np.dtype(float)))
    workspace.give_back(0)
    workspace.give_back(2)
    assert workspace.taken[1][0] == 256
    workspace.take(4, aval_of((4,), np.dtype(float)))
    assert workspace.taken[4][0] == 320


def test_a_layer_needs_memory_for_its_product_alone() -> None:
    found = bound(lambda x, w: xp.tanh(x @ w + 1) * 2, X, W)
    assert found.workspace == 192  # 20 numbers of 8 bytes, rounded up
    assert len(found.tellers) == 2
    assert not found.joined


def test_outputs_need_no_memory_of_a_thread() -> None:
    assert bound(lambda x, w: x @ w, X, W).workspace == 0


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: xp.sort(x @ w, axis=1),
        lambda x, w: xp.reshape(x @ w, (-1,)),
        lambda x, w: xp.astype(x, xp.int64) @ xp.astype(w, xp.int64),
    ],
    ids=["a sort", "a view that is an output", "integers"],
)
def test_what_is_not_for_compiled_code_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(Unfit):
        bound(function, X, W)


def test_a_unit_matrix_is_left_to_the_host() -> None:
    with pytest.raises(Unfit):
        bound(lambda x, w: x @ w, np.eye(100), np.ones((100, 5)))
    bound(lambda x, w: x @ w, np.ones((100, 100)), np.ones((100, 5)))


@pytest.mark.parametrize(
    ("x", "is_for_it"),
    [
        (np.ones((4, 3)), True),
        (np.ones((4, 3)).T, True),
        (np.ones((4, 6))[:, :3], True),
        (np.ones((4, 6))[:, ::2], False),
        (np.broadcast_to(np.ones((1, 3)), (4, 3)), False),
        (np.ones((4, 3))[::-1], False),
    ],
    ids=["rows", "columns", "parts of rows", "every other", "one row repeated", "backwards"],
)
def test_blas_takes_rows_and_columns(x: np.ndarray, is_for_it: bool) -> None:
    assert sequences._is_for_blas(x) == is_for_it
