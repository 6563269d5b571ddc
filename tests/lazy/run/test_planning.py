"""Plans of programs in the modes."""

from __future__ import annotations

import numpy as np

import nabla_array as xp
from nabla_array._lazy.graph.program import Program, linearize, pending_order
from nabla_array._lazy.run import planning


def _program(a: np.ndarray) -> Program:
    y = xp.sqrt(xp.asarray(a)) * 2.0 + 1.0
    return linearize(pending_order([y._node]), [y._node]).program


def test_a_mode_has_its_plan_of_a_program() -> None:
    program = _program(np.ones((100, 100)))
    plans = {}
    for mode in ("host", "auto", "max"):
        with xp.config(mode=mode):
            plans[mode] = planning.planned(program)
            assert planning.planned(program) is plans[mode]
    assert plans["host"] is plans["auto"] is not plans["max"]


def test_a_schedule_is_kept() -> None:
    plan = planning.planned(_program(np.ones((100, 100))))
    assert planning.schedule_of(plan) is planning.schedule_of(plan)
