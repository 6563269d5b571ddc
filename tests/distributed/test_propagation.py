"""What specs leave open, how contradictions end, and parts of mesh axes."""

from __future__ import annotations

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, DimSpec, P, ShardingError, ShardingSpec, shard

MESH = DeviceMesh((4, 2), ("a", "b"))
X = np.arange(96.0).reshape(12, 8)


def cut(x: xp.Array) -> P:
    xp.eval(x)
    return x.sharding.partition_spec


@pytest.mark.parametrize("first", ["a", "b"])
def test_of_two_specs_the_one_of_the_lower_number_holds(first: str) -> None:
    specs = {
        axis: ShardingSpec(MESH, [DimSpec([axis], priority=int(axis != first)), DimSpec()]) for axis in "ab"
    }
    found = shard(X, spec=specs["a"]) + shard(X, spec=specs["b"])
    np.testing.assert_array_equal(np.asarray(found), X + X)
    assert cut(shard(X, spec=specs["a"]) + shard(X, spec=specs["b"])) == P(first, None)


def test_open_axes_stay_as_they_are() -> None:
    x = shard(X, MESH, P("a", "b"))
    assert cut(shard(x, spec=ShardingSpec(MESH, [DimSpec(is_open=True), DimSpec()]))) == P("a", None)
    assert cut(shard(x, spec=ShardingSpec(MESH, [DimSpec(), DimSpec()]))) == P(None, None)


def test_open_axes_are_cut_as_it_is_welcome() -> None:
    other = shard(np.ones((12, 8)), MESH, P("a"))
    x = shard(X, spec=ShardingSpec(MESH, [DimSpec(is_open=True), DimSpec(["b"])]))
    found = x * other
    np.testing.assert_array_equal(np.asarray(found), X)
    xp.eval(found, x)
    assert x.sharding.partition_spec == P("a", "b")


def test_open_axes_may_be_cut_further() -> None:
    x = shard(X, MESH, P(("a", "b")))
    for axes, wanted in ((["a"], ("a", "b")), (["b"], "b")):
        assert cut(shard(x, spec=ShardingSpec(MESH, [DimSpec(axes, is_open=True)]))) == P(wanted, None)


def test_replicated_axes_cut_nothing() -> None:
    other = shard(np.ones((12, 8)), MESH, P("a"))
    spec = ShardingSpec(MESH, [DimSpec(is_open=True), DimSpec(["b"])], replicated_axes=["a"])
    x = shard(X, spec=spec)
    xp.eval(x * other, x)
    assert x.sharding.partition_spec == P(None, "b")


def test_parts_of_an_axis() -> None:
    mesh, like = DeviceMesh(8, "x"), DeviceMesh((2, 4), ("x", "y"))
    for spec, same in (
        (P("x:(1)2", "x:(2)4"), P("x", "y")),
        (P("x:(2)4", "x:(1)2"), P("y", "x")),
        (P("x:(2)4"), P("y")),
        (P(None, ("x:(2)4", "x:(1)2")), P(None, ("y", "x"))),
    ):
        boxes = [ShardingSpec(m, s).layout(X.shape).boxes for m, s in ((mesh, spec), (like, same))]
        assert boxes[0] == boxes[1]
    x = shard(X, mesh, P("x:(1)2", "x:(2)4"))
    np.testing.assert_allclose(np.asarray(x.T @ x), X.T @ X)
    np.testing.assert_array_equal(np.asarray(x + shard(X, mesh, P("x"))), X + X)
    assert x.sharding.partition_spec == P("x:(1)2", "x:(2)4")


@pytest.mark.parametrize("spec", [P("x", "x:(1)2"), P("x:(1)4", "x:(2)2"), P(("x:(2)4", "x:(4)2"))])
def test_parts_that_overlap(spec: P) -> None:
    with pytest.raises(ShardingError, match="twice"):
        shard(X, DeviceMesh(8, "x"), spec)


@pytest.mark.parametrize("name", ["x:(1)3", "x:(0)2", "x:(4)4", "y:(1)2", "x:2"])
def test_parts_that_there_are_not(name: str) -> None:
    with pytest.raises(ShardingError, match="names the mesh axis"):
        shard(X, DeviceMesh(8, "x"), P(name))
