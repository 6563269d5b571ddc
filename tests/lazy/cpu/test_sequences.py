"""Schedules that compiled code runs as a whole: where values are, and what comes out, against NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nabla_array._lazy.cpu.kernels import Unfit
from nabla_array._lazy.cpu.sequences import (
    ALIGNED,
    FIXED,
    THREAD,
    Binder,
    Bound,
    Workspace,
    _is_for_blas,
    bind,
    copy_op,
)
from nabla_array._lazy.graph.aval import aval_of
from nabla_array._lazy.graph.program import Program
from nabla_array._lazy.native import compiled
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops import structure
from nabla_array._lazy.ops.contraction import matmul
from nabla_array._lazy.ops.creation import Literal, fill
from nabla_array._lazy.ops.ordering import sort
from nabla_array._lazy.ops.reduction import reduce_max, reduce_sum
from nabla_array._lazy.schedule.partition import partition

from ..execution import assert_same
from ..run.test_random_graphs import leaves
from .test_blocks import Steps, as_numpy, of_shape, program_of
from .test_loops import INSTRUCTIONS
from .test_loops import program_of as random_program

# -- the memory of a thread --------------------------------------------------------------------------------

AVALS = [
    aval_of(shape, np.dtype(d)) for shape in ((), (0,), (1,), (3, 5), (64,), (100,)) for d in ("f8", "i1")
]


@given(st.lists(st.tuples(st.sampled_from(AVALS), st.booleans(), st.integers(0, 9)), max_size=30))
def test_values_that_live_at_once_lie_apart(wanted: list[tuple[Any, bool, int]]) -> None:
    workspace = Workspace(sum(a.nbytes + ALIGNED for a, _, _ in wanted))
    start = workspace.memory.ctypes.data
    live: dict[int, np.ndarray] = {}
    seen = np.zeros(workspace.memory.size, bool)
    for k, (aval, is_new, dies) in enumerate(wanted):
        x = live[k] = workspace.take(k, aval, is_new)
        at = x.ctypes.data - start
        assert (x.shape, x.dtype, at % ALIGNED) == (aval.shape, aval.dtype, 0)
        assert at + x.nbytes <= workspace.size <= workspace.memory.size
        assert not (is_new and seen[at : at + x.nbytes].any())
        seen[at : at + max(x.nbytes, 1)] = True
        x[...] = k
        for j in [*live]:
            assert (live[j] == np.array(j).astype(live[j].dtype)).all()
            if j % 10 == dies:
                workspace.give_back(j)
                del live[j]
        workspace.give_back(k + 1000)  # has no memory here


def test_memory_is_given_again_where_it_fits_best() -> None:
    workspace = Workspace(10_000)
    of = {k: workspace.take(k, aval_of((n,), np.dtype("u1"))) for k, n in enumerate((640, 128, 256))}
    size = workspace.size
    for k in of:
        workspace.give_back(k)
    for k, n, where in ((10, 200, of[2]), (11, 128, of[1]), (12, 64, of[0]), (13, 576, of[0])):
        x = workspace.take(k, aval_of((n,), np.dtype("u1")))
        assert np.may_share_memory(x, where)
    assert workspace.size == size
    workspace.take(14, aval_of((1,), np.dtype("u1")))
    assert workspace.size == size + ALIGNED


# -- sequences ---------------------------------------------------------------------------------------------

needs_compiled = pytest.mark.skipif(compiled is None, reason="compiled code runs sequences")


def ran(bound: Bound, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> Any:
    """Run a sequence once, over one tile; returns the faults."""
    steps = (0,) * (1 + len(inputs) + len(outputs))
    arrays = (None, *inputs, *outputs)
    return compiled.run_sequence(bound.sequence, bound.sequence, arrays, steps, bound.workspace, 1, 1)


def check(program: Program, inputs: list[np.ndarray], exact: bool = True) -> Bound:
    """Compare what a sequence gives, for two sets of inputs, with the host's rules."""
    avals = [program.aval(k) for k in program.outputs]

    def empty() -> list[np.ndarray]:
        return [np.empty(a.shape, a.dtype) for a in avals]

    bound = bind(partition(program), inputs, empty(), False)
    others = [_like(x) for x in inputs]
    for ins in (inputs, others, inputs):
        before = [x.copy() for x in ins]
        with np.errstate(all="ignore"):
            wanted = as_numpy(program, ins)
            outputs = empty()
            ran(bound, ins, outputs)
        for k, x in zip(program.outputs, outputs, strict=True):
            assert_same(x, wanted[k], exact)
        for x, y in zip(ins, before, strict=True):
            assert_same(x, y)
    return bound


