"""Derivatives where functions have none: JAX's (0.10.2) where that has a number, else ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import grad, hessian, jacfwd, jacrev

SIXTH, THIRD = 1 / 6, 1 / 3


def inf_norm(x: Any) -> Any:
    return xp.linalg.norm(x, ord=xp.inf)


FIRST = [
    (xp.fmax, (1.0, 1.0), (0.0, 1.0)),
    (xp.fmin, (0.0, -0.0), (0.0, 1.0)),
    (xp.maximum, (1.0, 1.0), (0.5, 0.5)),
    (xp.copysign, (-0.0, 0.0), (1.0, 0.0)),
    (xp.copysign, (-0.0, -1.0), (-1.0, 0.0)),
    (xp.copysign, (-2.0, 3.0), (-1.0, 0.0)),
    (inf_norm, ([0.0, 0.0, 0.0],), ([SIXTH] * 3,)),
    (inf_norm, ([1.0, -1.0, 0.5],), ([0.5, -0.5, 0.0],)),
    (inf_norm, ([[0.0, 0.0], [0.0, 0.0]],), ([[0.25, 0.25], [0.25, 0.25]],)),
    (lambda x: xp.linalg.norm(x, ord=1), ([[0.0, 0.0], [0.0, 0.0]],), ([[0.25, 0.25], [0.25, 0.25]],)),
    (lambda x: xp.linalg.norm(x, ord=2), ([[0.0, 0.0], [0.0, 0.0]],), ([[0.25, 0.0], [0.0, 0.25]],)),
    (lambda x: xp.linalg.norm(x, ord=-xp.inf), ([0.0, 0.0],), ([0.5, 0.5],)),
    (xp.cbrt, (xp.inf,), (0.0,)),
    (xp.std, ([2.0, 2.0],), ([np.nan, np.nan],)),
    (xp.linalg.norm, ([0.0, 0.0],), ([np.nan, np.nan],)),
    # Ours: JAX has nan.
    (xp.power, (0.0, 0.0), (0.0, 0.0)),
]


@pytest.mark.parametrize(("f", "x", "wanted"), FIRST)
def test_first_derivatives(f: Any, x: Any, wanted: Any) -> None:
    args = [xp.asarray(v) for v in x]
    for derivative in (grad, jacfwd, jacrev):
        found = derivative(f, tuple(range(len(args))))(*args)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-14)


SECOND = [
    (xp.cbrt, 0.0, -np.inf),
    (xp.cbrt, np.inf, 0.0),
    (xp.i0, 0.0, 0.5),  # JAX: 0, which is wrong
    (lambda x: xp.abs(x * (1 + 1j)), 0.0, 0.0),  # JAX: 2
    (lambda x: x**1.0, 0.0, 0.0),  # JAX: nan
]


@pytest.mark.parametrize(("f", "x", "wanted"), SECOND)
def test_second_derivatives(f: Any, x: Any, wanted: Any) -> None:
    assert float(hessian(f)(x)) == pytest.approx(wanted, rel=1e-12)
    assert float(grad(grad(f))(x)) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("derivative", [jacfwd, jacrev])
def test_powers_to_zero_by_both(derivative: Any) -> None:
    """The factor y in y * x ** (y - 1) is 0, but varies."""
    by_both = derivative(derivative(xp.pow, (0, 1)), (0, 1))
    x = np.asarray([4.0, 0.5, 2.0])
    for base in x:
        (xx, xy), (yx, yy) = by_both(base, 0.0)
        wanted = [0.0, 1 / base, 1 / base, np.log(base) ** 2]
        np.testing.assert_allclose([float(v) for v in (xx, xy, yx, yy)], wanted, rtol=1e-14, atol=1e-16)
