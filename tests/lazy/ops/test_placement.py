"""Where values are: what is on an accelerator is no value here, and not pending."""

from __future__ import annotations

import numpy as np

from nabla_array._lazy.graph.aval import aval_of_value
from nabla_array._lazy.graph.node import leaf, record
from nabla_array._lazy.graph.program import is_literal, is_pending, pending_order, written
from nabla_array._lazy.ops.elementwise import sin
from nabla_array._lazy.ops.placement import host_value, is_resident, settle_as, transfer
from nabla_array._lazy.run.evaluator import value_of

from ..rules.test_autodiff import pulled, tangent_of


class Placed:
    """Stands for a value of an accelerator's."""

    def __init__(self, here: np.ndarray) -> None:
        self.aval = aval_of_value(here)
        self.asked = 0
        self._here = here

    def here(self) -> np.ndarray:
        self.asked += 1
        return self._here


def test_what_is_settled_there_is_known_and_has_no_elements_here() -> None:
    x = leaf(np.arange(3.0))
    node = record(sin, (x,))
    assert is_pending(node)
    assert host_value(x) is x.value
    value = Placed(np.sin(np.arange(3.0)))
    settle_as(node, value)
    assert is_resident(node)
    assert not is_resident(x)
    assert not is_pending(node)
    assert not is_literal(node)
    assert (node.value, node.inputs, node.depth) == (None, (), 0)
    assert value.asked == 0
    assert host_value(node) is value.here()


def test_a_program_takes_it_for_an_input() -> None:
    """Also where native code goes through the graph."""
    there = record(sin, (leaf(np.ones(2)),))
    settle_as(there, Placed(np.ones(2)))
    node = record(sin, (there,))
    assert pending_order([node, there]) == [node]
    _, order, leaves, _ = written([node])
    assert (order, leaves) == ([node], [there])


def test_a_move_is_the_same_elements_and_moves_back() -> None:
    x = leaf(np.arange(3.0))
    params = {"source": "cpu", "device": "gpu:0"}
    assert transfer.role == "transfer"
    assert transfer.host(x.value, **params) is x.value
    ct = record(sin, (x,))
    assert transfer.transpose is not None
    (back,) = transfer.transpose(ct, (True,), x, **params)
    assert (back.prim, back.inputs, back.params) == (
        transfer,
        (ct,),
        {"source": "gpu:0", "device": "cpu"},
    )
    stays = {"source": "cpu", "device": "cpu"}
    (t,) = tangent_of(lambda xs: [transfer(*xs, **stays)], [x], [leaf(np.ones(3))])
    np.testing.assert_array_equal(value_of(t), 1)
    np.testing.assert_array_equal(value_of(*pulled(lambda xs: [transfer(*xs, **stays)], [x])), 1)
