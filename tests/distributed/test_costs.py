"""What steps cost by the model: operations, bytes that are touched, memory, messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, reshard, shard, simulate

MESH = DeviceMesh(4, "i")


def placed(*shape: int) -> Any:
    x = shard(np.ones(shape), MESH, P("i")) * 1
    xp.eval(x)
    return x


FLOPS = {
    "elementwise": (lambda x: x * 2 + 1, 2 * 100 * 8),
    "reduction": (lambda x: xp.sum(x, axis=1), 100 * 8),
    "product": (lambda x: x @ xp.ones((8, 5)), 2 * 100 * 8 * 5),
    "views": (lambda x: xp.broadcast_to(x.T[:, :, None], (8, 400, 7)), 0),
}


@pytest.mark.parametrize(("f", "flops"), FLOPS.values(), ids=FLOPS)
def test_operations(f: Any, flops: float) -> None:
    assert simulate(f, 4, placed(400, 8)).flops == flops


def test_what_is_fused_is_touched_once() -> None:
    x = placed(400, 8)
    (step,) = simulate(lambda x: xp.exp(x) * 2 + x, 4, x).steps
    assert step.touched == 2 * 100 * 8 * 8


def test_memory() -> None:
    x = placed(400, 8)
    part = 100 * 8 * 8
    assert simulate(lambda x: x + 1, 4, x).memory == 2 * part
    whole = simulate(lambda x: reshard(x, P()) + 1, 4, x).memory
    assert whole == part + 4 * part + part  # the sum is cut again


# Messages one after the other, for four devices.
MESSAGES = {
    "all_reduce": (lambda x: xp.sum(x, axis=0), 4),
    "all_gather": (lambda x: reshard(x, P()), 2),
    "all_to_all": (lambda x: reshard(x, P(None, "i")), 3),
    "reduce_scatter": (lambda x: reshard(xp.sum(x, axis=0), P("i")), 2),
    "ppermute": (lambda x: x[1:] + x[:-1], 1),
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_messages(kind: str) -> None:
    f, count = MESSAGES[kind]
    free = {"flops": 1e30, "memory_bandwidth": 1e30, "bandwidth": 1e30}
    (step,) = simulate(f, 4, placed(400, 8), latency=1.0, **free).collectives
    assert step.kind == kind
    assert step.seconds == pytest.approx(count)
