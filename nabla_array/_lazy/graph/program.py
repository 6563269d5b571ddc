"""A program is data: a pending subgraph in a line, with an equality that can be a cache key."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..native import compiled
from .aval import Aval
from .node import Node
from .primitive import Primitive, with_role

if TYPE_CHECKING:
    from .tape import Tape


class Eqn(NamedTuple):
    """One operation of a program; its inputs are numbers of values."""

    prim: Primitive
    ins: tuple[int, ...]
    params: tuple[tuple[str, Any], ...]
    aval: Any


class Program:
    """Equations over numbered values: the inputs first, then one value an equation.

    Two programs are equal when they do the same to inputs of the same avals. Inputs are numbered by
    identity, so ``a + a`` is not ``a + b``; literals compare bit for bit. `axes` keeps its axis classes
    (`schedule.axes`) once they are made.
    """

    __slots__ = ("_hash", "_results", "axes", "eqns", "inputs", "outputs")

    def __init__(self, inputs: tuple[Aval, ...], eqns: tuple[Eqn, ...], outputs: tuple[int, ...]) -> None:
        self.inputs = inputs
        self.eqns = eqns
        self.outputs = outputs
        self.axes: Any = None
        self._results: tuple[Any, ...] | None = None
        self._hash = hash((inputs, eqns, outputs))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and (self.inputs, self.eqns, self.outputs) == (
            other.inputs,
            other.eqns,
            other.outputs,
        )

    def __hash__(self) -> int:
        return self._hash

    def aval(self, number: int) -> Any:
        """Return the aval of a value."""
        n = len(self.inputs)
        return self.inputs[number] if number < n else self.eqns[number - n].aval

    @property
    def results(self) -> tuple[Any, ...]:
        """The avals of the outputs."""
        if self._results is None:
            self._results = tuple([self.aval(k) for k in self.outputs])
        return self._results

    def __repr__(self) -> str:
        named = dict.fromkeys([e.prim.name for e in self.eqns if e.ins])
        return f"<{' '.join(named) or 'nothing'}>"

    def __str__(self) -> str:
        names = [f"%{i}" for i in range(len(self.inputs) + len(self.eqns))]
        lines = [f"program({', '.join(f'{v}: {a}' for v, a in zip(names, self.inputs, strict=False))}):"]
        for name, eqn in zip(names[len(self.inputs) :], self.eqns, strict=True):
            args = [names[i] for i in eqn.ins] + params_told(eqn.params)
            lines.append(f"  {name}: {eqn.aval} = {eqn.prim.name}({', '.join(args)})")
            lines += [f"    {line}" for inner in programs_in(eqn) for line in str(inner).splitlines()]
        lines.append(f"  return {', '.join(names[i] for i in self.outputs)}")
        return "\n".join(lines)


def params_told(params: tuple[tuple[str, Any], ...]) -> list[str]:
    """Return params as they are printed; of a program, the names of its operations."""
    return [f"{k}={v!r}" if isinstance(v, Program) else f"{k}={v}" for k, v in params]


def programs_in(eqn: Eqn) -> list[Program]:
    """Return the programs among the params of an equation."""
    values = [v for _, value in eqn.params for v in (value if isinstance(value, tuple) else (value,))]
    return [v for v in values if isinstance(v, Program)]


def run(program: Program, args: Sequence[Any], apply: Callable[..., Any]) -> list[Any]:
    """Fold over a program: `apply(prim, inputs, params)` makes the value of each equation."""
    env = list(args)
    for eqn in program.eqns:
        env.append(apply(eqn.prim, [env[i] for i in eqn.ins], dict(eqn.params)))
    return [env[i] for i in program.outputs]


def is_literal(x: Node | Eqn) -> bool:
    """Say whether a node, or an equation, is a number that programs write out rather than take as input."""
    return x.prim is not None and x.prim.role == "literal"


def is_pending(node: Node) -> bool:
    """Say whether a node has no value yet, here or on an accelerator."""
    return node.value is None and (node.prim is None or node.prim.role != "resident")


def pending_order(roots: Sequence[Node], known: Container[Node] = ()) -> list[Node]:
    """Return the pending nodes below `roots`, inputs before users; none of `known`, nor what is below those.

    Nothing recurses.
    """
    order: list[Node] = []
    done: set[int] = set()
    stack = [(n, False) for n in reversed(roots)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
        elif id(node) not in done and is_pending(node) and node not in known:
            done.add(id(node))
            stack.append((node, True))
            stack.extend((i, False) for i in reversed(node.inputs))
    return order


def _refcounts(nodes: list[Node]) -> list[int]:
    return [sys.getrefcount(n) for n in nodes]


# What `_refcounts` says of an object that only the list holds; it depends on the interpreter.
_ALONE = _refcounts([object()])[0]  # type: ignore[list-item]


def held_outside(nodes: list[Node], order: list[Node]) -> list[bool]:
    """Say of each of `nodes` whether something besides the inputs of `order` holds it.

    Such a node of `order` is alive (an array, or another user, will want its value); such a leaf may
    not be written over.
    """
    counts = _refcounts(nodes)  # first: names below would count
    inside: dict[int, int] = {}
    for node in order:
        for i in node.inputs:
            inside[id(i)] = inside.get(id(i), 0) + 1
    return [count - inside.get(id(n), 0) > _ALONE for n, count in zip(nodes, counts, strict=True)]


class _Outside:
    """The nodes whose ids are not in a set."""

    def __init__(self, ids: set[int]) -> None:
        self.ids = ids

    def __contains__(self, node: Node) -> bool:
        return id(node) not in self.ids


def written(
    roots: list[Node], members: set[int] | None = None
) -> tuple[tuple[Any, ...] | None, list[Node], list[Node], list[int]]:
    """Return the pending nodes below `roots` as `pending_order` does, and what else evaluation wants of them.

    `members`: the ids of nodes; all others count as leaves, pending or not.

    Returns
    -------
    key
        What the program of these nodes depends on, and which of them are held outside: graphs with equal keys
        have equal programs. None where nothing is compiled: to make it would take as long as the program.
    order
        The pending nodes.
    leaves
        The inputs of the program that `linearize` makes of them.
    alone
        The places of the leaves that nothing else holds (`held_outside`).
    """
    if compiled is not None:
        return compiled.linearize(roots, with_role["resident"], with_role["literal"], members)
    order = pending_order(roots, () if members is None else _Outside(members))
    inside = set(order)
    leaves = [i for n in order for i in n.inputs if i not in inside and not is_literal(i)]
    leaves = [*dict.fromkeys(leaves)]
    return None, order, leaves, [k for k, more in enumerate(held_outside(leaves, order)) if not more]


def numbered(
    roots: list[Node], sources: list[Node], members: set[int] | None, own: set[int]
) -> tuple[tuple[Any, ...], list[Node], list[Node]] | None:
    """Return the pending nodes below `roots`, the leaves, and what else of `roots` and `sources` is given.

    Parameters
    ----------
    roots, sources, members
        As for `written`; where the sources are in the graph is part of the key.
    own
        The ids of what depends on the sources: the graph must not end there but at a source.

    Returns
    -------
    key
        Equal for equal graphs, with roots and sources at the same places.
    order
        The pending nodes.
    nodes
        These, the leaves, and the others; no literals.

    None where the graph ends at a value that was looked at, which is not in the key, or nothing is compiled.
    """
    if compiled is None:
        return None
    return compiled.number(roots, sources, with_role["resident"], with_role["literal"], members, own)


class Line:  # a named tuple's class takes long to make
    """A program made from nodes: the nodes that are its inputs, and the number of each node's value."""

    __slots__ = ("inputs", "numbers", "program")

    def __init__(self, program: Program, inputs: list[Node], numbers: list[int]) -> None:
        self.program, self.inputs, self.numbers = program, inputs, numbers


