"""Programs whose rows threads share: each runs all of the operations on some of the rows.

One operation after the other, each of them on all threads, has the threads wait for each other as often, and
what one core has just written may next be read by another. Products suffer most: those of some thousand rows
with small matrices take BLAS's threads twice as long as they should, and those that sum over the rows it
hardly shares at all. So the rows of a program with products are cut into pieces, and each piece goes through
all of it on one thread, with one of BLAS: single program, multiple data. How it is cut does not depend on the
number of threads, so neither do the results. Which axis of a value holds the rows follows from the
primitives' `dims`; sums over the rows are joined at the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np

from ..config import settings, threads
from ..graph.aval import Aval, aval_of
from ..graph.program import Eqn, Program
from ..native import compiled
from ..ops.contraction import matmul
from ..ops.creation import fill
from ..schedule.axes import AxisClasses, axes_of
from ..schedule.groups import Plan, plan
from ..schedule.parts import Part, merge, part_of, users_of, with_drops
from . import blas
from .blocks import StepFailed, run_plan
from .kernels import Unfit
from .tiles import Bound, bind

# Multiplications in a piece: for fewer, one is hardly worth a thread. An element of another operation takes
# as long as that many.
_WORK, _ELEMENT = 1 << 24, 16
# Pieces from which a program is cut.
_LEAST = 2
# Bytes that a piece computes where that is more of them: a thread keeps as much memory.
_BYTES = 1 << 24
# Rows of a matrix in a piece, at least: of fewer, BLAS does not run at its best.
_ROWS = 256
# Bytes up to which a matrix may meet each piece, or be the sum of the pieces' products, or a piece may be.
_SMALL = 1 << 20
# How much of all that is computed may be partial results.
_PARTIAL = 0.25
# Ways in which inputs lie in memory for which a share is kept ready.
_LAYOUTS = 8


class Share:
    """A part of a program that is run in pieces, or whole.

    Attributes
    ----------
    part
        Which part; it is fusible if it is run in pieces.
    axes
        For each value of the part's program the axis that is cut; None where each piece has the whole, or
        where the pieces' results are to be joined.
    cuts
        Where the pieces begin and end.
    ready
        The part made ready, by how its inputs lie in memory and whether it may differ from NumPy.
    fits
        Whether nothing was found in it that compiled code cannot do.
    """

    def __init__(self, part: Part, axes: tuple[int | None, ...], cuts: tuple[tuple[int, int], ...]) -> None:
        self.part = part
        self.axes = axes
        self.cuts = cuts
        self.ready: dict[Any, _Ready] = {}
        self.fits = True


def _is_cut(axes: AxisClasses, k: int, eqn: Eqn, rows: int) -> bool:
    """Say whether an operation can be done piece by piece, and would have to be."""
    places = [
        (own, axes.places(i, rows)) for own, i in zip(axes.labels.get(k, ()), (*eqn.ins, k), strict=False)
    ]
    found = {own[axis] for own, some in places for axis in some}
    if len(found) != 1 or min(found) < 0 or any(len(some) > 1 for _, some in places):
        return False
    if eqn.prim is matmul and not _is_for_pieces(axes.program, k, eqn, [bool(some) for _, some in places]):
        return False
    # Partial sums of float16 would overflow, or lose digits, where NumPy's wider ones do not.
    return bool(places[-1][1]) or (eqn.prim.reducer is not None and eqn.aval.dtype != np.float16)


def _is_for_pieces(program: Program, k: int, eqn: Eqn, are_cut: list[bool]) -> bool:
    """Say whether a product is as fast piece by piece; many that sum nothing have one of their own."""
    sums = eqn.aval.ndim == 2 or program.aval(eqn.ins[0]).shape[-1] > 1
    values = zip((*eqn.ins, k), are_cut, strict=True)
    return sums and all(is_cut or program.aval(i).nbytes <= _SMALL for i, is_cut in values)


def _work(eqn: Eqn, program: Program) -> int:
    """Return how many multiplications an operation takes, or could take the time of."""
    if eqn.prim.kind in ("view", "broadcast") or not isinstance(eqn.aval, Aval):
        return 0
    each = program.aval(eqn.ins[0]).shape[-1] if eqn.prim is matmul else _ELEMENT
    return eqn.aval.size * each


def _most_pieces(eqns: Iterable[Eqn], program: Program) -> int:
    """Return how many pieces some operations are worth."""
    work = [(_work(e, program), e.aval.nbytes) for e in eqns if _work(e, program)]
    return max(sum(w for w, _ in work) // _WORK, sum(nbytes for _, nbytes in work) // _BYTES)


class _Cut:
    """A program whose operations are done piece by piece along one axis where they can be."""

    def __init__(self, axes: AxisClasses, rows: int, size: int) -> None:
        self.axes = axes
        self.rows = rows
        self.size = size
        self.program = axes.program
        self.base = len(self.program.inputs)
        eqns = enumerate(self.program.eqns, self.base)
        self.inside = {k: e for k, e in eqns if e.prim is not fill and _is_cut(axes, k, e, rows)}
        self._leave_out_makers()
        self._take_in_views()
        self.reduced = {
            k
            for k, e in self.inside.items()
            if not axes.places(k, rows) and any(axes.places(i, rows) for i in e.ins)
        }

    def _leave_out_makers(self) -> None:
        """Leave out what has rows only from here on, if nothing that is done in pieces reads it."""
        read: set[int] = set()
        for k, eqn in reversed(self.inside.copy().items()):
            if k in read or any(self.axes.places(i, self.rows) for i in eqn.ins):
                read.update(eqn.ins)
            else:
                del self.inside[k]

    def _take_in_views(self) -> None:
        """Take in what only looks at an input that each piece reads whole, for what is done in pieces."""
        users = users_of(self.program)
        for k, eqn in enumerate(self.program.eqns, self.base):
            if k in self.inside or self.axes.places(k, self.rows):  # rows are cut, or are not known in pieces
                continue
            is_view = eqn.prim.kind in ("view", "broadcast") and eqn.ins and eqn.ins[0] < self.base
            wanted = users.get(k, ())
            if is_view and wanted and self.inside.keys() >= {*wanted} and k not in self.program.outputs:
                self.inside[k] = eqn

    @property
    def products(self) -> int:
        """How many multiplications of matrices are done in pieces."""
        return sum(_work(e, self.program) for e in self.inside.values() if e.prim is matmul)

    def _rows_at_once(self) -> int:
        """Return how many rows a piece has to have: of stacks of matrices, one."""
        for k, eqn in self.inside.items():
            if eqn.prim is matmul:
                ndim = eqn.aval.ndim
                if any(axis >= ndim - 2 for i in (*eqn.ins, k) for axis in self.axes.places(i, self.rows)):
                    return _ROWS
        return 1

    def _pieces(self) -> int:
        """Return how many pieces would be best: one, or a power of two."""
        eqns = self.inside.values()
        rows = self._rows_at_once()
        widest = max(
            (e.aval.nbytes // self.size for k, e in self.inside.items() if k not in self.reduced), default=0
        )
        if rows * widest > _SMALL:
            return 1  # what one operation has written would be out of the cache when the next reads it
        most = min(_most_pieces(eqns, self.program), self.size // rows)
        partial = sum(self.program.aval(k).nbytes for k in self.reduced)
        if partial:
            computed = sum(e.aval.nbytes for e in eqns if _work(e, self.program))
            most = min(most, int(_PARTIAL * computed) // partial)
        return 1 << most.bit_length() >> 1

    def shares(self) -> tuple[Share, ...] | None:
        """Return the parts in order, None where pieces would not pay."""
        many = self._pieces()
        if many < _LEAST:
            return None
        step = -(-self.size // many)
        cuts = tuple((a, min(a + step, self.size)) for a in range(0, self.size, step))
        parts = self._parts()
        if not any(part.fusible for part in parts):
            return None
        return tuple(Share(part, self._cut_axes(part), cuts) for part in parts)

    def _parts(self) -> list[Part]:
        """Return the parts: what is done whole, what is then done in pieces, what is whole again, ..."""
        program = self.program
        level = [0] * (self.base + len(program.eqns))
        groups: dict[tuple[int, bool], list[int]] = {}
        users = users_of(program)
        for k, eqn in enumerate(program.eqns, self.base):
            if eqn.prim is fill:
                continue
            # What is joined has to be awaited, and by what is done whole all that is done in pieces.
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
        return with_drops([merge(program, run) for run in runs], program)

    def _views_for_others(self, eqns: list[int], users: dict[int, list[int]]) -> list[int]:
        """Return the views among some equations that others need: outside of pieces they cost nothing."""
        inside, program = set(eqns), self.program
        views: set[int] = set()
        for k in reversed(eqns):
            eqn = program.eqns[k - self.base]
            wanted = k in program.outputs or any(u not in inside or u in views for u in users.get(k, ()))
            if wanted and eqn.prim.kind in ("view", "broadcast"):
                views.add(k)
        return sorted(views)

    def _pays(self, part: Part) -> bool:
        """Say whether there is more to do than one product, or than a region."""
        eqns = [e for e in part.program.eqns if _work(e, part.program)]
        return len(eqns) > 1 and any(e.prim is matmul for e in eqns)

    def _cut_axes(self, part: Part) -> tuple[int | None, ...]:
        places = [self.axes.places(i, self.rows) for i in (*part.inputs, *part.eqns)]
        return tuple([axes[0] if len(axes) == 1 else None for axes in places])


@lru_cache(512)
def shares(program: Program) -> tuple[Share, ...] | None:
    """Return the parts of a program, some of which are run in pieces; None if none should be."""
    products = [(k, e) for k, e in enumerate(program.eqns, len(program.inputs)) if e.prim is matmul]
    if compiled is None or not products or _most_pieces(program.eqns, program) < _LEAST:
        return None
    axes = axes_of(program)
    sizes = {
        rows: n
        for k, e in products
        for i in (*e.ins, k)
        for rows, n in zip(axes.cuttable[i], axes.shapes[i], strict=True)
    }
    cuts = [_Cut(axes, *rows) for rows in sorted(sizes.items())]
    cuts.sort(key=lambda cut: (cut.products, cut.size), reverse=True)
    return next((found for cut in cuts if (found := cut.shares()) is not None), None)


def resized(params: dict[str, Any], shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the params of an operation whose result has another shape, but for axes that it needs whole.

    That shape is the only one of them that depends on the length of such an axis.
    """
    return {name: shape if name in ("shape", "size") else value for name, value in params.items()}


