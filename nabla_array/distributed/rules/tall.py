"""Decompositions of tall matrices whose rows are cut: only triangles go round.

Each device decomposes its rows into orthogonal columns and a triangle. The triangles, one below the other,
are decomposed by all; what they lack of the whole, each device multiplies its columns with.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from ..._lazy.graph.aval import aval_of
from ..._lazy.graph.program import Eqn
from ..._lazy.ops import linalg
from ..._lazy.ops.contraction import matmul
from ..._lazy.ops.structure import project, several
from ..layouts import Cut, Layout, replicated, uncut
from ..partition import Partition
from .local import done
from .ways import by_labels

# Share of the matrix's rows that the triangles have together, at the most: else they are hardly less.
_SHARE = 0.5


def _rows_of(p: Partition, eqn: Eqn) -> Layout | None:
    """Return the layout of a tall matrix whose rows are cut, and no columns; None of any other."""
    layout = p.layout(eqn.ins[0])
    if layout is None or len(layout.cuts) != 2 or not layout.cuts[0].axes or layout.cuts[1].axes:
        return None
    m, n = layout.shape
    return layout.joined() if n and n * p.mesh.length(layout.cuts[0].axes) <= _SHARE * m else None


def _columns_and_triangles(p: Partition, eqn: Eqn, layout: Layout) -> tuple[int, int]:
    """Return each device's orthogonal columns, and all triangles, which every device has."""
    rows, n = layout.cuts[0], layout.shape[1]
    heights = [min(b - a, n) for a, b in rows.pieces]
    own = Cut(rows.axes, (0, *accumulate(heights)))
    layouts = Layout(p.mesh, [rows, own]), Layout(p.mesh, [own, uncut(n)])
    dtype = p.program.aval(eqn.ins[0]).dtype
    avals = tuple([aval_of(lay.shape, dtype) for lay in layouts])
    x = p.operand(eqn.ins[0], layout)
    columns, triangle = _apart(p, p.local(linalg.qr, [x], {"mode": "reduced"}, avals, layouts))
    return columns, p.moved(triangle, replicated(p.mesh, layouts[1].shape))


def _apart(p: Partition, number: int) -> list[int]:
    """Return the results of an operation that has several."""
    layouts = p.values[number].layout
    return [done(p, project, [number], lay, index=i) for i, lay in enumerate(layouts)]


def _of_triangles(p: Partition, eqn: Eqn, triangles: int) -> list[int]:
    """Decompose the triangles, on every device."""
    params = dict(eqn.params)
    avals = eqn.prim.aval(p.values[triangles].aval, **params)
    layouts = tuple([replicated(p.mesh, a.shape) for a in avals])
    return _apart(p, p.local(eqn.prim, [triangles], params, avals, layouts))


def tall_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Decompose a matrix into columns, and others that every device has."""
    params: dict[str, Any] = dict(eqn.params)
    layout = _rows_of(p, eqn)
    if layout is None or params.get("mode") == "complete" or params.get("full"):
        return by_labels(p, k, eqn)
    columns, triangles = _columns_and_triangles(p, eqn, layout)
    first, *others = _of_triangles(p, eqn, triangles)
    heights = p.values[columns].layout.cuts[1]
    part = p.moved(first, p.values[first].layout.with_cut(0, heights))
    numbers = [done(p, matmul, [columns, part], layout), *others]
    layouts = tuple([p.values[i].layout for i in numbers])
    return p.local(several, numbers, {}, eqn.aval, layouts)


def values_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Find the singular values, which are those of the triangles."""
    layout = _rows_of(p, eqn)
    if layout is None:
        return by_labels(p, k, eqn)
    _, triangles = _columns_and_triangles(p, eqn, layout)
    return done(p, eqn.prim, [triangles], replicated(p.mesh, eqn.aval.shape))
