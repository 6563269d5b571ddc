"""Fusion groups that write results directly into concatenations, and into parts of arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.cpu import blocks
from nabla_array._lazy.native import compiled
from nabla_array._lazy.schedule.steps import Fused

from ...recorded import everything_recorded
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


# -- parts of arrays -------------------------------------------------------------------------------------


def _key(rng: np.random.Generator, shape: tuple[int, ...], size: tuple[int, ...]) -> tuple[slice, ...]:
    """Return slices of some size, which may go backwards, or by two."""
    key = []
    for n, m in zip(shape, size, strict=True):
        step = int(rng.choice([1, 1, 1, -1, 2])) if 2 * m <= n else int(rng.choice([1, 1, -1]))
        first = int(rng.integers(0, n - abs(step) * (m - 1)))
        last = first + abs(step) * (m - 1)
        stop = first - 1 if first else None
        key.append(slice(first, last + 1, step) if step > 0 else slice(last, stop, step))
    return tuple(key)


def _written(ns: Any, arrays: list[Any], seed: int) -> list[Any]:
    """Write to parts of arrays what is made of others, or of them, while copies and views look on."""
    rng = np.random.default_rng(seed)
    kept: list[Any] = []
    for _ in range(8):
        i, j, k = rng.integers(0, len(arrays), 3)
        x, y, z = arrays[i], arrays[j], arrays[k]
        size = tuple([int(rng.integers(1, n)) for n in x.shape])
        into, one, other = (_key(rng, x.shape, size) for _ in range(3))
        into, one = (into, into) if rng.random() < 0.3 else (into, one)
        match rng.integers(0, 7):
            case 0:
                x[into] = y[one] * 2.0 + z[other]
            case 1:
                x[into] += y[one] * 0.5
            case 2:
                held = y[one] - z[other]
                x[into] = held
                x[...] = x * 2.0
                kept.append(held)
            case 3:
                kept.append(x.copy())
                x[into] = x[one] + 1.0
            case 4:
                kept.append(x[other])
                x[into] = ns.maximum(x[one], y[other])
            case 5:
                x[...] = y - z
            case _:
                x[into] = ns.where(y[one] > 0, y[one], z[other])
                x[into][...] -= 1.0
    return [*arrays, *kept]


@pytest.mark.parametrize("seed", range(60))
def test_parts_that_are_written_to_are_numpys(seed: int) -> None:
    start = np.random.default_rng(seed).standard_normal((3, 9, 7))
    wanted = _written(np, [x.copy() for x in start], seed)
    for way in (in_blocks, in_jobs):
        with everything_recorded(), way():
            arrays = [xp.eval(xp.asarray(x)) for x in start]
            for a, b in zip(_written(xp, arrays, seed), wanted, strict=True):
                np.testing.assert_array_equal(np.asarray(a), b, strict=True)


U = np.random.default_rng(1).standard_normal((700, 1000))  # larger than what compiled code takes at once


@contextmanager
def over_parts() -> Iterator[list[int]]:
    """Note how many results of each fusion group are written where they stay."""
    found: list[int] = []

    def noted(*args: Any) -> Any:
        made = _changed(*args)
        found.append(len(made))
        return made

    _changed = blocks._changed
    with patch.object(blocks, "_changed", noted), xp.config(mode="host"):
        yield found


@pytest.mark.skipif(compiled is None, reason="Python's blocks may fail half-way: they write elsewhere first")
def test_what_is_written_where_it_stays() -> None:
    u, v = xp.asarray(U), xp.asarray(U)
    v[0] = 0.0  # it has memory of its own now
    a, b = U, U.copy()
    b[0] = 0.0
    with over_parts() as found:
        v[1:-1] = u[1:-1] * 2.0 + 1.0
        v[1:-1] += u[:-2] * 0.5  # this is recorded
        xp.eval(v)
        v[1:-1, 1:-1] *= 3.0
        xp.eval(v)
        v[:-1] = u[1:] - u[:-1] * v[:-1]
        assert found == [1] * 4
        held = u[1:] * 2.0
        v[1:] = held  # kept: it is copied
        v[1:] = v[:-1] + 1.0  # it reads what it writes elsewhere
        assert sum(found[4:]) == 0
    b[1:-1] = a[1:-1] * 2.0 + 1.0
    b[1:-1] += a[:-2] * 0.5
    b[1:-1, 1:-1] *= 3.0
    b[:-1] = a[1:] - a[:-1] * b[:-1]
    b[1:] = a[1:] * 2.0
    b[1:] = b[:-1] + 1.0
    np.testing.assert_array_equal(np.asarray(v), b)
    np.testing.assert_array_equal(np.asarray(held), U[1:] * 2.0)
    np.testing.assert_array_equal(np.asarray(u), U)


def test_nothing_is_written_before_an_error() -> None:
    x, whole = xp.asarray(U), np.arange(700_000).reshape(700, 1000)
    x[0] = 0.0
    before = np.asarray(x)
    with xp.errstate(divide="raise"), pytest.raises(FloatingPointError):
        x[1:] = 1.0 / x[:-1]
    with xp.config(float_warnings=True), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            x[1:] = 1.0 / x[:-1]
    np.testing.assert_array_equal(np.asarray(x), before)
    n = xp.asarray(whole)
    with pytest.raises(ValueError, match="negative integer powers"):
        n[1:] = n[1:] ** (n[:-1] - 5)
    with pytest.raises(ValueError, match="setitem"):
        n[1:] = n[:-2] * 2
    np.testing.assert_array_equal(np.asarray(n), whole)


def test_warnings_of_what_is_written_are_heard_once() -> None:
    x = xp.asarray(np.zeros((700, 1000)))
    with xp.config(float_warnings=True), pytest.warns(RuntimeWarning, match="divide by zero") as heard:
        x[1:] = 1.0 / x[:-1]
    assert len(heard) == 1
    assert np.isinf(np.asarray(x)[1:]).all()


def _right(ns: Any, v: Any) -> None:
    v[:, 1:] = v[:, :-1] * 2.0 + 1.0


def _left(ns: Any, v: Any) -> None:
    v[:, :-1] = v[:, 1:] * 2.0 + v[:, :-1]


def _even(ns: Any, v: Any) -> None:
    v[:, ::2] = v[:, 1::2] + v[:, ::2]


def _added(ns: Any, v: Any) -> None:
    v[:, 1:] += v[:, :-1]


def _with_sums(ns: Any, v: Any) -> None:
    v[:, 1:] += ns.max(v.reshape(len(v), -1, 1), axis=1)


def _turned_round(ns: Any, v: Any) -> None:
    v[:, ::-1] = v * 2.0


@pytest.mark.parametrize(
    "write", [_right, _left, _even, _added, _with_sums, _turned_round], ids=lambda f: f.__name__
)
def test_whole_rows_that_are_read_elsewhere(write: Callable[[Any, Any], None]) -> None:
    v, wanted = xp.eval(xp.asarray(U) * 1.0), U.copy()
    with xp.config(mode="host"):
        for _ in range(2):
            write(xp, v)
            xp.eval(v)
            write(np, wanted)
    np.testing.assert_array_equal(np.asarray(v), wanted)
