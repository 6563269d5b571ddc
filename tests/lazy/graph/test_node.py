"""Nodes: what recording gives them, when it evaluates, and whose line made them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import pytest

from nabla_array._lazy.graph import node as node_module
from nabla_array._lazy.graph.aval import LARGE, TooBigError, aval_of
from nabla_array._lazy.graph.node import (
    LIMIT,
    NO_PARAMS,
    UNHEARD,
    Exported,
    Node,
    Part,
    is_ours,
    leaf,
    mark_origin,
    origin,
    record,
    relieve,
    user_line,
)
from nabla_array._lazy.ops.elementwise import add, sin
from nabla_array._lazy.ops.linalg import eigh
from nabla_array._lazy.ops.structure import broadcast
from nabla_array._lazy.run.evaluator import value_of


def test_depth_counts_what_is_pending_by_its_size() -> None:
    small, large = leaf(np.ones(3)), leaf(np.ones(LARGE))
    assert small.depth == large.depth == 0
    assert record(sin, (small,)).depth == 1
    assert record(add, (record(sin, (small,)), small)).depth == 2
    assert record(sin, (large,)).depth == large.aval.weight > 1
    several = record(eigh, (leaf(np.eye(2)),), {"uplo": "L"})
    assert several.depth == sum(a.weight for a in several.aval) == 2


def test_a_chain_of_any_length_is_recorded_and_evaluates_itself_on_the_way() -> None:
    node = leaf(np.zeros(2))
    one = leaf(np.ones(2))
    for _ in range(3 * LIMIT):
        node = record(add, (node, one))
        assert node.depth <= LIMIT
    np.testing.assert_array_equal(value_of(node), 3.0 * LIMIT)


def test_relieve_asks_for_the_pending_inputs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[Node]] = []

    def evaluate(nodes: Sequence[Node]) -> None:
        asked.append(list(nodes))
        for n in nodes:
            n.depth = 0

    monkeypatch.setattr(node_module, "evaluate_hook", [evaluate])
    known, pending = leaf(np.ones(2)), record(sin, (leaf(np.ones(2)),))
    assert relieve((known, pending)) == 0
    assert asked == [[pending]]


def test_a_result_that_is_too_big_names_its_operation() -> None:
    with pytest.raises(TooBigError, match=r"^broadcast: array is too big: shape \(4611686018427387904, 4\)"):
        record(broadcast, (leaf(np.ones(())),), {"shape": (1 << 62, 4), "axes": ()})


def test_a_part_is_a_leaf_whose_facts_are_its_classs() -> None:
    for kind in (Part, Exported):
        part = kind(np.arange(3.0))
        assert (part.prim, part.inputs, part.params, part.depth) == (None, (), NO_PARAMS, 0)
        assert part.aval is aval_of((3,), np.dtype(float))
        with pytest.raises(AttributeError, match="read-only"):
            part.depth = 1


def test_what_rules_record_is_not_heard() -> None:
    x = leaf(np.ones(2))
    assert sin(x).params is UNHEARD
    assert set(UNHEARD.state.values()) == {"ignore"}
    assert record(sin, (x,)).params is NO_PARAMS


def test_a_node_says_what_it_is() -> None:
    x = leaf(np.ones((2, 3), np.float32))
    y = record(sin, (x,))
    assert [repr(x), repr(y)] == ["<leaf float32[2, 3] evaluated>", "<sin float32[2, 3] pending>"]


def test_the_users_line_is_the_innermost_outside_of_the_package() -> None:
    here = sys._getframe()
    assert not is_ours(here)
    assert user_line() == f"{__file__}:{here.f_lineno}"
    y = record(sin, (leaf(np.ones(2)),))
    assert origin(y) == "sin"
    assert origin(leaf(np.ones(2))) == "leaf"
    assert mark_origin(y, "take") is y
    assert origin(y) == f"take (called at {__file__}:{here.f_lineno - 1})"
