"""NumPy's small arrays and scalars beside ours, and elements of several dtypes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import nabla_array as xp

DTYPES = ("f8", "f4", "i8", "i4", "u1", "u8", "?", "c16")
SHAPES = ((), (1,), (3,), (2, 3), (0,), (3, 1))
OPERATORS = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "eq", "ne", "matmul")
}
FUNCTIONS = (
    "add",
    "multiply",
    "maximum",
    "arctan2",
    "hypot",
    "fmod",
    "less",
    "dot",
    "matmul",
    "where",
    "divide",
)


def arrays() -> st.SearchStrategy[np.ndarray]:
    return st.tuples(st.sampled_from(DTYPES), st.sampled_from(SHAPES)).flatmap(
        lambda made: hnp.arrays("i8", made[1], elements=st.sampled_from([0, 1, 2, 3, 5])).map(
            lambda a: a.astype(made[0])
        )
    )


def single() -> st.SearchStrategy[Any]:
    """Draw an element as an array of one of ours or NumPy's, a scalar of NumPy's or a number of Python's."""
    return st.tuples(
        st.sampled_from(["f8", "f4", "i8", "i4", "u8", "?"]),
        st.sampled_from([0, 1, -1, 2, 7, 2**53 + 1, -(2**62)]),
        st.sampled_from(["ours", "scalar", "python"]),
    )


def compare(call: Any, ours: list[Any], theirs: list[Any]) -> None:
    """Compare what a call gives of ours and of NumPy's, dtypes and errors included."""
    with np.errstate(all="ignore"):
        try:
            wanted = call(np, *theirs)
        except (TypeError, ValueError):
            with pytest.raises((TypeError, ValueError)):
                np.asarray(call(xp, *ours))  # an integer's first power is told of late
            return
        except OverflowError:
            with pytest.raises(OverflowError):
                call(xp, *ours)
            return
        found = call(xp, *ours)
    if any(type(x) is xp.Array for x in ours):
        assert type(found) is xp.Array
    seen = np.asarray(found)
    assert (seen.shape, seen.dtype) == (np.shape(wanted), np.asarray(wanted).dtype)
    np.testing.assert_array_equal(seen, wanted)


@given(arrays(), arrays(), st.sampled_from(sorted(OPERATORS)), st.sampled_from(["left", "right", "both"]))
def test_operators(a: np.ndarray, b: np.ndarray, name: str, side: str) -> None:
    x = a if side == "left" else xp.asarray(a)
    y = b if side == "right" else xp.asarray(b)
    compare(lambda m, p, q: OPERATORS[name](p, q), [x, y], [a, b])


@given(arrays(), arrays(), st.sampled_from(FUNCTIONS), st.sampled_from(["left", "right", "neither"]))
def test_functions(a: np.ndarray, b: np.ndarray, name: str, side: str) -> None:
    x = xp.asarray(a) if side == "left" else a
    y = xp.asarray(b) if side == "right" else b
    compare(lambda m, p, q: getattr(m, name)(p, q), [x, y], [a, b])
    compare(lambda m, p, q: m.where(p > 1, p, q), [x, y], [a, b])


def as_kind(dtype: str, value: int, kind: str) -> tuple[Any, Any]:
    """Return an element for us, and for NumPy."""
    with np.errstate(all="ignore"):
        scalar = np.asarray(value, object).astype("f8" if dtype[0] == "f" else "i8").astype(dtype)[()]
    if kind == "python":
        return scalar.item(), scalar.item()
    return (xp.asarray(scalar) if kind == "ours" else scalar), scalar


@given(single(), single(), st.sampled_from(sorted(OPERATORS)))
def test_elements(a: Any, b: Any, name: str) -> None:
    (x, p), (y, q) = as_kind(*a), as_kind(*b)
    if name == "matmul" or not (type(x) is xp.Array or type(y) is xp.Array):
        return
    compare(lambda m, u, v: OPERATORS[name](u, v), [x, y], [p, q])
    if name in ("add", "mul", "truediv"):
        function = {"add": "add", "mul": "multiply", "truediv": "divide"}[name]
        compare(lambda m, u, v: getattr(m, function)(u, v), [x, y], [p, q])


@given(hnp.arrays("f8", (3,), elements=st.sampled_from([0.0, 1.5, -2.0])), single())
def test_arrays_and_elements(a: np.ndarray, b: Any) -> None:
    y, q = as_kind(*b)
    for call in (operator.mul, operator.sub, operator.gt):
        compare(lambda m, u, v, call=call: call(u, v), [xp.asarray(a), y], [a, q])
        if type(y) is xp.Array:
            compare(lambda m, u, v, call=call: call(v, u), [xp.asarray(a), y], [a, q])


@pytest.mark.parametrize("n", [3, 3000])
def test_what_numpys_owner_writes_later_is_not_seen(n: int) -> None:
    a = np.arange(float(n))
    x = xp.ones(n)
    results = [x + a, a * x, xp.maximum(a, 0), x.dot(a), a @ x, xp.add(a, a)]
    x += a
    wanted = [np.asarray(r).copy() for r in (*results, x)]
    a[:] = -1
    for found, was in zip((*results, x), wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(found), was)


