"""The features of seed 001, "Function Transforms" (`shard_map` comes with `nabla_array.distributed`)."""

from __future__ import annotations

from typing import Any

import numpy as np

import nabla_array as xp
from nabla_array.transforms import compile, grad, value_and_grad, vmap

RNG = np.random.default_rng(0)


def model(params: Any, x: Any) -> Any:
    return xp.tanh(x @ params["w"]) + params["b"]


def loss(params: Any, x: Any, y: Any) -> Any:
    return xp.mean((model(params, x) - y) ** 2)


PARAMS = {"w": RNG.standard_normal((3, 2)), "b": RNG.standard_normal(2)}
X, Y = RNG.standard_normal((5, 3)), RNG.standard_normal((5, 2))


def wanted() -> dict[str, np.ndarray]:
    h = np.tanh(X @ PARAMS["w"])
    d = 2 * (h + PARAMS["b"] - Y) / Y.size
    return {"w": X.T @ (d * (1 - h * h)), "b": d.sum(0)}


def arrays() -> tuple[Any, Any, Any]:
    return {k: xp.asarray(v) for k, v in PARAMS.items()}, xp.asarray(X), xp.asarray(Y)


def test_grad_and_value_and_grad() -> None:
    grads = grad(loss)(*arrays())
    value, other = value_and_grad(loss)(*arrays())
    for k, g in wanted().items():
        np.testing.assert_allclose(np.asarray(grads[k]), g)
        np.testing.assert_allclose(np.asarray(other[k]), g)
    np.testing.assert_allclose(float(value), np.mean((np.tanh(X @ PARAMS["w"]) + PARAMS["b"] - Y) ** 2))


def test_cotangents_accumulate_where_an_array_is_used_again() -> None:
    g = grad(lambda x: xp.sum(x * x + xp.sin(x) * x))(xp.asarray(X))
    np.testing.assert_allclose(np.asarray(g), 2 * X + np.sin(X) + X * np.cos(X))


def test_vmap_of_one_example() -> None:
    found = vmap(lambda x, w: x @ w, in_axes=(0, None))(xp.asarray(X), xp.asarray(PARAMS["w"]))
    np.testing.assert_allclose(np.asarray(found), X @ PARAMS["w"])


def test_axes_are_translated() -> None:
    x = RNG.standard_normal((5, 3, 4))
    np.testing.assert_allclose(np.asarray(vmap(lambda r: xp.sum(r, axis=0))(xp.asarray(x))), x.sum(1))
    np.testing.assert_allclose(np.asarray(vmap(lambda r: xp.sum(r, axis=-1))(xp.asarray(x))), x.sum(2))


def test_compile_of_the_gradient() -> None:
    step = compile(grad(loss))
    for _ in range(2):
        grads = step(*arrays())
        for k, g in wanted().items():
            np.testing.assert_allclose(np.asarray(grads[k]), g)
    assert step.cache_info().hits == 1
