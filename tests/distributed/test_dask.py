"""Meshes whose devices are workers of a Dask cluster, in this process."""

from __future__ import annotations

import gc
import io
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from distributed import Client

import nabla_array as xp
from nabla_array._lazy.cpu import faults
from nabla_array.distributed import DeviceMesh, P, reshard, shard
from nabla_array.distributed import dask_engine as engines
from nabla_array.distributed import dask_graph as graphs
from nabla_array.distributed import dask_waiting as waiting

from .clusters import mesh_of, tasks_of, threads, until

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with threads(4) as client:
        yield client


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tasks that are sent."""
    found: list[str] = []
    fused = graphs.fused

    def noted(tasks: Any) -> Any:
        sent = fused(tasks)
        found.extend([task.function.__name__ for task in sent])
        return sent

    monkeypatch.setattr(graphs, "fused", noted)
    return found


def received(client: Client) -> int:
    """Return how many bytes workers have got from each other."""
    workers = client.cluster.workers.values()
    return sum([t["total"] for w in workers for t in w.transfer_incoming_log])


def test_meshes_that_are_equal_share_what_is_planned(client: Client) -> None:
    x = np.arange(6.0)
    for _ in range(3):
        mesh = DeviceMesh((2,), ("rows",), engine="dask", client=client)
        np.testing.assert_array_equal(np.asarray(shard(x, mesh, P("rows")) * 2 + 1), x * 2 + 1)


def test_the_same_as_numpy(client: Client) -> None:
    mesh = mesh_of(client, 4)
    a, b = RNG.normal(size=(37, 8)), RNG.normal(size=(8, 5))
    x = shard(a, mesh, P("x"))
    np.testing.assert_allclose(xp.exp(x @ b).sum(axis=0), np.exp(a @ b).sum(axis=0))
    np.testing.assert_allclose((x - x.mean(axis=0)).T @ x, (a - a.mean(axis=0)).T @ a)
    np.testing.assert_array_equal(xp.sort(x, axis=0), np.sort(a, axis=0))
    y = x + 0
    y[3:30:2, 1] = -1.0
    wanted = a.copy()
    wanted[3:30:2, 1] = -1.0
    np.testing.assert_array_equal(y, wanted)
    q, r = xp.linalg.qr(x)
    np.testing.assert_allclose(np.asarray(q) @ np.asarray(r), a)


def test_a_task_for_each_device_and_segment(client: Client, submitted: list[str]) -> None:
    mesh = mesh_of(client, 4)
    x = shard(RNG.normal(size=(4000, 16)), mesh, P("x"))
    xp.eval(x)
    assert submitted == ["keep"] * 4
    del submitted[:]
    y = xp.eval(xp.tanh(xp.exp(x) * 2 - x) + 1)
    assert submitted == ["run"] * 4
    del submitted[:]
    float(xp.sum(y))
    assert submitted == ["run"] * 4 + ["join"]


def test_parts_are_made_where_they_are_read(client: Client, submitted: list[str]) -> None:
    mesh = mesh_of(client, 4)
    a = RNG.normal(size=(40, 16))
    x = xp.eval(shard(a, mesh, P("x")))
    del submitted[:]
    y = xp.eval(xp.sort(x, axis=0) + 1)  # each column whole, on one of the devices
    assert submitted == ["run"] * 4
    np.testing.assert_array_equal(y, np.sort(a, axis=0) + 1)
    del submitted[:]
    z = xp.eval(reshard(x, P(None, "x")))  # which somebody holds
    assert submitted == ["join"] * 4
    np.testing.assert_array_equal(z, a)


def test_small_values_go_along(client: Client, submitted: list[str]) -> None:
    mesh = mesh_of(client, 4)
    xp.eval(shard(np.arange(8.0), mesh, P("x")) + np.arange(8.0))
    assert submitted == ["run"] * 4


def test_what_repeats_is_sent_once(client: Client, submitted: list[str]) -> None:
    mesh = mesh_of(client, 4)
    a = RNG.integers(7, size=(100_000, 1))
    x = xp.eval(shard(a, mesh, P("x")))
    del submitted[:]
    y = xp.eval(x == xp.arange(7))
    assert submitted == ["run"] * 4  # with the numbers, which go along
    np.testing.assert_array_equal(y, a == np.arange(7))
    big = np.broadcast_to(np.arange(3000.0)[:, None], (3000, 200))
    np.testing.assert_array_equal(xp.eval(xp.exp(x[:3000]) + xp.asarray(big)), np.exp(a[:3000]) + big)


def test_what_each_device_would_do_goes_along(client: Client, submitted: list[str]) -> None:
    mesh = mesh_of(client, 4)
    a, b = RNG.normal(size=(4000, 16)), RNG.normal(size=(8, 16))
    x, centers = shard(a, mesh, P("x")), 1 * shard(b, mesh, P())
    xp.eval(x, centers)
    del submitted[:]
    y = xp.eval(xp.sum(centers * centers, axis=1) - x @ centers.T)
    assert submitted == ["run"] * 4
    np.testing.assert_allclose(y, (b * b).sum(axis=1) - a @ b.T)


def test_what_follows_a_join_runs_with_it(client: Client, submitted: list[str]) -> None:
    mesh = mesh_of(client, 4)
    a = RNG.normal(size=(4000, 16))
    x = xp.eval(shard(a, mesh, P("x")))
    del submitted[:]
    y = xp.eval(xp.sqrt(xp.exp(xp.sum(x * x, axis=0) / 4000)))
    assert submitted == ["run"] * 5
    np.testing.assert_allclose(y, np.sqrt(np.exp((a * a).sum(axis=0) / 4000)))


def test_each_worker_gathers_what_it_lacks(client: Client, submitted: list[str]) -> None:
    mesh = mesh_of(client, 4)
    a = RNG.normal(size=(4000, 100))
    x = xp.eval(shard(a, mesh, P("x")))
    before = received(client)
    del submitted[:]
    y = xp.eval(reshard(x, P()))
    assert submitted == ["join"] * 4
    np.testing.assert_array_equal(y, a)
    assert received(client) - before < 1.01 * 4 * 3 / 4 * a.nbytes  # each part once for each worker


@pytest.mark.parametrize(("size", "most"), [(4, 4), (24, engines.FAN_IN)])
def test_many_parts_are_joined_as_in_a_tree(client: Client, size: int, most: int) -> None:
    mesh = mesh_of(client, size)
    a = RNG.normal(size=(size * 3, 2))
    total = xp.eval(xp.sum(shard(a, mesh, P("x")), axis=0))
    np.testing.assert_allclose(total, a.sum(axis=0))
    joins = [t for k, t in tasks_of(client).items() if str(k).startswith("join")]
    assert max(len(t.dependencies) for t in joins) == most
    assert len(joins) == (1 if size == 4 else 1 + size // most)


@pytest.mark.parametrize("size", [4, 24])
@pytest.mark.parametrize("columns", [2, 40_000])
def test_a_device_joins_several_values_in_one_task(
    client: Client, submitted: list[str], size: int, columns: int
) -> None:
    a, b = RNG.normal(size=(size * 2, columns)), RNG.normal(size=(size * 2, 3))
    mesh = mesh_of(client, size)
    x, y = xp.eval(shard(a, mesh, P("x")), shard(b, mesh, P("x")))
    del submitted[:]
    before = received(client)
    found = xp.eval(xp.sum(x, axis=0), xp.sum(x * 2, axis=0), xp.sum(y, axis=0))
    for got, wanted in zip(found, (a.sum(axis=0), 2 * a.sum(axis=0), b.sum(axis=0)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9)
    floors = 1 if size == 4 else 1 + size // engines.FAN_IN
    # Large sums go to this process without the others.
    assert Counter(submitted) == {"run": size, "join": floors} | ({"cut": 3} if columns > 2 else {})
    # The parts go to those who join them, and nothing else.
    assert received(client) - before < 1.01 * size * (2 * columns + 3) * 8 + 40_000


def test_only_what_is_needed_moves(client: Client) -> None:
    mesh = mesh_of(client, 4)
    a = RNG.normal(size=(4000, 200))
    x = xp.eval(shard(a, mesh, P("x")))
    assert until(lambda: all(t.state == "memory" for t in tasks_of(client).values()))
    before = received(client)
    halo = xp.eval(x[1:] - x[:-1])
    np.testing.assert_array_equal(np.asarray(halo), a[1:] - a[:-1])
    assert received(client) - before < 4 * 3 * a[0].nbytes
    before = received(client)
    turned = xp.eval(reshard(x, P(None, "x")))
    np.testing.assert_array_equal(np.asarray(turned), a)
    assert received(client) - before < 1.1 * 3 / 4 * a.nbytes


def test_one_of_several_results_moves_alone(client: Client) -> None:
    mesh = mesh_of(client, 4)
    a = RNG.normal(size=(4000, 100))
    x = xp.eval(shard(a, mesh, P("x")))
    before = received(client)
    y = x * 2.0
    total = xp.sum(y, axis=0)
    xp.eval(y, total)
    np.testing.assert_allclose(total, 2 * a.sum(axis=0))
    assert received(client) - before < 100_000


def test_small_results_move_together(client: Client, submitted: list[str]) -> None:
    mesh = mesh_of(client, 4)
    a = RNG.normal(size=(40, 10))
    x = xp.eval(shard(a, mesh, P("x")))
    del submitted[:]
    total, most = xp.sum(x, axis=0), xp.max(x)
    xp.eval(total, most)
    assert submitted == ["run"] * 4 + ["join"] * 2
    np.testing.assert_allclose(total, a.sum(axis=0))
    assert float(most) == a.max()
    assert submitted == ["run"] * 4 + ["join"] * 2


def test_nothing_goes_through_this_process(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = mesh_of(client, 4)
    a = RNG.normal(size=(400, 30))
    x = xp.eval(shard(a, mesh, P("x")))
    with monkeypatch.context() as patch:
        patch.setattr(engines.Dask, "fetch", None)
        gram = xp.eval(x.T @ x)
        back = xp.eval(xp.sort(reshard(x @ gram, P(None, "x")), axis=0))
    np.testing.assert_allclose(back, np.sort(a @ (a.T @ a), axis=0))


def in_memory(client: Client) -> int:
    """Return how many results workers hold."""
    return len([t for t in tasks_of(client).values() if t.state == "memory"])


def test_what_dies_here_is_released_there(client: Client) -> None:
    gc.collect()
    assert until(lambda: not tasks_of(client))
    mesh = mesh_of(client, 4)
    x = shard(RNG.normal(size=(400, 300)), mesh, P("x"))
    y = xp.eval(x * 2)
    z = xp.eval(y + 1)
    assert until(lambda: in_memory(client) == 12)
    del y
    assert until(lambda: in_memory(client) == 8)
    del x, z
    assert until(lambda: not tasks_of(client))


def test_meshes_of_one_client_are_one(client: Client) -> None:
    one, other = mesh_of(client, 4), mesh_of(client, 4)
    assert one == other
    assert hash(one) == hash(other)
    assert one != DeviceMesh((4,), ("x",))
    assert one != DeviceMesh((4,), ("x",), engine="dask", client=client, timeout=1)
    a = np.arange(8.0)
    np.testing.assert_array_equal(shard(a, one, P("x")) + shard(a, other, P("x")), 2 * a)
    address = client.scheduler.address
    assert repr(one) == f"DeviceMesh((4,), ('x',), engine='dask', client={address!r})"


def test_the_tier_is_the_controllers_and_threads_are_the_workers(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    run = engines.tasks.run_program

    def noted(program: Any, inputs: list[Any]) -> Any:
        seen.append((xp.config.mode, xp.config.threads))
        return run(program, inputs)

    monkeypatch.setattr(engines.tasks, "run_program", noted)
    x = shard(np.arange(8.0), mesh_of(client, 4), P("x"))
    with xp.config(mode="host"):
        np.asarray(x + 1)
    np.asarray(x + 2)
    assert {*seen} == {("host", 1), ("auto", 1)}


def test_floating_point_errors_are_heard(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "has_states", False)  # and as before, for the other tests
    x = shard(np.arange(8.0), mesh_of(client, 4), P("x"))
    assert np.isinf(np.asarray(1 / x)[0])  # in silence, as on the host
    with (
        xp.config(float_warnings=True),
        pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"),
    ):
        np.asarray(1 / x)
    with xp.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        np.asarray(1 / x)
    np.testing.assert_array_equal(x + 1, np.arange(8.0) + 1)


def test_threads_share_a_mesh(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_LOOK", 0.0)
    mesh = mesh_of(client, 4)
    a = RNG.normal(size=(40, 16))
    shared = shard(a, mesh, P("x"))

    def program(n: int) -> np.ndarray:
        mine = shard(a + n, mesh, P(None, "x"))
        return np.asarray(xp.sort(mine @ shared.T, axis=0) + xp.sum(shared))

    with ThreadPoolExecutor(4) as pool:
        for n, found in enumerate(pool.map(program, range(12))):
            np.testing.assert_allclose(found, np.sort((a + n) @ a.T, axis=0) + a.sum(), atol=1e-10)


def test_dashboard(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert DeviceMesh(2).dashboard_link == ""
    mesh = mesh_of(client, 2)
    monkeypatch.setattr(type(client), "dashboard_link", "http://127.0.0.1:8787/status")
    assert mesh.dashboard_link == "http://127.0.0.1:8787/status"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [_Terminal, io.StringIO])
def test_a_bar_on_long_work(client: Client, monkeypatch: pytest.MonkeyPatch, stream: Any) -> None:
    monkeypatch.setattr(waiting, "_PATIENCE", 0.05)
    monkeypatch.setattr(waiting, "_TICK", 0.05)
    monkeypatch.setenv("TERM", "xterm")  # rich draws no bars on a dumb terminal
    monkeypatch.setattr("sys.stderr", shown := stream())
    slow(monkeypatch, 0.4)
    x = shard(np.arange(8.0), mesh_of(client, 4), P("x"))
    np.testing.assert_array_equal(np.asarray(x + 1), np.arange(8.0) + 1)
    assert ("waiting for 4 parts" in shown.getvalue()) == (stream is _Terminal)


def slow(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let each task of this process's workers take time."""
    import time

    run = engines.tasks.run_program

    def late(program: Any, inputs: list[Any]) -> Any:
        time.sleep(seconds)
        return run(program, inputs)

    monkeypatch.setattr(engines.tasks, "run_program", late)


