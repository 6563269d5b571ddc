"""Devices that are threads of this process."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, engines, shard


def heat(np: Any, u: Any) -> Any:
    for _ in range(4):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u = np.pad(0.5 * u[1:-1, 1:-1] + 0.125 * around, 1)
    return u


@pytest.mark.parametrize("spec", [P("x"), P(None, "x")], ids=str)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("shape", [(40, 30), (13, 17), (3, 6)], ids=str)
def test_neighbours_edges_are_views(shape: tuple[int, int], size: int, spec: Any) -> None:
    u = np.random.default_rng(0).standard_normal(shape)
    x = 1.0 * shard(u, DeviceMesh((size,), ("x",)), spec)
    xp.eval(x)
    with patch.object(engines, "joined", side_effect=engines.joined) as copies:
        np.testing.assert_array_equal(np.asarray(heat(xp, x)), heat(np, u), strict=True)
    if min(shape) > 12 and size < 5:  # no device has nothing to do
        assert not copies.called
