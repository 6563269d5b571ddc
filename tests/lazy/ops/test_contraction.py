"""Products: whichever way they are computed, they are NumPy's."""

from __future__ import annotations

import re

import numpy as np
import pytest

from nabla_array._lazy.graph.node import Node, leaf
from nabla_array._lazy.ops.contraction import (
    apart,
    correlate,
    is_unit_matrix,
    matmul,
    side_by_side,
    with_one_matrix,
)
from nabla_array._lazy.rules.levels import bind
from nabla_array._lazy.run.evaluator import value_of

from ..execution import assert_same
from ..registry import avals, random
from ..rules.test_autodiff import pulled, tangent_of


@pytest.mark.parametrize("char", "ldD")
def test_layouts_that_are_computed_another_way(char: str) -> None:
    """A row whose elements lie far apart, outer products, one matrix for a stack, vectors of nothing."""
    tall, wide = random(char, 6, 300), random(char, 6, 8, seed=1)
    stack, one = random(char, 5, 2, 6), random(char, 6, 3, seed=2)
    cases = [
        (tall.T[:1], random(char, 6, 4)),
        (random(char, 7, 4, 1), random(char, 7, 1, 9)),
        (random(char, 7, 4, 1)[::-1], random(char, 7, 1, 2)),
        (stack, np.broadcast_to(one, (5, 6, 3))),
        (stack.transpose(0, 2, 1), np.broadcast_to(wide[:2], (5, 2, 8))),
        (np.ones((0, 3, 2), char), np.ones((0, 2, 4), char)),
        (np.ones((2, 3, 0), char), np.ones((2, 0, 4), char)),
    ]
    for x, y in cases:
        assert_same(matmul.host(x, y), np.matmul(x, y), exact=False)


def test_a_unit_matrix_gives_the_other_as_a_sum_would() -> None:
    """Where that has nan or infinities, these reach whole columns, as in NumPy; -0.0 becomes 0.0."""
    unit, y = np.eye(20), random("d", 20, 500)
    y[3, 4] = -0.0
    out = matmul.host(unit, y)
    assert_same(out, np.matmul(unit, y))
    assert not np.signbit(out[3, 4])
    for odd in (np.nan, np.inf):
        y[7, 9] = odd
        with np.errstate(invalid="ignore"):
            assert_same(matmul.host(unit, y), np.matmul(unit, y))


def test_what_counts_as_a_unit_matrix() -> None:
    unit = np.eye(16)
    near = [unit.copy() for _ in range(4)]
    near[0][5, 5], near[1][3, 4], near[2][8, 8], near[3][8, 9] = 2.0, 1.0, np.nan, 1.0
    near[3][8, 8] = 0.0
    assert is_unit_matrix(unit)
    assert not any(map(is_unit_matrix, [*near, unit[:15, :15], unit[:, :15], unit.astype(int), unit[::-1]]))


def test_one_matrix_for_a_stack_is_told_by_its_strides() -> None:
    x, one = random("d", 4, 2, 3), random("d", 3, 5)
    found = with_one_matrix(x, np.broadcast_to(one, (4, 3, 5)))
    assert found is not None
    assert_same(found[0], x.reshape(8, 3))
    assert np.shares_memory(found[1], one)
    assert with_one_matrix(x, np.stack([one] * 4)) is None
    assert with_one_matrix(x[:, ::-1], np.broadcast_to(one, (4, 3, 5))) is None


def test_matrices_beside_each_other_come_apart() -> None:
    y = random("d", 2, 4, 3, 5)
    columns = side_by_side(leaf(y))
    assert_same(value_of(columns), np.concatenate(list(y.reshape(8, 3, 5)), axis=1))
    assert_same(value_of(apart(columns, (2, 4), 5)), y)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("columns", [1, 3])
