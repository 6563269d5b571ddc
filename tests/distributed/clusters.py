"""Dask clusters for tests: workers that are threads of this process, and workers that can be killed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, LocalCluster

from nabla_array.distributed import DeviceMesh


@contextmanager
def threads(workers: int) -> Iterator[Client]:
    """Start workers in this process."""
    quiet = {"distributed.comm.timeouts.connect": "5s"}
    with (
        dask.config.set(quiet),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def processes(workers: int, **settings: Any) -> Iterator[Client]:
    """Start workers that are processes, which are started again where they die."""
    more = {"distributed.scheduler.allowed-failures": settings.pop("allowed_failures", 3)}
    with (
        dask.config.set(more),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
            **settings,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def mesh_of(client: Client, size: int, **settings: Any) -> DeviceMesh:
    """Return a mesh of one axis, "x"."""
    return DeviceMesh((size,), ("x",), engine="dask", client=client, **settings)


def tasks_of(client: Client) -> dict[Any, Any]:
    """Return the scheduler's tasks, in this process."""
    return client.cluster.scheduler.tasks


def until(condition: Callable[[], Any], seconds: float = 10.0) -> bool:
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
