"""One case in one library: `python -m benchmarks.distributed_cases LIBRARY CASE ELEMENTS ROUNDS ENGINE`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import cycle
from time import perf_counter
from typing import Any

import numpy as np

from .measure import OURS

WHOLE, JAX, DASK = "whole", "jax.jit", "dask.array"
_STEPS = 100


def chain(xp: Any, x: Any, y: Any) -> Any:
    """Six cheap operations."""
    return ((x + y) * x - y) * (x - y) + x * y


def standardize(xp: Any, x: Any) -> Any:
    """Each row to mean 0 and variance 1."""
    centred = x - xp.mean(x, axis=1, keepdims=True)
    return centred / xp.sqrt(xp.mean(centred * centred, axis=1, keepdims=True))


def gram(xp: Any, x: Any) -> Any:
    """All products of columns."""
    return x.T @ x


def kmeans(xp: Any, x: Any, centers: Any) -> Any:
    """A step of Lloyd's algorithm."""
    distances = xp.sum(centers * centers, axis=1) - 2 * (x @ centers.T)
    nearest = xp.argmin(distances, axis=1)
    member = 1.0 * (nearest[:, None] == xp.arange(centers.shape[0]))
    return (member.T @ x) / xp.sum(member, axis=0)[:, None]


def logistic(xp: Any, x: Any, y: Any, w: Any) -> Any:
    """The gradient of logistic regression's loss."""
    return x.T @ (1 / (1 + xp.exp(-(x @ w))) - y) / x.shape[0]


def stencil(xp: Any, u: Any) -> Any:
    """Steps of the heat equation, by five points."""
    for _ in range(_STEPS):
        inner = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u = xp.pad(inner + 0.2 * (around - 4 * inner), 1)
    return u


def _wide(n: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((max(n // columns, 8), columns))


def _flat(n: int) -> list[np.ndarray]:
    return [*np.random.default_rng(0).standard_normal((2, n))]


def _labelled(n: int) -> list[np.ndarray]:
    x = _wide(n, 50)
    return [x, (x[:, 0] > 0).astype(float), np.zeros(50)]


def _clusters(n: int) -> list[np.ndarray]:
    x = _wide(n, 20)
    return [x, x[:8].copy()]


def _plate(n: int) -> list[np.ndarray]:
    side = max(int(n**0.5), 12)
    return [np.random.default_rng(0).standard_normal((side, side))]


Case = tuple[Callable[..., Any], Callable[[int], list[np.ndarray]], int]
# What is computed, of what, and how many of the operands are cut along their first axis.
CASES: dict[str, Case] = {
    "elementwise chain": (chain, _flat, 2),
    "standardized rows": (standardize, lambda n: [_wide(n, 500)], 1),
    "Gram matrix": (gram, lambda n: [_wide(n, 200)], 1),
    "k-means step": (kmeans, _clusters, 1),
    "logistic gradient": (logistic, _labelled, 2),
    "5-point stencil, 100 steps": (stencil, _plate, 1),
}


@contextmanager
def _cluster() -> Iterator[Any]:
    """Start two workers; gives the client."""
    from distributed import Client, LocalCluster

    settings: dict[str, Any] = {"threads_per_worker": 1, "host": "127.0.0.1"}
    settings["dashboard_address"] = "127.0.0.1:0"
    with LocalCluster(n_workers=2, **settings) as cluster, Client(cluster) as client:
        yield client


@contextmanager
def _ours(function: Callable[..., Any], operands: list[np.ndarray], cut: int, engine: str) -> Iterator[Any]:
    import nabla_array as xp
    from nabla_array.distributed import DeviceMesh, P, shard

    with _cluster() if engine == "dask" else nullcontext() as client:
        mesh = DeviceMesh((2,), ("x",), engine=engine, client=client)
        mine = [1 * shard(a, mesh, P("x") if i < cut else P()) for i, a in enumerate(operands)]
        xp.eval(*mine)
        submit, tasks = getattr(client, "submit", None), []

        def counted(*args: Any, **options: Any) -> Any:
            tasks.append(1)
            return submit(*args, **options)  # type: ignore[misc]

        def call() -> Any:
            result = function(xp, *mine)
            xp.eval(result)
            if client is not None:  # what is computed may still be on its way
                from distributed import Future, wait

                wait([Future(key, client) for key in [*client.futures]])
            return result

        if client is not None:
            client.submit = counted
            call()
            call.tasks = len(tasks)  # type: ignore[attr-defined]
        yield call
        mesh.close()


@contextmanager
def _whole(function: Callable[..., Any], operands: list[np.ndarray], cut: int, engine: str) -> Iterator[Any]:
    import nabla_array as xp

    mine = [xp.asarray(a) for a in operands]

    def call() -> Any:
        result = function(xp, *mine)
        xp.eval(result)
        return result

    yield call


@contextmanager
def _jax(function: Callable[..., Any], operands: list[np.ndarray], cut: int, engine: str) -> Iterator[Any]:
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    jax.config.update("jax_enable_x64", True)
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    specs = [PartitionSpec("x") if i < cut else PartitionSpec() for i in range(len(operands))]
    mine = [jax.device_put(a, NamedSharding(mesh, s)) for a, s in zip(operands, specs, strict=True)]
    compiled = jax.jit(partial(function, jax.numpy))
    yield lambda: jax.block_until_ready(compiled(*mine))


@contextmanager
def _dask(function: Callable[..., Any], operands: list[np.ndarray], cut: int, engine: str) -> Iterator[Any]:
    import dask.array as da
    from distributed import wait

    with _cluster() as client:
        # Dask would not compute again what is still there from the last call: each has other operands' names.
        turns = [
            [
                client.persist(
                    da.from_array(a, chunks=(-(-a.shape[0] // 2), *a.shape[1:]), name=f"{turn}-{i}")
                )
                if i < cut
                else a
                for i, a in enumerate(operands)
            ]
            for turn in ("one", "two", "three")
        ]
        for mine in turns:
            wait(mine[:cut])
        ring = cycle(turns)

        def call() -> Any:
            result = function(da, *next(ring)).persist()
            wait(result)
            return result

        call.tasks = len(dict(function(da, *turns[0]).__dask_graph__()))  # type: ignore[attr-defined]
        yield call


LIBRARIES = {OURS: _ours, WHOLE: _whole, JAX: _jax, DASK: _dask}


def main(library: str, case: str, elements: str, rounds: str, engine: str) -> None:
    """Run a case, and print as JSON what was found."""
    function, make, cut = CASES[case]
    with LIBRARIES[library](function, make(int(elements)), cut, engine) as call:
        result = call()
        total = float(np.sum(np.abs(np.asarray(result))))
        del result
        best = float("inf")
        for _ in range(int(rounds)):
            start = perf_counter()
            result = call()
            best = min(best, perf_counter() - start)
            del result
    print(json.dumps({"seconds": best, "sum": total, "tasks": getattr(call, "tasks", None)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
