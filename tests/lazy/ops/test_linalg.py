"""Matrices: derivatives where values meet, singular ones, and what is told of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import nabla_array
from nabla_array._lazy.graph.node import Node, leaf
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.ops import linalg
from nabla_array._lazy.ops import reduction as r
from nabla_array._lazy.ops.contraction import matmul, turned
from nabla_array._lazy.ops.structure import project
from nabla_array._lazy.rules.levels import bind
from nabla_array._lazy.run.evaluator import value_of
from nabla_array._namespace.core.array import Array

from ..registry import avals, random
from ..rules.test_autodiff import assert_near, differences, directions, gradient, pulled, tangent_of

# A primitive, its params, an operand, and the gradient of the sum of the results. JAX has the same (0.10.2).
KINKS = [
    (linalg.det, {}, [[1.0, 2.0], [2.0, 4.0]], [[4.0, -2.0], [-2.0, 1.0]]),
    (linalg.det, {}, np.diag([1.0, 2.0, 0.0]), np.diag([0.0, 0.0, 2.0])),
    (linalg.det, {}, np.diag([1.0, 0.0, 0.0]), np.zeros((3, 3))),
    (linalg.svdvals, {}, np.eye(2), np.eye(2)),
    (linalg.eigvalsh, {"uplo": "L"}, np.eye(2), np.eye(2)),
]


@pytest.mark.parametrize(("prim", "params", "x", "wanted"), KINKS, ids=str)
def test_kinks(prim: Primitive, params: dict[str, Any], x: Any, wanted: Any) -> None:
    (got,) = pulled(lambda xs: [prim(*xs, **params)], [leaf(np.array(x))])
    np.testing.assert_allclose(value_of(got), wanted, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("char", "dD")
@pytest.mark.parametrize("rank", [4, 3, 2])
def test_the_adjugate_is_the_matrix_of_cofactors(char: str, rank: int) -> None:
    """Also of singular matrices, where it is not det(x) inv(x)."""
    x = random(char, 4, rank) @ random(char, rank, 4, seed=1)
    wanted = np.empty_like(x)
    for i, j in np.ndindex(4, 4):
        minor = np.delete(np.delete(x, i, 0), j, 1)
        wanted[j, i] = (-1) ** (i + j) * np.linalg.det(minor)
    got = linalg.adjugate.host(x)
    np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)
    if rank == 4:
        np.testing.assert_allclose(got, np.linalg.det(x) * np.linalg.inv(x), rtol=1e-10)


def test_the_dtype_of_eigenvalues_does_not_depend_on_them() -> None:
    for char, wanted in zip("fdFD", "FDFD", strict=True):
        x = np.eye(2, dtype=char)  # whose eigenvalues are real
        values, vectors = linalg.eig.host(x)
        assert values.dtype.char == vectors.dtype.char == linalg.eigvals.host(x).dtype.char == wanted


def test_one_matrix_is_factorized_for_all_right_sides() -> None:
    a, b = random("d", 3, 3), random("d", 4, 3, 2, seed=1)
    node, levels = bind(linalg.solve, [(leaf(a), ()), (leaf(b), (1,))])
    assert levels == (1,)
    (solved,) = [n for n in _below(node) if n.prim is linalg.solve]
    assert solved.aval.shape == (3, 8)
    np.testing.assert_allclose(value_of(node), np.linalg.solve(a, b), rtol=1e-12)


def _below(node: Node) -> list[Node]:
    return [node, *[n for i in node.inputs for n in _below(i)]]


@pytest.mark.parametrize("char", "dD")
def test_triangles_that_are_not_read_do_not_count(char: str) -> None:
    x = random(char, 3, 3)
    hermitian = x + x.conj().T
    for uplo, read in (("L", np.tril), ("U", np.triu)):
        w, v = linalg.eigh.host(read(hermitian), uplo=uplo)
        np.testing.assert_allclose((v * w) @ v.conj().T, hermitian, atol=1e-12)
        np.testing.assert_allclose(linalg.eigvalsh.host(read(hermitian), uplo=uplo), w)


def test_operands_that_do_not_fit_are_told() -> None:
    for prim, given, params, message in (
        (linalg.inv, ("d2,3",), {}, r"inv: needs square matrices of inexact numbers: float64\[2, 3\]"),
        (linalg.qr, ("d3",), {"mode": "reduced"}, r"qr: needs matrices of inexact numbers: float64\[3\]"),
        (
            linalg.solve,
            ("d3,3", "d2,1"),
            {},
            r"solve: needs square matrices and right sides",
        ),
        (linalg.pinv, ("d3,2", "d3,2"), {}, r"pinv: the second cannot be the pseudo-inverse of the first"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            prim.aval(*avals(*given), **params)


@pytest.mark.parametrize("char", "dD")
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 2), (2, 3)])
def test_pinv(char: str, shape: tuple[int, ...]) -> None:
    """Equal singular values do no harm, and nor does a lower rank, along directions that keep it."""

    def f(xs: Sequence[Node]) -> list[Node]:
        return [nabla_array.linalg.pinv(Array(xs[0]))._node]

    full = np.broadcast_to(np.eye(*shape[-2:], dtype=char), shape)
    for x in (leaf(full), leaf(random(char, *shape))):
        t = directions([x])
        assert_near(tangent_of(f, [x], t), differences(f, [x], t))
        assert_near(tangent_of(gradient(f), [x], t), differences(gradient(f), [x], t), 1e-6)

    def of_rank_1(xs: Sequence[Node]) -> list[Node]:
        return f([matmul(xs[0], turned(xs[1]))])

    x = [leaf(random(char, *shape[:-1], 1)), leaf(random(char, *shape[:-2], shape[-1], 1))]
    assert_near(tangent_of(of_rank_1, x, directions(x)), differences(of_rank_1, x, directions(x)))


def test_det_differentiates_thrice() -> None:
    """The third derivative of the product of a diagonal: 1 in three directions that differ."""

    def det(xs: Sequence[Node]) -> list[Node]:
        return [linalg.det(*xs)]

    x = leaf(random("d", 3, 3))
    e1, e2, e3 = (leaf(np.diag(row)) for row in np.eye(3))
    third = tangent_of(lambda xs: tangent_of(lambda ys: tangent_of(det, ys, [e1]), xs, [e2]), [x], [e3])
    np.testing.assert_allclose(value_of(third[0]), 1)


@pytest.mark.parametrize("char", "dD")
def test_values_differentiate_where_some_are_equal(char: str) -> None:
    """Vectors have no derivative there, but the values' own needs none of theirs."""
    x, t = leaf(np.diag([2, 2, 1]).astype(char)), leaf(np.arange(9).reshape(3, 3).astype(char))
    for f in (
        lambda xs: [project(linalg.eigh(*xs, uplo="L"), index=0)],
        lambda xs: [project(linalg.svd(*xs, full=False), index=1)],
    ):
        trace = tangent_of(lambda xs, f=f: [r.reduce_sum(*f(xs), axes=(0,))], [x], [t])
        np.testing.assert_allclose(value_of(trace[0]), 0 + 4 + 8)
        (back,) = pulled(f, [x])
        np.testing.assert_allclose(value_of(back), np.eye(3), atol=1e-15)


