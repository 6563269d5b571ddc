"""NumPy's functions that write to their first argument do the same to our arrays, whoever else looks on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as ours

DTYPES = ("float64", "float32", "int64", "int8", "uint8", "bool", "complex128")
# Of an array of three rows of four, by `numpy` or ours.
PARTS: dict[str, Callable[[Any], Any]] = {
    "all": lambda a: a,
    "a row": lambda a: a[1],
    "a column": lambda a: a[:, 2],
    "reversed": lambda a: a[::-1, ::-1],
    "turned": lambda a: a.T,
    "a corner": lambda a: a[1:, 1:],
    "every other": lambda a: a[::2, 1::2],
}
VALUES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a float": lambda xp, a, x: 2.5,
    "an int": lambda xp, a, x: -3,
    "a large int": lambda xp, a, x: 300,
    "a bool": lambda xp, a, x: True,
    "a complex number": lambda xp, a, x: 1j,
    "a list": lambda xp, a, x: [1.5, 0.5],
    "integers": lambda xp, a, x: [7, 8],
    "an array": lambda xp, a, x: xp.asarray([1, 0, 3, 1]).astype(x.dtype),
    "an array of another dtype": lambda xp, a, x: xp.asarray([1.0, 0, 3, 1], dtype="float32"),
    "an empty array": lambda xp, a, x: xp.zeros(0, dtype=x.dtype),
    "an element": lambda xp, a, x: a[0, 3],
    "the array itself": lambda xp, a, x: x,
    "a part of it": lambda xp, a, x: a[0],
    "a copy of it": lambda xp, a, x: x.copy(),
}
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "copyto": lambda xp, x, v: xp.copyto(x, v),
    "putmask": lambda xp, x, v: xp.putmask(x, x != 0, v),
    "place": lambda xp, x, v: xp.place(x, x != 0, v),
    "fill_diagonal": lambda xp, x, v: xp.fill_diagonal(x, v),
    "fill_diagonal, tall": lambda xp, x, v: xp.fill_diagonal(x, v, True),
    "sort": lambda xp, x, v: x.sort(),
    "sort, first axis": lambda xp, x, v: x.sort(axis=0),
    "sort, no such axis": lambda xp, x, v: x.sort(2),
    "partition": lambda xp, x, v: x.partition(1),
    "partition, no such place": lambda xp, x, v: x.partition(9),
    "add.at": lambda xp, x, v: xp.add.at(x, [0, 0, 1], v),
    "add.at, an array": lambda xp, x, v: xp.add.at(x, xp.asarray([0, -1, 0]), v),
    "add.at, two axes": lambda xp, x, v: xp.add.at(x, (xp.asarray([0, 1]), [0, 0]), v),
    "add.at, a mask": lambda xp, x, v: xp.add.at(x, x != 0, v),
    "add.at, no such place": lambda xp, x, v: xp.add.at(x, [0, 9], v),
    "maximum.at": lambda xp, x, v: xp.maximum.at(x, [0, 1, 1], v),
    "divide.at": lambda xp, x, v: xp.divide.at(x, [0, 1, 1], v),
    "negative.at": lambda xp, x, v: xp.negative.at(x, [0, 1, 1]),
}
SEEN: dict[str, Callable[[Any, Any], Any]] = {
    "nobody": lambda a, x: None,
    "a pending sum": lambda a, x: a + a,
    "another part": lambda a, x: a[0],
    "a copy": lambda a, x: a.copy(),
    "the same part": lambda a, x: x[...],
}


def run(xp: Any, start: np.ndarray, part: str, call: str, value: str, seen: str, frozen: bool) -> list[Any]:
    """Return the kind of error, if there is one, and what everybody has then."""
    a = xp.asarray(start.copy())
    x = PARTS[part](a)
    v = VALUES[value](xp, a, x)
    other = SEEN[seen](a, x)
    if frozen:
        x.flags.writeable = False
    error = None
    try:
        CALLS[call](xp, x, v)
    except Exception as caught:
        kind = next(c for c in type(caught).__mro__ if c.__module__ in ("builtins", "numpy.exceptions"))
        error = Exception if frozen else kind  # what is wrong first with a read-only array may differ
    left = [a, x] + [y for y in (v, other) if hasattr(y, "dtype")]
    return [error, *[repr(np.asarray(y).tolist()) for y in left], *[str(y.dtype) for y in left]]


@pytest.mark.parametrize("call", CALLS)
@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(DTYPES),
    st.lists(st.integers(-3, 5), min_size=12, max_size=12),
    *map(st.sampled_from, (list(PARTS), list(VALUES), list(SEEN))),
    st.booleans(),
)
def test_they_write_what_numpys_write(
    call: str, dtype: str, numbers: list[int], part: str, value: str, seen: str, frozen: bool
) -> None:
    start = np.array(numbers).reshape(3, 4).astype(dtype)
    # NumPy's `at` may write to what is read-only, and its `copyto` sees when there is nothing to be done.
    frozen &= ".at" not in call and value != "the array itself"
    if call.startswith(("place", "fill")) and value in ("the array itself", "a part of it"):
        value = "a copy of it"  # NumPy reads there what it has just written
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(ours, start, part, call, value, seen, frozen) == run(
            np, start, part, call, value, seen, frozen
        )


def test_a_fault_is_told_of_once_and_written_once() -> None:
    x = ours.asarray([1.0, 2.0])
    with pytest.raises(FloatingPointError), np.errstate(over="raise"):
        ours.add.at(x, [1, 1], 1.7e308)
    theirs = np.array([1.0, 2.0])
    with pytest.raises(FloatingPointError), np.errstate(over="raise"):
        np.add.at(theirs, [1, 1], 1.7e308)
    assert x.tolist() == theirs.tolist()


@pytest.mark.parametrize(
    "name", ["copyto", "putmask", "place", "fill_diagonal", "ascontiguousarray", "add.at"]
)
def test_calls_without_an_array_to_write_to_are_refused(name: str) -> None:
    function = ours.add.at if name == "add.at" else getattr(ours, name)
    for options in ({}, {"nothing": 1}):
        with pytest.raises(TypeError):
            function(**options)


@pytest.mark.parametrize("mask", [False, True])
def test_nothing_is_not_placed_in_what_is_read_only(mask: bool) -> None:
    for some in (np, ours):
        x = some.zeros((3, 4))
        x.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            some.place(x, some.full((3, 4), mask), some.zeros(0))
