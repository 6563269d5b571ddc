"""Programs: what makes two of them equal, and what they look like."""

from __future__ import annotations

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.graph.aval import aval_of
from nabla_array._lazy.graph.node import Node, leaf, record
from nabla_array._lazy.graph.primitive import as_value
from nabla_array._lazy.graph.program import Program, held_outside, linearize, pending_order, run
from nabla_array._lazy.ops.creation import Literal, fill_node
from nabla_array._lazy.ops.elementwise import add, mul
from nabla_array._lazy.ops.reduction import reduce_sum
from nabla_array._lazy.run.evaluator import evaluate

F64 = np.dtype(np.float64)


def vector(n: int = 3) -> Node:
    return leaf(np.arange(float(n)))


def program(*outputs: Node) -> Program:
    return linearize(pending_order(outputs), outputs).program


def test_inputs_are_numbered_by_identity() -> None:
    a, b = vector(), vector()
    assert program(record(add, (a, a))) != program(record(add, (a, b)))
    assert program(record(add, (a, b))) == program(record(add, (b, a)))  # the same, to other inputs
    assert program(record(add, (a, a))) == program(record(add, (b, b)))


def test_shapes_dtypes_params_and_outputs_count() -> None:
    a = vector()
    x = leaf(np.ones((3, 3)))
    assert program(record(add, (a, a))) != program(record(add, (vector(4),) * 2))
    b = leaf(np.arange(3, dtype=np.float32))
    assert program(record(add, (a, a))) != program(record(add, (b, b)))
    assert program(record(add, (a, a))) != program(record(mul, (a, a)))
    rows, columns = (record(reduce_sum, (x,), {"axes": (k,)}) for k in (0, 1))
    assert program(rows) != program(columns)
    inner = record(add, (a, a))
    outer = record(mul, (inner, inner))
    assert program(outer) != program(outer, inner)


LITERALS = [0.0, -0.0, False, 0, np.nan, -np.nan, 1.0, True, 1, 0j, np.float32(0), np.int32(0), np.uint8(0)]


def test_literals_are_bits() -> None:
    literals = [Literal(np.asarray(v)[()]) for v in LITERALS]
    for i, one in enumerate(literals):
        for j, other in enumerate(literals):
            assert (one == other) == (i == j), (one, other)
    assert Literal(np.float64("nan")) == Literal(np.float64("nan"))
    assert len(set(literals)) == len(LITERALS)


@pytest.mark.parametrize("value", [0.0, -0.0, np.nan, 1.5])
def test_literals_in_programs(value: float) -> None:
    a = vector()

    def plus(v: float) -> Program:
        return program(record(add, (a, fill_node(a.aval, v))))

    assert plus(value) == plus(value)
    assert hash(plus(value)) == hash(plus(value))
    for other in (0.0, -0.0, np.nan, 1.5):
        same = Literal(np.float64(value)) == Literal(np.float64(other))
        assert (plus(value) == plus(other)) == same


def test_signed_zero_literals_do_not_mix_up_results() -> None:
    x = xp.asarray([-0.0, 0.0])
    assert np.signbit(np.asarray(x + 0.0)).tolist() == [False, False]
    assert np.signbit(np.asarray(x + -0.0)).tolist() == [True, False]
    assert np.isnan(np.asarray(x * np.nan)).all()
    assert np.signbit(np.asarray(x * -1.0)).tolist() == [False, True]


def test_avals_are_one_object() -> None:
    assert aval_of((2, 3), F64) is aval_of((2, 3), np.dtype("float64"))
    assert aval_of((2, 3), F64) is not aval_of((3, 2), F64)
    assert repr(aval_of((2, 3), F64)) == "float64[2, 3]"


def test_printed() -> None:
    a = vector()
    y = record(mul, (record(add, (a, fill_node(a.aval, 2.0))), a))
    assert str(program(record(reduce_sum, (y,), {"axes": (0,)}))).splitlines() == [
        "program(%0: float64[3]):",
        "  %1: float64[3] = fill(value=2.0, shape=(3,))",
        "  %2: float64[3] = add(%0, %1)",
        "  %3: float64[3] = mul(%2, %0)",
        "  %4: float64[] = reduce_sum(%3, axes=(0,))",
        "  return %4",
    ]


def test_run_folds_with_any_apply() -> None:
    a, b = vector(), vector(3)
    total = record(add, (record(mul, (a, b)), a))
    fold = run(program(total), [a.value, b.value], lambda p, xs, params: as_value(p.host(*xs, **params)))
    np.testing.assert_array_equal(fold[0], a.value * b.value + a.value)


def test_pending_order_is_inputs_first_and_each_once() -> None:
    a = vector()
    b = record(add, (a, a))
    c = record(mul, (b, b))
    d = record(add, (c, b))
    assert pending_order([d]) == [b, c, d]
    assert pending_order([c, d, c]) == [b, c, d]
    assert pending_order([a]) == []


def test_held_outside() -> None:
    order = []
    b = record(add, (vector(), vector()))
    c = record(mul, (b, b))
    d = record(add, (c, b))
    order = pending_order([d])
    del c
    assert held_outside(order, order) == [True, False, True]
    del b
    assert held_outside(order, order) == [False, False, True]
    del d
    assert held_outside(order, order) == [False, False, False]


def test_equal_operations_are_one_equation() -> None:
    x, y = leaf(np.ones(1 << 17)), leaf(np.ones(1 << 17))
    first, second, other = record(add, (x, y)), record(add, (x, y)), record(add, (y, x))
    outputs = [record(mul, (first, second)), record(mul, (second, other)), second]
    line = linearize(pending_order(outputs), outputs)
    assert [e.prim.name for e in line.program.eqns] == ["add", "mul", "add", "mul"]
    assert line.numbers[0] == line.numbers[1] == 2
    evaluate(outputs)
    assert all((n.value == v).all() for n, v in zip(outputs, (4.0, 4.0, 2.0), strict=True))