def _plan(share: Share, rows: int) -> Plan:
    """Return the plan of a piece of so many rows."""

    def cut(aval: Aval, axis: int | None) -> tuple[int, ...]:
        return tuple([rows if a == axis else n for a, n in enumerate(aval.shape)])

    program, axes = share.part.program, share.axes
    avals = [aval_of(cut(a, axis), a.dtype) for a, axis in zip(program.inputs, axes, strict=False)]
    eqns = []
    for eqn, axis in zip(program.eqns, axes[len(avals) :], strict=True):
        shape = cut(eqn.aval, axis)
        params = resized(dict(eqn.params), shape)
        aval = eqn.prim.aval(*[avals[i] for i in eqn.ins], **params)
        assert aval.shape == shape, eqn
        avals.append(aval)
        eqns.append(Eqn(eqn.prim, eqn.ins, tuple(params.items()), aval))
    return plan(Program(tuple(avals[: len(program.inputs)]), tuple(eqns), program.outputs))


def _piece(x: np.ndarray, axis: int | None, first: int, last: int) -> np.ndarray:
    return x if axis is None else x[(*[slice(None)] * axis, slice(first, last))]


class _Ready:
    """A share made ready for inputs that lie in memory as these do: its pieces, and its last one.

    That may have fewer rows.
    """

    def __init__(self, share: Share, ins: list[np.ndarray], is_quick: bool) -> None:
        program, axes, cuts = share.part.program, share.axes, share.cuts
        self.pieces = len(cuts)
        rows = cuts[0][1]
        # Bytes from a piece to the next, of inputs and of outputs.
        self.steps = [0, *[0 if a is None else rows * x.strides[a] for x, a in zip(ins, axes, strict=False)]]
        outputs = [(program.aval(i), axes[i]) for i in program.outputs]
        outs = [None if axis is None else np.empty(a.shape, a.dtype) for a, axis in outputs]

        def bound(first: int, last: int) -> Bound:
            mine = [_piece(x, axis, first, last) for x, axis in zip(ins, axes, strict=False)]
            theirs = [
                x if x is None else _piece(x, axis, first, last)
                for x, (_, axis) in zip(outs, outputs, strict=True)
            ]
            return bind(_plan(share, last - first), mine, theirs, is_quick)

        self.first = self.last = bound(*cuts[0])
        if cuts[-1][1] - cuts[-1][0] != rows:
            self.last = bound(*cuts[-1])
        self.workspace = max(self.first.workspace, self.last.workspace)
        self.made: list[tuple[tuple[int, ...], np.dtype]] = []
        self.joins: list[tuple[int, int, Any, tuple[int, ...]]] = []
        for n, (i, (aval, axis), out) in enumerate(zip(program.outputs, outputs, outs, strict=True)):
            shape = aval.shape
            if axis is None or out is None:
                # Some partial results a piece, of which the last one may have fewer.
                some, length = self.first.joined[i]
                shape = (some * self.pieces, length)
                count = shape[0] - some + self.last.joined[i][0]
                self.joins.append((n, count, program.eqns[i - len(ins)].prim.reducer, aval.shape))
                self.steps.append(some * length * aval.dtype.itemsize)
            else:
                self.steps.append(rows * out.strides[axis])
            self.made.append((shape, aval.dtype))

    def run(self, ins: list[np.ndarray]) -> list[np.ndarray]:
        """Run the pieces on several threads; returns the outputs."""
        outs = [np.empty(shape, dtype) for shape, dtype in self.made]
        with blas.one_thread():
            faults = compiled.run_sequence(
                *(self.first.sequence, self.last.sequence, (None, *ins, *outs), tuple(self.steps)),
                *(self.workspace, self.pieces, threads()),
            )
        for op, step, bits in faults:
            self.first.tellers[op](step, bits)
        for n, count, reducer, shape in self.joins:
            parts = outs[n][:count]
            outs[n] = reducer.reduce(parts, axis=0, dtype=parts.dtype).reshape(shape)
        return outs


