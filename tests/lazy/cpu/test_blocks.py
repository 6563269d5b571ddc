"""Fusion groups on the host: by compiled code, block by block, and on threads, against NumPy."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.cpu import blocks
from nabla_array._lazy.cpu.blocks import run_fused, writer
from nabla_array._lazy.cpu.calls import StepFailed
from nabla_array._lazy.graph.aval import aval_of_value
from nabla_array._lazy.graph.primitive import Primitive, as_value
from nabla_array._lazy.graph.program import Eqn, Program
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops import structure
from nabla_array._lazy.ops.reduction import reduce_sum
from nabla_array._lazy.schedule.groups import fusion_groups
from nabla_array._lazy.schedule.steps import Fused

from ..execution import assert_same, in_blocks, in_jobs

Steps = list[tuple[Primitive, tuple[int, ...], dict[str, Any]]]


def program_of(inputs: list[np.ndarray], steps: Steps, outputs: tuple[int, ...] | None = None) -> Program:
    """Return a program of equations; the last one is its output if none are given."""
    avals: list[Any] = [aval_of_value(x) for x in inputs]
    eqns = []
    for prim, ins, params in steps:
        avals.append(prim.aval(*[avals[i] for i in ins], **params))
        eqns.append(Eqn(prim, ins, tuple(params.items()), avals[-1]))
    return Program(tuple(avals[: len(inputs)]), tuple(eqns), outputs or (len(avals) - 1,))


def env_of(program: Program, inputs: list[np.ndarray]) -> list[Any]:
    return [*inputs, *[None] * len(program.eqns)]


def as_numpy(program: Program, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Return all values of a program, each by its host rule over whole arrays."""
    env: list[Any] = [*inputs]
    for eqn in program.eqns:
        env.append(as_value(eqn.prim.host(*[env[i] for i in eqn.ins], **dict(eqn.params))))
    return env


@given(st.lists(st.integers(1, 9), max_size=4).map(tuple), st.integers(1, 200))
def test_blocks_cover_everything_once(lead: tuple[int, ...], rows: int) -> None:
    counted = np.zeros(lead, int)
    found = blocks._blocks(lead, rows)
    for block in found:
        counted[block] += 1
        assert counted[block].size <= max(rows, 1)
    assert (counted == 1).all()
    assert len(found) <= 1 or rows < math.prod(lead)


# Steps over inputs of one shape, with results that are outputs.
GROUPS: dict[str, tuple[Steps, tuple[int, ...]]] = {
    "a chain": ([(e.exp, (0,), {}), (e.mul, (2, 1), {}), (e.sub, (3, 0), {})], (4,)),
    "several outputs": ([(e.sin, (0,), {}), (e.add, (2, 1), {}), (e.neg, (2,), {})], (2, 3, 4)),
    "one operand twice": ([(e.mul, (0, 0), {}), (e.add, (2, 2), {})], (3,)),
    "other dtypes": ([(e.lt, (0, 1), {}), (e.select, (2, 0, 1), {}), (e.isnan, (3,), {})], (3, 4)),
    "extremes": ([(e.maximum, (0, 1), {}), (e.minimum, (2, 0), {})], (3,)),
    "dead values in between": (
        [(e.sin, (0,), {}), (e.cos, (2,), {}), (e.exp, (3,), {}), (e.sqrt, (4,), {}), (e.add, (5, 2), {})],
        (6,),
    ),
}
SHAPES = [(1,), (7,), (1, 1), (5, 4), (3, 1, 6), (2, 3, 4)]
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "c": lambda x: x,
    "fortran": np.asfortranarray,
    "reversed": lambda x: x[(slice(None, None, -1),) * x.ndim],
    "every second": lambda x: np.repeat(x, 2, -1)[..., ::2] if x.ndim else x,
    "repeated": lambda x: np.broadcast_to(x.reshape(-1)[:1].reshape((1,) * x.ndim), x.shape),
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
}


def of_shape(shape: tuple[int, ...], dtype: str = "float64") -> list[np.ndarray]:
    rng = np.random.default_rng(sum(shape))
    x, y = rng.standard_normal((2, math.prod(shape)))
    special = [np.nan, -0.0, np.inf][: x.size]
    x[: len(special)] = special
    return [x.astype(dtype).reshape(shape), y.astype(dtype).reshape(shape)]


