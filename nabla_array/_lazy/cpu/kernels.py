"""Fusion groups as jobs of compiled code, which needs no Python between blocks (`native/kernels.h`).

A job is elementwise, over arrays of one shape but for axes of length 1, perhaps with all elements reduced to
one, or a table: each row is reduced, or met by one element, or all rows are joined to one. Other groups run
in blocks (`blocks.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.program import Eqn, Program
from ..native import compiled
from ..ops.elementwise import cast, expm1, imag, real, select, tanh
from ..ops.structure import broadcast, reshape
from ..schedule.steps import Fused
from .faults import tell_at_once

# What a step does, as `native/blocks.h` numbers it.
EACH, REDUCE, SPREAD, JOIN, FOLD = range(5)

# Reductions in which it is no matter what meets what first.
_EXACT = (np.maximum, np.minimum)

_Function = np.ufunc | str | None
_Step = tuple[_Function, tuple[int, ...], np.dtype, int, bool]


# Arrays that compiled code is given, inputs and outputs together, are no more.
MOST_ARRAYS = 1000


class Unfit(Exception):
    """Something in a fusion group is not for compiled code."""


def _core(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without axes of length 1."""
    return tuple([n for n in shape if n != 1])


def _function(eqn: Eqn) -> _Function:
    """Return the ufunc of an elementwise equation, or what stands for one."""
    prim = eqn.prim
    if prim is select:
        return None
    if prim is cast:
        return "cast"
    if eqn.params or eqn.aval.dtype.kind in prim.raises:
        raise Unfit
    # The host's functions differ from NumPy's for complex numbers alone.
    ufunc = prim.ufunc if prim in (tanh, expm1) and eqn.aval.dtype.kind == "f" else prim.host
    if not isinstance(ufunc, np.ufunc) or ufunc.nout != 1:
        raise Unfit
    return ufunc


