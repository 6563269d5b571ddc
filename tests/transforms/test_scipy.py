"""SciPy and scikit-learn, unchanged, under transforms; and what of ours serves them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import special as theirs
from scipy import stats

import nabla_array as xp
from nabla_array._lazy.ops.special import PARTIALS, SEVERAL
from nabla_array.transforms import compile, grad, hessian, jvp, stop_gradient, vmap

from .scipy_table import PAGE, Row, measure, page, rows, versions_differ

X = xp.asarray([0.3, 0.5, 0.7])


@pytest.mark.slow
@pytest.mark.parametrize("row", list(rows()), ids=str)
def test_the_table_is_right(row: Row) -> None:
    assert measure(row) == row.cells or versions_differ()


def test_the_page_shows_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.transforms.scipy_table --write`"


def test_the_page_counts_the_special_functions() -> None:
    assert f"{len(PARTIALS | SEVERAL)} functions" in PAGE.read_text(encoding="utf-8")


# -- special functions -------------------------------------------------------------------------------------


def test_a_ufunc_of_scipy_is_recorded() -> None:
    """With SciPy's dispatch, which asks for `xp.special`, and without it, through the ufunc itself."""
    ufunc = theirs.erf.__wrapped__
    assert isinstance(ufunc, np.ufunc)
    for function in (theirs.erf, ufunc, xp.special.erf):
        found = grad(lambda x, f=function: xp.sum(f(x)))(X)
        np.testing.assert_allclose(found, 2 / np.sqrt(np.pi) * np.exp(-(np.asarray(X) ** 2)))


def test_special_functions_broadcast_and_take_numbers() -> None:
    column = xp.asarray([[1.0], [2.0]])
    np.testing.assert_allclose(theirs.xlogy(column, X), theirs.xlogy(np.asarray(column), np.asarray(X)))
    single = xp.asarray(X, dtype=xp.float32)
    assert xp.special.xlogy(single, single).dtype == xp.float32
    into = xp.zeros(3)
    theirs.erf.__wrapped__(X, out=into)
    np.testing.assert_array_equal(into, theirs.erf(np.asarray(X)))


@pytest.mark.parametrize(
    ("name", "operands"),
    [
        ("polygamma", (2, 0.7)),
        ("polygamma", (0, 0.7)),
        ("zeta", (3.0,)),
        ("zeta", (3.0, 0.4)),
        ("sinc", (0.0,)),
    ],
)
def test_functions_that_are_no_ufuncs(name: str, operands: tuple[Any, ...]) -> None:
    found = getattr(xp.special, name)(*[xp.asarray(x) for x in operands])
    np.testing.assert_allclose(found, getattr(theirs, name)(*operands))


def test_what_is_no_special_function() -> None:
    with pytest.raises(AttributeError, match=r"'nabla_array.special' has no attribute 'nothing'"):
        xp.special.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="'roots_legendre'"):
        xp.special.roots_legendre  # noqa: B018


def test_functions_with_several_results() -> None:
    u, m = xp.asarray([0.5, 1.0]), xp.asarray([[0.1], [0.2], [0.3]])
    for found, wanted in zip(theirs.ellipj(u, m), theirs.ellipj(np.asarray(u), np.asarray(m)), strict=True):
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(NotImplementedError, match="no derivative by the parameter is known"):
        grad(lambda m: theirs.ellipj(0.5, m)[0])(0.3)
    assert grad(lambda x: theirs.sici(x)[0])(0.0) == 1


def test_a_derivative_that_has_no_formula_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"special.gammainc: no derivative by the shape is known"):
        grad(lambda a: theirs.gammainc(a, 2.0))(1.5)
    assert grad(lambda a: theirs.gammainc(stop_gradient(a), 2.0))(1.5) == 0


def test_a_third_derivative() -> None:
    third = grad(grad(grad(theirs.gammaln)))(2.5)
    np.testing.assert_allclose(third, theirs.polygamma(2, 2.5))


