"""Threads that compute on one mesh: their evaluations run at one time, and none disturbs another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, reshard, shard
from nabla_array.transforms import grad

from .together import THREADS, together


@pytest.fixture(scope="module")
def mesh() -> DeviceMesh:
    return DeviceMesh((4,), ("x",))


def test_programs_of_their_own(mesh: DeviceMesh) -> None:
    def work(t: int) -> None:
        rng = np.random.default_rng(t)
        for k in range(10):
            x, y = rng.standard_normal((2, 16, 8 + k))
            a, b = shard(xp.asarray(x), mesh, P("x")), shard(xp.asarray(y), mesh, P(None, None))
            z = xp.sqrt(a * a + 1.0) - b
            z[k % 16] = float(t)
            wanted = np.sqrt(x * x + 1.0) - y
            wanted[k % 16] = t
            np.testing.assert_allclose(np.asarray(xp.sum(z, axis=0)), wanted.sum(0), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(np.asarray(z.T @ b), wanted.T @ y, rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(np.asarray(xp.sort(z, axis=0)), np.sort(wanted, axis=0))

    together(work)


def test_an_array_that_all_read_while_it_is_pending(mesh: DeviceMesh) -> None:
    values = np.random.default_rng(0).standard_normal((16, 40))
    for _ in range(5):
        shared = xp.exp(shard(xp.asarray(values), mesh, P("x"))) + 1.0

        def work(t: int, shared: Any = shared) -> None:
            np.testing.assert_allclose(np.asarray(shared[t]), np.exp(values[t]) + 1.0)
            np.testing.assert_allclose(float(xp.sum(shared * t)), (np.exp(values) + 1.0).sum() * t)
            again = reshard(shared, P(None, "x"))
            np.testing.assert_allclose(np.asarray(again * 2.0), (np.exp(values) + 1.0) * 2.0)

        together(work)


def test_disjoint_rows_are_all_written(mesh: DeviceMesh) -> None:
    for _ in range(5):
        out = shard(xp.zeros((THREADS, 500)), mesh, P("x")) + 0.0

        def work(t: int, out: Any = out) -> None:
            for k in range(3):
                out[t] = out[t] + (t + 1.0) * k

        together(work)
        np.testing.assert_array_equal(
            np.asarray(out), np.repeat(np.arange(THREADS)[:, None] + 1.0, 500, 1) * 3
        )


def test_gradients_beside_the_hosts_arrays(mesh: DeviceMesh) -> None:
    weights = np.random.default_rng(1).standard_normal((16, 3))

    def work(t: int) -> None:
        w = xp.asarray(weights) * (t + 1.0)
        for _ in range(5):
            x = shard(xp.asarray(weights), mesh, P("x")) if t % 2 else xp.asarray(weights)
            found = grad(lambda w, x=x: xp.sum((w * x) ** 2))(w)
            np.testing.assert_allclose(np.asarray(found), 2 * weights**3 * (t + 1.0), rtol=1e-12)

    together(work)