def test_examples_with_one_matrix_are_one_product(first: bool, columns: int) -> None:
    """No copy of the matrix is made for each example."""
    x = random("d", 4, 6, 2) if first else random("d", 6, 2)
    y = random("d", 2, columns, seed=1) if first else random("d", 4, 2, columns, seed=1)
    levels = [(1,), ()] if first else [(), (1,)]
    node, found = bind(matmul, list(zip(map(leaf, (x, y)), levels, strict=True)))
    assert found == (1,)
    products, waiting = [], [node]
    while waiting:
        n: Node = waiting.pop()
        products += [n] if n.prim is matmul else []
        waiting += n.inputs
    assert [n.aval.ndim for n in products] == [2]
    np.testing.assert_allclose(value_of(node), x @ y, rtol=1e-14)


ENDS = [(0, 0), (3, 3), (2, 1), (1, 2), (5, 0), (-2, 3), (0, -5), (-9, 13)]


@pytest.mark.parametrize("ends", ENDS, ids=str)
@pytest.mark.parametrize("char", "dD")
def test_correlations_slide(char: str, ends: tuple[int, int]) -> None:
    x, y = random(char, 9), random(char, 4, seed=1)
    before, after = ends
    whole = np.concatenate([np.zeros(20), x, np.zeros(20)])[20 - before : 29 + after]
    wanted = [np.sum(whole[k : k + 4] * y) for k in range(len(whole) - 3)]
    np.testing.assert_allclose(correlate.host(x, y, ends=ends), wanted, rtol=1e-13, atol=1e-15)
    rows = correlate.host(np.stack([x, 3 * x]), np.stack([y, 2 * y]), ends=ends)
    np.testing.assert_allclose(rows, [wanted, 6 * np.array(wanted)], rtol=1e-13, atol=1e-14)
    assert correlate.host(np.ones((0, 5)), np.ones((0, 2)), ends=(0, 0)).shape == (0, 4)


@pytest.mark.parametrize("ends", [(0, 0), (2, 1), (-1, 3)], ids=str)
@pytest.mark.parametrize("sizes", [(5, 5), (5, 1), (3, 2), (1, 1)])
def test_correlations_pass_back_at_the_edges_of_sizes(sizes: tuple[int, int], ends: tuple[int, int]) -> None:
    x, y = (leaf(random("d", n, seed=n)) for n in sizes)
    f = lambda xs: [correlate(*xs, ends=ends)]  # noqa: E731
    ct = leaf(random("d", sizes[0] + sum(ends) - sizes[1] + 1, seed=9))
    by_x, by_y = pulled(f, [x, y], [ct])
    for k, by in ((0, by_x), (1, by_y)):
        for i in range(sizes[k]):
            t = [leaf(np.zeros(n)) for n in sizes]
            t[k] = leaf(np.eye(sizes[k])[i])
            (out,) = tangent_of(f, [x, y], t)
            np.testing.assert_allclose(value_of(by)[i], value_of(out) @ value_of(ct), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    ("prim", "texts", "message"),
    [
        (matmul, ("f4,3", "f5,2"), "inner sizes differ: float32[4, 3] @ float32[5, 2] (3 against 5)"),
        (correlate, ("d2", "d3"), "float64[3] does not move along float64[2] with ends of (0, 0)"),
        (correlate, ("d2", "d0"), "float64[0] does not move along float64[2] with ends of (0, 0)"),
    ],
    ids=str,
)
def test_operands_that_do_not_fit_are_told(prim: object, texts: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{prim}: {re.escape(message)}$"):
        prim.aval(*avals(*texts), **({"ends": (0, 0)} if prim is correlate else {}))  # type: ignore[attr-defined]


@pytest.mark.parametrize("n", [1, 4, 9])
def test_a_few_dot_products_with_one_vector_have_the_bits_of_vecdot(n: int) -> None:
    for k in range(1, 40):
        x, y = random("d", n, k), random("d", k, seed=k)
        found = matmul.host(x[:, None, :], np.broadcast_to(y[:, None], (n, k, 1)))
        assert_same(found[:, 0, 0], np.vecdot(x, y))
