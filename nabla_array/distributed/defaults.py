"""Where new arrays are put for which no device is named."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from .._namespace.core.array import Array, default_device
from .arrays import shard
from .mesh import DeviceMesh


def sharding_new_arrays(
    mesh: DeviceMesh, axis: int | None = None, least: int = 0
) -> AbstractContextManager[None]:
    """Cut this thread's new arrays of `least` bytes or more along an axis, or their longest, over a mesh.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import DeviceMesh
    >>> from nabla_array.distributed.defaults import sharding_new_arrays
    >>> with sharding_new_arrays(DeviceMesh(2)):
    ...     x = xp.zeros((3, 8))
    >>> x.sharding.partition_spec
    P(None, 'x')
    """

    def place(x: Array) -> Array:
        if not x.ndim or x.nbytes < least:
            return x
        longest = max(range(x.ndim), key=x.shape.__getitem__)
        spec: list[Any] = [None] * x.ndim
        spec[longest if axis is None else axis] = mesh.axis_names
        return shard(x, mesh, spec)

    return default_device(mesh, place)
