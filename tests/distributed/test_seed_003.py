"""What the seed on `vmap` and sharding says: batches cut over a mesh axis, parts that match their specs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.graph.program import Program, linearize, pending_order
from nabla_array._lazy.ops.placement import is_resident
from nabla_array._lazy.ops.structure import slice_
from nabla_array._namespace.core.array import current
from nabla_array.distributed import DeviceMesh, P, ShardingSpec, shard
from nabla_array.distributed.held import partition
from nabla_array.distributed.layouts import replicated
from nabla_array.distributed.partition import Local, part_aval
from nabla_array.transforms import grad, jvp, vmap

MESH = DeviceMesh((4,), ("dp",))
X = np.random.default_rng(0).normal(size=(8, 6))
W = np.random.default_rng(1).normal(size=(6, 3))


def held(x: Any) -> Any:
    xp.eval(x)
    return current(x).params["value"]


def on_mesh(x: np.ndarray, spec: P) -> Any:
    found = shard(x, MESH, spec) * 1
    xp.eval(found)
    return found


def program_of(x: Any) -> tuple[Program, list[Any]]:
    order = pending_order([current(x)])
    line = linearize(order, [current(x)])
    return line.program, [n.params["value"].layout if is_resident(n) else None for n in line.inputs]


def test_the_batch_axis_is_cut_where_spmd_axis_name_is_given() -> None:
    x = on_mesh(X, P())
    y = vmap(lambda v: xp.tanh(v) * 2, spmd_axis_name="dp")(x)
    assert y.sharding.partition_spec == P("dp", None)
    assert [part.shape for part in held(y).shards] == [(2, 6)] * 4
    assert vmap(lambda v: xp.tanh(v) * 2)(x).sharding.partition_spec == P(None, None)


def test_case_study_of_a_product() -> None:
    """`x` is cut over the batch, `w` is whole: each device does its rows with all of `w`."""
    x, w = on_mesh(X, P("dp")), on_mesh(W, P())
    y = vmap(lambda v, w: v @ w, in_axes=(0, None), spmd_axis_name="dp")(x, w)
    told = xp.explain(y)
    assert [step.kind for step in told.steps] == ["devices"]
    assert y.sharding.partition_spec == P("dp", None)
    np.testing.assert_allclose(np.asarray(y), X @ W)
    assert [part.shape for part in held(y).shards] == [(2, 3)] * 4


def test_a_replicated_operand_that_meets_a_sharded_one_is_sliced_by_a_step_of_its_own() -> None:
    x, b = on_mesh(X, P("dp")), on_mesh(X + 1, P())
    program, layouts = program_of(x + b)
    made = partition(MESH, program, layouts).made
    assert next(m.prim for m in made if isinstance(m, Local)) is slice_
    np.testing.assert_allclose(np.asarray(x + b), 2 * X + 1)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: x @ w,
        lambda x, w: xp.sum(x[:, None] * w.T, axis=-1),
        lambda x, w: xp.sort(x @ w, axis=1)[1:] + xp.cumulative_sum(x @ w, axis=1)[:-1],
        lambda x, w: vmap(lambda v: v @ w, spmd_axis_name="dp")(x),
        lambda x, w: vmap(vmap(lambda v, u: v * u, in_axes=(0, 0)), in_axes=(0, None))(x, w[:, 0]),
        lambda x, w: grad(lambda w: xp.sum(vmap(lambda v: v @ w, spmd_axis_name="dp")(x) ** 2))(w),
        lambda x, w: jvp(lambda w: vmap(lambda v: v @ w, spmd_axis_name="dp")(x), (w,), (w,))[1],
    ],
)
@pytest.mark.parametrize("specs", [("dp", None), (None, "dp"), (None, None)], ids=str)
def test_parts_match_their_specs_at_every_operation(f: Any, specs: Any) -> None:
    x, w = on_mesh(X, P(specs[0])), on_mesh(W, P(specs[1]))
    program, layouts = program_of(f(x, w))
    made = partition(MESH, program, layouts)
    for m in made.made:
        if isinstance(m, Local):
            for d in range(MESH.size):
                ins = [part_aval(made.values[i].aval, made.values[i].layout, d) for i in m.ins]
                out = made.values[m.out]
                assert m.prim.aval(*ins, **m.params_of(d)) == part_aval(out.aval, out.layout, d)
    y = f(x, w)
    for part, d in zip(held(y).shards, range(MESH.size), strict=True):
        assert part.shape == held(y).layout.local_shape(d)
    with MESH:
        wanted = f(xp.asarray(X), xp.asarray(W))
    np.testing.assert_allclose(np.asarray(y), np.asarray(wanted))


def test_an_axis_that_is_moved_to_the_front_is_cut_there() -> None:
    """The axis of examples goes to the front, whichever it was, and comes out where it is wanted."""
    x = on_mesh(X.T.copy(), P())
    y = vmap(lambda v: v - v.mean(), in_axes=1, out_axes=1, spmd_axis_name="dp")(x)
    np.testing.assert_allclose(np.asarray(y), X.T - X.T.mean(0))
    assert y.sharding == ShardingSpec(MESH, P(None, "dp"))


def test_uneven_batches() -> None:
    x = on_mesh(X[:7], P())
    y = vmap(lambda v: v + 1, spmd_axis_name="dp")(x)
    assert [len(part) for part in held(y).shards] == [2, 2, 2, 1]
    np.testing.assert_allclose(np.asarray(y), X[:7] + 1)


def test_everything_on_every_device_is_one_part() -> None:
    y = on_mesh(X, P()) + 1
    value = held(y)
    assert value.layout == replicated(MESH, X.shape)
    assert len({id(part) for part in value.shards}) == 1
