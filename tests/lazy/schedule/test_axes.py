"""The classes of axes, against a reference that goes from axis to axis, and by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.graph.aval import Aval
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.graph.program import Program, linearize, pending_order
from nabla_array._lazy.schedule.axes import AxisClasses, axes_of
from nabla_array._namespace.core.array import apply

from ..run.test_random_graphs import _INSTRUCTION, build, leaves

Axis = tuple[int, int]  # a value, and which of its axes


def program_of(*arrays: Array) -> Program:
    nodes = [a._node for a in arrays if a._node.value is None]
    return linearize(pending_order(nodes), nodes).program


def reached(program: Program, whole: bool) -> list[set[Axis]]:
    """For each axis, in order, those that can be reached from it over equations that label two axes alike."""
    base = len(program.inputs)
    avals = [program.aval(i) for i in range(base + len(program.eqns))]
    everywhere = [(v, a) for v, x in enumerate(avals) if isinstance(x, Aval) for a in range(x.ndim)]
    beside: dict[Axis, set[Axis]] = {place: {place} for place in everywhere}
    for k, eqn in enumerate(program.eqns, base):
        values = (*eqn.ins, k)
        if eqn.prim.dims is None or not all(isinstance(avals[v], Aval) for v in values):
            continue
        labels = eqn.prim.dims(*[avals[i] for i in eqn.ins], **dict(eqn.params))
        named = [((v, a), n) for v, own in zip(values, labels, strict=True) for a, n in enumerate(own)]
        for place, n in named:
            beside[place].update(other for other, m in named if m == n and (whole or n >= 0))
    found = []
    for start in everywhere:
        seen, todo = {start}, [start]
        while todo:
            more = beside[todo.pop()] - seen
            seen |= more
            todo += more
        found.append(seen)
    return found


def check(program: Program) -> None:
    axes = axes_of(program)
    for whole, classes in ((False, axes.cuttable), (True, axes.alike)):
        flat = [(c, (v, a)) for v, of in enumerate(classes) for a, c in enumerate(of)]
        members: dict[int, set[Axis]] = {}
        for c, place in flat:
            members.setdefault(c, set()).add(place)
        assert [members[c] for c, _ in flat] == reached(program, whole)
    for v, of in enumerate(axes.cuttable):
        for c in of:
            assert axes.places(v, c) == [a for a, other in enumerate(of) if other == c]
    # Cutting a class cuts axes of one length.
    lengths: dict[int, set[int]] = {}
    for of, shape in zip(axes.cuttable, axes.shapes, strict=True):
        for c, n in zip(of, shape, strict=True):
            lengths.setdefault(c, set()).add(n)
    assert all(len(n) == 1 for n in lengths.values())


@settings(max_examples=300)
@given(leaves(), st.lists(_INSTRUCTION, min_size=1, max_size=20))
def test_classes_are_what_labels_connect(inputs: list[np.ndarray], instructions: list[Any]) -> None:
    check(program_of(*build(inputs, instructions)[0]))


X, Y = np.ones((6, 5)), np.ones((5, 4))
Function = Callable[..., Any]

# For each function of a table and a matrix that fits it: which axes of the operands, and of the result,
# are cut with the first of the table; and with the second.
FUNCTIONS: dict[str, tuple[Function, list[list[int]], list[list[int]]]] = {
    "elementwise": (lambda x, y: xp.exp(x) * x, [[0], [0]], [[1], [1]]),
    "a product": (lambda x, y: x @ y, [[0], [], [0]], [[1], [0], []]),
    "a product with itself": (lambda x, y: x @ x.T, [[0], [0, 1]], [[1], []]),
    "turned": (lambda x, y: (x * 2.0).T, [[0], [1]], [[1], [0]]),
    "reduced": (lambda x, y: xp.sum(x, axis=0), [[0], []], [[1], [0]]),
    "where it is": (lambda x, y: x - xp.max(x, axis=1, keepdims=True), [[0], [0]], [[1], [1]]),
    "summed up": (lambda x, y: xp.cumulative_sum(x, axis=0) * 2.0, [[0], []], [[1], [1]]),
    "a slice": (lambda x, y: x[1:] * 2.0, [[0], []], [[1], [1]]),
    "turned round": (lambda x, y: x[::-1] * 2.0, [[0], []], [[1], [1]]),
    "joined": (lambda x, y: xp.concat([x, x], axis=1), [[0], [0]], [[1], []]),
    "with one more axis": (lambda x, y: x[:, None, :] * 2.0, [[0], [0]], [[1], [2]]),
    "flat": (lambda x, y: xp.reshape(x, (-1,)) * 2.0, [[0], []], [[1], []]),
    "repeated": (lambda x, y: xp.broadcast_to(x, (3, 6, 5)), [[0], [1]], [[1], [2]]),
    "sorted": (lambda x, y: xp.sort(x, axis=1) * 2.0, [[0], [0]], [[1], []]),
    "a table of all pairs": (lambda x, y: x[:, None, :] - x[None], [[0], [0, 1]], [[1], [2]]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_which_axes_are_cut_together(name: str) -> None:
    function, rows, columns = FUNCTIONS[name]
    program = program_of(function(xp.asarray(X), xp.asarray(Y)))
    check(program)
    axes = axes_of(program)
    for axis, wanted in enumerate((rows, columns)):
        cls = axes.cuttable[0][axis]
        values = [*range(len(program.inputs)), program.outputs[0]]
        assert [axes.places(v, cls) for v in values] == wanted


def test_what_is_needed_whole_is_as_long_afterwards() -> None:
    program = program_of(xp.cumulative_sum(xp.asarray(X), axis=0) * 2.0)
    axes = axes_of(program)
    assert axes.alike[0] == axes.alike[program.outputs[0]]
    assert axes.cuttable[0] != axes.cuttable[program.outputs[0]]


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda x: xp.exp(x), 2),
        (lambda x: xp.sum(x, axis=1), 1),
        (lambda x: xp.sum(x, axis=0), 1),
        (lambda x: xp.sum(x), 2),
        (lambda x: xp.broadcast_to(xp.reshape(x, (6, 5, 1)), (6, 5, 3)), 2),
        (lambda x: xp.broadcast_to(x, (6, 6, 5)), 0),
        (lambda x: xp.reshape(x, (6, 5, 1)), 2),
        (lambda x: xp.reshape(x, (30,)), 0),
        (lambda x: xp.reshape(x, (6, 1, 5)), 1),
        (lambda x: x.T, 0),
        (lambda x: xp.cumulative_sum(x, axis=0), 0),
        (lambda x: xp.cumulative_sum(x, axis=1), 1),
        (lambda x: xp.sort(x), 1),
        (lambda x: xp.sort(x, axis=0), 0),
    ],
)
def test_leading_axes(function: Callable[[Array], Array], wanted: int) -> None:
    program = program_of(function(xp.asarray(X)))
    assert axes_of(program).leading(program.outputs[0]) == wanted


def test_classes_are_made_once_and_kept_with_the_program() -> None:
    program = program_of(xp.asarray(X) * 2.0)
    found = axes_of(program)
    assert isinstance(found, AxisClasses)
    assert axes_of(program) is found


def test_axes_of_several_results_are_in_no_class_of_the_operands() -> None:
    q, r = xp.linalg.qr(xp.asarray(np.eye(4)) * 2.0)
    program = program_of(q @ r + 1.0)
    check(program)
    axes = axes_of(program)
    unknown = [e.prim.name for k, e in enumerate(program.eqns, len(program.inputs)) if k not in axes.labels]
    assert unknown == ["project", "project"]


def test_an_elementwise_record_need_not_say_that_it_goes_axis_by_axis() -> None:
    prim = Primitive("slow", lambda x: x, np.copy, kind="elementwise", into=lambda x, out: np.copyto(out, x))
    program = program_of(apply(prim, xp.asarray(X)) * 2.0)
    check(program)
    (k,) = [k for k, e in enumerate(program.eqns, len(program.inputs)) if e.prim is prim]
    assert axes_of(program).leading(k) == 2
