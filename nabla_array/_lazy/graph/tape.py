"""Tapes: what is recorded on top of some nodes, in order, for transforms to walk.

A node belongs to a tape by what it is computed from, whichever thread records it: a function that is
differentiated may hand its values to a pool of threads.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable, Iterable, Iterator
from contextlib import ContextDecorator, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from typing import Self

    from .node import Node
    from .primitive import Primitive

# The tapes that run, of all threads: they are told of every node with inputs meanwhile. Whoever goes through
# them takes a copy: another thread may start or end one.
tapes: list[Tape] = []


class Entry(NamedTuple):
    """A node and how it was made, which the node itself forgets when it is evaluated."""

    node: Node
    prim: Primitive
    inputs: tuple[Node, ...]
    params: dict[str, Any]


class Tape:
    """The nodes that were recorded on top of `sources`."""

    __slots__ = (
        *("derivative", "entries", "everything", "linear", "members", "numbers", "rule", "sources"),
        *("strict", "thread"),
    )

    def __init__(
        self,
        sources: Iterable[Node],
        # For derivatives, from which `hidden` hides; any other must see everything.
        derivative: bool = True,
        # It takes in too what its thread records that has nothing to do with the sources.
        everything: bool = False,
        # "transposed" or "replayed": what it holds is linear in the sources, so that no call is taken.
        linear: str = "",
        # What is recorded on it is a forward rule, which a tape further out is to take.
        rule: bool = False,
        strict: bool = False,
    ) -> None:
        self.sources = tuple(sources)
        self.members = {id(n) for n in self.sources}  # the ids of the sources and of all nodes in `entries`
        self.entries: list[Entry] = []  # in the order of recording; they keep the nodes alive
        self.thread = get_ident()  # that started it; the complement of that, below 0, while it is hidden
        self.derivative = derivative
        self.everything = everything
        self.linear = linear
        self.rule = rule
        # Whether ``float(x)`` and the like have made Python numbers of what a derivative depends on, and
        # whether it is an error to compute with these.
        self.numbers = False
        self.strict = strict

    def __enter__(self) -> Self:
        """Run, again if it has stopped."""
        tapes.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        tapes.remove(self)

    def __contains__(self, node: Node) -> bool:
        return id(node) in self.members

    def moves(self, nodes: Iterable[Node]) -> tuple[bool, ...]:
        """Say which nodes may have tangents."""
        return tuple([id(n) in self.members and n.aval.dtype.kind in "fc" for n in nodes])

    def below(self, outputs: Iterable[Node]) -> list[Entry]:
        """Return the entries that these nodes are computed from, in order."""
        needed = {id(n) for n in outputs}
        out = []
        for entry in reversed(self.entries):
            if id(entry.node) in needed:
                out.append(entry)
                needed.update([id(i) for i in entry.inputs])
        out.reverse()
        return out


# `push` and `pull` of `rules.autodiff`, which puts them here: the records of loops and branches ask for them
# and stand below it.
push_hook: list[Callable[..., dict[int, Any]]] = []
pull_hook: list[Callable[..., dict[int, Any]]] = []

# What marks the nodes that a thread records, innermost last.
marks: dict[int, list[Callable[[Node], None]]] = {}


def note(node: Node) -> None:
    """Tell the tapes that run of a new node; compiled code does the same (native/tapes.h)."""
    me = get_ident()
    prim, params, inputs = node.prim, node.params, node.inputs
    assert prim is not None
    for tape in tapes[::-1]:  # innermost first
        if tape.thread >= 0:
            everything = tape.everything and tape.thread == me
            for i in inputs:
                if id(i) in tape.members or everything:
                    if tape.derivative and not tape.linear and prim.is_constant:
                        break
                    tape.members.add(id(node))
                    tape.entries.append(Entry(node, prim, inputs, params))
                    if prim.seen is not None and tape.derivative and not tape.linear:
                        prim, params = prim.seen(tape.moves(inputs), params, "taken")
                    break
            if prim.seen is not None and tape.rule and tape.thread == me:
                prim, params = prim.seen((True,) * len(inputs), params, "deeper")
        elif prim.seen is not None and tape.thread == ~me:
            prim, params = prim.seen((True,) * len(inputs), params, "shallower")
    if me in marks:
        marks[me][-1](node)


def made_by(entry: Entry) -> None:
    """Tell the tapes that run that a node, of which they do not know, is the result of an operation."""
    for tape in tuple(tapes):
        if tape.thread >= 0 and entry.node not in tape and any(i in tape for i in entry.inputs):
            tape.members.add(id(entry.node))
            tape.entries.append(entry)


# A tape runs in a ``with`` block, for what is recorded on top of its sources there.
taping = Tape


class marking(ContextDecorator):
    """Give each node that this thread records in a ``with`` block to `mark`.

    With `all_steps` everything is recorded, what would be computed at once too.
    """

    def __init__(self, mark: Callable[[Node], None], all_steps: bool = True) -> None:
        self._mark = mark
        self._inert = Tape(()) if all_steps else None  # it makes whoever computes record, and is no thread's
        if self._inert is not None:
            self._inert.thread = ~0

    def __enter__(self) -> None:
        """Begin."""
        marks.setdefault(get_ident(), []).append(self._mark)
        if self._inert is not None:
            tapes.append(self._inert)

    def __exit__(self, *error: object) -> None:
        if self._inert is not None:
            tapes.remove(self._inert)
        me = get_ident()
        mine = marks[me]
        mine.pop()
        if not mine:
            del marks[me]


def is_taping() -> bool:
    """Say whether a tape of this thread's runs."""
    me = get_ident()
    return any(tape.thread == me for tape in tuple(tapes))


def derivatives() -> list[Tape]:
    """Return this thread's tapes for derivatives, outermost first, but for linear ones."""
    me = get_ident()
    return [t for t in tuple(tapes) if t.thread == me and t.derivative and not t.linear]


@contextmanager
def hidden(mine: Iterable[Tape]) -> Iterator[None]:
    """Hide from some of this thread's tapes what it records meanwhile."""
    me = get_ident()
    for tape in mine:
        tape.thread = ~me
    try:
        yield
    finally:
        for tape in mine:
            tape.thread = me


@contextmanager
def forgotten() -> Iterator[None]:
    """Let this thread's tapes for derivatives forget in the end what it records meanwhile.

    Until then they know it, so that what leaves the graph is noticed.
    """
    me = get_ident()
    lengths = [(t, len(t.entries)) for t in tuple(tapes) if t.thread == me and t.derivative]
    try:
        yield
    finally:
        for tape, n in lengths:
            tape.members.difference_update([id(entry.node) for entry in tape.entries[n:]])
            del tape.entries[n:]
