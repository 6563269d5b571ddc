"""Sharding specs: what users say of how an array is cut over a mesh."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .errors import ShardingError
from .layouts import Layout, even, meet, part_of, uncut
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
        self.axes = _names("DimSpec", axes)
        self.is_open = bool(is_open)
        if not isinstance(priority, int | np.integer) or priority < 0:
            raise ShardingError(
                f"DimSpec: the priority {priority!r} is no number from 0 on; 0, the first, would work"
            )
        self.priority = int(priority)

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
        if not isinstance(mesh, DeviceMesh):
            raise TypeError(
                f"ShardingSpec: {mesh!r} is no mesh; ShardingSpec(mesh, [DimSpec([axis]), ...]) would work"
            )
        self.mesh = mesh
        self.dim_specs = tuple(_dim_spec(d) for d in dim_specs)
        self.replicated_axes = tuple(sorted(_names("ShardingSpec", replicated_axes)))
        self.partial_axes = tuple(sorted(_names("ShardingSpec", partial_axes)))
        used = [*[a for d in self.dim_specs for a in d.axes], *self.replicated_axes, *self.partial_axes]
        for n, axis in enumerate(used):
            try:
                mesh.axis(axis)
            except KeyError:
                raise ShardingError(
                    f"ShardingSpec: {self._text} names the mesh axis {axis!r}, but {mesh} has "
                    f"{', '.join(map(repr, mesh.axis_names))}; {_instead(mesh, axis)} would work"
                ) from None
            if meet([axis], used[:n]):
                raise ShardingError(
                    f"ShardingSpec: {self._text} uses the mesh axis {axis!r} twice; "
                    "an axis can cut one axis of an array, so that naming it once would work"
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

    @property
    def has_priorities(self) -> bool:
        """Whether it says more than that all of its axes are as important as any."""
        return any([d.priority for d in self.dim_specs])

    def priority(self, axis: int) -> int:
        """Return the priority of how an axis is cut."""
        return self.dim_specs[axis].priority if axis < len(self.dim_specs) else 0

    def _key(self) -> tuple[Any, ...]:
        return self.mesh, self.dim_specs, self.replicated_axes, self.partial_axes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShardingSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"ShardingSpec({self.mesh!r}, {self._text})"

    @property
    def _text(self) -> str:
        """What it says besides the mesh."""
        is_plain = not any(d.is_open or d.priority for d in self.dim_specs)
        more = [f"{k}={v}" for k in ("replicated_axes", "partial_axes") if (v := list(getattr(self, k)))]
        return ", ".join([repr(self.partition_spec if is_plain else [*self.dim_specs]), *more])

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
                f"{function}: {self._text} has {len(self.dim_specs)} entries for an array of shape "
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
    return DimSpec() if entry is None else DimSpec(entry)


def _names(function: str, axes: Any) -> tuple[str, ...]:
    """Return names of mesh axes, of which one may stand alone."""
    found = (axes,) if isinstance(axes, str) or not isinstance(axes, Iterable) else tuple(axes)
    for axis in found:
        if not isinstance(axis, str):
            raise TypeError(f"{function}: {axis!r} is no mesh axis; its name, a string, would work")
    return found


def _instead(mesh: DeviceMesh, axis: str) -> str:
    """Return what may stand in the place of a name that the mesh does not have."""
    base = part_of(axis)[0]
    if base == axis or base not in mesh.sizes:
        return "one of these"
    many = mesh.sizes[base]
    return f"{base!r}, or its parts '{base}:(m)k' where m * k divides its {many} devices,"


def spec_of(layout: Layout, asked: ShardingSpec | None = None) -> ShardingSpec:
    """Return the spec that a layout is of, and what else it says in which the array was asked for."""
    dims = [*(asked.dim_specs if asked is not None else ()), *[DimSpec()] * len(layout.cuts)]
    return ShardingSpec(
        layout.mesh,
        [DimSpec(c.axes, d.is_open, d.priority) for c, d in zip(layout.cuts, dims, strict=False)],
        replicated_axes=asked.replicated_axes if asked is not None else (),
        partial_axes=[a for a, _ in layout.partial],
    )


def text_of(x: Any) -> str:
    """Return what errors call an array, or what has a shape and a dtype."""
    return f"{x.dtype}[{', '.join(map(str, x.shape))}]"


def as_spec(mesh: DeviceMesh, given: Any, function: str, x: Any = None) -> ShardingSpec:
    """Return what a user has given as the spec on a mesh; errors name the array that it is for."""
    if isinstance(given, ShardingSpec):
        if given.mesh != mesh:
            raise ShardingError(
                f"{function}: the spec{_of(x)} is on {given.mesh}, not on {mesh}; one mesh would work"
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
    try:
        return ShardingSpec(mesh, given)
    except (ShardingError, TypeError) as error:  # it does not know what it is for
        said = str(error).partition(": ")[2]
        raise type(error)(f"{function}: the spec{_of(x)} does not fit: {said}") from None


def _of(x: Any) -> str:
    return "" if x is None else f" of {text_of(x)}"
