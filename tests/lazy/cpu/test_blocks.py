"""The host tier in blocks, against NumPy on whole arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.config import config
from nabla_array._lazy.cpu import blocks
from nabla_array._lazy.graph.program import pending_order
from nabla_array._lazy.ops import reduction
from nabla_array._lazy.run import tiers
from nabla_array._lazy.run.evaluator import scheduled
from nabla_array._lazy.schedule.steps import Fused

from ..execution import assert_same, in_blocks

# Each of an array of two axes and a row of it; `np` is a namespace.
FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "chain": lambda np, x, row: (x * 2 - row) * x + np.abs(x),
    "rows summed": lambda np, x, row: np.sum(x * x + row, axis=1) * 2,
    "columns joined": lambda np, x, row: np.max(x * 2 - row, axis=0) - 1,
    "everything joined": lambda np, x, row: np.min(x * 2 - row),
    "a view inside": lambda np, x, row: np.broadcast_to(row * 2, x.shape) + x,
    "two outputs": lambda np, x, row: [x * 2 + row, np.abs(x * 2)],
    "compared": lambda np, x, row: np.where(x > row, x, row - 1),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("elements", [1, 4, 7, 1000])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_do_not_depend_on_blocks(name: str, elements: int, threads: int) -> None:
    values = np.linspace(-3, 3, 35).reshape(7, 5)
    function = FUNCTIONS[name]
    with in_blocks(elements, threads):
        x = xp.asarray(values)
        got = function(xp, x, x[2])
        found = [np.asarray(y) for y in (got if isinstance(got, list) else [got])]
    wanted = function(np, values, values[2])
    for a, b in zip(found, wanted if isinstance(wanted, list) else [wanted], strict=True):
        assert_same(a, np.asarray(b))


@pytest.mark.parametrize("elements", [1, 5, 64])
def test_sums_over_blocks_are_as_accurate_as_numpys(elements: int) -> None:
    values = np.random.default_rng(0).standard_normal((13, 11))
    with in_blocks(elements, threads=2):
        got = [
            np.asarray(y) for y in (xp.sum(xp.asarray(values) * 2), xp.sum(xp.asarray(values) * 2, axis=0))
        ]
    assert_same(got[0], np.asarray(np.sum(values * 2)), exact=False)
    assert_same(got[1], np.sum(values * 2, axis=0), exact=False)


def test_results_lie_in_memory_as_operands_do() -> None:
    values = np.asfortranarray(np.arange(600_000.0).reshape(1000, 600))
    x = xp.asarray(values)
    y = np.asarray((x * 2 + 1) * x, copy=False)
    assert y.flags.f_contiguous
    assert_same(y, (values * 2 + 1) * values)


@pytest.mark.usefixtures("_on_the_host")
def test_an_error_in_a_block_leaves_the_operands_as_they_were() -> None:
    values = np.arange(20, dtype=np.int64)
    with in_blocks(4, threads=2):
        x = xp.asarray(values)
        y = (x + 1) ** (3 - x) * 2  # a negative power of an integer
        with pytest.raises(ValueError, match=r"[Ii]ntegers to negative integer powers"):
            xp.eval(y)
        np.testing.assert_array_equal(np.asarray(x), values)


@pytest.fixture
def _on_the_host() -> Iterator[None]:
    with config(mode="host"):
        yield


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(1, 30))
def test_blocks_cover_every_element_once(lead: list[int], rows: int) -> None:
    seen = np.zeros(lead, int)
    for block in blocks._blocks((*lead,), rows):
        seen[block] += 1
        assert seen[block].size <= rows
    assert (seen == 1).all()


REDUCTIONS = {
    "sum": (reduction.reduce_sum, np.sum),
    "max": (reduction.reduce_max, np.max),
    "min": (reduction.reduce_min, np.min),
}


@settings(max_examples=30)
@given(
    st.sampled_from([*REDUCTIONS]),
    st.sampled_from(["f4", "f8", "i8"]),
    st.sampled_from([(4099,), (33, 70), (70, 33), (16, 9, 5)]),
    st.integers(0, 2),
    st.integers(1, 5),
)
def test_a_reduction_that_threads_share_has_the_bits_of_one_call(
    name: str, dtype: str, shape: tuple[int, ...], kept: int, many: int
) -> None:
    prim, numpys = REDUCTIONS[name]
    x = (np.random.default_rng(7).standard_normal(shape) * 100).astype(dtype)
    axes = tuple(range(len(shape)))[min(kept, len(shape) - 1) :]
    with config(threads=many), patch.object(blocks, "_SHARED", 1), patch.object(blocks, "_PARALLEL", 1):
        function = blocks.whole(prim, x)
        assert function is not prim.host
        assert_same(np.asarray(function(x, axes)), np.asarray(numpys(x, axis=axes)))


def test_products_of_floats_are_reduced_by_one_call() -> None:
    with patch.object(blocks, "_SHARED", 1):
        assert blocks.whole(reduction.reduce_prod, np.ones(9)) is reduction.reduce_prod.host
        assert blocks.whole(reduction.reduce_sum, np.ones((3, 3)).T[:2]) is reduction.reduce_sum.host


@pytest.mark.parametrize("in_order", [True, False])
def test_threads_share_what_is_spread(in_order: bool) -> None:
    with config(threads=3), patch.object(blocks, "_PARALLEL", 1):
        parts = blocks.spread(list, list(range(100)), in_order)
    found = [n for part in parts for n in part]
    assert (found if in_order else sorted(found)) == list(range(100))


def test_an_error_of_one_thread_is_raised_when_all_are_done() -> None:
    running: list[int] = []

    def work(some: Any) -> None:
        running.append(1)
        try:
            if 0 not in some:
                raise ArithmeticError(threading.current_thread().name)
        finally:
            running.pop()

    with (
        config(threads=4),
        patch.object(blocks, "_PARALLEL", 1),
        pytest.raises(ArithmeticError, match="nabla_array_"),
    ):
        blocks.spread(work, list(range(8)))
    assert not running


def test_only_memory_of_its_own_is_written_to() -> None:
    x = np.arange(6.0)
    assert blocks.can_write(x)
    assert not blocks.can_write(x[1:])
    x.flags.writeable = False
    assert not blocks.can_write(x)


def test_a_host_rules_result_is_arrays() -> None:
    x = np.ones(2)
    assert blocks.as_value(x) is x
    assert type(blocks.as_value(np.float64(2))) is np.ndarray
    assert [type(y) for y in blocks.as_value((np.int64(1), x))] == [np.ndarray, np.ndarray]


def test_the_number_of_blocks_is_told() -> None:
    x = xp.asarray(np.arange(40.0))
    with in_blocks(4, threads=3):
        y = (x + 1) * x
        line = scheduled(pending_order([y._node]))
        assert line is not None
        schedule = tiers.on_host(line.program)
        (step,) = [s for s in schedule.steps if isinstance(s, Fused)]
        assert blocks.blocks_and_threads(schedule.program, step) == (10, 3)