def linearize(order: Sequence[Node], outputs: Sequence[Node]) -> Line:
    """Write `order` down as a program with these outputs; equal operations become one equation."""
    entries = [(n, n.prim, n.inputs, n.params) for n in order]
    program, leaves, number = _numbered((), entries, outputs)
    return Line(program, leaves, [number[id(n)] for n in order])


def program_of(tape: Tape, outputs: Iterable[Node]) -> tuple[Program, list[Node], dict[int, int]]:
    """Return what a tape recorded as a program with these outputs, the nodes that it captured (its inputs
    after the tape's sources), and the number of each node's value by the node's id."""
    wanted = list(outputs)
    return _numbered(tape.sources, tape.below(wanted), wanted, aliases=False)


def _numbered(
    sources: tuple[Node, ...],
    entries: Sequence[tuple[Any, ...]],
    outputs: Iterable[Node],
    aliases: bool = True,
) -> tuple[Program, list[Node], dict[int, int]]:
    """Return a program of `entries` (each a node, its primitive, inputs and params), with or without aliases,
    its inputs after `sources`, and the number of each node's value by the node's id."""
    number = {id(n): k for k, n in enumerate(sources)}
    inside = {id(entry[0]) for entry in entries} | number.keys()
    leaves: list[Node] = []
    literals: dict[int, tuple[Any, ...]] = {}
    for _, _, inputs, _ in entries:
        for i in inputs:
            if is_literal(i) and id(i) not in inside:
                literals[id(i)] = i, i.prim, (), i.params
            elif id(i) not in inside and id(i) not in number:
                number[id(i)] = len(sources) + len(leaves)
                leaves.append(i)
    base = len(sources) + len(leaves)
    equations: dict[Eqn, int] = {}
    for node, prim, inputs, params in [*literals.values(), *entries]:
        ins = tuple([number[id(i)] for i in inputs])
        if aliases or prim.role != "alias":
            eqn = Eqn(prim, ins, tuple(params.items()), node.aval)
            number[id(node)] = equations.setdefault(eqn, base + len(equations))
        else:
            number[id(node)] = ins[0]
    avals = tuple([n.aval for n in (*sources, *leaves)])
    outs = tuple(dict.fromkeys([number[id(n)] for n in outputs]))
    return Program(avals, tuple(equations), outs), leaves, number
