"""Functions as graphs that call graphs: PopXL's interface (graph_gradients.py differentiates them)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._lazy.graph.aval import Aval, aval_of
from .._lazy.graph.bodies import batched
from .._lazy.graph.node import NO_PARAMS, Node, record
from .._lazy.graph.primitive import Primitive, as_value
from .._lazy.graph.program import Program, is_literal, program_of, run
from .._lazy.graph.tape import Entry, Tape, taping
from .._lazy.ops.control import pulled, pushed
from .._lazy.ops.creation import fill_node
from .._lazy.ops.structure import alias, project
from .._lazy.rules.levels import Levels, bind, only
from .._namespace.core.array import Array, current, from_value
from .calls import array_leaf, parameters
from .captured import Capturing
from .pytree import TreeDef, tree_flatten, tree_unflatten
from .shapes import ShapeDtypeStruct
from .watching import Watch, is_watched, watched

Value = tuple[Node, Levels]

__all__ = [
    "CallSiteInfo",
    "Graph",
    "GraphTensor",
    "call",
    "call_with_info",
    "trace",
]


# -- graphs --------------------------------------------------------------------------------------------


class GraphTensor:
    """A value of a graph, which has a name, a shape and a dtype, and elements only in a call.

    Two are equal when they are the same object, so they can be keys.

    Attributes
    ----------
    graph : Graph
        The graph that it belongs to.
    name : str
        Its name in the printed graph.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.transforms import trace
    >>> graph = trace(lambda x: xp.sin(x) * x, xp.ones(3))
    >>> graph.inputs[0], graph.inputs[0].shape, graph.inputs[0].graph is graph
    (x: float64[3], (3,), True)
    """

    __slots__ = ("__weakref__", "_aval", "_number", "graph", "name")

    def __init__(self, graph: Graph, number: int, name: str) -> None:
        self.graph = graph
        self.name = name
        self._number = number
        self._aval: Aval = graph._body.program.aval(number)

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return self._aval.shape

    @property
    def dtype(self) -> np.dtype:
        """Data type of the elements."""
        return self._aval.dtype

    def __repr__(self) -> str:
        return f"{self.name}: {self._aval}"


@dataclass(eq=False)
class _Body:
    """What a graph computes."""

    program: Program  # with the graph's inputs, then `captured`; autodiff adds values, whose numbers stay
    captured: Sequence[Node]
    examples: Sequence[Node]  # like the inputs: on top of them it can be recorded again
    _giving: dict[tuple[int, ...], Program] = field(default_factory=dict)

    def giving(self, numbers: Iterable[int]) -> Program:
        """Return the program with these outputs."""
        key = tuple(numbers)
        found = self._giving.get(key)
        if found is None or found.eqns is not self.program.eqns:
            found = self._giving[key] = Program(self.program.inputs, self.program.eqns, key)
        return found


class Graph:
    """A function's computation for arguments of certain shapes and dtypes (see `trace`); prints readably.

    Attributes
    ----------
    name : str
        The function's.
    inputs, outputs : tuples of GraphTensor
        One for each array among the arguments, and among what the function returned.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.transforms import trace
    >>> graph = trace(lambda x: xp.sin(x) * x, xp.ones(3))
    >>> print(graph)
    graph <lambda>(x: float64[3]):
      %1: float64[3] = sin(x)
      out: float64[3] = mul(%1, x)
      return out
    """

    def __init__(
        self,
        name: str,
        body: _Body,
        outputs: Sequence[int],
        names: tuple[Sequence[str], Sequence[str]],
        trees: tuple[TreeDef, TreeDef],
    ) -> None:
        self.name = name
        self._body = body
        self._in_tree, self._out_tree = trees
        # Values that a gradient graph wants besides inputs and outputs.
        self._kept: dict[int, None] = {}
        self._variants: dict[tuple[int, ...], Graph] = {}
        self._tensors: dict[int, GraphTensor] = {}
        self._names: set[str] = set()
        self.inputs = tuple(self._tensor(k, n) for k, n in enumerate(names[0]))
        self.outputs = tuple(self._tensor(k, n) for k, n in zip(outputs, names[1], strict=True))

    @property
    def called_graphs(self) -> tuple[Graph, ...]:
        """The graphs that this one calls, each once."""
        callees = (dict(e.params)["callee"] for e in self._body.program.eqns if e.prim is call_graph)
        return tuple(dict.fromkeys(c.graph for c in callees))

    def _giving_more(self, numbers: Iterable[int]) -> Graph:
        """Return the graph itself, or one that has these values as further outputs."""
        own = [t._number for t in self.outputs]
        key = tuple(k for k in numbers if k not in own)
        if not key:
            return self
        if key not in self._variants:
            names = [t.name for t in self.inputs], [self._tensor(k).name for k in (*own, *key)]
            trees = self._in_tree, tuple_tree(len(names[1]))
            self._variants[key] = Graph(self.name, self._body, (*own, *key), names, trees)
        return self._variants[key]

    def _tensor(self, number: int, name: str | None = None) -> GraphTensor:
        if number not in self._tensors:
            name = name or f"%{number}"
            while name in self._names:
                name += "_"
            self._names.add(name)
            self._tensors[number] = GraphTensor(self, number, name)
        return self._tensors[number]

    def _all_graphs(self) -> list[Graph]:
        found = [self]
        for graph in found:  # which grows meanwhile
            found += [g for g in graph.called_graphs if g not in found]
        return found

    def __repr__(self) -> str:
        return f"<graph {self.name}({told(self.inputs)}) -> {told(self.outputs)}>"

    def __str__(self) -> str:
        names: dict[Graph, str] = {}
        for graph in self._all_graphs():
            taken = sum(g.name == graph.name for g in names)
            names[graph] = f"{graph.name}_{taken + 1}" if taken else graph.name
        return "\n\n".join(g._text(names) for g in names)

    def _text(self, graphs: Mapping[Graph, str]) -> str:
        """Print one graph: literals where they are used, and results of a call beside the call."""
        program = self._body.program
        base = len(program.inputs)
        names = {k: f"%{k}" for k in range(base + len(program.eqns))}
        names |= {k: t.name for k, t in self._tensors.items()}
        lines = [f"graph {graphs[self]}({told(self.inputs)}):"]
        lines += [f"  captured {names[k]}: {program.inputs[k]}" for k in range(len(self.inputs), base)]
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
                lines.append(f"  {', '.join(calls[k])} = call {graphs[callee]}({inputs})")
            elif not is_literal(eqn) and not (eqn.prim.role == "projection" and eqn.ins[0] in calls):
                given += [f"{p}={v}" for p, v in params.items()]
                lines.append(f"  {names[k]}: {eqn.aval} = {eqn.prim.name}({', '.join(given)})")
        lines.append(f"  return {', '.join(names[t._number] for t in self.outputs)}")
        return "\n".join(lines)


def trace(f: Callable[..., Any], *example_args: Any) -> Graph:
    """Run a function once, and return the graph of what it computes.

    Parameters
    ----------
    f : callable
        Of arrays, numbers and pytrees of these; it returns such too. A graph that it calls is called by the
        graph, not written into it. Arrays that it captures are constants; what it does in place to its
        arguments nobody outside sees.
    *example_args : pytrees of arrays
        The graph is for arguments of their shapes and dtypes; `ShapeDtypeStruct` will do.

    Returns
    -------
    Graph

    Raises
    ------
    TypeError
        If the function looks at a value that depends on its arguments (``if x > 0``, ``float(x)``), or writes
        to an array that it captures.
    ValueError
        If it captures an array that is batched by a `vmap` around.

    >>> from nabla_array.transforms import trace
    >>> def linear(x, W, b):
    ...     return x @ W + b
    >>> print(trace(linear, xp.zeros((4, 3)), xp.zeros((3, 2)), xp.zeros(2)))
    graph linear(x: float64[4, 3], W: float64[3, 2], b: float64[2]):
      %3: float64[4, 2] = matmul(x, W)
      %4: float64[4, 2] = broadcast(b, shape=(4, 2), axes=(1,))
      out: float64[4, 2] = add(%3, %4)
      return out
    """
    leaves, in_tree = tree_flatten(example_args)
    examples = [_example(x) for x in leaves]
    sources = [alias(n) for n in examples]
    watch = Watch(_LOOKED)
    # Without the vmaps that run: a graph knows of no batch.
    with Capturing(f) as scope, only(()), watched(watch), taping(sources, derivative=False) as tape:
        watch.tape = tape
        result = f(*tree_unflatten(in_tree, [Array(n) for n in sources]))
        outs, out_tree = tree_flatten(result)
        arrays = [array_leaf("trace", x) for x in outs]
        nodes = [current(x) for x in arrays]
    if scope.line:
        raise TypeError(
            f"trace: the function writes to an array that it captures ({scope.line}): make it an argument, "
            "and return what it becomes"
        )
    if any(x._levels for x in arrays):
        raise ValueError(
            "trace: the function captures an array that is batched by a vmap around it; make it an argument"
        )
    name = getattr(f, "__name__", type(f).__name__)
    names = _input_names(f, in_tree), _paths("out", out_tree)
    return graph_of(name, tape, nodes, examples, names, (in_tree, out_tree))


def _example(leaf: Any) -> Node:
    """Return a value of the shape and dtype that the array's user sees: its own, unless it is batched."""
    if isinstance(leaf, ShapeDtypeStruct):
        return fill_node(aval_of(leaf.shape, leaf.dtype), 0)
    x = array_leaf("trace", leaf)
    return fill_node(aval_of(x.shape, x.dtype), 0) if x._levels else current(x)


