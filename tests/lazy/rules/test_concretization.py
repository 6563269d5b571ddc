"""Values that leave the graph: for which transforms that matters."""

from __future__ import annotations

import threading

import numpy as np

from nabla_array._lazy.graph.node import leaf
from nabla_array._lazy.graph.tape import hidden, taping
from nabla_array._lazy.ops.elementwise import cast, floor, mul, sin
from nabla_array._lazy.ops.structure import stop_gradient
from nabla_array._lazy.rules.concretization import differentiating, is_traced


def test_a_value_matters_to_the_derivatives_that_it_varies_in() -> None:
    x, other = leaf(np.ones(2)), leaf(np.ones(2))
    assert differentiating(x) == []
    with taping([x]) as outer, taping([other]) as inner:
        y = sin(x)
        both = mul(y, other)
        assert differentiating(x) == differentiating(y) == [outer]
        assert differentiating(other) == [inner]
        assert differentiating(both) == [outer, inner]
        assert differentiating(leaf(np.ones(2))) == []
    assert differentiating(both) == []


def test_what_does_not_vary_may_leave() -> None:
    """Whole numbers, steps, and what a user said is constant, also when it is computed with."""
    x = leaf(np.ones(2))
    with taping([x]):
        constant = stop_gradient(x)
        for node in (cast(x, dtype=np.dtype(int)), floor(x), constant, mul(constant, constant)):
            assert differentiating(node) == []
        assert differentiating(mul(constant, x)) != []


def test_programs_being_made_are_no_derivatives() -> None:
    x = leaf(np.ones(2))
    with taping([x], derivative=False):
        y = sin(x)
        assert is_traced(x)
        assert is_traced(y)
        assert not is_traced(leaf(np.ones(2)))
        assert differentiating(y) == []
        with taping([y]):
            assert differentiating(y) != []
            assert is_traced(y)
    assert not is_traced(y)


def test_a_hidden_tape_does_not_ask_and_another_threads_does() -> None:
    x = leaf(np.ones(2))
    with taping([x]) as tape:
        with hidden([tape]):
            assert differentiating(x) == []
        found: list[object] = []
        thread = threading.Thread(target=lambda: found.append(differentiating(x)))
        thread.start()
        thread.join()
        assert found == [[tape]]
