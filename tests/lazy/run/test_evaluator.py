"""Evaluation: what is run, how often, what is kept, and what an error says."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import tracemalloc
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.graph.node import LIMIT, Node, record
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.ops.structure import project
from nabla_array._lazy.run.evaluator import evaluate, value_of
from nabla_array._namespace.core.array import apply

from ..execution import in_blocks

Mode = Callable[[], AbstractContextManager[None]]

# One by one, as small values are, and by a plan, as large ones are.
modes = pytest.mark.parametrize("mode", [nullcontext, in_blocks], ids=["one by one", "by a plan"])


class Counter:
    """A primitive that doubles, and counts how often."""

    def __init__(self) -> None:
        self.calls = 0
        self.prim = Primitive("doubled", lambda x: x, self._double)

    def _double(self, x: np.ndarray) -> np.ndarray:
        self.calls += 1
        return x * 2

    def __call__(self, x: Array) -> Array:
        return apply(self.prim, x)


@pytest.fixture
def doubled() -> Counter:
    return Counter()


@pytest.fixture
def x() -> Array:
    return xp.asarray([1.0, 2.0, 3.0])


@modes
def test_nothing_runs_until_a_value_is_needed(mode: Mode, doubled: Counter, x: Array) -> None:
    with mode():
        y = doubled(x) + 1.0
        assert doubled.calls == 0
        assert np.asarray(y).tolist() == [3.0, 5.0, 7.0]
        assert doubled.calls == 1
        assert (str(y), float(y[0]), doubled.calls) == ("[3. 5. 7.]", 3.0, 1)


@modes
def test_shared_dead_intermediates_run_once(mode: Mode, doubled: Counter, x: Array) -> None:
    with mode():
        d = doubled(x)
        y = d * d + d
        dead = weakref.ref(d._node)
        del d
        assert np.asarray(y).tolist() == [6.0, 20.0, 42.0]
        assert doubled.calls == 1
        assert dead() is None


@modes
def test_live_intermediates_keep_their_values(mode: Mode, doubled: Counter, x: Array) -> None:
    with mode():
        d = doubled(x)
        y = d + 1.0
        evaluate([y._node])
        assert d._node.value is not None
        assert d._node.inputs == ()
        z = d - 1.0
        assert np.asarray(z).tolist() == [1.0, 3.0, 5.0]
        assert doubled.calls == 1


@modes
def test_an_intermediate_of_another_pending_array_is_alive(mode: Mode, doubled: Counter, x: Array) -> None:
    with mode():
        d = doubled(x)
        y, z = d + 1.0, d - 1.0
        del d
        evaluate([y._node])
        assert np.asarray(z).tolist() == [1.0, 3.0, 5.0]
        assert doubled.calls == 1


@modes
def test_several_roots_share_one_evaluation(mode: Mode, doubled: Counter, x: Array) -> None:
    with mode():
        d = doubled(x)
        nodes = [(d + 1.0)._node, d._node, (d * d)._node]
        evaluate(nodes)
        assert [n.value[0] for n in nodes] == [3.0, 2.0, 4.0]
        assert doubled.calls == 1


@modes
def test_inputs_are_dropped(mode: Mode) -> None:
    x = xp.asarray([1.0, 2.0, 3.0])
    with mode():
        gone = weakref.ref(x._node)
        y = x + 1.0
        evaluate([y._node])
        del x
        assert gone() is None
        assert y._node.depth == 0


def test_blocked_chain_takes_no_memory_for_intermediates() -> None:
    n = 1 << 20
    x, y = xp.asarray(np.ones(n)), xp.asarray(np.full(n, 2.0))
    with xp.config(threads=1):
        z = ((x + y) * x - y) * (x - y) + x * y
        tracemalloc.start()
        evaluate([z._node])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1.5 * n * 8
    assert (np.asarray(z) == 1.0).all()


def test_whole_calls_free_what_is_dead() -> None:
    n = 1 << 18
    x = xp.asarray(np.arange(float(n)))
    for _ in range(8):
        x = xp.flip(xp.sort(x)) + 1.0
    tracemalloc.start()
    evaluate([x._node])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * n * 8


def test_a_sum_of_library_calls_frees_them_on_the_way() -> None:
    n = 1 << 18
    x = total = xp.asarray(np.ones(n))
    for k in range(20):
        total = total + xp.sort(x * float(k))
    tracemalloc.start()
    evaluate([total._node])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * n * 8


def _chain(steps: int, size: int) -> tuple[Array, int]:
    """Add 1 many times; returns the array and the largest number of nodes alive at any look."""
    x = xp.asarray(np.zeros(size))
    most = 0
    for k in range(steps):
        x = x + 1.0
        assert x._node.depth <= LIMIT
        if k % 4999 == 0:
            most = max(most, sum(type(o) is Node for o in gc.get_objects()))
    return x, most


@pytest.mark.slow
def test_long_chains_bound_themselves() -> None:
    before = sum(type(o) is Node for o in gc.get_objects())
    x, most = _chain(100_000, 10)
    assert most - before < 2 * LIMIT
    assert np.asarray(x).tolist() == [100_000.0] * 10


def test_20000_chained_adds_that_all_stay_alive() -> None:
    x = xp.asarray([0.0])
    alive = [x]
    for _ in range(20_000):
        alive.append(alive[-1] + 1.0)
    assert alive[-1].item() == 20_000.0
    assert alive[777].item() == 777.0
    del alive


def test_long_chains_of_large_arrays() -> None:
    x, _ = _chain(500, 1 << 15)
    assert (np.asarray(x) == 500.0).all()


def test_a_wide_and_deep_graph_does_not_recurse() -> None:
    x = y = xp.asarray([1.0])
    for _ in range(3000):  # shared twice at every step: paths double, nodes do not
        x, y = x + y, x - y
        x, y = x * 0.5, y * 0.5
    assert np.isfinite(x.item())


def test_a_large_value_above_a_relieved_chain_is_planned() -> None:
    x = xp.asarray(np.zeros(1 << 15))
    for _ in range(LIMIT):
        x = x + 1.0
        assert x._node.value is not None or x._node.depth >= x._node.aval.weight


# -- errors -------------------------------------------------------------------------------------------


def here() -> str:
    """The caller's file and line."""
    frame = inspect.stack()[1]
    return f"{frame.filename}:{frame.lineno}"


