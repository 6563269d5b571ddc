"""`shard_map`: specs in all their forms, its plan, and other transforms inside and outside of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.distributed import (
    DeviceMesh,
    DimSpec,
    P,
    ShardingError,
    ShardingSpec,
    pmap,
    psum,
    shard,
    shard_map,
)
from nabla_array.transforms import compile, grad, jvp, scan, vmap

from .clusters import threads

MESH = DeviceMesh((2, 2), ("dp", "tp"))
X = np.random.default_rng(0).normal(size=(8, 6))
W = np.random.default_rng(1).normal(size=(6, 4))


def layer(x: Any, w: Any) -> Any:
    return xp.tanh(x @ w)


IN_SPECS = {
    "tuple": (P("dp"), P(None, "tp")),
    "list": [P("dp"), P(None, "tp")],
    "dict": {0: P("dp"), 1: P(None, "tp")},
    "ShardingSpec": {
        0: ShardingSpec(MESH, [DimSpec(["dp"]), DimSpec([])]),
        1: ShardingSpec(MESH, [DimSpec([]), DimSpec(["tp"])]),
    },
    "some": {1: P(None, "tp")},
    "one": P("dp"),
    "none": None,
}


@pytest.mark.parametrize("in_specs", IN_SPECS.values(), ids=IN_SPECS)
@pytest.mark.parametrize("out_specs", [None, P("dp", "tp"), P("tp", "dp"), {0: P(None, "dp")}], ids=str)
def test_specs(in_specs: Any, out_specs: Any) -> None:
    f = shard_map(layer, MESH, in_specs, out_specs)
    y = f(X, W)
    assert y.device == MESH
    np.testing.assert_allclose(np.asarray(y), np.tanh(X @ W))
    if out_specs is not None:
        assert y.sharding.partition_spec == (out_specs[0] if isinstance(out_specs, dict) else out_specs)


def test_decorators() -> None:
    for decorate in (
        shard_map(MESH, in_specs=P("dp")),
        shard_map(mesh=MESH, in_specs=P("dp")),
        partial(shard_map, mesh=MESH, in_specs=P("dp")),
    ):

        @decorate
        def double(x: Any) -> Any:
            """Twice as much."""
            return 2 * x

        assert double.__name__ == "double"
        assert "Twice as much." in double.__doc__
        assert double(X).sharding.partition_spec == P("dp", None)


def test_the_body_sees_whole_arrays() -> None:
    seen = []

    @shard_map(MESH, in_specs=P("dp"))
    def body(x: Any) -> Any:
        seen.append((x.shape, x.device))
        return x.mean(axis=0)

    np.testing.assert_allclose(np.asarray(body(X)), X.mean(0))
    assert seen == [((8, 6), MESH)]


def test_pytrees() -> None:
    def predict(params: Any, x: Any, *, scale: Any) -> Any:
        return {"y": x @ params["w"] * scale, "rest": (x, params["b"])}

    params = {"w": W, "b": W[0]}
    f = shard_map(
        predict,
        MESH,
        in_specs=({"w": P(None, "tp"), "b": P()}, P("dp")),
        out_specs={"y": P("dp", "tp"), "rest": P("dp")},
    )
    found = f(params, X, scale=2.0)
    np.testing.assert_allclose(np.asarray(found["y"]), 2 * X @ W)
    assert found["y"].sharding.partition_spec == P("dp", "tp")
    assert found["rest"][1].sharding.partition_spec == P("dp")
    f = shard_map(predict, MESH, in_specs={"scale": P(), 0: None}, out_specs=None)
    np.testing.assert_allclose(np.asarray(f(params, X, scale=2.0)["y"]), 2 * X @ W)
    two = shard_map(lambda x: (x, x + 1), MESH, P("dp"), {1: P("tp")})(X)
    assert [y.sharding.partition_spec for y in two] == [P("dp", None), P("tp", None)]


def test_the_mesh_of_a_block() -> None:
    f = shard_map(layer, in_specs=(P("dp"), P()))
    with MESH:
        assert f(X, W).sharding.partition_spec == P("dp", None)


def test_new_arrays_are_on_the_mesh() -> None:
    y = shard_map(lambda: xp.ones(8), MESH, out_specs=P("tp"))()
    assert y.sharding.partition_spec == P("tp")


def test_the_plan_is_there_before_it_runs() -> None:
    ran = []

    @shard_map(MESH, in_specs={0: P(None, "tp"), 1: P("tp")}, out_specs=P())
    def product(x: Any, w: Any) -> Any:
        ran.append(1)
        return x @ w

    plan = product.plan(X, W)
    kinds = [step.kind for step in plan.explanation.steps]
    assert kinds == ["spread", "devices", "all_reduce"]
    text = str(plan)
    assert text.startswith("argument 0: P(None, 'tp')\nargument 1: P('tp')\nresult 0: P()\n")
    assert "all_reduce for" in text
    # An all_reduce by a ring takes twice the part of the others: (n - 1) / n.
    assert plan.explanation.steps[-1].reads == 8 * 4 * 8
    np.testing.assert_allclose(np.asarray(product(X, W)), X @ W)


def test_a_plan_of_results_in_a_container() -> None:
    @dataclass
    class Both:
        x: Any
        y: Any

    plan = shard_map(lambda x: Both(x + 1, x.sum(axis=0)), MESH, P("dp"), Both(P("dp"), P())).plan(X)
    assert len(plan.explanation.results) == 2
    assert [s.partition_spec for s in plan.out_specs] == [P("dp"), P()]
    nothing = shard_map(lambda x: None, MESH, P("dp")).plan(X)
    assert str(nothing).endswith("nothing is left to compute")


def test_a_shard_inside_moves_once() -> None:
    x = shard(X, MESH, P("dp"))
    xp.eval(x)

    def once(x: Any) -> Any:
        return shard(x, MESH, P("dp")) * 2

    assert [s.kind for s in shard_map(once, MESH, {0: None}).plan(x).explanation.steps] == ["devices"]
    assert [s.kind for s in shard_map(once, MESH, P("dp")).plan(x).explanation.steps] == ["devices"]

    def other(x: Any) -> Any:
        return shard(shard(x, MESH, P("tp")), MESH, P("tp")) * 2

    moves = [s.kind for s in shard_map(other, MESH, P("dp"), P("tp")).plan(x).explanation.steps]
    assert len([k for k in moves if k != "devices"]) == 1
    np.testing.assert_allclose(np.asarray(shard_map(other, MESH, P("dp"), P("tp"))(x)), 2 * X)


def test_inside_and_outside_of_other_transforms() -> None:
    f = shard_map(layer, MESH, {0: P("dp"), 1: P(None, "tp")}, P("dp"))

    def loss(w: Any, x: Any = X, run: Any = f) -> Any:
        return xp.sum(run(x, w) ** 2)

    wanted = np.asarray(grad(partial(loss, run=layer))(xp.asarray(W)))
    np.testing.assert_allclose(np.asarray(grad(loss)(W)), wanted)
    assert grad(loss)(shard(W, MESH, P("tp"))).sharding.partition_spec == P("tp", None)
    inside = shard_map(grad(partial(loss, run=layer)), MESH, P(None, "tp"), P("tp"))
    np.testing.assert_allclose(np.asarray(inside(W)), wanted)
    assert inside(W).sharding.partition_spec == P("tp", None)
    for run in (
        compile(grad(loss)),
        compile(inside),
        shard_map(compile(grad(partial(loss, run=layer))), MESH),
    ):
        for _ in range(2):
            np.testing.assert_allclose(np.asarray(run(xp.asarray(W))), wanted)
    tangent = jvp(f, (X, W), (X, W))[1]
    np.testing.assert_allclose(np.asarray(tangent), (1 - np.tanh(X @ W) ** 2) * 2 * (X @ W))
    both = np.stack([X, -X])
    for run in (
        vmap(f, in_axes=(0, None)),
        vmap(shard_map(layer, MESH, (P(), P("tp"))), in_axes=(0, None), spmd_axis_name="dp"),
        shard_map(vmap(layer, in_axes=(0, None)), MESH, (P("dp", "tp"), None)),
        shard_map(vmap(f, in_axes=(0, None)), MESH, (P("dp", "tp"), None)),
    ):
        with MESH:
            np.testing.assert_allclose(np.asarray(run(both, W)), np.tanh(both @ W))
    last, _ = scan(lambda c, _: (f(c, W[:, :4]) @ np.ones((4, 6)), c), xp.asarray(X), None, length=2)
    c = X
    for _ in range(2):
        c = np.tanh(c @ W) @ np.ones((4, 6))
    np.testing.assert_allclose(np.asarray(last), c)


def test_a_body_may_look() -> None:
    @shard_map(MESH, in_specs=P("dp"))
    def body(x: Any) -> Any:
        return x if xp.sum(x) > 0 else -x

    np.testing.assert_allclose(np.asarray(body(-np.abs(X))), np.abs(X))


@pytest.mark.parametrize("auto", [False, True], ids=["specs", "auto"])
def test_on_workers(auto: bool) -> None:
    with threads(2) as client:
        mesh = DeviceMesh(2, "dp", engine="dask", client=client)
        f = shard_map(layer, mesh, None if auto else (P("dp"), P()), auto_sharding=auto)
        np.testing.assert_allclose(np.asarray(f(X, W)), np.tanh(X @ W))
        found = scan(lambda c, x: (shard(c, mesh) + f(x, W), None), xp.zeros((8, 4)), np.stack([X, -X, X]))[0]
        np.testing.assert_allclose(np.asarray(found), np.tanh(X @ W))


def test_threads() -> None:
    """Several of them map at one time, each on a mesh of its own block."""

    def work(k: int) -> None:
        for auto in (False, True) * 4:
            f = shard_map(lambda x, w: layer(x, w) * k, MESH, (P("dp"), P()), auto_sharding=auto)
            np.testing.assert_allclose(np.asarray(f(X, W)), np.tanh(X @ W) * k)
            found = pmap(lambda v: v - k * psum(v, "i"), "i", mesh=MESH)(X)
            np.testing.assert_allclose(np.asarray(found), X - k * X.sum(0))
            assert xp.zeros(3).device == "cpu"

    with ThreadPoolExecutor(6) as pool:
        assert [*pool.map(work, range(6))] == [None] * 6


def test_errors() -> None:
    with pytest.raises(ShardingError, match="shard_map: no mesh was given"):
        shard_map(layer)(X, W)
    with pytest.raises(ValueError, match="shard_map: in_specs has 1 entries for 2 positional arguments"):
        shard_map(layer, MESH, (P("dp"),))(X, W)
    with pytest.raises(ValueError, match="shard_map: in_specs has 2, which is no argument of the call"):
        shard_map(layer, MESH, {2: P()})(X, W)
    with pytest.raises(ValueError, match="shard_map: out_specs has 1, but the function returned 1 results"):
        shard_map(layer, MESH, None, {1: P()})(X, W)
    with pytest.raises(ShardingError, match=r"shard_map: in_specs: P\('dp', None, None\) has 3 entries"):
        shard_map(layer, MESH, P("dp", None, None))(X, W)
    with pytest.raises(ShardingError, match="names the mesh axis 'zz'"):
        shard_map(layer, MESH, P("zz"))(X, W)
    with pytest.raises(TypeError, match="shard_map: needs a function, not 3"):
        shard_map(3, MESH)
    with pytest.raises(ValueError, match="shard_map: memory_limit and machine are for auto_sharding=True"):
        shard_map(layer, MESH, memory_limit=1e6)
    with pytest.raises(ValueError, match=r"shard_map: out_specs: .* is no prefix of the structure"):
        shard_map(layer, MESH, None, (P(), P()))(X, W)
