"""Programs of small values that run many times, as loops and compiled functions do.

A program is made ready once: each of its values gets a place in one piece of memory, and each operation
becomes a compiled one on such places, or else a function of Python that reads and writes there. What a step
hands on to the next is copied to where that reads it. So compiled code can run a whole loop, and a step costs
little more than its operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..graph.aval import LARGE, Aval
from ..graph.program import Eqn, Program, is_literal
from ..native import compiled
from ..ops.contraction import matmul
from ..ops.structure import concat, update_slice
from ..ops.structure import slices as slices_of
from ..schedule.folding import folded
from ..schedule.partition import partition
from ..schedule.steps import Call, Fused, Step
from .blocks import writer
from .kernels import MOST_ARRAYS, Job, Unfit
from .sequences import ALIGNED, FIXED, THREAD, Binder, Workspace, copy_op

# How often a value is looked at that stays until the end.
_FOR_GOOD = 1 << 30
_ONCE = range(1)
# Bytes that the values of a program may take together.
_MOST = 16 * LARGE


def is_small(program: Program) -> bool:
    """Say whether every value of a program is too small for blocks and threads to pay."""
    return makes_small(program) and all(aval.nbytes < LARGE for aval in program.inputs)


@lru_cache(512)
def makes_small(program: Program) -> bool:
    """Say the same of the values that the equations make; all get a place, so that there are not many."""
    if len(program.inputs) + len(program.outputs) > MOST_ARRAYS:
        return False
    sizes = [a.nbytes for e in program.eqns if not is_literal(e) for a in _avals(e.aval)]
    return max(sizes, default=0) < LARGE and sum(sizes) < _MOST


def _avals(aval: Any) -> tuple[Aval, ...]:
    return aval if isinstance(aval, tuple) else (aval,)


class Loop:
    """A loop over small values: what it hands on from step to step, cuts, and stacks.

    Parameters
    ----------
    body
        What a step does. Its inputs are the carry, then what is cut, then what stays; its outputs are the
        new carry, then what is stacked.
    carry, cut
        How many of the inputs are of each kind.
    test
        What says whether there is a further step; its inputs are the carry, then what stays.
    constants
        The values of some inputs that stay, by their numbers; runs leave these out.
    """

    def __init__(
        self,
        body: Program,
        carry: int = 0,
        cut: int = 0,
        test: Program | None = None,
        constants: Mapping[int, np.ndarray] | None = None,
    ) -> None:
        self.body = folded(body, constants or {})
        self.test = None if test is None else folded(test, constants or {})
        self.carry = carry
        self.cut = cut
        self.whole = len(body.inputs) - carry - cut - len(constants or ())
        self.stacked: list[Aval] = [body.aval(k) for k in body.outputs[carry:]]
        # Those that no thread runs; each has memory of its own.
        self._idle: list[_Ready] = []

    def run(
        self, state: Sequence[Any], given: Sequence[Any], stacks: Sequence[np.ndarray], steps: range
    ) -> list[np.ndarray]:
        """Run the loop; returns the carry.

        Parameters
        ----------
        state, given
            The carry to begin with; then what is cut, along the first axis and in C order, and what stays.
        stacks
            What the other outputs are written to, along the first axis; in C order.
        steps
            The steps, in order; where there is a test, their number has no meaning.
        """
        return self._run(state, (*given, *stacks), steps)

    def _run(self, state: Sequence[Any], arrays: Sequence[Any], steps: range) -> list[np.ndarray]:
        try:
            ready = self._idle.pop()
        except IndexError:
            ready = _Ready(self)
        found = ready.run(state, arrays, steps)
        self._idle.append(ready)
        return found

    def call(self, *inputs: Any) -> tuple[np.ndarray, ...]:
        """Do one step of a loop that hands nothing on; returns its outputs."""
        outs = [np.empty(a.shape, a.dtype) for a in self.stacked]
        stacks = outs if compiled is not None else [x[np.newaxis] for x in outs]
        self._run((), (*inputs, *stacks), _ONCE)
        return tuple(outs)

    def __str__(self) -> str:
        return str(_Ready(self))


class _Memory:
    """The memory of a loop, and the arrays that it is given.

    Attributes
    ----------
    inputs
        For each input an array by which a step is made ready; the carry's are in the memory.
    home
        Where that is: in the memory, or which of the arrays that the loop is given it is, from 1 on.
    moves, further
        Whether the next step has another part of an array, and how many bytes further that is.
    now
        The arrays as a step sees them that Python runs.
    before
        What stays, and is copied to the memory before the first step.
    """

    def __init__(self, loop: Loop) -> None:
        programs = [p for p, _ in filter(None, (loop.test, loop.body))]
        avals = [a for p in programs for e in p.eqns for a in _avals(e.aval)]
        avals += [a for p in programs for a in (*p.inputs, *p.inputs, *[p.aval(k) for k in p.outputs])]
        self.workspace = Workspace(2 * sum([a.nbytes + ALIGNED for a in avals]) + ALIGNED)
        self._taken = 0
        self.before: dict[int, np.ndarray] = {}
        own = loop.body[0].inputs[: loop.carry + loop.cut + loop.whole]
        given = own[loop.carry :]
        self.inputs = [self.take(a) for a in own[: loop.carry]]
        self.inputs += [np.empty(a.shape, a.dtype) for a in given]
        self.outputs = [np.empty(a.shape, a.dtype) for a in loop.stacked]
        self.home = [*[THREAD] * loop.carry, *range(1, 1 + len(given))]
        self.moves = [False, *[n < loop.cut for n in range(len(given))], *[True] * len(loop.stacked)]
        self.arrays: list[Any] = [self.workspace.memory, *self.inputs[loop.carry :], *self.outputs]
        parts = zip(self.arrays, self.moves, strict=True)
        self.further = tuple([x.nbytes if moves else 0 for x, moves in parts])
        self.now: list[Any] = [None] * len(self.arrays)

    def take(self, aval: Aval) -> np.ndarray:
        """Return room for a value, of its own in all steps."""
        self._taken -= 1
        return self.workspace.take(self._taken, aval, is_new=True)


class _Ready:
    """A loop made ready, which one thread at a time may run."""

    def __init__(self, loop: Loop) -> None:
        self.memory = _Memory(loop)
        self.carry = loop.carry
        self.test: _Step | None = None
        self.found = 0
        if loop.test is not None:
            self.test = _Step(*loop.test, self.memory)
            (k,) = loop.test[0].outputs
            self.answer = self.memory.take(loop.test[0].aval(k))
            self.test.copy(k, self.answer, THREAD)
            self.found = self.answer.ctypes.data - self.memory.workspace.memory.ctypes.data
        self.body = _Step(*loop.body, self.memory, loop.carry)
        # What compiled code runs; None without it.
        self.made: tuple[object | None, object] | None = None
        if compiled is not None:
            test = None if self.test is None else self.test.bound(False).sequence
            self.made = test, self.body.bound(False).sequence

    def run(self, state: Sequence[Any], arrays: Sequence[Any], steps: range) -> list[np.ndarray]:
        """Run the loop over the arrays that it is given: what is cut, what stays, what is stacked."""
        memory = self.memory
        for home, x in zip(memory.inputs, state, strict=False):
            np.copyto(home, x)
        for i, home in memory.before.items():
            np.copyto(home, arrays[i - self.carry])
        if self.made is None:
            self._run_in_python(arrays, steps)
        else:
            further = memory.further
            if steps.step < 0 and steps:
                arrays = [x[steps[0] :] if m else x for x, m in zip(arrays, memory.moves[1:], strict=True)]
                further = tuple([-n for n in further])
            given = (memory.workspace.memory, *arrays)
            test, body = self.made
            seen = compiled.run_loop(test, body, self.found, given, further, len(steps))
            if seen is not None:
                self._tell(seen)
        return [home.copy() for home in memory.inputs[: self.carry]] if self.carry else []

    def _tell(self, seen: tuple[list[tuple[int, int, int]], ...]) -> None:
        for step, faults in zip((self.test, self.body), seen, strict=True):
            for op, number, bits in faults:
                step.tellers[op](number, bits)  # type: ignore[union-attr]

    def _run_in_python(self, arrays: Sequence[Any], steps: range) -> None:
        n = 0
        while self.test is not None or n < len(steps):
            t = steps[n] if self.test is None else 0
            moves = self.memory.moves[1:]
            self.memory.now[1:] = [x[t, ...] if m else x for x, m in zip(arrays, moves, strict=True)]
            for operation in self.test.ops if self.test is not None else ():
                operation()
            if self.test is not None and not self.answer:
                break
            for operation in self.body.ops:
                operation()
            n += 1

    def __str__(self) -> str:
        return "\n".join([line for step in (self.test, self.body) if step is not None for line in step.told])


class _Step(Binder):
    """The operations of one step of a loop.

    Attributes
    ----------
    told
        A line for each equation: by what it is done.
    """

    def __init__(
        self, program: Program, fixed: list[np.ndarray], memory: _Memory, carry: int | None = None
    ) -> None:
        made = [k for k in dict.fromkeys(program.outputs) if k >= len(program.inputs)]
        schedule = partition(Program(program.inputs, program.eqns, tuple(made)))
        super().__init__(schedule, [*memory.inputs, *fixed], [None] * len(made), memory.workspace)
        self.memory = memory
        self._dropping: tuple[int, ...] = ()
        self.arrays = memory.arrays
        self.home[: self.base] = [*memory.home, *[FIXED] * len(fixed)]
        self.live[: self.base] = [_FOR_GOOD] * self.base
        self.kept = {*program.outputs}
        self.told: list[str] = []
        self._settled: dict[int, np.ndarray] = {}
        stacked = program.outputs[carry:] if carry is not None else ()
        # What is written at once to where it is to be.
        self.outputs = {k: memory.outputs[n] for n, k in enumerate(stacked) if program.outputs.count(k) == 1}
        first = len(memory.arrays) - len(memory.outputs)
        self.numbers = {k: first + stacked.index(k) for k in self.outputs}
        for step, drop in zip(schedule.steps, schedule.drops, strict=True):
            self.add(step, drop)
        for n, k in enumerate(stacked):
            if self.home[k] != first + n or k not in self.outputs:
                self.copy(k, memory.outputs[n], first + n)
        if carry:
            self._hand_on(program.outputs[:carry])

    # -- where values are ------------------------------------------------------------------------------

    def _place(self, k: int) -> np.ndarray:
        out = self.outputs.get(k)
        if out is None or compiled is None:
            return self._room(k, self._aval(k))
        self.live[k], self.home[k], self.env[k] = 1, self.numbers[k], out
        return out

    def _room(self, k: int, aval: Aval) -> np.ndarray:
        """Return where a value is to be written, in the memory."""
        self.outputs.pop(k, None)
        self.live[k], self.home[k] = 1, THREAD
        room = self.env[k] = self.workspace.take(k, aval)
        return room

    def _aval(self, k: int) -> Any:
        return self.program.aval(k)

    def _in_memory(self, k: int) -> Any:
        """Return a value as a function of Python finds it at each step: at a place that does not change."""
        value, home, root = self.env[k], self.home[k], self.root[k]
        if home in (THREAD, FIXED):
            return value
        if root not in self._settled:
            whole = self.memory.take(self._aval(root))
            if self.memory.moves[home]:
                self._add_copy(self.env[root], home, whole, THREAD)
            else:
                whole = self.memory.before.setdefault(root, whole)
            self._settled[root] = whole
        whole = self._settled[root]
        if root == k:
            return whole
        first = value.ctypes.data - self.env[root].ctypes.data
        return np.ndarray(value.shape, value.dtype, whole.data, first, value.strides)

    def copy(self, k: int, target: np.ndarray, place: int) -> None:
        """Copy a value to another place."""
        if compiled is None:
            self._add_copy(self._in_memory(k), THREAD, target, place)
        else:
            self._add_copy(self.env[k], self.home[k], target, place)

    def _add_copy(self, source: np.ndarray, home: int, target: np.ndarray, place: int) -> None:
        if not source.size:
            return
        self.tellers.append(_no_faults)
        if compiled is not None:
            self.ops.append(copy_op(source, home, target, place))
        elif place > THREAD:
            self.ops.append(lambda: np.copyto(self.memory.now[place], source))
        elif home > THREAD:
            self.ops.append(lambda: np.copyto(target, self.memory.now[home]))
        else:
            self.ops.append(partial(np.copyto, target, source))

    def _hand_on(self, outputs: Sequence[int]) -> None:
        """Copy the new carry to where the next step reads it; first what looks at the old one."""
        late: list[tuple[np.ndarray, np.ndarray]] = []
        for j, k in enumerate(outputs):
            home, old = self.memory.inputs[j], self.root[k] < len(outputs)
            if old and self.env[k] is home:
                continue
            if old:
                between = self.memory.take(self._aval(k))
                self.copy(k, between, THREAD)
                late.append((between, home))
        for j, k in enumerate(outputs):
            if self.root[k] >= len(outputs):
                self.copy(k, self.memory.inputs[j], THREAD)
        for between, home in late:
            self._add_copy(between, THREAD, home, THREAD)

    # -- operations ------------------------------------------------------------------------------------

    def _step(self, step: Step) -> None:
        if isinstance(step, Call):
            self._equation(step.eqn, self.program.eqns[step.eqn - self.base], self._dropping)
            return
        assert isinstance(step, Fused)
        for group in self._apart(step):
            if not self._is_job(group):
                for k in group.eqns:
                    self._equation(k, self.program.eqns[k - self.base], ())

    def _apart(self, group: Fused) -> list[Fused]:
        """Take from a group of rows what reduces all axes: row by row, it would add in another order."""
        found = []
        for k in group.joined:
            eqn = self.program.eqns[k - self.base]
            shape = self._aval(eqn.ins[0]).shape
            if len(group.lead) < len(shape) == len(dict(eqn.params)["axes"]):
                found.append(Fused((k,), shape, eqn.ins, (k,), frozenset((k,))))
        if not found:
            return [group]
        taken = {g.eqns[0] for g in found}
        eqns = tuple([k for k in group.eqns if k not in taken])
        read = [g.inputs[0] for g in found if g.inputs[0] in eqns]
        outputs = tuple(dict.fromkeys([*[k for k in group.outputs if k not in taken], *read]))
        rest = Fused(eqns, group.lead, group.inputs, outputs, group.joined - taken, group.frames)
        return [rest, *found] if eqns else found

    def add(self, step: Step, drop: tuple[int, ...]) -> None:
        """Make the operations of a step, compiled ones where there are."""
        self._dropping = drop
        super().add(step, drop)

    def _tell(self, k: int, how: str) -> None:
        self.told.append(f"%{k} = {self.program.eqns[k - self.base].prim}: {how}")

    def _is_job(self, group: Fused) -> bool:
        """Add a fusion group as one compiled operation; returns whether that was possible."""
        if compiled is None:
            return False
        before = len(self.ops)
        try:
            self._add_job(group)
            is_made = compiled.make_sequence(tuple(self.ops[before:]), tuple(self.arrays), False) is not None
        except Unfit:
            is_made = False
        if not is_made:
            del self.ops[before:], self.tellers[before:]
        for k in group.eqns if is_made else ():
            self._tell(k, "compiled")
        return is_made

    def _joined(self, job: Job, group: Fused) -> dict[int, Any]:
        return {k: self._room(k, self._aval(k)).reshape(-1) for k in group.joined}

    def _equation(self, k: int, eqn: Eqn, drop: Sequence[int]) -> None:
        prim, shape = eqn.prim, eqn.aval.shape if isinstance(eqn.aval, Aval) else ()
        if is_literal(eqn):
            self.env[k], self.home[k], self.live[k] = prim.host(**dict(eqn.params)), FIXED, 1
            return
        if prim.kind in ("view", "broadcast") and len(eqn.ins) == 1:
            self._view(k, eqn)
            return
        if self._is_taken_over(k, eqn, drop):
            self._tell(k, "in place")
            return
        ins = tuple(dict.fromkeys(eqn.ins))
        is_empty = not all([a.size for i in (k, *ins) for a in _avals(self._aval(i))])
        if is_empty:
            self._call(k, eqn)
            return
        if prim.kind == "elementwise" and self._is_job(Fused((k,), shape, ins, (k,), frozenset())):
            return
        if prim.kind == "reduce":
            joined = frozenset((k,) if 0 in dict(eqn.params)["axes"] else ())
            if self._is_job(Fused((k,), self._lead(eqn), ins, (k,), joined)):
                return
        if prim is concat:
            self._concat(k, eqn)
        elif prim is update_slice:
            self.copy(eqn.ins[0], self._place(k), self.home[k])
            self._update(k, eqn)
            self._tell(k, "copied")
        elif not self._is_product(k, eqn):
            self._call(k, eqn)

    def _is_product(self, k: int, eqn: Eqn) -> bool:
        if compiled is None or eqn.prim is not matmul:
            return False
        before = len(self.ops)
        try:
            self._add_product(k, eqn)
        except Unfit:
            return False
        self._tell(k, "compiled")
        return compiled.make_sequence(tuple(self.ops[before:]), tuple(self.arrays), False) is not None

    def _view(self, k: int, eqn: Eqn) -> None:
        """Look at a value, or at a copy of it in C order."""
        (i,), look = eqn.ins, partial(eqn.prim.host, **dict(eqn.params))
        source = self.env[i]
        value = look(source)
        if not isinstance(source, tuple) and source.size and not np.may_share_memory(value, source):
            room = self._room(k, self._aval(i))
            self.copy(i, room, THREAD)
            self.env[k] = look(room)
            return
        self.env[k], self.home[k], self.root[k] = value, self.home[i], self.root[i]
        self.live[self.root[k]] += 1

    def _is_taken_over(self, k: int, eqn: Eqn, drop: Sequence[int]) -> bool:
        """Write over the first operand, if nobody else looks at it any more."""
        i = eqn.ins[0]
        is_last = (
            i in drop and i not in self.kept and eqn.ins.count(i) == 1 and self.live[i] in (1, _FOR_GOOD)
        )
        if eqn.prim.inplace is None or not is_last or self.root[i] != i or self.home[i] != THREAD:
            return False
        self.outputs.pop(k, None)
        self.env[k], self.home[k], self.root[k] = self.env[i], THREAD, i
        self.live[i] += 1
        if eqn.prim is update_slice:
            self._update(k, eqn)
        else:
            self._add_call(
                partial(eqn.prim.inplace, *[self._in_memory(j) for j in eqn.ins], **dict(eqn.params))
            )
        return True

    def _update(self, k: int, eqn: Eqn) -> None:
        """Write the second operand over a part of what is in place."""
        i, params = eqn.ins[1], dict(eqn.params)
        slices = slices_of(params["start"], self._aval(i).shape, params["step"])
        part = self.env[k][(*slices, ...)]  # an array, without axes too
        self.copy(i, part, self.home[k])

    def _concat(self, k: int, eqn: Eqn) -> None:
        axis, first = dict(eqn.params)["axis"], 0
        out = self._place(k)
        for i in eqn.ins:
            n = self._aval(i).shape[axis]
            part = out[(*[slice(None)] * axis, slice(first, first + n))]
            self.copy(i, part, self.home[k])
            first += n
        self._tell(k, "copied")

    def _call(self, k: int, eqn: Eqn) -> None:
        """Have Python do an operation."""
        prim, params = eqn.prim, dict(eqn.params)
        ins = [self._in_memory(i) for i in eqn.ins]
        if isinstance(eqn.aval, tuple):
            names = [self.memory.take(a) for a in eqn.aval]
            self.env[k], self.home[k], self.live[k] = tuple(names), THREAD, 1
            self._add_call(partial(_assign_all, tuple(names), partial(prim.host, *ins, **params)))
        else:
            out = self._room(k, eqn.aval)
            is_written = prim.kind in ("elementwise", "reduce") and (
                prim.into is not None or prim.kind == "reduce"
            )
            if is_written:
                self._add_call(partial(writer(prim, params), *ins, out))
            else:
                self._add_call(partial(_assign, out, partial(prim.host, *ins, **params)))
        self._tell(k, "Python")

    def _add_call(self, function: Callable[[], Any]) -> None:
        self.ops.append(function)
        self.tellers.append(_no_faults)


def _no_faults(step: int, bits: int) -> None:
    """Tell nothing: NumPy does."""


def _assign(out: np.ndarray, function: Callable[[], Any]) -> None:
    np.copyto(out, function())


def _assign_all(outs: tuple[np.ndarray, ...], function: Callable[[], Any]) -> None:
    for out, value in zip(outs, function(), strict=True):
        np.copyto(out, value)
