"""Examples of a batch in branches and loops: what they share stays one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import cond, fori_loop, grad, jacrev, jvp, scan, switch, vmap, while_loop

W = np.arange(12.0).reshape(3, 4) / 10
X = np.asarray([0.5, -1.0, 2.0])


def _by_cond(w: Any, x: Any) -> Any:
    return cond(x > 0, lambda w, x: (w, x + xp.sum(w)), lambda w, x: (w, x * 2), w, x)


def _by_switch(w: Any, x: Any) -> Any:
    ways = [lambda w, x: (w, x), lambda w, x: (w, x * xp.sum(w)), lambda w, x: (w, -x)]
    return switch(xp.astype(x, xp.int64), ways, w, x)


def _by_while(w: Any, x: Any) -> Any:
    return while_loop(lambda s: s[1] < 3, lambda s: (s[0], s[1] + xp.sum(s[0])), (w, x))


def _by_counted_while(w: Any, x: Any) -> Any:
    body = lambda s: (s[0] + 1, s[1], s[2] + xp.sum(s[1]))  # noqa: E731
    return while_loop(lambda s: s[0] < 3, body, (0, w, x))[1:]


def _by_scan(w: Any, x: Any) -> Any:
    return scan(lambda s, _: ((s[0], s[1] + xp.sum(s[0])), None), (w, x), length=3)[0]


def _by_fori(w: Any, x: Any) -> Any:
    return fori_loop(0, 3, lambda i, s: (s[0], s[1] + xp.sum(s[0]) * i), (w, x))


def _nested(w: Any, x: Any) -> Any:
    def step(s: Any, _: Any) -> Any:
        w, x = _by_while(*_by_cond(*s))
        return (w, x - 3), None

    return scan(step, (w, x), length=3)[0]


FUNCTIONS = [_by_cond, _by_switch, _by_while, _by_counted_while, _by_scan, _by_fori, _nested]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_what_is_handed_on_is_the_same_for_all_examples(f: Callable[..., Any]) -> None:
    w, y = vmap(f, (None, 0), (None, 0))(xp.asarray(W), xp.asarray(X))
    np.testing.assert_array_equal(w, W)
    np.testing.assert_allclose(y, [f(xp.asarray(W), x)[1] for x in X])


@pytest.mark.parametrize("f", FUNCTIONS)
def test_what_is_handed_on_and_batched(f: Callable[..., Any]) -> None:
    both = vmap(vmap(f, (None, 0), (None, 0)), (0, None))
    w, y = both(xp.asarray(W), xp.asarray(X))
    np.testing.assert_array_equal(w, W)
    np.testing.assert_allclose(y, [[f(row, x)[1] for x in X] for row in xp.asarray(W)])


@pytest.mark.parametrize("f", [_by_cond, _by_switch, _by_scan, _by_fori])
def test_derivatives_by_what_is_handed_on(f: Callable[..., Any]) -> None:
    def total(w: Any, x: Any) -> Any:
        w, y = f(w, x)
        return xp.sum(w * w) + y * y

    shared = grad(lambda w, xs: xp.sum(vmap(total, (None, 0))(w, xs)))(xp.asarray(W), xp.asarray(X))
    np.testing.assert_allclose(shared, sum([np.asarray(grad(total)(xp.asarray(W), x)) for x in X]))
    tangent = jvp(lambda w: vmap(total, (None, 0))(w, xp.asarray(X)), (xp.asarray(W),), (xp.asarray(W),))[1]
    each = jacrev(lambda w: vmap(total, (None, 0))(w, xp.asarray(X)))(xp.asarray(W))
    np.testing.assert_allclose(tangent, np.tensordot(np.asarray(each), W, axes=2))


@pytest.mark.parametrize("f", [_by_while, _by_counted_while, _by_scan, _by_fori])
def test_what_is_handed_on_is_no_carry(f: Callable[..., Any]) -> None:
    _, y = f(xp.asarray(W), xp.asarray(X)[0])
    loop = y._node.inputs[0]
    carried = [n.aval.shape for n in loop.inputs[: loop.params["carry"]]]
    assert W.shape not in carried


def test_a_loop_that_hands_on_everything() -> None:
    w = xp.asarray(W)
    found = scan(lambda s, x: (s, x), w, xp.asarray(X))
    np.testing.assert_array_equal(found[0], W)
    np.testing.assert_array_equal(found[1], X)
    np.testing.assert_array_equal(while_loop(lambda s: s[0] > 2, lambda s: s, (xp.asarray(1.0), w))[1], W)
    np.testing.assert_array_equal(cond(xp.asarray(True), lambda w: w, lambda w: w, w), W)
    assert cond(True, lambda w: w, lambda w: w, w) is not w


def test_what_is_written_to_is_not_handed_on() -> None:
    def body(s: Any, _: Any) -> Any:
        s[0] = s[1] + 1
        return s, None

    x = xp.asarray(X)
    np.testing.assert_array_equal(scan(body, x, length=2)[0], [0, -1, 2])
    np.testing.assert_array_equal(x, X)
    found = vmap(lambda x: cond(x[0] > 0, lambda x: x, lambda x: body(x, None)[0], x))(xp.asarray(W - 0.3))
    np.testing.assert_allclose(found[:, 0], [0.8, 0.1, 0.5])
