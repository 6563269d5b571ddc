"""The features of seed 000, "Transforms Module: Function Transformations"."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import compile, vmap

RNG = np.random.default_rng(0)


def test_vmap_works_on_examples() -> None:
    x = RNG.standard_normal((8, 3))
    y = vmap(lambda r: xp.sum(r * r))(xp.asarray(x))
    np.testing.assert_allclose(np.asarray(y), (x * x).sum(1))


def test_vmap_hides_the_batch_axis() -> None:
    seen: list[tuple[int, ...]] = []

    def f(r: Any) -> Any:
        seen.append(r.shape)
        return r

    vmap(f, in_axes=1)(xp.ones((3, 8)))
    assert seen == [(3,)]


def test_in_axes_int_none_and_dict() -> None:
    w, b, x = RNG.standard_normal((3, 2)), RNG.standard_normal((8, 2)), RNG.standard_normal((3, 8))
    f = vmap(lambda p, r: r @ p["w"] + p["b"], in_axes=({"w": None, "b": 0}, 1))
    found = f({"w": xp.asarray(w), "b": xp.asarray(b)}, xp.asarray(x))
    np.testing.assert_allclose(np.asarray(found), x.T @ w + b)


def test_out_axes() -> None:
    assert vmap(lambda r: r, out_axes=1)(xp.ones((8, 3))).shape == (3, 8)


def test_nested_vmap() -> None:
    x = RNG.standard_normal((4, 5, 3))
    found = vmap(vmap(lambda r: r / xp.sum(r)))(xp.asarray(x))
    np.testing.assert_allclose(np.asarray(found), x / x.sum(2, keepdims=True))


def test_the_broadcast_problem() -> None:
    x, y = RNG.standard_normal((8, 3)), RNG.standard_normal(3)
    found = vmap(lambda a, b: a + b, in_axes=(0, None))(xp.asarray(x), xp.asarray(y))
    np.testing.assert_allclose(np.asarray(found), x + y)


def test_compile_does_not_run_python_again() -> None:
    runs: list[int] = []

    @compile
    def f(x: Any, y: Any) -> Any:
        runs.append(1)
        return xp.sin(x) * y

    for k in range(3):
        x = RNG.standard_normal(4)
        np.testing.assert_allclose(np.asarray(f(xp.asarray(x), xp.asarray(x + k))), np.sin(x) * (x + k))
    assert len(runs) == 1
    assert f.cache_info().hits == 2


def test_the_key_has_shapes_dtypes_static_values_and_structure() -> None:
    runs: list[int] = []

    @compile(static_argnames=("power",))
    def f(tree: Any, power: int = 2) -> Any:
        runs.append(1)
        return tree["x"] ** power

    for tree, power in [
        ({"x": xp.ones(3)}, 2),
        ({"x": xp.ones(4)}, 2),
        ({"x": xp.ones(3, dtype=xp.float32)}, 2),
        ({"x": xp.ones(3)}, 3),
        ({"x": xp.ones(3), "y": xp.ones(1)}, 2),
    ]:
        f(tree, power=power)
        f(tree, power=power)
    assert len(runs) == 5


def test_dynamic_dims() -> None:
    runs: list[tuple[int, ...]] = []

    @compile(dynamic_dims={0: {0: "batch"}})
    def f(x: Any, w: Any) -> Any:
        runs.append(x.shape)
        return xp.mean(xp.tanh(x @ w), axis=0)

    w = RNG.standard_normal((3, 2))
    f(xp.ones((4, 3)), xp.asarray(w))
    first = len(runs)
    for n in (2, 7, 64):
        x = RNG.standard_normal((n, 3))
        np.testing.assert_allclose(np.asarray(f(xp.asarray(x), xp.asarray(w))), np.tanh(x @ w).mean(0))
    assert len(runs) == first
    assert f.cache_info().hits == 3


def test_mixed_outputs() -> None:
    @compile
    def f(x: Any) -> Any:
        return {"y": x * 2, "n": 3, "name": "text", "none": None}

    for k in (1.0, 2.0):
        out = f(xp.asarray([k]))
        assert (out["n"], out["name"], out["none"]) == (3, "text", None)
        np.testing.assert_allclose(np.asarray(out["y"]), [2 * k])


def test_side_effects_are_detected() -> None:
    def f(x: Any) -> Any:
        return x * 2 if float(xp.sum(x)) > 0 else x

    with pytest.raises(TypeError, match=r"test_seed_000_transforms\.py"):
        compile(f, fullgraph=True)(xp.ones(3))
    loose = compile(f)
    np.testing.assert_allclose(np.asarray(loose(xp.ones(3))), 2.0)
    np.testing.assert_allclose(np.asarray(loose(-xp.ones(3))), -1.0)
    assert loose.cache_info().fallbacks == 2


def test_the_cache_is_bounded() -> None:
    f = compile(lambda x: x + 1, maxsize=2)
    for n in (1, 2, 3, 1):
        f(xp.ones(n))
    info = f.cache_info()
    assert info.currsize == 2
    assert info.misses == 4


def test_vmap_and_compile_in_both_orders() -> None:
    x = RNG.standard_normal((5, 3))

    def f(r: Any) -> Any:
        return xp.sum(xp.exp(r))

    for g in (compile(vmap(f)), vmap(compile(f))):
        for _ in range(2):
            np.testing.assert_allclose(np.asarray(g(xp.asarray(x))), np.exp(x).sum(1))
