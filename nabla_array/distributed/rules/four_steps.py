"""Fourier transforms of an axis that is cut, in four steps: by transforms of rows and columns of a matrix.

The points are the rows of a matrix, one after the other. Its columns are transformed, each on one device; the
elements are turned by their share of the circle; the rows are transformed; the result is read by columns.
Three times, parts of rows become parts of columns, or the other way round.
"""

from __future__ import annotations

import math

import numpy as np

from ..._lazy.graph.aval import aval_of
from ..._lazy.graph.program import Eqn
from ..._lazy.ops import elementwise, fourier, reduction, structure
from ..layouts import Cut, Layout, even, uncut
from ..partition import Partition
from .local import done, full
from .ways import by_labels

# Bytes from which that is worth the messages.
_LARGE = 1 << 16


def fft_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Transform a vector that is cut, where devices have rows and columns of whole numbers."""
    params, aval = dict(eqn.params), p.program.aval(eqn.ins[0])
    points = _points(p, eqn)
    if points is None or aval.shape != points.shape:
        return by_labels(p, k, eqn)
    x = p.operand(eqn.ins[0], points)
    if aval.dtype.kind == "f":
        x = done(p, elementwise.cast, [x], points, dtype=np.result_type(aval.dtype, np.complex64))
    x = _transformed(p, x, points, params["norm"], params.get("inverse", False))
    if eqn.prim is fourier.fft:
        return x
    found = _piece(points, 0, *eqn.aval.shape)
    return p.local(
        structure.slice_,
        [x],
        lambda d: {"start": (0,), "size": found.local_shape(d), "step": (1,)},
        eqn.aval,
        found,
    )


def irfft_rule(p: Partition, k: int, eqn: Eqn) -> int:
    """Transform half of a spectrum back: twice as much of what is mirrored has the same real part."""
    params, aval = dict(eqn.params), p.program.aval(eqn.ins[0])
    points, n = _points(p, eqn), params["n"]
    half = n // 2 + 1
    if points is None or aval.shape != (half,):
        return by_labels(p, k, eqn)
    own = _piece(points, 0, half)

    def filled(value: float, start: int, end: int) -> int:
        return full(p, lambda d: value, aval.dtype, _piece(points, start, end))

    def joined(parts: list[int], layout: Layout) -> int:
        return p.local(structure.concat, parts, {"axis": 0}, aval_of(layout.shape, aval.dtype), layout)

    middle = (n + 1) // 2  # of even lengths the last element is its own mirror image
    weights = joined([filled(1, 0, 1), filled(2, 1, middle), filled(1, middle, half)], own)
    x = done(p, elementwise.mul, [p.operand(eqn.ins[0], own), weights], own)
    x = joined([x, filled(0, half, n)], points)
    return done(p, elementwise.real, [_transformed(p, x, points, params["norm"], True)], points)


def _points(p: Partition, eqn: Eqn) -> Layout | None:
    """Return how the points of a transform are to be cut; None where four steps are not the way."""
    (i,), n = eqn.ins, dict(eqn.params)["n"]
    layout, aval = p.layout(i), p.program.aval(i)
    over = () if layout is None or aval.ndim != 1 else layout.cuts[0].axes
    many = p.mesh.length(over)
    if many == 1 or n % many**2 or aval.nbytes < _LARGE:
        return None
    return Layout(p.mesh, [even(p.mesh, over, n)])


def _piece(points: Layout, start: int, end: int) -> Layout:
    """Return the layout of some of the points, which stay where they are."""
    (cut,) = points.cuts
    return points.with_cut(0, Cut(cut.axes, tuple([min(max(b, start), end) - start for b in cut.bounds])))


def _transformed(p: Partition, x: int, points: Layout, norm: str, inverse: bool) -> int:
    aval, over = p.values[x].aval, points.cuts[0].axes
    (n,) = aval.shape
    rows = _rows(n, p.mesh.length(over))
    columns = n // rows
    by_rows = Layout(p.mesh, [even(p.mesh, over, rows), uncut(columns)])
    by_columns = Layout(p.mesh, [uncut(rows), even(p.mesh, over, columns)])
    options = {"norm": norm, "inverse": inverse}
    matrix = aval_of(by_rows.shape, aval.dtype)
    x = p.local(structure.reshape, [x], lambda d: {"shape": by_rows.local_shape(d)}, matrix, by_rows)
    x = done(p, fourier.fft, [p.moved(x, by_columns)], by_columns, n=rows, axis=0, **options)
    x = done(p, elementwise.mul, [x, _turns(p, by_columns, aval.dtype, inverse)], by_columns)
    x = done(p, fourier.fft, [p.moved(x, by_rows)], by_rows, n=columns, axis=1, **options)
    turned = Layout(p.mesh, by_columns.cuts[::-1])
    x = done(p, structure.permute, [p.moved(x, by_columns)], turned, axes=(1, 0))
    return p.local(structure.reshape, [x], lambda d: {"shape": points.local_shape(d)}, aval, points)


def _rows(n: int, many: int) -> int:
    """Return how many rows n points are: like the columns, a multiple of `many`, and about as many."""
    rest = n // many**2
    first = math.isqrt(rest)
    while rest % first:
        first -= 1
    return many * first


def _turns(p: Partition, layout: Layout, dtype: np.dtype, inverse: bool) -> int:
    """Return by how much elements are turned: by row times column of n parts of the circle."""
    number, (rows, columns) = np.dtype(np.float64), layout.shape
    n, cut = rows * columns, layout.cuts[1]

    def fixed(value: complex, kind: np.dtype = number) -> int:
        return full(p, lambda d: value, kind, layout)

    def counted(axis: int) -> int:
        return done(p, reduction.cumsum, [fixed(1.0)], layout, axis=axis)

    before = full(p, lambda d: float(cut.bounds[p.mesh.index(d, cut.axes)] - 1), number, layout)
    row = done(p, elementwise.sub, [counted(0), fixed(1.0)], layout)
    column = done(p, elementwise.add, [counted(1), before], layout)
    # The integers are exact; those of half a circle at most make for small errors.
    parts = done(p, elementwise.mul, [row, column], layout)
    whole = fixed(float(n))
    circles = done(p, elementwise.rint, [done(p, elementwise.div, [parts, whole], layout)], layout)
    circles = done(p, elementwise.mul, [circles, whole], layout)
    parts = done(p, elementwise.sub, [parts, circles], layout)
    wide = np.dtype(np.complex128)
    angle = complex(0.0, (2 if inverse else -2) * math.pi / n)
    parts = done(p, elementwise.cast, [parts], layout, dtype=wide)
    found = done(p, elementwise.exp, [done(p, elementwise.mul, [parts, fixed(angle, wide)], layout)], layout)
    return found if dtype == wide else done(p, elementwise.cast, [found], layout, dtype=dtype)