def test_work_that_takes_too_long(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = mesh_of(client, 2, timeout=0.2)
    slow(monkeypatch, 0.5)
    x = shard(np.arange(6.0), mesh, P("x")) * 2
    with pytest.raises(TimeoutError, match=r"float64\[6\] cut by .*P\('x'\).* 0.2 s; .* timeout=seconds"):
        np.asarray(x)
    assert until(lambda: all(t.state == "memory" for t in tasks_of(client).values()))
    np.testing.assert_array_equal(np.asarray(x), 2 * np.arange(6.0))  # nothing is lost


def test_assigned() -> None:
    assert engines.assigned(4, ["a", "b"], []) == ["a", "a", "b", "b"]
    assert engines.assigned(3, ["a", "b", "c", "d"], []) == ["a", "b", "c"]
    assert engines.assigned(4, ["a", "c"], ["a", "a", "b", "b"]) == ["a", "a", "c", "c"]
    assert engines.assigned(4, ["a", "b", "c"], ["a", "a", "b", "b"]) == ["a", "a", "b", "b"]
    assert engines.assigned(4, ["a", "b"], ["a"] * 4) == ["a", "a", "b", "b"]
    assert engines.assigned(2, [], ["a", "b"]) == ["a", "b"]


def test_a_cluster_of_its_own_is_as_large_as_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, Any]] = []

    class Started(Exception):
        pass

    def cluster(**settings: Any) -> None:
        started.append(settings)
        raise Started

    monkeypatch.setattr("distributed.LocalCluster", cluster)
    monkeypatch.setattr("dask.system.CPU_COUNT", 8)
    for size in (2, 64):
        with pytest.raises(Started):
            DeviceMesh(size, engine="dask")
    assert [(s["n_workers"], s["threads_per_worker"]) for s in started] == [(2, 4), (8, 1)]
    assert {s["host"] for s in started} == {"127.0.0.1"}
