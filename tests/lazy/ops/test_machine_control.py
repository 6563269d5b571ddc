"""Loops and branches of batches by machine code: entries that go other ways, and those that are done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import transforms
from nabla_array._lazy.native import compiled
from nabla_array._lazy.run import hot
from nabla_array.transforms import cond, grad, scan, switch, vmap, while_loop


def collatz(n: Any) -> Any:
    return while_loop(
        lambda s: s[0] != 1,
        lambda s: (xp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1),
        (n, xp.asarray(0)),
    )[1]


def digits(n: Any) -> Any:
    """Return a sum over the digits of a number, of what a loop in the loop does with each."""

    def halved(d: Any) -> Any:  # without end for what is below 0
        return while_loop(lambda s: (s[0] != 0) & (s[0] != 1), lambda s: (s[0] // 2, s[1] + 1), (d, d * 0))[1]

    return while_loop(
        lambda s: s[0] > 0, lambda s: (s[0] // 10 - (s[0] < 10), s[1] + halved(s[0] % 10)), (n, n * 0)
    )[1]


def logs(x: Any, w: Any) -> Any:
    """Return a walk that looks at nothing but what is above 0."""

    def step(c: Any, _: Any) -> Any:
        c = cond(c > 0, lambda: xp.log(c) * w[0], lambda: 1 - c * w[1])
        return c, c

    return scan(step, x, None, length=5)[1]


def chosen(k: Any, x: Any) -> Any:
    ways = [xp.sin, lambda c: c * c, lambda c: 1 / c]
    return scan(lambda c, _: (switch(k, ways, c), None), x, None, length=3)[0]


X, K, W = np.linspace(-2, 3, 11), np.arange(11) % 3, np.array([0.7, 1.3])


@pytest.mark.skipif(compiled is None, reason="machine code calls the compiled module")
@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (vmap(collatz), [np.arange(1, 40)]),
        (vmap(vmap(collatz)), [np.arange(1, 13).reshape(3, 4)]),
        (vmap(digits), [np.arange(0, 300, 7)]),
        (vmap(logs, in_axes=(0, None)), [X, W]),
        (grad(lambda x, w: xp.sum(vmap(logs, in_axes=(0, None))(x, w)), argnums=(0, 1)), [X, W]),
        (vmap(chosen), [K, X]),
        (vmap(chosen, in_axes=(0, None)), [K, np.float64(0.3)]),
        (vmap(grad(chosen, argnums=1)), [K, X]),
        (lambda k, x: transforms.jvp(lambda x: vmap(chosen)(k, x), (x,), (x,)), [K, X.astype(np.float32)]),
        (vmap(chosen), [K[:0], X[:0]]),
    ],
)
def test_batches(function: Any, inputs: list[Any]) -> None:
    given = [xp.asarray(x) for x in inputs]
    with xp.config(mode="host"):
        wanted = [np.asarray(y) for y in transforms.tree_leaves(function(*given))]
    hot.hot_of.cache_clear()
    with xp.config(mode="auto", compile_after=0):
        for _ in range(3):
            found = [np.asarray(y) for y in transforms.tree_leaves(function(*given))]
            hot.wait_for_compilers()
            for y, w in zip(found, wanted, strict=True):
                np.testing.assert_allclose(y, w, rtol=1e-6 if y.dtype == np.float32 else 1e-12)
    assert all(h.turns or not h.message for h in hot.hots() if h.state != "cold")
