"""SciPy's solvers with functions, gradients and Jacobians that return our arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.graph.tape import Tape
from nabla_array._namespace.interop.registered import _returning_numpys
from nabla_array.transforms import grad, jacrev

optimize = pytest.importorskip("scipy.optimize", reason="SciPy is optional")
TARGET = xp.arange(3.0)


def value(x: Any) -> Any:
    return xp.sum((xp.asarray(x) - TARGET) ** 2)


def slope(x: Any) -> Any:
    return grad(value)(xp.asarray(x))


def residuals(x: Any) -> Any:
    x = xp.asarray(x)
    return xp.stack([x[0] ** 2 - 2, x[0] * x[1] - 1])


def jacobian(x: Any) -> Any:
    return jacrev(residuals)(xp.asarray(x))


@pytest.mark.parametrize("method", ["BFGS", "CG", "L-BFGS-B", "Newton-CG", "SLSQP", "TNC", "trust-constr"])
def test_minimize_with_a_gradient_of_ours(method: str) -> None:
    for fun, jac in ((value, slope), (lambda x: (value(x), slope(x)), True)):
        found = optimize.minimize(fun, np.zeros(3), jac=jac, method=method)
        np.testing.assert_allclose(found.x, [0, 1, 2], atol=1e-6)
        assert type(found.grad if method == "trust-constr" else found.jac) is np.ndarray


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares_with_a_jacobian_of_ours(method: str) -> None:
    found = optimize.least_squares(residuals, np.ones(2), jac=jacobian, method=method)
    np.testing.assert_allclose(found.x, [2**0.5, 0.5**0.5], atol=1e-6)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root_with_a_jacobian_of_ours(method: str) -> None:
    found = optimize.root(residuals, np.ones(2), jac=jacobian, method=method)
    np.testing.assert_allclose(found.x, [2**0.5, 0.5**0.5], atol=1e-6)


def test_constraints_of_ours() -> None:
    constraint = {"type": "ineq", "fun": lambda x: 1 - xp.sum(xp.asarray(x)), "jac": lambda x: -xp.ones(3)}
    found = optimize.minimize(value, np.zeros(3), jac=slope, method="SLSQP", constraints=[constraint])
    np.testing.assert_allclose(found.x, [-2 / 3, 1 / 3, 4 / 3], atol=1e-6)
    bound = optimize.NonlinearConstraint(lambda x: xp.asarray(x) ** 2, 0.0, 1.0)
    found = optimize.minimize(value, np.full(3, 0.5), jac=slope, method="trust-constr", constraints=[bound])
    np.testing.assert_allclose(found.x, [0, 1, 1], atol=1e-2)


def test_solvers_get_ours_only_where_a_transform_follows_it() -> None:
    returned = _returning_numpys(lambda x: 2 * x)
    kept = []

    def doubled(x: Any) -> Any:
        kept.append(returned(x))
        return kept[-1]

    assert float(grad(doubled)(xp.asarray(3.0))) == 2.0
    assert type(kept[-1]) is xp.Array
    with Tape(()) as tape:
        tape.thread += 1  # as where another thread differentiates meanwhile
        assert type(returned(xp.ones(3))) is np.ndarray
