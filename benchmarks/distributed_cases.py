"""One case in one library: `python -m benchmarks.distributed_cases LIBRARY CASE ELEMENTS ROUNDS ENGINE`.

Without arguments: what an evaluation of a small program takes on Dask.
"""

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


def _tasks(client: Any, call: Callable[[], Any]) -> int:
    """Return how many tasks the scheduler, which is in this process, gets by a call."""
    call()
    before = {*client.cluster.scheduler.tasks}
    result = call()
    found = len({*client.cluster.scheduler.tasks} - before)
    del result
    return found


@contextmanager
def _ours(function: Callable[..., Any], operands: list[np.ndarray], cut: int, engine: str) -> Iterator[Any]:
    import nabla_array as xp
    from nabla_array.distributed import DeviceMesh, P, shard

    with _cluster() if engine == "dask" else nullcontext() as client:
        mesh = DeviceMesh((2,), ("x",), engine=engine, client=client)
        mine = [1 * shard(a, mesh, P("x") if i < cut else P()) for i, a in enumerate(operands)]
        xp.eval(*mine)
        sent: list[Any] = []
        if client is not None:
            get = client.get

            def noted(graph: Any, keys: Any, **options: Any) -> Any:
                futures = get(graph, keys, **options)
                sent.extend(futures)
                return futures

            client.get = noted

        def call() -> Any:
            result = function(xp, *mine)
            xp.eval(result)
            if client is not None:  # what is computed may still be on its way
                from distributed import wait

                wait(sent)
                sent.clear()
            return result

        if client is not None:
            call.tasks = str(_tasks(client, call))  # type: ignore[attr-defined]
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

        graph = len(dict(function(da, *turns[0]).__dask_graph__()))
        call.tasks = f"{graph} ({_tasks(client, call)} once fused)"  # type: ignore[attr-defined]
        yield call


LIBRARIES = {OURS: _ours, WHOLE: _whole, JAX: _jax, DASK: _dask}


def round_trips() -> None:
    """Print how many round trips of a bare `client.submit` an evaluation of a small program takes."""
    import nabla_array as xp
    from nabla_array.distributed import DeviceMesh, P, shard

    with _cluster() as client:
        mesh = DeviceMesh((2,), ("x",), engine="dask", client=client)
        x = 1 * shard(np.arange(8.0), mesh, P("x"))
        xp.eval(x)
        calls: list[Callable[[int], Any]] = [
            lambda n: client.submit(abs, n, pure=False).result(),
            lambda n: np.asarray(x + n),
            lambda n: float(xp.sum(x + n)),
        ]
        times: list[list[float]] = [[] for _ in calls]
        for n in range(60):
            for call, found in zip(calls, times, strict=True):
                start = perf_counter()
                call(n)
                found.append(perf_counter() - start)
        bare, one, two = [float(np.median(t[10:])) for t in times]
        mesh.close()
    print(json.dumps({"bare": bare, "one": one / bare, "two": two / bare}))


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
    main(*sys.argv[1:]) if sys.argv[1:] else round_trips()
