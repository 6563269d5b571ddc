"""Tapes: what a thread records on top of some nodes, in order, for transforms to walk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any, NamedTuple

from .node import Node, note_hook
from .node import tapes as _running
from .primitive import Primitive


class Entry(NamedTuple):
    """A node and how it was made, which the node itself forgets when it is evaluated."""

    node: Node
    prim: Primitive
    inputs: tuple[Node, ...]
    params: dict[str, Any]


class Tape:
    """The nodes that were recorded on top of `sources`.

    Attributes
    ----------
    entries
        In the order of recording; they keep the nodes alive.
    members
        The ids of the sources and of all nodes in `entries`.
    derivative
        Whether it is for derivatives, from which `hidden` hides; else it must see everything.
    """

    __slots__ = ("derivative", "entries", "members", "sources", "thread")

    def __init__(self, sources: Iterable[Node], derivative: bool = True) -> None:
        self.sources = tuple(sources)
        self.members = {id(n) for n in self.sources}
        self.entries: list[Entry] = []
        self.thread = get_ident()
        self.derivative = derivative

    def __contains__(self, node: Node) -> bool:
        return id(node) in self.members

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


def _note(node: Node) -> None:
    me = get_ident()
    for tape in tuple(_running):
        if tape.thread == me:
            for i in node.inputs:
                if id(i) in tape.members:
                    tape.members.add(id(node))
                    assert node.prim is not None
                    tape.entries.append(Entry(node, node.prim, node.inputs, node.params))
                    break


note_hook.append(_note)


@contextmanager
def taping(sources: Iterable[Node], derivative: bool = True) -> Iterator[Tape]:
    """Run a tape for what this thread records on top of `sources` meanwhile."""
    tape = Tape(sources, derivative)
    _running.append(tape)
    try:
        yield tape
    finally:
        _running.remove(tape)


@contextmanager
def hidden() -> Iterator[list[Tape]]:
    """Hide from this thread's tapes for derivatives what it records meanwhile; gives these tapes."""
    me = get_ident()
    mine = [t for t in _running if t.thread == me and t.derivative]
    for tape in mine:
        tape.thread = -1
    try:
        yield mine
    finally:
        for tape in mine:
            tape.thread = me
