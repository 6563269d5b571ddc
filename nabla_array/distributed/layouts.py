"""Layouts: which part of a value each device of a mesh has, and how parts move from one layout to another.

A layout cuts each axis of a value at given places, and names the mesh axes over whose devices the pieces go.
The places are explicit: a slice of a sharded axis stays where its elements are, and only what is missing
moves when it meets another one. The pieces need not have one size.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .mesh import DeviceMesh

# For each axis where a part begins and ends.
Box = tuple[tuple[int, int], ...]


_PART = re.compile(r"(.*):\((\d+)\)(\d+)")


@lru_cache(1 << 10)
def part_of(name: str) -> tuple[str, int, int | None]:
    """Return the mesh axis that a name names a part of, how often that is cut before, and the part's size.

    A mesh axis "x" of 8 devices is cut into "x:(1)2", the halves, and "x:(2)4", the four devices of each.
    """
    found = _PART.fullmatch(name)
    return (found[1], int(found[2]), int(found[3])) if found else (name, 1, None)


def meet(one: Iterable[str], other: Iterable[str]) -> bool:
    """Say whether mesh axes, or parts of them, of which some are named have devices in common."""
    return any(_meet(a, b) for a in one for b in other)


@lru_cache(1 << 10)
def _meet(one: str, other: str) -> bool:
    (a, m, k), (b, n, j) = part_of(one), part_of(other)
    return a == b and (k is None or j is None or (n < m * k and m < n * j))


def stand_twice(axes: Sequence[str]) -> bool:
    """Say whether some mesh axes, or parts of them, overlap."""
    return any(meet([a], axes[:n]) for n, a in enumerate(axes))


class Cut(NamedTuple):
    """How one axis is cut.

    Attributes
    ----------
    axes
        The mesh axes over whose devices the pieces go, the first the slowest; none where all have the whole.
    bounds
        Where the pieces begin, and the end.
    held
        What each device has, where that is not its piece alone: an operation asks for it so that it needs
        nothing else. A value of a program never lies like that.
    """

    axes: tuple[str, ...]
    bounds: tuple[int, ...]
    held: tuple[tuple[int, int], ...] = ()

    @property
    def pieces(self) -> tuple[tuple[int, int], ...]:
        """Where what each device has begins and ends."""
        return self.held or tuple(pairwise(self.bounds))

    def piece(self, k: int) -> tuple[int, int]:
        """Return one of `pieces`."""
        return self.held[k] if self.held else (self.bounds[k], self.bounds[k + 1])


def uncut(size: int) -> Cut:
    """Return the cut of an axis of which every device has all."""
    return Cut((), (0, size))


@lru_cache(1 << 12)
def even(mesh: DeviceMesh, axes: tuple[str, ...], size: int) -> Cut:
    """Return the usual cut: pieces of one size, of which the last ones may be shorter, or empty."""
    many = mesh.length(axes)
    step = -(-size // many)
    return Cut(axes, tuple([min(k * step, size) for k in range(many + 1)]))


class Layout:
    """Which part of a value each device of a mesh has.

    Attributes
    ----------
    cuts
        How each axis is cut.
    partial
        Mesh axes along which the devices' parts are still to be joined, each with the ufunc that joins them.
    """

    __slots__ = ("__dict__", "_hash", "cuts", "mesh", "partial")

    def __init__(
        self, mesh: DeviceMesh, cuts: Iterable[Cut], partial: Iterable[tuple[str, np.ufunc]] = ()
    ) -> None:
        self.mesh = mesh
        self.cuts = tuple(cuts)
        self.partial = tuple([(a, f) for a, f in partial if mesh.axis(a).size > 1])
        self._hash = hash((mesh, self.cuts, self.partial))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and (self.mesh, self.cuts, self.partial) == (
            other.mesh,
            other.cuts,
            other.partial,
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        cuts = ", ".join("*".join(c.axes) or "-" for c in self.cuts)
        partial = "".join(f" {f.__name__} over {a}" for a, f in self.partial)
        return f"[{cuts}]{partial}"

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole value."""
        return tuple([c.bounds[-1] for c in self.cuts])

    @cached_property
    def varies(self) -> frozenset[str]:
        """The mesh axes along which devices have different parts."""
        names = [*[a for c in self.cuts for a in c.axes], *[a for a, _ in self.partial]]
        return frozenset([part_of(a)[0] for a in names])

    @cached_property
    def boxes(self) -> tuple[Box, ...]:
        """The part of each device."""
        index = self.mesh.index
        return tuple([tuple([c.piece(index(d, c.axes)) for c in self.cuts]) for d in range(self.mesh.size)])

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the parts begin and end: for each axis a row, for each device a column."""
        first, last = np.empty((2, len(self.cuts), self.mesh.size), np.int64)
        for k, cut in enumerate(self.cuts):
            at = self.mesh.indices(cut.axes)
            first[k], last[k] = np.array(cut.pieces).T[:, at]
        return first, last

    @cached_property
    def largest(self) -> int:
        """How many elements the largest part has."""
        return math.prod([max(b - a for a, b in c.pieces) for c in self.cuts])

    def local_shape(self, device: int) -> tuple[int, ...]:
        """Return the shape of a device's part."""
        pieces = [c.piece(self.mesh.index(device, c.axes)) for c in self.cuts]
        return tuple([b - a for a, b in pieces])

    def with_cut(self, axis: int, cut: Cut) -> Layout:
        """Return the layout with one axis cut in another way."""
        return Layout(self.mesh, [cut if a == axis else c for a, c in enumerate(self.cuts)], self.partial)

    def joined(self) -> Layout:
        """Return the layout where nothing is to be joined."""
        return Layout(self.mesh, self.cuts)