def is_worthwhile(program: Program) -> bool:
    """Say whether threads should share the rows of a program."""
    found = shares(program) if threads() > 1 else None
    return found is not None and all(share.fits for share in found) and blas.is_controlled()


def run(program: Program, env: list[Any]) -> None:
    """Run a program for which that is worthwhile over `env`, as `host.run_plan` does."""
    for share in shares(program) or ():
        part = share.part
        ins = [env[i] for i in part.inputs]
        for i in part.drop:
            env[i] = None
        outs = None
        if part.fusible:
            try:
                outs = _ready(share, ins).run(ins)
            except Unfit:
                share.fits = False
        if outs is None:
            outs = _run_whole(part, ins)
        for i, value in zip(part.outputs, outs, strict=True):
            if i not in part.drop:
                env[i] = value


def _ready(share: Share, ins: list[np.ndarray]) -> _Ready:
    is_quick = settings["mode"] != "host"
    key = is_quick, tuple([(x.strides, x.flags.aligned) for x in ins])
    found = share.ready.get(key)
    if found is None:
        if len(share.ready) >= _LAYOUTS:
            share.ready.clear()
        found = share.ready[key] = _Ready(share, ins, is_quick)
    return found


def _run_whole(part: Part, ins: list[Any]) -> list[Any]:
    env = [*ins, *[None] * len(part.program.eqns)]
    ins.clear()
    try:
        run_plan(plan(part.program), env, frozenset())
    except StepFailed as failure:
        k = part.eqns[failure.eqn - len(part.inputs)]
        raise StepFailed(failure.error, k) from failure.error
    return [env[i] for i in part.program.outputs]