def runs(
    program: Program, inputs: list[np.ndarray], owned: bool = False, threads: int = 1
) -> Iterator[list[Any]]:
    """Yield the values that its fusion group gives: by compiled code, and block by block."""
    (group,) = fusion_groups(program)
    assert isinstance(group, Fused)
    drop = tuple([i for i in group.inputs if i not in program.outputs])
    for way in (in_jobs, lambda: in_blocks(4, threads)):
        held = [x.copy() for x in inputs] if owned else inputs  # as nodes hold them
        env = env_of(program, held)
        with way(), np.errstate(all="ignore"):
            blocks._kernel.cache_clear()
            run_fused(program, group, drop, env, set(range(len(inputs)) if owned else ()))
        yield env


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", GROUPS)
def test_fusion_groups_have_numpys_bits(name: str, layout: str) -> None:
    steps, outputs = GROUPS[name]
    for shape, dtype in itertools.product(SHAPES, ("float64", "float32")):
        inputs = [LAYOUTS[layout](x) for x in of_shape(shape, dtype)]
        before = [x.copy() for x in inputs]
        program = program_of(inputs, steps, outputs)
        with np.errstate(all="ignore"):
            wanted = as_numpy(program, inputs)
        for owned, threads in ((False, 1), (True, 3)):
            for env in runs(program, inputs, owned, threads):
                for k in outputs:
                    assert_same(env[k], wanted[k])
        for x, y in zip(inputs, before, strict=True):
            assert_same(x, y)


@pytest.mark.parametrize("shape", [(6, 5), (1, 5), (6, 1), (2, 3, 4)], ids=str)
def test_rows_are_reduced_repeated_and_joined(shape: tuple[int, ...]) -> None:
    inputs = [np.abs(x) + 0.5 for x in of_shape(shape)]
    inputs[0][~np.isfinite(inputs[0])] = 1.0
    last, whole = len(shape) - 1, tuple(range(len(shape)))
    n = len(inputs)
    steps: Steps = [
        (e.mul, (0, 1), {}),
        (reduce_sum, (n,), {"axes": (last,)}),
        (structure.reshape, (n + 1,), {"shape": (*shape[:-1], 1)}),
        (structure.broadcast, (n + 2,), {"shape": shape, "axes": whole}),
        (e.sub, (0, n + 3), {}),
    ]
    program = program_of(inputs, steps)
    for env in runs(program, inputs):
        assert_same(env[-1], as_numpy(program, inputs)[-1])
    joined: Steps = [(e.mul, (0, 1), {}), (e.add, (n, 1), {}), (reduce_sum, (n + 1,), {"axes": whole})]
    program = program_of(inputs, joined)
    for threads in (1, 3):
        for env in runs(program, inputs, threads=threads):
            assert_same(env[-1], as_numpy(program, inputs)[-1], exact=False)


def test_results_lie_in_memory_as_operands_do() -> None:
    steps, outputs = GROUPS["a chain"]
    x, y = of_shape((30, 20))
    for lay, is_fortran in ((np.asfortranarray, True), (np.ascontiguousarray, False)):
        inputs = [lay(x), lay(y)]
        program = program_of(inputs, steps, outputs)
        for env in itertools.islice(runs(program, inputs), 1):  # compiled code, where there is
            if blocks.compiled is not None:
                assert env[outputs[0]].flags.f_contiguous is is_fortran


def test_a_group_takes_the_memory_of_an_operand_that_dies() -> None:
    if blocks.compiled is None:
        pytest.skip("block by block a later block may yet fail")
    steps, outputs = GROUPS["a chain"]
    inputs = of_shape((50,))
    program = program_of(inputs, steps, outputs)
    (group,) = fusion_groups(program)
    assert isinstance(group, Fused)
    wanted = as_numpy(program, inputs)[-1]
    for owned in ({1}, set()):
        held = [x.copy() for x in inputs]  # as nodes hold them
        env = env_of(program, held)
        where, is_owned = env[1].ctypes.data, bool(owned)
        run_fused(program, group, (0, 1), env, owned)
        assert (env[4].ctypes.data == where) is is_owned
        assert (4 in owned) is is_owned
        assert_same(env[4], wanted)