def test_the_order_in_memory_is_numpys() -> None:
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    x = xp.asarray(np.ones((2, 3)))
    assert xp.multiply(a, 2.0).flags.f_contiguous
    assert (xp.asarray(a) * a).flags.f_contiguous == (a * a).flags.f_contiguous
    assert (x * a).flags.f_contiguous == (np.ones((2, 3)) * a).flags.f_contiguous


@given(hnp.arrays("f8", (4, 3), elements=st.floats(-1, 1)), st.data())
def test_indices_of_numpys(a: np.ndarray, data: st.DataObject) -> None:
    x = xp.asarray(a)
    places = data.draw(
        hnp.arrays(data.draw(st.sampled_from(["i8", "i4", "u1"])), (2,), elements=st.integers(0, 3))
    )
    for key in (places, a[:, 0] > 0, (places, 1), (slice(None), a[0] > 0), places[::-1], np.array(2)):
        np.testing.assert_array_equal(np.asarray(x[key]), a[key])
        y, b = x.copy(), a.copy()
        y[key], b[key] = 7.0, 7.0
        np.testing.assert_array_equal(np.asarray(y), b)
    swapped = places.astype(places.dtype.newbyteorder("S"))
    np.testing.assert_array_equal(np.asarray(x[swapped]), a[places])
    with pytest.raises(IndexError):
        x[np.array([9])]
    with pytest.raises(IndexError):
        x[np.array([True, False])]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_elements_divide_as_arrays_do(dtype: str) -> None:
    special = np.array([0.0, -0.0, 1.0, -2.5, 7.25, np.inf, -np.inf, np.nan], dtype)
    x = xp.asarray(special)
    with np.errstate(all="ignore"):
        for call in (operator.floordiv, operator.mod, lambda a, b: divmod(a, b)[0]):
            table = np.asarray(call(x[:, None], x[None, :]))
            for i in range(special.size):
                for k in range(special.size):
                    np.testing.assert_array_equal(np.asarray(call(x[i], x[k])), table[i, k])
                    np.testing.assert_array_equal(np.signbit(call(x[i], x[k])), np.signbit(table[i, k]))


LISTS: tuple[Any, ...] = ([1.0, 2.0, 4.0], [3, 1, 2], [[1, 2], [3, 5]], (1, 2.5), [True, False])
OF_LISTS = (
    "sum max min mean std var argmax argmin prod cumsum sort argsort diff ravel diag round sqrt isnan any all"
)


@pytest.mark.parametrize("values", LISTS, ids=str)
@pytest.mark.parametrize("name", OF_LISTS.split())
def test_functions_of_lists(name: str, values: Any) -> None:
    compare(lambda m, v: getattr(m, name)(v), [values], [values])
    compare(lambda m, v: m.linalg.norm(v), [values], [values])


@pytest.mark.parametrize("name", ["add", "multiply", "dot", "matmul", "less", "hypot"])
@pytest.mark.parametrize("values", [[1.5, 2.5], (3, 4), [1, 2.5]], ids=str)
def test_lists_beside_arrays_and_each_other(name: str, values: Any) -> None:
    a = np.array([0.5, 4.0])
    function = lambda m, p, q: getattr(m, name)(p, q)  # noqa: E731
    compare(function, [values, values], [values, values])
    compare(function, [xp.asarray(a), values], [a, values])
    compare(function, [values, xp.asarray(a)], [values, a])
    compare(lambda m, p, q: p - q, [xp.asarray(a), values], [a, values])
    compare(lambda m, p, q: q - p, [xp.asarray(a), values], [a, values])


@pytest.mark.parametrize("name", ["tanh", "expm1"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_elements_of_functions_that_differ_for_complex_numbers(name: str, dtype: str) -> None:
    special = np.array([0.0, -0.0, 0.3, -2.5, 800.0, np.inf, -np.inf, np.nan], dtype)
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(special)
        for i, x in enumerate(xp.asarray(special)):
            np.testing.assert_array_equal(np.asarray(getattr(xp, name)(x)), wanted[i])
            if dtype == "f8":
                np.testing.assert_array_equal(np.asarray(getattr(xp, name)(float(x))), wanted[i])


@pytest.mark.parametrize(
    "name", sorted({*OPERATORS, "and_", "or_", "xor", "lshift", "gt", "ge"} - {"matmul"})
)
@pytest.mark.parametrize("number", [0, 1, -3, 2**70, 2.5, True, np.int64(4), np.array([5, 0, -2])])
def test_truth_values_meet_numbers(name: str, number: Any) -> None:
    truths = np.array([True, False])
    if isinstance(number, np.ndarray):
        pairs = [(t, n) for t in (0, 1) for n in range(number.size)]
        theirs = [(truths[t], number[n]) for t, n in pairs]
        ours = [(xp.asarray(truths)[t], xp.asarray(number)[n]) for t, n in pairs]
    else:
        theirs = [(t, number) for t in truths]
        ours = [(t, number) for t in xp.asarray(truths)]
    for x, y in zip(ours, theirs, strict=True):
        for turn in (1, -1):
            compare(lambda m, p, q: getattr(operator, name)(p, q), [*x[::turn]], [*y[::turn]])


def test_sum_of_truth_values_counts() -> None:
    x = xp.asarray([1.0, 5.0, 3.0])
    for found, wanted in ((sum(x > 2), 2), (sum(x > 9), 0), (sum(list(x > 2), 0.5), 2.5)):
        assert found == wanted
        assert repr(found) == repr(sum([np.asarray(0), wanted]))
