"""The gradient graphs of graphs: PopXL's autodiff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from .._lazy.graph.aval import Aval, is_differentiable
from .._lazy.graph.node import NO_PARAMS, Node, record
from .._lazy.graph.program import Eqn, Program
from .._lazy.graph.tape import Entry, Tape, taping
from .._lazy.ops.creation import fill_node
from .._lazy.ops.structure import alias, project
from .._lazy.rules.autodiff import pull
from .._lazy.rules.levels import only
from .._namespace.chapters.elementwise import add
from .._namespace.core.array import Array
from .graphs import (
    Callee,
    CallSiteInfo,
    Graph,
    GraphTensor,
    call_graph,
    graph_of,
    record_call,
    told,
    tuple_tree,
)

__all__ = [
    "ExpectedConnection",
    "ExpectedConnectionType",
    "GradGraphInfo",
    "autodiff",
]


class ExpectedConnectionType(Enum):
    """What an input or output of a gradient graph stands for.

    >>> from nabla_array.transforms import ExpectedConnectionType
    >>> list(ExpectedConnectionType)
    [<ExpectedConnectionType.Fwd: 'Fwd'>, <ExpectedConnectionType.FwdGrad: 'FwdGrad'>]
    """

    Fwd = "Fwd"
    """A value of the forward graph."""
    FwdGrad = "FwdGrad"
    """The gradient by a value of the forward graph."""


_FWD = ExpectedConnectionType.Fwd


class ExpectedConnection(NamedTuple):
    """What an input or output of a gradient graph has to do with which value of the forward graph.

    >>> import nabla_array as xp
    >>> from nabla_array.transforms import autodiff, trace
    >>> graph = trace(lambda x: xp.sin(x) * x, xp.ones(3))
    >>> connection = autodiff(graph).expected_inputs[0]
    >>> connection.connection_type.name, connection.fwd_tensor is graph.outputs[0]
    ('FwdGrad', True)
    """

    connection_type: ExpectedConnectionType
    fwd_tensor: GraphTensor

    def __repr__(self) -> str:
        return f"({self.connection_type.name}, {self.fwd_tensor!r})"


class _ByIdentity(Mapping[Any, Array]):
    """A mapping whose keys are arrays, which have no hash: the same object is the same key."""

    def __init__(self, pairs: Iterable[tuple[Any, Array]]) -> None:
        self._pairs: dict[int, tuple[Any, Array]] = {}
        for key, value in pairs:
            before = self._pairs.get(id(key))
            self._pairs[id(key)] = (key, value if before is None else add(before[1], value))

    def __getitem__(self, key: Any) -> Array:
        if id(key) not in self._pairs:
            raise KeyError(
                "not an array whose gradient was computed; keys are the same objects, not equal ones"
            )
        return self._pairs[id(key)][1]

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._pairs.values())

    def __len__(self) -> int:
        return len(self._pairs)


@dataclass(eq=False, repr=False)
class GradGraphInfo:
    """The gradient graph of a graph, and how the two belong together (see `autodiff`).

    Attributes
    ----------
    graph, forward_graph : Graph
        The gradient graph, and the graph that was differentiated.
    expected_inputs : tuple of ExpectedConnection
        For each input of the gradient graph what it takes: first the gradients by `grads_provided`, then
        values of the forward graph.
    expected_outputs : tuple of ExpectedConnection
        For each output the input of the forward graph by which it is the gradient, in the order of
        `grads_required`.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.transforms import autodiff, call, call_with_info, trace
    >>> graph = trace(lambda x: xp.sin(x) * x, xp.ones(3))
    >>> info = autodiff(graph)
    >>> info.expected_inputs[0], info.expected_outputs
    ((FwdGrad, out: float64[3]), ((FwdGrad, x: float64[3]),))
    >>> y, site = call_with_info(graph, xp.zeros(3))
    >>> call(info.graph, xp.ones(3), inputs_dict=info.inputs_dict(site))
    (array([0., 0., 0.]),)
    """

    graph: Graph
    forward_graph: Graph
    expected_inputs: tuple[ExpectedConnection, ...]
    expected_outputs: tuple[ExpectedConnection, ...]

    @property
    def inputs(self) -> tuple[GraphTensor, ...]:
        """The forward graph's values in `expected_inputs`."""
        return tuple(e.fwd_tensor for e in self.expected_inputs)

    @property
    def outputs(self) -> tuple[GraphTensor, ...]:
        """The forward graph's values in `expected_outputs`."""
        return tuple(e.fwd_tensor for e in self.expected_outputs)

    def inputs_dict(self, fwd_call_info: CallSiteInfo) -> dict[GraphTensor, Array]:
        """Return what the gradient graph needs of a call of the forward graph, by its own inputs.

        That is everything but the gradients, which come first by position.
        """
        _check_site("inputs_dict", fwd_call_info, self.forward_graph)
        pairs = zip(self.graph.inputs, self.expected_inputs, strict=True)
        return {own: fwd_call_info.graph_to_parent(tensor) for own, (kind, tensor) in pairs if kind is _FWD}

    def fwd_graph_ins_to_grad_parent_outs(self, grad_call_info: CallSiteInfo) -> dict[GraphTensor, Array]:
        """Return the gradients that a call of the gradient graph gave, by the forward graph's inputs."""
        _check_site("fwd_graph_ins_to_grad_parent_outs", grad_call_info, self.graph)
        return dict(zip(self.outputs, grad_call_info.outputs, strict=True))

    def fwd_parent_ins_to_grad_parent_outs(
        self, fwd_call_info: CallSiteInfo, grad_call_info: CallSiteInfo
    ) -> Mapping[Any, Array]:
        """Return the gradients that a call of the gradient graph gave, by the arrays that the forward
        graph was called with: the same objects. For one that was given twice it is the sum."""
        _check_site("fwd_parent_ins_to_grad_parent_outs", fwd_call_info, self.forward_graph)
        found = self.fwd_graph_ins_to_grad_parent_outs(grad_call_info)
        return _ByIdentity((fwd_call_info._given[t._number], gradient) for t, gradient in found.items())

    def __repr__(self) -> str:
        return (
            f"GradGraphInfo(graph={self.graph.name}, expected_inputs={list(self.expected_inputs)}, "
            f"expected_outputs={list(self.expected_outputs)})"
        )


