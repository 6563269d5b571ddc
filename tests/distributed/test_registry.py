"""Each primitive on meshes of one to eight devices, its operands cut at random, against the host."""

from __future__ import annotations

import numpy as np
import pytest

from nabla_array._lazy.graph.aval import Aval
from nabla_array._lazy.ops import placement

from ..lazy.cpu.test_loops import of_row, reference
from ..lazy.execution import assert_same
from ..lazy.registry import ROWS, Row
from .meshes import MESHES, run

ON_MESHES = [r for r in ROWS if r.prim not in (placement.resident, placement.transfer)]


def assert_close(got: np.ndarray, wanted: np.ndarray) -> None:
    """The same but for the order of sums."""
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    if wanted.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, wanted)
        return
    eps = np.finfo(wanted.dtype).eps
    some = np.abs(wanted[np.isfinite(wanted)])
    with np.errstate(all="ignore"):
        scale = float(some.max(initial=0))
        np.testing.assert_allclose(
            got, wanted, rtol=64 * eps, atol=64 * eps * min(scale, 1e300), equal_nan=True
        )


@pytest.mark.parametrize("row", ON_MESHES, ids=str)
def test_every_primitive(row: Row) -> None:
    program = of_row(row)
    wanted = reference(program, row.inputs)
    exact = isinstance(row.prim.aval(*program.inputs, **row.params), Aval) and row.prim.reducer is None
    for seed, mesh in enumerate(MESHES * 2):
        for got, want in zip(run(program, mesh, row.inputs, seed), wanted, strict=True):
            if exact and row.exact:
                assert_same(np.asarray(got), want)
            else:
                assert_close(got, want)