@modes
def test_a_lazy_index_out_of_bounds_names_the_users_line(mode: Mode, x: Array) -> None:
    with mode():
        i = xp.asarray([0, 1]) * 5
        y, line = x[i], here()
        z = y + 1.0
        for _ in range(2):  # it fails again, the same way
            with pytest.raises(IndexError) as caught:
                np.asarray(z)
            assert f"getitem (called at {line})" in str(caught.value)
            assert "index 5 is out of bounds" in str(caught.value)


@modes
def test_a_lazy_assignment_out_of_bounds_names_the_users_line(mode: Mode, x: Array) -> None:
    with mode():
        i = xp.asarray([0, 1]) * -5
        x[i], line = 7.0, here()
        with pytest.raises(IndexError) as caught:
            str(x)
        assert f"setitem (called at {line})" in str(caught.value)


@modes
def test_what_does_not_depend_on_the_error_still_has_values(mode: Mode, doubled: Counter, x: Array) -> None:
    with mode():
        d = doubled(x)
        i = xp.asarray([0, 1]) * 5
        bad = d[i] + 1.0
        with pytest.raises(IndexError):
            evaluate([bad._node])
        assert np.asarray(d + 1.0).tolist() == [3.0, 5.0, 7.0]
        assert doubled.calls == 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("where", [0, 99])
def test_an_error_in_a_block_names_its_operation(threads: int, where: int) -> None:
    exponents = np.ones(100, int)
    exponents[where] = -1
    with in_blocks(4, threads):
        x = xp.asarray(exponents)
        y = (x + 0) ** (x * 1) - 3
        with pytest.raises(ValueError, match=r"^pow: Integers to negative integer powers"):
            evaluate([y._node])
        assert np.asarray(x + 1)[where] == 0


@modes
def test_linalg_errors_keep_their_type(mode: Mode) -> None:
    with mode():
        broken = xp.linalg.svdvals(xp.full((2, 2), np.nan))
        with pytest.raises(np.linalg.LinAlgError, match=r"^svdvals .*: SVD did not converge"):
            np.asarray(broken)


@modes
def test_no_floating_point_warnings(mode: Mode) -> None:
    with mode(), np.errstate(all="raise"):
        x = xp.asarray([0.0, -1.0, 1e308])
        assert np.isnan(np.asarray(xp.log(x) * 0.0 + xp.sqrt(x) + x * 1e10)).any()


# -- copies -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, Array.copy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_their_own(copied: Callable[[Array], Array], x: Array) -> None:
    for original in (x, x + 1.0, x[1:], x.T, xp.asarray(2.0), xp.asarray(np.ones((0, 3), np.complex64))):
        before = np.array(original)
        y = copied(original)
        assert type(y) is Array
        assert y.dtype == original.dtype
        np.testing.assert_array_equal(np.asarray(y), before)
        y[...] = 7.0
        np.testing.assert_array_equal(np.asarray(original), before)


def test_pickling_is_by_value(doubled: Counter, x: Array) -> None:
    y = doubled(x)
    blob = pickle.dumps([y, y])
    assert doubled.calls == 1
    one, other = pickle.loads(blob)
    assert one is other
    assert np.asarray(one).tolist() == [2.0, 4.0, 6.0]


def test_deepcopy_of_containers(x: Array) -> None:
    tree = {"a": [x, x[1:]], "b": x + 1.0}
    twin = copy.deepcopy(tree)
    twin["a"][0][0] = 9.0
    assert np.asarray(x).tolist() == [1.0, 2.0, 3.0]


# -- several results ----------------------------------------------------------------------------------


@modes
def test_several_results_come_of_one_call(mode: Mode) -> None:
    calls = 0

    def both(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nonlocal calls
        calls += 1
        return x + 1, x[:0]

    prim = Primitive("both", lambda x: (x, xp.asarray(np.ones(0))._node.aval), both)
    from_one = record(prim, ((xp.asarray([1.0, 2.0]) * 1.0)._node,))
    with mode():
        parts = [record(project, (from_one,), {"index": i}) for i in range(2)]
        del from_one
        assert [value_of(p).tolist() for p in parts] == [[2.0, 3.0], []]
        assert calls == 1


def test_a_finalizer_may_evaluate_during_an_evaluation() -> None:
    seen = []

    class Last(np.ndarray):
        def __del__(self) -> None:
            seen.append(float(xp.asarray(1.0) + 1.0))

    x = xp.asarray(np.ones(3))
    x._node.value = np.ones(3).view(Last)
    y = (x + 1.0) * 2.0
    del x
    assert y.tolist() == [4.0] * 3
    assert set(seen) == {2.0}