def _check_site(function: str, info: CallSiteInfo, graph: Graph) -> None:
    if info.called_graph is not graph:
        raise TypeError(
            f"{function}: needs a call of graph {graph.name}, not one of {info.called_graph.name} "
            "(another graph, if the names are the same)"
        )


def autodiff(
    graph: Graph,
    grads_provided: Iterable[GraphTensor] | None = None,
    grads_required: Iterable[GraphTensor] | None = None,
    called_graphs_grad_info: Mapping[Graph, GradGraphInfo] | None = None,
    return_all_grad_graphs: bool = False,
) -> GradGraphInfo | dict[Graph, GradGraphInfo]:
    """Make the graph that computes the gradients of a graph.

    A graph that it calls, however often, gets one gradient graph, which the gradient graph calls.

    Parameters
    ----------
    graph : Graph
        The forward graph.
    grads_provided : iterable of GraphTensor, optional
        The outputs of `graph` for which gradients will be given; by default all of real or complex numbers.
    grads_required : iterable of GraphTensor, optional
        The inputs of `graph` by which gradients are wanted; by default all of real or complex numbers.
    called_graphs_grad_info : mapping of Graph to GradGraphInfo, optional
        Gradient graphs that exist already for graphs that `graph` calls.
    return_all_grad_graphs : bool
        Return the mapping of all these graphs to their gradient graphs, the new ones and those that were
        given, to be handed to `called_graphs_grad_info` another time.

    Returns
    -------
    GradGraphInfo or dict of Graph to GradGraphInfo

    Raises
    ------
    ValueError
        For a value that is no output, or input, of the graph.
    TypeError
        For values of integers and booleans.
    NotImplementedError
        For an operation without a derivative.

    >>> from nabla_array.transforms import autodiff, call, call_with_info, trace
    >>> square = trace(lambda x: x * x, xp.zeros(3))
    >>> info = autodiff(square)
    >>> info.expected_inputs
    ((FwdGrad, out: float64[3]), (Fwd, x: float64[3]))
    >>> y, site = call_with_info(square, xp.asarray([1.0, 2.0, 3.0]))
    >>> call(info.graph, xp.ones(3), inputs_dict=info.inputs_dict(site))
    (array([2., 4., 6.]),)
    """
    infos = dict(called_graphs_grad_info or {})
    for key, info in infos.items():
        if info.forward_graph is not key:
            raise ValueError(
                f"autodiff: called_graphs_grad_info has the gradient graph of {info.forward_graph.name} for "
                f"{key.name}"
            )
    provided = _chosen("grads_provided", "output", grads_provided, graph.outputs)
    required = _chosen("grads_required", "input", grads_required, graph.inputs)
    infos[graph] = _differentiate(graph, provided, required, infos)
    return infos if return_all_grad_graphs else infos[graph]


def _differentiable(tensors: Iterable[GraphTensor]) -> list[GraphTensor]:
    return [t for t in dict.fromkeys(tensors) if is_differentiable(t._aval)]


