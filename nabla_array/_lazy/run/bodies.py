"""Programs within programs, as loops and branches have them: batched, differentiated, and run fast."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from ..cpu.blocks import StepFailed
from ..graph.aval import LARGE, Aval, aval_of
from ..graph.node import NO_PARAMS, Node, evaluate_hook, record
from ..graph.primitive import Primitive
from ..graph.program import Eqn, Program, run
from ..graph.scopes import Scope
from ..graph.tape import Tape, program_of, taping
from ..ops.creation import fill, fill_like
from ..ops.structure import project
from ..rules.autodiff import is_differentiable, pull, push
from . import tiers
from .evaluator import evaluate


class Looked(Exception):
    """Somebody wants a value in a body that is being written down, where there is none."""


class Body:
    """A function while it is written down as a program.

    Attributes
    ----------
    looked
        Whether it asked for a value.
    open
        Whether it still runs.
    """

    def __init__(self, function: str) -> None:
        self.function = function
        self.looked = False
        self.open = True

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


def holes(avals: Sequence[Aval], body: Body = _RULE) -> list[Node]:
    """Return a hole for each aval."""
    return [hole_for(a, body) for a in avals]


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


def _relieve(nodes: list[Node]) -> None:
    if not _writing.depth:
        evaluate(nodes)


evaluate_hook[:] = [_relieve]


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


# -- derivatives -----------------------------------------------------------------------------------------


def _record(program: Program, inputs: Sequence[Node]) -> list[Node]:
    return run(program, inputs, lambda prim, ins, params: record(prim, tuple(ins), params or NO_PARAMS))


def pushed(
    program: Program, inputs: Sequence[Node], tangents: Sequence[Node | None]
) -> tuple[list[Node], list[Node | None]]:
    """Record a program's outputs, and their tangents."""
    given = {id(n): t for n, t in zip(inputs, tangents, strict=True) if t is not None}
    with taping([n for n in inputs if id(n) in given]) as tape:
        outs = _record(program, inputs)
    known = push(tape, given, outs)
    return outs, [known.get(id(n)) for n in outs]


def pulled(
    program: Program, inputs: Sequence[Node], cts: Sequence[Node | None], wanted: Sequence[bool]
) -> list[Node]:
    """Record the cotangents of the wanted inputs for those of a program's outputs."""
    chosen = [n for n, want in zip(inputs, wanted, strict=True) if want]
    with taping(chosen) as tape:
        outs = _record(program, inputs)
    known = pull(tape, [(o, c) for o, c in zip(outs, cts, strict=True) if c is not None])
    found = [known.get(id(n)) for n in chosen]
    return [fill_like(n, 0) if c is None else c for n, c in zip(chosen, found, strict=True)]


Flags = tuple[bool, ...]


@lru_cache(512)
def has_tangents(program: Program, given: Flags) -> Flags:
    """Say which outputs have tangents when the inputs `given` have."""
    with writing():
        tangents = [hole_for(a) if one else None for a, one in zip(program.inputs, given, strict=True)]
        return tuple([t is not None for t in pushed(program, holes(program.inputs), tangents)[1]])


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


def is_inexact(values: Sequence[Aval]) -> Flags:
    """Say which values have tangents."""
    return tuple([is_differentiable(a) for a in values])


# -- on the host -----------------------------------------------------------------------------------------

# Values of this many bytes or more are let go as soon as nothing in the body needs them.
_LARGE = 1 << 14
_SAME = ("alias", "barrier", "stop_gradient")


