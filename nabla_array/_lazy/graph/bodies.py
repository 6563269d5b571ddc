"""Programs within programs, as loops and branches have them: written down, batched, seen by derivatives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from .aval import Aval, aval_of, is_differentiable
from .node import Node
from .primitive import Primitive
from .program import Eqn, Program, program_of
from .scopes import Scope
from .tape import Tape, taping


class Looked(Exception):
    """Somebody wants a value in a body that is being written down, where there is none."""


class Body:
    """A function while it is written down as a program."""

    def __init__(self, function: str) -> None:
        self.function = function
        self.looked = False  # whether it asked for a value
        self.open = True  # whether it still runs

    def look(self) -> Any:
        """Refuse to give a value."""
        if self.open:
            self.looked = True
            raise Looked(f"{self.function}: the body looks at a value")
        raise RuntimeError(
            f"{self.function}: an array of the body is used outside of it: return it from the body "
            "instead of storing it"
        )


# A value that is to come: what a body is written down with.
hole = Primitive("hole", lambda aval, body: aval, lambda aval, body: body.look())


_RULE = Body("the derivative of a loop or branch")


def hole_for(aval: Aval, body: Body = _RULE) -> Node:
    """Return a new hole."""
    return Node(hole, (), {"aval": aval, "body": body}, aval, 0)


def holes(avals: Sequence[Aval]) -> list[Node]:
    """Return a hole for each aval."""
    return [hole_for(a, _RULE) for a in avals]


class _Writing(threading.local):
    depth = 0


_writing = _Writing()


@contextmanager
def writing() -> Iterator[None]:
    """Let this thread record long chains on holes without evaluating what is below."""
    _writing.depth += 1
    try:
        yield
    finally:
        _writing.depth -= 1


def is_writing() -> bool:
    """Say whether this thread is writing a body down."""
    return _writing.depth > 0


def closed(tape: Tape, outputs: Sequence[Node]) -> tuple[Program, list[Node]]:
    """Return what a tape holds as a program with exactly these outputs, and the nodes that are its inputs
    after the tape's sources."""
    outside = {id(n): n for n in outputs if n not in tape}
    tape.sources += tuple(outside.values())
    tape.members.update(outside)
    program, captured, number = program_of(tape, outputs)
    outs = tuple([number[id(n)] for n in outputs])
    return Program(program.inputs, program.eqns, outs), [*outside.values(), *captured]


def written(sources: Sequence[Node], make: Callable[[], Sequence[Node]]) -> tuple[Program, list[Node]]:
    """Return what `make` records as a program from `sources` to what it returns, and its further inputs."""
    with Scope() as scope, writing(), taping(sources, derivative=False) as tape:
        outputs = make()
    if scope.line:
        raise TypeError(
            "a rule for a derivative, in a loop or branch, writes to an array that it captures "
            f"({scope.line}): let it return what it computes"
        )
    return closed(tape, outputs)


def placed(program: Program, inputs: Sequence[Aval], where: Sequence[int]) -> Program:
    """Return a program with other inputs, of which its own input k is number where[k]."""
    before, shift = len(program.inputs), len(inputs) - len(program.inputs)

    def number(i: int) -> int:
        return where[i] if i < before else i + shift

    eqns = tuple([e._replace(ins=tuple([number(i) for i in e.ins])) for e in program.eqns])
    return Program(tuple(inputs), eqns, tuple([number(i) for i in program.outputs]))


@lru_cache(1024)
def batched(program: Program, size: int) -> Program:
    """Return the program with one more leading axis on every value."""
    avals: list[Any] = [aval_of((size, *a.shape), a.dtype) for a in program.inputs]
    inputs, eqns = tuple(avals), []
    for prim, ins, old, _ in program.eqns:
        params = prim.batch(dict(old), size)
        aval = prim.aval(*[avals[i] for i in ins], **params)
        avals.append(aval)
        eqns.append(Eqn(prim, ins, tuple(params.items()), aval))
    return Program(inputs, tuple(eqns), program.outputs)


Flags = tuple[bool, ...]


def _moving(program: Program, moves: Flags) -> list[bool]:
    """Say which values of a program depend on the inputs `moves` in a way that has derivatives."""
    moving = list(moves)
    for eqn in program.eqns:
        depends = any([moving[i] for i in eqn.ins])
        moving.append(depends and is_differentiable(eqn.aval) and not eqn.prim.is_constant)
    return moving


@lru_cache(512)
def moving_outputs(program: Program, moves: Flags) -> Flags:
    """Say which outputs depend on the inputs `moves` in a way that has derivatives."""
    moving = _moving(program, moves)
    return tuple([moving[k] for k in program.outputs])


@lru_cache(512)
def seen(program: Program, moves: Flags, how: str) -> Program:
    """Return a program as derivatives further out see it (`Primitive.seen`)."""
    moving = _moving(program, moves)
    eqns = []
    for eqn in program.eqns:
        if eqn.prim.seen is not None:
            flags = tuple([moving[i] for i in eqn.ins])
            prim, params = eqn.prim.seen(flags, dict(eqn.params), how)
            eqn = eqn._replace(prim=prim, params=tuple(params.items()))
        eqns.append(eqn)
    return Program(program.inputs, tuple(eqns), program.outputs)