def test_bessel_functions_at_zero() -> None:
    assert [float(grad(f)(0.0)) for f in (theirs.j0, theirs.j1, theirs.i0, theirs.i1)] == [0, 0.5, 0, 0.5]


# -- values that leave -------------------------------------------------------------------------------------


def _twice(x: float) -> float:
    return 2 * x


def test_numpy_takes_no_value_that_is_differentiated() -> None:
    with pytest.raises(TypeError, match=r"numpy.asarray: .* leaves for NumPy .* stop_gradient"):
        grad(lambda x: xp.sum(xp.asarray(np.asarray(x) ** 2)))(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(TypeError, match=r"_twice .*: a value that is being differentiated"):
            jvp(np.frompyfunc(_twice, 1, 1), (X,), (X,))
    with pytest.raises(TypeError, match="__dlpack__: "):
        grad(lambda x: xp.sum(xp.asarray(np.from_dlpack(x))))(X)


def test_numpy_takes_what_no_derivative_depends_on() -> None:
    def f(x: xp.Array) -> xp.Array:
        some = [np.asarray(stop_gradient(x)), np.asarray(x > 0.4), np.asarray(xp.floor(x)), np.asarray(X)]
        return xp.sum(x * sum(some))

    np.testing.assert_allclose(grad(f)(X), np.asarray(X) * 2 + (np.asarray(X) > 0.4))


def test_python_numbers_may_be_looked_at_but_not_returned() -> None:
    assert grad(lambda x: x * 2 if float(x) > 0 else x)(1.0) == 2
    with pytest.raises(TypeError, match=r"grad: the function returned 9.0, no array"):
        grad(lambda x: float(x**2))(3.0)
    assert grad(lambda x: 4.0)(3.0) == 0


# -- libraries that ask whether they may look ----------------------------------------------------------------


def test_a_library_that_needs_values_makes_a_compiled_call_fall_back() -> None:
    x = xp.asarray([float("nan"), 1.0, 2.0, 5.0])
    skew = compile(lambda x: stats.skew(x, nan_policy="omit"))
    for _ in range(2):
        np.testing.assert_allclose(skew(x), stats.skew(np.asarray(x), nan_policy="omit"))
    assert skew.cache_info().fallbacks == 2


def test_a_mask_of_no_axes_is_written_through_without_a_look() -> None:
    def f(x: xp.Array) -> xp.Array:
        y = x * 1
        y[x > 0.4] = 0
        return y

    np.testing.assert_array_equal(vmap(f, strict=True)(X), [0.3, 0, 0])


# -- together ------------------------------------------------------------------------------------------------


def log_likelihood(parameters: Any, counts: Any) -> Any:
    """Of counts, by the logarithms of the mean and the size of a negative binomial distribution."""
    mean, size = xp.exp(parameters)
    logs = theirs.gammaln(counts + size) - theirs.gammaln(size) - theirs.gammaln(counts + 1.0)
    return xp.sum(
        logs + theirs.xlogy(size, size / (size + mean)) + theirs.xlogy(counts, mean / (size + mean))
    )


def test_the_hessian_of_a_likelihood_under_vmap() -> None:
    counts = xp.asarray(np.random.default_rng(0).negative_binomial(3, 0.4, (4, 50)).astype(float))
    at = xp.asarray([1.2, 0.9])
    found = np.asarray(vmap(lambda x: hessian(log_likelihood)(at, x))(counts))
    h = 1e-4
    for one, x in zip(found, counts, strict=True):
        slopes = [np.asarray(grad(log_likelihood)(at + h * xp.asarray(e), x)) for e in np.eye(2)]
        below = [np.asarray(grad(log_likelihood)(at - h * xp.asarray(e), x)) for e in np.eye(2)]
        np.testing.assert_allclose(one, (np.array(slopes) - below) / (2 * h), rtol=1e-6, atol=1e-6)
    together = np.asarray(
        xp.sum(stats.nbinom.logpmf(np.asarray(counts[0]), np.exp(0.9), 1 / (1 + np.exp(0.3))))
    )
    np.testing.assert_allclose(log_likelihood(at, counts[0]), together)
