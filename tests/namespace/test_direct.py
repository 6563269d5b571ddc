"""Loops over elements: read and written in NumPy's memory, where nobody can tell."""

from __future__ import annotations

import copy
import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array.transforms import grad, vmap


def known(value: Any) -> xp.Array:
    x = xp.asarray(value)
    xp.eval(x)
    return x


def memory(x: xp.Array) -> int:
    return int(x._node.value.ctypes.data)


def test_what_nobody_else_knows_is_written_in_place() -> None:
    x = known(np.zeros((3, 4)))
    before = memory(x)
    x[1, 2] = 5
    x[2] = xp.asarray([1.0, 2.0, 3.0, 4.0])
    x[0, 1:3] += 7.0
    x[0, 0] = x[1, 2] * x[2, 3]
    assert memory(x) == before
    np.testing.assert_array_equal(x, [[20, 7, 7, 0], [0, 0, 5, 0], [1, 2, 3, 4]])


def test_what_is_pending_sees_what_was_there() -> None:
    x = known([1.0, 2.0, 3.0])
    y = x + 1
    x[0] = 10.0
    assert y.tolist() == [2.0, 3.0, 4.0]
    row = known(np.arange(6.0).reshape(2, 3))
    view = row[1]
    later = view * 2
    view[0] = -1.0
    assert later.tolist() == [6.0, 8.0, 10.0]
    assert row.tolist() == [[0.0, 1.0, 2.0], [-1.0, 4.0, 5.0]]


@pytest.mark.parametrize(
    "other",
    [copy.copy, copy.deepcopy, lambda x: x.copy(), lambda x: np.asarray(x, copy=False), np.from_dlpack],
    ids=["copy", "deepcopy", "method", "asarray", "dlpack"],
)
def test_copies_and_what_left_keep_what_was_there(other: Any) -> None:
    x = known([1.0, 2.0, 3.0])
    y = other(x)
    x[1] = 9.0
    assert np.asarray(y).tolist() == [1.0, 2.0, 3.0]
    assert x.tolist() == [1.0, 9.0, 3.0]


def test_views_see_each_others_writes() -> None:
    x = known(np.arange(12.0).reshape(3, 4))
    a, b = x[1], x[:, 2]
    inner = a[1:3]
    a[2] = 100.0
    assert b.tolist() == [2.0, 100.0, 10.0]
    b[1] = -1.0
    assert inner.tolist() == [5.0, -1.0]
    inner[0] = 50.0
    assert a.tolist() == [4.0, 50.0, -1.0, 7.0]
    assert x[1].tolist() == a.tolist()
    inner += 1
    assert x[1].tolist() == [4.0, 51.0, 0.0, 7.0]
    assert inner.base is x


def test_an_element_is_a_copy() -> None:
    x = known([1.0, 2.0])
    y = x[0]
    y += 1
    x[0] = 7.0
    assert (float(y), x.tolist()) == (2.0, [7.0, 2.0])


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        (3, 1, IndexError),
        ((0, 0), 1, IndexError),
        (0, 1j, TypeError),
        (0, 300, OverflowError),
        (slice(2), [1, 2, 3], ValueError),
    ],
)
def test_what_does_not_fit_changes_nothing(key: Any, value: Any, error: type[Exception]) -> None:
    x = known(np.array([1, 2, 3], np.int8))
    with pytest.raises(error):
        x[key] = value
    assert x.tolist() == [1, 2, 3]


NUMBERS = st.sampled_from([0.0, -0.0, 1.5, -2.0, 1e308, -1e308, 5e-324, np.inf, -np.inf, np.nan])
INTEGERS = st.sampled_from([0, 1, -1, 7, 2**62, 2**63 - 1, -(2**63)])
OPERATORS = [
    getattr(operator, n) for n in ("add", "sub", "mul", "truediv", "eq", "ne", "lt", "le", "gt", "ge")
]


@pytest.mark.parametrize("function", OPERATORS)
@given(x=st.one_of(NUMBERS, INTEGERS), y=st.one_of(NUMBERS, INTEGERS))
def test_numbers_have_numpys_bits(function: Any, x: Any, y: Any) -> None:
    a, b = np.asarray(x), np.asarray(y)
    with np.errstate(all="ignore"), xp.errstate(all="ignore"):
        wanted = np.asarray(function(a, b))
    with xp.errstate(all="warn"), pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn_explicit", lambda *args, **kwargs: None)
        found = np.asarray(function(known(a), known(b)))
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    if found.dtype.kind == "f" and not np.isnan(wanted):
        assert np.signbit(found) == np.signbit(wanted)


def test_transforms_see_loops_over_elements() -> None:
    def total(x: Any) -> Any:
        out = xp.zeros(3)
        for i in range(3):
            out[i] = x[i] * x[i - 1]
        return out[0] * out[1] + out[2]

    def by_hand(x: np.ndarray) -> float:
        return float(x[0] * x[2] * x[1] * x[0] + x[2] * x[1])

    x = known([1.5, -2.0, 0.5])
    points = known([[1.5, -2.0, 0.5], [3.0, 1.0, 2.0]])
    np.testing.assert_allclose(vmap(total)(points), [by_hand(np.asarray(p)) for p in points])
    a, b, c = 1.5, -2.0, 0.5
    np.testing.assert_allclose(grad(total)(x), [2 * a * b * c, a * a * c + c, a * a * b + b])


def test_a_read_only_array_elsewhere_changes_nothing() -> None:
    fixed = xp.broadcast_to(known([1.0]), (3,))
    held = known([1.0, 2.0]).imag
    x = known([1.0, 2.0, 3.0])
    before = memory(x)
    x[0] = 5.0
    assert memory(x) == before
    for y in (fixed, held):
        with pytest.raises(ValueError, match="read-only"):
            y[0] = 1.0


@pytest.mark.parametrize("function", ["dot", "matmul"])
def test_products_of_reversed_parts_have_numpys_bits(function: str) -> None:
    a, b = np.random.default_rng(0).standard_normal((2, 501))
    x, y = known(a), known(b)
    wanted = getattr(np, function)(a[::-1], b)
    assert float(getattr(xp, function)(x[::-1], y[:])) == float(wanted)
