"""Transforms in many threads: a tape, a batch and a compiled program are one thread's, or safely shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.graph.tape import Tape, taping
from nabla_array._namespace.chapters import sets
from nabla_array._namespace.numpy import uniques
from nabla_array.transforms import compile, grad, jvp, vmap

from .together import beside, together


def loss(w: Any, x: Any) -> Any:
    return xp.sum(xp.tanh(x @ w) ** 2)


@pytest.mark.parametrize("n", [3, 100])
def test_gradients_at_one_time(n: int) -> None:
    x = np.random.default_rng(0).standard_normal((n, n))

    def work(t: int) -> None:
        w = np.random.default_rng(t).standard_normal(n)
        tanh = np.tanh(x @ w)
        wanted = x.T @ (2 * tanh * (1 - tanh**2))
        for _ in range(5):
            np.testing.assert_allclose(
                np.asarray(grad(loss)(xp.asarray(w), xp.asarray(x))), wanted, rtol=1e-9
            )

    together(work)


def test_a_gradient_beside_plain_arithmetic_and_writes() -> None:
    out = xp.zeros(2000)
    count = 0

    def plain() -> None:
        nonlocal count
        count += 1
        out[count % 2000] = 1.0
        y = xp.asarray(np.arange(800.0))
        y += 1.0
        assert float(xp.sum(y * 2.0)) == 800.0 * 801.0

    with beside(plain):
        for k in range(30):
            x = xp.asarray(np.arange(5.0) + k)
            np.testing.assert_array_equal(
                np.asarray(grad(lambda x: xp.sum(x**3))(x)), 3 * (np.arange(5.0) + k) ** 2
            )
    assert float(out.sum()) == min(count, 2000)


def test_batches_at_one_time() -> None:
    def work(t: int) -> None:
        x = np.random.default_rng(t).standard_normal((6, 5))

        def f(row: Any) -> Any:
            y = row * 2.0
            y[0] = float(t)
            return y if row[1] > 0 else -y

        wanted = x * 2.0
        wanted[:, 0] = t
        wanted = np.where(x[:, 1:2] > 0, wanted, -wanted)
        for _ in range(3):
            np.testing.assert_array_equal(np.asarray(vmap(f)(xp.asarray(x))), wanted)

    together(work)


def test_gradients_of_a_batch_and_a_batch_of_gradients() -> None:
    def work(t: int) -> None:
        x = xp.asarray(np.random.default_rng(t).standard_normal((4, 3)))
        each = vmap(grad(lambda v: xp.sum(v**2) * (t + 1)))(x)
        whole = grad(lambda m: xp.sum(vmap(lambda v: xp.sum(v**2))(m)) * (t + 1))(x)
        np.testing.assert_allclose(np.asarray(each), 2 * (t + 1) * np.asarray(x))
        np.testing.assert_allclose(np.asarray(whole), 2 * (t + 1) * np.asarray(x))

    together(work)


def test_tangents_and_a_captured_array_that_another_thread_reads() -> None:
    shared = xp.asarray(np.arange(1000.0)) * 0.5

    def work(t: int) -> None:
        for _ in range(5):
            value, tangent = jvp(lambda s: xp.sum(shared * s), (xp.asarray(2.0),), (xp.asarray(1.0 + t),))
            assert float(value) == 2.0 * 0.5 * 499_500
            assert float(tangent) == (1.0 + t) * 0.5 * 499_500

    together(work)


@pytest.mark.parametrize("size", [4, 3000, 300_000])
def test_one_compiled_function_in_all_threads(size: int) -> None:
    @compile
    def f(x: Any, y: Any) -> Any:
        z = xp.sqrt(x * x + y)
        return z + 1.0, xp.sum(z)

    def work(t: int) -> None:
        x = np.random.default_rng(t).random(size)
        wanted = np.sqrt(x * x + 1.0)
        for _ in range(5):
            z, total = f(xp.asarray(x), xp.ones(size))
            np.testing.assert_allclose(np.asarray(z), wanted + 1.0)
            np.testing.assert_allclose(float(total), wanted.sum())

    together(work)


class Ending(list[Tape]):
    """Tapes of which the last ends when somebody has asked whether any runs."""

    def __bool__(self) -> bool:
        return bool(len(self)) and self.pop() is not None


@pytest.mark.parametrize("name", ["unique", "unique_values", "intersect1d"])
def test_sets_while_another_thread_ends_a_transform(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    operands = [np.asarray([3, 1, 3]), np.asarray([1, 3, 2])][: 1 + (name == "intersect1d")]
    wanted = getattr(np, name)(*operands)
    monkeypatch.setattr(sets, "tapes", Ending([Tape(())]))
    monkeypatch.setattr(uniques, "tapes", Ending([Tape(())]))
    with taping(()):  # nothing is done at once
        found = getattr(xp, name)(*[xp.asarray(x) for x in operands])
    np.testing.assert_array_equal(np.asarray(found), wanted)
