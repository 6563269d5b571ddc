"""What users do with sharded arrays: cut them over a mesh, cut them in another way, bring them together."""

from __future__ import annotations

from typing import Any

from .._lazy.graph.node import Node, record
from .._lazy.ops.placement import reshard as reshard_prim
from .._lazy.ops.placement import transfer
from .._lazy.rules.levels import bind
from .._lazy.run.devices import CPU, device_of
from .._namespace.chapters.creation import asarray
from .._namespace.core.array import Array, check_device, current, default, placed
from . import held  # noqa: F401  makes a mesh a device
from .errors import ShardingError
from .mesh import DeviceMesh
from .specs import PartitionSpec, ShardingSpec, as_spec, text_of


def shard(x: Any, mesh: DeviceMesh | None = None, spec: Any = None) -> Array:
    """Return an array cut over the devices of a mesh.

    Parameters
    ----------
    x : array_like
        The array. It may lie on a mesh already, and be traced by any transform.
    mesh : DeviceMesh, optional
        The mesh; without one, that of `spec`, of the ``with mesh:`` block, or of `x`.
    spec : PartitionSpec, sequence of DimSpec, ShardingSpec, or str, optional
        How it is cut; without one, every device has all of it.

    Returns
    -------
    Array
        The same elements. Nothing moves before they are needed.

    Raises
    ------
    ShardingError
        If the spec does not fit the array or the mesh, or there is no mesh.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import DeviceMesh, P, shard
    >>> mesh = DeviceMesh((4,), ("dp",))
    >>> x = shard(xp.arange(12.0), mesh, P("dp"))
    >>> x.sharding
    ShardingSpec(DeviceMesh((4,), ('dp',)), P('dp'))
    >>> float(xp.sum(x * 2))
    132.0
    """
    return cut("shard", x, mesh, spec)


def mesh_for(function: str, mesh: DeviceMesh | None, spec: Any) -> DeviceMesh:
    """Return the mesh that was given, that of the spec, or that of the `with` block."""
    if mesh is None:
        there = default.device if isinstance(default.device, DeviceMesh) else None
        mesh = spec.mesh if isinstance(spec, ShardingSpec) else there
    if mesh is None:
        raise ShardingError(f"{function}: no mesh was given; {function}(x, mesh, spec) would work")
    if not isinstance(mesh, DeviceMesh):
        works = "DeviceMesh(shape, axis_names)"
        if isinstance(mesh, ShardingSpec | PartitionSpec):
            works = f"{function}(x, mesh, spec), or {function}(x, spec=spec),"
        raise TypeError(f"{function}: {mesh!r} is no mesh; {works} would work")
    return mesh


def cut(function: str, x: Any, mesh: DeviceMesh | None, spec: Any) -> Array:
    """Return an array cut over a mesh; errors name the function."""
    x = x if isinstance(x, Array) else asarray(x)
    if mesh is None and not isinstance(spec, ShardingSpec) and isinstance(x.device, DeviceMesh):
        mesh = x.device
    mesh = mesh_for(function, mesh, spec)
    found = as_spec(mesh, spec, function, x)
    found.layout(x.shape, function)
    check_device(function, mesh)
    x = placed(x, mesh)
    return Array(*bind(reshard_prim, ((current(x), x._levels),), {"spec": found}))


def cut_node(node: Node, spec: ShardingSpec) -> Node:
    """Record that a node's value, its batch axes included, is cut so; it may be in the host's memory."""
    source = device_of(node)
    if source == CPU:
        node = record(transfer, (node,), {"source": source, "device": spec.mesh})
    return record(reshard_prim, (node,), {"spec": spec})


def reshard(x: Array, spec: Any) -> Array:
    """Return a sharded array cut in another way over its mesh.

    Parameters
    ----------
    x : Array
        An array on a mesh.
    spec : PartitionSpec, sequence of DimSpec, ShardingSpec, or str
        How it is to be cut.

    Returns
    -------
    Array
        The same elements.

    Raises
    ------
    ShardingError
        If the array is on no mesh, or the spec does not fit.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import DeviceMesh, P, reshard, shard
    >>> x = shard(xp.ones((4, 6)), DeviceMesh((2,), ("dp",)), P("dp"))
    >>> reshard(x, P(None, "dp")).sharding.partition_spec
    P(None, 'dp')
    """
    if not isinstance(x, Array) or not isinstance(x.device, DeviceMesh):
        raise ShardingError(f"reshard: {on_no_mesh(x)}")
    return cut("reshard", x, None, spec)


def on_no_mesh(x: Any) -> str:
    """Return what is said of what should have been an array on a mesh."""
    what = f"{text_of(x)} is on {x.device!r}," if isinstance(x, Array) else f"{type(x).__name__} is"
    return f"{what} on no mesh; shard(x, mesh, spec) would work"


def gather(x: Array) -> Array:
    """Return an array in this process's memory; one that is there already as it is.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import DeviceMesh, gather, shard
    >>> gather(shard(xp.ones(3), DeviceMesh(2), "x")).device
    'cpu'
    """
    return x.to_device("cpu")
