"""Sharded arrays: the same code over many devices."""

from .arrays import gather, reshard, shard
from .costs import Machine
from .errors import ClusterError, ShardingError
from .loading import load, save
from .mesh import DeviceMesh
from .named_axes import (
    all_gather,
    all_reduce,
    all_to_all,
    axis_index,
    axis_size,
    pmax,
    pmean,
    pmin,
    ppermute,
    psum,
    psum_scatter,
    reduce_scatter,
)
from .picturing import visualize_sharding
from .pmap import pmap
from .shard_map import shard_map
from .simulate import simulate
from .specs import DimSpec, P, PartitionSpec, ShardingSpec

__all__ = [
    "ClusterError",
    "DeviceMesh",
    "DimSpec",
    "Machine",
    "P",
    "PartitionSpec",
    "ShardingError",
    "ShardingSpec",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "axis_index",
    "axis_size",
    "gather",
    "load",
    "pmap",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "psum",
    "psum_scatter",
    "reduce_scatter",
    "reshard",
    "save",
    "shard",
    "shard_map",
    "simulate",
    "visualize_sharding",
]


def __dir__() -> list[str]:
    return __all__
