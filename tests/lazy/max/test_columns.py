"""Columns give what whole arrays give, and are there where reductions end them, nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.max import trials
from nabla_array._lazy.max.backend import primitives
from nabla_array._lazy.max.canonical import CanonicalProgram, parse
from nabla_array._lazy.max.columns import taken_apart

from ..canonical_host import numpy_as_max
from ..execution import assert_same
from .test_canonical import canonical


def _distances(ns: Any, p: Any, q: Any) -> Any:
    d = p[:, None, :] - q[None, :, :]
    return ns.sqrt(ns.sum(d * d, axis=-1))


def _forces(ns: Any, p: Any, q: Any) -> Any:
    d = p[None, :, :] - p[:, None, :]
    r2 = ns.sum(d * d, axis=-1) + 1e-3
    return ns.sum(d * (q[None, :40, 0] / (r2 * ns.sqrt(r2)))[:, :, None], axis=1)


def _extremes(ns: Any, p: Any, q: Any) -> Any:
    d = ns.where(p[:, None, :] > q, p[:, None, :] * 2.0, -q)
    return ns.max(d, axis=2) - ns.min(d, axis=2) * ns.prod(1.0 + d, axis=2)


def _counted(ns: Any, p: Any, q: Any) -> Any:
    return ns.sum(ns.astype(p > 0, np.int32) * 3, axis=1)


def _twice(ns: Any, p: Any, q: Any) -> Any:
    return ns.sum(ns.sum(p[:, None, :] * q, axis=0) * 2.0, axis=1)


def _weighted(ns: Any, p: Any, q: Any) -> Any:
    return ns.sum(p * ns.exp(q[:40, :1]), axis=0)


CASES = [_distances, _forces, _extremes, _counted, _twice, _weighted]


def _points() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((n, 3)) for n in (40, 50)]


def _rewritten(f: Callable[..., Any]) -> CanonicalProgram:
    return taken_apart(parse(canonical(f(xp, *map(xp.asarray, _points()))).key), primitives())


@pytest.mark.parametrize("f", CASES)
def test_columns_have_the_results_of_whole_arrays(f: Callable[..., Any]) -> None:
    points = _points()
    with numpy_as_max(), xp.config(mode="max"):
        got = np.asarray(f(xp, *map(xp.asarray, points)))
        assert all(k.hits and not k.message for k in trials.kernels())
    assert_same(got, f(np, *points), exact=False)


@pytest.mark.parametrize("f", CASES)
def test_nothing_is_computed_along_three_coordinates(f: Callable[..., Any]) -> None:
    wide = [e.prim for e in _rewritten(f).eqns if e.shape[-1:] == (3,) and e.prim not in ("fill", "reshape")]
    assert wide in ([], ["concat"])  # what is left is a result of three columns


@pytest.mark.parametrize(
    "f",
    [
        lambda ns, p, q: p * 2.0 + q[:40],  # nothing is reduced
        lambda ns, p, q: p / ns.sum(p, axis=1, keepdims=True),  # the columns would be put together again
        lambda ns, p, q: ns.sum(p * 2.0),  # the axes are one
        lambda ns, p, q: ns.argmax(p * 2.0, axis=1),  # not a reduction of two columns to one
        lambda ns, p, q: ns.any(p > 0.5, axis=1),
    ],
)
def test_the_rest_stays_as_it_is(f: Callable[..., Any]) -> None:
    made = canonical(f(xp, *map(xp.asarray, _points()))).key
    assert taken_apart(parse(made), primitives()) == parse(made)


def test_long_rows_are_not_taken_apart() -> None:
    x = xp.asarray(np.ones((40, 5)))
    made = canonical(xp.sum(x * x, axis=1)).key
    assert taken_apart(parse(made), primitives()) == parse(made)