class Lines:
    """Python code that runs programs in a line: a statement an equation, no look-ups between them."""

    def __init__(self) -> None:
        self.code: list[str] = []
        self.globals: dict[str, Any] = {"asarray": np.asarray}
        self._names: dict[int, str] = {}
        self._count = 0

    def constant(self, value: Any) -> str:
        """Return the name of a global that holds `value`."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"k{len(self._names)}"
            self.globals[name] = value
        return name

    def add(self, indent: str, program: Program, inputs: Sequence[str]) -> list[str]:
        """Write a program down; returns the names of its outputs.

        Numbers, which ufuncs make of 0-d arrays, go on as they are; others than ufuncs get arrays.
        """
        names = dict(enumerate(inputs))
        base = len(inputs)
        roots = list(range(base))  # what is the same value under another number
        for k, eqn in enumerate(program.eqns, base):
            roots.append(roots[eqn.ins[0]] if eqn.prim.name in _SAME else k)
        keep = {roots[k] for k in program.outputs}
        last = dict.fromkeys(keep, len(program.eqns))  # the last equation that needs a value
        for k in range(len(program.eqns) - 1, -1, -1):
            if roots[base + k] == base + k and base + k in last:
                for i in program.eqns[k].ins:
                    last.setdefault(roots[i], k)
        for k, eqn in enumerate(program.eqns):
            if roots[base + k] != base + k or base + k not in last:
                continue
            ins = [roots[i] for i in eqn.ins]
            names[base + k] = self._equation(indent, program, eqn, [names[i] for i in ins])
            done = [i for i in dict.fromkeys(ins) if last[i] == k and self._is_large(program, i)]
            if done:
                self.code.append(f"{indent}del {', '.join([names[i] for i in done])}")
        return [names[roots[k]] for k in program.outputs]

    @staticmethod
    def _is_large(program: Program, number: int) -> bool:
        """Say whether a value is worth letting go: one that an equation makes, of some size."""
        k = number - len(program.inputs)
        if k < 0 or program.eqns[k].prim is fill:
            return False
        aval = program.eqns[k].aval
        return not isinstance(aval, Aval) or aval.nbytes >= _LARGE

    def _equation(self, indent: str, program: Program, eqn: Eqn, args: list[str]) -> str:
        prim, ins, params, _ = eqn
        if prim is fill:
            return self.constant(fill.host(**dict(params)))
        self._count += 1
        out = f"v{self._count}"
        if prim is project:
            self.code.append(f"{indent}{out} = {args[0]}[{dict(params)['index']}]")
            return out
        host = prim.host
        if not isinstance(host, np.ufunc):
            args = [
                a if getattr(program.aval(i), "ndim", 1) else f"asarray({a})"
                for a, i in zip(args, ins, strict=True)
            ]
        args += [f"{name}={self.constant(value)}" for name, value in params]
        self.code.append(f"{indent}{out} = {self.constant(host)}({', '.join(args)})")
        return out

    def function(self, args: Sequence[str]) -> Callable[..., Any]:
        """Return the function of these arguments with the code as its body."""
        text = "\n".join([f"def body({', '.join(args)}):", *self.code])
        scope = self.globals
        exec(compile(text, "<a body of nabla_array>", "exec"), scope)
        return scope["body"]


def numbered(prefix: str, count: int) -> list[str]:
    """Return that many names."""
    return [f"{prefix}{i}" for i in range(count)]


def joined(names: Sequence[str]) -> str:
    """Return names as the inside of a tuple, or as the left side of an assignment."""
    return "".join([f"{n}, " for n in names])


@lru_cache(512)
def is_large(program: Program) -> bool:
    """Say whether a program is worth a plan: blocks, threads, and results in the memory of dead values."""
    return any(
        isinstance(e.aval, Aval) and e.aval.nbytes >= LARGE for e in program.eqns if e.prim is not fill
    )


@lru_cache(512)
def _computed(program: Program) -> Program:
    """Return what a program computes: its inputs may be among its outputs, not among a schedule's."""
    made = [k for k in dict.fromkeys(program.outputs) if k >= len(program.inputs)]
    return Program(program.inputs, program.eqns, tuple(made))


def run_large(program: Program, state: list[Any], rest: Sequence[Any] = ()) -> list[Any]:
    """Run a program by its schedule; what nobody but the list `state` holds may be written over."""
    env = [*state, *rest, *[None] * len(program.eqns)]
    passed = {k: env[k] for k in program.outputs if k < len(program.inputs)}
    try:
        tiers.run(tiers.planned(_computed(program)), env, frozenset(range(len(state))))
    except StepFailed as failure:
        raise failure.error from None
    return [passed[k] if k in passed else env[k] for k in program.outputs]


@lru_cache(512)
def function_of(program: Program) -> Callable[..., tuple[Any, ...]]:
    """Return a program as a function of NumPy arrays to a sequence of arrays, or numbers for 0-d ones."""
    if is_large(program):
        return lambda *inputs: tuple(run_large(program, [], inputs))
    lines = Lines()
    args = numbered("a", len(program.inputs))
    outs = lines.add("    ", program, args)
    lines.code.append(f"    return ({joined(outs)})")
    return lines.function(args)