def _chosen(
    what: str, kind: str, chosen: Iterable[GraphTensor] | None, all_of_kind: Sequence[GraphTensor]
) -> list[GraphTensor]:
    if chosen is None:
        return _differentiable(all_of_kind)
    out: list[GraphTensor] = []
    for t in chosen:
        if not isinstance(t, GraphTensor) or t not in all_of_kind:
            raise ValueError(
                f"autodiff: {what} has {t!r}, which is no {kind} of the graph; it has {told(all_of_kind)}"
            )
        if not is_differentiable(t._aval):
            raise TypeError(f"autodiff: {what} has {t!r}, which has no gradient; a float would have one")
        if t in out:
            raise ValueError(f"autodiff: {what} has {t!r} twice")
        out.append(t)
    return out


class _Site(Callee):
    """A call in a graph that is being differentiated: cotangents pass by a call of the gradient graph."""

    def __init__(self, callee: Callee, info: GradGraphInfo) -> None:
        super().__init__(callee.graph, callee.program)
        self.info = info
        self.node: Node | None = None

    def pull(self, ct: Sequence[Node | None], wanted: Sequence[bool], inputs: Sequence[Node]) -> list[Any]:
        info, graph = self.info, self.graph
        assert self.node is not None
        place = {k: i for i, k in enumerate(self.program.outputs)}
        given = {k: c for k, c in zip(self.program.outputs, ct, strict=True) if c is not None}
        operands: list[Node] = []
        for kind, t in info.expected_inputs:
            if kind is ExpectedConnectionType.FwdGrad:
                operands.append(given.pop(t._number) if t._number in given else fill_node(t._aval, 0))
            elif t._number < len(inputs):
                operands.append(inputs[t._number])
            else:
                operands.append(project(self.node, index=place[t._number]))
        for k in given:
            raise ValueError(
                f"autodiff: the gradient graph given for {graph.name} takes no gradient of "
                f"{graph._tensor(k)!r}; one made without grads_provided would"
            )
        results = record_call(info.graph, operands, [t._number for t in info.graph.outputs])
        found = {t._number: r for t, r in zip(info.outputs, results, strict=True)}
        for k, want in enumerate(wanted):
            if want and k >= len(graph.inputs):
                raise ValueError(
                    f"autodiff: graph {graph.name} captures an array by which a gradient is wanted; make it "
                    "an argument"
                )
            if want and k not in found:
                raise ValueError(
                    f"autodiff: the gradient graph given for {graph.name} does not give the gradient by "
                    f"{graph.inputs[k]!r}; one made without grads_required would"
                )
        return [found[k] if want else None for k, want in enumerate(wanted)]


def _differentiate(
    graph: Graph,
    provided: Sequence[GraphTensor],
    required: Sequence[GraphTensor],
    infos: dict[Graph, GradGraphInfo],
) -> GradGraphInfo:
    """Make the gradient graph of a graph; adds those of the graphs that it calls to `infos`."""
    body = graph._body
    active = _active(body.program, [t._number for t in required], [t._number for t in provided])
    calls: dict[int, GradGraphInfo] = {}
    for k, called in _calls(body.program, active).items():
        if called not in infos:
            given, wanted = _differentiable(called.outputs), _differentiable(called.inputs)
            infos[called] = _differentiate(called, given, wanted, infos)
        calls[k] = infos[called]
    body.program = _with_all_results(body.program, active, calls)
    inputs = [alias(n) for n in body.examples]
    cts = [alias(fill_node(t._aval, 0)) for t in provided]
    with only(()), taping([*cts, *inputs], derivative=False) as tape:
        with taping([inputs[t._number] for t in required]) as differentiated:
            env, sites = _replay(body, inputs, calls)
        pairs = [(env[t._number], ct) for t, ct in zip(provided, cts, strict=True)]
        found = pull(differentiated, pairs)
        for site in sites:
            site.node = None  # nodes and sites would keep each other
    outs = [found.get(id(inputs[t._number])) or fill_node(t._aval, 0) for t in required]
    saved = _saved(body.program, tape, env, outs)
    tape.sources = (*cts, *[env[k] for k in saved])
    expected = [ExpectedConnection(ExpectedConnectionType.FwdGrad, t) for t in provided]
    expected += [ExpectedConnection(ExpectedConnectionType.Fwd, graph._tensor(k)) for k in saved]
    names = [_grad_name(t) for t in provided] + [graph._tensor(k).name.replace("%", "saved_") for k in saved]
    made = graph_of(
        f"grad_{graph.name}",
        tape,
        outs,
        tape.sources,
        (names, [_grad_name(t) for t in required]),
        (tuple_tree(len(expected)), tuple_tree(len(required))),
    )
    ends = {t._number for t in (*graph.inputs, *graph.outputs)}
    graph._kept.update(dict.fromkeys(k for k in saved if k not in ends))
    outputs = tuple(ExpectedConnection(ExpectedConnectionType.FwdGrad, t) for t in required)
    return GradGraphInfo(made, graph, tuple(expected), outputs)


