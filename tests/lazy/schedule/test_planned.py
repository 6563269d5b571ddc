"""A program's schedules: with parts on MAX, with tiles, and when neither fits."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.cpu import row_tiling
from nabla_array._lazy.cpu.kernels import Unfit
from nabla_array._lazy.graph.program import Program, linearize, pending_order
from nabla_array._lazy.native import compiled
from nabla_array._lazy.run import planning, tiers
from nabla_array._lazy.schedule.plan_cache import plans
from nabla_array._lazy.schedule.planned import Planned
from nabla_array._lazy.schedule.steps import Compiled, Tiled

from ..canonical_host import numpy_as_max
from ..execution import in_pieces

X = np.linspace(0.1, 2.0, 60).reshape(12, 5)


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    with patch.dict(plans, clear=True):
        yield


def program_of(x: Array) -> Program:
    return linearize(pending_order([x._node]), [x._node]).program


def layer() -> Array:
    return xp.tanh(xp.asarray(X) @ xp.asarray(np.eye(5)) + 1.0) * 2.0


def test_what_is_ready_on_max_is_part_of_the_key() -> None:
    program = program_of(xp.sort(xp.asarray(X) * 2.0 + 1.0) * 3.0 + 1.0)
    with numpy_as_max(), xp.config(mode="auto"):
        plan = planning.planned(program)
        assert tiers.foreseen(plan) is tiers.on_host(program)
        first, second = [r.kernel for r in tiers.runners_of(plan) if r.kernel is not None]
        first.state = "ready"
        one = tiers.foreseen(plan)
        assert [isinstance(s, Compiled) for s in one.steps].count(True) == 1
        second.state = "ready"
        both = tiers.foreseen(plan)
        assert [isinstance(s, Compiled) for s in both.steps].count(True) == 2
        first.fail("for a reason")
        second.fail("for a reason")
        assert tiers.foreseen(plan) is tiers.on_host(program)


@pytest.mark.skipif(compiled is None, reason="compiled code runs tiles")
def test_threads_decide_whether_there_are_tiles() -> None:
    program = program_of(layer())
    with in_pieces():
        tiled = tiers.on_host(program)
        assert any(isinstance(s, Tiled) for s in tiled.steps)
        with xp.config(threads=1):
            assert not tiers.on_host(program).tiled
        assert tiers.on_host(program) is tiled


@pytest.mark.skipif(compiled is None, reason="compiled code runs tiles")
def test_what_is_unfit_for_tiles_is_run_whole_at_once_and_ever_after() -> None:
    tries = []

    def unfit(*args: object) -> None:
        tries.append(args)
        raise Unfit

    with in_pieces(), patch.object(row_tiling, "_Ready", unfit):
        for _ in range(3):
            np.testing.assert_allclose(np.asarray(layer()), np.tanh(X + 1.0) * 2.0, rtol=1e-15)
        assert len(tries) == 1
        (plan,) = {id(p): p for p in plans.values() if isinstance(p, Planned)}.values()
        assert not plan.may_tile
