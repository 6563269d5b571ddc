"""The pass that cuts rows into tiles, of which a thread runs each through all of a part of a program.

One operation after the other, each of them on all threads, has the threads wait for each other as often, and
what one core has just written may next be read by another. Products suffer most: those of some thousand rows
with small matrices take BLAS's threads twice as long as they should, and those that sum over the rows it
hardly shares at all. So the rows of a program with products are cut into tiles, and each tile goes through
all of it on one thread, with one of BLAS. How it is cut does not depend on the number of threads, so neither
do the results. Which axis of a value holds the rows is its axis class's to say; sums over the rows are joined
at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import numpy as np

from ..graph.aval import Aval, aval_of
from ..graph.program import Eqn, Program, is_literal
from ..native import compiled
from ..ops.contraction import matmul
from .axes import AxisClasses, axes_of
from .groups import fusion_groups
from .parts import merge, part_of, users_of
from .steps import Part, Schedule, Tiled

# Multiplications in a tile: for fewer, one is hardly worth a thread. An element of another operation takes
# as long as that many.
_WORK, _ELEMENT = 1 << 24, 16
# Tiles from which a program is cut.
_LEAST = 2
# Bytes that a tile computes where that is more of them: a thread keeps as much memory.
_BYTES = 1 << 24
# Rows of a matrix in a tile, at least: of fewer, BLAS does not run at its best.
_ROWS = 256
# Bytes up to which a matrix may meet each tile, or be the sum of the tiles' products, or a tile may be.
_SMALL = 1 << 20
# How much of all that is computed may be partial results.
_PARTIAL = 0.25
# Axes that are tried, those of the most multiplications: each takes a walk through the program.
_TRIED = 8


def _is_cut(axes: AxisClasses, k: int, eqn: Eqn, rows: int) -> bool:
    """Say whether an operation can be done tile by tile, and would have to be."""
    places = [
        (own, axes.places(i, rows)) for own, i in zip(axes.labels.get(k, ()), (*eqn.ins, k), strict=False)
    ]
    found = {own[axis] for own, some in places for axis in some}
    if len(found) != 1 or min(found) < 0 or any(len(some) > 1 for _, some in places):
        return False
    if eqn.prim is matmul and not _is_for_tiles(axes.program, k, eqn, [bool(some) for _, some in places]):
        return False
    # Partial sums of float16 would overflow, or lose digits, where NumPy's wider ones do not.
    return bool(places[-1][1]) or (eqn.prim.reducer is not None and eqn.aval.dtype != np.float16)


def _is_for_tiles(program: Program, k: int, eqn: Eqn, are_cut: list[bool]) -> bool:
    """Say whether a product is as fast tile by tile; many that sum nothing have one of their own."""
    sums = eqn.aval.ndim == 2 or program.aval(eqn.ins[0]).shape[-1] > 1
    values = zip((*eqn.ins, k), are_cut, strict=True)
    return sums and all(is_cut or program.aval(i).nbytes <= _SMALL for i, is_cut in values)


def _work(eqn: Eqn, program: Program) -> int:
    """Return how many multiplications an operation takes, or could take the time of."""
    if eqn.prim.kind in ("view", "broadcast") or not isinstance(eqn.aval, Aval):
        return 0
    each = program.aval(eqn.ins[0]).shape[-1] if eqn.prim is matmul else _ELEMENT
    return eqn.aval.size * each


def _most_tiles(eqns: Iterable[Eqn], program: Program) -> int:
    """Return how many tiles some operations are worth."""
    work = [(_work(e, program), e.aval.nbytes) for e in eqns if _work(e, program)]
    return max(sum(w for w, _ in work) // _WORK, sum(nbytes for _, nbytes in work) // _BYTES)


class _Cut:
    """A program whose operations are done tile by tile along one axis where they can be."""

    def __init__(self, axes: AxisClasses, rows: int, size: int) -> None:
        self.axes = axes
        self.rows = rows
        self.size = size
        self.program = axes.program
        self.base = len(self.program.inputs)
        eqns = enumerate(self.program.eqns, self.base)
        self.inside = {k: e for k, e in eqns if not is_literal(e) and _is_cut(axes, k, e, rows)}
        self._leave_out_makers()
        self._take_in_views()
        self.reduced = {
            k
            for k, e in self.inside.items()
            if not axes.places(k, rows) and any(axes.places(i, rows) for i in e.ins)
        }

    def _leave_out_makers(self) -> None:
        """Leave out what has rows only from here on, if nothing that is done in tiles reads it."""
        read: set[int] = set()
        for k, eqn in reversed(self.inside.copy().items()):
            if k in read or any(self.axes.places(i, self.rows) for i in eqn.ins):
                read.update(eqn.ins)
            else:
                del self.inside[k]

    def _take_in_views(self) -> None:
        """Take in what only looks at an input that each tile reads whole, for what is done in tiles."""
        users = users_of(self.program)
        for k, eqn in enumerate(self.program.eqns, self.base):
            if k in self.inside or self.axes.places(k, self.rows):  # rows are cut, or are not known in tiles
                continue
            is_view = eqn.prim.kind in ("view", "broadcast") and eqn.ins and eqn.ins[0] < self.base
            wanted = users.get(k, ())
            if is_view and wanted and self.inside.keys() >= {*wanted} and k not in self.program.outputs:
                self.inside[k] = eqn

    @property
    def products(self) -> int:
        """How many multiplications of matrices are done in tiles."""
        return sum(_work(e, self.program) for e in self.inside.values() if e.prim is matmul)

    def _rows_at_once(self) -> int:
        """Return how many rows a tile has to have: of stacks of matrices, one."""
        for k, eqn in self.inside.items():
            if eqn.prim is matmul:
                ndim = eqn.aval.ndim
                if any(axis >= ndim - 2 for i in (*eqn.ins, k) for axis in self.axes.places(i, self.rows)):
                    return _ROWS
        return 1

    def _tiles(self) -> int:
        """Return how many tiles would be best: one, or a power of two."""
        eqns = self.inside.values()
        rows = self._rows_at_once()
        widest = max(
            (e.aval.nbytes // self.size for k, e in self.inside.items() if k not in self.reduced), default=0
        )
        if rows * widest > _SMALL:
            return 1  # what one operation has written would be out of the cache when the next reads it
        most = min(_most_tiles(eqns, self.program), self.size // rows)
        partial = sum(self.program.aval(k).nbytes for k in self.reduced)
        if partial:
            computed = sum(e.aval.nbytes for e in eqns if _work(e, self.program))
            most = min(most, int(_PARTIAL * computed) // partial)
        return 1 << most.bit_length() >> 1

    def steps(self) -> list[Part | Tiled] | None:
        """Return the tiled steps and the parts between them, None where tiles would not pay."""
        many = self._tiles()
        if many < _LEAST:
            return None
        step = -(-self.size // many)
        cuts = tuple((a, min(a + step, self.size)) for a in range(0, self.size, step))
        parts = self._parts()
        if not any(part.fusible for part in parts):
            return None
        return [Tiled(part, self._cut_axes(part), cuts) if part.fusible else part for part in parts]

    def _parts(self) -> list[Part]:
        """Return the parts: what is done whole, what is then done in tiles, what is whole again, ..."""
        program = self.program
        level = [0] * (self.base + len(program.eqns))
        groups: dict[tuple[int, bool], list[int]] = {}
        users = users_of(program)
        for k, eqn in enumerate(program.eqns, self.base):
            if is_literal(eqn):
                continue
            # What is joined has to be awaited, and by what is done whole all that is done in tiles.
            waits = self.reduced if k in self.inside else self.inside
            level[k] = max((level[i] + (i in waits) for i in eqn.ins), default=0)
            groups.setdefault((level[k], k in self.inside), []).append(k)
        parts = []
        for (_, inside), eqns in sorted(groups.items()):
            views = self._views_for_others(eqns, users) if inside else []
            part = part_of(program, eqns, inside, users, views)
            parts.append(part._replace(fusible=inside and self._pays(part)))
            if views:
                parts.append(part_of(program, views, False, users))
        runs = [list(run) for _, run in groupby(parts, lambda part: id(part) if part.fusible else 0)]
        return [merge(program, run) for run in runs]

    def _views_for_others(self, eqns: list[int], users: dict[int, list[int]]) -> list[int]:
        """Return the views among some equations that others need: outside of tiles they cost nothing."""
        inside, program = set(eqns), self.program
        views: set[int] = set()
        for k in reversed(eqns):
            eqn = program.eqns[k - self.base]
            wanted = k in program.outputs or any(u not in inside or u in views for u in users.get(k, ()))
            if wanted and eqn.prim.kind in ("view", "broadcast"):
                views.add(k)
        return sorted(views)

    def _pays(self, part: Part) -> bool:
        """Say whether there is more to do than one product, or than a fusion group."""
        eqns = [e for e in part.program.eqns if _work(e, part.program)]
        return len(eqns) > 1 and any(e.prim is matmul for e in eqns)

    def _cut_axes(self, part: Part) -> tuple[int | None, ...]:
        places = [self.axes.places(i, self.rows) for i in (*part.inputs, *part.eqns)]
        return tuple([axes[0] if len(axes) == 1 else None for axes in places])


def may_tile(program: Program) -> bool:
    """Say whether a program could be worth tiles: whether it has products, and enough to do."""
    has_products = any(e.prim is matmul for e in program.eqns)
    return compiled is not None and has_products and _most_tiles(program.eqns, program) >= _LEAST


def tile(part: Part) -> list[Part | Tiled]:
    """Return a part of a program as tiled steps, and the parts that are left between them."""
    program = part.program
    if not may_tile(program):
        return [part]
    axes = axes_of(program)
    sizes: dict[int, int] = {}
    most: Counter[int] = Counter()  # multiplications that tiles of these rows could do
    for k, e in enumerate(program.eqns, len(program.inputs)):
        if e.prim is matmul:
            found = {r: n for i in (*e.ins, k) for r, n in zip(axes.cuttable[i], axes.shapes[i], strict=True)}
            sizes |= found
            most.update(dict.fromkeys(found, _work(e, program)))
    tried = sorted(sorted(sizes.items()), key=lambda rows: (most[rows[0]], rows[1]), reverse=True)[:_TRIED]
    cuts = [_Cut(axes, *rows) for rows in tried]
    cuts.sort(key=lambda cut: (cut.products, cut.size), reverse=True)
    steps = next((steps for cut in cuts if (steps := cut.steps()) is not None), None)
    if steps is None:
        return [part]
    numbers = part.numbers
    return [
        Tiled(s.part.within(numbers), s.axes, s.cuts) if isinstance(s, Tiled) else s.within(numbers)
        for s in steps
    ]


def resized(params: dict[str, Any], shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the params of an operation whose result has another shape, but for axes that it needs whole.

    That shape is the only one of them that depends on the length of such an axis.
    """
    return {name: shape if name in ("shape", "size") else value for name, value in params.items()}


def tile_schedule(step: Tiled, rows: int) -> Schedule:
    """Return the schedule of a tile of so many rows."""

    def cut(aval: Aval, axis: int | None) -> tuple[int, ...]:
        return tuple([rows if a == axis else n for a, n in enumerate(aval.shape)])

    program, axes = step.part.program, step.axes
    avals = [aval_of(cut(a, axis), a.dtype) for a, axis in zip(program.inputs, axes, strict=False)]
    eqns = []
    for eqn, axis in zip(program.eqns, axes[len(avals) :], strict=True):
        shape = cut(eqn.aval, axis)
        params = resized(dict(eqn.params), shape)
        aval = eqn.prim.aval(*[avals[i] for i in eqn.ins], **params)
        assert aval.shape == shape, eqn
        avals.append(aval)
        eqns.append(Eqn(eqn.prim, eqn.ins, tuple(params.items()), aval))
    cut_program = Program(tuple(avals[: len(program.inputs)]), tuple(eqns), program.outputs)
    return Schedule(cut_program, fusion_groups(cut_program))
