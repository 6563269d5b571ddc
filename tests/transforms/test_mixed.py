"""Operands that are the same for all examples are not repeated where that can be avoided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._namespace.core.array import current
from nabla_array.transforms import grad, jacfwd, vmap

RNG = np.random.default_rng(0)
A, B, V = RNG.standard_normal((3, 4)), RNG.standard_normal((5, 3, 4)), RNG.standard_normal(4)
CASES: dict[str, tuple[Any, Any]] = {
    "rows": (lambda x: x @ xp.asarray(A).T, B),
    "vector": (lambda x: x @ xp.asarray(V), B),
    "from the left": (lambda x: xp.asarray(A) @ x.T, B),
    "matrix times vector": (lambda x: xp.asarray(A) @ x, B[:, 0]),
    "stack": (lambda x: xp.asarray(B[:2]) @ x.T, B),
    "solve": (lambda x: xp.linalg.solve(xp.asarray(A[:, :3]) + 3 * xp.eye(3), x), B),
    "solve a vector": (lambda x: xp.linalg.solve(xp.asarray(A[:, :3]) + 3 * xp.eye(3), x[:, 0]), B),
    "own matrix": (lambda x: xp.linalg.solve(x[:, :3] + 5 * xp.eye(3), xp.asarray(A)), B),
    "take": (lambda i: xp.asarray(A)[i, 1:], np.asarray([2, 0, 1])),
    "take pairs": (lambda i: xp.asarray(A)[i, i + 1], np.asarray([2, 0, 1])),
    "search": (lambda x: xp.searchsorted(xp.sort(xp.asarray(V)), x), B),
    "among": (lambda x: xp.isin(x, xp.asarray(B[0, 0])), B),
}


@pytest.mark.parametrize("name", CASES)
def test_results(name: str) -> None:
    f, x = CASES[name]
    wanted = np.stack([np.asarray(f(xp.asarray(row))) for row in x])
    np.testing.assert_allclose(np.asarray(vmap(f)(xp.asarray(x))), wanted, rtol=1e-12)
    twice = vmap(vmap(f))(xp.asarray(np.stack([x, x])))
    np.testing.assert_allclose(np.asarray(twice), np.stack([wanted, wanted]), rtol=1e-12)


@pytest.mark.parametrize(
    "name", [n for n in CASES if CASES[n][1].dtype == float and n not in ("search", "among")]
)
def test_derivatives(name: str) -> None:
    f, x = CASES[name]
    wanted = np.stack([np.asarray(jacfwd(f)(xp.asarray(row))) for row in x])
    np.testing.assert_allclose(np.asarray(vmap(jacfwd(f))(xp.asarray(x))), wanted, rtol=1e-10, atol=1e-12)


def sizes(x: Any) -> set[int]:
    """The sizes of everything that is pending below an array."""
    out, stack = set(), [current(x)]
    while stack:
        node = stack.pop()
        out.add(node.aval.size)
        stack.extend(node.inputs)
    return out


def test_nothing_is_as_large_as_a_matrix_for_each_example() -> None:
    w, x = RNG.standard_normal((40, 30)), RNG.standard_normal((200, 40))
    table, i = RNG.standard_normal(1000), np.arange(200)

    def loss(w: Any) -> Any:
        return xp.sum(vmap(lambda r: xp.sum((r @ w) ** 2))(xp.asarray(x)))

    g = grad(loss)(xp.asarray(w))
    assert max(sizes(g)) < 200 * 40 * 30
    np.testing.assert_allclose(np.asarray(g), 2 * x.T @ x @ w, rtol=1e-10)
    g = grad(lambda t: xp.sum(vmap(lambda k: t[k] ** 2)(xp.asarray(i))))(xp.asarray(table))
    assert max(sizes(g)) <= 1000
    np.testing.assert_allclose(np.asarray(g), np.where(np.arange(1000) < 200, 2 * table, 0))
