"""Derivatives of high order along curves, against derivatives of derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import (
    compile,
    cond,
    custom_jvp,
    fori_loop,
    grad,
    jet,
    jvp,
    scan,
    trace,
    tree_map,
    vmap,
    while_loop,
)

X = np.array([0.3, 0.7])
TERMS = [np.array(t) for t in ([1.0, -0.5], [0.2, 0.3], [0.0, 1.0], [0.1, 0.0])]
W = np.array([[0.5, -0.2], [0.1, 0.9]])

doubled = custom_jvp(lambda x: x**2)
doubled.defjvp(lambda p, t: (doubled(*p), 4 * t[0] * p[0]))

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sin": xp.sin,
    "tanh": xp.tanh,
    "log": xp.log,
    "division": lambda x: x / (1 + x * x),
    "reciprocal": lambda x: 1 / x,
    "power": lambda x: x**3,
    "network": lambda x: xp.tanh(xp.asarray(W) @ xp.tanh(xp.asarray(W) @ x)),
    "reductions": lambda x: xp.sum(xp.exp(x)) * xp.max(x) + xp.prod(x),
    "branch": lambda x: x * x if x[0] > 0 else -x,
    "tree": lambda x: {"a": x * x, "b": (xp.cos(x), 3.0)},
    "constant": lambda x: xp.ones(2),
    "rounded": lambda x: xp.round(x) * x,
    "solve": lambda x: xp.linalg.solve(xp.asarray(W) + xp.eye(2) * x[0], x),
    "scan": lambda x: scan(lambda c, y: (c * y + xp.sin(c), c), x[0], x),
    "fori_loop": lambda x: fori_loop(0, 3, lambda i, c: xp.sin(c) * x, x),
    "while_loop": lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x))[1],
    "cond": lambda x: cond(x[0] > 0, lambda x: x**2, xp.sin, x),
    "custom": lambda x: doubled(x) * x,
}


def nested(f: Any) -> list[Any]:
    """The derivatives of f along the curve, one of the other."""

    def along(t: Any) -> Any:
        terms = [xp.asarray(s) * t**i / math.factorial(i) for i, s in enumerate(TERMS, 1)]
        return f(xp.asarray(X) + sum(terms))

    found = []
    for _ in TERMS:
        along = (lambda g: lambda t: jvp(g, (t,), (1.0,))[1])(along)
        found.append(along(0.0))
    return found


def close(a: Any, b: Any) -> None:
    tree_map(
        lambda x, y: np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-9, atol=1e-9), a, b
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_series_are_derivatives_of_derivatives(name: str) -> None:
    f = FUNCTIONS[name]
    value, terms = jet(f, (xp.asarray(X),), ([xp.asarray(t) for t in TERMS],))
    close(value, f(xp.asarray(X)))
    for k, wanted in enumerate(nested(f)):
        close(tree_map(lambda like, found, k=k: found[k], value, terms), wanted)


def test_coefficients_and_derivatives() -> None:
    series = ([1.0, 0.0, 0.0, 0.0],)
    _, derivatives = jet(xp.exp, (0.0,), series)
    _, coefficients = jet(xp.exp, (0.0,), series, factorial_scaled=False)
    assert [float(x) for x in derivatives] == pytest.approx([1.0] * 4)
    assert [float(x) for x in coefficients] == pytest.approx([1.0, 1 / 2, 1 / 6, 1 / 24])
    value, terms = jet(lambda x, y: x * y["y"], (2.0, {"y": 3.0}), ([1.0], [{"y": 1.0}, {"y": 5.0}]))
    assert (value, [float(t) for t in terms]) == (6.0, [5.0, 12.0])


def test_series_within_other_transforms() -> None:
    def third(x: Any) -> Any:
        return jet(xp.sin, (x,), ([xp.ones_like(x), 0 * x, 0 * x],))[1][2]

    x = xp.asarray(X)
    close(vmap(third)(x), -np.cos(X))
    close(compile(third)(x), -np.cos(X))
    close(vmap(grad(third))(x), np.sin(X))
    close(grad(lambda x: vmap(third)(x).sum())(x), np.sin(X))
    close(jvp(third, (x,), (x,))[1], X * np.sin(X))
    close(jet(third, (x,), ([x],))[1][0], X * np.sin(X))


def test_the_cost_does_not_double_with_each_order() -> None:
    def lines(order: int) -> int:
        series = ([1.0] + [0.0] * order,)
        return len(str(trace(lambda x: jet(lambda x: xp.tanh(x) / (1 + xp.exp(x)), (x,), series), 0.3)))

    assert lines(16) < 5 * lines(8)


def test_what_series_must_be() -> None:
    with pytest.raises(ValueError, match="jet: 1 series for 2 primals"):
        jet(lambda x, y: x, (1.0, 2.0), ([1.0],))
    with pytest.raises(ValueError, match="jet: a derivative of shape"):
        jet(xp.sin, (1.0,), ([xp.ones(2)],))
    with pytest.raises(ValueError, match="jet: series: structures differ"):
        jet(lambda x: x[0], ((1.0,),), ([1.0],))
    with pytest.raises(TypeError, match="jet: a primal is int64"):
        jet(xp.sin, (1,), ([1],))
