"""Each primitive on meshes of one to eight devices, its operands cut at random, against the host."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from distributed import Client

from nabla_array._lazy.graph.aval import Aval
from nabla_array._lazy.ops import placement
from nabla_array.distributed import DeviceMesh
from nabla_array.distributed.rules import partition

from ..lazy.cpu.test_loops import of_row, reference
from ..lazy.execution import assert_same
from ..lazy.registry import ROWS, Row, each
from .clusters import threads
from .meshes import MESHES, random_layout, run

ON_MESHES = [r for r in ROWS if r.prim not in (placement.resident, placement.transfer)]


def assert_close(got: np.ndarray, wanted: np.ndarray, ulps: int = 64) -> None:
    """The same but for the order of sums."""
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    if wanted.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, wanted)
        return
    eps = ulps * np.finfo(wanted.dtype).eps
    some = np.abs(wanted[np.isfinite(wanted)])
    with np.errstate(all="ignore"):
        scale = float(some.max(initial=0))
        np.testing.assert_allclose(got, wanted, rtol=eps, atol=eps * min(scale, 1e300), equal_nan=True)


def check(row: Row, meshes: list[DeviceMesh], first: int = 0) -> None:
    program = of_row(row)
    wanted = reference(program, row.inputs)
    exact = isinstance(row.prim.aval(*program.inputs, **row.params), Aval) and row.prim.reducer is None
    for seed, mesh in enumerate(meshes, first):
        # A sum of terms has no negative zeros, and no infinity times its zeros.
        found = run(program, mesh, row.inputs, seed, sums=not (exact and row.exact))
        for got, want in zip(found, wanted, strict=True):
            if exact and row.exact:
                assert_same(np.asarray(got), want)
            else:
                assert_close(got, want)


@pytest.mark.parametrize("first", [0, pytest.param(len(MESHES), marks=pytest.mark.slow)])
@each(ON_MESHES)
def test_every_primitive(row: Row, first: int) -> None:
    check(row, MESHES, first)


# Operations that take all of their operands on every device, wherever these lie.
WHOLE: dict[str, str] = {}


@each(ON_MESHES)
def test_every_primitive_has_a_rule(row: Row) -> None:
    program, rng = of_row(row), np.random.default_rng(0)
    for mesh in MESHES:
        layouts = [random_layout(mesh, x.shape, rng) for x in row.inputs]
        p = partition(mesh, program, layouts)
        assert not p.unruled or row.prim.name in WHOLE


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with threads(2) as client:
        yield client


@each({r.prim: r for r in ON_MESHES}.values())
def test_every_primitive_on_workers(row: Row, client: Client) -> None:
    """Records and their params can be sent."""
    check(row, [DeviceMesh((2, 2), ("a", "b"), engine="dask", client=client)])