def graph_of(
    name: str,
    tape: Tape,
    outputs: Sequence[Node],
    examples: Sequence[Node],
    names: tuple[Sequence[str], Sequence[str]],
    trees: tuple[TreeDef, TreeDef],
) -> Graph:
    """Make a graph of what a tape recorded for these outputs; its sources are the inputs."""
    nodes = []
    for node in outputs:
        if node not in tape:  # a constant: an entry makes it a value of the program
            out = alias(node)
            tape.entries.append(Entry(out, alias, (node,), NO_PARAMS))
            tape.members.add(id(out))
            node = out
        nodes.append(node)
    program, captured, numbers = program_of(tape, nodes)
    return Graph(name, _Body(program, captured, examples), [numbers[id(n)] for n in nodes], names, trees)


_LOOKED = (
    "trace: the function looks at a value ({}), which is not there while its graph is made: xp.where chooses "
    "without looking"
)


def told(tensors: Iterable[GraphTensor]) -> str:
    return ", ".join(map(repr, tensors))


def _input_names(f: Callable[..., Any], tree: TreeDef) -> list[str]:
    own = [p.name for p in parameters(f) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    own += [f"arg{i}" for i in range(len(own), len(tree.children))]
    return [name for start, child in zip(own, tree.children, strict=False) for name in _paths(start, child)]


def _paths(start: str, tree: TreeDef) -> list[str]:
    """Return a name for each leaf: how one gets there from `start`."""
    if tree.type is None:
        return [start]
    keys = tree.meta if tree.type is dict else range(len(tree.children))
    steps = zip(keys, tree.children, strict=True)
    return [name for key, child in steps for name in _paths(f"{start}[{key!r}]", child)]


# -- calls ---------------------------------------------------------------------------------------------


class Callee:
    """What a call calls: a program of the graph's values. Equal ones do the same."""

    def __init__(self, graph: Graph, program: Program) -> None:
        self.graph = graph
        self.program = program

    def pull(self, ct: Sequence[Any], wanted: Sequence[bool], inputs: Sequence[Node]) -> list[Any]:
        """Return the cotangents of the wanted inputs for those of a call's results."""
        found = iter(pulled(self.program, [alias(n) for n in inputs], ct, wanted))
        return [next(found) if want else None for want in wanted]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Callee) and self.program == other.program

    def __hash__(self) -> int:
        return hash(self.program)

    def __repr__(self) -> str:
        return self.graph.name


