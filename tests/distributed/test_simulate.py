"""Simulated programs: steps and bytes of the real partitioner, times by the model, up to 4,096 devices."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, ShardingError, psum, shard, shard_map, simulate
from nabla_array.transforms import grad, tree_map, vmap

MESH = DeviceMesh((2, 2), ("dp", "tp"))
RNG = np.random.default_rng(0)


def placed(shape: tuple[int, ...], spec: P, mesh: DeviceMesh = MESH) -> Any:
    x = shard(RNG.normal(size=shape), mesh, spec) * 1
    xp.eval(x)
    return x


def mlp(params: Any, x: Any, y: Any) -> Any:
    for w, b in params:
        x = xp.tanh(x @ w + b)
    return xp.mean((x - y) ** 2)


def train(params: Any, x: Any, y: Any) -> Any:
    found = grad(mlp)(params, x, y)
    return [(w - 0.1 * gw, b - 0.1 * gb) for (w, b), (gw, gb) in zip(params, found, strict=True)]


def stencil(u: Any) -> Any:
    for _ in range(3):
        u = xp.concat([u[:1], u[1:-1] + 0.1 * (u[2:] + u[:-2] - 2 * u[1:-1]), u[-1:]])
    return u


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {
    "gram": (lambda x: x.T @ x, lambda: (placed((9, 4), P("dp")),)),
    "chain": (lambda x: xp.exp(x * 2) + 1, lambda: (placed((9, 4), P("dp", "tp")),)),
    "softmax": (
        lambda x: xp.exp(x) / xp.sum(xp.exp(x), axis=1, keepdims=True),
        lambda: (placed((8, 6), P("dp", "tp")),),
    ),
    "data parallel": (
        train,
        lambda: (
            [(placed((6, 6), P()), placed((6,), P())) for _ in range(2)],
            placed((8, 6), P(("dp", "tp"))),
            placed((8, 6), P(("dp", "tp"))),
        ),
    ),
    "tensor parallel": (
        train,
        lambda: (
            [
                (placed((6, 6), P(None, "tp")), placed((6,), P("tp"))),
                (placed((6, 6), P("tp")), placed((6,), P())),
            ],
            placed((8, 6), P("dp")),
            placed((8, 6), P("dp")),
        ),
    ),
    "stencil": (stencil, lambda: (placed((16, 3), P("dp")),)),
    "resharded": (
        lambda x: shard(shard(x, MESH, P(None, "dp")) + 1, MESH, P("tp")),
        lambda: (placed((8, 6), P("dp")),),
    ),
    "psum": (
        vmap(lambda x: x - psum(x, "dp"), spmd_axis_name="dp"),
        lambda: (placed((8, 6), P()),),
    ),
}


@pytest.mark.parametrize(("program", "arguments"), PROGRAMS.values(), ids=PROGRAMS)
def test_the_steps_are_those_of_the_real_mesh(program: Any, arguments: Any) -> None:
    args = arguments()
    simulated = simulate(program, (2, 2), *args)
    pending = program(*args)
    told = xp.explain(pending)
    assert [s.kind for s in simulated.steps] == [s.kind for s in told.steps]
    assert [round(s.nbytes) for s in simulated.steps] == [s.reads for s in told.steps]
    assert simulated.seconds > 0
    assert simulate(pending, (2, 2)).nbytes == simulated.nbytes


def test_data_parallel_training_scales_as_the_textbook_says() -> None:
    mesh = DeviceMesh(2, "dp")
    width, each = 64, 32
    sizes = (1, 2, 16, 256, 4096)
    found = []
    for n in sizes:
        params = [(shard(xp.zeros((width, width)), mesh), shard(xp.zeros(width), mesh)) for _ in range(3)]
        xp.eval(params)
        x, y = (shard(xp.zeros((n * each, width)), mesh, P("dp")) for _ in range(2))
        found.append(simulate(train, n, params, x, y))
    parameters = 3 * (width * width + width) * 8
    for n, s in zip(sizes, found, strict=True):
        assert s.nbytes == pytest.approx(2 * parameters * (n - 1) / n)
        # Weak scaling: a device has as much to do, however many there are.
        assert s.flops == pytest.approx(found[1].flops, rel=0.02)
        assert s.memory == pytest.approx(found[1].memory, rel=0.02)
    assert found[-1].seconds > found[1].seconds
    assert found[-1].mesh.size == 4096


@pytest.mark.parametrize("shape", [(4, 4), (64, 8), (512, 8)], ids=str)
def test_tensor_parallel_training_moves_what_the_textbook_says(shape: tuple[int, int]) -> None:
    """A block, as in Megatron: its first weights cut by columns, its second ones by rows."""
    dp, tp = shape
    width, each = 256, 64

    def model(params: Any, x: Any) -> Any:
        for w, b, v, c in params:
            x = xp.tanh(x @ w + b) @ v + c
        return xp.sum(x**2)

    def step(params: Any, x: Any) -> Any:
        return tree_map(lambda p, g: p - 0.1 * g, params, grad(model)(params, x))

    block = [
        shard(xp.zeros((width, 4 * width)), MESH, P(None, "tp")),
        shard(xp.zeros(4 * width), MESH, P("tp")),
        shard(xp.zeros((4 * width, width)), MESH, P("tp")),
        shard(xp.zeros(width), MESH),
    ]
    found = simulate(step, shape, [block] * 2, shard(xp.zeros((dp * each, width)), MESH, P("dp")))
    # A sum of activations for each block there, and for each but the first one back; then the gradients.
    activations = 3 * 2 * each * width * 8 * (tp - 1) / tp
    gradients = 2 * 2 * (2 * 4 * width * width // tp) * 8 * (dp - 1) / dp
    assert found.nbytes == pytest.approx(activations + gradients, rel=0.02)
    assert {s.kind for s in found.collectives} - {"spread"} == {"all_reduce"}


def test_halos_do_not_grow_with_the_mesh() -> None:
    mesh = DeviceMesh(2, "dp")
    moved = []
    for n in (16, 512):
        u = shard(xp.zeros((n * 100, 7)), mesh, P("dp"))
        moved.append(simulate(stencil, n, u).nbytes)
    assert moved[1] == pytest.approx(moved[0], rel=0.1)
    assert moved[1] < 4 * 3 * 2 * 7 * 8


def test_4096_devices_take_no_time() -> None:
    mesh = DeviceMesh((2, 2), ("dp", "tp"))
    params = [
        (shard(xp.zeros((1024, 1024)), mesh, P(None, "tp")), shard(xp.zeros(1024), mesh)) for _ in range(4)
    ]
    x, y = (shard(xp.zeros((512 * 1024, 1024)), mesh, P("dp")) for _ in range(2))
    start = time.perf_counter()
    found = simulate(train, (512, 8), params, x, y)
    assert found.mesh.size == 4096
    assert found.collectives
    assert time.perf_counter() - start < 20


def test_the_model() -> None:
    x = shard(xp.zeros((4000, 100)), DeviceMesh(2, "dp"), P("dp"))
    found = simulate(lambda x: x.T @ x, 4, x, flops=1e9, bandwidth=1e6, latency=1e-3, memory_bandwidth=1e12)
    work, join = found.steps
    assert work.flops == 2 * 100 * 100 * 1000
    assert work.seconds == pytest.approx(work.flops / 1e9)
    assert join.nbytes == 2 * 100 * 100 * 8 * 3 / 4
    assert join.seconds == pytest.approx(2 * 2 * 1e-3 + join.nbytes / 1e6)
    slow = simulate(lambda x: x + 1, 4, x, flops=1e15, memory_bandwidth=1e6)
    assert slow.seconds == pytest.approx(1000 * 100 * 8 / 1e6)
    text = str(found)
    assert text.startswith("DeviceMesh((4,), ('dp',)): ")
    assert "all_reduce for" in text


def test_a_mesh_of_two_that_is_measured() -> None:
    mesh = DeviceMesh(2, "dp")

    def best(f: Callable[[], Any]) -> float:
        times = []
        for _ in range(7):
            start = time.perf_counter()
            xp.eval(f())
            times.append(time.perf_counter() - start)
        return min(times)

    a, w = placed((3000, 400), P("dp"), mesh), placed((400, 400), P(), mesh)
    e = placed((3_000_000,), P("dp"), mesh)
    flops = 2 * 1500 * 400 * 400 / best(lambda: a @ w)
    memory = 2 * 1_500_000 * 8 / best(lambda: e + e)
    args = [(w, placed((400,), P(), mesh))] * 2, a, a
    found = simulate(train, 2, *args, flops=flops, memory_bandwidth=memory, bandwidth=memory, latency=1e-4)
    measured = best(lambda: train(*args))
    # A busy machine may be several times slower than it was a moment ago.
    assert measured / 20 < found.seconds < measured * 20


def test_shard_map_and_vmap() -> None:
    f = shard_map(lambda x, w: x @ w, MESH, (P("dp"), P(None, "tp")), P("dp"))
    found = simulate(f, (64, 8), xp.zeros((6400, 64)), xp.zeros((64, 80)))
    assert found.mesh == DeviceMesh((64, 8), ("dp", "tp"))
    (gather,) = [s for s in found.collectives if s.kind != "spread"]
    assert gather.kind == "all_gather"  # of the weights, which are smaller than the result
    assert gather.nbytes == 64 * 80 * 8 * 7 / 8


def test_errors() -> None:
    x = placed((8, 6), P("dp"))
    with pytest.raises(ShardingError, match="simulate: nothing is to be computed on a mesh"):
        simulate(lambda: xp.zeros(3) + 1, 4)
    with pytest.raises(ShardingError, match=r"simulate: a mesh of shape \(4,\) for arrays on .*; 2 axes"):
        simulate(lambda x: x + 1, 4, x)
    with pytest.raises(TypeError, match="simulate: args are for a function"):
        simulate(x + 1, (2, 2), x)
    other = placed((8, 6), P(), DeviceMesh(2, "k"))
    with pytest.raises(ShardingError, match=r"simulate: arrays are on .* and .*; one mesh would work"):
        simulate([x + 1, other + 1], (2, 2))
