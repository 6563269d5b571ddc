"""What the seed on function transforms says of sharding: `shard_map` as a decorator, and `auto_sharding`."""

from __future__ import annotations

from typing import Any

import numpy as np

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, shard, shard_map
from nabla_array.transforms import compile, grad, value_and_grad, vmap

RNG = np.random.default_rng(0)
PARAMS = {"w": RNG.normal(size=(6, 3)), "b": RNG.normal(size=3)}
X, Y = RNG.normal(size=(16, 6)), RNG.normal(size=(16, 3))


def model(params: Any, x: Any) -> Any:
    return xp.tanh(x @ params["w"] + params["b"])


def loss_fn(params: Any, x: Any, y: Any) -> Any:
    return xp.mean((model(params, x) - y) ** 2)


def test_data_parallel_forward() -> None:
    mesh = DeviceMesh((8,), ["dp"])

    @shard_map(mesh, in_specs=(P("dp"), P(None)), out_specs=P("dp"))
    def data_parallel_forward(x: Any, params: Any) -> Any:
        return model(params, x)

    y = data_parallel_forward(X, PARAMS)
    np.testing.assert_allclose(np.asarray(y), np.tanh(X @ PARAMS["w"] + PARAMS["b"]))
    assert y.sharding.partition_spec == P("dp", None)
    kinds = {step.kind for step in data_parallel_forward.plan(X, PARAMS).explanation.steps}
    assert kinds == {"spread", "devices"}


def test_gradients_and_values() -> None:
    mesh = DeviceMesh((8,), ["dp"])
    x, y = shard(X, mesh, P("dp")), shard(Y, mesh, P("dp"))
    params = {name: shard(value, mesh) for name, value in PARAMS.items()}
    wanted = grad(loss_fn)({k: xp.asarray(v) for k, v in PARAMS.items()}, X, Y)
    grads = grad(loss_fn)(params, x, y)
    value, again = value_and_grad(loss_fn)(params, x, y)
    np.testing.assert_allclose(float(value), np.mean((np.tanh(X @ PARAMS["w"] + PARAMS["b"]) - Y) ** 2))
    for name in PARAMS:
        np.testing.assert_allclose(np.asarray(grads[name]), np.asarray(wanted[name]))
        np.testing.assert_allclose(np.asarray(again[name]), np.asarray(wanted[name]))
        assert grads[name].sharding == params[name].sharding


def test_vmap() -> None:
    mesh = DeviceMesh((4,), ["dp"])
    batched = vmap(lambda x, w: x @ w, in_axes=(0, None))
    y = batched(shard(X, mesh, P("dp")), PARAMS["w"])
    np.testing.assert_allclose(np.asarray(y), X @ PARAMS["w"])
    assert y.sharding.partition_spec == P("dp", None)


def test_auto_sharding() -> None:
    mesh = DeviceMesh((2, 2), ["dp", "tp"])

    @shard_map(mesh, auto_sharding=True)
    def step(params: Any, x: Any, y: Any) -> Any:
        grads = grad(loss_fn)(params, x, y)
        return {name: params[name] - 0.1 * grads[name] for name in params}

    wanted = grad(loss_fn)({k: xp.asarray(v) for k, v in PARAMS.items()}, X, Y)
    found = step(PARAMS, X, Y)
    for name in PARAMS:
        np.testing.assert_allclose(np.asarray(found[name]), PARAMS[name] - 0.1 * np.asarray(wanted[name]))
    plan = step.plan(PARAMS, X, Y)
    assert {c.name for c in plan.choice.candidates} >= {"integer program", "everything on every device"}
    assert "auto_sharding:" in str(plan)


def test_auto_sharding_takes_specs_that_are_given() -> None:
    mesh = DeviceMesh((2, 2), ["dp", "tp"])
    f = shard_map(lambda p, x: model(p, x), mesh, in_specs={1: P("tp")}, auto_sharding=True)
    assert f.plan(PARAMS, X).in_specs[-1].partition_spec == P("tp", None)
    np.testing.assert_allclose(np.asarray(f(PARAMS, X)), np.tanh(X @ PARAMS["w"] + PARAMS["b"]))


def test_compile() -> None:
    mesh = DeviceMesh((4,), ["dp"])
    calls = []

    @compile
    def fast_fn(x: Any, y: Any) -> Any:
        calls.append(1)
        return xp.sum(xp.exp(x) * y, axis=1)

    for scale in (1.0, 2.0):
        x, y = shard(X * scale, mesh, P("dp")), shard(X, mesh, P("dp"))
        np.testing.assert_allclose(np.asarray(fast_fn(x, y)), (np.exp(X * scale) * X).sum(1))
    assert len(calls) == 1
