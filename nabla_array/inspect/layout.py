"""Where the boxes of a drawing go: a layered layout of a graph without circles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_SWEEPS = 8
Point = tuple[float, float]


class Edge(NamedTuple):
    """A line between two boxes; the offsets say where it leaves and enters, from their middles."""

    source: int
    target: int
    leaves: float = 0.0
    enters: float = 0.0


class Layout(NamedTuple):
    """Middle and top of every box, the points that every edge passes, and the size of it all."""

    x: list[float]
    y: list[float]
    routes: list[list[Point]]
    width: float
    height: float


def longest_paths(highest: Sequence[int], edges: Sequence[Edge]) -> list[int]:
    """Return the layers of boxes: the `highest`, or below those of their sources, which come before them."""
    layers = [*highest]
    for edge in sorted(edges, key=lambda e: e.target):
        layers[edge.target] = max(layers[edge.target], layers[edge.source] + 1)
    return layers


def layered(
    boxes: Sequence[tuple[float, float]],
    layers: Sequence[int],
    edges: Sequence[Edge],
    gap_x: float,
    gap_y: float,
) -> Layout:
    """Lay out boxes (width, height) that have their layers; all edges go down.

    A line that passes a layer takes a place of no width there, which it shares with the other lines
    from the same point, so nothing is drawn over a box.
    """
    widths = [w for w, _ in boxes]
    rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for box, layer in enumerate(layers):
        rows[layer].append(box)
    links: list[Edge] = []  # between neighbouring layers
    passes: dict[tuple[int, float], list[int]] = {}  # the places that the lines from a point take

    def hop(edge: Edge) -> list[int]:
        taken = passes.setdefault((edge.source, edge.leaves), [])
        first = layers[edge.source] + 1
        need = layers[edge.target] - first
        while len(taken) < need:
            links.append(Edge(taken[-1] if taken else edge.source, len(widths), 0 if taken else edge.leaves))
            rows[first + len(taken)].append(len(widths))
            taken.append(len(widths))
            widths.append(0.0)
        last, leaves = (taken[need - 1], 0.0) if need else (edge.source, edge.leaves)
        links.append(Edge(last, edge.target, leaves, edge.enters))
        return taken[:need]

    hops = [hop(edge) for edge in edges]
    x = _place(rows, links, widths, gap_x)
    heights = [max((boxes[i][1] for i in row if i < len(boxes)), default=0.0) for row in rows]
    tops = [sum(heights[:k]) + gap_y * k for k in range(len(rows))]
    y = [tops[layers[i]] for i in range(len(boxes))]
    for i in set(range(len(boxes))) - {e.target for e in edges}:
        y[i] += heights[layers[i]] - boxes[i][1]  # what nothing leads to stands near its users
    routes = []
    for edge, through in zip(edges, hops, strict=True):
        start = x[edge.source] + edge.leaves
        layer = layers[edge.source]
        points = [(start, y[edge.source] + boxes[edge.source][1]), (start, tops[layer] + heights[layer])]
        for k, i in enumerate(through, layer + 1):
            points += [(x[i], tops[k]), (x[i], tops[k] + heights[k])]
        routes.append([*points, (x[edge.target] + edge.enters, y[edge.target])])
    right = max((x[i] + w / 2 for i, w in enumerate(widths)), default=0.0)
    return Layout(x[: len(boxes)], y, routes, right, tops[-1] + heights[-1] if rows else 0.0)


def _place(rows: list[list[int]], links: list[Edge], widths: list[float], gap: float) -> list[float]:
    """Order every layer and return the middles: near to their neighbours', without overlaps."""
    above: dict[int, list[tuple[int, float, float]]] = {}
    below: dict[int, list[tuple[int, float, float]]] = {}
    for link in links:
        # A line that passes several layers had better be straight.
        weight = 16.0 if widths[link.source] == widths[link.target] == 0.0 else 1.0
        above.setdefault(link.target, []).append((link.source, link.leaves - link.enters, weight))
        below.setdefault(link.source, []).append((link.target, link.enters - link.leaves, weight))
    x = [0.0] * len(widths)
    for row in rows:
        _spread(row, [0.0] * len(row), widths, gap, x)
    for sweep in range(4 * _SWEEPS):
        ordering, down = sweep < _SWEEPS, sweep % 2 == 0
        for row in rows if down else rows[::-1]:
            wanted = {}
            for i in row:
                sides = (above if down else below,) if ordering else (above, below)
                near = [(x[j] + offset, weight) for side in sides for j, offset, weight in side.get(i, ())]
                total = sum(weight for _, weight in near)
                wanted[i] = sum(a * weight for a, weight in near) / total if near else x[i]
            if ordering:
                row.sort(key=wanted.__getitem__)
            _spread(row, [wanted[i] for i in row], widths, gap, x)
    left = min((x[i] - w / 2 for i, w in enumerate(widths)), default=0.0)
    return [a - left for a in x]


def _spread(row: list[int], wanted: list[float], widths: list[float], gap: float, x: list[float]) -> None:
    """Set the middles of a layer, in its order, as near to the wanted ones as `gap` allows.

    Boxes that would overlap form a block, which stands at the mean of what its members want.
    """
    blocks: list[tuple[float, int]] = []  # sum of wants, number; every want less the room on its left
    room, rooms = 0.0, []
    for k, i in enumerate(row):
        if k:
            room += (widths[row[k - 1]] + widths[i]) / 2 + gap
        rooms.append(room)
        blocks.append((wanted[k] - room, 1))
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] > blocks[-1][0] * blocks[-2][1]:
            (a, n), (b, m) = blocks[-2:]
            blocks[-2:] = [(a + b, n + m)]
    at = (total / n for total, n in blocks for _ in range(n))
    for i, start, room in zip(row, at, rooms, strict=True):
        x[i] = start + room
