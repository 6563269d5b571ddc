"""Loops and branches on the host: the functions that run the records of `ops/control.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..cpu.calls import StepFailed
from ..cpu.loops import Loop, is_small, makes_small
from ..graph.aval import LARGE, Aval
from ..graph.bodies import Flags, is_writing
from ..graph.node import Node, evaluate_hook
from ..graph.primitive import Primitive
from ..graph.program import Eqn, Program
from ..ops.control import COTANGENT, ROW, Axes, Roles, scan, switch, while_, with_axis
from . import early, planning
from .evaluator import evaluate
from .hot import hot_of, run_operation


def _relieve(nodes: list[Node]) -> None:
    if not is_writing():  # what is below a body's long chains are holes
        evaluate(nodes)


evaluate_hook[:] = [_relieve]


# -- bodies ----------------------------------------------------------------------------------------------
# Those whose values are all small are made ready as a whole. The others are worth a plan: blocks, threads,
# and results in the memory of dead values.


@lru_cache(512)
def _computed(program: Program) -> Program:
    """Return what a program computes: its inputs may be among its outputs, not among a schedule's."""
    made = [k for k in dict.fromkeys(program.outputs) if k >= len(program.inputs)]
    return Program(program.inputs, program.eqns, tuple(made))


def _run_large(program: Program, state: list[Any], rest: Sequence[Any] = ()) -> list[Any]:
    """Run a program by its schedule; what nobody but the list `state` holds may be written over."""
    env = [*state, *rest, *[None] * len(program.eqns)]
    passed = {k: env[k] for k in program.outputs if k < len(program.inputs)}
    try:
        early.run(planning.planned(_computed(program)), env, frozenset(range(len(state))))
    except StepFailed as failure:
        raise failure.error from None
    return [passed[k] if k in passed else env[k] for k in program.outputs]


@lru_cache(512)
def _function_of(program: Program) -> Callable[..., tuple[Any, ...]]:
    """Return a program as a function of NumPy arrays to arrays."""
    if is_small(program):
        return Loop(program).call
    return lambda *inputs: tuple(_run_large(program, [], inputs))


_loop = lru_cache(512)(Loop)


def _loop_of(
    body: Program, carry: int, cut: int, test: Program | None, whole: Sequence[np.ndarray]
) -> tuple[Loop, list[np.ndarray]]:
    """Return a loop over small arrays, and those that it is to be given of what stays.

    It is made ready for what is large, which would take too long to copy.
    """
    first = carry + cut
    large = {i: x for i, x in enumerate(whole, first) if x.nbytes >= LARGE}
    loop = Loop(body, carry, cut, test, large) if large else _loop(body, carry, cut, test)
    return loop, [x for i, x in enumerate(whole, first) if i not in large]


# -- scan ------------------------------------------------------------------------------------------------


def _large_scan(
    program: Program, state: list[Any], xs: list[Any], whole: list[Any], ys: list[Any], steps: range
) -> list[Any]:
    n = len(state)
    for t in steps:
        state = _run_large(program, state, [*[x[t] for x in xs], *whole])
        for k, y in enumerate(ys, n):
            y[t] = state[k]
        del state[n:]  # each array of the carry is held once now, so that the next step may use its memory
    return state


def _scan_host(
    *operands: np.ndarray,
    program: Program,
    length: int,
    reverse: bool,
    carry: int,
    x_axes: Axes,
    y_axes: Axes,
) -> tuple[Any, ...]:
    cut = len(x_axes)
    xs = [np.moveaxis(x, a, 0) for x, a in zip(operands[carry : carry + cut], x_axes, strict=True)]
    state, whole = list(operands[:carry]), list(operands[carry + cut :])
    outs = [program.aval(k) for k in program.outputs[carry:]]
    steps = range(length - 1, -1, -1) if reverse else range(length)
    if makes_small(program):
        ys = [np.empty((length, *a.shape), a.dtype) for a in outs]
        loop, rest = _loop_of(program, carry, cut, None, whole)
        state = loop.run(state, [*[np.require(x, None, ["C", "A"]) for x in xs], *rest], ys, steps)
        moved = [np.moveaxis(y, 0, axis) for y, axis in zip(ys, y_axes, strict=True)]
        return (*state, *[np.asarray(y, order="C") for y in moved])
    ys = [np.empty(with_axis(a, x, length).shape, a.dtype) for a, x in zip(outs, y_axes, strict=True)]
    moved = [np.moveaxis(y, axis, 0) for y, axis in zip(ys, y_axes, strict=True)]
    del operands
    return (*_large_scan(program, state, xs, whole, moved, steps), *ys)


