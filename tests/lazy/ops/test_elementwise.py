"""Elementwise operations: special values, kinks, and memory that they write to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array
from nabla_array._lazy.graph.node import leaf
from nabla_array._lazy.graph.primitive import Primitive
from nabla_array._lazy.ops import elementwise as e
from nabla_array._lazy.run.evaluator import value_of
from nabla_array._namespace.core.array import Array

from ..execution import assert_same
from ..registry import random, values
from ..rules.test_autodiff import pulled

INF, NAN = np.inf, np.nan


def test_infinite_quotients_are_the_standards() -> None:
    """And all others NumPy's, zeros' signs and what is written into memory included."""
    x, y = (v.ravel().copy() for v in np.meshgrid(values("d"), values("d")))
    with np.errstate(all="ignore"):
        got, numpys, quotient = e.floor_divide.host(x, y), np.floor_divide(x, y), x / y
        into = np.empty_like(x)
        e.floor_divide.into(x, y, into)  # type: ignore[misc]
    odd = (np.isinf(x) != np.isinf(y)) & (y != 0)
    assert_same(got, np.where(odd, quotient, numpys))
    assert_same(into, got)
    cases = np.array(
        [(INF, 2.0, INF), (-INF, 2.0, -INF), (1.0, -INF, -0.0), (-1.0, INF, -0.0), (0.0, INF, 0.0)]
    )
    with np.errstate(all="ignore"):
        assert_same(e.floor_divide.host(cases[:, 0], cases[:, 1]), cases[:, 2])


COMPLEX_EDGES: list[tuple[Primitive, complex, complex]] = [
    (e.expm1, complex(INF, 0.0), complex(INF, 0.0)),
    (e.expm1, complex(-INF, 0.0), complex(-1.0, 0.0)),
    (e.expm1, complex(-0.0, 0.0), complex(0.0, 0.0)),
    (e.expm1, complex(-0.0, -0.0), complex(0.0, -0.0)),
    (e.tanh, complex(INF, 2.0), complex(1.0, 0.0)),
    (e.tanh, complex(INF, -2.0), complex(1.0, -0.0)),
    (e.tanh, complex(-INF, 2.0), complex(-1.0, 0.0)),
]


@pytest.mark.parametrize(("prim", "x", "wanted"), COMPLEX_EDGES, ids=str)
def test_complex_edges_are_the_standards(prim: Primitive, x: complex, wanted: complex) -> None:
    for char in "FD":
        given = np.array([x, 0.5 - 1j], char)
        with np.errstate(all="ignore"):
            out = prim.host(given)
            assert_same(out[:1], np.array([wanted], char))
            assert_same(out[1:], prim.ufunc(given[1:]))  # type: ignore[misc]
            into = np.empty_like(given)
            prim.into(given, into)  # type: ignore[misc]
        assert_same(into, out)


@pytest.mark.parametrize("char", "?bHiefdDG")
@pytest.mark.parametrize("share", [0.01, 0.5, 1.0])
def test_a_choice_moves_bits(char: str, share: float) -> None:
    """Where few elements, or many, are true; nan with its payload."""
    x, y = random(char, 400), random(char, 400, seed=1)
    if char in "fd":
        payload = np.array(0x7FC00123 if char == "f" else 0x7FF8000000000123, f"u{x.itemsize}")
        x[::7], y[::5] = payload.view(char), -0.0
    mask = np.random.default_rng(2).random(400) < share
    wanted = np.where(mask, x, y).tobytes()
    out = np.empty_like(x)
    e.select.into(mask, x, y, out)  # type: ignore[misc]
    assert out.tobytes() == wanted


def test_casts_drop_imaginary_parts_and_tell_truth_by_both() -> None:
    z = np.array([0j, 1j, 2.5 + 1j])
    assert_same(e.cast.host(z, dtype=np.dtype(float)), z.real)
    assert_same(e.cast.host(z, dtype=np.dtype(bool)), np.array([False, True, True]))
    assert_same(e.cast.host(z, dtype=np.dtype("F")), z.astype("F"))


@pytest.mark.parametrize("char", "bHld")
def test_rounding_to_tens_into_memory(char: str) -> None:
    x = np.array([5, 15, 25, 26, 104], char)
    out = np.empty_like(x)
    e.round_.into(x, out, decimals=-1)  # type: ignore[misc]
    assert_same(out, np.round(x, -1))
    assert_same(out, np.array([0, 20, 20, 30, 100], char))


def test_parts_of_a_float_make_it_again() -> None:
    x = values("d")
    with np.errstate(all="ignore"):
        again = np.ldexp(e.mantissa.host(x), e.exponent.host(x))
    finite = np.isfinite(x)
    assert_same(again[finite], x[finite])
    fraction, power = np.empty_like(x), np.empty(x.shape, np.intc)
    e.mantissa.into(x, fraction)  # type: ignore[misc]
    e.exponent.into(x, power)  # type: ignore[misc]
    assert_same(fraction, e.mantissa.host(x))
    assert_same(power[finite], e.exponent.host(x)[finite])


def test_numbers_beside_a_node_take_its_aval() -> None:
    for char in "Bid":
        x = leaf(np.array([1, 2, 4], char))
        for node in (x + 1, 1 + x, x * 3, 9 - x, x - 1, -x):
            assert node.aval is x.aval
        np.testing.assert_array_equal(value_of(9 - x), [8, 7, 5])
    np.testing.assert_array_equal(value_of(2 / leaf(np.array([1.0, 4.0]))), [2, 0.5])
    with pytest.raises(OverflowError):
        leaf(np.ones(2, np.uint8)) + 300
    with pytest.raises(ValueError, match=r"^add: shapes differ"):
        leaf(np.ones(2)) + leaf(np.ones(3))


# -- kinks ---------------------------------------------------------------------------------------------------

# A primitive, its operands, and the gradient. Without a note JAX has the same (0.10.2).
KINKS = [
    (e.abs_, (0.0,), (1.0,)),  # the derivative from the right
    (e.abs_, (-0.0,), (1.0,)),
    (e.abs_, (0j,), (0j,)),
    (e.abs_, (NAN,), (-1.0,)),
    (e.sign, (0.0,), (0.0,)),
    (e.maximum, (1.0, 1.0), (0.5, 0.5)),
    (e.minimum, (0.0, -0.0), (0.5, 0.5)),
    (e.maximum, (NAN, 1.0), (0.0, 0.0)),
    (e.sqrt, (0.0,), (INF,)),
    (e.cbrt, (0.0,), (INF,)),
    (e.pow_, (0.0, 0.0), (0.0, 0.0)),  # JAX: nan by the base, unless the exponent is an integer
    (e.pow_, (0.0, 0.5), (INF, 0.0)),
    (e.pow_, (0.0, 1.0), (1.0, 0.0)),
    (e.pow_, (0.0, 2.0), (0.0, 0.0)),
    (e.pow_, (0.0, -1.0), (-INF, NAN)),
    (e.pow_, (-2.0, 3.0), (12.0, NAN)),
    (e.pow_, (2.0, 0.0), (0.0, np.log(2))),
    (e.hypot, (0.0, 0.0), (0.5, 0.5)),
    (e.logaddexp, (-INF, -INF), (NAN, NAN)),
    (e.logaddexp, (-INF, 1.0), (0.0, 1.0)),
    (e.logaddexp, (INF, INF), (1.0, 1.0)),
    (e.logaddexp, (1.0, INF), (0.0, 1.0)),  # JAX: e by the first
    (e.atan2, (0.0, 0.0), (NAN, NAN)),
    (e.remainder, (4.0, 2.0), (1.0, -2.0)),
    (e.copysign, (0.0, -1.0), (-1.0, 0.0)),
    (e.floor, (2.0,), (0.0,)),
    (e.rint, (0.5,), (0.0,)),
    (e.asin, (1.0,), (INF,)),
    (e.acosh, (1.0,), (INF,)),
    (e.log, (0.0,), (INF,)),
    (e.reciprocal, (0.0,), (-INF,)),
    (e.fmax, (1.0, 1.0), (0.0, 1.0)),
    (e.fmin, (1.0, 1.0), (0.0, 1.0)),
    (e.copysign, (-0.0, 0.0), (1.0, 0.0)),
    (e.fmax, (NAN, 1.0), (0.0, 1.0)),
    (e.fmin, (1.0, NAN), (1.0, 0.0)),
    (e.fmin, (NAN, NAN), (0.0, 1.0)),
    (e.fmod, (-7.0, 2.0), (1.0, 3.0)),
    (e.heaviside, (0.0, 3.0), (0.0, 1.0)),
    (e.heaviside, (2.0, 3.0), (0.0, 0.0)),
    (e.logaddexp2, (-INF, 1.0), (0.0, 1.0)),
    (e.logaddexp2, (INF, INF), (1.0, 1.0)),
    (e.mantissa, (6.0,), (0.125,)),
    (e.mantissa, (0.0,), (1.0,)),
    (e.spacing, (1.0,), (0.0,)),
    (e.sign, (3 + 4j,), ((16 + 12j) / 125,)),
    (e.sign, (0j,), (0j,)),
]


@pytest.mark.parametrize(("prim", "operands", "wanted"), KINKS, ids=str)
def test_kinks(prim: Primitive, operands: tuple[Any, ...], wanted: tuple[Any, ...]) -> None:
    got = pulled(lambda xs: [prim(*xs)], [leaf(np.array(x)) for x in operands])
    np.testing.assert_allclose([value_of(g) for g in got], wanted, rtol=1e-15)


def test_clip_shares_at_its_edges() -> None:
    x = leaf(np.array([-1.0, 0.0, 0.5, 1.0, 2.0]))
    (got,) = pulled(lambda xs: [nabla_array.clip(Array(xs[0]), 0, 1)._node], [x])
    np.testing.assert_array_equal(value_of(got), [0, 0.5, 1, 0.5, 0])  # JAX has the same


@pytest.mark.parametrize("prim", [e.asin, e.acos, e.atanh, e.acosh, e.log1p], ids=str)
def test_slopes_are_exact_near_an_edge(prim: Primitive) -> None:
    """In single precision as in double, where 1 - x * x would lose half the digits."""
    x = {e.acosh: 1 + 2e-7, e.log1p: -1 + 2e-7}.get(prim, 1 - 2e-7)
    single = np.asarray(x, np.float32)
    slopes = [pulled(lambda xs: [prim(*xs)], [leaf(y)]) for y in (single, single.astype(np.float64))]
    np.testing.assert_allclose(*[value_of(*s) for s in slopes], rtol=1e-6)
