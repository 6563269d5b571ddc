"""What goes wrong on a cluster: right results, or errors within the time limit, and nothing left behind."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from distributed import Client, LocalCluster, Security

import nabla_array as xp
from nabla_array.distributed import ClusterError, DeviceMesh, P, load, reshard, save, shard
from nabla_array.distributed import dask_engine as engines
from nabla_array.distributed import dask_graph as graphs

from .clusters import mesh_of, processes, tasks_of, threads, until

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def client() -> Iterator[Client]:
    with threads(2) as client:
        yield client


@pytest.fixture(scope="module")
def workers() -> Iterator[Client]:
    """Two workers that are processes."""
    with processes(2) as client:
        yield client


def pids(client: Client) -> list[int]:
    """Return the workers' processes."""
    return [*client.run(os.getpid).values()]


def step(x: Any) -> Any:
    """Return something for which all devices need each other."""
    return x / 2 + reshard(xp.sort(xp.sin(x), axis=1), P(None, "x")).mean(axis=0) - xp.sum(x) / x.size


def test_a_worker_dies_in_a_long_program(workers: Client) -> None:
    a = RNG.normal(size=(200, 100))
    wanted = xp.asarray(a)
    x = shard(a, mesh_of(workers, 4, timeout=60), P("x"))
    victim = pids(workers)[0]
    for n in range(30):
        x = xp.eval(step(x)) if n % 3 == 0 else step(x)
        wanted = wanted / 2 + xp.sort(xp.sin(wanted), axis=1).mean(axis=0) - xp.sum(wanted) / wanted.size
        if n == 15:
            os.kill(victim, signal.SIGKILL)
    np.testing.assert_allclose(x, wanted, atol=1e-12)
    assert until(lambda: len(workers.scheduler_info(n_workers=-1)["workers"]) == 2)
    np.testing.assert_allclose(xp.sum(x), np.sum(wanted), atol=1e-10)


def test_inputs_that_die_are_sent_again(workers: Client, tmp_path: Path) -> None:
    mesh = mesh_of(workers, 2, timeout=60)
    a = RNG.normal(size=(200, 100))
    np.save(tmp_path / "a.npy", a)
    x, y = shard(a, mesh, P("x")), load(tmp_path / "a.npy", mesh, P(None, "x"))
    xp.eval(x, y)
    for pid in pids(workers):
        os.kill(pid, signal.SIGKILL)
    np.testing.assert_array_equal(x + y, a + a)


def test_a_worker_comes(client: Client) -> None:
    mesh = mesh_of(client, 3)
    a = RNG.normal(size=(30, 10))
    x = xp.eval(shard(a, mesh, P("x")))
    assert len({*mesh.engine._workers}) == 2
    client.cluster.scale(3)
    client.wait_for_workers(3)
    mesh.engine._looked = -1e9
    np.testing.assert_allclose(xp.exp(x), np.exp(a))
    assert len({*mesh.engine._workers}) == 3


def test_the_cluster_is_restarted(workers: Client) -> None:
    mesh = mesh_of(workers, 2, timeout=30)
    x = xp.eval(shard(RNG.normal(size=(64, 64)), mesh, P("x")))
    workers.restart()
    with pytest.raises(ClusterError, match=r"float64\[64, 64\] cut by .* is lost: its parts were deleted"):
        np.asarray(x)
    mesh.engine._looked = -1e9
    np.testing.assert_array_equal(shard(np.ones(600), mesh, P("x")) + 1, 2)  # the mesh goes on


def test_arrays_are_deleted_on_the_cluster(client: Client) -> None:
    x = xp.eval(shard(RNG.normal(size=(64, 64)), mesh_of(client, 2), P("x")))
    client.cancel([s.source.future for s in xp.asarray(x)._node.params["value"].shards])
    for wanted in (x, x + 1):
        with pytest.raises(ClusterError, match=r"float64\[64, 64\] cut by .* deleted .* computing it again"):
            np.asarray(wanted)


