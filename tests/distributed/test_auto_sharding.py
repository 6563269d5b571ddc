"""Layouts that are chosen: right results, no worse than simpler choices, within memory, and told of."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, Machine, P, ShardingError, auto_sharding, shard, shard_map
from nabla_array.distributed.auto_sharding import choose, layouts_of
from nabla_array.distributed.costs import costs_of
from nabla_array.distributed.rules import partition
from nabla_array.distributed.specs import spec_of
from nabla_array.transforms import compile, grad, jvp, scan, tree_flatten, tree_leaves, tree_unflatten, vmap
from nabla_array.transforms.tracing import trace

from ..lazy.cpu.test_loops import INSTRUCTIONS, NUMBERS, program_of, reference
from ..lazy.cpu.test_loops import chosen as computed
from ..lazy.run.test_random_graphs import leaves
from .meshes import MESHES, on_mesh
from .test_registry import assert_close

MESH = DeviceMesh((2, 2), ("dp", "tp"))
LINE = DeviceMesh(4, "x")
RNG = np.random.default_rng(0)


def mlp(params: Any, x: Any, y: Any) -> Any:
    for w, b in params:
        x = xp.tanh(x @ w + b)
    return xp.mean((x - y) ** 2)


def train(params: Any, x: Any, y: Any) -> Any:
    found = grad(mlp)(params, x, y)
    return [(w - 0.1 * gw, b - 0.1 * gb) for (w, b), (gw, gb) in zip(params, found, strict=True)]


def _params(width: int) -> Any:
    return [(RNG.normal(size=(width, width)), RNG.normal(size=width)) for _ in range(2)]


def _writes(x: Any) -> Any:
    x[1:3] = 0.0
    return xp.sum(x, axis=0)


X, Y = RNG.normal(size=(2, 64, 16))
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "train": (train, (_params(16), X, Y)),
    "product": (lambda x, y: x @ y.T, (X, Y)),
    "softmax": (lambda x: xp.exp(x) / xp.sum(xp.exp(x), axis=1, keepdims=True), (X,)),
    "sort": (lambda x: xp.sort(x, axis=0) + xp.cumulative_sum(x, axis=1), (X,)),
    "stencil": (lambda x: x[1:-1] + 0.1 * (x[2:] + x[:-2]), (X,)),
    "reshape": (lambda x: xp.reshape(x * 2, (8, 8, 16)).sum(axis=1), (X,)),
    "join": (lambda x, y: xp.concat([x, y[:7]]).max(axis=0), (X, Y)),
    "solve": (lambda x: xp.linalg.solve(x.T @ x + xp.eye(16), x.T), (X,)),
    "svd": (lambda x: xp.linalg.svd(x).S ** 2, (X,)),
    "scan": (lambda x: scan(lambda c, r: (c + r, c * r), xp.zeros(16), x), (X,)),
    "writes": (_writes, (X,)),
    "looks": (lambda x: x * 2 if xp.sum(x) > 0 else x * 3, (X,)),
    "constant": (lambda x: (xp.ones(5), 2.0, x), (X,)),
    "sharded inside": (lambda x: shard(x * 2, MESH, P(None, "tp")) + 1, (X,)),
}


def _run(f: Callable[..., Any], args: Any) -> list[np.ndarray]:
    leaves, tree = tree_flatten(args)
    copies = tree_unflatten(tree, [xp.asarray(x.copy()) for x in leaves])
    return [np.asarray(y) for y in tree_leaves(f(*copies))]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("method", ["integer program", "search"])
def test_results(name: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f, args = PROGRAMS[name]
    if method == "search":
        monkeypatch.setattr(auto_sharding, "_MOST", 0)
    auto_sharding._choose.cache_clear()
    sharded = shard_map(f, MESH, auto_sharding=True)
    for got, want in zip(_run(sharded, args), _run(f, args), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)
    plan = sharded.plan(*[xp.asarray(x.copy()) if isinstance(x, np.ndarray) else x for x in args])
    assert any(c.name == method for c in plan.choice.candidates)
    auto_sharding._choose.cache_clear()


def test_arguments_that_are_written_to() -> None:
    x = xp.asarray(X.copy())
    shard_map(_writes, MESH, auto_sharding=True)(x)
    wanted = X.copy()
    wanted[1:3] = 0
    np.testing.assert_allclose(np.asarray(x), wanted)


@settings(max_examples=100, deadline=None)
@given(leaves(), INSTRUCTIONS, NUMBERS, st.sampled_from([m for m in MESHES if m.size < 6]))
def test_random_programs(inputs: list[np.ndarray], instructions: Any, kept: set[int], mesh: Any) -> None:
    program = computed(program_of(inputs, instructions), kept)
    found = choose(program, mesh, [None] * len(inputs), [None] * len(program.outputs), Machine(), None)
    layouts = [s.layout(x.shape) for s, x in zip(found.chosen.inputs, inputs, strict=True)]
    wanted = reference(program, inputs)
    for got, want in zip(on_mesh(found.program, mesh, inputs, layouts), wanted, strict=True):
        assert_close(np.asarray(got), want)


# -- what is chosen ------------------------------------------------------------------------------------


def written(f: Callable[..., Any], *args: Any) -> Any:
    leaves, tree = tree_flatten(args)
    return trace(lambda *some: f(*tree_unflatten(tree, some)), [xp.asarray(x) for x in leaves]).program


def chosen(f: Callable[..., Any], args: Any, mesh: DeviceMesh, limit: float | None = None) -> Any:
    program = written(f, *args)
    return choose(
        program, mesh, [None] * len(program.inputs), [None] * len(program.outputs), Machine(), limit
    )


SMALL = {
    "tall product": (lambda x, w: xp.tanh(x @ w), (xp.zeros((65536, 64)), xp.zeros((64, 64)))),
    "wide product": (lambda x, w: xp.tanh(x @ w), (xp.zeros((16, 2048)), xp.zeros((2048, 2048)))),
    "inner product": (lambda x, w: xp.sum(x @ w, axis=0), (xp.zeros((16, 65536)), xp.zeros((65536, 16)))),
    "reduction": (lambda x: xp.sum(xp.exp(x), axis=0), (xp.zeros((4096, 256)),)),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("mesh", [LINE, MESH], ids=["4", "2x2"])
def test_nothing_that_the_partitioner_makes_of_inputs_is_better(name: str, mesh: DeviceMesh) -> None:
    f, args = SMALL[name]
    program = written(f, *args)
    found = chosen(f, args, mesh).chosen.costs.seconds
    every = product(*[layouts_of(mesh, a.shape) for a in program.inputs])
    best = min(costs_of(partition(mesh, program, [*layouts]), Machine()).seconds for layouts in every)
    assert found <= best * 1.01


def test_large_batches_are_cut_and_gradients_joined() -> None:
    args = [(xp.zeros((64, 64)), xp.zeros(64))] * 2, xp.zeros((65536, 64)), xp.zeros((65536, 64))
    best = chosen(train, args, LINE).chosen
    assert {s.partition_spec for s in best.inputs[-3:]} == {P("x", None)}
    parameters = 2 * (64 * 64 + 64) * 8
    assert best.nbytes <= 2 * parameters * 3 / 4


def test_large_weights_are_cut_where_memory_is_short() -> None:
    args = [(xp.zeros((512, 512)), xp.zeros(512))] * 2, xp.zeros((16, 512)), xp.zeros((16, 512))
    free = chosen(train, args, LINE)
    whole = next(c for c in free.candidates if c.name.startswith("everything"))
    limit = 0.7 * whole.costs.memory
    best = chosen(train, args, LINE, limit).chosen
    assert best.costs.memory <= limit
    with pytest.raises(ShardingError, match=r"shard_map: nothing that was tried fits into memory_limit=1000"):
        chosen(train, args, LINE, 1000)


def test_the_limit_of_a_shard_map() -> None:
    args = _params(64), *RNG.normal(size=(2, 16, 64))
    free = shard_map(train, MESH, auto_sharding=True).plan(*args).choice.chosen.costs.memory
    f = shard_map(train, MESH, auto_sharding=True, memory_limit=0.8 * free)
    assert f.plan(*args).choice.chosen.costs.memory <= 0.8 * free
    for got, want in zip(_run(f, args), _run(train, args), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)
    with pytest.raises(ShardingError, match="nothing that was tried fits into memory_limit=10"):
        shard_map(train, MESH, auto_sharding=True, memory_limit=10)(*args)


def test_the_choice_is_never_worse_than_simple_ones() -> None:
    for f, args in PROGRAMS.values():
        if all(isinstance(x, np.ndarray) for x in tree_leaves(args)) and f is not _writes:
            found = chosen(f, args, MESH)
            assert found.chosen.costs.seconds == min(c.costs.seconds for c in found.candidates)


def test_the_same_program_is_solved_once() -> None:
    auto_sharding._choose.cache_clear()
    f = shard_map(lambda x: xp.tanh(x @ x.T), MESH, auto_sharding=True)
    for _ in range(3):
        f(X)
    assert auto_sharding._choose.cache_info().misses == 1


def test_specs_that_are_given_hold() -> None:
    f = shard_map(train, MESH, {1: P("dp")}, P(), auto_sharding=True)
    plan = f.plan(_params(16), X, Y)
    assert plan.in_specs[-2].partition_spec == P("dp", None)
    assert {s.partition_spec for s in plan.out_specs} == {P()}
    for y in tree_leaves(f(_params(16), X, Y)):
        assert all(entry is None for entry in y.sharding.partition_spec)


def test_the_report() -> None:
    plan = shard_map(lambda x, w: xp.sum(x @ w, axis=0), MESH, auto_sharding=True).plan(X, X.T)
    text = str(plan)
    for line in ("auto_sharding:", "everything on every device: ", "* ", "inputs:", "  %0: P("):
        assert line in text
    assert plan.choice.chosen in plan.choice.candidates
    assert spec_of(plan.choice.chosen.inputs[0].layout(X.shape)) == plan.in_specs[0]


def test_other_transforms() -> None:
    f = shard_map(lambda x, w: xp.tanh(x @ w), MESH, auto_sharding=True)
    w = RNG.normal(size=(16, 8))
    wanted = np.asarray(grad(lambda w: xp.sum(xp.tanh(X @ w) ** 2))(w))
    for run in (grad, lambda g: compile(grad(g)), lambda g: shard_map(grad(g), MESH, auto_sharding=True)):
        found = run(lambda w: xp.sum(f(X, w) ** 2))(xp.asarray(w))
        np.testing.assert_allclose(np.asarray(found), wanted)
    np.testing.assert_allclose(np.asarray(jvp(f, (X, w), (X, w))[1]), (1 - np.tanh(X @ w) ** 2) * 2 * (X @ w))
    both = np.stack([X, -X])
    for g in (
        vmap(f, in_axes=(0, None)),
        shard_map(vmap(f, in_axes=(0, None)), MESH, auto_sharding=True),
        compile(vmap(f, in_axes=(0, None))),
    ):
        np.testing.assert_allclose(np.asarray(g(both, w)), np.tanh(both @ w))
    last, _ = scan(lambda c, _: (f(c, w) @ xp.ones((8, 16)), c.sum()), xp.asarray(X), None, length=2)
    c = X
    for _ in range(2):
        c = np.tanh(c @ w) @ np.ones((8, 16))
    np.testing.assert_allclose(np.asarray(last), c)
