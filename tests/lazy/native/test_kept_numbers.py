"""Arrays of one element that die are kept for the next number: nobody who has anything of one sees that."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.native import compiled

pytestmark = pytest.mark.skipif(compiled is None, reason="compiled code keeps them")

X = np.array([0.5, 1.5, 2.5, 3.5])
# Ways to have something of an array, and what tells its element.
HOLDS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "the array": (lambda x: x, float),
    "its value": (np.asarray, float),
    "its memory": (lambda x: memoryview(np.asarray(x)), lambda m: m[()]),
    "a view": (lambda x: x[...], float),
    "its node": (lambda x: x._node, lambda n: float(n.value)),
    "a weak reference to its node": (lambda x: weakref.ref(x._node), lambda r: r() or 1.5),
    "a weak reference to its value": (lambda x: weakref.ref(x._node.value), lambda r: r() or 1.5),
    "a tuple": (lambda x: (x, x), lambda t: float(t[1])),
}


@pytest.mark.parametrize("name", HOLDS)
def test_what_is_held_stays(name: str) -> None:
    hold, tell = HOLDS[name]
    x = xp.asarray(X)
    held = hold(x[1])
    others = [x[0] + x[i] for i in (2, 3)]
    more = x[2] * 7.0
    assert tell(held) == 1.5
    assert [float(y) for y in others] == [3.0, 4.0]
    assert more == 17.5


def test_a_weak_reference_to_an_array_that_dies_is_dead() -> None:
    x = xp.asarray(X)
    y = x[1]
    dead: list[Any] = []
    known = weakref.ref(y, dead.append)
    del y
    z = x[2]
    assert known() is None
    assert dead == [known]
    assert z == 2.5


def test_what_is_written_to_a_number_goes_with_it() -> None:
    x = xp.asarray(X)
    y = x[1]
    y[()] = 9.0
    del y
    assert x[1] == 1.5
    assert x.tolist() == X.tolist()


@pytest.mark.parametrize("dtype", "?bhilqBHILQfdFD")
def test_numbers_of_every_dtype_have_their_own(dtype: str) -> None:
    values = np.arange(4).astype(dtype)
    x, y = xp.asarray(values), xp.asarray(X)
    for i in range(4):
        found, other = x[i], y[i]
        assert found.dtype == values.dtype
        assert found == values[i]
        assert other == X[i]
        del found, other


def test_what_numpy_set_is_not_handed_on() -> None:
    x = xp.asarray(X)
    y = x[1]
    np.asarray(y._node.value).setflags(write=False)
    y._node.value.setflags(write=False)
    del y
    z = x[2]
    z[()] = 4.0
    assert z == 4.0


def test_numbers_in_cycles_are_collected() -> None:
    x = xp.asarray(X)
    for _ in range(3):
        for i in range(40):
            cycle: list[Any] = [x[i % 4], x[1] * float(i), xp.asarray(X[2])]
            cycle.append(cycle)
        del cycle
        gc.collect()
        assert [float(x[i] + x[1]) for i in range(4)] == [2.0, 3.0, 4.0, 5.0]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("+-*<"), st.integers(0, 9)), max_size=60))
def test_random_lives(steps: list[tuple[int, str, int]]) -> None:
    x, ours, numpys = xp.asarray(X), [*xp.asarray(X)], [*X]
    for i, how, at in steps:
        k = at % len(ours)
        if how == "+":
            ours.append(ours[k] + x[i])
            numpys.append(numpys[k] + X[i])
        elif how == "*":
            ours[k], numpys[k] = ours[k] * x[i], numpys[k] * X[i]
        elif how == "<":
            assert bool(ours[k] < x[i]) == bool(numpys[k] < X[i])
        elif len(ours) > 1:
            del ours[k], numpys[k]
    assert [float(y) for y in ours] == [float(y) for y in numpys]
