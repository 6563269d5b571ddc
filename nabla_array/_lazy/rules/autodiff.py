"""Derivatives of what a tape holds: tangents pushed forwards, cotangents pulled back.

Both are recorded with the strict primitives on physical nodes, so that they can be differentiated again,
batched and compiled like anything else. A tangent or cotangent that is zero is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..graph.aval import Aval, is_differentiable
from ..graph.node import Node, record
from ..graph.primitive import Primitive
from ..graph.program import is_literal
from ..graph.tape import Entry, Tape, pull_hook, push_hook, taping
from ..ops.creation import fill_like
from ..ops.structure import alias, project
from .levels import Levels, bind


def _no_rule(prim: Primitive) -> Exception:
    return NotImplementedError(
        f"{prim.name}: no derivative is known; stop_gradient on its operands makes its result a constant, "
        "custom_jvp or custom_vjp would give it one"
    )


def _times(tangent: Node, partial: Any, out: Node, entry: Entry) -> Node | None:
    """Return a tangent (or cotangent) times the partial derivative."""
    if partial is None:
        return None
    if partial == 1:
        return tangent
    if not callable(partial):
        return -tangent if partial == -1 else tangent * partial
    factor: Node = partial(out, *entry.inputs, **entry.params)
    if is_literal(tangent) and tangent.params["value"].value == 1:  # the cotangent of a number, at first
        return factor
    return tangent * factor


def _sum(parts: Sequence[Node | None]) -> Node | None:
    total = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


def push_entry(entry: Entry, tangents: Sequence[Any]) -> Any:
    """Return the tangent of an entry's result for those of its operands."""
    node, prim, inputs, params = entry
    if prim.role == "projection":
        return tangents[0][params["index"]]
    if not is_differentiable(node.aval):
        return None
    if prim.partials is not None:
        pairs = zip(tangents, prim.partials, strict=True)
        return _sum([_times(t, p, node, entry) for t, p in pairs if t is not None])
    if prim.jvp is not None:
        return prim.jvp(tangents, results_of(node), *inputs, **params)
    if prim.transpose is None:
        raise _no_rule(prim)
    return record(prim, tuple(_or_zero(t, i) for t, i in zip(tangents, inputs, strict=True)), params)


def _or_zero(tangent: Node | None, operand: Node) -> Node:
    if tangent is not None:
        return tangent
    return fill_like(operand, 0) if is_differentiable(operand.aval) else operand


def results_of(node: Node) -> Any:
    """Return a node, or the `project` nodes of one with several results."""
    if isinstance(node.aval, Aval):
        return node
    return tuple(project(node, index=i) for i in range(len(node.aval)))


def push(tape: Tape, tangents: Mapping[int, Any], outputs: Iterable[Node]) -> dict[int, Any]:
    """Push the tangents of a tape's sources (by the id of the node) to `outputs`; returns all of them."""
    known = dict(tangents)
    for entry in tape.below(outputs):
        given = [known.get(id(i)) for i in entry.inputs]
        if any(t is not None for t in given):
            out = push_entry(entry, given)
            if out is not None:
                known[id(entry.node)] = out
    return known


def pull_entry(entry: Entry, ct: Any, wanted: Sequence[bool]) -> Sequence[Any]:
    """Return the cotangents of the wanted operands of an entry for that of its result."""
    node, prim, inputs, params = entry
    if prim.partials is not None:
        pairs = zip(wanted, prim.partials, strict=True)
        return [_times(ct, p, node, entry) if want else None for want, p in pairs]
    if prim.transpose is not None:
        return prim.transpose(ct, wanted, *inputs, **params)
    if prim.jvp is None:
        raise _no_rule(prim)
    # Through the tangent, which is linear in each operand's: record it, and transpose that.
    tangents = [placeholder(i) if want else None for i, want in zip(inputs, wanted, strict=True)]
    with taping([t for t in tangents if t is not None], linear="transposed") as tape:
        out = prim.jvp(tangents, results_of(node), *inputs, **params)
    if isinstance(node.aval, Aval):
        out, ct = (out,), (ct,)
    seeds = [(o, c) for o, c in zip(out or (), ct, strict=False) if o is not None and c is not None]
    found = pull(tape, seeds)
    return [None if t is None else found.get(id(t)) for t in tangents]


def placeholder(node: Node) -> Node:
    """Return a new node like another, for a value that is to come."""
    return alias(fill_like(node, 0))


def pull(tape: Tape, cotangents: Sequence[tuple[Node, Node]]) -> dict[int, Any]:
    """Pull cotangents, given with the nodes that they belong to, back to the sources of a tape (by id)."""
    known: dict[int, Any] = {}
    for node, ct in cotangents:
        if node in tape:
            _accumulate(known, node, ct)
    for entry in reversed(tape.entries):
        ct = known.pop(id(entry.node), None)
        if ct is None:
            continue
        if entry.prim.role == "projection":
            _accumulate_one(known, entry, ct)
            continue
        if tape.linear and entry.prim.seen is not None:
            prim, params = entry.prim.seen(tape.moves(entry.inputs), entry.params, "linear")
            entry = entry._replace(prim=prim, params=params)
        wanted = [i in tape and is_differentiable(i.aval) for i in entry.inputs]
        if any(wanted):
            try:
                found = pull_entry(entry, ct, wanted)
            except NotImplementedError:  # by an operand that may be constant, as after stop_gradient
                varying = [want and varies(tape, i) for i, want in zip(entry.inputs, wanted, strict=True)]
                if varying == wanted:
                    raise
                wanted, found = varying, pull_entry(entry, ct, varying) if any(varying) else ()
            for i, want, c in zip(entry.inputs, wanted, found, strict=bool(found)):
                if want and c is not None:
                    _accumulate(known, i, c)
    return known


def varies(tape: Tape, node: Node) -> bool:
    """Say whether a node's tangent is not known to be zero."""
    varying = {id(n) for n in tape.sources}
    for entry in tape.below([node]):
        if is_differentiable(entry.node.aval):
            partials = entry.prim.partials or (1,) * len(entry.inputs)
            if any(p is not None and id(i) in varying for p, i in zip(partials, entry.inputs, strict=True)):
                varying.add(id(entry.node))
    return id(node) in varying


def _accumulate(known: dict[int, Any], node: Node, ct: Node) -> None:
    before = known.get(id(node))
    known[id(node)] = ct if before is None else before + ct


def _accumulate_one(known: dict[int, Any], entry: Entry, ct: Node) -> None:
    """Add the cotangent of one result to those of the node with several."""
    (whole,) = entry.inputs
    parts = list(known.get(id(whole), (None,) * len(whole.aval)))
    index = entry.params["index"]
    parts[index] = ct if parts[index] is None else parts[index] + ct
    known[id(whole)] = tuple(parts)


push_hook.append(push)
pull_hook.append(pull)


def replay(tape: Tape, values: Mapping[int, tuple[Node, Levels]]) -> dict[int, tuple[Node, Levels]]:
    """Record a tape's entries again on other sources, which may carry levels newer than the tape's."""
    known = dict(values)
    for node, prim, inputs, params in tape.entries:
        operands = [known.get(id(i)) or (i, ()) for i in inputs]
        known[id(node)] = bind(prim, operands, params)
    return known
