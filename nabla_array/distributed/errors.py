"""Errors of this package."""

from __future__ import annotations


class ShardingError(ValueError):
    """An array cannot be sharded like that; the message says what would work.

    >>> import nabla_array as xp
    >>> from nabla_array.distributed import DeviceMesh, ShardingError, shard
    >>> try:
    ...     shard(xp.ones(4), DeviceMesh(2, "rows"), "columns")
    ... except ShardingError as error:
    ...     print(str(error).partition(":")[0])
    shard
    """


class ClusterError(RuntimeError):
    """The cluster that a mesh is on cannot give what was asked; the message says why, and what would work.

    >>> from nabla_array.distributed import ClusterError
    >>> issubclass(ClusterError, RuntimeError)
    True
    """
