"""Meshes and specs that do not fit: errors that name the array, the spec, and what would work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from distributed import Client

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, DimSpec, P, ShardingError, ShardingSpec, reshard, shard

from .clusters import mesh_of, threads

X = np.ones((4, 6))


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with threads(1) as client:
        yield client


@pytest.fixture(params=["local", "dask"])
def mesh(request: pytest.FixtureRequest, client: Client) -> DeviceMesh:
    given = {} if request.param == "local" else {"engine": "dask", "client": client}
    return DeviceMesh((2, 2), ("dp", "tp"), **given)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (P("dp", "dp"), "P('dp', 'dp') uses the mesh axis 'dp' twice; an axis can cut one axis of an array"),
        (P(("dp", "tp", "dp")), "uses the mesh axis 'dp' twice"),
        (P("dp", "rows"), "P('dp', 'rows') names the mesh axis 'rows', but DeviceMesh((2, 2), ('dp', 'tp')"),
        ([DimSpec(["pp"])], "names the mesh axis 'pp', but DeviceMesh((2, 2), ('dp', 'tp')"),
        (
            P(None, None, "dp"),
            "P(None, None, 'dp') has 3 entries for an array of shape (4, 6), which has 2 axes",
        ),
    ],
)
def test_specs(mesh: DeviceMesh, spec: Any, says: str) -> None:
    with pytest.raises(ShardingError, match=re.escape(says)):
        shard(X, mesh, spec)
    x = shard(X, mesh, P("dp"))
    with pytest.raises(ShardingError, match=re.escape(says)):
        reshard(x, spec)
    np.testing.assert_array_equal(x, X)


def test_what_is_no_spec(mesh: DeviceMesh) -> None:
    with pytest.raises(
        TypeError, match=r"shard: 3 is no sharding; P\(\.\.\.\), a list of DimSpec, .* would work"
    ):
        shard(X, mesh, 3)
    with pytest.raises(TypeError, match=r"PartitionSpec: 1 is no entry; a mesh axis's name"):
        P(1)
    with pytest.raises(
        TypeError, match=r"shard: 'dp' is no mesh; DeviceMesh\(shape, axis_names\) would work"
    ):
        shard(X, "dp", P("dp"))


def test_a_spec_on_another_mesh(mesh: DeviceMesh) -> None:
    spec = ShardingSpec(DeviceMesh(4), ["x"])
    with pytest.raises(
        ShardingError, match=r"shard: the spec is on DeviceMesh\(\(4,\).*, not on .*; one mesh"
    ):
        shard(X, mesh, spec)


def test_two_engines_in_one_expression(client: Client) -> None:
    here = shard(X, DeviceMesh((2,), ("x",)), P("x"))
    there = shard(X, mesh_of(client, 2), P("x"))
    says = (
        r"add: operands are on DeviceMesh\(\(2,\), \('x',\)\) and "
        r"DeviceMesh\(\(2,\), \('x',\), engine='dask'\); to_device would bring them together"
    )
    with pytest.raises(ValueError, match=says):
        np.asarray(here + there)
    np.testing.assert_array_equal(here + there.to_device(here.device), X + X)
    np.testing.assert_array_equal(here.to_device(there.device) + there, X + X)
    assert reshard(here, there.sharding).device == there.device


def test_two_meshes_of_one_engine(mesh: DeviceMesh) -> None:
    x, y = shard(X, mesh, P("dp")), shard(X, DeviceMesh(3), P("x"))
    with pytest.raises(ValueError, match=r"matmul: operands are on .*to_device would bring them together"):
        np.asarray(x @ y.T)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"engine": "mpi"}, "DeviceMesh: no engine 'mpi'; 'local' or 'dask' would work"),
        ({"engine": "dask", "client": "tcp://127.0.0.1:1"}, "is no client that waits; distributed.Client"),
        ({"client": object()}, 'the engine "local" takes no client; engine="dask" would work'),
        ({"timeout": 0}, "DeviceMesh: a timeout of 0 s; seconds above 0, or None, would work"),
    ],
)
def test_engines(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ShardingError, match=re.escape(says)):
        DeviceMesh((2,), ("x",), **given)


def test_arrays_on_no_mesh() -> None:
    with pytest.raises(
        ShardingError, match="reshard: cpu is no mesh; an array that `shard` has cut would work"
    ):
        reshard(xp.ones(3), P("x"))
