"""The steps by which views see the elements of the arrays that own them, against NumPy's views."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.ops.structure import permute, reshape, slice_
from nabla_array._namespace.core.steps import Step, View, add_step, order_step, same_part

LENGTH = 24
_bounds = st.none() | st.integers(-LENGTH, LENGTH)
slices = st.builds(slice, _bounds, _bounds, st.none() | st.integers(-3, 3).filter(bool))


def view_of(x: xp.Array) -> View:
    """Return what a view knows of itself."""
    assert x._view is not None
    return x._view


def number(i: xp.Array) -> int:
    """Return the value of an index."""
    return int(i)


@given(st.lists(slices, min_size=1, max_size=5))
def test_no_two_slices_follow_one_another(keys: list[slice]) -> None:
    seen, wanted = xp.arange(LENGTH), np.arange(LENGTH)
    owner = seen
    for key in keys:
        seen, wanted = seen[key], wanted[key]
    steps = view_of(seen).steps
    prims = [step.prim for step in steps]
    assert (slice_, slice_) not in itertools.pairwise(prims)
    assert seen.tolist() == wanted.tolist()
    shown = np.asarray(owner)
    for step in steps:
        shown = step.shown(shown, number)
    assert (shown.tolist(), shown.shape) == (wanted.tolist(), wanted.shape)


def test_steps_that_are_not_slices_follow_one_another() -> None:
    steps: tuple[Step, ...] = ()
    for new in (order_step((1, 0)), order_step((1, 0)), Step(reshape, {"shape": (6,)})):
        steps = add_step(steps, new)
    assert [step.prim for step in steps] == [permute, permute, reshape]


def test_a_view_knows_the_key_that_it_was_read_with() -> None:
    x = xp.arange(6)
    key = slice(1, 3)
    part = x[key]
    assert view_of(part).is_part(x, key)
    assert not view_of(part).is_part(xp.arange(6), key)
    assert not view_of(part).is_part(x, slice(1, 4))


@pytest.mark.parametrize(
    ("change", "count"),
    [
        (lambda x: None, 0),
        (lambda x: setattr(x, "shape", (4, 6)), 1),
        (lambda x: setattr(x, "dtype", np.int32), 3),
    ],
)
def test_a_view_finds_back_to_the_owners_former_shape_and_dtype(change: object, count: int) -> None:
    x = xp.arange(LENGTH, dtype=xp.int64)
    part = x[2:5]
    seen = view_of(part)
    assert callable(change)
    change(x)
    back = seen.back()
    assert back is not None
    assert len(back) == count
    assert part.tolist() == [2, 3, 4]


def test_a_view_of_an_owner_with_other_memory_does_not_find_back() -> None:
    x = xp.arange(LENGTH)
    seen = view_of(x[2:5])
    x.resize(30, refcheck=False)
    assert seen.back() is None


def test_a_part_of_new_elements_lies_as_that_of_the_former() -> None:
    was, now = np.arange(12.0), np.arange(12.0) + 100
    found = same_part(was[3:9:2], was, now)
    assert found is not None
    assert found.tolist() == [103, 105, 107]
    assert np.shares_memory(found, now)


@pytest.mark.parametrize(
    "now",
    [None, np.arange(11.0), np.arange(12), np.arange(24.0)[::2], np.arange(12.0).reshape(12)],
    ids=["pending", "shorter", "of another dtype", "strided", "a view"],
)
def test_no_part_of_elements_that_lie_otherwise(now: np.ndarray | None) -> None:
    was = np.arange(12.0)
    assert same_part(was[3:9:2], was, now) is None
