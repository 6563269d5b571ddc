"""Rules of custom functions that have loops in them, and loops that have such functions in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import (
    cond,
    custom_jvp,
    custom_vjp,
    custom_vmap,
    fori_loop,
    grad,
    jacfwd,
    jacrev,
    jvp,
    scan,
    vjp,
    vmap,
    while_loop,
)

X = np.asarray([[0.3, 0.5, -0.2], [1.1, -0.4, 0.7]])


def _ruled(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function with a rule that is no other than its derivative."""
    made = custom_jvp(f)
    made.defjvp(lambda primals, tangents: jvp(f, primals, tangents))
    return made


def _ruled_backwards(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    made = custom_vjp(f)
    made.defvjp(lambda x: (f(x), x), lambda x, ct: vjp(f, x)[1](ct))
    return made


def _sines(x: Any) -> Any:
    return scan(lambda y, _: (xp.sin(y) * 2, None), x, length=3)[0]


def _counted(x: Any) -> Any:
    return while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, xp.sin(s[1]) * 2), (0, x))[1]


def _chosen(x: Any) -> Any:
    return cond(xp.sum(x) > 0.5, _sines, xp.exp, x)


def _looking(x: Any) -> Any:
    return _sines(x) if xp.sum(x) > 0.7 else xp.exp(x)


@pytest.mark.parametrize("ruled", [_ruled, _ruled_backwards])
@pytest.mark.parametrize("f", [_sines, _chosen, _looking])
def test_rules_with_loops_after_the_vmap_has_ended(
    f: Callable[[Any], Any], ruled: Callable[..., Callable[[Any], Any]]
) -> None:
    x = xp.asarray(X)
    expected = grad(lambda x: xp.sum(vmap(f)(x) ** 2))(x)
    found = grad(lambda x: xp.sum(vmap(ruled(f))(x) ** 2))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.shape(jacrev(vmap(ruled(f)))(x)) == (2, 3, 2, 3)
    np.testing.assert_allclose(jacrev(vmap(ruled(f)))(x), jacrev(vmap(f))(x), rtol=1e-12)


def test_loops_whose_number_of_steps_is_not_known_in_rules() -> None:
    x, v = xp.asarray(X), xp.asarray(X[::-1].copy())
    found = jvp(vmap(_ruled(_counted)), (x,), (v,))[1]
    np.testing.assert_allclose(found, jvp(vmap(_counted), (x,), (v,))[1], rtol=1e-12)
    np.testing.assert_allclose(jacfwd(vmap(_ruled(_counted)))(x), jacfwd(vmap(_counted))(x), rtol=1e-12)


def test_rules_that_find_their_own_bounds_in_loops() -> None:
    def f(x: Any) -> Any:
        return fori_loop(0, xp.floor(xp.sum(xp.tanh(x))) + 3, lambda i, y: xp.sin(y) * 2, x)

    def g(x: Any, f: Callable[[Any], Any]) -> Any:
        return scan(lambda y, _: (f(y), None), x, length=2)[0]

    x, ruled = xp.asarray(X[0]), _ruled(f)
    np.testing.assert_allclose(
        jvp(lambda x: g(x, ruled), (x,), (x,))[1], jvp(lambda x: g(x, f), (x,), (x,))[1], rtol=1e-12
    )


def test_rules_that_derive_the_same_several_times() -> None:
    def twice(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: scan(lambda y, _: (f(y) * 0.5, None), x, length=2)[0]

    def norm(x: Any) -> Any:
        return x * xp.sqrt(xp.sum(x * x) + 1)

    x = xp.asarray(X[0])
    expected = jvp(twice(norm), (x,), (x,))[1]
    for _ in range(4):  # what is derived is kept when it is met for the second time
        np.testing.assert_allclose(jvp(twice(_ruled(norm)), (x,), (x,))[1], expected, rtol=1e-12)


def test_a_custom_vmap_in_a_rule_after_the_vmap_has_ended() -> None:
    asked = []

    @custom_vmap
    def double(x: Any) -> Any:
        return x * 2

    @double.def_vmap
    def rule(size: int, batched: list[bool], x: Any) -> Any:
        asked.append(size)
        return x * 2, True

    h = custom_jvp(lambda x: x * 2)
    h.defjvp(lambda p, t: (double(p[0]), double(t[0])))
    np.testing.assert_allclose(grad(lambda x: xp.sum(vmap(h)(x)))(xp.asarray(X)), np.full((2, 3), 2.0))
    assert 2 in asked
