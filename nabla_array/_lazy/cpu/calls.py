"""The host tier's whole calls: one equation by NumPy, over an operand's memory where nobody can tell."""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.primitive import as_value
from ..interrupts import Uninterrupted
from ..native import compiled

if TYPE_CHECKING:
    from ..graph.primitive import Primitive
    from ..graph.program import Program
    from ..schedule.steps import Call

# A context without NumPy's floating-point warnings.
quiet = contextvars.Context()
quiet.run(np.seterr, all="ignore")
if compiled is not None:
    quiet.run(compiled.keep_memory)


# What the values, not the program, can make wrong; LinAlgError is a ValueError.
DATA_ERRORS = (ArithmeticError, IndexError, ValueError)


class StepFailed(Exception):
    """An error of an equation's host rule, with the equation's number."""

    def __init__(self, error: Exception, eqn: int) -> None:
        self.error = error
        self.eqn = eqn


# Bytes from which on threads may share what computes (a reduction, a call by rows), and what moves elements.
SHARED, MOVED = 1 << 19, 1 << 22


def whole(prim: Primitive, operands: Sequence[Any]) -> Callable[..., Any]:
    """Return what runs `prim` over the whole of its operands."""
    least = prim.by_matrices
    if prim.places is not None or prim.reshapes is not None:
        least = MOVED
    elif prim.by_rows or prim.kind == "reduce":
        least = MOVED if prim.picks else SHARED
    if least is not None and any([x.nbytes >= least for x in operands]):
        from .sharing import shared

        return shared(prim, operands[0], least)
    return prim.host


def over(prim: Primitive, operands: Sequence[Any]) -> Callable[..., Any]:
    """Return what runs `prim` over the memory of its first operand."""
    assert prim.inplace is not None
    if prim.patches is not None and operands[1].nbytes >= MOVED:
        from .sharing import patched

        return partial(patched, prim)
    return prim.inplace


def _sole(env: list[Any], i: int) -> int:
    return sys.getrefcount(env[i])


_SOLE = _sole([object()], 0)


def _behind(view: np.ndarray) -> int:
    return sys.getrefcount(view.base)


_ONE_BEHIND = _behind(np.empty(1)[:])


def run_call(program: Program, step: Call, drop: tuple[int, ...], env: list[Any], owned: set[int]) -> None:
    """Run one equation whole, over an operand's memory where nobody can tell."""
    base = len(program.inputs)
    eqn = program.eqns[step.eqn - base]
    prim, params = eqn.prim, dict(eqn.params)
    try:
        if (
            prim.inplace is not None
            and eqn.ins.count(eqn.ins[0]) == 1
            and is_free(eqn.ins[0], env, drop, base, owned)
        ):
            if eqn.ins[0] in owned:
                owned.add(step.eqn)
            operands = [env[i] for i in eqn.ins]
            with Uninterrupted():
                env[step.eqn] = as_value(over(prim, operands)(*operands, **params))
        else:
            operands = [env[i] for i in eqn.ins]
            env[step.eqn] = as_value(whole(prim, operands)(*operands, **params))
    except DATA_ERRORS as error:
        raise StepFailed(error, step.eqn) from error


def is_free(i: int, env: list[Any], drop: tuple[int, ...], base: int, owned: set[int]) -> bool:
    """Say whether nobody but this step will ever look at a value's memory again.

    An owned input's, and what was written over it, is held by the input's node, too.
    """
    mine = i in drop and (i >= base or i in owned)
    if not mine or _sole(env, i) != _SOLE + (i in owned):
        return False
    return can_write(env[i]) or (i >= base and _sees_all(env[i]))


def is_free_but_for(
    view: int, i: int, env: list[Any], drop: tuple[int, ...], base: int, owned: set[int]
) -> bool:
    """Say whether nobody but this step will ever look at a value's memory again, and now one view does."""
    mine = view in drop and i in drop and (i >= base or i in owned)
    if not mine or env[view].base is not env[i] or _sole(env, view) != _SOLE:
        return False
    return _sole(env, i) == _SOLE + (i in owned) + 1 and can_write(env[i])


def can_write(value: np.ndarray) -> bool:
    """Say whether the array's memory is its own, so that its only holder may write to it."""
    return value.flags.owndata and value.flags.writeable


def _sees_all(view: np.ndarray) -> bool:
    """Say whether the only holder of a view may write to it: all of memory that nobody else looks at."""
    flags = view.flags
    if flags.owndata or not (flags.c_contiguous and flags.writeable) or type(view.base) is not np.ndarray:
        return False
    return _behind(view) == _ONE_BEHIND and view.nbytes == view.base.nbytes and can_write(view.base)
