"""Gathering and scattering: batches of indices, elements that meet, and what they pass back."""

from __future__ import annotations

import numpy as np
import pytest

from nabla_array._lazy.graph.node import leaf
from nabla_array._lazy.ops.indexing import gather, scatter
from nabla_array._lazy.rules.levels import bind
from nabla_array._lazy.run.evaluator import value_of

from ..execution import assert_same
from ..registry import random
from ..rules.test_autodiff import pulled


def test_indexed_axes_come_first_whichever_they_are() -> None:
    x, i, j = random("d", 4, 3, 5), np.array([3, -1, 0]), np.array([4, 0, -2])
    assert_same(gather.host(x, i, j, axes=(0, 2), batch=0), x[i, :, j])
    assert_same(gather.host(x, j, i, axes=(2, 0), batch=0), x[i, :, j])
    assert_same(gather.host(x, np.array(2), axes=(1,), batch=0), x[:, 2])
    empty = np.zeros((2, 0), int)
    assert_same(gather.host(x, empty, axes=(1,), batch=0), x.transpose(1, 0, 2)[empty])


def test_batches_of_indices_read_their_own_part() -> None:
    x, i = random("d", 2, 3, 5, 4), np.random.default_rng(0).integers(-5, 5, (2, 3, 6))
    out = gather.host(x, i, axes=(2,), batch=2)
    for a, b in np.ndindex(2, 3):
        assert_same(out[a, b], x[a, b, i[a, b]])


@pytest.mark.parametrize("mode", ["set", "add", "mul", "max", "min"])
def test_elements_that_meet(mode: str) -> None:
    """The last one set stays; else all are joined."""
    x, value, i = random("d", 4), random("d", 5, seed=1), np.array([1, 1, -3, 0, 1])
    wanted = x.copy()
    join = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
    for k, v in zip(i, value, strict=True):
        wanted[k] = v if mode == "set" else join[mode](wanted[k], v)
    np.testing.assert_allclose(scatter.host(x, value, i, axes=(0,), batch=0, mode=mode), wanted, rtol=1e-15)


def test_what_is_overwritten_has_no_derivative() -> None:
    x, value, index = leaf(np.zeros(4)), leaf(np.ones(3)), leaf(np.array([1, -3, 0]))
    ct = leaf(np.array([5.0, 6.0, 7.0, 8.0]))
    params = {"axes": (0,), "batch": 0, "mode": "set"}
    by_x, by_value = pulled(lambda xs: [scatter(*xs, index, **params)], [x, value], [ct])
    np.testing.assert_array_equal(value_of(by_x), [0, 0, 7, 8])
    np.testing.assert_array_equal(value_of(by_value), [0, 6, 5])


def test_what_is_read_twice_gets_both_cotangents() -> None:
    x, i = leaf(np.zeros(4)), leaf(np.array([2, 0, 2, -2]))
    (back,) = pulled(lambda xs: [gather(*xs, i, axes=(0,), batch=0)], [x], [leaf(np.array([1.0, 2, 4, 8]))])
    np.testing.assert_array_equal(value_of(back), [2, 0, 13, 0])


def test_one_array_serves_all_examples_indices() -> None:
    """No copy of it is made for each."""
    x, i = random("d", 5, 2), np.array([[0, 4], [3, -1], [2, 2]])
    node, levels = bind(gather, [(leaf(x), ()), (leaf(i), (1,))], {"axes": (0,), "batch": 0})
    assert levels == (1,)
    assert [n.aval.shape for n in node.inputs] == [(5, 2), (3, 2)]
    assert_same(value_of(node), x[i])


def test_the_shape_of_what_is_put_is_told() -> None:
    avals = [leaf(v).aval for v in (np.zeros((3, 2)), np.zeros((4, 3)), np.zeros(4, int))]
    with pytest.raises(ValueError, match=r"^scatter: the value is float64\[4, 3\], not float64\[4, 2\]$"):
        scatter.aval(*avals, axes=(0,), batch=0, mode="set")
