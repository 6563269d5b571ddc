"""What the steps of an MLP move: the textbook's minimum for each way to cut it, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P
from nabla_array.transforms import grad, value_and_grad

from .meshes import moved, parted

ROWS, INNER, HIDDEN = 64, 16, 128
RNG = np.random.default_rng(0)
X, TARGET = RNG.normal(size=(ROWS, INNER)), RNG.normal(size=(ROWS, INNER))
W1, W2 = RNG.normal(size=(INNER, HIDDEN)), RNG.normal(size=(HIDDEN, INNER))
SHAPES = X, TARGET, W1, W2
meshes = pytest.mark.parametrize("many", [2, 4, 8])


def loss(x: Any, target: Any, w1: Any, w2: Any) -> Any:
    return xp.mean((xp.tanh(x @ w1) @ w2 - target) ** 2)


def share(x: np.ndarray, many: int) -> float:
    """What a device receives when each has one of so many parts, and gets the others."""
    return x.nbytes * (many - 1) / many


@meshes
def test_data_parallel(many: int) -> None:
    p = parted(
        lambda *args: grad(loss, argnums=(2, 3))(*args),
        DeviceMesh(many, "dp"),
        *zip(SHAPES, [P("dp"), P("dp"), P(), P()], strict=True),
    )
    assert sorted(moved(p)) == [("all_reduce", 2 * share(w, many)) for w in (W1, W2)]


@meshes
def test_data_parallel_with_the_loss(many: int) -> None:
    def step(*args: Any) -> Any:
        value, grads = value_and_grad(loss, argnums=(2, 3))(*args)
        return value, *grads

    p = parted(step, DeviceMesh(many, "dp"), *zip(SHAPES, [P("dp"), P("dp"), P(), P()], strict=True))
    total = 2 * (share(W1, many) + share(W2, many)) + 2 * 8 * (many - 1) / many
    assert [kind for kind, _ in moved(p)] == ["all_reduce"] * 3
    assert sum(nbytes for _, nbytes in moved(p)) == total


@meshes
def test_tensor_parallel(many: int) -> None:
    p = parted(
        lambda *args: grad(loss, argnums=(0, 2, 3))(*args),
        DeviceMesh(many, "tp"),
        *zip(SHAPES, [P(), P(), P(None, "tp"), P("tp")], strict=True),
    )
    assert moved(p) == [("all_reduce", 2 * share(X, many))] * 2


@meshes
def test_sequence_parallel(many: int) -> None:
    p = parted(
        lambda *args: grad(loss, argnums=(0, 2, 3))(*args),
        DeviceMesh(many, "tp"),
        *zip(SHAPES, [P("tp"), P("tp"), P(None, "tp"), P("tp")], strict=True),
    )
    gather, scatter = ("all_gather", share(X, many)), ("reduce_scatter", share(X, many))
    assert moved(p) == [gather, scatter, gather, scatter]


def test_data_and_tensor_parallel() -> None:
    p = parted(
        lambda *args: grad(loss, argnums=(2, 3))(*args),
        DeviceMesh((2, 4), ("dp", "tp")),
        *zip(SHAPES, [P("dp"), P("dp"), P(None, "tp"), P("tp")], strict=True),
    )
    forwards = 2 * share(X[: ROWS // 2], 4)
    grads = [2 * share(w, 2) / 4 for w in (W1, W2)]
    assert sorted(moved(p)) == sorted([("all_reduce", b) for b in (forwards, *grads)])


def test_a_sum_of_products_is_joined_once() -> None:
    a, b = RNG.normal(size=(16, 64)), RNG.normal(size=(64, 16))
    mesh = DeviceMesh(4, "x")
    p = parted(
        lambda a, b, c: (a @ b + 2.0 * (a @ c)).T - (c.T @ b),
        mesh,
        (a, P(None, "x")),
        (b, P("x")),
        (b + 1, P("x")),
    )
    assert moved(p) == [("all_reduce", 2 * share(a @ b, 4))]
