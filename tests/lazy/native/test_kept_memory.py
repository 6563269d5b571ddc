"""The memory of results that is kept for the next ones (`native/memory.h`)."""

from __future__ import annotations

import contextvars
import ctypes
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

import nabla_array as na
from nabla_array._lazy.native import compiled

pytestmark = pytest.mark.skipif(compiled is None, reason="what is tested here was not compiled")


def _keeping(function: Callable[[], Any]) -> Any:
    context = contextvars.Context()
    context.run(compiled.keep_memory)
    return context.run(function)


def _address(x: np.ndarray) -> int:
    return int(x.__array_interface__["data"][0])


def test_the_next_result_of_that_size_has_the_memory_of_the_last() -> None:
    def again() -> bool:
        first = _address(np.ones(50_000))  # perhaps in a block, of another test's, that is a little larger
        return first == _address(np.ones(50_000))

    assert _keeping(again)


def test_kept_memory_is_cleared_for_zeros_and_grows() -> None:
    def dirty() -> tuple[bool, np.ndarray]:
        np.ones(50_000)
        zeros = np.zeros(50_000)
        grown = np.arange(50_000.0)
        grown.resize(90_000, refcheck=False)
        return not zeros.any(), grown

    are_zeros, grown = _keeping(dirty)
    assert are_zeros
    np.testing.assert_array_equal(grown[:50_000], np.arange(50_000.0))
    assert not grown[50_000:].any()


def test_more_than_is_kept_at_once_is_let_go() -> None:
    def many() -> float:
        return sum(float(x[-1]) for x in [np.full(2_000_000, k, float) for k in range(40)])

    for _ in range(3):
        assert _keeping(many) == sum(range(40))


def test_results_are_kept_and_arrays_of_users_are_not() -> None:
    x = na.asarray(np.arange(400_000.0))
    y = na.sqrt(x) + na.sort(x)
    na.eval(y)
    assert get_handler_name(y._node.value) == "nabla_array"
    assert get_handler_name(np.ones(50_000)) == "default_allocator"


def test_copies_at_borders_are_of_kept_memory() -> None:
    values = np.arange(400_000.0).reshape(500, 800)
    for given in (values, values.T, values[::2], values.astype(">f8"), values.astype(np.complex64)):
        x = na.asarray(given)
        out = np.asarray(x)
        np.testing.assert_array_equal(out, given)
        assert out.flags.writeable
        assert out.flags.owndata or not given.flags.c_contiguous
        out[:] = -1.0
        np.testing.assert_array_equal(np.asarray(x), given)
    assert get_handler_name(np.asarray(na.asarray(values))) == "nabla_array"
    assert get_handler_name(np.asarray(na.asarray(values[:50_000]))) == "nabla_array"  # by compiled code
    assert get_handler_name(np.asarray(na.asarray(values[:10]))) == "default_allocator"


def test_threads_do_not_share_a_block() -> None:
    wrong: list[int] = []

    def work(k: int) -> None:
        def fill() -> None:
            for _ in range(200):
                x = np.full(40_000, k)
                if (x != k).any():
                    wrong.append(k)

        _keeping(fill)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


LARGE = 1 << 23


class _Usage(ctypes.Structure):
    """What glibc's `mallinfo2` returns."""

    _fields_ = [(f"field{n}", ctypes.c_size_t) for n in range(10)]


def _in_use() -> int:
    """Return how many bytes the C library has given out."""
    ask = ctypes.CDLL(None).mallinfo2
    ask.restype = _Usage
    usage = ask()
    return int(usage.field4 + usage.field7)  # mapped each on its own, and in the heaps


has_glibc = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="only glibc tells")


@has_glibc
def test_large_memory_is_kept_while_schedules_run_and_then_given_back() -> None:
    before = _in_use()
    compiled.count_run(1)
    compiled.count_run(1)
    try:
        first = _keeping(lambda: _address(np.ones(LARGE)))
        assert _in_use() - before > LARGE * 7
        assert _keeping(lambda: _address(np.ones(LARGE))) == first
    finally:
        compiled.count_run(-1)
        assert _in_use() - before > LARGE * 7  # another schedule runs
        compiled.count_run(-1)
    assert _in_use() - before < LARGE


@has_glibc
def test_large_memory_that_does_not_fit_is_given_back() -> None:
    before = _in_use()
    compiled.count_run(1)
    try:
        _keeping(lambda: np.ones(LARGE) is None)
        _keeping(lambda: np.empty(2 * LARGE) is None)
        assert _in_use() - before < 17 * LARGE  # only the second is kept
    finally:
        compiled.count_run(-1)


@has_glibc
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_while_a_schedule_runs_keeps_no_large_memory() -> None:
    def kept() -> bool:
        before = _in_use()
        _keeping(lambda: np.ones(LARGE) is None)
        return _in_use() - before > LARGE

    compiled.count_run(1)
    try:
        child = os.fork()
        if not child:
            found = [kept()]
            compiled.count_run(-1)  # that run ends in the child too
            found.append(kept())
            compiled.count_run(1)
            found.append(kept())
            compiled.count_run(-1)
            os._exit(0 if found == [False, False, True] else 1)
    finally:
        compiled.count_run(-1)
    assert os.waitpid(child, 0)[1] == 0
