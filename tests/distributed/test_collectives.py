"""What the steps of an MLP move: the textbook's minimum for each way to cut it, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, shard, simulate
from nabla_array.distributed.merging import Moves
from nabla_array.distributed.partition import Partition
from nabla_array.distributed.spmd import grouped
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


def steps(p: Partition) -> list[tuple[str, int]]:
    """Return what each step between devices is called, and how many values it moves."""
    found = [some for some in grouped(p) if isinstance(some, Moves)]
    return [(some.kind, len(some.made)) for some in found if some.kind != "spread"]


@meshes
def test_gradients_and_the_loss_move_in_one_step(many: int) -> None:
    def step(*args: Any) -> Any:
        value, grads = value_and_grad(loss, argnums=(2, 3))(*args)
        return value, *grads

    p = parted(step, DeviceMesh(many, "dp"), *zip(SHAPES, [P("dp"), P("dp"), P(), P()], strict=True))
    assert steps(p) == [("all_reduce", 3)]


def test_what_is_needed_late_waits_for_what_is_ready_late() -> None:
    """Gradients go along `dp` at the end, however many steps along `tp` lie in between."""

    def deep(x: Any, target: Any, w1: Any, w2: Any) -> Any:
        return loss(xp.tanh(x @ w1) @ w2, target, w1 * 2, w2 * 2)

    specs = [P("dp"), P("dp"), P(None, "tp"), P("tp")]
    operands = [*zip(SHAPES, specs, strict=True)]
    p = parted(lambda *args: grad(deep, argnums=(2, 3))(*args), DeviceMesh((2, 4), ("dp", "tp")), *operands)
    *along_tp, along_dp = steps(p)
    assert along_tp == [("all_reduce", 1)] * 3
    assert along_dp == ("all_reduce", 2)


@pytest.mark.parametrize("columns", [4, 1 << 13])
def test_a_sum_goes_with_what_its_quotient_waits_for(columns: int) -> None:
    """Means of groups: small sums are taken along with the counts, large ones as late as may be."""
    member, x, mesh = np.ones((16, 8)), np.ones((16, columns)), DeviceMesh(4, "i")

    def means(member: Any, x: Any) -> Any:
        return (member.T @ x) / xp.sum(member, axis=0)[:, None]

    p = parted(means, mesh, (member, P("i")), (x, P("i")))
    is_small = columns == 4
    assert steps(p) == ([("all_reduce", 2)] if is_small else [("all_reduce", 1)] * 2)
    p = parted(lambda *args: xp.sum(means(*args)), mesh, (member, P("i")), (x, P("i")))
    assert sum(n for _, n in moved(p)) == 1.5 * 8 * (8 + (8 * columns if is_small else 1))


def test_what_does_not_go_together() -> None:
    """Numbers of two kinds, sums and extremes, and other devices."""
    x, mesh = np.ones((8, 8)), DeviceMesh((2, 2), ("a", "b"))

    def f(x: Any) -> Any:
        small = xp.astype(x, xp.float32)
        return (
            xp.sum(x, axis=0),
            xp.max(x, axis=0),
            xp.sum(x, axis=1),
            xp.sum(small, axis=0),
            xp.prod(x, axis=0),
        )

    assert steps(parted(f, mesh, (x, P("a", "b")))) == [("all_reduce", 1)] * 5


def test_halos_of_several_arrays_move_in_one_step() -> None:
    x = np.ones((16, 3))
    p = parted(lambda x, y: (x[1:] + x[:-1], y[1:] * y[:-1]), DeviceMesh(4, "a"), (x, P("a")), (x, P("a")))
    assert steps(p) == [("ppermute", 2)]


def test_values_of_one_step_share_its_latency() -> None:
    mesh = DeviceMesh(4, "i")
    x = shard(np.ones((8, 6)), mesh, P("i"))
    xp.eval(x)
    free = {"flops": 1e30, "memory_bandwidth": 1e30, "latency": 1.0, "bandwidth": 1.0}
    one, two = (
        simulate(f, 4, x, **free).collectives
        for f in (lambda x: xp.sum(x, axis=0), lambda x: (xp.sum(x, axis=0), xp.sum(x * 2, axis=0)))
    )
    assert [len(one), len(two)] == [1, 1]
    assert two[0].nbytes == 2 * one[0].nbytes
    assert two[0].seconds == one[0].seconds + one[0].nbytes
    told = xp.explain([xp.sum(x, axis=0), xp.sum(x * 2, axis=0)]).steps[-1]
    assert told.kind == "all_reduce"
    assert told.reads == two[0].nbytes
    assert [row.split()[2] for row in told.moved] == ["reduce_sum,"] * 2


@given(st.data())
def test_steps_stay_in_order(data: st.DataObject) -> None:
    """Sums that need other sums, and some that do not, whatever the order of what reads them."""
    mesh = DeviceMesh((2, 2), ("a", "b"))

    def f(x: Any) -> Any:
        values = [x]
        for _ in range(data.draw(st.integers(1, 6))):
            value, other = (data.draw(st.sampled_from(values)) for _ in range(2))
            axis = data.draw(st.sampled_from([0, 1, (0, 1)]))
            values.append(value * 0.5 - other + xp.mean(value, axis=axis, keepdims=True))
        return tuple(data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=3)))

    p = parted(f, mesh, (X[:4, :4], P("a", "b")))
    known = {*range(len(p.program.inputs))}
    for some in grouped(p):
        assert known.issuperset(some.inputs)
        known.update(some.outputs)
    assert known.issuperset(p.outputs)
    assert sum(len(some.made) for some in grouped(p) if isinstance(some, Moves)) == len(
        [m for m in p.made if hasattr(m, "value")]
    )
