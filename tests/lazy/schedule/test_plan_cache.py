"""The plan cache: what has one schedule, and what has one of its own."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import Array
from nabla_array._lazy.graph.program import Program, linearize, pending_order
from nabla_array._lazy.native import compiled
from nabla_array._lazy.run import planning, tiers
from nabla_array._lazy.schedule import planned
from nabla_array._lazy.schedule.plan_cache import MOST, keep, plans

from ..execution import in_jobs

X = np.linspace(0.1, 2.0, 60).reshape(12, 5)


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    with patch.dict(plans, clear=True):
        yield


def program_of(x: Array) -> Program:
    return linearize(pending_order([x._node]), [x._node]).program


def layer() -> Array:
    return xp.tanh(xp.asarray(X) @ xp.asarray(np.eye(5)) + 1.0) * 2.0


def test_it_does_not_grow_without_bound() -> None:
    for k in range(3 * MOST):
        assert keep((False, k), k) == k
        assert plans[False, k] == k
        assert len(plans) <= MOST


def test_equal_programs_have_one_plan() -> None:
    one, other = program_of(xp.asarray(X) * 2.0 + 1.0), program_of(xp.asarray(X + 1) * 2.0 + 1.0)
    assert one is not other
    assert planning.planned(one) is planning.planned(other)
    assert tiers.on_host(one) is tiers.on_host(other)
    assert planning.planned(program_of(xp.asarray(X) * 2.0 + 3.0)) is not planning.planned(one)


def test_the_mode_max_has_plans_of_its_own() -> None:
    program = program_of(xp.asarray(X) * 2.0 + 1.0)
    found = []
    for mode in ("host", "auto", "max"):
        with xp.config(mode=mode):
            found.append(planning.planned(program))
    host, auto, of_max = found
    assert host is auto is not of_max


@pytest.mark.skipif(compiled is None, reason="keys of graphs are made by compiled code")
def test_graphs_with_one_key_are_partitioned_once() -> None:
    with in_jobs(), patch.object(planned, "partition", side_effect=planned.partition) as spy:
        for k in range(4):
            x = xp.asarray(X + k)
            np.testing.assert_array_equal(np.asarray(xp.exp(x) * 2.0 + x), np.exp(X + k) * 2.0 + (X + k))
        assert spy.call_count == 1
        assert np.asarray(xp.exp(xp.asarray(X)) * 2.0 + 1.0).shape == X.shape
        assert spy.call_count == 2


def test_a_forked_child_begins_anew() -> None:
    import os

    if not hasattr(os, "fork"):
        pytest.skip("this system cannot fork")
    np.asarray(layer())
    planning.planned(program_of(layer()))
    assert plans
    child = os.fork()
    if not child:
        os._exit(bool(plans))
    assert os.waitpid(child, 0)[1] == 0
