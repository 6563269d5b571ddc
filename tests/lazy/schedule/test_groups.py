"""Plans: how programs are cut into fusion groups and calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.graph.program import pending_order
from nabla_array._lazy.run import tiers
from nabla_array._lazy.run.evaluator import scheduled
from nabla_array._lazy.schedule.steps import Call, Fused, Schedule

from ..execution import in_blocks


def planned(*arrays: Array) -> Schedule:
    """The schedule of pending arrays, as it would be if they were large."""
    with in_blocks():
        line = scheduled(pending_order([a._node for a in arrays]))
    assert line is not None
    return tiers.on_host(line.program)


def steps(*arrays: Array) -> list[str]:
    """The steps of the plan: a call by its name, a fusion group by its operations and what it stores."""
    made = planned(*arrays)
    base = len(made.program.inputs)

    def name(k: int) -> str:
        return made.program.eqns[k - base].prim.name

    out = []
    for step in made.steps:
        if isinstance(step, Fused):
            stored = " ".join(("+" if k in step.joined else "") + name(k) for k in step.outputs)
            out.append(f"{list(step.lead)}: {' '.join(map(name, step.eqns))} -> {stored}")
        elif isinstance(step, Call) and name(step.eqn) != "fill":
            out.append(name(step.eqn))
    return out


@pytest.fixture
def x() -> Array:
    return xp.asarray(np.arange(30.0).reshape(6, 5))


@pytest.fixture
def y() -> Array:
    return xp.asarray(np.ones((6, 5)))


def test_chain(x: Array, y: Array) -> None:
    out = ((x + y) * x - y) * (x - y) + x * y  # not inside the assert, which keeps what is in between
    assert steps(out) == ["[6, 5]: add mul sub sub mul mul add -> add"]


def softmax(x: Array) -> Array:
    e = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True)


def row_variance(x: Array) -> Array:
    d = x - xp.sum(x, axis=1, keepdims=True) / 5.0
    return xp.sum(d * d, axis=1) / 5.0


def stencil(x: Array) -> Array:
    return x[1:-1, 1:-1] * 4.0 + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]


GOLDEN: dict[Callable[[Array], Array], str] = {
    softmax: """\
program(%0: float64[6, 5]):
  %1: float64[6] = reduce_max(%0, axes=(1,))
  %2: float64[6, 1] = reshape(%1, shape=(6, 1))
  %3: float64[6, 5] = broadcast(%2, shape=(6, 5), axes=(0, 1))
  %4: float64[6, 5] = sub(%0, %3)
  %5: float64[6, 5] = exp(%4)
  %6: float64[6] = reduce_sum(%5, axes=(1,))
  %7: float64[6, 1] = reshape(%6, shape=(6, 1))
  %8: float64[6, 5] = broadcast(%7, shape=(6, 5), axes=(0, 1))
  %9: float64[6, 5] = div(%5, %8)
  return %9
Fused(eqns=(1, 2, 3, 4, 5, 6, 7, 8, 9), lead=(6,), inputs=(0,), outputs=(9,), \
joined=frozenset(), frames=()) drops [0]""",
    row_variance: """\
program(%0: float64[6, 5]):
  %1: float64[6, 1] = fill(value=5.0, shape=(6, 1))
  %2: float64[6] = fill(value=5.0, shape=(6,))
  %3: float64[6] = reduce_sum(%0, axes=(1,))
  %4: float64[6, 1] = reshape(%3, shape=(6, 1))
  %5: float64[6, 1] = div(%4, %1)
  %6: float64[6, 5] = broadcast(%5, shape=(6, 5), axes=(0, 1))
  %7: float64[6, 5] = sub(%0, %6)
  %8: float64[6, 5] = mul(%7, %7)
  %9: float64[6] = reduce_sum(%8, axes=(1,))
  %10: float64[6] = div(%9, %2)
  return %10
Call(eqn=1, inputs=()) drops []
Call(eqn=2, inputs=()) drops []
Fused(eqns=(3, 4, 5, 6, 7, 8, 9, 10), lead=(6,), inputs=(0, 1, 2), outputs=(10,), \
joined=frozenset(), frames=()) drops [0, 1, 2]""",
    stencil: """\
program(%0: float64[6, 5]):
  %1: float64[4, 3] = fill(value=4.0, shape=(4, 3))
  %2: float64[4, 3] = slice(%0, start=(1, 1), size=(4, 3), step=(1, 1))
  %3: float64[4, 3] = mul(%2, %1)
  %4: float64[4, 3] = slice(%0, start=(0, 1), size=(4, 3), step=(1, 1))
  %5: float64[4, 3] = add(%3, %4)
  %6: float64[4, 3] = slice(%0, start=(2, 1), size=(4, 3), step=(1, 1))
  %7: float64[4, 3] = add(%5, %6)
  %8: float64[4, 3] = slice(%0, start=(1, 0), size=(4, 3), step=(1, 1))
  %9: float64[4, 3] = add(%7, %8)
  %10: float64[4, 3] = slice(%0, start=(1, 2), size=(4, 3), step=(1, 1))
  %11: float64[4, 3] = add(%9, %10)
  return %11