@lru_cache(1 << 12)
def replicated(mesh: DeviceMesh, shape: tuple[int, ...]) -> Layout:
    """Return the layout in which every device has all."""
    return Layout(mesh, [uncut(n) for n in shape])


def volume(box: Box) -> int:
    """Return how many elements a part has."""
    return math.prod([max(b - a, 0) for a, b in box])


def indices(box: Box) -> tuple[Any, ...]:
    """Return the index of a part in the whole value."""
    return (*[slice(a, b) for a, b in box], ...)


def common(one: Box, other: Box) -> Box:
    """Return what two parts have in common; it may be nothing."""
    return tuple([(max(a, c), min(b, d)) for (a, b), (c, d) in zip(one, other, strict=True)])


class Piece(NamedTuple):
    """Some elements that a device's new part takes from a device's old one: where they are in both."""

    source: int
    taken: tuple[slice, ...]
    put: tuple[slice, ...]

    @property
    def size(self) -> int:
        """How many they are."""
        return math.prod([s.stop - s.start for s in self.taken])


class Move:
    """How a value gets from one layout to another.

    Attributes
    ----------
    over
        The mesh axes along which parts are joined.
    ufunc
        What joins them; None where nothing is joined.
    """

    def __init__(self, source: Layout, target: Layout) -> None:
        self.source, self.target = source, target
        left = {a for a, _ in target.partial}
        self.over = tuple([a for a, _ in source.partial if a not in left])
        self.ufunc = dict(source.partial)[self.over[0]] if self.over else None

    @cached_property
    def pieces(self) -> list[list[list[Piece]]]:
        """For each device, for each part that is joined, what that is made of."""
        source, target, mesh = self.source, self.target, self.source.mesh
        found: list[list[list[Piece]]] = []
        by_box: dict[tuple[int, Box], list[Piece]] = {}
        for d in range(mesh.size):
            groups = []
            for g in _along(mesh, d, self.over):
                key = (_among(source, g), target.boxes[d])
                own = [p for p in [_piece_of(source, target, g, d)] if p is not None]
                if own and own[0].size == volume(target.boxes[d]):
                    groups.append(own)
                    continue
                if key not in by_box:
                    by_box[key] = [*_assembled(source, target, g, d)]
                groups.append(by_box[key])
            found.append(groups)
        return found

    @cached_property
    def is_local(self) -> bool:
        """Whether each device has already what it will have."""
        if self.ufunc is not None:
            return False
        (a, b), (c, d) = self.source.ends, self.target.ends
        # An empty part, too, is a slice of one that it begins in.
        return bool(np.all((c == d) | ((a <= c) & (d <= b))))

    @cached_property
    def kind(self) -> str:
        """What the field calls it."""
        if self.is_local:
            return "slice"
        before = [*[a for c in self.source.cuts for a in c.axes]]
        after = [*[a for c in self.target.cuts for a in c.axes]]
        if self.ufunc is not None:
            return "reduce_scatter" if {*self.over} & {*after} else "all_reduce"
        if {*after} < {*before} or (before and not after):
            return "all_gather"
        same = all(c.axes == d.axes for c, d in zip(self.source.cuts, self.target.cuts, strict=True))
        return "ppermute" if same else "all_to_all"

    @cached_property
    def along(self) -> frozenset[str]:
        """The mesh axes along which devices send each other something."""
        pairs = [*zip(self.source.cuts, self.target.cuts, strict=True)]
        if self.kind == "ppermute":
            return frozenset([a for c, d in pairs if c != d for a in c.axes])
        return frozenset(
            [*self.over, *[a for c, d in pairs if c.axes != d.axes for a in {*c.axes} ^ {*d.axes}]]
        )

    @cached_property
    def elements(self) -> float:
        """How many elements a device receives, on average, by the best known algorithm of its kind."""
        if self.ufunc is None:
            return _received(self.source, self.target)
        many = self.source.mesh.length(self.over)
        part, wanted = [
            float((last - first).prod(axis=0).mean()) for first, last in (self.source.ends, self.target.ends)
        ]
        # A ring: each device joins one share of its part, and passes it on; then it gets what it lacks.
        return part * (many - 1) / many + max(wanted - part / many, 0)


