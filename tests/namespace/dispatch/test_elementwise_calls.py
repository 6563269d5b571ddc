"""Functions made from elementwise primitives: the short way to record gives what the long one does."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.graph.node import LIMIT
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.ops import elementwise as p
from nabla_array._namespace.dispatch.elementwise_calls import (
    PRIMITIVES,
    binary_call,
    compared,
    composed,
    promoted,
    unary_call,
)
from nabla_array.transforms import grad, vmap

from ...recorded import everything_recorded


@pytest.fixture(autouse=True)
def _everything_is_recorded() -> Iterator[None]:
    with everything_recorded():
        yield


def refused(*operands: Any) -> xp.Array:
    raise AssertionError("the long way was asked")


def long_way(prim: Primitive) -> tuple[Callable[..., xp.Array], list[int]]:
    """Return the long way of a primitive, and a list that grows when it is asked."""
    asked: list[int] = []

    def call(*operands: Any) -> xp.Array:
        asked.append(1)
        return promoted(prim, prim.name, *operands)

    return call, asked


X = np.asarray([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0]])
OPERANDS = {
    "two arrays": (X, X + 1),
    "an array and a number": (X, 2),
    "a number and an array": (2.5, X),
    "a row": (X, X[0]),
    "two dtypes": (X, X.astype("f4")),
    "integers": (X.astype(int), np.int64(3)),
    "booleans": (X > 0, X),
    "no axes": (np.float64(3.0), X),
}


@pytest.mark.parametrize("prim", [p.add, p.sub, p.mul, p.maximum, p.lt, p.eq], ids=str)
@pytest.mark.parametrize("name", OPERANDS)
def test_two_operands_are_recorded_alike_the_second_time(prim: Primitive, name: str) -> None:
    given = [xp.asarray(x) if isinstance(x, np.ndarray) else x for x in OPERANDS[name]]
    slow, _ = long_way(prim)
    call = binary_call(prim, slow)
    first, second = call(*given), call(*given)
    wanted = prim.ufunc(*OPERANDS[name])
    for found in (first, second):
        got = np.asarray(found)
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)
    if name == "two arrays":
        assert binary_call(prim, refused)(*given)._node.prim is prim


@pytest.mark.parametrize("prim", [p.neg, p.exp, p.sign, p.isnan], ids=str)
def test_one_operand_is_recorded_alike_the_second_time(prim: Primitive) -> None:
    x = xp.asarray(X)
    slow, _ = long_way(prim)
    unary_call(prim, slow)(x)
    found = unary_call(prim, refused)(x)
    assert found._node.prim is prim
    assert found._node.inputs == (x._node,)
    np.testing.assert_array_equal(np.asarray(found), prim.ufunc(X))


def test_a_deep_graph_is_left_to_the_long_way() -> None:
    slow, asked = long_way(p.add)
    call = binary_call(p.add, slow)
    x = xp.asarray(X)
    for _ in range(2 * LIMIT):
        x = call(x, 1)
        assert x._node.depth <= LIMIT
    assert asked
    np.testing.assert_array_equal(np.asarray(x), X + 2 * LIMIT)


def test_a_view_of_what_was_written_to_is_looked_at_anew() -> None:
    x = xp.asarray(X)
    row = x[0]
    call = binary_call(p.add, lambda a, b: promoted(p.add, "add", a, b))
    first = call(row, row)
    x[0] = 7.0
    np.testing.assert_array_equal(np.asarray(call(row, row)), [14.0] * 3)
    np.testing.assert_array_equal(np.asarray(first), X[0] * 2)


def test_levels_stay() -> None:
    x, y = xp.asarray(X), xp.asarray(X + 1)
    np.testing.assert_array_equal(np.asarray(vmap(lambda a, b: xp.add(xp.negative(a), b))(x, y)), X + 1 - X)


def test_derivatives_see_what_is_recorded_the_short_way() -> None:
    x = xp.asarray(X)
    xp.multiply(x, x)  # from now on its rule is known
    np.testing.assert_array_equal(np.asarray(grad(lambda x: xp.sum(xp.multiply(x, x)))(x)), 2 * X)


@pytest.mark.parametrize("number", [2**70, -(2**70), 300, -1])
@pytest.mark.parametrize("prim", [p.eq, p.ne, p.lt, p.le, p.gt, p.ge], ids=str)
def test_integers_beyond_a_dtype_compare(prim: Primitive, number: int) -> None:
    values = np.asarray([0, 5, 255], np.uint8)
    for wanted, found in (
        (prim.ufunc(values.astype(object), number), compared(prim, prim.name, xp.asarray(values), number)),
        (prim.ufunc(number, values.astype(object)), compared(prim, prim.name, number, xp.asarray(values))),
    ):
        np.testing.assert_array_equal(np.asarray(found), wanted.astype(bool))
        assert found.dtype == bool


def test_other_operations_with_them_overflow() -> None:
    with pytest.raises(OverflowError):
        promoted(p.add, "add", xp.asarray(np.asarray([1], np.uint8)), 300)
    with pytest.raises(OverflowError):
        compared(p.lt, "less", 2**70, 2**70)


@composed(np.logaddexp)
def twice(x1: Any, x2: Any, /) -> xp.Array:
    """Return a sum, twice."""
    return 2 * xp.add(x1, x2)


def test_a_composed_function_has_the_keywords_of_a_ufunc() -> None:
    x = xp.asarray(X)
    np.testing.assert_array_equal(np.asarray(twice(x, 1)), 2 * (X + 1))
    out = xp.zeros((2, 3))
    assert twice(x, 1, out) is out
    np.testing.assert_array_equal(np.asarray(out), 2 * (X + 1))
    out = xp.zeros((2, 3))
    twice(x, 1, out=out, where=xp.asarray(X > 0))
    np.testing.assert_array_equal(np.asarray(out), np.where(X > 0, 2 * (X + 1), 0))
    assert twice(x, 1, dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize("many", [0, 1, 4])
def test_a_composed_function_counts_its_operands(many: int) -> None:
    with pytest.raises(TypeError, match=rf"takes from 2 to 3 positional arguments but {many} were given"):
        twice(*[xp.asarray(X)] * many)


@pytest.mark.parametrize("function", [*PRIMITIVES], ids=lambda f: f.__name__)
def test_functions_say_what_they_take(function: Callable[..., Any]) -> None:
    names = [*inspect.signature(function).parameters]
    assert names[: PRIMITIVES[function].ufunc.nin] in (["x"], ["x1", "x2"])
    assert names[-8:] == ["out", "where", "casting", "order", "dtype", "subok", "signature", "sig"]
    assert callable(getattr(xp, function.__name__))
