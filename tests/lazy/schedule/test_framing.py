"""Fusion groups that write results directly into concatenations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.schedule.steps import Fused

from ..execution import in_blocks, in_jobs
from .test_groups import planned


def padded(x: Any, y: Any) -> list[Any]:
    return [np.pad(x + y, 1)]


def side_by_side(x: Any, y: Any) -> list[Any]:
    return [np.concatenate([x + y, y, x * y, x + y], axis=1)]


def nested(x: Any, y: Any) -> list[Any]:
    one, other = np.concatenate([x + y, y]), np.concatenate([x * y, x])
    return [np.concatenate([one, other, one], axis=1)]


def needed_elsewhere(x: Any, y: Any) -> list[Any]:
    kept = x + y
    return [np.concatenate([kept, x * y, x]), kept, np.concatenate([kept, kept])]


def waiting_for_itself(x: Any, y: Any) -> list[Any]:
    shared = x + y
    return [np.concatenate([shared * 2.0, np.sort(shared * 3.0)])]


def reversed_later(x: Any, y: Any) -> list[Any]:
    return [np.concatenate([x[::-1] - y, np.flip(y), np.sort(y)]) * 2.0]


def in_two_concatenations(x: Any, y: Any) -> list[Any]:
    shared = x + y
    return [np.concatenate([shared, x * y]), np.concatenate([y - x, shared], axis=1)]


def sums_beside_elements(x: Any, y: Any) -> list[Any]:
    z = x * y
    return [np.concatenate([z.sum(axis=1), z.max(axis=1) * 2.0, y[:, 0]])]


def truth_values(x: Any, y: Any) -> list[Any]:
    return [np.concatenate([np.isnan(x + y), np.isnan(y), x > y], axis=1)]


CASES = [
    padded,
    side_by_side,
    nested,
    needed_elsewhere,
    waiting_for_itself,
    reversed_later,
    in_two_concatenations,
    sums_beside_elements,
    truth_values,
]


@pytest.mark.parametrize("is_fortran", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_values_are_numpys(case: Callable[..., list[Any]], is_fortran: bool) -> None:
    rng = np.random.default_rng(0)
    x, y = (np.asarray(a, order="F" if is_fortran else "C") for a in rng.standard_normal((2, 7, 5)))
    x[2, 3] = np.nan
    wanted = case(x, y)
    for way in (in_blocks, in_jobs):
        with way():
            found = case(xp.asarray(x), xp.asarray(y))
            xp.eval(*found)
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(np.asarray(a), b, strict=True)


@pytest.mark.parametrize(
    ("case", "frames"),
    [
        (padded, 2),
        (side_by_side, 1),
        (nested, 3),
        (waiting_for_itself, 0),
        (in_two_concatenations, 2),
        (sums_beside_elements, 1),
        (truth_values, 1),
    ],
    ids=lambda f: getattr(f, "__name__", str(f)),
)
def test_what_is_written_at_once(case: Callable[..., list[Any]], frames: int) -> None:
    x, y = xp.asarray(np.ones((7, 5))), xp.asarray(np.ones((7, 5)))
    steps = planned(*case(x, y)).steps
    assert sum([len(s.frames) for s in steps if isinstance(s, Fused)]) == frames


def test_an_operand_that_dies_is_read_before_it_is_written_over() -> None:
    with in_jobs():
        x: Array = xp.asarray(np.arange(12.0).reshape(4, 3)) * 1.0
        xp.eval(x)
        out = xp.concat([x, x + 1.0])
        del x
        np.testing.assert_array_equal(np.asarray(out)[:4], np.arange(12.0).reshape(4, 3))
