"""Loops and branches on a Dask cluster: results, what the scheduler keeps, and workers that die."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from distributed import Client

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, driving, shard
from nabla_array.distributed.dask_engine import Dask
from nabla_array.transforms import scan, while_loop

from .clusters import mesh_of, processes, tasks_of, threads, until
from .test_loops import CASES

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dask, "meets_from", 0)
    monkeypatch.setattr(driving, "EVERY", 4)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with threads(3) as client:
        yield client


NAMES = ["while", "power iteration", "scan", "branch", "the other branch", "the third branch", "nested"]


@pytest.mark.parametrize("name", [*NAMES, "gradient of a scan", "gradient of a recurrence"])
def test_on_a_cluster(client: Client, name: str) -> None:
    function, values = CASES[name]
    mesh = DeviceMesh((2, 2), ("x", "y"), engine="dask", client=client)
    for axes in (("x",), ("y", "x"), (None, "x")):
        cut = [shard(x, mesh, P(*axes[: x.ndim])) for x in values]
        got, want = function(*cut), function(*map(xp.asarray, values))
        pairs = zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]
        for a, b in pairs:
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-10, atol=1e-12)


def _mixed(x: Any, many: int) -> Any:
    """Mix all rows a number of times that the data tell."""

    def step(state: Any) -> Any:
        total, x = state
        return total + xp.max(xp.abs(x)) / xp.max(xp.abs(x)), xp.sin(x) - xp.mean(x, axis=0)

    return while_loop(lambda state: state[0] < many, step, (0.0, x))[1]


def _sums(x: Any, many: int) -> Any:
    return scan(lambda x, _: (xp.sin(x) - xp.mean(x, axis=0), xp.sum(x, axis=1)), x, None, length=many)


class _Counted:
    """How many tasks the scheduler knows whenever something is fetched, and what is done then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
        self.tasks: list[int] = []
        self.then: dict[int, Callable[[], Any]] = {}
        fetch = Dask.fetch

        def counted(engine: Any, shards: Any, what: Any = "a part") -> Any:
            self.tasks.append(len(tasks_of(client)))
            self.then.get(len(self.tasks), lambda: None)()
            return fetch(engine, shards, what)

        monkeypatch.setattr(Dask, "fetch", counted)


def test_the_scheduler_forgets_the_steps_of_a_loop(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    a = RNG.normal(size=(30, 300))
    x = xp.eval(shard(a, mesh_of(client, 3), P("x")) + 0)
    counted = _Counted(monkeypatch, client)
    np.testing.assert_allclose(np.asarray(_mixed(x, 60)), np.asarray(_mixed(xp.asarray(a), 60)), atol=1e-12)
    assert max(counted.tasks[-20:]) < 1.5 * max(counted.tasks[:20])
    del x
    assert until(lambda: not tasks_of(client))


def test_a_worker_dies_in_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    a = RNG.normal(size=(300, 300))
    with processes(2) as workers:
        mesh = mesh_of(workers, 4, timeout=60)
        x = shard(a, mesh, P("x"))
        pids = [*workers.run(os.getpid).values()]
        counted = _Counted(monkeypatch, workers)
        counted.then = {
            9: lambda: os.kill(pids[0], signal.SIGKILL),
            30: lambda: os.kill(pids[1], signal.SIGKILL),
        }
        got, want = _mixed(x, 30), np.asarray(_mixed(xp.asarray(a), 30))
        np.testing.assert_allclose(np.asarray(got), want, atol=1e-12)
        assert len(counted.tasks) > 30
        assert not {*pids} & {*workers.run(os.getpid).values()}


def test_workers_die_after_a_scan() -> None:
    a = RNG.normal(size=(300, 300))
    with processes(2) as workers:
        mesh = mesh_of(workers, 4, timeout=60)
        c, ys = _sums(shard(a, mesh, P("x")), 10)
        xp.eval(c, ys)
        for pid in workers.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)
        for got, want in zip((c, ys), _sums(xp.asarray(a), 10), strict=True):
            np.testing.assert_allclose(np.asarray(got), np.asarray(want), atol=1e-12)