def test_an_error_in_a_block_names_its_equation() -> None:
    x, y = np.arange(1, 41), np.full(40, 2)
    y[33] = -1
    program = program_of([x, y], [(e.add, (0, 1), {}), (e.pow_, (2, 1), {}), (e.neg, (3,), {})])
    (group,) = fusion_groups(program)
    assert isinstance(group, Fused)
    for threads in (1, 3):
        with in_blocks(4, threads), pytest.raises(StepFailed) as caught:
            run_fused(program, group, (0, 1), env_of(program, [x, y]), {0, 1})
        assert caught.value.eqn == 3
        assert "negative integer powers" in str(caught.value.error)
    np.testing.assert_array_equal(x, np.arange(1, 41))


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.sampled_from([e.neg, e.exp, e.add, e.sub, e.mul]), st.integers(0, 99)),
        min_size=1,
        max_size=12,
    ),
    st.sets(st.integers(0, 11)),
)
def test_live_values_never_share_a_buffer(picks: list[tuple[Primitive, int]], kept: set[int]) -> None:
    inputs = of_shape((9,))
    steps: Steps = []
    for prim, k in picks:
        n = 2 + len(steps)
        arity = prim.ufunc.nin  # type: ignore[union-attr]
        steps.append((prim, tuple([(k + 7 * j) % n for j in range(arity)]), {}))
    outputs = tuple(dict.fromkeys([*[2 + k for k in sorted(kept) if k < len(steps)], 1 + len(steps)]))
    program = program_of(inputs, steps, outputs)
    with np.errstate(all="ignore"):
        wanted = as_numpy(program, inputs)
    group = Fused(tuple(range(2, 2 + len(steps))), (9,), (0, 1), outputs, frozenset())
    env = env_of(program, inputs)
    with in_blocks(4), np.errstate(all="ignore"):
        run_fused(program, group, (), env, set())
    for k in outputs:
        assert_same(env[k], wanted[k])


def test_how_many_blocks_and_threads() -> None:
    steps, outputs = GROUPS["a chain"]
    program = program_of(of_shape((64,)), steps, outputs)
    (group,) = fusion_groups(program)
    assert isinstance(group, Fused)
    for threads, wanted in ((1, 1), (3, 3), (99, 16)):
        with in_blocks(4, threads):
            assert blocks.blocks_and_threads(program, group) == (16, wanted)
    if blocks.compiled is not None:
        blocks._kernel.cache_clear()
        assert blocks.blocks_and_threads(program, group) == (0, 1)


# -- whole programs ----------------------------------------------------------------------------------------

# Each of an array of two axes and a row of it; `np` is a namespace.
PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
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
@pytest.mark.parametrize("name", PROGRAMS)
def test_bits_do_not_depend_on_blocks(name: str, elements: int, threads: int) -> None:
    values = np.linspace(-3, 3, 35).reshape(7, 5)
    function = PROGRAMS[name]
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


# -- writers, buffers --------------------------------------------------------------------------------------


def test_writers_write_what_the_host_gives() -> None:
    x, y = of_shape((4, 5))
    with np.errstate(all="ignore"):
        for prim in (e.add, e.maximum, e.minimum, e.floor_divide):
            out = np.empty((4, 5))
            writer(prim, {})(x, y, out)
            assert_same(out, prim.host(x, y))
        for lay in (np.ascontiguousarray, np.asfortranarray):
            out = np.empty(4)
            writer(reduce_sum, {"axes": (1,)})(lay(y), out)
            assert_same(out, reduce_sum.host(lay(y), axes=(1,)))


def test_buffers_are_kept_for_each_thread_and_grow() -> None:
    first = blocks._scratch.array(99, (4, 2), np.dtype("f4"))
    again = blocks._scratch.array(99, (8,), np.dtype("i8"))
    assert (again.shape, again.dtype) == ((8,), np.dtype("i8"))
    assert np.shares_memory(first, again)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(blocks._scratch.array(99, (4, 2), np.dtype("f4"))))
    thread.start()
    thread.join()
    assert not np.shares_memory(first, seen[0])
    large = blocks._scratch.array(99, (blocks._KEPT + 8,), np.dtype("u1"))
    assert large.flags.owndata