def _like(x: np.ndarray) -> np.ndarray:
    """Return an array that lies in memory as another does, of other numbers."""
    base = x if x.base is None else x.base
    assert isinstance(base, np.ndarray)
    memory = np.empty(base.nbytes, np.uint8)
    start = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    if not 0 <= start < max(base.nbytes, 1):  # a base that is reversed itself
        return x.copy() if x.flags.c_contiguous else x
    y = np.ndarray(x.shape, x.dtype, memory, start, x.strides)
    with np.errstate(all="ignore"):
        y[...] = (x * 3 + x).astype(x.dtype)
    return y


X, Y = (np.nan_to_num(x, posinf=2.0) for x in of_shape((6, 5)))
W = np.linspace(-1, 1, 20).reshape(5, 4)
TWO = (fill, (), {"value": Literal(np.float64(2)), "shape": (6, 5)})
PROGRAMS: dict[str, tuple[list[np.ndarray], Steps, tuple[int, ...]]] = {
    "a chain": ([X, Y], [(e.exp, (0,), {}), (e.mul, (2, 1), {}), (e.neg, (3,), {})], (4,)),
    "several outputs": ([X, Y], [(e.exp, (0,), {}), (e.mul, (2, 1), {}), (e.neg, (3,), {})], (2, 4)),
    "a number": ([X], [TWO, (e.mul, (0, 1), {}), (e.add, (2, 1), {})], (3,)),
    "a product": ([X, W], [(matmul, (0, 1), {})], (2,)),
    "a layer": ([X, W], [(e.sin, (0,), {}), (matmul, (2, 1), {}), (e.tanh, (3,), {})], (4,)),
    "two products": (
        [X, W],
        [
            (matmul, (0, 1), {}),
            (structure.permute, (1,), {"axes": (1, 0)}),
            (matmul, (2, 3), {}),
            (e.add, (4, 0), {}),
        ],
        (2, 5),
    ),
    "rows reduced": (
        [X, Y],
        [
            (e.mul, (0, 1), {}),
            (reduce_sum, (2,), {"axes": (1,)}),
            (structure.reshape, (3,), {"shape": (6, 1)}),
            (structure.broadcast, (4,), {"shape": (6, 5), "axes": (0, 1)}),
            (e.sub, (0, 5), {}),
        ],
        (3, 6),
    ),
    "a reduction alone": ([X], [(reduce_max, (0,), {"axes": (1,)})], (1,)),
    "a view that outlives what it looks at": (
        [X, W],
        [
            (matmul, (0, 1), {}),
            (structure.permute, (2,), {"axes": (1, 0)}),
            (e.cos, (0,), {}),
            (matmul, (4, 1), {}),
            (matmul, (3, 5), {}),
        ],
        (6,),
    ),
    "a view between products": (
        [X, W],
        [
            (matmul, (0, 1), {}),
            (structure.slice_, (2,), {"start": (2, 0), "size": (4, 4), "step": (1, 1)}),
            (matmul, (3, 3), {}),
        ],
        (2, 4),
    ),
}