def _call_aval(*avals: Aval, callee: Callee) -> tuple[Aval, ...]:
    if avals != callee.program.inputs:
        raise ValueError(f"call_graph: {callee.graph.name} takes {callee.program.inputs}, not {avals}")
    return callee.program.results


def _call_host(*values: np.ndarray, callee: Callee) -> tuple[np.ndarray, ...]:
    return tuple(run(callee.program, values, lambda prim, ins, params: as_value(prim.host(*ins, **params))))


def _call_batch(params: dict[str, Any], size: int) -> dict[str, Any]:
    program = batched(params["callee"].program, size)
    n, outputs = len(program.inputs), program.outputs
    names = [""] * n, [""] * len(outputs)
    body = _Body(program, (), [fill_node(a, 0) for a in program.inputs])
    trees = tuple_tree(n), tuple_tree(len(outputs))
    return {"callee": Callee(Graph(f"batched_{params['callee']}", body, outputs, names, trees), program)}


def tuple_tree(n: int) -> TreeDef:
    return tree_flatten((0,) * n)[1]


# A call in a graph. Elsewhere calls record what the graph does (`_flat`), so that it fuses with the rest.
call_graph = Primitive(
    "call_graph",
    _call_aval,
    _call_host,
    batch=_call_batch,
    jvp=lambda ts, out, *inputs, callee: pushed(callee.program, [alias(n) for n in inputs], ts)[1],
    transpose=lambda ct, wanted, *inputs, callee: callee.pull(ct, wanted, inputs),
)


