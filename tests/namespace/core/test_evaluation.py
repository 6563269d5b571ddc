"""`eval`, and which values are there without it."""

from __future__ import annotations

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._namespace.core.evaluation import arrays_in, fresh_value
from nabla_array.distributed import DeviceMesh, P, shard
from nabla_array.transforms import grad


@pytest.mark.usefixtures("recorded")
def test_arrays_anywhere_in_a_tree_are_evaluated_and_given_back() -> None:
    x = xp.asarray([0.0, 1.0])
    a, b, c = x + 1, x * 2, x - 3
    tree = {"first": [a, (b, "text")], "second": None}
    assert [id(i) for i in arrays_in([tree, c])] == [id(a), id(b), id(c)]
    assert xp.eval(tree, c) == (tree, c)
    assert all(i._node.value is not None for i in (a, b, c))


@pytest.mark.usefixtures("recorded")
def test_what_is_pending_is_not_fresh() -> None:
    y = xp.asarray([0.0, 1.0]) + 1
    assert fresh_value(y) is None
    xp.eval(y)
    np.testing.assert_array_equal(fresh_value(y), [1.0, 2.0])


def test_a_view_is_fresh_again_after_a_write_to_its_base_is_seen() -> None:
    x = xp.asarray([0.0, 1.0, 2.0])
    y = x[1:]
    x[1] = 9.0
    value = fresh_value(y)
    assert value is None or value.tolist() == [9.0, 2.0]
    assert y.tolist() == [9.0, 2.0]


def test_nothing_is_fresh_while_a_derivative_is_taken() -> None:
    seen = []
    grad(lambda x: seen.append(fresh_value(x)) or xp.sum(x * x))(xp.asarray([1.0, 2.0]))
    assert seen == [None]


def test_scalars_are_evaluated_beside_devices_in_use() -> None:
    parts = shard(xp.ones(4), DeviceMesh((2,), ("x",)), P("x"))
    y = xp.sum(xp.exp(xp.ones(200_000)))
    assert y._node.value is None
    assert xp.eval(y) is y
    assert y._node.value is not None
    assert xp.eval(parts) is parts
