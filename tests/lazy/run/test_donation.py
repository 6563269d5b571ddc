"""Writing over memory that nobody else can see, and never over any other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.native import compiled
from nabla_array._lazy.ops.indexing import gather, scatter
from nabla_array._lazy.run.evaluator import evaluate
from nabla_array._namespace.core.array import apply

from ..execution import in_blocks, in_jobs, over_dead_values

Mode = Callable[[], AbstractContextManager[None]]
modes = pytest.mark.parametrize(
    "mode", [nullcontext, in_blocks, over_dead_values], ids=["one by one", "by a plan", "over dead values"]
)
needs_compiled = pytest.mark.skipif(compiled is None, reason="blocks that Python runs take no memory")
reusing = pytest.mark.parametrize(
    "mode",
    [pytest.param(in_jobs, marks=needs_compiled), over_dead_values],
    ids=["by compiled code", "over dead values"],
)

N = 6


def fresh() -> Array:
    return xp.asarray(np.zeros(N))


def address(x: Array) -> int:
    """Where the evaluated elements are (keeps no reference)."""
    value = x._node.value
    assert value is not None
    where: int = value.__array_interface__["data"][0]
    return where


def run(*arrays: Array) -> None:
    evaluate([a._node for a in arrays])


def add_at(x: Array, index: int, value: float) -> Array:
    """`x` with `value` added at an index: done twice, it shows."""
    return apply(scatter, x, xp.asarray([value]), xp.asarray([index]), axes=(0,), batch=0, mode="add")


def by_int(x: Array) -> None:
    x[1] = 5.0


def by_slice(x: Array) -> None:
    x[1:4:2] = 5.0


def by_array(x: Array) -> None:
    x[xp.asarray([1, 3])] = 5.0


def through_a_view(x: Array) -> None:
    v = x[1:]
    v[0] = 5.0


def by_augmented_slice(x: Array) -> None:
    x[1:2] += 5.0


writes = pytest.mark.parametrize("write", [by_int, by_slice, by_array, through_a_view, by_augmented_slice])


@modes
@writes
def test_a_sole_owner_is_written_in_place(mode: Mode, write: Callable[[Array], None]) -> None:
    x = fresh()
    before = address(x)
    with mode():
        write(x)
        run(x)
    assert address(x) == before
    assert np.asarray(x)[1] == 5.0


@modes
def test_a_pending_owner_is_written_in_place(mode: Mode) -> None:
    x = xp.sort(fresh())
    with mode():
        for k in range(N):
            x[k] = float(k)
        run(x)
        before = address(x)
        x[0] = 7.0
        run(x)
    assert address(x) == before
    assert np.asarray(x).tolist() == [7.0, 1.0, 2.0, 3.0, 4.0, 5.0]


HOLDERS: dict[str, Callable[[Array], Any]] = {
    "second handle": Array.copy,
    "np.asarray": np.asarray,
    "view of the export": lambda x: np.asarray(x)[2:4],
    "DLPack": np.from_dlpack,
    "memoryview": lambda x: memoryview(np.asarray(x)),
    "iterator": lambda x: np.nditer(np.asarray(x)),
    "pending consumer": lambda x: x + 0.0,
    "pending view of a copy": lambda x: x.copy()[1:],
    "evaluated view of a copy": lambda x: _evaluated(x.copy()[1:]),
    "evaluated reshape": lambda x: _evaluated(xp.reshape(x.copy(), (2, 3))),
}


def _evaluated(x: Array) -> Array:
    run(x)
    return x


def _elements(held: Any) -> list[float]:
    if isinstance(held, np.nditer):
        return [float(v) for v in held]
    return np.asarray(held).ravel().tolist()  # type: ignore[no-any-return]


@modes
@writes
@pytest.mark.parametrize("holder", HOLDERS)
def test_what_somebody_else_sees_does_not_change(
    mode: Mode, write: Callable[[Array], None], holder: str
) -> None:
    x = fresh()
    with mode():
        held = HOLDERS[holder](x)
        write(x)
        run(x)
        assert np.asarray(x)[1] == 5.0
        assert set(_elements(held)) == {0.0}


@modes
@writes
def test_views_see_the_write(mode: Mode, write: Callable[[Array], None]) -> None:
    x = fresh()
    with mode():
        views = [x[:], x[1:], xp.reshape(x, (2, 3)), x[::-1]]
        run(*views)
        write(x)
        assert [float(v.ravel()[k]) for v, k in zip(views, (1, 0, 1, 4), strict=True)] == [5.0] * 4


@modes
def test_a_numpy_array_taken_over_is_not_written(mode: Mode) -> None:
    mine = np.zeros(N)
    x = xp.asarray(mine, copy=False)
    with mode():
        x[0] = 5.0
        run(x)
    assert mine.tolist() == [0.0] * N


@modes
def test_read_only_and_stretched_memory_is_copied(mode: Mode) -> None:
    with mode():
        for x in (xp.zeros(N), xp.broadcast_to(xp.asarray([0.0]), (N,)).copy()):
            x[0] = 5.0
            assert np.asarray(x).tolist() == [5.0] + [0.0] * (N - 1)
        assert np.asarray(xp.zeros(N)).tolist() == [0.0] * N


@modes
def test_an_input_that_the_same_evaluation_reads_later(mode: Mode) -> None:
    x = fresh()
    y = x.copy()
    with mode():
        y[0] = 5.0
        z = x + 1.0
        w = xp.sort(x)
        del x
        run(y, z, w)
    assert [float(a[0]) for a in (y, z, w)] == [5.0, 1.0, 0.0]


@modes
def test_an_input_that_the_same_evaluation_reads_as_the_value(mode: Mode) -> None:
    x = xp.asarray(np.arange(float(N)))
    with mode():
        x[1:] = x[:-1]  # NumPy's answer with overlap: the old elements
        x[::-1] = x
        assert np.asarray(x).tolist() == [4.0, 3.0, 2.0, 1.0, 0.0, 0.0]


@modes
def test_an_intermediate_read_twice(mode: Mode) -> None:
    with mode():
        s = xp.sort(fresh())
        a = add_at(s, 0, 1.0)
        b = add_at(s, 0, 10.0)
        del s
        c = a + b
        assert float(c[0]) == 11.0
        assert [float(a[0]), float(b[0])] == [1.0, 10.0]


@modes
def test_a_chain_of_writes_with_old_states_kept(mode: Mode) -> None:
    x = fresh()
    states = []
    with mode():
        for k in range(N):
            x[k] = 1.0
            states.append(x.copy())
        run(x, *states[::2])
        assert [float(xp.sum(s)) for s in states] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@modes
@pytest.mark.parametrize("alive", ["the result", "a consumer"])
def test_nothing_is_applied_twice_after_an_error(mode: Mode, alive: str) -> None:
    x = fresh()
    with mode():
        y = add_at(x, 0, 1.0)
        del x
        consumer = y * 10.0
        bad = apply(gather, y, xp.asarray([N]), axes=(0,), batch=0)
        if alive == "a consumer":
            del y
        for _ in range(2):
            with pytest.raises(IndexError, match="out of bounds"):
                run(bad)
        assert float(consumer[0]) == 10.0
        if alive == "the result":
            assert float(y[0]) == 1.0


@modes
def test_a_write_that_fails_leaves_the_elements(mode: Mode) -> None:
    x = fresh()
    with mode():
        y = apply(
            scatter,
            x,
            xp.asarray([1.0, 1.0]),
            xp.asarray([0, 1]) * N,
            axes=(0,),
            batch=0,
            mode="add",
        )
        keep = x._node.value
        del x
        with pytest.raises(IndexError):
            run(y)
        assert keep is not None
        assert keep.tolist() == [0.0] * N


@modes
def test_results_of_one_call_do_not_share(mode: Mode) -> None:
    with mode():
        a, b = xp.unstack(xp.asarray(np.zeros((2, 3))))
        run(a, b)
        a[0] = 5.0
        assert np.asarray(b).tolist() == [0.0] * 3
        c, d = xp.linalg.qr(xp.asarray(np.eye(3)))
        before = np.array(d)
        c[...] = 9.0
        np.testing.assert_array_equal(np.asarray(d), before)


def wave(x: Array, y: Array) -> Array:
    return (x + y) * x - y


@reusing
def test_a_result_takes_the_memory_of_a_dead_operand(mode: Mode) -> None:
    x, y = fresh(), xp.asarray(np.arange(float(N)))
    run(x, y)
    where = address(y)
    z = y * x
    del y
    with mode():
        run(z)
    assert address(z) == where
    assert z.tolist() == [0.0] * N


@reusing
@pytest.mark.parametrize("holder", ["handle", "copy", "view", "consumer", "export", "numpy"])
def test_a_result_takes_no_memory_that_somebody_sees(mode: Mode, holder: str) -> None:
    elements = np.arange(float(N))
    x = xp.asarray(elements, copy=False) if holder == "numpy" else xp.asarray(elements)
    held: dict[str, Callable[[Array], Any]] = {
        "handle": lambda a: a,
        "copy": lambda a: a.copy(),
        "view": lambda a: a[:],
        "consumer": lambda a: a * 1.0,
        "export": np.from_dlpack,
        "numpy": lambda a: elements,
    }
    other = held[holder](x)
    z = wave(x, x * 2.0)
    del x
    with mode():
        run(z)
    assert np.asarray(other).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert z.tolist() == [3.0 * i * i - 2.0 * i for i in range(N)]


@reusing
def test_an_operand_stays_where_an_operation_can_raise(mode: Mode) -> None:
    x = xp.asarray([2, 3])
    z = xp.pow(x + 0, xp.asarray([1, -1]) + 0) + 1
    with mode(), pytest.raises(ValueError, match="negative"):
        run(z)
    with mode(), pytest.raises(ValueError, match="negative"):
        run(z)
    assert x.tolist() == [2, 3]
