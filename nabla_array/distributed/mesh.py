"""Meshes of devices: what arrays are sharded over."""

from __future__ import annotations

import math
import operator
from _thread import _local as local
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._namespace.core.array import Array, check_device, default_device, placed
from .engines import Engine, Local
from .errors import ShardingError
from .layouts import part_of


class MeshAxis(NamedTuple):
    """An axis of a mesh, or a part of one: neighbours on it differ by `stride` on the axis `base`."""

    base: str
    size: int
    stride: int


class DeviceMesh:
    """Devices in a grid whose axes have names.

    Parameters
    ----------
    shape : int or tuple of ints
        Devices along each axis.
    axis_names : str or sequence of str
        A name for each axis.
    engine : str, optional
        "local": threads of this process share the work. "dask": workers of a Dask cluster.
    client : distributed.Client, optional
        The cluster for "dask", with whatever security it has; without one, a ``LocalCluster`` is started,
        which listens on this machine only, and is closed with the mesh or the interpreter.
    timeout : float, optional
        Seconds that this process waits for values that a cluster computes before it raises TimeoutError;
        None: as long as it takes.

    Raises
    ------
    ValueError
        If the names do not fit the shape, two are alike, an axis has no device, or there is no such engine.
    ClusterError
        If the cluster has no worker, or one with another version of the library.

    Notes
    -----
    A Dask cluster computes again what is lost with a worker. For that its scheduler keeps how each array was
    computed, which grows with the steps of a loop; `save` and `load` begin anew.

    In a block ``with mesh:`` new arrays are the mesh's, and `shard` needs no mesh. Which device holds
    which part of a new array is for the program to say that first needs it.

    Examples
    --------
    >>> from nabla_array.distributed import DeviceMesh
    >>> mesh = DeviceMesh((2, 2), ("dp", "tp"))
    >>> mesh
    DeviceMesh((2, 2), ('dp', 'tp'))
    >>> mesh.size
    4
    """

    def __init__(
        self,
        shape: int | Sequence[int],
        axis_names: str | Sequence[str] = ("x",),
        *,
        engine: str = "local",
        client: Any = None,
        timeout: float | None = 300.0,
    ) -> None:
        try:
            self.shape = tuple(
                [operator.index(n) for n in (shape if isinstance(shape, Iterable) else (shape,))]
            )
        except TypeError:
            raise ShardingError(
                f"DeviceMesh: the shape {shape!r} is no integers; (4,), or 4, would work"
            ) from None
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        for name in self.axis_names:
            if not isinstance(name, str) or ":" in name:
                raise ShardingError(
                    f"DeviceMesh: {name!r} is no name of an axis; a string without ':' would work"
                )
        if len(self.shape) != len(self.axis_names):
            raise ShardingError(
                f"DeviceMesh: {len(self.axis_names)} names {self.axis_names} for the {len(self.shape)} axes "
                f"of shape {self.shape}; a name for each axis would work"
            )
        if len({*self.axis_names}) < len(self.axis_names):
            raise ShardingError(f"DeviceMesh: two axes of {self.axis_names} have one name; others would work")
        if any(n < 1 for n in self.shape):
            raise ShardingError(f"DeviceMesh: an axis of {self.shape} has no device; sizes from 1 would work")
        self.sizes = dict(zip(self.axis_names, self.shape, strict=True))
        self.size = math.prod(self.shape)
        self.engine = _engine(engine, self.size, client, timeout)

    def __repr__(self) -> str:
        more = "".join([f", {k}={v!r}" for k, v in self.engine.given.items()])
        return f"DeviceMesh({self.shape}, {self.axis_names}{more})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.axis_names, self.engine

    @cached_property
    def coordinates(self) -> tuple[dict[str, int], ...]:
        """For each device its place on each axis."""
        places = np.indices(self.shape).reshape(len(self.shape), -1).T
        return tuple(dict(zip(self.axis_names, map(int, p), strict=True)) for p in places)

    def axis(self, name: str) -> MeshAxis:
        """Return the axis, or the part of one, of a name; raises KeyError where there is none."""
        return _axis(self, name)

    def index(self, device: int, axes: tuple[str, ...]) -> int:
        """Return the place of a device along some axes, the first the slowest."""
        return _indices(self, axes)[device]

    def indices(self, axes: tuple[str, ...]) -> np.ndarray:
        """Return the place of each device along some axes."""
        return np.array(_indices(self, axes))

    def length(self, axes: tuple[str, ...]) -> int:
        """Return how many devices there are along some axes."""
        return math.prod([self.axis(a).size for a in axes])

    def __enter__(self) -> DeviceMesh:
        _blocks.entered.append(default_device(self, self._place))
        _blocks.entered[-1].__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        _blocks.entered.pop().__exit__(*exc)

    def _place(self, x: Array) -> Array:
        check_device("mesh", self)
        return placed(x, self)

    @property
    def dashboard_link(self) -> str:
        """Where the dashboard of the mesh's cluster is; empty where there is none."""
        return self.engine.dashboard_link

    def close(self) -> None:
        """End what the mesh has started; arrays on it are lost."""
        self.engine.close()


def _engine(name: str, size: int, client: Any, timeout: float | None) -> Engine:
    """Return an engine by its name."""
    if timeout is not None and not timeout > 0:
        raise ShardingError(f"DeviceMesh: a timeout of {timeout} s; seconds above 0, or None, would work")
    if name == "local":
        if client is not None:
            raise ShardingError('DeviceMesh: the engine "local" takes no client; engine="dask" would work')
        return Local(size)
    if name == "dask":
        from .dask_engine import Dask

        return Dask(size, client, timeout)
    raise ShardingError(f"DeviceMesh: no engine {name!r}; 'local' or 'dask' would work")


class _Blocks(local):
    """The `with` blocks of meshes that a thread is in."""

    def __init__(self) -> None:
        self.entered: list[Any] = []


_blocks = _Blocks()


@lru_cache(1 << 10)
def _axis(mesh: DeviceMesh, name: str) -> MeshAxis:
    base, before, size = part_of(name)
    many = mesh.sizes[base]
    if size is None:
        return MeshAxis(base, many, 1)
    if not size or not before or many % (before * size):
        raise KeyError(name)
    return MeshAxis(base, size, many // (before * size))


@lru_cache(1 << 10)
def _indices(mesh: DeviceMesh, axes: tuple[str, ...]) -> tuple[int, ...]:
    found = []
    for place in mesh.coordinates:
        at = 0
        for a in axes:
            base, size, stride = mesh.axis(a)
            at = at * size + place[base] // stride % size
        found.append(at)
    return tuple(found)
