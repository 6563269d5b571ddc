"""Batches that are shared out over meshes: `pmap`, and `vmap` with `spmd_axis_name`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, ShardingError, pmap, psum, shard
from nabla_array.transforms import compile, grad, jvp, vmap

MESH = DeviceMesh((2, 2), ("dp", "tp"))
X = np.random.default_rng(0).normal(size=(5, 6))
W = np.random.default_rng(1).normal(size=(6, 3))


def predict(x: Any, w: Any) -> Any:
    return xp.tanh(x @ w)


def test_the_batch_is_cut() -> None:
    x = shard(X, MESH)
    found = vmap(predict, in_axes=(0, None), spmd_axis_name="dp")(x, W)
    assert found.sharding.partition_spec == P("dp", None)
    np.testing.assert_allclose(np.asarray(found), np.tanh(X @ W))
    found = vmap(predict, in_axes=(0, None), out_axes=1, spmd_axis_name=("dp", "tp"))(x, W)
    assert found.sharding.partition_spec == P(None, ("dp", "tp"))
    np.testing.assert_allclose(np.asarray(found), np.tanh(X @ W).T)


def test_a_weight_that_all_examples_have_is_not_repeated() -> None:
    x = shard(X, MESH)
    xp.eval(x)
    told = xp.explain(vmap(predict, in_axes=(0, None), spmd_axis_name="dp")(x, shard(W, MESH)))
    # What moves is the host's array of weights, to every device.
    assert sum(step.reads for step in told.steps) == W.nbytes


def test_the_mesh_of_a_block() -> None:
    with MESH:
        found = vmap(lambda x: x * 2, spmd_axis_name="dp")(X)
    assert found.sharding.partition_spec == P("dp", None)


def test_shards_within_keep_the_batch_cut() -> None:
    def one(x: Any) -> Any:
        return shard(x, MESH, P("tp")) + 1

    found = vmap(one, spmd_axis_name="dp")(shard(X, MESH))
    assert found.sharding.partition_spec == P("dp", "tp")
    np.testing.assert_allclose(np.asarray(found), X + 1)
    found = vmap(one)(shard(X, MESH, P("tp")))  # which the inner one takes
    assert found.sharding.partition_spec == P(None, "tp")
    np.testing.assert_allclose(np.asarray(found), X + 1)


def test_two_levels_on_two_mesh_axes() -> None:
    x = np.random.default_rng(2).normal(size=(4, 6, 3))
    inner = vmap(lambda v: v - psum(v, "tp"), spmd_axis_name="tp")
    found = vmap(inner, spmd_axis_name="dp")(shard(x, MESH))
    assert found.sharding.partition_spec == P("dp", "tp", None)
    np.testing.assert_allclose(np.asarray(found), x - x.sum(1, keepdims=True))


@pytest.mark.parametrize("cut", [{}, {"spmd_axis_name": "dp"}], ids=["vmap", "cut"])
def test_with_other_transforms(cut: dict[str, Any]) -> None:
    x, w = shard(X, MESH), shard(W, MESH)

    def loss(w: Any, x: Any) -> Any:
        return xp.sum(predict(x, w) ** 2)

    def total(w: Any, x: Any) -> Any:
        return xp.sum(vmap(loss, in_axes=(None, 0), **cut)(w, x))

    wanted = np.asarray(grad(lambda w: xp.sum(predict(X, w) ** 2))(W))
    np.testing.assert_allclose(np.asarray(grad(total)(w, x)), wanted)
    np.testing.assert_allclose(np.asarray(compile(grad(total))(w, x)), wanted)
    each = vmap(grad(loss), in_axes=(None, 0), **cut)(w, x)
    np.testing.assert_allclose(np.asarray(each).sum(0), wanted)
    if cut:
        assert each.sharding.partition_spec == P("dp", None, None)
    np.testing.assert_allclose(
        float(jvp(lambda w: total(w, x), (w,), (w,))[1]), np.sum(wanted * W), rtol=1e-12
    )


def test_examples_may_part() -> None:
    def one(x: Any) -> Any:
        return x.sum() if x[0] > 0 else -x[1:].max()

    wanted = [x.sum() if x[0] > 0 else -x[1:].max() for x in X]
    found = vmap(one, spmd_axis_name="dp")(shard(X, MESH))
    np.testing.assert_allclose(np.asarray(found), wanted)


def test_pmap() -> None:
    found = pmap(lambda x: x / psum(x, "all"), "all", mesh=3)(X)
    assert found.device == DeviceMesh(3)
    assert found.sharding.partition_spec == P("x", None)
    np.testing.assert_allclose(np.asarray(found), X / X.sum(0))

    @pmap(in_axes=(None, 1), out_axes=1, mesh=MESH)
    def add(a: Any, b: Any) -> Any:
        return a + psum(b, ("dp", "tp"))

    np.testing.assert_allclose(np.asarray(add(1.0, X)), 1 + np.repeat(X.sum(1)[:, None], 6, 1))
    assert add.__name__ == "add"


def test_pmap_finds_the_mesh() -> None:
    assert pmap(lambda x: x)(shard(X, MESH)).sharding.partition_spec == P(("dp", "tp"), None)
    with DeviceMesh(3, "k"):
        assert pmap(lambda x: x)(X).sharding.partition_spec == P("k", None)
    assert isinstance(pmap(lambda x: x)(X).device, DeviceMesh)


def test_errors() -> None:
    with pytest.raises(ShardingError, match="vmap: spmd_axis_name is 'dp', but no argument is on a mesh"):
        vmap(lambda x: x, spmd_axis_name="dp")(X)
    with pytest.raises(ShardingError, match=r"vmap: spmd_axis_name is 'zz', but .* has 'dp', 'tp'"):
        vmap(lambda x: x, spmd_axis_name="zz")(shard(X, MESH))
    with pytest.raises(ShardingError, match=r"vmap: arguments are on .* and .*; one mesh would work"):
        vmap(lambda x, y: x, spmd_axis_name="dp")(shard(X, MESH), shard(X, DeviceMesh(2)))
    with pytest.raises(ShardingError, match=r"pmap: an argument is on .*, not on .*; one mesh would work"):
        pmap(lambda x: x, mesh=2)(shard(X, MESH))
