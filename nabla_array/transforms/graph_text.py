"""How graphs are printed, and what their values are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .._lazy.graph.program import is_literal
from .calls import parameters
from .pytree import TreeDef

if TYPE_CHECKING:
    from .graphs import Graph, GraphTensor


def told(tensors: Iterable[GraphTensor]) -> str:
    return ", ".join(map(repr, tensors))


def text(graph: Graph, graph_names: Mapping[Graph, str]) -> str:
    """Print one graph: literals are written where they are used, and results of a call beside the call."""
    program = graph._body.program
    base = len(program.inputs)
    names = {k: f"%{k}" for k in range(base + len(program.eqns))}
    names |= {k: t.name for k, t in graph._tensors.items()}
    lines = [f"graph {graph_names[graph]}({told(graph.inputs)}):"]
    lines += [f"  captured {names[k]}: {program.inputs[k]}" for k in range(len(graph.inputs), base)]
    calls: dict[int, list[str]] = {}
    for k, eqn in enumerate(program.eqns, base):
        if "callee" in dict(eqn.params):
            calls[k] = ["_"] * len(eqn.aval)
        elif eqn.prim.role == "projection" and eqn.ins[0] in calls:
            calls[eqn.ins[0]][dict(eqn.params)["index"]] = f"{names[k]}: {eqn.aval}"
        elif is_literal(eqn):
            names[k] = str(dict(eqn.params)["value"])
    for k, eqn in enumerate(program.eqns, base):
        params = dict(eqn.params)
        given = [names[i] for i in eqn.ins]
        if k in calls:
            callee = params["callee"].graph
            inputs = ", ".join(given[: len(callee.inputs)])
            lines.append(f"  {', '.join(calls[k])} = call {graph_names[callee]}({inputs})")
        elif not is_literal(eqn) and not (eqn.prim.role == "projection" and eqn.ins[0] in calls):
            given += [f"{p}={v}" for p, v in params.items()]
            lines.append(f"  {names[k]}: {eqn.aval} = {eqn.prim.name}({', '.join(given)})")
    lines.append(f"  return {', '.join(names[t._number] for t in graph.outputs)}")
    return "\n".join(lines)


def input_names(f: Callable[..., Any], tree: TreeDef) -> list[str]:
    own = [p.name for p in parameters(f) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    own += [f"arg{i}" for i in range(len(own), len(tree.children))]
    return [name for start, child in zip(own, tree.children, strict=False) for name in paths(start, child)]


def paths(start: str, tree: TreeDef) -> list[str]:
    """Return a name for each leaf: how one gets there from `start`."""
    if tree.type is None:
        return [start]
    keys = tree.meta if tree.type is dict else range(len(tree.children))
    steps = zip(keys, tree.children, strict=True)
    return [name for key, child in steps for name in paths(f"{start}[{key!r}]", child)]
