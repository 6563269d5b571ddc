"""Batches whose examples are shared out over the devices of a mesh: `pmap`, and `vmap` with a mesh axis."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from .._lazy.graph.bodies import is_writing
from .._lazy.graph.node import Node
from .._namespace.core.array import Array, check_device, default
from ..transforms.calls import decorator, named
from ..transforms.pytree import tree_leaves
from ..transforms.runs import Cut
from ..transforms.vmap import spmd_hook, vmap
from .arrays import cut_node
from .errors import ShardingError
from .mesh import DeviceMesh
from .specs import DimSpec, ShardingSpec

if TYPE_CHECKING:
    from ._types import Mapped, P, R


@dataclass(frozen=True)
class _Examples:
    """Cuts the first axis of nodes over axes of a mesh."""

    mesh: DeviceMesh
    axes: tuple[str, ...]

    def __call__(self, node: Node) -> Node:
        rest = [DimSpec(is_open=True)] * (node.aval.ndim - 1)
        return cut_node(node, ShardingSpec(self.mesh, [DimSpec(self.axes), *rest]))


def mesh_of(function: str, leaves: Sequence[Any]) -> DeviceMesh | None:
    """Return the mesh that arrays are on, or else that of the ``with mesh:`` block; None without one."""
    found = dict.fromkeys([x.device for x in leaves if isinstance(x, Array)])
    meshes = [d for d in found if isinstance(d, DeviceMesh)]
    if len(meshes) > 1:
        raise ShardingError(f"{function}: arguments are on {meshes[0]} and {meshes[1]}; one mesh would work")
    if meshes:
        return meshes[0]
    return default.device if isinstance(default.device, DeviceMesh) else None


def _uncut(node: Node) -> Node:
    return node


def _along(leaves: Sequence[Any], name: Hashable) -> Cut:
    mesh = mesh_of("vmap", leaves)
    if mesh is None and is_writing():  # a loop's body, whose arrays are where the loop will be
        return _uncut
    if mesh is None:
        raise ShardingError(
            f"vmap: spmd_axis_name is {name!r}, but no argument is on a mesh; shard(x, mesh, spec) for one "
            "of them, or a `with mesh:` block, would work"
        )
    axes = name if isinstance(name, tuple) else (name,)
    for axis in axes:
        if axis not in mesh.sizes:
            raise ShardingError(
                f"vmap: spmd_axis_name is {name!r}, but {mesh} has {', '.join(map(repr, mesh.axis_names))}"
            )
    check_device("vmap", mesh)
    return _Examples(mesh, axes)


spmd_hook[:] = [_along]


@overload
def pmap(
    fun: Callable[P, R],
    axis_name: Hashable = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    mesh: DeviceMesh | int | None = None,
    axis_size: int | None = None,
) -> Mapped[P, R]: ...
@overload
def pmap(
    *,
    axis_name: Hashable = None,
    in_axes: Any = 0,
    out_axes: Any = 0,
    mesh: DeviceMesh | int | None = None,
    axis_size: int | None = None,
) -> Callable[[Callable[P, R]], Mapped[P, R]]: ...
@decorator
def pmap(
    fun: Callable[..., Any],
    axis_name: Hashable = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    mesh: DeviceMesh | int | None = None,
    axis_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that does for every example of a batch what `fun` does for one, on many devices.

    It is `vmap` whose examples are shared out over all devices of a mesh. There may be more examples than
    devices.

    Parameters
    ----------
    fun : callable
        Of arrays, numbers and pytrees of these.
    axis_name : hashable, optional
        What collectives call the axis of the examples.
    in_axes, out_axes, axis_size
        As for `vmap`.
    mesh : DeviceMesh or int, optional
        The devices, or how many threads of this process are to be these. Without it the mesh that the
        arguments are on, that of the ``with mesh:`` block, or a thread for each core.

    Returns
    -------
    callable
        Of the same arguments.

    Raises
    ------
    ShardingError
        If arguments are on another mesh.
    ValueError, TypeError
        As `vmap`.

    References
    ----------
    https://docs.jax.dev/en/latest/_autosummary/jax.pmap.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import pmap, psum
    >>> @pmap(axis_name="i", mesh=2)
    ... def share(x):
    ...     return x / psum(x, "i")
    >>> y = share(xp.asarray([1.0, 2.0, 3.0, 4.0]))
    >>> y
    array([0.1, 0.2, 0.3, 0.4])
    >>> y.sharding.partition_spec
    P('x')
    """
    devices = DeviceMesh(mesh) if isinstance(mesh, int) else mesh

    @named(fun, "Parallel form")
    def mapped(*args: Any, **kwargs: Any) -> Any:
        there = mesh_of("pmap", tree_leaves((args, kwargs)))
        used = devices or there or DeviceMesh(os.cpu_count() or 1)
        if there not in (None, used, default.device):
            raise ShardingError(f"pmap: an argument is on {there}, not on {used}; one mesh would work")
        axes = used.axis_names if len(used.axis_names) > 1 else used.axis_names[0]
        name = axes if axis_name is None else axis_name
        run = vmap(fun, in_axes, out_axes, axis_name=name, axis_size=axis_size, spmd_axis_name=axes)
        with used:
            return run(*args, **kwargs)

    return mapped
