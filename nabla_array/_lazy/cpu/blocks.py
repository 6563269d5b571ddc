"""The host tier: fusion groups by NumPy in cache-sized blocks, or by our kernels."""

from __future__ import annotations

import itertools
import math
from _thread import _local as local  # `threading` takes a millisecond to import
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any

import numpy as np

from ..graph.aval import Aval
from ..graph.primitive import Primitive, as_value
from ..graph.program import Program
from ..interrupts import Uninterrupted
from ..native import compiled
from ..schedule.steps import Call, Fused, Schedule
from .calls import DATA_ERRORS, StepFailed, is_free, is_free_but_for, run_call
from .kernels import job_of
from .spreading import spread, workers_for
from .turned import is_turned, turned

# Elements of a block: larger ones fall out of the cache, smaller ones leave threads to wait for Python.
BLOCK = 1 << 16
# Bytes up to which a buffer is kept for the next fusion group.
_KEPT = BLOCK * 16
# Elements up to which the partial results of a reduction are kept apart, to be joined pairwise.
_APART = 1024


def _blocks(lead: tuple[int, ...], rows: int) -> list[tuple[slice, ...]]:
    """Cut the leading axes into boxes of about `rows` rows, whole along the last axes first."""
    extents = []
    for n in reversed(lead):
        extents.append(max(1, min(n, rows)))
        rows //= n
    cuts = [
        [slice(i, min(i + by, n)) for i in range(0, n, by)]
        for n, by in zip(lead, reversed(extents), strict=True)
    ]
    return list(itertools.product(*cuts))