class Job:
    """A fusion group made ready.

    Attributes
    ----------
    steps
        For each: the ufunc (None for `select`), the numbers of its operands, the dtype of its result, what it
        does, and whether the result has one element for each row. Results have the first numbers, what the
        steps begin with (`leaves`) the next.
    leaves
        For each the number of the group's input, what makes a view of that, and the view's shape in the job.
    folds
        Whether all elements are reduced to one, which is NumPy's to the bit.
    rows, length
        Of a table; (0, 0) for an elementwise job.
    size
        Elements that a step has.
    """

    def __init__(self, program: Program, group: Fused) -> None:
        self.program = program
        self.group = group
        base = len(program.inputs)
        self.eqns = {k: program.eqns[k - base] for k in group.eqns}
        self.lead = _core(group.lead)
        self.whole = max([self._shape(k) for k in (*self.eqns, *group.inputs)], key=lambda s: (len(s), s))
        kinds = {eqn.prim.kind for eqn in self.eqns.values()}
        self.folds = bool(group.joined) and self.lead == self.whole
        shapes = {self._shape(k) for k in self.eqns if k not in group.joined}
        is_table = not self.folds and ("reduce" in kinds or len(shapes) > 1)
        if is_table and (len(self.whole) != len(self.lead) + 1 or not self.lead or 0 in self.whole):
            raise Unfit
        self.rows, self.length = (math.prod(self.lead), self.whole[-1]) if is_table else (0, 0)
        self.size = math.prod(self.whole)
        self.leaves: list[tuple[int, Callable[..., Any], tuple[int, ...]]] = []
        self.made: list[_Step] = []
        self.origins: list[int] = []
        self.places: dict[int, int] = {}  # the numbers of values; those of leaves are below 0 to begin with
        for k, eqn in self.eqns.items():
            self._add(k, eqn)
            self.origins += [k] * (len(self.made) - len(self.origins))
        many = len(self.made)

        def number(i: int) -> int:
            return i if i >= 0 else many - 1 - i

        self.steps: tuple[_Step, ...] = tuple(
            [(f, tuple(map(number, ins)), dtype, kind, narrow) for f, ins, dtype, kind, narrow in self.made]
        )
        self.places = {k: number(i) for k, i in self.places.items()}
        self._check_outputs()

    def _aval(self, k: int) -> Aval:
        aval: Aval = self.program.aval(k)
        return aval

    def _shape(self, k: int) -> tuple[int, ...]:
        return _core(self._aval(k).shape)

    def _is_narrow(self, shape: tuple[int, ...]) -> bool:
        """Say whether a value has one element for each row; raises for one that is neither so nor whole."""
        if shape == self.whole:
            return False
        if not self.length or shape != self.lead:
            raise Unfit
        return True

    def _leaf(self, i: int, look: Callable[..., Any], shape: tuple[int, ...]) -> int:
        if self._is_narrow(shape):
            shape = (self.rows,)
        elif self.length:
            shape = (self.rows, self.length)
        self.leaves.append((i, look, shape))
        return -len(self.leaves)

    def _step(
        self, function: _Function, ins: tuple[int, ...], dtype: np.dtype, kind: int, narrow: bool
    ) -> int:
        self.made.append((function, ins, dtype, kind, narrow))
        return len(self.made) - 1

    def _operand(self, i: int) -> int:
        if i not in self.places:
            self.places[i] = self._leaf(i, np.asarray, self._shape(i))
        return self.places[i]

    def _add(self, k: int, eqn: Eqn) -> None:
        kind, shape, dtype = eqn.prim.kind, self._shape(k), eqn.aval.dtype
        if eqn.prim in (real, imag) and eqn.ins[0] in self.group.inputs:  # NumPy's are views
            self.places[k] = self._leaf(eqn.ins[0], eqn.prim.host, shape)
        elif kind == "elementwise":
            ins = tuple([self._operand(i) for i in eqn.ins])
            self.places[k] = self._step(_function(eqn), ins, dtype, EACH, self._is_narrow(shape))
        elif kind == "reduce":
            self.places[k] = self._reduce(k, eqn)
        elif eqn.ins[0] in self.group.inputs:
            self.places[k] = self._leaf(eqn.ins[0], partial(eqn.prim.host, **dict(eqn.params)), shape)
        else:
            self.places[k] = self._look(k, eqn, shape)

    def _reduce(self, k: int, eqn: Eqn) -> int:
        """Reduce rows to an element each, and what is joined to one row."""
        (i,) = eqn.ins
        source, dtype = self._aval(i), eqn.aval.dtype
        reducer = eqn.prim.reducer
        reduced = [a for a in dict(eqn.params)["axes"] if source.shape[a] != 1]
        axes = [a for a, n in enumerate(source.shape) if n != 1]
        if reducer is None or source.dtype is not dtype or not reduced:
            raise Unfit
        place, narrow = self._operand(i), self._is_narrow(_core(source.shape))
        if self.folds:
            if reduced != axes or not (
                reducer in _EXACT or dtype.kind in "iub" or (reducer, dtype.kind) == (np.add, "f")
            ):
                raise Unfit
            return self._step(reducer, (place,), dtype, FOLD, False)
        if k not in self.group.joined:
            if narrow or reduced != axes[-1:]:
                raise Unfit
            return self._step(reducer, (place,), dtype, REDUCE, True)
        if not narrow and reduced == axes:
            place, narrow = self._step(reducer, (place,), dtype, REDUCE, True), True
        elif reduced != axes[: len(self.lead)]:
            raise Unfit
        return self._step(reducer, (place,), dtype, JOIN, narrow)

    def _look(self, k: int, eqn: Eqn, shape: tuple[int, ...]) -> int:
        """Look at a value of the fusion group as one of another shape."""
        (i,) = eqn.ins
        source = self._aval(i).shape
        if eqn.prim is reshape and _core(source) == shape:
            return self._operand(i)
        if eqn.prim is not broadcast or i in self.group.joined:
            raise Unfit
        axes = [a for a, n in zip(dict(eqn.params)["axes"], source, strict=True) if n != 1]
        own = [a for a, n in enumerate(self._aval(k).shape) if n != 1]
        if axes == own:
            return self._operand(i)
        if not self._is_narrow(_core(source)) or self._is_narrow(shape) or axes != own[:-1]:
            raise Unfit
        return self._step(None, (self._operand(i),), eqn.aval.dtype, SPREAD, False)

    def _check_outputs(self) -> None:
        """See to it that each output is a step's, and nobody else's."""
        places = [self.places[k] for k in self.group.outputs]
        if len(set(places)) != len(places) or any(i >= len(self.steps) for i in places):
            raise Unfit
        for k in self.group.outputs:
            kind = self.steps[self.places[k]][3]
            if (kind in (JOIN, FOLD)) != (k in self.group.joined) or kind == SPREAD:
                raise Unfit
        joined = {self.places[k] for k in self.group.joined}
        if any(i in joined for step in self.steps for i in step[1]):
            raise Unfit

    def threads(self) -> int:
        """Return how many threads share the job if they are asleep before."""
        dtypes = [step[2] for step in self.steps] + [self._aval(i).dtype for i, _, _ in self.leaves]
        first = [dtypes[ins[0]] for _, ins, _, _, _ in self.steps]
        found: int = compiled.count_threads([step[0] for step in self.steps], first, self.size)
        return found

    def read(self, env: Sequence[Any]) -> list[np.ndarray] | None:
        """Return what it reads; None where Python must run it."""
        leaves = []
        for i, look, shape in self.leaves:
            seen = look(env[i])
            leaf = seen if not self.length and seen.shape == self.whole else _as(seen, shape)
            if leaf is None:
                return None
            leaves.append(leaf)
        return leaves

    def arrays(
        self, env: Sequence[Any], outs: Mapping[int, np.ndarray]
    ) -> tuple[list[np.ndarray], list[Any]] | None:
        """Return what it reads, and for each step where that writes to; None where Python must run it."""
        leaves = self.read(env)
        if leaves is None:
            return None
        kept: list[Any] = [None] * len(self.steps)
        last: Any = [*[x for x in leaves if 0 not in x.strides], leaves[0]][0]
        for k, out in outs.items():
            shape = (self.rows,) if self.steps[self.places[k]][4] else (self.rows, self.length)
            last = _as(out, shape if self.length else self.whole)
            if last is None:
                return None
            kept[self.places[k]] = last
        if not self.length and not last.flags.c_contiguous:  # compiled code goes along the last axis
            axes = sorted(range(last.ndim), key=lambda a: -abs(last.strides[a]))
            leaves = [x.transpose(axes) for x in leaves]
            kept = [None if x is None else x.transpose(axes) for x in kept]
        return leaves, kept

    def run(
        self, env: list[Any], outs: Mapping[int, np.ndarray], over: Mapping[int, np.ndarray]
    ) -> dict[int, np.ndarray] | None:
        """Run the fusion group, writing to `outs`, which become values in `env`.

        So do the arrays in `over`, of which outputs are parts.
        Returns a row for each block of what is joined; None, having done nothing, where Python must.
        """
        found = self.arrays(env, outs)
        if found is None:
            return None
        leaves, kept = found
        seen = compiled.run_blocks(self.steps, leaves, kept, self.rows, self.length)
        if seen is None:
            return None
        for k, out in (*outs.items(), *over.items()):  # before anything can fail: they may be operands
            env[k] = out
        for step, bits in enumerate(seen):
            self.tell(step, bits)
        joined = {k: kept[self.places[k]] for k in self.group.joined}
        return {k: self._folded(k, x) for k, x in joined.items()} if self.folds else joined

    def _folded(self, k: int, parts: np.ndarray) -> np.ndarray:
        """Join the halves of halves of all elements, which is how NumPy adds up eight."""
        ufunc: Any = self.steps[self.places[k]][0]
        while len(parts) > 1:
            parts = ufunc.reduce(parts.reshape(-1, 8), axis=1, dtype=parts.dtype)
        return parts

    def tell(self, step: int, bits: int) -> None:
        """Tell of the floating-point errors of a step."""
        function, _, _, kind, _ = self.steps[step]
        if bits and function is not None:
            name = function if isinstance(function, str) else function.__name__
            tell_at_once(bits, name if kind == EACH else "reduce")


def _as(value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return a view of a shape, None where that would be a copy."""
    seen = value.reshape(shape)
    return seen if seen.base is not None and np.may_share_memory(seen, value) else None


def job_of(program: Program, group: Fused) -> Job | None:
    """Return a fusion group made ready for compiled code, None if something in it is not for that."""
    try:
        return Job(program, group)
    except Unfit:
        return None