def _grad_name(tensor: GraphTensor) -> str:
    return f"grad_{tensor.name}"


def _active(program: Program, required: Sequence[int], provided: Sequence[int]) -> set[int]:
    """Return the values that lie between what is required and what is provided."""
    base = len(program.inputs)
    dependent, useful = set(required), set(provided)
    for k, eqn in enumerate(program.eqns, base):
        if is_differentiable(eqn.aval) and not dependent.isdisjoint(eqn.ins):
            dependent.add(k)
    for k in range(base + len(program.eqns) - 1, base - 1, -1):
        if k in useful:
            useful.update(program.eqns[k - base].ins)
    return dependent & useful


def _calls(program: Program, active: set[int]) -> dict[int, Graph]:
    """Return what the calls among `active` call, with outputs for all results that are active too."""
    base = len(program.inputs)
    used: dict[int, list[int]] = {}
    for k, eqn in enumerate(program.eqns, base):
        if k in active and eqn.prim.role == "projection":
            used.setdefault(eqn.ins[0], []).append(dict(eqn.params)["index"])
    found = {}
    for k, eqn in enumerate(program.eqns, base):
        if k in used and eqn.prim is call_graph:
            callee = dict(eqn.params)["callee"]
            numbers = callee.program.outputs
            found[k] = callee.graph._giving_more([numbers[i] for i in used[k]])
    return found


def _with_all_results(program: Program, active: set[int], calls: Mapping[int, GradGraphInfo]) -> Program:
    """Return a program that does the same and has everything that derivatives ask for as a value of its own:
    what gradient graphs need of calls, and each result of operations that have several. Numbers stay."""
    base = len(program.inputs)
    eqns = list(program.eqns)
    projected = {(e.ins[0], dict(e.params)["index"]) for e in eqns if e.prim.role == "projection"}
    for k, eqn in enumerate(program.eqns, base):
        if k not in active or isinstance(eqn.aval, Aval):
            continue
        if k in calls:
            graph, given = dict(eqn.params)["callee"].graph, dict(eqn.params)["callee"].program.outputs
            needed = [t._number for kind, t in calls[k].expected_inputs if kind is _FWD]
            more = [n for n in needed if n >= len(graph.inputs) and n not in given]
            callee = Callee(graph, graph._body.giving([*given, *more]))
            avals = tuple(callee.program.aval(n) for n in callee.program.outputs)
            eqns[k - base] = eqn = eqn._replace(params=(("callee", callee),), aval=avals)
        for i, aval in enumerate(eqn.aval):
            if (k, i) not in projected:
                eqns.append(Eqn(project, (k,), (("index", i),), aval))
    return Program(program.inputs, tuple(eqns), program.outputs)


def _replay(
    body: Any, inputs: Sequence[Node], calls: Mapping[int, GradGraphInfo]
) -> tuple[list[Node], list[_Site]]:
    """Record a graph's program; returns all its values, and the calls that cotangents will pass."""
    env = [*inputs, *body.captured]
    sites = []
    for k, eqn in enumerate(body.program.eqns, len(env)):
        params = dict(eqn.params)
        if k in calls:
            sites.append(_Site(params["callee"], calls[k]))
            params = {"callee": sites[-1]}
        env.append(record(eqn.prim, tuple([env[i] for i in eqn.ins]), params))
        if k in calls:
            sites[-1].node = env[-1]
    return env, sites


def _saved(program: Program, tape: Tape, env: Sequence[Node], outs: Sequence[Node]) -> list[int]:
    """Return the numbers of the forward values that `outs` need, and leave on the tape what is no such value.

    What moves elements and changes none is not worth saving: it is done again.
    """
    base = len(program.inputs)
    numbers = {id(n): k for k, n in enumerate(env[:base]) if n in tape}
    results: dict[tuple[int, int], Node] = {}
    for k, eqn in enumerate(program.eqns, base):
        if eqn.prim.role == "projection":
            results[id(env[eqn.ins[0]]), dict(eqn.params)["index"]] = env[k]
        moves = eqn.prim.kind in ("view", "broadcast") and eqn.prim.role != "projection"
        if env[k] in tape and not (moves and isinstance(eqn.aval, Aval)):
            numbers[id(env[k])] = k
    entries = []
    for entry in tape.entries:
        if id(entry.node) in numbers:
            continue
        if entry.prim.role == "projection":  # a rule took a forward operation's results apart
            same = results.get((id(entry.inputs[0]), entry.params["index"]))
            if same is not None:
                entry = Entry(entry.node, alias, (same,), NO_PARAMS)
        entries.append(entry)
    tape.entries = entries
    used = {id(i) for entry in tape.below(outs) for i in entry.inputs} | {id(n) for n in outs}
    return [k for i, k in numbers.items() if i in used]
