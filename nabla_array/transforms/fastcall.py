"""A call like one before as one Python function: match the arguments, run the program, build the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from .._lazy.config import config
from .._lazy.cpu.calls import StepFailed
from .._lazy.cpu.loops import is_small
from .._lazy.graph.aval import Aval
from .._lazy.graph.node import NO_PARAMS, Node
from .._lazy.graph.program import Program
from .._lazy.ops.placement import in_use
from .._lazy.run import early, planning
from .._lazy.run.claims import lock
from .._lazy.run.evaluator import value_of
from .._lazy.run.hot import Function
from .._namespace.core.array import Array, current
from .._namespace.core.array import write as write_array
from .pytree import TreeDef, tree_flatten, tree_unflatten
from .source import Source

MISS = object()  # what the function returns where the arguments are others


class Output(NamedTuple):
    """An array in a result: the number of its value in the program, or the node that it always is.

    `levels` holds the places of its batch levels among those in force.
    """

    value: int | Node
    levels: tuple[int, ...] = ()


class Recipe(NamedTuple):
    """How a call is done without its function."""

    program: Program  # its inputs are the arrays of the arguments, then what was captured
    captured: list[Node]
    leaves: list[Any]  # of the result: an `Output` for each array, anything else as it is
    tree: TreeDef
    written: dict[int, Output]  # for each input that is changed in place its new value
    batched: bool  # whether the inputs are whole nodes, along every batch level that is in force


class ArrayLeaf(NamedTuple):
    """An argument that is an array: its aval, and whether it is NumPy's (or a scalar of NumPy's).

    `sharding` is how it is cut over a mesh, as far as that is known.
    """

    aval: Aval
    type: type
    sharding: Any = None


class NumberLeaf(NamedTuple):
    """An argument that is a number of Python: what it becomes."""

    dtype: np.dtype
    type: type


class StaticLeaf(NamedTuple):
    """An argument that is no array: what it equals, and whether it is a number that could be an input."""

    type: type
    value: Any
    is_number: bool = False


Leaf = ArrayLeaf | NumberLeaf | StaticLeaf


def fast_call(
    recipe: Recipe,
    tree: TreeDef,
    leaves: Sequence[Leaf],
    mode: str,
    backend: str | None,
) -> Callable[[Any, Any], Any]:
    """Return ``(args, kwargs) -> result``, which gives `MISS` for a call with other arguments than these.

    `backend` is the mode to run in where that is not the one in force.
    """
    source = Source()
    matcher = _Matcher(source, leaves)
    own, keywords = tree.children
    matcher.container(own, "args", known=True)
    matcher.container(keywords, "kwargs", known=True)
    values = [node.value if node.value is not None else value_of(node) for node in recipe.captured]
    program = recipe.program
    if mode != "max" and is_small(program):
        run: Callable[..., Any] = Function(program, dict(enumerate(values, len(matcher.values)))).run
    else:
        run = _planned(program, values, backend)
    outs = [source.variable() for _ in program.outputs]
    result = f"{''.join(o + ', ' for o in outs)} = " if outs else ""
    source.line(f"{result}{source.bind(run)}({', '.join(matcher.values)})")
    builder = _Builder(source, recipe, dict(zip(program.outputs, outs, strict=True)), matcher.nodes)
    builder.write(matcher.arrays)
    source.line(f"return {builder.result(recipe.tree, iter(recipe.leaves))}")
    return source.function("call(args, kwargs)")


def _planned(program: Program, captured: list[np.ndarray], backend: str | None) -> Callable[..., list[Any]]:
    """Return what runs a program of large values: in blocks, on threads, or where MAX has compiled parts."""

    def run(*values: np.ndarray) -> list[Any]:
        env = [*values, *captured, *[None] * len(program.eqns)]
        with lock, config(mode=backend) if backend is not None else nullcontext():
            try:
                early.run(planning.planned(program), env, frozenset())
            except StepFailed as failure:
                raise failure.error from None
        return [env[i] for i in program.outputs]

    return run


class _Matcher:
    """Writes the lines that take arguments apart and return MISS where they are not those expected."""

    def __init__(self, source: Source, leaves: Sequence[Leaf]) -> None:
        self.source = source
        self.leaves = iter(leaves)
        self.miss = f"return {source.bind(MISS)}"
        self.values: list[str] = []  # variables of the ndarrays
        self.nodes: list[str | None] = []  # and of their nodes, where they have one
        self.arrays: list[str] = []  # and of the arguments themselves

    def unless(self, condition: str) -> None:
        self.source.line(f"if not ({condition}): {self.miss}")

    def container(self, tree: TreeDef, name: str, known: bool = False) -> None:
        """Match what is no leaf; `known`: it is sure to be of that type."""
        kind = tree.type
        assert kind is not None
        bound = self.source.bind(kind)
        is_kind = "" if known else f"type({name}) is {bound} and "
        n = len(tree.children)
        names = [self.source.variable("a") for _ in tree.children]
        if kind is type(None):
            self.unless(f"{name} is None")
        elif kind in (tuple, list) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
            self.unless(f"{is_kind}len({name}) == {n}")
            if n:
                self.source.line(f"{''.join(a + ', ' for a in names)} = {name}")
        elif kind is dict:
            self.unless(f"{is_kind}len({name}) == {n}")
            for a, key in zip(names, tree.meta, strict=True):
                self.source.line(f"{a} = {name}.get({self.source.bind(key)}, {self.source.bind(MISS)})")
        else:
            self._flattened(tree, name)
            return
        for child, a in zip(tree.children, names, strict=True):
            self.match(child, a)

    def _flattened(self, tree: TreeDef, name: str) -> None:
        flat, found = self.source.variable(), self.source.variable()
        self.source.line(f"{flat}, {found} = {self.source.bind(tree_flatten)}({name})")
        self.unless(f"{found} == {self.source.bind(tree)}")
        for i in range(tree.num_leaves):
            a = self.source.variable("a")
            self.source.line(f"{a} = {flat}[{i}]")
            self.leaf(a)

    def match(self, tree: TreeDef, name: str) -> None:
        if tree.type is None:
            self.leaf(name)
        else:
            self.container(tree, name)

    def leaf(self, name: str) -> None:
        wanted = next(self.leaves)
        kind = self.source.bind(wanted.type)
        if isinstance(wanted, StaticLeaf):
            self.unless(f"type({name}) is {kind} and {self._equals(name, wanted.value)}")
            return
        value, node = self.source.variable("x"), None
        if isinstance(wanted, NumberLeaf):
            self.unless(f"type({name}) is {kind}")
            made = f"{self.source.bind(wanted.dtype.type)}({name})"
            self.source.line(f"{value} = {self.source.bind(np.asarray)}({made})")
            self._add(name, value, node)
            return
        aval = wanted.aval
        if wanted.type is Array:
            node = self.source.variable("n")
            self.unless(f"type({name}) is {kind} and not {name}._levels")
            look = f"{self.source.bind(current)}({name})"
            self.source.line(f"{node} = {name}._node if {name}._view is None else {look}")
            self.unless(f"{node}.aval is {self.source.bind(aval)}")
            self.source.line(f"{value} = {node}.value")
            # What may be on an accelerator is recorded.
            self.unless(f"({value} is not None or not {self.source.bind(in_use)})")
            self.source.line(f"if {value} is None: {value} = {self.source.bind(value_of)}({node})")
        else:
            same = f"{name}.shape == {aval.shape} and {name}.dtype == {self.source.bind(aval.dtype)}"
            self.unless(f"type({name}) is {kind} and {same}")
            # A copy: the caller may change the array, and results may be views.
            self.source.line(f"{value} = {self.source.bind(np.array)}({name})")
        self._add(name, value, node)

    def _add(self, name: str, value: str, node: str | None) -> None:
        self.arrays.append(name)
        self.values.append(value)
        self.nodes.append(node)

    def _equals(self, name: str, value: Any) -> str:
        if isinstance(value, float | complex):  # 0.0 is not -0.0, and nan is nan
            return f"repr({name}) == {self.source.bind(repr(value))}"
        return f"{name} == {self.source.bind(value)}"


class _Builder:
    """Writes the lines that make arrays of the program's outputs, and the expression of the result."""

    def __init__(
        self, source: Source, recipe: Recipe, outs: dict[int, str], inputs: Sequence[str | None]
    ) -> None:
        self.source = source
        self.recipe = recipe
        self.outs = outs
        self.nodes: dict[int, str] = {i: n for i, n in enumerate(inputs) if n is not None}
        self.array = source.bind(Array)

    def node(self, output: Output) -> str:
        """Return a variable of the node of an output."""
        if isinstance(output.value, Node):
            return self.source.bind(output.value)
        found = self.nodes.get(output.value)
        if found is None:
            found = self.nodes[output.value] = self.source.variable("n")
            aval = self.source.bind(self.recipe.program.aval(output.value))
            node, empty = self.source.bind(Node), self.source.bind(NO_PARAMS)
            self.source.line(f"{found} = {node}(None, (), {empty}, {aval}, 0, {self.outs[output.value]})")
        return found

    def write(self, arrays: Sequence[str]) -> None:
        """Change in place the arguments that the function changes."""
        for i, output in self.recipe.written.items():
            new = f"{self.array}({self.node(output)})"
            self.source.line(f"{self.source.bind(put_back)}({arrays[i]}, {new})")

    def result(self, tree: TreeDef, leaves: Any) -> str:
        if tree.type is None:
            leaf = next(leaves)
            if isinstance(leaf, Output):
                return f"{self.array}({self.node(leaf)})"
            if isinstance(leaf, np.ndarray):
                return f"{self.source.bind(leaf)}.copy()"
            return self.source.bind(leaf)
        parts = [self.result(c, leaves) for c in tree.children]
        inner = "".join(p + ", " for p in parts)
        if tree.type is tuple:
            return f"({inner})"
        if tree.type is list:
            return f"[{inner}]"
        if tree.type is dict:
            keys = [self.source.bind(k) for k in tree.meta]
            return "{" + ", ".join(f"{k}: {p}" for k, p in zip(keys, parts, strict=True)) + "}"
        whole = TreeDef(tree.type, tree.meta, tuple([TreeDef(None, None, ()) for _ in parts]))
        return f"{self.source.bind(tree_unflatten)}({self.source.bind(whole)}, [{inner}])"


def put_back(argument: Any, new: Array) -> None:
    """Make an argument, an array or NumPy's, equal what the function made of it in place."""
    if type(argument) is Array:
        write_array(argument, new)
    else:
        np.copyto(argument, value_of(current(new)))
