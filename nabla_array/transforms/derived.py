"""Derivatives of small graphs that were met before.

Each call of a transformed function runs the function, since Python may take another branch. What is derived
of the graph that it records depends on nothing but that graph. So it is written down as a program, and kept
under the graph key. When the same graph comes again, compiled code runs the program at once. Where a tape
further out must see what is derived, the program is recorded as one call, which has derivatives itself.

Threads: who looks at a graph, or at what is kept, holds the lock of the graph. Deriving and running take no
lock; the nodes that they read are held.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._lazy.config import active
from .._lazy.cpu.calls import DATA_ERRORS
from .._lazy.cpu.faults import heard_of, names_heard
from .._lazy.cpu.loops import is_small
from .._lazy.graph import bodies
from .._lazy.graph.node import Node, record, tapes
from .._lazy.graph.primitive import Primitive
from .._lazy.graph.program import Eqn, Program, is_literal, is_pending, linearize, numbered, pending_order
from .._lazy.graph.tape import Tape
from .._lazy.ops.control import pulled, pushed
from .._lazy.ops.placement import in_use
from .._lazy.ops.structure import alias, project
from .._lazy.run.claims import claims, lock
from .._lazy.run.devices import CPU, device_of
from .._lazy.run.hot import Function
from .._namespace.core.array import from_value


class _Graph(NamedTuple):
    """What is derived of: a graph down to its leaves, or where a tape further out sees it, to its tape's end.

    Attributes
    ----------
    key
        Equal for equal graphs, of which the same is derived.
    order
        The pending nodes.
    nodes
        These, the leaves, and what else is given.
    is_seen
        Whether a tape further out sees it.
    """

    key: Hashable
    order: list[Node]
    nodes: list[Node]
    is_seen: bool


class _Kept(NamedTuple):
    """A program of what was derived: which nodes of the graph it reads, and what is wanted of it.

    `reads` has numbers of nodes, and constants, which `function` has already. `wanted` has for each value the
    number of an output, ``~k`` for node k, or a constant.
    """

    program: Program
    heard: tuple[str, ...]  # whose floating-point errors somebody may hear (`faults.names_heard`)
    function: Function
    reads: list[int | Node]
    wanted: list[int | Node]


# By the graph key, with where the roots and the sources are in the graph: None where nothing can be kept,
# False for a graph that was met once. Whoever reads or changes it holds the lock of the graph.
_kept: dict[Hashable, _Kept | bool | None] = {}
MOST = 512


def derived(
    how: Hashable,
    tape: Tape,
    sources: Sequence[Node],
    roots: Sequence[Node],
    derive: Callable[[], list[Node]],
    constants: Sequence[Node] = (),
) -> list[Node]:
    """Return what `derive` records of the graph below `roots`, or its values if it is small and was kept.

    Parameters
    ----------
    how
        Which derivatives these are: part of the key.
    tape
        It holds the graph, and has stopped.
    sources
        What is derived by.
    roots
        What is derived depends on the nodes below these alone.
    derive
        Records it; two calls for equal graphs must record the same.
    constants
        Where `derive` puts leaves that it makes, the same for equal graphs.
    """
    if not _may_be_kept(roots):
        return derive()
    with lock:
        graph = _graph(how, tape, sources, roots)
        found = None if graph is None else _kept.get(graph.key, True)
    if graph is None or found is None:
        return derive()
    if type(found) is not _Kept:
        # What is to be written down must not be evaluated on the way, however long it is.
        with nullcontext() if found else bodies.writing():
            nodes = derive()
        with lock:
            if len(_kept) >= MOST:
                _kept.clear()
            _kept[graph.key] = False if found is True else _written_down(tape, graph, nodes, constants)
        return nodes
    if graph.is_seen:
        reads = [k if isinstance(k, Node) else graph.nodes[k] for k in found.reads]
        call = record(kept_call, tuple(reads), {"program": found.program, "heard": found.heard})
        return [_recorded(w, call, graph.nodes) for w in found.wanted]
    values = [graph.nodes[k].value for k in found.reads if not isinstance(k, Node)]
    outs = found.function.quick(values)
    if outs is None:
        try:
            outs = heard_of(graph.order, found.function.run, *values)
        except DATA_ERRORS:  # what is recorded fails where somebody looks, with the operation's name
            return derive()
    return [_computed(w, outs, graph.nodes) for w in found.wanted]


def _may_be_kept(roots: Sequence[Node]) -> bool:
    """Say whether nobody else than derivatives must see each operation, and all is on the host."""
    for tape in tuple(tapes):
        if tape.thread < 0 or tape.linear or not tape.derivative:
            return False
    is_on_host = not in_use or all([device_of(n) == CPU for n in roots])
    return is_on_host and active.settings["mode"] != "max"


def _graph(how: Hashable, tape: Tape, sources: Sequence[Node], roots: Sequence[Node]) -> _Graph | None:
    """Return the graph below `roots`; None where it has no key, or ends at a value that was looked at."""
    if claims:  # what another thread computes may be written over meanwhile
        return None
    is_seen = False
    if tapes:
        ids = [*map(id, sources), *map(id, roots)]
        is_seen = any([not t.members.isdisjoint(ids) for t in tuple(tapes)])
    found = numbered(list(roots), list(sources), tape.members if is_seen else None, tape.members)
    if found is None:
        return None
    key, order, nodes = found
    return _Graph((how, is_seen, key), order, nodes, is_seen)


def _computed(wanted: int | Node, outs: Sequence[np.ndarray], nodes: Sequence[Node]) -> Node:
    if isinstance(wanted, Node):
        return wanted
    return from_value(outs[wanted])._node if wanted >= 0 else nodes[~wanted]


def _recorded(wanted: int | Node, call: Node, nodes: Sequence[Node]) -> Node:
    if isinstance(wanted, Node):
        return wanted
    return project(call, index=wanted) if wanted >= 0 else nodes[~wanted]


def _written_down(
    tape: Tape, graph: _Graph, nodes: Sequence[Node], constants: Sequence[Node]
) -> _Kept | None:
    """Return the program of what was derived; None if it is large, or may depend on more than the graph."""
    if claims or any(e.prim.seen is not None for e in tape.entries) or not all(map(is_pending, graph.order)):
        return None  # a rule of the user's, or one that looked at values
    # What is pending is computed with the rest; what a tape further out sees stays as it is.
    first = 0 if graph.is_seen else len(graph.order)
    place = {id(n): k for k, n in enumerate(graph.nodes[first:], first)}
    made = [n for n in nodes if is_pending(n) and id(n) not in place]
    ends = [*graph.nodes[len(graph.order) :], *constants]
    everything = pending_order(made, {*ends})
    line = linearize(everything, made)
    program = _written_out(line.program)
    others = [n for n in nodes if not is_pending(n) and not is_literal(n)]
    known = {*map(id, ends)}
    if not is_small(program) or not all(id(n) in known for n in (*line.inputs, *others)):
        return None
    number = dict(zip(map(id, everything), line.numbers, strict=True))
    outputs = line.program.outputs

    def wanted(n: Node) -> int | Node:
        if is_literal(n) or n in constants:
            return n
        return ~place[id(n)] if id(n) in place else outputs.index(number[id(n)])

    fixed = {k: n.value for k, n in enumerate(line.inputs) if id(n) not in place}
    reads = [place.get(id(n), n) for n in line.inputs]
    return _Kept(program, names_heard(everything), Function(program, fixed), reads, [*map(wanted, nodes)])


# -- a program as one operation --------------------------------------------------------------------------


@lru_cache(MOST)
def _function(program: Program) -> Callable[..., Sequence[np.ndarray]]:
    return Function(program).run


def _pull(
    ct: Sequence[Any], wanted: Sequence[bool], *inputs: Node, program: Program, heard: Any
) -> list[Node | None]:
    found = iter(pulled(program, [*map(alias, inputs)], ct, wanted))
    return [next(found) if want else None for want in wanted]


kept_call = Primitive(
    "derived",
    lambda *avals, program, heard: program.results,
    lambda *values, program, heard: tuple(_function(program)(*values)),
    batch=lambda params, size: {**params, "program": bodies.batched(params["program"], size)},
    jvp=lambda ts, out, *inputs, program, heard: pushed(program, [*map(alias, inputs)], ts)[1],
    transpose=_pull,
)


def _written_out(program: Program) -> Program:
    """Return a program with the equations of what it calls in the place of the calls."""
    base = len(program.inputs)
    equations: dict[Eqn, int] = {}

    def apply(eqn: Eqn, ins: list[Any]) -> Any:
        params = dict(eqn.params)
        if eqn.prim is kept_call:
            return through(params["program"], ins)
        if eqn.prim.role == "projection" and type(ins[0]) is list:
            return ins[0][params["index"]]
        return equations.setdefault(eqn._replace(ins=tuple(ins)), base + len(equations))

    def through(program: Program, inputs: Sequence[Any]) -> list[Any]:
        env = [*inputs]
        for eqn in program.eqns:
            env.append(apply(eqn, [env[i] for i in eqn.ins]))
        return [env[k] for k in program.outputs]

    outputs = through(program, range(base))
    return Program(program.inputs, tuple(equations), tuple(outputs))
