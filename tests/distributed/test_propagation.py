"""What specs leave open, how contradictions end, and parts of mesh axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.distributed import (
    DeviceMesh,
    DimSpec,
    P,
    ShardingError,
    ShardingSpec,
    reshard,
    save,
    shard,
    simulate,
    visualize_sharding,
)

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


@pytest.mark.parametrize("axes", [["a"], ["b"], ["a", "b"]], ids=str)
def test_terms_of_a_sum(axes: list[str]) -> None:
    """An array whose sum is still to be taken is the same array; what is linear keeps it so."""
    spec = ShardingSpec(MESH, [DimSpec(), DimSpec("b")] if axes == ["a"] else [], partial_axes=axes)
    x = shard(X, spec=spec)
    np.testing.assert_array_equal(np.asarray(x), X)
    assert list(x.sharding.partial_axes) == axes
    assert "still to be joined" in str(visualize_sharding(x))
    y = reshard(x * 2 + x, spec)
    assert not [s for s in xp.explain(y).steps if s.reads]
    np.testing.assert_array_equal(np.asarray(y), 3 * X)
    assert list(y.sharding.partial_axes) == axes
    for f in (lambda x: x**2, lambda x: xp.sort(x, axis=0), lambda x: x @ X.T, lambda x: x[1:] - x[:-1]):
        np.testing.assert_allclose(np.asarray(f(x)), np.asarray(f(xp.asarray(X))))
    x[0] = 1.0
    np.testing.assert_array_equal(np.asarray(x), np.vstack([np.ones(8), X[1:]]))


def test_terms_are_saved_as_their_sum(tmp_path: Path) -> None:
    x = shard(X, spec=ShardingSpec(MESH, ["a"], partial_axes=["b"]))
    save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), X)


def with_priorities(first: str, kind: str) -> list[xp.Array]:
    """Return two arrays whose specs contradict each other, computed already or not."""
    found = [
        shard(X, spec=ShardingSpec(MESH, [DimSpec([axis], priority=2 * int(axis != first))])) for axis in "ab"
    ]
    if kind != "pending":
        xp.eval(*(found if kind == "evaluated" else found[:1]))
    return found


@pytest.mark.parametrize("kind", ["pending", "evaluated", "one evaluated"])
@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize("f", [lambda x, y: x + y, lambda x, y: xp.exp(y) * 2 - x], ids=["sum", "chain"])
def test_priorities_outlive_the_evaluation(f: Any, first: str, kind: str) -> None:
    x, y = with_priorities(first, kind)
    assert f(x, y).sharding.partition_spec == P(first, None)
    assert f(y, x).sharding.partition_spec == P(first, None)
    np.testing.assert_allclose(np.asarray(f(x, y)), f(X, X))
    assert [z.sharding.dim_specs[0].priority for z in (x, y)] == [2 * int(axis != first) for axis in "ab"]


def test_what_was_computed_has_no_priority() -> None:
    """It lies somewhere, but nobody asked for that: specs with priorities decide."""
    x, y = with_priorities("b", "evaluated")
    z = x * 1
    xp.eval(z)
    assert z.sharding.partition_spec == P("a", None)
    assert (z + x + y).sharding.partition_spec == P("b", None)


def test_priorities_of_inputs_and_of_what_is_resharded() -> None:
    x = shard(X, MESH, P("a"))
    xp.eval(x)
    for priority, axis in ((1, "a"), (0, None)):
        y = shard(X, spec=ShardingSpec(MESH, [DimSpec(["b"], priority=priority)]))
        found = (x + y).sharding.partition_spec[0]
        assert found == axis or axis is None


def test_simulate_keeps_priorities() -> None:
    x, y = with_priorities("b", "evaluated")
    (step,) = simulate(lambda x, y: x + y, (4, 2), x, y).collectives
    assert [s.kind for s in xp.explain(x + y).steps if s.reads] == [step.kind]


def test_specs_outlive_the_evaluation() -> None:
    spec = ShardingSpec(MESH, [DimSpec(["a"], is_open=True), DimSpec(priority=1)], replicated_axes="b")
    x = shard(X, spec=spec)
    assert x.sharding == spec
    assert shard(X, MESH, P("a")).sharding == ShardingSpec(MESH, P("a", None))
