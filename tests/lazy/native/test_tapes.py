"""What tapes and batch levels must see, recorded natively: as Python records it, on random programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.graph import node as node_module
from nabla_array._lazy.graph.node import NO_PARAMS, Node, leaf, record
from nabla_array._lazy.graph.program import is_literal, numbered, written
from nabla_array._lazy.graph.tape import Entry, Tape, hidden, marking, tapes, taping
from nabla_array._lazy.native import compiled
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops.creation import fill_like
from nabla_array._lazy.ops.reduction import reduce_sum
from nabla_array._lazy.ops.structure import alias, permute, stop_gradient
from nabla_array._lazy.rules.levels import Frame, frames, new_level
from nabla_array._namespace.core.array import Array, apply
from nabla_array._namespace.dispatch import fastpath

pytestmark = pytest.mark.skipif(compiled is None, reason="nothing is compiled: no compiler")

# The ways to record: the native ones, and the Python behind them.
Way = dict[str, Callable[..., Any]]


def python_node(*args: Any) -> Node:
    made = object.__new__(Node)
    Node.__init__(made, *args)
    return made


def python_record(prim: Any, inputs: tuple[Node, ...], params: dict[str, Any] = NO_PARAMS) -> Node:
    with patch.object(node_module, "Node", python_node):
        made: Node = record.__wrapped__(prim, inputs, params)  # type: ignore[attr-defined]
    return made


NATIVE: Way = {"node": Node, "record": record}
PYTHON: Way = {"node": python_node, "record": python_record}

# One operation of a program: of which primitive, on which values before.
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "sin", "floor", "stop", "alias", "eq"]), *[st.integers(0, 100)] * 2),
    min_size=1,
    max_size=12,
)
# How a tape is started: by which sources, and with what flags.
TAPES = st.lists(
    st.tuples(
        st.lists(st.integers(0, 3), max_size=2, unique=True),
        st.booleans(),
        st.booleans(),
        st.sampled_from(["", "replayed"]),
        st.booleans(),
    ),
    max_size=10,
)
PRIMS = {"add": e.add, "sin": e.sin, "floor": e.floor, "stop": stop_gradient, "alias": alias, "eq": e.eq}


@contextmanager
def started(values: list[Node], wanted: list[Any]) -> Iterator[list[Tape]]:
    with ExitStack() as stack:
        made = []
        for sources, derivative, everything, linear, is_hidden in wanted:
            tape = stack.enter_context(taping([values[i] for i in sources], derivative, everything, linear))
            if is_hidden:
                stack.enter_context(hidden([tape]))
            made.append(tape)
        yield made


def held(way: Way, steps: list[Any], wanted: list[Any]) -> list[Any]:
    """Run a program of nodes, and say what each tape holds in the end, by the numbers of the nodes."""
    values = [leaf(np.full(2, float(i))) for i in range(4)]
    number = {id(n): i for i, n in enumerate(values)}
    with started(values, wanted) as made:
        for name, i, j in steps:
            prim = PRIMS[name]
            floats = [n for n in values if n.aval.dtype.kind == "f"]
            inputs = tuple([floats[k % len(floats)] for k in ((i, j) if name in ("add", "eq") else (i,))])
            if i % 2:
                new = way["record"](prim, inputs)
            else:
                new = way["node"](prim, inputs, NO_PARAMS, prim.aval(*[n.aval for n in inputs]), 7)
            number[id(new)] = len(values)
            values.append(new)
    out: list[Any] = [[n.depth for n in values[4:]]]
    for t in made:
        assert all([x == Entry(x.node, x.node.prim, x.node.inputs, x.node.params) for x in t.entries])
        out.append(([number[id(x.node)] for x in t.entries], {number[k] for k in t.members}))
    return out


@given(STEPS, TAPES)
def test_tapes_hold_the_same(steps: list[Any], wanted: list[Any]) -> None:
    assert held(NATIVE, steps, wanted) == held(PYTHON, steps, wanted)
    assert not tapes


def test_who_marks_nodes_is_told_of_them() -> None:
    found: list[Node] = []
    x = leaf(np.ones(2))
    with marking(found.append):
        made = [Node(e.sin, (x,), NO_PARAMS, x.aval, 1), record(e.sin, (x,))]
    assert found == made


def test_errors_are_pythons() -> None:
    x, y = leaf(np.ones(2)), leaf(np.ones(3))
    with taping([x]) as tape:
        with pytest.raises(ValueError, match="add: shapes differ"):
            record(e.add, (x, y))
        with pytest.raises(TypeError, match="argument"):
            Node(e.add)  # type: ignore[call-arg]
        with pytest.raises(ZeroDivisionError), marking(lambda n: 1 // 0):
            record(e.sin, (x,))
    assert len(tape.entries) == 1  # the one that was made before it was marked
    assert Node(prim=e.sin, inputs=(x,), params={}, aval=x.aval, depth=3).depth == 3
    assert type(Array(3.0)) is Array


# -- operators and functions of arrays ------------------------------------------------------------------

OPERATORS = ["__add__", "__mul__", "__sub__", "__truediv__", "__rsub__", "__pow__", "__neg__", "__lt__"]
FUNCTIONS = ["__radd__", "sin", "sum", "transpose"]
NUMBERS = [2, 2.0, 0.5, -0.0, 1j, True, 3, np.float64(1.5), np.float32(2), float("nan"), 10**20]
DTYPES = ["float64", "float32", "int64", "bool", "complex128"]
CALLS = st.lists(
    st.tuples(st.sampled_from([*OPERATORS, *FUNCTIONS]), st.integers(0, 50), st.integers(0, 70)),
    min_size=1,
    max_size=10,
)


def told(node: Node, numbers: dict[int, Any]) -> Any:
    """Say of a node, and of what it stands on, how it was made."""
    if id(node) not in numbers:
        below = tuple([told(n, numbers) for n in node.inputs])
        own: Any = (node.prim, tuple(node.params.items())) if node.prim is not None else repr(node.value)
        if is_literal(node):
            own = repr(
                np.broadcast_to(node.params["value"].value, node.aval.shape)
            )  # as the leaf of a changing one
        numbers[id(node)] = own, node.aval, node.depth, below
    return numbers[id(node)]


def called(name: str, x: Any, y: Any) -> Any:
    function = {"sin": xp.sin, "sum": None, "transpose": None}.get(name, getattr(Array, name, None))
    if name == "sum":
        return apply(reduce_sum, x, axes=tuple(range(x.ndim)))
    if name == "transpose":
        return apply(permute, x, axes=tuple(range(x.ndim)))
    return function(x) if name in ("sin", "__neg__") else function(x, y)  # type: ignore[misc]


def results(calls: list[Any], dtype: str, n_levels: int, has_tape: bool) -> list[Any]:
    """Run a program of arrays along levels, with a tape or without, and say how each result was made."""
    sizes = [3, 4][:n_levels]
    levels = tuple(reversed([LEVELS[i] for i in range(n_levels)]))
    lead = tuple(reversed(sizes))
    given = [np.arange(np.prod([*lead, 2])).reshape(*lead, 2).astype(dtype) for _ in range(2)]
    arrays = [Array(alias(leaf(v)), levels) for v in given] + [Array(alias(leaf(given[0].reshape(-1)[:2])))]
    before = frames()[:]
    frames()[:] = [Frame(level, size) for level, size in zip(LEVELS, sizes, strict=False)]
    out: list[Any] = []
    try:
        with taping([x._node for x in arrays[:1]]) if has_tape else ExitStack() as tape:
            for name, i, j in calls:
                other = NUMBERS[j % len(NUMBERS)] if j >= 35 else arrays[j % len(arrays)]
                try:
                    y = called(name, arrays[i % len(arrays)], other)
                except (TypeError, ValueError, OverflowError) as error:
                    out.append((type(error), str(error)))
                    continue
                if type(y) is Array and y.dtype == arrays[0].dtype and y.shape == (2,):
                    arrays.append(y)
                out.append((told(y._node, {}), y._levels) if type(y) is Array else y)
            out.append([x.prim for x in tape.entries] if isinstance(tape, Tape) else [])
    finally:
        frames()[:] = before
    return out


LEVELS = [new_level(), new_level()]


@given(CALLS, st.sampled_from(DTYPES), st.integers(0, 2), st.booleans())
def test_operators_record_the_same(calls: list[Any], dtype: str, n_levels: int, has_tape: bool) -> None:
    results(
        calls, dtype, n_levels, has_tape
    )  # the first call of a kind takes the long way, the next ones do not
    found = results(calls, dtype, n_levels, has_tape)
    with patch.object(fastpath, "defaults", [None]):  # with a default device, all operators are Python's
        fastpath.limit()
        wanted = results(calls, dtype, n_levels, has_tape)
    fastpath.limit()
    assert found == wanted


# -- graphs, numbered -----------------------------------------------------------------------------------


def python_numbered(roots: list[Node], sources: list[Node], members: set[int] | None, own: set[int]) -> Any:
    key, order, leaves, _ = written(list(roots), members)
    nodes = [*order, *leaves]
    number = {id(n): k for k, n in enumerate(nodes)}
    given_nodes = [n for n in dict.fromkeys((*roots, *sources)) if not (id(n) in number or is_literal(n))]
    number.update({id(n): k for k, n in enumerate(given_nodes, len(nodes))})
    starts = {id(n) for n in sources}
    if any([id(n) in own and id(n) not in starts for n in (*leaves, *given_nodes)]):
        return None
    places = [number.get(id(n), n) for n in roots]
    ends = (
        len(roots),
        *[n.aval for n in (*given_nodes, *sources)],
        *places,
        *[number.get(id(n)) for n in sources],
    )
    return (key, ends), order, nodes + given_nodes


@given(
    STEPS,
    st.lists(st.integers(0, 15), min_size=1, max_size=3),
    st.lists(st.integers(0, 15), max_size=3),
    st.booleans(),
)
def test_graphs_are_numbered_the_same(
    steps: list[Any], roots: list[int], sources: list[int], is_seen: bool
) -> None:
    values = [leaf(np.full(2, float(i))) for i in range(3)]
    values.append(fill_like(values[0], 3.0))
    with taping(values[:1]) as tape:
        for name, i, j in steps:
            floats = [n for n in values if n.aval.dtype.kind == "f"]
            many = (i, j) if name in ("add", "eq") else (i,)
            values.append(record(PRIMS[name], tuple([floats[k % len(floats)] for k in many])))
    picked = [[values[i % len(values)] for i in some] for some in (roots, sources)]
    members = tape.members if is_seen else None
    assert numbered(*picked, members, tape.members) == python_numbered(*picked, members, tape.members)
