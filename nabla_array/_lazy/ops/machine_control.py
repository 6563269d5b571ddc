"""How machine code does loops and branches: rules as those of `ops/machine.py`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..graph.aval import aval_of
from ..graph.program import programs_in
from .machine import cast, instruction, select

_TRUTH, _INDEX = np.dtype(bool), np.dtype(np.int64)


def scan(
    code: Any,
    avals: Any,
    *operands: Any,
    program: Any,
    length: int,
    reverse: bool,
    carry: int,
    x_axes: Any,
    y_axes: Any,
) -> Any:
    cut = len(x_axes)
    state = code.copied(operands[:carry])
    xs = [
        x.view(lambda a, axis=axis: np.moveaxis(a, axis, 0))
        for x, axis in zip(code.stored(operands[carry : carry + cut]), x_axes, strict=True)
    ]
    whole = code.stored(operands[carry + cut :])
    ys = code.rooms(avals)[carry:]
    moved = [y.view(lambda a, axis=axis: np.moveaxis(a, axis, 0)) for y, axis in zip(ys, y_axes, strict=True)]

    def step(t: Any) -> None:
        if reverse:
            t = code.integer(f"sub i64 {length - 1}, {t}")
        outs = code.run(program, [*state, *[x.part([t]) for x in xs], *whole])
        for new, y in zip(outs[carry:], moved, strict=True):
            code.copy(new, y.part([t]))
        code.hand_on(outs[:carry], state)

    code.repeat(length, step, is_long=True)
    return (*state, *ys)


def _masked(code: Any, mask: Any, new: Any, old: Any) -> Any:
    """Return the value with the entries of `new` where a mask holds, and of `old` elsewhere."""
    n = mask.aval.ndim

    def element(at: Any) -> Any:
        return select(code, old.aval.dtype, mask.at(at[:n]), new.at(at), old.at(at))

    return code.formula(old.aval, element)


def _first_of(code: Any, mask: Any) -> Any:
    """Return the number of the first entry where a mask holds, -1 if there is none."""
    flat, none = code.dense(mask), code.constant(-1, _INDEX)

    def first(found: Any, i: Any) -> Any:
        has_one = code.scalar(f"icmp sge i64 {found.name}, 0", _TRUTH)
        here = select(code, _INDEX, flat.at(i), code.named(str(i), _INDEX), none)
        return select(code, _INDEX, has_one, found, here)

    return code.fold(mask.aval.size, none, first)


def _filled(code: Any, x: Any, mask: Any, first: Any) -> Any:
    """Replace the entries where a mask does not hold, which a body must not see, by one where it does."""
    n, out, flat = mask.aval.ndim, code.room_for(x.aval), code.dense(mask)

    def merged(a: np.ndarray) -> np.ndarray:
        return a.reshape(mask.aval.size, *a.shape[n:])

    source, target = code.dense(x).view(merged), out.view(merged)

    def fill(i: Any) -> None:
        place = select(code, _INDEX, flat.at(i), code.named(str(i), _INDEX), first)
        code.copy(source.part([place.name]), target.part([i]))

    code.repeat(mask.aval.size, fill)
    return out


def while_(code: Any, avals: Any, *operands: Any, cond: Any, body: Any, carry: int, rows: Any) -> Any:
    """Go on as long as the condition holds; where it is an array, for the entries where it holds."""
    test = cond.aval(cond.outputs[0])
    state, whole = code.copied(operands[:carry]), code.stored(operands[carry:])
    # Entries that are done may be computed in vain, but not by loops, which may never end.
    is_filled = test.ndim and any([programs_in(eqn) for eqn in body.eqns])

    def ask() -> Any:
        (found,) = code.stored(code.run(cond, [*state, *whole]))
        if not test.ndim:
            return found.at([]), found
        flat = code.dense(found)

        def either(before: Any, i: Any) -> Any:
            return code.scalar(f"or i1 {before.name}, {flat.at(i).name}", _TRUTH)

        return code.fold(test.size, code.constant(False, _TRUTH), either), found

    def step(found: Any) -> None:
        now, fixed = state, whole
        if is_filled:
            first = _first_of(code, found)
            now = [_filled(code, s, found, first) for s in state]
            fixed = [_filled(code, w, found, first) if r else w for w, r in zip(whole, rows, strict=True)]
        outs = code.run(body, [*now, *fixed])
        if test.ndim:
            pairs = zip(code.stored(outs), state, strict=True)
            outs = [_masked(code, found, new, old) for new, old in pairs]
        code.hand_on(outs, state)

    code.repeat_while(ask, step)
    return tuple(state)


def switch(
    code: Any, avals: Any, index: Any, *operands: Any, branches: Any, lead: int, roles: Any, sums: Any
) -> Any:
    """Do one branch, or with an array of numbers each that is there, for the entries with its number."""
    (index,), operands, outs = code.stored([index]), code.stored(operands), code.rooms(avals)

    def do(program: Any) -> None:
        for x, out in zip(code.run(program, operands), outs, strict=True):
            code.copy(x, out)

    if not lead:
        code.choose(index.at([]), [partial(do, b) for b in branches])
        return tuple(outs)
    many = code.constant(len(branches), index.aval.dtype)
    code.each(
        index.aval.shape, lambda at: code.unless(instruction(iu="icmp ult")(code, _TRUTH, index.at(at), many))
    )
    for out in outs:
        zero = code.constant(-0.0 if out.aval.dtype.kind == "f" else 0, out.aval.dtype)
        code.each(out.aval.shape, lambda at, out=out, zero=zero: out.put(at, zero))

    def some(k: int, mask: Any, first: Any) -> None:
        given = []
        for x, role in zip(operands, roles, strict=True):
            if role == "cotangent":
                zero = code.constant(0, x.aval.dtype)
                nothing = code.formula(x.aval, lambda at, zero=zero: zero)
                x = code.dense(_masked(code, mask, x, nothing))
            given.append(_filled(code, x, mask, first) if role == "row" else x)
        for new, out, is_sum in zip(code.stored(code.run(branches[k], given)), outs, sums, strict=True):
            code.copy(_added(code, new, out) if is_sum else _masked(code, mask, new, out), out)

    for k in range(len(branches)):
        mask = code.dense(
            code.formula(aval_of(index.aval.shape, _TRUTH), partial(_has_number, code, index, k))
        )
        first = _first_of(code, mask)
        is_there = code.scalar(f"icmp sge i64 {first.name}, 0", _TRUTH)
        code.choose(cast(code, _INDEX, is_there, _INDEX), [lambda: None, partial(some, k, mask, first)])
    return tuple(outs)


def _has_number(code: Any, index: Any, k: int, at: Any) -> Any:
    number = index.at(at)
    return code.scalar(f"icmp eq {number.type} {number.name}, {k}", _TRUTH)


def _added(code: Any, x: Any, y: Any) -> Any:
    add = instruction(f="fadd", iu="add")
    return code.formula(x.aval, lambda at: add(code, x.aval.dtype, x.at(at), y.at(at)))