@needs_compiled
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_comes_out_is_the_hosts(name: str) -> None:
    inputs, steps, outputs = PROGRAMS[name]
    check(program_of(inputs, steps, outputs), inputs, exact="product" not in name)


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "columns first": np.asfortranarray,
    "every second": lambda x: np.repeat(x, 2, 0)[::2],
    "upside down": lambda x: x[::-1],
    "one row": lambda x: x[:1],
    "no rows": lambda x: x[:0],
}
LEFT_TO_THE_HOST = {
    *[(name, "no rows") for name in ("a chain", "a layer", "a reduction alone")],
    ("a reduction alone", "one row"),
}


@needs_compiled
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["a chain", "a layer", "a reduction alone"])
def test_however_the_inputs_lie_in_memory(name: str, layout: str) -> None:
    inputs, steps, outputs = PROGRAMS[name]
    inputs = [LAYOUTS[layout](x) if x.shape == X.shape else x for x in inputs]
    program = program_of(inputs, steps, outputs)
    if (name, layout) in LEFT_TO_THE_HOST:
        with pytest.raises(Unfit):
            check(program, inputs)
    else:
        check(program, inputs, exact=name != "a layer")


@needs_compiled
@settings(max_examples=200)
@given(leaves(), INSTRUCTIONS, st.sets(st.integers(0, 24)))
def test_random_programs(inputs: list[np.ndarray], instructions: list[Any], kept: set[int]) -> None:
    program = random_program(inputs, instructions)
    base = len(program.inputs)
    made = [k for k in dict.fromkeys(program.outputs) if k >= base]
    outputs = [k for n, k in enumerate(made) if n in kept] or made[-1:]
    if outputs:
        with suppress(Unfit):  # one in five fits
            check(Program(program.inputs, program.eqns, tuple(outputs)), inputs)


UNFIT: dict[str, tuple[list[np.ndarray], Steps, tuple[int, ...]]] = {
    "a sort": (
        [X],
        [(sort, (0,), {"axis": 1, "descending": False, "stable": True}), (e.exp, (1,), {})],
        (2,),
    ),
    "a view as a result": ([X], [(e.exp, (0,), {}), (structure.permute, (1,), {"axes": (1, 0)})], (2,)),
    "objects of odd strides in a product": (
        [np.zeros((6, 10))[:, ::2], np.zeros((5, 8))[:, ::2]],
        [(matmul, (0, 1), {})],
        (2,),
    ),
    "a sum of nothing": ([np.ones((2, 0))], [(reduce_sum, (0,), {"axes": (1,)})], (1,)),
    "what can raise": ([np.ones((6, 5), int)] * 2, [(e.pow_, (0, 1), {}), (e.add, (2, 0), {})], (3,)),
    "a unit matrix, which the host does not multiply by": (
        [np.eye(70), np.ones((70, 3))],
        [(matmul, (0, 1), {})],
        (2,),
    ),
}


@needs_compiled
@pytest.mark.parametrize("name", UNFIT)
def test_what_is_unfit(name: str) -> None:
    inputs, steps, outputs = UNFIT[name]
    program = program_of(inputs, steps, outputs)
    outs = [np.empty(program.aval(k).shape, program.aval(k).dtype) for k in outputs]
    with pytest.raises(Unfit):
        bind(partition(program), inputs, outs, False)


@needs_compiled
def test_a_result_that_numpy_would_leave_holes_in_is_unfit() -> None:
    program = program_of([X], [(e.exp, (0,), {}), (e.isnan, (1,), {})], (2,))
    bind(partition(program), [X], [np.empty((6, 5), bool)], False)
    with pytest.raises(Unfit):
        bind(partition(program), [X], [np.empty((6, 10), bool)[:, ::2]], False)


@needs_compiled
def test_results_over_the_rows_are_left_in_parts() -> None:
    program = program_of(
        [X, W], [(matmul, (0, 1), {}), (e.square, (2,), {}), (reduce_sum, (3,), {"axes": (0,)})], (3, 4)
    )
    square = np.empty((6, 4))
    bound = bind(partition(program), [X, W], [square, None], False)
    ((k, (units, length)),) = bound.joined.items()
    assert (k, length) == (4, 4)
    parts = np.full((units, length), np.nan)
    ran(bound, [X, W], [square, parts])
    np.testing.assert_allclose(square, (X @ W) ** 2, rtol=1e-13)
    np.testing.assert_allclose(parts.sum(axis=0), square.sum(axis=0), rtol=1e-13)


