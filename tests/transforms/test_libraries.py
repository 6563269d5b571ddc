"""Rules for other libraries' functions: where they are asked, and what a table of calls does not show."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import integrate, interpolate, linalg, ndimage, optimize, signal

import nabla_array as xp
from nabla_array.transforms import grad, hessian, jacrev, jvp, vmap

A = xp.asarray([2.0, 3.0])


def cube(a: Any) -> Any:
    return optimize.brentq(lambda x: x**3 - a, 0.0, 5.0, xtol=1e-14)


def test_without_a_derivative_functions_are_scipys() -> None:
    assert type(linalg.inv(np.eye(2))) is np.ndarray
    assert type(cube(8.0)) is float
    assert pickle.loads(pickle.dumps(optimize.brentq)) is optimize.brentq
    assert isinstance(interpolate.CubicSpline([0, 1, 2], [0, 1, 4]), interpolate.PPoly)


def test_solutions_have_derivatives_of_second_order_and_in_batches() -> None:
    np.testing.assert_allclose(grad(cube)(8.0), 1 / 12)
    np.testing.assert_allclose(grad(grad(cube))(8.0), -2 / 9 * 8 ** (-5 / 3))
    np.testing.assert_allclose(vmap(grad(cube))(xp.asarray([1.0, 8.0])), [1 / 3, 1 / 12])


def test_minima_have_derivatives_of_second_order() -> None:
    def lowest(a: Any) -> Any:
        return optimize.minimize(lambda x: ((x - a) ** 2).sum() + (x**4).sum(), np.ones(2), tol=1e-13).fun

    x = (
        lowest(A)
        and optimize.minimize(lambda x: ((x - A) ** 2).sum() + (x**4).sum(), np.ones(2), tol=1e-13).x
    )
    np.testing.assert_allclose(grad(lowest)(A), 2 * (np.asarray(A) - x), rtol=1e-5)
    np.testing.assert_allclose(np.diag(hessian(lowest)(A)), 2 - 4 / (2 + 12 * np.asarray(x) ** 2), rtol=1e-5)


def test_coordinates_at_bounds_do_not_move() -> None:
    def at(a: Any) -> Any:
        return optimize.minimize(
            lambda x: ((x - a) ** 2).sum(), np.ones(2), bounds=[(0, 1), (None, None)], tol=1e-12
        ).x

    np.testing.assert_allclose(jacrev(at)(A), [[0, 0], [0, 1]], atol=1e-6)


def test_filters_by_their_coefficients() -> None:
    b, a, x = xp.asarray([0.2, 0.1]), xp.asarray([1.0, -0.5]), np.arange(6.0)
    found = grad(lambda b, a: signal.lfilter(b, a, x).sum(), argnums=(0, 1))(b, a)
    h = 1e-6
    for k, (given, slope) in enumerate(zip((b, a), found, strict=True)):
        for i in range(2):
            step = h * np.eye(2)[i]
            pairs = [[np.asarray(b), np.asarray(a)] for _ in range(2)]
            pairs[0][k], pairs[1][k] = np.asarray(given) - step, np.asarray(given) + step
            low, high = (signal.lfilter(*pair, x).sum() for pair in pairs)
            np.testing.assert_allclose(slope[i], (high - low) / (2 * h), rtol=1e-6)


def test_more_solvers() -> None:
    found = grad(lambda a: optimize.fixed_point(lambda x: xp.cos(a * x), 0.5, xtol=1e-13) * 1.0)(1.0)
    x = optimize.fixed_point(np.cos, 0.5, xtol=1e-13)
    np.testing.assert_allclose(found, -x * np.sin(x) / (1 + np.sin(x)), rtol=1e-8)
    line = np.asarray([[1.0, 0.2], [0.1, 1.0], [0.5, 0.5]])
    slopes = jacrev(lambda b: optimize.lsq_linear(line, b).x)(xp.ones(3))
    np.testing.assert_allclose(slopes, np.linalg.pinv(line), atol=1e-10)


def test_derivatives_of_sums_over_batches_of_solutions() -> None:
    many = grad(lambda a: vmap(cube)(a).sum())(xp.asarray([1.0, 8.0]))
    np.testing.assert_allclose(many, [1 / 3, 1 / 12])
    several = grad(lambda a: vmap(lambda b: optimize.root(lambda x: x**3 + x - b, np.ones(2)).x)(a).sum())(
        xp.asarray([[2.0, 10.0], [2.0, 2.0]])
    )
    np.testing.assert_allclose(several, [[1 / 4, 1 / 13], [1 / 4, 1 / 4]], rtol=1e-6)


def test_integrals_of_integrals_and_over_their_limits() -> None:
    inner = grad(lambda a: integrate.quad(lambda x: integrate.quad(lambda y: a * x * y, 0, x)[0], 0, a)[0])
    np.testing.assert_allclose(inner(2.0), 5 * 2.0**4 / 8, rtol=1e-8)


def test_what_has_no_rule_is_refused_as_before() -> None:
    for function in (
        lambda x: linalg.hessenberg(x),
        lambda x: ndimage.zoom(x, x[0, 0]),
        lambda x: linalg.svd(x[:1]),
    ):
        with pytest.raises(TypeError, match="leaves for NumPy"):
            grad(lambda x, f=function: xp.sum(f(x)[0]))(xp.eye(2) + 1.0)


def test_methods_of_interpolators_of_tracked_values_refuse() -> None:
    x, y = np.arange(5.0), xp.asarray([0.0, 1.0, 4.0, 9.0, 16.0])
    made = (interpolate.CubicSpline, interpolate.PchipInterpolator, interpolate.BarycentricInterpolator)
    for interpolator in (*made, interpolate.make_interp_spline, interpolate.KroghInterpolator):

        def f(y: Any, interpolator: Any = interpolator) -> Any:
            found = interpolator(x, y)
            slope = found.derivative(1.5) if hasattr(found, "yi") else found.derivative()
            return xp.sum(slope if hasattr(found, "yi") else slope(1.5))

        with pytest.raises(TypeError, match="leaves for NumPy"):
            grad(f)(y)
    with pytest.raises(TypeError, match="leaves for NumPy"):
        grad(lambda y: interpolate.CubicSpline(x, y).integrate(0, 1))(y)
    slopes = grad(lambda y: interpolate.CubicSpline(x, y)(1.5, 1))(y)
    np.testing.assert_allclose(np.asarray(slopes) @ np.asarray(y), 3.0)


Z = np.random.default_rng(3).normal(size=(2, 5, 4))
COMPLEX = {
    "correlate": lambda x: ndimage.correlate(x, x[:3, :3]),
    "convolve1d": lambda x: ndimage.convolve1d(x, x[0, :3]),
    "hermitian": lambda x: linalg.solve(x[:4] + 9 * np.eye(4), np.ones(4), assume_a="her"),
    "map_coordinates": lambda x: ndimage.map_coordinates(x, [[0.5, 1.2], [2.2, 0.1]]),
    "csd": lambda x: signal.csd(x, x[0], nperseg=3)[1],
    "lfilter": lambda x: signal.lfilter(x[0, :2], [1.0, 0.3], x),
    "sqrtm": lambda x: linalg.sqrtm(x[:4] + 9 * np.eye(4)),
    "CubicSpline": lambda x: interpolate.CubicSpline(np.arange(5.0), x)([0.5, 2.2]),
}


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.filterwarnings("ignore:promoting specified output")
def test_complex_operands(name: str) -> None:
    f, x, t, h = COMPLEX[name], Z[0] + 1j * Z[1], Z[1] - 0.5j * Z[0], 1e-5
    wanted = (np.asarray(f(x + h * t)) - np.asarray(f(x - h * t))) / (2 * h)
    found, slope = jvp(f, (xp.asarray(x),), (xp.asarray(t),))
    np.testing.assert_allclose(found, f(x), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(slope, wanted, rtol=1e-5, atol=1e-6)
    pulled = grad(lambda x: xp.real(xp.sum(f(x))))(xp.asarray(x))
    np.testing.assert_allclose(np.real((np.asarray(pulled) * t).sum()), np.real(wanted.sum()), rtol=1e-5)


@pytest.mark.parametrize("outer", [grad, lambda f: lambda a: jvp(f, (a,), (1.0,))[1]])
@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_second_derivatives_of_differential_equations(outer: Any, method: str) -> None:
    def f(a: Any) -> Any:
        found = integrate.solve_ivp(lambda t, y: [a * y[0]], (0, 0.5), [1.0], method, rtol=1e-9, atol=1e-11)
        return found.y[0, -1]

    np.testing.assert_allclose(outer(grad(f))(0.7), 0.25 * np.exp(0.35), rtol=1e-6)


def test_second_derivatives_of_functions_of_matrices() -> None:
    for function in (linalg.sqrtm, linalg.logm):

        def f(a: Any, function: Any = function) -> Any:
            return xp.sum(function(xp.asarray([[2.0, 0.5], [0.1, 1.0]]) * a) ** 3)

        h = 1e-5
        wanted = (float(grad(f)(1.2 + h)) - float(grad(f)(1.2 - h))) / (2 * h)
        np.testing.assert_allclose(grad(grad(f))(1.2), wanted, rtol=1e-6)


def test_dtypes_are_kept() -> None:
    x = xp.asarray([1.0, 2.0, 4.0, 3.0], dtype=xp.float32)
    for f in (lambda x: ndimage.gaussian_filter(x, 1.0), lambda x: signal.welch(x, nperseg=4)[1], np.diff):
        assert jvp(f, (x,), (x,))[1].dtype == f(np.asarray(x)).dtype == np.float32
        assert grad(lambda x, f=f: xp.sum(f(x)))(x).dtype == np.float32


def test_threads_without_a_derivative_get_what_scipy_gives() -> None:
    plain = np.eye(3) + 1.0

    def work(k: int) -> Any:
        for _ in range(10):
            if k % 2:
                slope = grad(cube)(8.0)
                np.testing.assert_allclose(slope, 1 / 12)
                grad(lambda a: xp.sum(linalg.inv(a)))(xp.asarray(plain))
            else:
                assert type(cube(8.0)) is float
                assert type(linalg.inv(plain)) is np.ndarray
                assert type(integrate.quad(np.cos, 0, 1)[0]) is float
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