class _Scratch(local):
    """A thread's buffers for the insides of blocks, kept: fresh memory costs more than a block's work."""

    def __init__(self) -> None:
        self.buffers: dict[int, np.ndarray] = {}

    def array(self, slot: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return an array in the buffer of this number, which grows as needed."""
        size = math.prod(shape) * dtype.itemsize
        if size > _KEPT:
            return np.empty(shape, dtype)
        buffer = self.buffers.get(slot)
        if buffer is None or buffer.size < size:
            buffer = self.buffers[slot] = np.empty(max(size, BLOCK * 8), np.uint8)
        return np.ndarray(shape, dtype, buffer)


_scratch = _Scratch()

_Getter = Callable[[dict[int, Any]], tuple[Any, ...]]
# What is done to a block: an equation's number, whether the result is kept, else it is written to an input;
# the function, and what gets its operands.
_BlockCall = tuple[int, bool, Callable[..., Any], _Getter]


class _Kernel:
    """A fusion group made ready: which buffer each value takes, and what is done to a block."""

    def __init__(self, program: Program, group: Fused) -> None:
        base = len(program.inputs)
        self.program = program
        self.group = group
        self.ndim = len(group.lead)
        self.steps = [(k, program.eqns[k - base]) for k in group.eqns]
        self.prims = {k: eqn.prim for k, eqn in self.steps}
        self.avals: dict[int, Aval] = {k: program.aval(k) for k in (*group.inputs, *group.eqns)}
        widest = max(a.size for a in self.avals.values())
        # What is done to the results of reductions inside a block is short: threads mostly wait for Python.
        reduces = any(eqn.prim.kind == "reduce" for _, eqn in self.steps)
        self.rows = max(1, BLOCK * (1 + reduces) * math.prod(group.lead) // widest)
        self.slots = self._assign()
        self.job = None if compiled is None else job_of(program, group)
        self.turned: Schedule | None = None
        self.donors = self._donors()
        shapes = {self.avals[k].shape for k in group.outputs}
        # Of what is elementwise over one shape, results may lie in memory as operands do.
        self.shape = shapes.pop() if self.job is not None and not self.job.length and len(shapes) == 1 else ()

    def pattern(self, env: list[Any]) -> np.ndarray | None:
        """Return an operand as which results are to lie in memory, as in NumPy; None for C order.

        That is where the operands do not agree.
        """
        found: list[tuple[list[int], np.ndarray]] = []
        for i in self.group.inputs if len(self.shape) > 1 else ():
            x = env[i]
            if x.shape == self.shape and 0 not in x.strides:
                order = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
                is_c = x.flags.c_contiguous or order == [*range(x.ndim)]
                if is_c or (found and found[0][0] != order):
                    return None
                found.append((order, x))
        return found[0][1] if found else None

    def _donors(self) -> dict[int, list[int]]:
        """Name for each output the inputs whose memory it could take: read, element by element, before."""
        inputs = set(self.group.inputs)
        last: dict[int, int] = {}
        if self.group.joined or self.job is None:
            return {}  # where something is left to be done, or blocks are run one by one, it may yet fail
        for k, eqn in self.steps:
            if eqn.aval.dtype.kind in eqn.prim.raises:
                return {}  # it can raise, and then the inputs must be as they were
            safe = eqn.prim.kind == "elementwise" and eqn.prim.into is eqn.prim.ufunc
            for i in inputs.intersection(eqn.ins):
                if eqn.prim.kind in ("view", "broadcast"):
                    inputs.discard(i)
                last[i] = k - safe
        return {
            k: [i for i in inputs if self.avals[i] is self.avals[k] and last[i] < k]
            for k in self.group.outputs
            if k not in self.group.joined
        }

    def _assign(self) -> dict[int, int]:
        """Number the buffers: each value that stays inside gets one, a dead value's where it fits."""
        last: dict[int, int] = {}
        source: dict[int, int] = {}  # what a view inside a block looks at, and so keeps alive
        for k, eqn in self.steps:
            if eqn.prim.kind in ("view", "broadcast"):
                source[k] = source.get(eqn.ins[0], eqn.ins[0])
            for i in eqn.ins:
                last[source.get(i, i)] = k
        slots: dict[int, int] = {}
        free: dict[Aval, list[int]] = {}
        numbers = itertools.count()
        for k, eqn in self.steps:
            dead = [i for i in {source.get(i, i) for i in eqn.ins} if last[i] == k and i in slots]
            in_place = (
                eqn.prim.kind == "elementwise" and eqn.prim.into is eqn.prim.ufunc
            )  # a ufunc may write over its own input
            if in_place:
                for i in dead:
                    free.setdefault(self.avals[i], []).append(slots[i])
            if k not in source and k not in self.group.outputs:
                spare = free.get(self.avals[k])
                slots[k] = spare.pop() if spare else next(numbers)
            if not in_place:
                for i in dead:
                    free.setdefault(self.avals[i], []).append(slots[i])
        return slots

    def bind(self, lead: tuple[int, ...]) -> tuple[dict[int, Any], list[_BlockCall]]:
        """Make ready for blocks of this shape: the arrays in place, and the calls."""
        registers: dict[int, Any] = {}
        calls: list[_BlockCall] = []
        for k, eqn in self.steps:
            prim, params = eqn.prim, dict(eqn.params)
            shape = lead + self.avals[k].shape[self.ndim :]
            if prim.kind in ("view", "broadcast"):
                look = partial(prim.host, **{**params, "shape": shape})
                seen = look(registers[eqn.ins[0]]) if eqn.ins[0] in registers else None
                if seen is not None and np.may_share_memory(seen, registers[eqn.ins[0]]):
                    registers[k] = seen  # a view of a buffer is the same for every block
                else:
                    calls.append((k, True, look, _getter(eqn.ins)))
            elif k in self.group.joined:
                calls.append((k, True, partial(prim.host, **params), _getter(eqn.ins)))
            else:
                if k in self.slots:
                    registers[k] = _scratch.array(self.slots[k], shape, self.avals[k].dtype)
                calls.append((k, False, writer(prim, params), _getter((*eqn.ins, k))))
        return registers, calls

    def run(
        self, env: list[Any], outs: dict[int, np.ndarray], blocks: Iterable[tuple[slice, ...]]
    ) -> dict[int, list[np.ndarray]]:
        """Run over some blocks, writing to `outs`; returns the partial results of joined outputs."""
        parts: dict[int, list[np.ndarray]] = {k: [] for k in self.group.joined}
        moving = [(i, env[i]) for i in self.group.inputs] + list(outs.items())
        registers: dict[int, Any] = {}
        calls: list[_BlockCall] = []
        ready = None
        for block in blocks:
            lead = tuple([s.stop - s.start for s in block])
            if lead != ready:
                (registers, calls), ready = self.bind(lead), lead
            for k, every in moving:
                registers[k] = every[block]
            k = -1
            try:
                for k, keep, function, get in calls:
                    result = function(*get(registers))
                    if keep:
                        registers[k] = result
            except DATA_ERRORS as error:
                raise StepFailed(error, k) from error
            for k, some in parts.items():
                _join(some, self.prims[k], as_value(registers[k]))
        return parts


def _getter(keys: tuple[int, ...]) -> _Getter:
    if len(keys) == 1:
        (key,) = keys
        return lambda registers: (registers[key],)
    return itemgetter(*keys)


def writer(prim: Primitive, params: dict[str, Any]) -> Callable[..., Any]:
    """Return `(*inputs, out)` that writes the result into `out`."""
    if prim.kind == "reduce":
        reduce, axes = prim.reducer.reduce, params["axes"]  # type: ignore[union-attr]

        def write(x: np.ndarray, out: np.ndarray) -> None:
            # The order of summation follows the strides of the operand and of `out`: only without an
            # `out` is it the one that NumPy has for the whole array.
            if x.flags.c_contiguous:
                reduce(x, axis=axes, dtype=out.dtype, out=out)
            else:
                out[...] = reduce(x, axis=axes, dtype=out.dtype)

        return write
    assert prim.into is not None
    if prim.into is np.maximum or prim.into is np.minimum:  # these deprecate a positional `out`
        ufunc = prim.into
        return lambda x, y, out: ufunc(x, y, out=out)
    return partial(prim.into, **params) if params else prim.into


def _join(parts: list[np.ndarray], prim: Primitive, value: np.ndarray) -> None:
    if parts and value.size > _APART:
        prim.reducer(parts[0], value, out=parts[0])  # type: ignore[misc]
    else:
        parts.append(value)


def _joined(prim: Primitive, parts: np.ndarray) -> np.ndarray:
    """Reduce the partial results of blocks to one."""
    if len(parts) == 1:
        return np.asarray(parts[0])
    # Along a contiguous axis NumPy sums pairwise.
    stacked = np.ascontiguousarray(np.moveaxis(parts, 0, -1))
    return np.asarray(prim.reducer.reduce(stacked, axis=-1, dtype=stacked.dtype))  # type: ignore[union-attr]


@lru_cache(1024)
def _kernel(program: Program, step: Fused) -> _Kernel:
    return _Kernel(program, step)


def run_fused(program: Program, step: Fused, drop: tuple[int, ...], env: list[Any], owned: set[int]) -> None:
    """Run a fusion group block by block, on several threads where it is large.

    A result for which `env` has an array already is written there.
    """
    kernel = _kernel(program, step)
    if _run_turned(kernel, env):
        for call in step.frames:
            run_call(program, call, drop, env, owned)
        return
    pattern = kernel.pattern(env)
    copies: list[tuple[np.ndarray, int]] = []
    changed: dict[int, Call] = {}
    dead = drop
    if step.frames:
        if pattern is None:  # NumPy's concatenations have another order than C's, too
            copies = _place(program, step, drop, env)
            changed = _changed(program, kernel, step, drop, env, owned)
        read_later = {i for call in step.frames for i in call.inputs}
        dead = tuple([i for i in drop if i not in read_later])

    def fresh(k: int) -> np.ndarray:
        aval = kernel.avals[k]
        return np.empty(aval.shape, aval.dtype) if pattern is None else np.empty_like(pattern, aval.dtype)

    outs, taken = _outs(kernel, fresh, dead, env, owned, pattern is not None)
    parts: list[Any] = []
    joined = None
    if kernel.job is not None:
        with Uninterrupted() if taken or changed else nullcontext():
            joined = kernel.job.run(env, outs, {c.eqn: env[_over(program, c)] for c in changed.values()})
    if joined is None:
        outs.update({k: fresh(k) for k in (*taken.values(), *changed)})  # a later block may fail
        changed.clear()
        blocks = _blocks(step.lead, kernel.rows)
        parts = spread(lambda some: kernel.run(env, outs, some), blocks, in_order=bool(step.joined))
        for k, out in outs.items():
            env[k] = out
    else:
        owned.update(k for i, k in taken.items() if i in owned)
    for k in step.joined:
        prim = kernel.prims[k]
        some = joined[k] if joined is not None else np.array([p for part in parts for p in part[k]])
        env[k] = _joined(prim, some).reshape(kernel.avals[k].shape)
    for place, i in copies:
        place[...] = env[i]
    if step.frames:
        for i in dead:  # views of what is written over
            env[i] = None
        _finish(program, step, changed, drop, env, owned)


def _outs(
    kernel: _Kernel,
    fresh: Callable[[int], np.ndarray],
    drop: tuple[int, ...],
    env: list[Any],
    owned: set[int],
    is_turned: bool,
) -> tuple[dict[int, np.ndarray], dict[int, int]]:
    """Return an array for each result that is not joined, and which results are written over which inputs."""
    outs: dict[int, np.ndarray] = {}
    taken: dict[int, int] = {}
    base = len(kernel.program.inputs)
    for k in kernel.group.outputs:
        if k in kernel.group.joined:
            continue
        if env[k] is not None and kernel.prims[k].can_place:
            outs[k] = env[k]
            continue
        for i in kernel.donors.get(k, ()):
            in_order = is_turned or env[i].flags.c_contiguous
            if i not in taken and in_order and is_free(i, env, drop, base, owned):
                outs[k] = env[i]
                taken[i] = k
                break
        else:
            outs[k] = fresh(k)
    return outs, taken


def _finish(
    program: Program,
    step: Fused,
    changed: Mapping[int, Call],
    drop: tuple[int, ...],
    env: list[Any],
    owned: set[int],
) -> None:
    """Run the frames whose results are not there yet; of those that are, an array's old version is dead."""
    for call in step.frames:
        if call in changed.values():
            x = _over(program, call)
            env[x] = None
            owned.update([call.eqn] if x in owned else [])
        elif env[call.eqn] is None:
            run_call(program, call, drop, env, owned)


def _run_turned(kernel: _Kernel, env: list[Any]) -> bool:
    """Run a fusion group over tables whose columns are rows in memory; returns whether they are that."""
    job = kernel.job
    leaves = None if job is None or not job.length else job.read(env)
    if job is None or leaves is None or not is_turned(leaves):
        return False
    if kernel.turned is None:
        kernel.turned = turned(job, leaves)
    program, steps = kernel.turned.program, kernel.turned.steps
    own: list[Any] = [*[x.T for x in leaves], *[None] * len(program.eqns)]
    try:
        for step, drop in zip(steps, kernel.turned.drops, strict=True):
            run: Callable[..., None] = run_fused if isinstance(step, Fused) else run_call
            run(program, step, drop, own, set())
            for i in drop:
                own[i] = None
    except StepFailed as failure:
        raise StepFailed(failure.error, job.origins[failure.eqn - len(leaves)]) from failure.error
    for k in kernel.group.outputs:
        found = own[job.places[k] + len(leaves)].T.reshape(kernel.avals[k].shape)
        if env[k] is None:
            env[k] = found
        else:
            env[k][...] = found
    return True


def _place(
    program: Program, step: Fused, drop: tuple[int, ...], env: list[Any]
) -> list[tuple[np.ndarray, int]]:
    """Put memory for frames into `env`, and for each result that only they read its place there.

    Returns the other places, and which values are to be copied there, in this order.
    """
    copies = []
    for call in reversed(step.frames):
        eqn = program.eqns[call.eqn - len(program.inputs)]
        if eqn.prim.places is None:
            continue
        if env[call.eqn] is None:
            env[call.eqn] = np.empty(eqn.aval.shape, eqn.aval.dtype)
        keys = eqn.prim.places(*[program.aval(i) for i in call.inputs], **dict(eqn.params))
        for i, key in zip(call.inputs, keys, strict=True):
            place = env[call.eqn][key]
            if env[i] is None and i in drop and program.eqns[i - len(program.inputs)].prim.can_place:
                env[i] = place
            else:
                copies.append((place, i))
    return copies[::-1]


def _changed(
    program: Program, kernel: _Kernel, step: Fused, drop: tuple[int, ...], env: list[Any], owned: set[int]
) -> dict[int, Call]:
    """Put into `env`, for results that are written over parts of dead arrays, these.

    Returns the call that would write each.
    """
    base = len(program.inputs)
    found: dict[int, Call] = {}
    for call in step.frames if kernel.job is not None else ():
        eqn = program.eqns[call.eqn - base]
        if eqn.prim.patches is None:
            continue
        x, i = eqn.ins
        if x in step.inputs or i not in drop or i not in step.outputs or env[i] is not None:
            continue
        key = eqn.prim.patches(program.aval(x), program.aval(i), **dict(eqn.params))
        donors = [j for j in kernel.donors.get(i, ()) if is_free_but_for(j, x, env, drop, base, owned)]
        if is_free(x, env, drop, base, owned) or (donors and _is_same(env[x][key], env[donors[0]])):
            env[i] = env[x][key]
            found[i] = call
    return found


def _over(program: Program, call: Call) -> int:
    return program.eqns[call.eqn - len(program.inputs)].ins[0]


def _is_same(x: np.ndarray, y: np.ndarray) -> bool:
    """Say whether the elements of two arrays are the same memory."""
    starts = [a.__array_interface__["data"][0] for a in (x, y)]
    return starts[0] == starts[1] and (x.shape, x.strides) == (y.shape, y.strides)


def blocks_and_threads(program: Program, step: Fused) -> tuple[int, int]:
    """Return how many blocks a fusion group is cut into, and how many threads share them.

    No blocks: compiled code cuts it into parts that fit a core's cache.
    """
    kernel = _kernel(program, step)
    if kernel.job is not None:
        return 0, kernel.job.threads()
    blocks = len(_blocks(step.lead, kernel.rows))
    return blocks, workers_for(blocks)
