"""Sharded arrays: the same code over many devices."""

from .arrays import gather, reshard, shard
from .errors import ShardingError
from .mesh import DeviceMesh
from .specs import DimSpec, P, PartitionSpec, ShardingSpec

__all__ = [
    "DeviceMesh",
    "DimSpec",
    "P",
    "PartitionSpec",
    "ShardingError",
    "ShardingSpec",
    "gather",
    "reshard",
    "shard",
]
