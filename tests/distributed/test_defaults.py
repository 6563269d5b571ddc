"""Where new arrays are put: `with mesh:`, and all of them cut."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, ShardingError, shard
from nabla_array.distributed.defaults import sharding_new_arrays

MESH = DeviceMesh((2, 2), ("dp", "tp"))
MAKERS = {
    "asarray": lambda: xp.asarray([[1.0, 2.0], [3.0, 4.0]]),
    "zeros": lambda: xp.zeros((4, 2)),
    "ones": lambda: xp.ones((4, 2)),
    "full": lambda: xp.full((4, 2), 3),
    "arange": lambda: xp.arange(5),
    "linspace": lambda: xp.linspace(0, 1, 5),
    "eye": lambda: xp.eye(3),
    "random": lambda: xp.random.default_rng(0).normal(size=(3, 4)),
    "uniform": lambda: xp.random.default_rng(0).random(7),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_is_made_is_the_meshs(make) -> None:  # type: ignore[no-untyped-def]
    wanted = np.asarray(make())
    with MESH:
        x = make()
        assert x.device == MESH
        assert (x + 1).device == MESH
    np.testing.assert_array_equal(np.asarray(x), wanted)
    assert make().device == "cpu"


def test_shard_takes_the_mesh_of_the_block() -> None:
    with pytest.raises(ShardingError, match=r"shard: no mesh was given; shard\(x, mesh, spec\) would work"):
        shard(np.ones(4), spec=P("dp"))
    with MESH, DeviceMesh(3):
        assert shard(np.ones(6), spec=P("x")).sharding.mesh == DeviceMesh(3)
    with MESH:
        assert shard(np.ones(4), spec=P("dp")).sharding.partition_spec == P("dp")


def test_blocks_are_a_threads_own() -> None:
    with MESH, ThreadPoolExecutor(1) as pool:
        assert pool.submit(xp.zeros, 3).result().device == "cpu"
        assert xp.zeros(3).device == MESH


def test_large_arrays_are_cut() -> None:
    with sharding_new_arrays(MESH, least=100):
        assert xp.ones((3, 20)).sharding.partition_spec == P(None, ("dp", "tp"))
        assert xp.ones(3).device == "cpu"
        assert xp.asarray(2.0).device == "cpu"
    with sharding_new_arrays(MESH, axis=0):
        assert xp.ones((3, 20)).sharding.partition_spec == P(("dp", "tp"), None)
