"""SciPy's special functions: derivatives where formulas have holes, and those that are not known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import special as scipy_special

from nabla_array._lazy.graph.node import Node, leaf
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.ops.special import PARTIALS, SEVERAL, call, special
from nabla_array._lazy.rules.autodiff import results_of
from nabla_array._lazy.run.evaluator import value_of

from ..registry import avals
from ..rules.test_autodiff import pulled, tangent_of

ROOT_PI = math.sqrt(math.pi)


def of(name: str) -> Primitive:
    prim = special(name)
    assert prim is not None
    return prim


def slopes(name: str, *operands: float) -> list[float]:
    found = pulled(lambda xs: [of(name)(*xs)], [leaf(np.array(x)) for x in operands])
    return [float(value_of(n)) for n in found]


def test_records_are_made_once_of_ufuncs_alone() -> None:
    assert special("erf") is special("erf")
    assert special("softmax") is None  # a function
    assert special("no_such_function") is None
    assert all(special(name) is not None for name in PARTIALS | SEVERAL)


HOLES = [
    ("spence", (1.0,), (-1.0,)),
    ("j1", (0.0,), (0.5,)),
    ("i1", (0.0,), (0.5,)),
    ("i1e", (0.0,), (0.5,)),
    ("ellipk", (0.0,), (math.pi / 8,)),
    ("ellipe", (0.0,), (-math.pi / 8,)),
    ("boxcox", (2.0, 0.0), (0.5, 0.5 * math.log(2) ** 2)),
    ("boxcox1p", (1.0, 0.0), (0.5, 0.5 * math.log(2) ** 2)),
    ("inv_boxcox", (1.0, 0.0), (math.e, -0.5 * math.e)),
    ("inv_boxcox1p", (1.0, 0.0), (math.e, -0.5 * math.e)),
    ("huber", (1.0, 1.0), (0.0, 1.0)),
    ("huber", (1.0, -2.0), (1.0, -1.0)),
    ("expn", (0.0, 2.0), (0.0, -0.75 * math.exp(-2))),
    ("xlogy", (0.0, 2.0), (math.log(2), 0.0)),
    ("gammasgn", (1.5,), (0.0,)),
    ("erf", (0.0,), (2 / ROOT_PI,)),
    ("erf", (math.inf,), (0.0,)),
]


@pytest.mark.parametrize(("name", "operands", "wanted"), HOLES, ids=str)
def test_slopes_where_formulas_have_holes(
    name: str, operands: tuple[float, ...], wanted: tuple[float, ...]
) -> None:
    np.testing.assert_allclose(slopes(name, *operands), wanted, rtol=1e-13, atol=1e-300)


AT_ZERO = [("sici", (1.0, math.inf)), ("shichi", (1.0, math.inf)), ("fresnel", (0.0, 1.0))]


@pytest.mark.parametrize(("name", "wanted"), AT_ZERO, ids=str)
def test_slopes_of_several_results_at_zero(name: str, wanted: tuple[float, ...]) -> None:
    x = leaf(np.array(0.0))
    found = tangent_of(lambda xs: list(results_of(of(name)(*xs))), [x], [leaf(np.array(1.0))])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal([value_of(n) for n in found], wanted)


# Below, above, the inverse of each, and operands.
INTEGRALS = [
    ("gammainc", "gammaincc", "gammaincinv", "gammainccinv", (2.3, 1.7)),
    ("chdtr", "chdtrc", "", "chdtri", (3.1, 2.4)),
    ("betainc", "betaincc", "betaincinv", "betainccinv", (2.3, 1.2, 0.3)),
    ("stdtr", "", "stdtrit", "", (4.2, -0.7)),
    ("fdtr", "fdtrc", "fdtri", "", (3.2, 5.1, 0.8)),
]


@pytest.mark.parametrize(("below", "above", "inverse", "other", "operands"), INTEGRALS, ids=str)
def test_integrals_and_their_inverses_have_one_density(
    below: str, above: str, inverse: str, other: str, operands: tuple[float, ...]
) -> None:
    *shapes, x = operands

    def density(name: str, at: float) -> float:
        return float(value_of(*pulled(lambda xs: [call(name, *shapes, *xs)], [leaf(np.array(at))])))

    h = 1e-5
    ufunc = getattr(scipy_special, below)
    wanted = (ufunc(*shapes, x + h) - ufunc(*shapes, x - h)) / (2 * h)
    np.testing.assert_allclose(density(below, x), wanted, rtol=1e-7)
    if above:
        np.testing.assert_allclose(density(above, x), -wanted, rtol=1e-7)
    if inverse:
        np.testing.assert_allclose(density(inverse, ufunc(*shapes, x)), 1 / wanted, rtol=1e-7)
    if other:
        np.testing.assert_allclose(density(other, 1 - ufunc(*shapes, x)), -1 / wanted, rtol=1e-7)


UNKNOWN = [
    ("gammainc", 0, "the shape"),
    ("hyp2f1", 2, "the third parameter"),
    ("jv", 0, "the order"),
    ("fdtri", 1, "the second degrees"),
]


@pytest.mark.parametrize(("name", "k", "operand"), UNKNOWN, ids=str)
def test_derivatives_that_are_not_known_are_told(name: str, k: int, operand: str) -> None:
    operands = [leaf(np.array(0.5)) for _ in PARTIALS[name]]

    def f(xs: Sequence[Node]) -> list[Node]:
        return [of(name)(*operands[:k], *xs, *operands[k + 1 :])]

    message = rf"^special\.{name}: no derivative by {operand} is known; stop_gradient"
    for derivative in (
        lambda: pulled(f, [operands[k]]),
        lambda: tangent_of(f, [operands[k]], [operands[k]]),
    ):
        with pytest.raises(NotImplementedError, match=message):
            derivative()


def test_several_results_take_equal_operands() -> None:
    with pytest.raises(TypeError, match=r"^special\.ellipj: no such operation on .* without a cast"):
        of("ellipj").aval(*avals("d2", "f2"))
    with pytest.raises(TypeError, match=r"^special\.ellipj: .* or a broadcast$"):
        of("ellipj").aval(*avals("d2", "d3"))