def test_the_client_is_closed(tmp_path: Path) -> None:
    with threads(1) as client:
        mesh = mesh_of(client, 2)
        x = xp.eval(shard(RNG.normal(size=(64, 64)), mesh, P("x")))
    with pytest.raises(
        ClusterError, match=r"float64\[64, 64\] cut by .* the client is closed: .* a new mesh"
    ):
        np.asarray(x)
    for wanted in (
        lambda: np.asarray(x * 2),
        lambda: xp.eval(x * 2),
        lambda: save(tmp_path / "x.npy", x + 1),
    ):
        with pytest.raises(ClusterError, match=r"float64\[64, 64\] cut by .* the client is closed: .* a new"):
            wanted()
    np.save(tmp_path / "x.npy", np.ones(3))
    with pytest.raises(
        ClusterError, match=r"x\.npy cannot be had, since the client is closed: .* a new mesh"
    ):
        load(tmp_path / "x.npy", mesh, P("x"))
    with pytest.raises(ClusterError, match=r"the list of workers cannot be had, since the client is closed"):
        mesh_of(client, 2)


def test_the_mesh_is_closed(client: Client) -> None:
    mesh = mesh_of(client, 2)
    mesh.close()  # whose client is another's
    assert client.status == "running"
    others = {*psutil.Process().children(recursive=True)}
    own = DeviceMesh(1, engine="dask")
    x = shard(np.ones(5000), own, P("x")) + 1
    np.testing.assert_array_equal(x, 2)
    children = {*psutil.Process().children(recursive=True)} - others
    children = {p for p in children if "resource_tracker" not in str(p.cmdline())}
    assert children
    own.close()
    own.close()
    assert own.engine.client.status == "closed"
    assert until(lambda: not [p for p in children if p.is_running() and p.status() != psutil.STATUS_ZOMBIE])


