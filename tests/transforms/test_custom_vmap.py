"""Functions that say themselves how they are vectorized."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import compile, custom_vmap, grad, jvp, scan, vmap

calls: list[Any] = []


@custom_vmap
def f(p: Any, x: Any) -> Any:
    return {"y": p["w"] * xp.sin(x), "k": p["k"]}


@f.def_vmap
def _(axis_size: int, in_batched: Any, p: Any, x: Any) -> Any:
    """Say by another factor that the rule was used."""
    calls.append((axis_size, in_batched))
    batched = in_batched[0]["w"] or in_batched[1]
    return {"y": 10 * p["w"] * xp.sin(x), "k": p["k"]}, {"y": batched, "k": in_batched[0]["k"]}


X = xp.asarray([0.5, 1.0, 2.0])


@pytest.fixture(autouse=True)
def _forget() -> None:
    calls.clear()


def test_the_rule_is_for_vmap_alone() -> None:
    assert f({"w": 2.0, "k": 3.0}, 0.5)["y"] == 2 * np.sin(0.5)
    found = vmap(f, in_axes=({"w": None, "k": 0}, 0))({"w": 2.0, "k": X}, X)
    np.testing.assert_allclose(found["y"], 20 * np.sin(np.asarray(X)))
    np.testing.assert_array_equal(found["k"], X)
    assert calls == [(3, [{"w": False, "k": True}, True])]
    assert vmap(f, in_axes=None, axis_size=2)({"w": 2.0, "k": 3.0}, 0.5)["y"].shape == (2,)
    assert len(calls) == 1


def test_rules_of_several_levels() -> None:
    table = xp.stack([X, 2 * X])
    p = {"w": 1.0, "k": 0.0}
    found = vmap(vmap(lambda x: f(p, x)["y"]))(table)
    np.testing.assert_allclose(found, 10 * np.sin(np.asarray(table)))
    assert calls == [(3, [{"w": False, "k": False}, True])]
    outer = vmap(lambda w: vmap(lambda x: f({"w": w, "k": 0.0}, x)["y"])(X))(X)
    np.testing.assert_allclose(outer, 10 * np.outer(np.asarray(X), np.sin(np.asarray(X))))
    assert calls[1] == (3, [{"w": False, "k": False}, True])


def test_rules_inside_of_other_transforms() -> None:
    p = {"w": 1.0, "k": 0.0}
    ten_cos = 10 * np.cos(np.asarray(X))
    np.testing.assert_allclose(vmap(grad(lambda x: f(p, x)["y"]))(X), ten_cos)
    np.testing.assert_allclose(grad(lambda x: vmap(lambda x: f(p, x)["y"])(x).sum())(X), ten_cos)
    np.testing.assert_allclose(jvp(vmap(lambda x: f(p, x)["y"]), (X,), (xp.ones(3),))[1], ten_cos)
    np.testing.assert_allclose(compile(vmap(lambda x: f(p, x)["y"]))(X), 10 * np.sin(np.asarray(X)))
    found = vmap(lambda x: scan(lambda c, _: (f(p, c)["y"], None), x, None, length=2)[0])(X)
    np.testing.assert_allclose(found, 10 * np.sin(10 * np.sin(np.asarray(X))))


def test_what_rules_must_give() -> None:
    g = custom_vmap(lambda x: x)
    assert g(1.0) == 1.0
    with pytest.raises(AttributeError, match="no rule yet"):
        vmap(g)(X)
    g.def_vmap(lambda n, flags, x: x)
    with pytest.raises(TypeError, match="must return"):
        vmap(g)(X)
    g.def_vmap(lambda n, flags, x: (x[:2], True))
    with pytest.raises(ValueError, match=r"shape \(2,\) is batched, but there are 3"):
        vmap(g)(X)


def test_arguments_by_name() -> None:
    @custom_vmap
    def scaled(x: Any, factor: Any = 2.0) -> Any:
        return x * factor

    @scaled.def_vmap
    def _(axis_size: int, in_batched: Any, x: Any, factor: Any) -> Any:
        assert in_batched == [True, False]
        return 10 * x * factor, True

    assert float(scaled(x=X[0], factor=3.0)) == 1.5
    np.testing.assert_array_equal(vmap(lambda x: scaled(factor=3.0, x=x))(X), 30 * np.asarray(X))
    np.testing.assert_array_equal(vmap(scaled)(X), 20 * np.asarray(X))
