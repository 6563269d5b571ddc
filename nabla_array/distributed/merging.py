"""What moves at one time moves in one step: its messages are joined, and wait for each other once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .partition import Moved, Partition, Placing


class Moves(NamedTuple):
    """Values that move in one step, by messages of one kind between the same devices."""

    made: tuple[Moved | Placing, ...]

    @property
    def kind(self) -> str:
        """What the field calls it."""
        first = self.made[0]
        return "spread" if isinstance(first, Placing) else first.move.kind

    @property
    def inputs(self) -> tuple[int, ...]:
        """The values."""
        return tuple(dict.fromkeys([m.value for m in self.made]))

    @property
    def outputs(self) -> tuple[int, ...]:
        """The same, where they have gone."""
        return tuple([m.out for m in self.made])


def received(p: Partition, made: Moved | Placing) -> float:
    """Return the bytes that a device receives, on average."""
    itemsize = p.values[made.value].aval.dtype.itemsize
    elements = made.layout.largest if isinstance(made, Placing) else made.move.elements
    return float(elements * itemsize)


def merged(p: Partition, level: list[int], read: Mapping[int, set[int]]) -> dict[int, list[Moves]]:
    """Return by level what moves there, in as few steps as may be. Levels of what moves are odd.

    A value may move at any level from its own to the last one before it is read. Those that can share a
    level do, and none is read later for it: they move when the last of them is ready.
    """
    alike: dict[Any, list[tuple[float, Moved | Placing]]] = {}
    for made in p.made:
        if isinstance(made, Moved | Placing):
            alike.setdefault(_kind(p, made), []).append((_last(level, read.get(made.out, ())), made))
    found: dict[int, list[Moves]] = {}
    for rows in alike.values():
        rows.sort(key=lambda row: row[0])
        while rows:
            end = rows[0][0]
            some = [made for _, made in rows if level[made.out] <= end]
            at = max([level[m.out] for m in some])
            found.setdefault(at, []).append(Moves(tuple(sorted(some, key=lambda m: m.out))))
            rows = [row for row in rows if level[row[1].out] > end]
    return found


def _kind(p: Partition, made: Moved | Placing) -> Any:
    """Return what values have in common that can move together: numbers are joined in one way only."""
    if isinstance(made, Placing):
        return "spread"
    how = made.move
    joined = None if how.ufunc is None else (how.ufunc, p.values[made.value].aval.dtype)
    return how.kind, how.along, joined


def _last(level: list[int], readers: Iterable[int]) -> float:
    """Return the last level at which what these read can move; -1 stands for the partition's user."""
    return min([level[r] - 2 + (level[r] + 1) % 2 for r in readers if r != -1], default=float("inf"))
