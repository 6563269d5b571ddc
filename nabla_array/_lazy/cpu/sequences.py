"""Schedules that compiled code runs as a whole, again and again (`native/row_tiles.h`, `native/loops.h`).

It runs once for each tile of rows, or for each step of a loop. Each value has a home: an array of which the
tile or the step has a part, one that all of them read, or a place in the memory of the thread. So nothing
has to be made ready again for the next tile or step, or for the next arrays that lie in memory as these do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..graph.aval import Aval
from ..graph.program import Eqn
from ..native import compiled
from ..ops.contraction import is_unit_matrix, matmul, with_one_matrix
from ..schedule.steps import Call, Fused, Schedule, Step
from .faults import tell_at_once
from .kernels import EACH, Job, Unfit, job_of

# Where a value is, if not in an array: in the thread's memory, or nowhere that changes.
THREAD, FIXED = 0, -1
# Rows of a unit matrix from which it takes long to multiply by it.
_UNITS = 64
# Bytes between the beginnings of values.
ALIGNED = 64


class Bound(NamedTuple):
    """A schedule made ready for tiles of arrays that lie in memory in one way.

    Attributes
    ----------
    sequence
        What compiled code runs.
    workspace
        Bytes that a tile takes of the thread's memory.
    joined
        For each reduction over the rows: how many partial results a tile has, and how many elements each.
    tellers
        For each operation, what tells of its floating-point errors, given the step and those.
    fixed
        What has to stay in memory.
    """

    sequence: object
    workspace: int
    joined: dict[int, tuple[int, int]]
    tellers: list[Callable[[int, int], None]]
    fixed: list[Any]


def bind(
    schedule: Schedule, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray | None], is_quick: bool
) -> Bound:
    """Make a schedule ready for tiles like this one.

    Parameters
    ----------
    inputs, outputs
        The tile's part of each input and output; None for an output that is a partial result.
    is_quick
        Whether functions may differ from NumPy's in their last digits, as MAX's do: the tangent of doubles.

    Raises
    ------
    Unfit
        If something in it is not for compiled code.
    """
    workspace = Workspace(sum(e.aval.nbytes + ALIGNED for e in schedule.program.eqns))
    binder = Binder(schedule, inputs, outputs, workspace)
    for step, drop in zip(schedule.steps, schedule.drops, strict=True):
        binder.add(step, drop)
    return binder.bound(is_quick)


def _tell_of_product(step: int, bits: int) -> None:
    tell_at_once(bits, "matmul")


class Workspace:
    """A thread's memory: where values are, and what of it is free."""

    def __init__(self, most: int) -> None:
        self.memory = np.empty(most, np.uint8)
        self.size = 0
        self.free: list[tuple[int, int]] = []  # where, and how many bytes
        self.taken: dict[int, tuple[int, int]] = {}

    def take(self, k: int, aval: Aval, is_new: bool = False) -> np.ndarray:
        """Return an array for a value; `is_new`: where nothing was before."""
        wanted = -(-max(aval.nbytes, 1) // ALIGNED) * ALIGNED
        fitting = [hole for hole in self.free if hole[1] >= wanted and not is_new]
        if fitting:
            start, size = min(fitting, key=lambda hole: hole[1])
            self.free.remove((start, size))
            if size > wanted:
                self.free.append((start + wanted, size - wanted))
        else:
            start = self.size
            self.size += wanted
        self.taken[k] = start, wanted
        return np.ndarray(aval.shape, aval.dtype, self.memory, start)

    def give_back(self, k: int) -> None:
        """Let others have the memory of a value, if it has any here."""
        if k in self.taken:
            self.free.append(self.taken.pop(k))


class Binder:
    """Makes the operations of a schedule's steps, over arrays that stand for those of any tile."""

    def __init__(
        self,
        schedule: Schedule,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray | None],
        workspace: Workspace,
    ) -> None:
        self.program = schedule.program
        self.base = len(inputs)
        self.env: list[Any] = [*inputs, *[None] * len(self.program.eqns)]
        self.home = [*range(1, self.base + 1), *[FIXED] * len(self.program.eqns)]
        self.root = list(range(len(self.env)))  # what a view looks at
        self.live = [0] * len(self.env)  # how many values look at what a value has
        self.numbers = {k: n for n, k in enumerate(self.program.outputs, self.base + 1)}
        self.outputs = dict(zip(self.program.outputs, outputs, strict=True))
        self.workspace = workspace
        self.arrays: list[Any] = [workspace.memory, *inputs, *outputs]
        # Tuples for compiled code, or functions of Python's.
        self.ops: list[Any] = []
        self.joined: dict[int, tuple[int, int]] = {}
        self.tellers: list[Callable[[int, int], None]] = []

    def add(self, step: Step, drop: tuple[int, ...]) -> None:
        """Make the operation of a step, after which the values in `drop` are dead."""
        self._step(step)
        self._drop(drop)

    def _step(self, step: Step) -> None:
        if isinstance(step, Fused):
            self._add_job(step)
        elif isinstance(step, Call):
            k = step.eqn
            eqn = self.program.eqns[k - self.base]
            if eqn.prim is matmul:
                self._add_product(k, eqn)
            elif eqn.prim.kind in ("view", "broadcast"):
                self._look(k, eqn)
            elif eqn.prim.kind == "reduce":
                joined = frozenset((k,) if self.outputs.get(k, self) is None else ())
                self._add_job(Fused((k,), self._lead(eqn), eqn.ins, (k,), joined))
            else:
                raise Unfit

    def _drop(self, drop: tuple[int, ...]) -> None:
        """Let others have the memory of dead values."""
        for i in drop:
            root = self.root[i]
            self.live[root] -= 1
            if not self.live[root]:
                self.workspace.give_back(root)

    def _lead(self, eqn: Eqn) -> tuple[int, ...]:
        """Return the axes of rows of a reduction that is a fusion group of its own."""
        shape, axes = self.program.aval(eqn.ins[0]).shape, dict(eqn.params)["axes"]
        first = max(axes, default=-1) + 1
        if all(a in axes or shape[a] == 1 for a in range(first)):
            return tuple(shape[:first])
        return tuple([n for a, n in enumerate(shape) if a not in axes])

    def _place(self, k: int) -> np.ndarray:
        """Return where a value is to be written."""
        aval = self.program.aval(k)
        out = self.outputs.get(k)
        self.live[k] = 1
        if k in self.numbers:
            self.home[k] = self.numbers[k]
            if out is None:  # one partial result
                self.joined[k] = 1, aval.size
                out = self.arrays[self.numbers[k]] = np.empty(aval.shape, aval.dtype)
        else:
            self.home[k] = THREAD
            out = self.workspace.take(k, aval)
        self.env[k] = out
        return out

    def _look(self, k: int, eqn: Eqn) -> None:
        source = self.env[eqn.ins[0]] if eqn.ins else None
        value = eqn.prim.host(*[self.env[i] for i in eqn.ins], **dict(eqn.params))
        if k in self.numbers or (source is not None and not np.may_share_memory(value, source)):
            raise Unfit
        self.env[k] = value
        if eqn.ins:
            self.home[k], self.root[k] = self.home[eqn.ins[0]], self.root[eqn.ins[0]]
            self.live[self.root[k]] += 1

    def _add_product(self, k: int, eqn: Eqn) -> None:
        *ins, out = self.env[eqn.ins[0]], self.env[eqn.ins[1]], self._place(k)
        rows = with_one_matrix(*ins)
        if rows is not None and out.flags.c_contiguous:
            ins, out = [*rows], out.reshape(len(rows[0]), out.shape[-1])
        if out.ndim > 3 or not all(_is_for_blas(x) for x in (*ins, out)):
            raise Unfit
        is_known = self.home[eqn.ins[0]] > THREAD and ins[0].ndim == 2
        if is_known and len(ins[0]) > _UNITS and is_unit_matrix(ins[0]):
            raise Unfit  # the host moves the other matrix, and multiplies nothing
        self.ops.append((np.matmul, *ins, out, tuple([self.home[i] for i in (*eqn.ins, k)])))
        self.tellers.append(_tell_of_product)

    def _add_job(self, group: Fused) -> None:
        job = job_of(self.program, group)
        if job is None:
            raise Unfit
        joined = self._joined(job, group)
        outs = {k: self._place(k) for k in group.outputs if k not in group.joined}
        for k, out in outs.items():
            if self.program.eqns[k - self.base].prim.contiguous and not out.flags.c_contiguous:
                raise Unfit
        found = job.arrays(self.env, outs)
        if found is None:
            raise Unfit
        leaves, kept = found
        sources = [i for i, _, _ in job.leaves]
        if not all(np.may_share_memory(x, self.env[i]) for i, x in zip(sources, leaves, strict=True)):
            raise Unfit
        places: dict[int, Any] = dict.fromkeys(range(len(job.steps)), FIXED)
        places.update({job.places[k]: self.home[k] for k in outs})
        places.update({job.places[k]: at for k, at in joined.items()})
        homes = (*places.values(), *[self.home[i] for i in sources])
        self.ops.append((job.steps, leaves, kept, job.rows, job.length, homes))
        self.tellers.append(job.tell)

    def _joined(self, job: Job, group: Fused) -> dict[int, Any]:
        """Return which arrays have the partial results of what is joined."""
        if job.folds or any(self.outputs.get(k, self) is not None for k in group.joined):
            raise Unfit  # what is joined within a tile is not known to its next steps
        return {k: self.numbers[k] for k in group.joined}

    def bound(self, is_quick: bool) -> Bound:
        """Return the schedule made ready."""
        made = compiled.make_sequence(tuple(self.ops), tuple(self.arrays), is_quick)
        if made is None:
            raise Unfit
        sequence, joined = made
        outputs = {n: k for k, n in self.numbers.items()}
        self.joined.update({outputs[n]: (units, length) for n, units, length in joined})
        fixed = [x for x, home in zip(self.env, self.home, strict=True) if home == FIXED]
        return Bound(sequence, self.workspace.size, self.joined, self.tellers, fixed)


def copy_op(source: np.ndarray, home: int, target: np.ndarray, place: int) -> tuple[Any, ...]:
    """Return the operation that copies elements from where a value is to another place."""
    steps = (("copy", (1,), source.dtype, EACH, False),)
    return steps, [source], [target], 0, 0, (place, home)


def _is_for_blas(x: np.ndarray) -> bool:
    """Say whether rows or columns of matrices lie element by element."""
    m, n = x.strides[-2:]
    step = x.itemsize
    return (n == step and m >= n * x.shape[-1]) or (m == step and n >= m * x.shape[-2])