# -- while -----------------------------------------------------------------------------------------------


def _large_while(cond: Program, body: Program, state: list[Any], whole: tuple[Any, ...]) -> tuple[Any, ...]:
    test = _function_of(cond)
    while test(*state, *whole)[0]:
        state = _run_large(body, state, whole)
    return tuple(state)


class _Rows:
    """Values with the entries that are out of it replaced by one that is not: so nothing that a body would
    never see is computed, which may be an error."""

    def __init__(self, active: np.ndarray) -> None:
        self.active = active
        flat = active.ravel()
        self.source = np.where(flat, np.arange(flat.size), np.argmax(flat))

    def filled(self, x: np.ndarray) -> np.ndarray:
        """Replace the entries of a value that are not active."""
        flat = x.reshape(self.source.size, *x.shape[self.active.ndim :])
        return np.asarray(flat[self.source].reshape(x.shape))

    def given(self, x: np.ndarray, role: str) -> np.ndarray:
        """Return an operand of a role as the active entries see it."""
        return self.filled(x) if role == ROW else self.merged(x, np.zeros_like(x)) if role == COTANGENT else x

    def merged(self, new: np.ndarray, old: np.ndarray) -> np.ndarray:
        """Take the active entries of `new`, the others of `old`."""
        more = (1,) * (np.ndim(old) - self.active.ndim)
        return np.where(self.active.reshape(*self.active.shape, *more), new, old)


def _while_host(
    *operands: np.ndarray, cond: Program, body: Program, carry: int, rows: Flags
) -> tuple[Any, ...]:
    if not cond.aval(cond.outputs[0]).ndim:
        if makes_small(body) and makes_small(cond):
            loop, rest = _loop_of(body, carry, 0, cond, operands[carry:])
            return tuple(loop.run(operands[:carry], rest, (), range(0)))
        return _large_while(cond, body, list(operands[:carry]), operands[carry:])
    test, step = _function_of(cond), _function_of(body)
    state, whole = list(operands[:carry]), operands[carry:]
    while True:
        (active,) = test(*state, *whole)
        if active.all() and active.size:
            state = list(step(*state, *whole))
            continue
        if not active.any():
            return tuple(state)
        some = _Rows(active)
        fixed = [some.filled(w) if r else w for w, r in zip(whole, rows, strict=True)]
        new = step(*[some.filled(s) for s in state], *fixed)
        state = [some.merged(n, s) for n, s in zip(new, state, strict=True)]


# -- switch ----------------------------------------------------------------------------------------------


def _switch_host(
    index: np.ndarray,
    *operands: np.ndarray,
    branches: tuple[Program, ...],
    lead: int,
    roles: Roles,
    sums: Flags,
) -> tuple[Any, ...]:
    if not lead or not index.size:
        return _function_of(branches[int(index) if not lead else 0])(*operands)
    kinds = np.unique(index)
    if len(kinds) == 1:
        return _function_of(branches[kinds[0]])(*operands)
    out: list[Any] = []
    for k in kinds:
        some = _Rows(index == k)
        new = _function_of(branches[k])(*[some.given(o, r) for o, r in zip(operands, roles, strict=True)])
        pairs = zip(new, out or new, sums, strict=True)
        out = [n + o if s else some.merged(n, o) for n, o, s in pairs] if out else list(new)
    return tuple(out)


# -- all -------------------------------------------------------------------------------------------------


def _is_small(params: Mapping[str, Any]) -> bool:
    return all([makes_small(p) for p in params.values() if isinstance(p, Program)])


def _perhaps_hot(prim: Primitive, cold: Callable[..., Any]) -> Callable[..., Any]:
    """Return the host's function that runs small loops by machine code once that pays."""

    def host(*operands: np.ndarray, **params: Any) -> Any:
        if _is_small(params):
            return run_operation(prim, operands, params, partial(cold, *operands, **params))
        return cold(*operands, **params)

    return host


scan.host, while_.host = _perhaps_hot(scan, _scan_host), _perhaps_hot(while_, _while_host)
switch.host = _switch_host


def told_of_loop(eqn: Eqn, avals: tuple[Aval, ...]) -> str | None:
    """Say where a loop over operands of these avals runs, and why; None for what never is machine code."""
    if eqn.prim not in (scan, while_) or not _is_small(dict(eqn.params)):
        return None
    return hot_of(eqn.prim, avals, eqn.params).status()