def _received(source: Layout, target: Layout) -> float:
    """Return how many elements a device lacks, on average, of its new part."""
    (a, b), (c, d) = source.ends, target.ends
    both = np.maximum(np.minimum(b, d) - np.maximum(a, c), 0).prod(axis=0)
    return float(((d - c).prod(axis=0) - both).mean())


def _along(mesh: DeviceMesh, device: int, axes: tuple[str, ...]) -> list[int]:
    """Return the devices that differ from one along these axes alone, and that one, in order."""
    if not axes:
        return [device]
    return _groups(mesh, axes)[device]


@lru_cache(1 << 8)
def _groups(mesh: DeviceMesh, axes: tuple[str, ...]) -> list[list[int]]:
    """Return for each device those that differ from it along some axes alone."""
    found: dict[tuple[int, ...], list[int]] = {}
    places = []
    for d, coordinates in enumerate(mesh.coordinates):
        place = {**coordinates}
        for a in axes:
            base, _, stride = mesh.axis(a)
            place[base] -= mesh.index(d, (a,)) * stride
        places.append(tuple(place.values()))
        found.setdefault(places[-1], []).append(d)
    return [found[place] for place in places]


def _among(layout: Layout, device: int) -> int:
    """Return which of the values that are still to be joined a device has a part of."""
    return layout.mesh.index(device, tuple(a for a, _ in layout.partial))


def _piece_of(source: Layout, target: Layout, giver: int, taker: int) -> Piece | None:
    have, want = source.boxes[giver], target.boxes[taker]
    both = common(have, want)
    if have and volume(both) == 0:
        return None
    taken = tuple([slice(a - c, b - c) for (a, b), (c, _) in zip(both, have, strict=True)])
    put = tuple([slice(a - c, b - c) for (a, b), (c, _) in zip(both, want, strict=True)])
    return Piece(giver, taken, put)


def _assembled(source: Layout, target: Layout, near: int, taker: int) -> Iterator[Piece]:
    """Yield what makes a device's new part of the value that `near` has a part of."""
    number = _among(source, near)
    seen: set[Box] = set()
    # The taker's own part first, then those of its neighbours.
    order = sorted(range(source.mesh.size), key=lambda g: (g != near, abs(g - taker)))
    for g in order:
        if _among(source, g) == number and source.boxes[g] not in seen:
            seen.add(source.boxes[g])
            piece = _piece_of(source, target, g, taker)
            if piece is not None:
                yield piece


@lru_cache(1 << 12)
def move(source: Layout, target: Layout) -> Move:
    """Return how a value gets from one layout to another."""
    return Move(source, target)


def apply_pieces(pieces: Sequence[Piece], shape: tuple[int, ...], dtype: np.dtype, get: object) -> np.ndarray:
    """Return a part made of pieces; `get(device)` gives a device's old part."""
    if len(pieces) == 1:
        (piece,) = pieces
        part = get(piece.source)[(*piece.taken, ...)]  # type: ignore[operator]
        if part.shape == shape:
            return part
    out = np.empty(shape, dtype)
    for piece in pieces:
        out[piece.put] = get(piece.source)[piece.taken]  # type: ignore[operator]
    return out
