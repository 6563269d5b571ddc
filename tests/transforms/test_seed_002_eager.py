"""The features of seed 002, "Eager Module Architecture", as a user sees them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._namespace.core.array import current
from nabla_array.transforms import grad, jvp, tree_flatten, tree_unflatten, vjp, vmap

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4))


@pytest.mark.usefixtures("recorded")
def test_arrays_are_unrealized_until_somebody_looks() -> None:
    y = xp.sin(xp.asarray(X)) + 1
    assert current(y).value is None
    np.testing.assert_allclose(np.asarray(y), np.sin(X) + 1)
    assert current(y).value is not None


def test_what_is_not_needed_is_not_kept() -> None:
    y = xp.sin(xp.asarray(X)) + 1
    np.asarray(y)
    assert current(y).inputs == ()


def test_forward_mode() -> None:
    y, t = jvp(lambda x: xp.exp(x) * x, (xp.asarray(X),), (xp.ones((3, 4)),))
    np.testing.assert_allclose(np.asarray(y), np.exp(X) * X)
    np.testing.assert_allclose(np.asarray(t), np.exp(X) * (X + 1))


def test_reverse_mode() -> None:
    _, pullback = vjp(lambda x, y: x * y, xp.asarray(X), xp.asarray(2 * X))
    a, b = pullback(xp.ones((3, 4)))
    np.testing.assert_allclose(np.asarray(a), 2 * X)
    np.testing.assert_allclose(np.asarray(b), X)


def test_pytrees_of_mixed_arguments_and_several_outputs() -> None:
    class State(NamedTuple):
        w: Any
        n: int

    def f(state: State, scale: float) -> Any:
        first, second = xp.unstack(state.w[:2])
        return {"a": first * scale, "b": (second, state.n)}

    out = f(State(xp.asarray(X), 3), 2.0)
    leaves, tree = tree_flatten(out)
    again = tree_unflatten(tree, leaves)
    assert again["b"][1] == 3
    g = grad(lambda w: xp.sum(f(State(w, 3), 2.0)["a"] ** 2))(xp.asarray(X))
    np.testing.assert_allclose(np.asarray(g)[0], 8 * X[0])
    assert not np.asarray(g)[1:].any()


def test_logical_and_physical_shapes() -> None:
    def f(x: Any) -> Any:
        assert x.shape == (4,)
        assert current(x).aval.shape == (3, 4)
        return x

    vmap(f)(xp.asarray(X))


def test_views_inside_a_batch() -> None:
    def f(x: Any) -> Any:
        y = xp.moveaxis(xp.expand_dims(x, axis=0), 0, 1)
        return xp.squeeze(xp.broadcast_to(y, (4, 1)), axis=1).T

    np.testing.assert_allclose(np.asarray(vmap(f)(xp.asarray(X))), X)


def test_batches_of_both_operands() -> None:
    y = RNG.standard_normal((3, 4))
    found = vmap(lambda a, b: a[:, None] * b)(xp.asarray(X), xp.asarray(y))
    np.testing.assert_allclose(np.asarray(found), X[:, :, None] * y[:, None, :])
