"""Derivatives of small graphs that were met before.

Each call of a transformed function runs the function, since Python may take another branch. What is derived
of the graph that it records depends on nothing but that graph. So it is written down as a program, kept under
the graph key, and run by compiled code when the same graph comes again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from .._lazy.config import active
from .._lazy.cpu.blocks import DATA_ERRORS
from .._lazy.cpu.faults import heard_of
from .._lazy.cpu.loops import is_small
from .._lazy.graph.node import Node, tapes
from .._lazy.graph.program import is_literal, is_pending, linearize, written
from .._lazy.graph.tape import Tape
from .._lazy.run.claims import claims, lock
from .._lazy.run.devices import CPU, device_of
from .._lazy.run.hot import function_of
from .._namespace.core.array import from_value


class _Kept(NamedTuple):
    """A program of what was derived: which leaves of the graph it reads, and what is wanted of it.

    `wanted` has for each value the number of an output, ``~k`` for leaf k, or a literal.
    """

    run: Callable[..., Sequence[Any]]
    reads: list[int]
    wanted: list[int | Node]


# By the graph key, with where the roots and the sources are in the graph: None where nothing can be kept,
# False for a graph that was met once. Whoever reads or changes it holds the lock of the graph.
_kept: dict[Hashable, _Kept | bool | None] = {}
MOST = 512


def derived(
    how: str, tape: Tape, sources: Sequence[Node], roots: Sequence[Node], derive: Callable[[], list[Node]]
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
    """
    if tapes or active.settings["mode"] == "max" or any([device_of(n) != CPU for n in roots]):
        return derive()
    with lock:
        if claims:  # what another thread computes may be written over meanwhile
            return derive()
        key, order, leaves, _ = written(list(roots))
        number = {id(n): k for k, n in enumerate((*order, *leaves))}
        given = [n for n in dict.fromkeys(roots) if not (id(n) in number or is_literal(n))]
        number.update({id(n): k for k, n in enumerate(given, len(number))})
        leaves += given
        at_sources = [number.get(id(n)) for n in sources]
        looked_at = sum([id(n) in tape.members for n in leaves])
        if key is None or looked_at > sum([p is not None and p >= len(order) for p in at_sources]):
            return derive()  # the graph ends at a value that the function looked at
        places = [number.get(id(n), n) for n in roots]
        key = how, key, *[n.aval for n in (*given, *sources)], *places, *at_sources
        found = _kept.get(key, True)
        if type(found) is _Kept:
            try:
                outs = heard_of(order, found.run, *[leaves[k].value for k in found.reads])
            except DATA_ERRORS:  # what is recorded fails where somebody looks, with the operation's name
                return derive()
            return [_node(w, outs, leaves) for w in found.wanted]
        nodes = derive()
        if found is not None:
            if len(_kept) >= MOST:
                _kept.clear()
            _kept[key] = False if found is True else _written_down(tape, order, leaves, nodes)
        return nodes


def _node(wanted: int | Node, outs: Sequence[Any], leaves: Sequence[Node]) -> Node:
    if isinstance(wanted, Node):
        return wanted
    return from_value(outs[wanted])._node if wanted >= 0 else leaves[~wanted]


def _written_down(
    tape: Tape, order: Sequence[Node], leaves: Sequence[Node], nodes: Sequence[Node]
) -> _Kept | None:
    """Return the program of what was derived; None if it is large, or may depend on more than the graph."""
    if any(e.prim.seen is not None for e in tape.entries) or not all(map(is_pending, order)):
        return None  # a rule of the user's, or one that looked at values
    pending = [n for n in nodes if is_pending(n)]
    everything = written(pending)[1]
    program, inputs, numbers = linearize(everything, pending)
    place = {id(n): k for k, n in enumerate(leaves)}
    others = [n for n in nodes if not is_pending(n) and not is_literal(n)]
    if not is_small(program) or not all(id(n) in place for n in (*inputs, *others)):
        return None
    number = dict(zip(map(id, everything), numbers, strict=True))
    wanted: list[int | Node] = [
        n if is_literal(n) else program.outputs.index(number[id(n)]) if id(n) in number else ~place[id(n)]
        for n in nodes
    ]
    return _Kept(function_of(program), [place[id(n)] for n in inputs], wanted)
