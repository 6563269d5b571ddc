"""What the seed on transforms says of sharding (its section on `shard_map`, and on parallel maps)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, DimSpec, P, ShardingSpec, pmap, psum, shard, shard_map
from nabla_array.transforms import compile, vmap

MESH = DeviceMesh((2, 2), ("dp", "tp"))
X = np.random.default_rng(0).normal(size=(8, 6))
W = np.random.default_rng(1).normal(size=(6, 4))


def my_func(x: Any, w: Any) -> Any:
    return x @ w  # just the computation


def test_the_correct_pattern() -> None:
    sharded_fn = shard_map(
        my_func,
        MESH,
        in_specs={
            0: ShardingSpec(MESH, [DimSpec(["dp"]), DimSpec([])]),  # x
            1: ShardingSpec(MESH, [DimSpec([]), DimSpec(["tp"])]),  # w
        },
        out_specs=None,
    )
    y = sharded_fn(X, W)
    np.testing.assert_allclose(np.asarray(y), X @ W)
    assert y.sharding.partition_spec == P("dp", "tp")
    # Rows by columns: each device has what it needs.
    assert "all_" not in str(sharded_fn.plan(X, W).explanation)


@pytest.mark.parametrize("in_specs", [{0: None, 1: None}, {0: P("dp"), 1: P(None, "tp")}], ids=str)
def test_the_problematic_pattern_is_none_here(in_specs: Any) -> None:
    """A `shard` inside reshards once, and nothing where the array lies like that."""

    def with_shard(x: Any, w: Any) -> Any:
        x = shard(x, MESH, [DimSpec(["dp"]), DimSpec([])])
        w = shard(w, MESH, [DimSpec([]), DimSpec(["tp"])])
        return x @ w

    f = shard_map(with_shard, MESH, in_specs)
    y = f(X, W)
    np.testing.assert_allclose(np.asarray(y), X @ W)
    assert y.sharding.partition_spec == P("dp", "tp")
    kinds = [step.kind for step in f.plan(X, W).explanation.steps]
    assert kinds == ["spread", "devices"]


def test_the_plan_can_be_inspected_before_execution() -> None:
    f = shard_map(my_func, MESH, {0: P(None, "dp"), 1: P("dp")})
    plan = f.plan(X, W)
    assert [step.kind for step in plan.explanation.steps][-1] == "all_reduce"
    assert "matmul" in str(plan)
    np.testing.assert_allclose(np.asarray(f(X, W)), X @ W)


def test_constants_and_compositions() -> None:
    """What is captured, and what other transforms make, goes through `shard_map`."""
    scale = xp.asarray(3.0)
    f = shard_map(lambda x: vmap(lambda r: xp.sum(r) * scale)(x), MESH, {0: P("dp")})
    np.testing.assert_allclose(np.asarray(f(X)), X.sum(1) * 3)
    g = compile(f)
    for _ in range(2):
        np.testing.assert_allclose(np.asarray(g(X)), X.sum(1) * 3)


def test_inputs_may_be_pending() -> None:
    x = shard(X, MESH, P("tp")) * 2  # on the mesh, in another way, and not computed
    y = shard_map(my_func, MESH, {0: P("dp"), 1: P(None, "tp")})(x, W)
    np.testing.assert_allclose(np.asarray(y), 2 * X @ W)


def test_parallel_map() -> None:
    """Like `vmap`, but over devices."""
    y = pmap(lambda x: x - psum(x, "i") / 8, "i", mesh=MESH)(X)
    np.testing.assert_allclose(np.asarray(y), X - X.mean(0))
    assert y.sharding.partition_spec == P(("dp", "tp"), None)


def test_compiled_functions_of_sharded_arrays() -> None:
    calls = []

    @compile
    def f(x: Any, w: Any) -> Any:
        calls.append(1)
        return xp.tanh(x @ w)

    x, w = shard(X, MESH, P("dp")), shard(W, MESH, P(None, "tp"))
    xp.eval(x, w)
    for _ in range(3):
        y = f(x, w)
        np.testing.assert_allclose(np.asarray(y), np.tanh(X @ W))
        assert y.sharding.partition_spec == P("dp", "tp")
    assert len(calls) == 1


def test_compiled_functions_of_any_length() -> None:
    f = compile(lambda x: xp.sum(x * 2, axis=0), dynamic_dims={0: {0: "batch"}})
    for n in (8, 12, 6):
        x = shard(X[:n], MESH, P("dp"))
        np.testing.assert_allclose(np.asarray(f(x)), X[:n].sum(0) * 2)