def _flat(prim: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Record an operation of a graph, and what a call calls, on values that may be batched."""
    if prim is call_graph:
        return run(params["callee"].program, operands, _flat)
    if prim.role == "projection" and type(operands[0]) is list:
        return operands[0][params["index"]]
    return bind(prim, operands, params)


def _invoke(graph: Graph, values: Sequence[Value], numbers: Iterable[int]) -> dict[int, Value]:
    """Call a graph for the values of these numbers."""
    wanted = list(dict.fromkeys(numbers))
    if is_watched(_LOOKED) and not any(levels for _, levels in values):
        results = [(n, ()) for n in record_call(graph, [n for n, _ in values], wanted)]
    else:
        captured = [(n, ()) for n in graph._body.captured]
        results = run(graph._body.giving(wanted), [*values, *captured], _flat)
    return dict(zip(wanted, results, strict=True))


def record_call(graph: Graph, inputs: Sequence[Node], numbers: Sequence[int]) -> list[Node]:
    callee = Callee(graph, graph._body.giving(numbers))
    node = record(call_graph, (*inputs, *graph._body.captured), {"callee": callee})
    return [project(node, index=i) for i in range(len(numbers))]


def call(graph: Graph, *args: Any, inputs_dict: Mapping[GraphTensor, Any] | None = None) -> Any:
    """Call a graph.

    Within a function that is traced, this becomes a call in its graph.

    Parameters
    ----------
    graph : Graph
        What to call.
    *args : pytrees of arrays
        As the function that was traced takes them. Python scalars take the dtype that is wanted.
    inputs_dict : mapping of GraphTensor to arrays, optional
        Inputs of the graph that `args`, which then come first, do not give.

    Returns
    -------
    pytree of arrays
        What the function would return; a tuple for a gradient graph.

    Raises
    ------
    ValueError
        For too many or too few inputs, and for other shapes than the graph's.
    TypeError
        For other dtypes.

    >>> from nabla_array.transforms import call, trace
    >>> square = trace(lambda x: x * x, xp.zeros(3))
    >>> call(square, xp.asarray([1.0, 2.0, 3.0]))
    array([1., 4., 9.])
    """
    _, arrays = _inputs("call", graph, args, inputs_dict)
    values = [(current(x), x._levels) for x in arrays]
    found = _invoke(graph, values, [t._number for t in graph.outputs])
    return tree_unflatten(graph._out_tree, [Array(*found[t._number]) for t in graph.outputs])


def call_with_info(
    graph: Graph, *args: Any, inputs_dict: Mapping[GraphTensor, Any] | None = None
) -> tuple[Any, CallSiteInfo]:
    """Call a graph, and return information about the call too, which gradient graphs need.

    Parameters
    ----------
    graph, *args, inputs_dict
        As for `call`.

    Returns
    -------
    (pytree of arrays, CallSiteInfo)

    >>> from nabla_array.transforms import call_with_info, trace
    >>> square = trace(lambda x: x * x, xp.zeros(3))
    >>> y, info = call_with_info(square, xp.asarray([1.0, 2.0, 3.0]))
    >>> info.outputs[0] is y, info.called_graph is square
    (True, True)
    """
    given, arrays = _inputs("call_with_info", graph, args, inputs_dict)
    values = [(current(x), x._levels) for x in arrays]
    found = _invoke(graph, values, [*(t._number for t in graph.outputs), *graph._kept])
    outputs = tuple(Array(*found[t._number]) for t in graph.outputs)
    info = CallSiteInfo(graph, tuple(arrays), outputs, given, found | dict(enumerate(values)))
    return tree_unflatten(graph._out_tree, outputs), info


@dataclass(eq=False, repr=False)
class CallSiteInfo:
    """A call of a graph (see `call_with_info`).

    Attributes
    ----------
    called_graph : Graph
        The graph.
    inputs, outputs : tuples of arrays
        What it was given, and what it gave: one array for each input and output of the graph.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.transforms import call_with_info, trace
    >>> graph = trace(lambda x: xp.sin(x) * x, xp.ones(3))
    >>> y, info = call_with_info(graph, xp.zeros(3))
    >>> info.inputs, info.graph_to_parent(graph.outputs[0])
    ((array([0., 0., 0.]),), array([0., 0., 0.]))
    """

    called_graph: Graph
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    _given: Sequence[Any]
    _known: dict[int, Value]

    def graph_to_parent(self, tensor: GraphTensor) -> Array:
        """Return the array that a value of the graph had in this call; ValueError for another graph's.

        Inputs, outputs, and what a gradient graph made before the call needs are known; anything else is
        computed again when somebody looks at it.
        """
        graph = self.called_graph
        if not isinstance(tensor, GraphTensor) or tensor.graph is not graph:
            raise ValueError(f"graph_to_parent: {tensor!r} is no value of graph {graph.name}")
        if tensor._number not in self._known:
            values = [self._known[k] for k in range(len(graph.inputs))]
            more = _invoke(graph, values, [tensor._number, *graph._kept])
            self._known = more | self._known
        return Array(*self._known[tensor._number])

    def __repr__(self) -> str:
        return f"<call of graph {self.called_graph.name}>"


def _inputs(
    function: str, graph: Graph, args: Sequence[Any], more: Mapping[GraphTensor, Any] | None
) -> tuple[list[Any], list[Array]]:
    """Return what a call gives for each input of the graph: as it was given, and as an array."""
    if not isinstance(graph, Graph):
        raise TypeError(f"{function}: needs a graph, which trace makes of a function, not {graph!r}")
    children = graph._in_tree.children
    if len(args) > len(children):
        raise ValueError(
            f"{function}: graph {graph.name} takes {len(children)} arguments ({told(graph.inputs)}), "
            f"not {len(args)}"
        )
    leaves: list[Any] = []
    for i, (arg, wanted) in enumerate(zip(args, children, strict=False)):
        found, tree = tree_flatten(arg)
        if tree != wanted:
            raise ValueError(
                f"{function}: argument {i} of graph {graph.name} has the structure {tree}, not {wanted}"
            )
        leaves += found
    given = dict(zip(graph.inputs, leaves, strict=False))
    for tensor, value in (more or {}).items():
        if tensor not in graph.inputs:
            raise ValueError(f"{function}: {tensor!r} in inputs_dict is no input of graph {graph.name}")
        if tensor in given:
            raise ValueError(f"{function}: {tensor!r} is given twice: by position and in inputs_dict")
        given[tensor] = value
    missing = [t for t in graph.inputs if t not in given]
    if missing:
        raise ValueError(
            f"{function}: graph {graph.name} takes ({told(graph.inputs)}); missing: {told(missing)}"
        )
    arrays = [_fitting(function, t, given[t]) for t in graph.inputs]
    return [
        given[t] if isinstance(given[t], Array | np.ndarray) else x
        for t, x in zip(graph.inputs, arrays, strict=True)
    ], arrays


def _fitting(function: str, tensor: GraphTensor, leaf: Any) -> Array:
    weak = type(leaf) in (bool, int, float, complex) and np.result_type(tensor.dtype, leaf) == tensor.dtype
    x = from_value(np.asarray(leaf, tensor.dtype)) if weak else array_leaf(function, leaf)
    if (x.shape, x.dtype) != (tensor.shape, tensor.dtype):
        error = TypeError if x.dtype != tensor.dtype else ValueError
        own = aval_of(x.shape, x.dtype)
        raise error(f"{function}: input {tensor!r} of graph {tensor.graph.name} was given {own}")
    return x
