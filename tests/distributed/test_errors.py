"""Meshes and specs that do not fit: errors that name the array, the spec, and what would work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from distributed import Client

import nabla_array as xp
from nabla_array.distributed import (
    DeviceMesh,
    DimSpec,
    P,
    ShardingError,
    ShardingSpec,
    gather,
    reshard,
    shard,
)
from nabla_array.transforms import compile, grad

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
        (P("dp", "dp"), "the spec of float64[4, 6] does not fit: P('dp', 'dp')"),
        (P("dp:(1)3"), "'dp', or its parts 'dp:(m)k' where m * k divides its 2 devices, would work"),
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
    with pytest.raises(TypeError, match=r"shard: the spec of float64\[4, 6\] does not fit: 3 is no"):
        shard(X, mesh, [3])
    with pytest.raises(TypeError, match=r"DimSpec: 3 is no mesh axis; its name, a string, would work"):
        DimSpec(3)  # type: ignore[arg-type]
    with pytest.raises(ShardingError, match=r"DimSpec: the priority 'high' is no number from 0 on"):
        DimSpec(["dp"], priority="high")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"ShardingSpec: 'dp' is no mesh; ShardingSpec\(mesh, "):
        ShardingSpec("dp")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"is no mesh; shard\(x, mesh, spec\), or shard\(x, spec=spec\),"):
        shard(X, P("dp"))  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"shard: 'dp' is no mesh; DeviceMesh\(shape, axis_names\) would work"
    ):
        shard(X, "dp", P("dp"))


def test_a_spec_on_another_mesh(mesh: DeviceMesh) -> None:
    spec = ShardingSpec(DeviceMesh(4), ["x"])
    with pytest.raises(
        ShardingError, match=r"shard: the spec of .* is on DeviceMesh\(\(4,\).*, not on .*; one mesh"
    ):
        shard(X, mesh, spec)


def test_two_engines_in_one_expression(client: Client) -> None:
    here = shard(X, DeviceMesh((2,), ("x",)), P("x"))
    there = shard(X, mesh_of(client, 2), P("x"))
    one = "DeviceMesh((2,), ('x',))"
    other = f"DeviceMesh((2,), ('x',), engine='dask', client={client.scheduler.address!r})"
    says = (
        f"add: operands are on {one} and {other}; reshard(x, y.sharding), or gather(x), would bring them "
        f"together: float64[4, 6] cut by ShardingSpec({one}, P('x')), "
        f"float64[4, 6] cut by ShardingSpec({other}, P('x'))"
    )
    with pytest.raises(ValueError, match=re.escape(says)):
        np.asarray(here + there)
    np.testing.assert_array_equal(here + there.to_device(here.device), X + X)
    np.testing.assert_array_equal(here.to_device(there.device) + there, X + X)
    np.testing.assert_array_equal(gather(here) + there, X + X)
    moved = reshard(here, there.sharding)
    assert moved.device == there.device
    np.testing.assert_array_equal(moved + there, X + X)


def test_two_clusters_in_one_expression(client: Client) -> None:
    with threads(1) as other:
        x, y = (shard(X, mesh_of(c, 2), P("x")) for c in (client, other))
        with pytest.raises(ValueError, match=r"add: operands are on ") as error:
            np.asarray(x + y)
        assert all(repr(c.scheduler.address) in str(error.value) for c in (client, other))


@pytest.mark.parametrize(
    ("named", "function"),
    [
        ("select", lambda x, y: xp.where(x > 0, x, y)),
        ("concat", lambda x, y: xp.concat([x, y])),
        ("matmul", lambda x, y: xp.sin(x) @ xp.cos(y).T),
        ("add", lambda x, y: x.__iadd__(y)),
        ("gather", lambda x, y: x[xp.astype(y[:, 0], xp.int64)]),
        ("mul", lambda x, y: compile(lambda x, y: x * y)(x, y)),
        ("mul", lambda x, y: grad(lambda x: xp.sum(x * y))(x)),
        ("eq", lambda x, y: bool(xp.all(x == y))),
    ],
)
def test_two_meshes_of_one_engine(mesh: DeviceMesh, named: str, function: Any) -> None:
    x, y = shard(X, mesh, P("dp")), shard(X, DeviceMesh(3), P("x"))
    with pytest.raises(
        ValueError, match=rf"^{named}: operands are on .*reshard\(x, y.sharding\), or gather\(x\), would"
    ):
        xp.eval(function(x, y))


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
        ShardingError,
        match=r"reshard: float64\[3\] is on 'cpu', on no mesh; shard\(x, mesh, spec\) would work",
    ):
        reshard(xp.ones(3), P("x"))


@pytest.mark.parametrize(
    ("shape", "names", "says"),
    [
        (2.5, "x", "the shape 2.5 is no integers; (4,), or 4, would work"),
        ((2, 2), ("x",), "1 names ('x',) for the 2 axes of shape (2, 2); a name for each axis would work"),
        ((2, 2), ("x", "x"), "two axes of ('x', 'x') have one name; others would work"),
        ((0,), "x", "an axis of (0,) has no device; sizes from 1 would work"),
        ((2, 2), (1, 2), "1 is no name of an axis; a string without ':' would work"),
        (4, "x:(1)2", "'x:(1)2' is no name of an axis; a string without ':' would work"),
    ],
)
def test_shapes_and_names(shape: Any, names: Any, says: str) -> None:
    with pytest.raises(ShardingError, match=re.escape(f"DeviceMesh: {says}")):
        DeviceMesh(shape, names)
    assert DeviceMesh(np.int64(2), "x") == DeviceMesh((2,), ("x",))  # type: ignore[arg-type]


def test_specs_print_all_that_they_say(mesh: DeviceMesh) -> None:
    spec = ShardingSpec(mesh, [DimSpec("dp", is_open=True), DimSpec([], priority=1)], replicated_axes="tp")
    said = "[DimSpec(['dp'], is_open=True), DimSpec([], priority=1)], replicated_axes=['tp']"
    assert repr(spec) == f"ShardingSpec({mesh}, {said})"
    assert repr(ShardingSpec(mesh, P("dp"))) == f"ShardingSpec({mesh}, P('dp'))"
