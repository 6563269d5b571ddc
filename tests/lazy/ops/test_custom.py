"""Calls with rules of their own: who takes them, and how far down they are for whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nabla_array._lazy.graph.node import Node, leaf, record
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.graph.program import run
from nabla_array._lazy.graph.tape import taping
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.ops.custom import (
    again_call,
    custom_jvp_call,
    custom_jvp_result,
    custom_vjp_call,
    through,
)
from nabla_array._lazy.ops.structure import barrier, project
from nabla_array._lazy.rules.autodiff import pull, results_of
from nabla_array._lazy.run.evaluator import value_of

from ..registry import avals, body, random
from ..rules.test_autodiff import assert_near, differences, tangent_of


class Rule:
    """Two results, then an argument that is differentiated, then one that is captured."""

    outs, args = 2, 1

    def __init__(self, depth: int = 0) -> None:
        self.depth = depth
        self.told: list[Any] = []

    def at_depth(self, depth: int) -> Rule:
        return Rule(depth)

    def push(self, tangents: Any, operands: Any) -> Any:
        self.told.append(("push", len(tangents), len(operands)))
        return ["pushed"]

    def push_result(self, tangents: Any, operands: Any) -> Any:
        return ["pushed result"]

    def pull(self, *told: Any) -> Any:
        return told


ARGUMENT, RESULT, CAPTURED = (
    (False, False, True, False),
    (True, False, False, False),
    (False, False, False, True),
)


@pytest.mark.parametrize(
    ("call", "past"), [(custom_jvp_call, custom_jvp_result), (custom_vjp_call, through)], ids=str
)
def test_the_innermost_derivative_by_an_argument_takes_a_call(call: Primitive, past: Primitive) -> None:
    """Those further out see what the rule computes; one by results, or by what is captured, does not."""

    def seen(moves: Any, depth: int, how: str) -> tuple[Primitive, int]:
        assert call.seen is not None
        prim, params = call.seen(moves, {"rule": Rule(depth)}, how)
        return prim, params["rule"].depth

    assert seen(ARGUMENT, 0, "taken") == (past, 0)
    assert seen(RESULT, 0, "taken") == seen(CAPTURED, 0, "taken") == (call, 0)
    assert seen(ARGUMENT, 2, "taken") == (call, 1)
    assert seen(RESULT, 2, "taken") == (call, 2)
    assert seen(ARGUMENT, 0, "deeper") == (call, 1)
    assert seen(ARGUMENT, 1, "shallower") == (call, 0)
    assert seen(ARGUMENT, 0, "shallower") == (call, 0)
    for depth in (0, 2):
        assert seen(ARGUMENT, depth, "linear") == (through, depth)


def test_a_call_is_its_results() -> None:
    operands = [leaf(np.full(2, k)) for k in range(4)]
    for prim in (custom_jvp_call, custom_vjp_call, custom_jvp_result, through):
        node = record(prim, tuple(operands), {"rule": Rule()})
        assert node.aval == tuple(n.aval for n in operands[:2])
        for k in range(2):
            assert value_of(project(node, index=k)) is operands[k].value


def test_rules_are_asked() -> None:
    operands: list[Node] = [leaf(np.ones(1))] * 4
    tangents = ["a", "b", "c", "d"]
    rule = Rule()
    for prim in (custom_jvp_call, custom_vjp_call):
        assert prim.jvp is not None
        assert prim.jvp(tangents, None, *operands, rule=rule) == ["pushed"]
    assert rule.told == [("push", 4, 4)] * 2
    assert custom_jvp_result.jvp is not None
    assert custom_jvp_result.jvp(tangents, None, *operands, rule=rule) == ["pushed result"]
    wanted = (True,) * 4
    assert custom_vjp_call.transpose is not None
    assert custom_vjp_call.transpose("ct", wanted, *operands, rule=rule) == ("ct", wanted, tuple(operands))


def test_through_goes_by_the_results_alone() -> None:
    operands: list[Node] = [leaf(np.ones(1))] * 4
    assert through.jvp is not None
    assert through.transpose is not None
    assert through.jvp(["a", "b", "c", "d"], None, *operands, rule=Rule()) == ["a", "b"]
    assert through.transpose(["a", "b"], (True,) * 4, *operands, rule=Rule()) == ["a", "b", None, None]


def test_what_is_computed_again_has_the_derivatives_of_its_program() -> None:
    """They are computed from what is behind barriers, and none goes by the results."""
    program = body(lambda x, y: [e.sin(x) * y, x + y], "d3", "d3")
    x, y = leaf(random("d", 3)), leaf(random("d", 3, seed=1))

    def f(xs: Sequence[Node]) -> list[Node]:
        outs = run(program, xs, lambda prim, ins, params: prim(*ins, **params))
        return list(results_of(again_call(*outs, *xs, program=program, kept=())))

    with taping([x, y]) as tape:
        out = f([x, y])
        known = pull(tape, [(out[0], x)])
    found, waiting = set(), [known[id(y)]]
    while waiting:
        n = waiting.pop()
        found.add(n.prim)
        waiting += n.inputs
    assert barrier in found
    t = [leaf(random("d", 3, seed=2)), leaf(random("d", 3, seed=3))]
    assert_near(tangent_of(f, [x, y], t), differences(f, [x, y], t))
    sine, cosine = np.sin(value_of(x)), np.cos(value_of(x))
    assert_near([known[id(x)], known[id(y)]], [value_of(x) * cosine * value_of(y), value_of(x) * sine], 1e-13)


def test_a_batch_of_what_is_computed_again_is_a_batch_of_its_program() -> None:
    program = body(lambda x: [e.sin(x)], "d3")
    params = again_call.batch({"program": program, "kept": ()}, 4)
    assert params["program"].inputs == avals("d4,3")
    assert again_call.aval(*avals("d4,3", "d4,3"), **params) == avals("d4,3")