def test_another_version(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = mesh_of(client, 2)
    x = shard(np.ones(4), mesh, P("x"))
    for module in (engines, graphs):
        monkeypatch.setattr(module, "__version__", "9.9")
    with pytest.raises(
        ClusterError, match=r"DeviceMesh: the worker \S+ has nabla_array 0\S+, .* 9\.9; one version"
    ):
        mesh_of(client, 2)
    with pytest.raises(
        ClusterError,
        match=r"float64\[4\] cut by .*: this worker has nabla_array 0\S+, .* 9\.9; one version everywhere",
    ):
        np.asarray(x + 1)  # a worker that came later


def test_a_worker_without_the_library(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise ModuleNotFoundError("No module named 'nabla_array'")

    monkeypatch.setattr(engines.tasks, "version", missing)
    with pytest.raises(ClusterError, match=r"has no nabla_array \(ModuleNotFoundError"):
        mesh_of(client, 2)


def test_a_worker_is_out_of_memory(client: Client) -> None:
    x = shard(np.ones(4), mesh_of(client, 2), P("x"))
    more = xp.broadcast_to(x[:, None], (4, 1 << 45)) * 2
    with pytest.raises(
        MemoryError, match=r"float64\[4\] cut by .* worker is out .* 512\. TiB .*; smaller parts"
    ):
        np.asarray(xp.max(xp.sort(more, axis=1), axis=1))


def _ends(program: Any, inputs: Any) -> Any:
    os._exit(1)


def _with_ends() -> None:
    from nabla_array.distributed import dask_tasks

    dask_tasks.run_program = _ends


def test_workers_die_of_one_task() -> None:
    with processes(1, allowed_failures=0) as client:
        x = shard(np.ones(4), mesh_of(client, 1, timeout=60), P("x")) + 1
        client.run(_with_ends)
        with pytest.raises(ClusterError, match=r"float64\[4\] .* is lost: 1 workers died .* smaller parts"):
            np.asarray(x)


def test_workers_are_gone() -> None:
    with processes(1) as client:
        x = xp.eval(shard(np.ones((64, 64)), mesh_of(client, 1, timeout=4), P("x")))
        for worker in client.cluster.workers.values():
            client.cluster.sync(worker.close)
        with pytest.raises(
            TimeoutError, match=r"float64\[64, 64\] cut by .* within 4 s; the cluster has no worker"
        ):
            np.asarray(x + 1)


def test_errors_of_operations(client: Client) -> None:
    x = shard(np.zeros((3, 3)), mesh_of(client, 2), P("x"))
    with pytest.raises(np.linalg.LinAlgError, match="inv: Singular matrix"):
        np.asarray(xp.linalg.inv(x))


def test_no_worker() -> None:
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.raises(ClusterError, match="the cluster has no worker; one or more would work"),
    ):
        mesh_of(client, 2)


SCRIPT = """
import os, signal, sys
import numpy as np
import nabla_array as xp
from distributed import Client
from nabla_array.distributed import DeviceMesh, P, shard

if __name__ == "__main__":
    {body}
"""


def script(tmp_path: Path, body: str, *args: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(body=body))
    return subprocess.run(
        [sys.executable, "-W", "error", str(path), *args],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_interpreter_ends(tmp_path: Path) -> None:
    body = """x = shard(np.arange(6.0), DeviceMesh(1, engine="dask"), P("x"))
    print(float(xp.sum(x)))"""
    done = script(tmp_path, body)
    assert (done.stdout, done.stderr, done.returncode) == ("15.0\n", "", 0)
    assert not [p for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in str(p.info["cmdline"])]


def test_the_client_is_killed(tmp_path: Path) -> None:
    body = """client = Client(sys.argv[1])
    x = xp.eval(shard(np.ones(100_000), DeviceMesh(2, engine="dask", client=client), P("x")) + 1)
    float(x[0])
    os.kill(os.getpid(), signal.SIGKILL)"""
    with (
        LocalCluster(
            n_workers=1, processes=False, protocol="tcp", host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
    ):
        assert script(tmp_path, body, cluster.scheduler_address).returncode == -signal.SIGKILL
        assert until(lambda: not cluster.scheduler.tasks)
        assert until(lambda: not any(w.data for w in cluster.workers.values()))


def test_the_scheduler_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    told = tmp_path / "scheduler.json"
    scheduler = subprocess.Popen(
        [*command, "--no-dashboard", "--scheduler-file", str(told)], stderr=subprocess.DEVNULL
    )
    worker = None
    try:
        assert until(lambda: told.exists() and "tcp://" in told.read_text())  # made, then written
        address = re.search(r"tcp://[\d.:]+", told.read_text())
        assert address is not None
        more = ["--no-nanny", "--no-dashboard", "--death-timeout", "1"]
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", address[0], "--host", "127.0.0.1", *more],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stderr=subprocess.DEVNULL,
        )
        with Client(address[0], set_as_default=False, timeout=10) as client:
            client.wait_for_workers(1, timeout=20)
            x = xp.eval(shard(RNG.normal(size=(64, 64)), mesh_of(client, 2, timeout=3), P("x")))
            scheduler.kill()
            scheduler.wait()
            start = time.monotonic()
            with pytest.raises((ClusterError, TimeoutError), match=r"float64\[64, 64\]"):
                np.asarray(x + 1)
            assert time.monotonic() - start < 8
    finally:
        for process in (worker, scheduler):
            if process is not None:
                process.kill()
                process.wait()


def test_listeners_are_on_loopback_only() -> None:
    mesh = DeviceMesh(1, engine="dask")
    try:
        family = [psutil.Process(), *psutil.Process().children(recursive=True)]
        listening = [c.laddr.ip for p in family for c in p.net_connections("inet") if c.status == "LISTEN"]
        assert listening
        assert {*listening} == {"127.0.0.1"}
    finally:
        mesh.close()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_encrypted_connections(tmp_path: Path) -> None:
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    make = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=127.0.0.1",
        "-days",
        "2",
    ]
    subprocess.run([*make, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    mine = dict.fromkeys(
        ["tls_ca_file", "tls_client_cert", "tls_worker_cert", "tls_scheduler_cert"], certificate
    )
    keys = dict.fromkeys(["tls_client_key", "tls_worker_key", "tls_scheduler_key"], key)
    security = Security(require_encryption=True, **mine, **keys)
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            protocol="tls://",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            security=security,
        ) as cluster,
        Client(cluster, security=security, set_as_default=False) as client,
    ):
        mesh = mesh_of(client, 2)
        assert all(w.startswith("tls://127.0.0.1:") for w in mesh.engine._workers)
        a = RNG.normal(size=(200, 30))
        np.testing.assert_allclose(xp.sum(shard(a, mesh, P("x")), axis=0), a.sum(axis=0))


def test_nothing_is_left(client: Client) -> None:
    x = shard(RNG.normal(size=(64, 64)), mesh_of(client, 2), P("x"))
    with pytest.raises(np.linalg.LinAlgError):
        np.asarray(xp.linalg.inv(x * 0))
    del x
    gc.collect()  # of what the traceback held
    assert until(lambda: not tasks_of(client))
