"""Sharding specs: what users say of how an array is cut over a mesh."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .errors import ShardingError
from .layouts import Layout, even, meet, uncut
from .mesh import DeviceMesh


class PartitionSpec(tuple[Any, ...]):
    """For each axis of an array the mesh axis over which it is cut; `P` for short.

    An entry is the name of a mesh axis, a tuple of them (the first the slowest), or None where every device
    has all of the axis. Axes beyond the last entry are not cut. JAX has the same class.

    Examples
    --------
    >>> from nabla_array.distributed import P
    >>> P("dp", None)
    P('dp', None)
    """

    __slots__ = ()

    def __new__(cls, *entries: Any) -> PartitionSpec:
        for entry in entries:
            names = entry if isinstance(entry, tuple | list) else (entry,)
            if not all(n is None or isinstance(n, str) for n in names):
                raise TypeError(
                    f"PartitionSpec: {entry!r} is no entry; "
                    "a mesh axis's name, a tuple of names, or None would work"
                )
        return super().__new__(cls, [tuple(e) if isinstance(e, list) else e for e in entries])

    def __repr__(self) -> str:
        return f"P({', '.join(map(repr, self))})"


P = PartitionSpec


class DimSpec:
    """How one axis of an array is cut.

    Parameters
    ----------
    axes : sequence of str
        The mesh axes over which it is cut, the first the slowest; none: it is not cut. Parts of an axis are
        axes, too: of an axis "x" of 8 devices, ``"x:(1)2"`` are the halves, ``"x:(2)4"`` the four of each.
    is_open : bool, optional
        Whether propagation may cut it over more mesh axes.
    priority : int, optional
        Of two specs that contradict each other, the one of the lower number holds.

    Examples
    --------
    >>> from nabla_array.distributed import DimSpec
    >>> DimSpec(["dp"])
    DimSpec(['dp'])
    """

    __slots__ = ("axes", "is_open", "priority")

    def __init__(self, axes: Iterable[str] = (), is_open: bool = False, priority: int = 0) -> None:
        self.axes = (axes,) if isinstance(axes, str) else tuple(axes)
        self.is_open = bool(is_open)
        self.priority = int(priority)
        if self.priority < 0:
            raise ShardingError(f"DimSpec: the priority {priority} is negative; one from 0 on would work")

    def _key(self) -> tuple[Any, ...]:
        return self.axes, self.is_open, self.priority

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DimSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        more = ", is_open=True" * self.is_open + (f", priority={self.priority}" if self.priority else "")
        return f"DimSpec({list(self.axes)}{more})"


class ShardingSpec:
    """How an array is cut over a mesh.

    Parameters
    ----------
    mesh : DeviceMesh
    dim_specs : sequence of DimSpec, or PartitionSpec
        One for each axis of the array; axes beyond the last one are not cut.
    replicated_axes : iterable of str, optional
        Mesh axes over which propagation may not cut the array.
    partial_axes : iterable of str, optional
        Mesh axes along which the devices' parts are terms of a sum that has not been taken yet.

    Raises
    ------
    ShardingError
        If a mesh axis is unknown, or stands twice.

    Examples
    --------
    >>> from nabla_array.distributed import DeviceMesh, DimSpec, ShardingSpec
    >>> mesh = DeviceMesh((4,), ("dp",))
    >>> ShardingSpec(mesh, [DimSpec(["dp"]), DimSpec([])])
    ShardingSpec(DeviceMesh((4,), ('dp',)), P('dp', None))
    """

    __slots__ = ("dim_specs", "mesh", "partial_axes", "replicated_axes")

    def __init__(
        self,
        mesh: DeviceMesh,
        dim_specs: Sequence[Any] = (),
        *,
        replicated_axes: Iterable[str] = (),
        partial_axes: Iterable[str] = (),
    ) -> None:
        self.mesh = mesh
        self.dim_specs = tuple(_dim_spec(d) for d in dim_specs)
        self.replicated_axes = tuple(sorted(replicated_axes))
        self.partial_axes = tuple(sorted(partial_axes))
        used = [*[a for d in self.dim_specs for a in d.axes], *self.replicated_axes, *self.partial_axes]
        for n, axis in enumerate(used):
            try:
                mesh.axis(axis)
            except KeyError:
                raise ShardingError(
                    f"ShardingSpec: {self.partition_spec} names the mesh axis {axis!r}, "
                    f"but {mesh} has {', '.join(map(repr, mesh.axis_names))}"
                ) from None
            if meet([axis], used[:n]):
                raise ShardingError(
                    f"ShardingSpec: {self.partition_spec} uses the mesh axis {axis!r} twice; "
                    "an axis can cut one axis of an array"
                )

    @property
    def partition_spec(self) -> PartitionSpec:
        """The same as a PartitionSpec."""
        entries = [d.axes[0] if len(d.axes) == 1 else d.axes or None for d in self.dim_specs]
        return PartitionSpec(*entries)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device has all of the array."""
        return not self.partial_axes and not any(d.axes for d in self.dim_specs)

    def _key(self) -> tuple[Any, ...]:
        return self.mesh, self.dim_specs, self.replicated_axes, self.partial_axes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShardingSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        more = [f"{k}={v}" for k in ("replicated_axes", "partial_axes") if (v := list(getattr(self, k)))]
        return f"ShardingSpec({', '.join([repr(self.mesh), repr(self.partition_spec), *more])})"

    def batched(self) -> ShardingSpec:
        """Return the spec of the same with one more axis in front, which stays as it is."""
        more = {k: getattr(self, k) for k in ("replicated_axes", "partial_axes")}
        return ShardingSpec(self.mesh, (DimSpec(is_open=True), *self.dim_specs), **more)

    def within(self, n: int) -> ShardingSpec:
        """Return the spec of what an array has along its first axes; the sums in it have been taken."""
        return ShardingSpec(self.mesh, self.dim_specs[n:], replicated_axes=self.replicated_axes)

    def layout(self, shape: tuple[int, ...], function: str = "shard", before: Layout | None = None) -> Layout:
        """Return the layout of an array of a shape; raises ShardingError where the spec has more axes.

        Open axes stay as they are in the layout `before`, where that cuts them as the spec says, or further,
        as far as no other axis is cut over the same mesh axes.
        """
        if len(self.dim_specs) > len(shape):
            raise ShardingError(
                f"{function}: {self.partition_spec} has {len(self.dim_specs)} entries for an array of shape "
                f"{shape}, which has {len(shape)} axes; at most one for each axis would work"
            )
        cuts = [even(self.mesh, d.axes, n) for d, n in zip(self.dim_specs, shape, strict=False)]
        cuts += [uncut(n) for n in shape[len(cuts) :]]
        if before is not None:
            taken = {*self.replicated_axes, *self.partial_axes, *[a for d in self.dim_specs for a in d.axes]}
            for k, dim in enumerate(self.dim_specs):
                over, n = before.cuts[k].axes, len(dim.axes)
                if dim.is_open and over[:n] == dim.axes and not meet(taken, over[n:]):
                    cuts[k] = before.cuts[k]
        return Layout(self.mesh, cuts, [(a, np.add) for a in self.partial_axes])


def _dim_spec(entry: Any) -> DimSpec:
    if isinstance(entry, DimSpec):
        return entry
    if entry is None:
        return DimSpec()
    return DimSpec((entry,) if isinstance(entry, str) else entry)


def spec_of(layout: Layout) -> ShardingSpec:
    """Return the spec that a layout is of."""
    return ShardingSpec(
        layout.mesh,
        [DimSpec(c.axes) for c in layout.cuts],
        partial_axes=[a for a, _ in layout.partial],
    )


def as_spec(mesh: DeviceMesh, given: Any, function: str) -> ShardingSpec:
    """Return what a user has given as the spec on a mesh."""
    if isinstance(given, ShardingSpec):
        if given.mesh != mesh:
            raise ShardingError(
                f"{function}: the spec is on {given.mesh}, not on {mesh}; one mesh would work"
            )
        return given
    if given is None:
        return ShardingSpec(mesh)
    if isinstance(given, str):
        given = (given,)
    if not isinstance(given, Sequence):
        raise TypeError(
            f"{function}: {given!r} is no sharding; P(...), a list of DimSpec, or a ShardingSpec would work"
        )
    return ShardingSpec(mesh, given)