@needs_compiled
def test_what_is_joined_within_a_tile_is_unknown_to_its_next_steps() -> None:
    steps: Steps = [
        (e.exp, (0,), {}),
        (reduce_sum, (1,), {"axes": (0,)}),
        (e.neg, (2,), {}),
    ]
    program = program_of([X], steps, (3,))
    with pytest.raises(Unfit):
        bind(partition(program), [X], [np.empty(5)], False)


@needs_compiled
def test_floating_point_errors_are_told_by_the_operation() -> None:
    x, w = np.ones((6, 5)), W * 1e300
    x[0, 0] = 0.0
    steps: Steps = [(e.log, (0,), {}), (e.exp, (2,), {}), (matmul, (3, 1), {})]
    x[1:] = 1e9
    program = program_of([x, w], steps, (2, 4))
    outs = [np.empty((6, 5)), np.empty((6, 4))]
    with np.errstate(all="ignore"):
        bound = bind(partition(program), [x, w], outs, False)
        faults = ran(bound, [x, w], outs)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for op, step, bits in faults:
            bound.tellers[op](step, bits)
    told = {str(w.message) for w in caught}
    assert "divide by zero encountered in log" in told
    assert "overflow encountered in matmul" in told
    assert not any("exp" in t for t in told)
    op, step, bits = faults[0]
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="in log"):
        bound.tellers[op](step, bits)
    with np.errstate(all="ignore"):
        assert ran(bound, [np.ones((6, 5)), W], outs) == []


@needs_compiled
def test_dead_values_leave_their_memory_to_others() -> None:
    n = 20
    steps: Steps = [(matmul, (0, 0), {})]
    steps += [(matmul, (k, 0), {}) for k in range(1, n)]
    x = np.eye(32) * 0.5
    bound = check(program_of([x], steps), [x], exact=False)
    assert bound.workspace <= 3 * x.nbytes


@needs_compiled
def test_outputs_need_no_memory_of_a_thread() -> None:
    """And a layer needs it for its product alone."""
    for name, workspace in (("a product", 0), ("a chain", 0), ("a layer", 256 + 192)):
        inputs, steps, outputs = PROGRAMS[name]
        assert check(program_of(inputs, steps, outputs), inputs, exact=False).workspace == workspace


# -- single operations -------------------------------------------------------------------------------------


@needs_compiled
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "float64", "complex128"])
def test_copies(dtype: str) -> None:
    workspace = Workspace(1000)
    source = np.arange(6).reshape(2, 3).astype(dtype)
    between = workspace.take(0, aval_of((2, 3), np.dtype(dtype)))
    target = np.empty((2, 3), dtype)
    ops = (copy_op(source, 1, between, THREAD), copy_op(between, THREAD, target, 2))
    made = compiled.make_sequence(ops, (workspace.memory, source, target), False)
    assert made is not None
    bound = Bound(made[0], workspace.size, {}, [], [])
    other, out = source[::-1].copy(), np.empty_like(target)
    assert ran(bound, [other], [out]) == []
    assert_same(out, other)


def test_where_values_are() -> None:
    program = program_of(
        [X], [TWO, (e.mul, (0, 1), {}), (structure.permute, (2,), {"axes": (1, 0)}), (e.neg, (2,), {})]
    )
    schedule = partition(program)
    binder = Binder(schedule, [X], [np.empty((6, 5))], Workspace(10_000))
    assert binder.home[:1] == [1]
    assert binder.home[1:] == [FIXED] * 4
    assert binder.root == [*range(5)]


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
    assert _is_for_blas(x) == is_for_it