@pytest.mark.parametrize("char", "dD")
@pytest.mark.parametrize(
    ("prim", "params"),
    [
        *[(linalg.eigvalsh, {"uplo": u}) for u in "LU"],
        *[(linalg.eigh, {"uplo": u}) for u in "LU"],
        *[(linalg.cholesky, {"upper": u}) for u in (False, True)],
    ],
    ids=str,
)
def test_derivatives_of_what_reads_a_triangle_are_by_that_triangle(
    prim: Primitive, params: dict[str, Any], char: str
) -> None:
    """Of a matrix that is not Hermitian, of which the other triangle holds anything."""
    x = random(char, 2, 3, 3) + 4 * np.eye(3)

    def values(xs: Sequence[Node]) -> list[Node]:
        whole = prim(*xs, **params)
        return [project(whole, index=0)] if prim is linalg.eigh else [whole]

    tangents = directions([leaf(x)])
    assert_near(tangent_of(values, [leaf(x)], tangents), differences(values, [leaf(x)], tangents))
    hermitian = x + np.conj(np.swapaxes(x, -1, -2))
    (ct,) = pulled(values, [leaf(hermitian)])
    if prim is not linalg.cholesky:  # of one that is, as JAX: both triangles alike
        np.testing.assert_allclose(value_of(ct), np.swapaxes(value_of(ct), -1, -2).conj(), atol=1e-12)