Call(eqn=1, inputs=()) drops []
Call(eqn=2, inputs=(0,)) drops []
Call(eqn=4, inputs=(0,)) drops []
Call(eqn=6, inputs=(0,)) drops []
Call(eqn=8, inputs=(0,)) drops []
Call(eqn=10, inputs=(0,)) drops [0]
Fused(eqns=(3, 5, 7, 9, 11), lead=(4, 3), inputs=(1, 2, 4, 6, 8, 10), outputs=(11,), \
joined=frozenset(), frames=()) drops [1, 2, 4, 6, 8, 10]""",
}


@pytest.mark.parametrize("function", GOLDEN, ids=lambda f: f.__name__)
def test_golden(function: Callable[[Array], Array], x: Array) -> None:
    made = planned(function(x))
    steps = [f"{s} drops {sorted(d)}" for s, d in zip(made.steps, made.drops, strict=True)]
    assert "\n".join([str(made.program), *steps]) == GOLDEN[function]


def test_a_plan_is_kept_for_equal_programs(x: Array, y: Array) -> None:
    assert planned(softmax(x)) is planned(softmax(y))
    assert planned(x + x) is not planned(x + y)


def test_a_full_reduction_joins_blocks(x: Array, y: Array) -> None:
    total, columns = xp.sum(xp.exp(x) * y), xp.sum(x * y, axis=0)
    assert steps(total) == ["[6, 5]: exp mul reduce_sum -> +reduce_sum"]
    assert steps(columns) == ["[6]: mul reduce_sum -> +reduce_sum"]


def test_what_comes_after_a_joined_reduction_is_another_region(x: Array, y: Array) -> None:
    out = x - xp.sum(x * y, axis=0)
    assert steps(out) == [
        "[6]: mul reduce_sum -> +reduce_sum",
        "broadcast",
        "[6, 5]: sub -> sub",
    ]


def test_a_library_call_splits_regions(x: Array, y: Array) -> None:
    out = xp.exp((x + 1.0) @ (y.T * 2.0)) + 1.0
    assert steps(out) == [
        "[6, 5]: add -> add",
        "permute",
        "[5, 6]: mul -> mul",
        "matmul",
        "[6, 6]: exp add -> add",
    ]


def test_live_intermediates_are_stored_and_dead_ones_are_not(x: Array, y: Array) -> None:
    kept = x + y
    out = kept * x - y
    assert steps(out) == ["[6, 5]: add mul sub -> add sub"]
    del kept
    assert steps(out) == ["[6, 5]: add mul sub -> sub"]


def test_a_view_that_leaves_a_region_is_not_written_out(x: Array, y: Array) -> None:
    row = xp.sum(x * y, axis=1, keepdims=True) * 2.0
    spread = xp.broadcast_to(row, (6, 5))
    del row
    assert steps(spread) == ["[6]: mul reduce_sum reshape mul -> mul", "broadcast"]
    out = spread + x
    assert steps(out) == ["[6]: mul reduce_sum reshape mul broadcast add -> mul add", "broadcast"]


def test_a_reduction_alone_is_a_call(x: Array) -> None:
    assert steps(xp.sum(x, axis=1)) == ["reduce_sum"]


def test_empty_values_are_calls() -> None:
    empty = xp.asarray(np.ones((5, 0)))
    assert steps(empty * 2.0 + empty) == ["mul", "add"]


def test_different_first_axes_are_different_regions(x: Array, y: Array) -> None:
    a, b = x + y, xp.asarray(np.ones(4)) * 2.0
    assert sorted(steps(a, b)) == ["[4]: mul -> mul", "[6, 5]: add -> add"]


def test_what_has_nothing_in_common_is_apart(x: Array, y: Array) -> None:
    assert steps(x * 2.0, y + 1.0) == ["[6, 5]: mul -> mul", "[6, 5]: add -> add"]


def test_few_results_of_calls_wait_for_a_region(x: Array) -> None:
    total = x
    for k in range(9):
        total = total + xp.sort(x * float(k))
    one = ["[6, 5]: mul -> mul", "sort"]
    assert steps(total) == [
        *one * 4,
        "[6, 5]: add add add add -> add",
        *one * 4,
        "[6, 5]: add add add add -> add",
        *one,
        "[6, 5]: add -> add",
    ]


def test_float16_sums_are_not_joined() -> None:
    x = xp.asarray(np.ones((6, 5), np.float16))
    assert steps(xp.sum(x * x, axis=0)) == ["[6, 5]: mul -> mul", "reduce_sum"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
@pytest.mark.parametrize("shape", [(1_000_003,), (1 << 19,), (300, 3000), (3, 300_007), (9, 70, 1500)])
@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_a_lone_reduction_on_threads_has_numpys_bits(
    dtype: Any, shape: tuple[int, ...], threads: int
) -> None:
    x = (np.random.default_rng(0).standard_normal(shape) * 100).astype(dtype)
    x.reshape(-1)[:: x.size // 3] = -0.0
    everything: list[Any] = [None, *range(len(shape)), (-2, -1)[-len(shape) :]]
    with xp.config(threads=threads):
        for axis in everything:
            for ours, theirs in ((xp.sum, np.sum), (xp.max, np.max), (xp.min, np.min)):
                got, want = np.asarray(ours(xp.asarray(x), axis=axis)), np.asarray(theirs(x, axis=axis))  # type: ignore[operator]
                assert got.tobytes() == want.astype(got.dtype).tobytes()
