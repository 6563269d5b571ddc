"""The executor of tiled steps: compiled code runs the tiles, each on one thread with one of BLAS."""

from __future__ import annotations

from _thread import allocate_lock
from typing import Any

import numpy as np

from ..config import active, threads
from ..native import compiled
from ..schedule.steps import Tiled
from ..schedule.tiling import tile_schedule
from . import blas
from .sequences import Bound, bind

# Ways in which inputs lie in memory for which a step is kept ready.
_LAYOUTS = 8


def _tile(x: np.ndarray, axis: int | None, first: int, last: int) -> np.ndarray:
    return x if axis is None else x[(*[slice(None)] * axis, slice(first, last))]


class _Ready:
    """A step made ready for inputs that lie in memory as these do: its tiles, and its last one.

    That may have fewer rows.
    """

    def __init__(self, step: Tiled, ins: list[np.ndarray], is_quick: bool) -> None:
        program, axes, cuts = step.part.program, step.axes, step.cuts
        self.tiles = len(cuts)
        rows = cuts[0][1]
        # Bytes from a tile to the next, of inputs and of outputs.
        self.steps = [0, *[0 if a is None else rows * x.strides[a] for x, a in zip(ins, axes, strict=False)]]
        outputs = [(program.aval(i), axes[i]) for i in program.outputs]
        outs = [None if axis is None else np.empty(a.shape, a.dtype) for a, axis in outputs]

        def bound(first: int, last: int) -> Bound:
            mine = [_tile(x, axis, first, last) for x, axis in zip(ins, axes, strict=False)]
            theirs = [
                x if x is None else _tile(x, axis, first, last)
                for x, (_, axis) in zip(outs, outputs, strict=True)
            ]
            return bind(tile_schedule(step, last - first), mine, theirs, is_quick)

        self.first = self.last = bound(*cuts[0])
        if cuts[-1][1] - cuts[-1][0] != rows:
            self.last = bound(*cuts[-1])
        self.workspace = max(self.first.workspace, self.last.workspace)
        self.made: list[tuple[tuple[int, ...], np.dtype]] = []
        self.lock = allocate_lock()
        self.joins: list[tuple[int, int, Any, tuple[int, ...]]] = []
        for n, (i, (aval, axis), out) in enumerate(zip(program.outputs, outputs, outs, strict=True)):
            shape = aval.shape
            if axis is None or out is None:
                # Some partial results a tile, of which the last one may have fewer.
                some, length = self.first.joined[i]
                shape = (some * self.tiles, length)
                count = shape[0] - some + self.last.joined[i][0]
                self.joins.append((n, count, program.eqns[i - len(ins)].prim.reducer, aval.shape))
                self.steps.append(some * length * aval.dtype.itemsize)
            else:
                self.steps.append(rows * out.strides[axis])
            self.made.append((shape, aval.dtype))

    def run(self, ins: list[np.ndarray]) -> list[np.ndarray]:
        """Run the tiles on several threads; returns the outputs."""
        outs = [np.empty(shape, dtype) for shape, dtype in self.made]
        with self.lock, blas.one_thread():  # faults are noted in the sequence
            faults = compiled.run_sequence(
                *(self.first.sequence, self.last.sequence, (None, *ins, *outs), tuple(self.steps)),
                *(self.workspace, self.tiles, threads()),
            )
        for op, step, bits in faults:
            self.first.tellers[op](step, bits)
        for n, count, reducer, shape in self.joins:
            parts = outs[n][:count]
            outs[n] = reducer.reduce(parts, axis=0, dtype=parts.dtype).reshape(shape)
        return outs


def run_tiles(step: Tiled, ins: list[np.ndarray]) -> list[np.ndarray]:
    """Run a step over its inputs; raises Unfit, having done nothing, where compiled code cannot."""
    is_quick = active.settings["mode"] != "host"
    key = is_quick, tuple([(x.strides, x.flags.aligned) for x in ins])
    found = step.ready.get(key)
    if found is None:
        if len(step.ready) >= _LAYOUTS:
            step.ready.clear()
        found = step.ready[key] = _Ready(step, ins, is_quick)
    outs: list[np.ndarray] = found.run(ins)
    return outs
