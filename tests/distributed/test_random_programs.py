"""Random programs on meshes, against the same on the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from distributed import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nabla_array._lazy.run.evaluator import value_of
from nabla_array.distributed import DeviceMesh

from ..lazy.cpu.test_loops import NUMBERS, chosen, recorded, reference
from ..lazy.run.test_random_graphs import _PICKS, OPERATIONS, leaves
from .clusters import threads
from .meshes import meshes, run
from .test_registry import assert_close


def _counts(ns: Any, x: Any) -> Any:
    """Small integers, which sum exactly in any order."""
    return ns.astype(ns.isfinite(x), np.int64)


def _real(ns: Any, x: Any) -> Any:
    if x.dtype.kind == "c" or not x.size:
        raise TypeError  # the order of complex numbers is not that of the standard
    return x + x.dtype.type(0) if x.dtype.kind == "f" else x  # no -0.0, which any order may put anywhere


def _rows(ns: Any, x: Any, k: int) -> Any:
    if not x.ndim or not x.shape[0]:
        raise IndexError
    return ns.asarray([(k + 3 * n) % x.shape[0] - (n % 2) * x.shape[0] for n in range(k % 4 + 1)])


def _copy(ns: Any, x: Any) -> Any:
    return ns.asarray(x, copy=True)


def _write(ns: Any, xs: list[Any], k: int) -> Any:
    """Write to an array through an index, or a view, of it."""
    x = _copy(ns, xs[0])
    keys: list[Any] = [slice(1, None), slice(None, None, 2), slice(None, None, -1), (..., slice(0, 2)), 0]
    view = x[keys[k % 5]]
    if k < 5:
        x[keys[k % 5]] = x[keys[k % 5]][..., :1]
    else:
        view += view.dtype.type(1)
    return x


def _write_rows(ns: Any, xs: list[Any], k: int) -> Any:
    x = _copy(ns, xs[0])
    x[_rows(ns, x, k)] = x.dtype.type(1) if k < 5 else x[0]
    return x


def _index(ns: Any, xs: list[Any], k: int) -> Any:
    if not xs[0].ndim or not xs[0].shape[0]:
        raise IndexError
    return xs[0][_counts(ns, xs[1]) * (k % xs[0].shape[0])]


def _axis(x: Any, k: int) -> int:
    return k % x.ndim if x.ndim else 0


# What is done along an axis, at indices, or to parts of an array.
MORE = {
    "cumsum": (1, lambda ns, xs, k: ns.cumsum(_counts(ns, xs[0]), axis=_axis(xs[0], k))),
    "argmax": (1, lambda ns, xs, k: ns.argmax(_real(ns, xs[0]), axis=_axis(xs[0], k))),
    "argmin": (1, lambda ns, xs, k: ns.argmin(_real(ns, xs[0]), axis=_axis(xs[0], k))),
    "sort": (1, lambda ns, xs, k: ns.sort(_real(ns, xs[0]), axis=_axis(xs[0], k))),
    "argsort": (1, lambda ns, xs, k: ns.argsort(_real(ns, xs[0]), axis=_axis(xs[0], k), stable=True)),
    "rows": (1, lambda ns, xs, k: xs[0][_rows(ns, xs[0], k)]),
    "index": (2, _index),
    "flip": (1, lambda ns, xs, k: ns.flip(xs[0], axis=_axis(xs[0], k))),
    "roll": (1, lambda ns, xs, k: ns.roll(xs[0], k - 4, axis=_axis(xs[0], k))),
    "shifted": (1, lambda ns, xs, k: xs[0][2:] * xs[0][:-2] + xs[0][1:-1]),
    "write": (1, _write),
    "write rows": (1, _write_rows),
}
EVERYTHING: dict[str, Any] = {**OPERATIONS, **MORE}
INSTRUCTIONS = st.lists(
    st.tuples(st.sampled_from(sorted(EVERYTHING)), _PICKS, st.integers(0, 9)), min_size=1, max_size=20
)


def check(inputs: list[np.ndarray], instructions: Any, kept: set[int], mesh: DeviceMesh, seed: int) -> None:
    program, captured = recorded(inputs, instructions, EVERYTHING)
    program, values = chosen(program, kept), [*inputs, *map(value_of, captured)]
    wanted = reference(program, values)
    for got, want in zip(run(program, mesh, values, seed), wanted, strict=True):
        assert_close(np.asarray(got), want)


@pytest.mark.slow
@settings(max_examples=1000)
@given(leaves(), INSTRUCTIONS, NUMBERS, meshes, st.integers(0, 1 << 30))
def test_random_programs(
    inputs: list[np.ndarray], instructions: list[Any], kept: set[int], mesh: DeviceMesh, seed: int
) -> None:
    check(inputs, instructions, kept, mesh, seed)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with threads(3) as client:
        yield client


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(leaves(), INSTRUCTIONS, NUMBERS, meshes, st.integers(0, 1 << 30))
def test_random_programs_on_workers(
    client: Client,
    inputs: list[np.ndarray],
    instructions: list[Any],
    kept: set[int],
    mesh: DeviceMesh,
    seed: int,
) -> None:
    there = DeviceMesh(mesh.shape, mesh.axis_names, engine="dask", client=client)
    check(inputs, instructions, kept, there, seed)
