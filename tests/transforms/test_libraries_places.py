"""SciPy's distributions and interpolators: a batch at once, and the derivatives of distributions."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import interpolate, stats
from scipy.spatial import distance

import nabla_array as xp
from nabla_array.distributed import DeviceMesh, P, pickling, shard
from nabla_array.transforms import (
    SplitWarning,
    checkpoint,
    compile,
    cond,
    fori_loop,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    scan,
    vjp,
    vmap,
)
from nabla_array.transforms.libraries.places import PLACES

from ..distributed.meshes import on_mesh, recorded

Function = Callable[..., Any]
QUANTILES = ("ppf", "isf")
CONTINUOUS = {
    **dict.fromkeys(
        ("norm", "uniform", "expon", "cauchy", "laplace", "logistic", "gumbel_r", "gumbel_l"), ()
    ),
    **dict.fromkeys(
        ("rayleigh", "halfnorm", "arcsine", "cosine", "hypsecant", "levy", "maxwell", "wald"), ()
    ),
    **{"gamma": (1.99,), "beta": (2.31, 0.63), "t": (2.7,), "chi2": (55.0,), "f": (29.0, 18.0)},
    **{"lognorm": (0.95,), "pareto": (2.62,), "weibull_min": (1.78,), "weibull_max": (2.87,)},
    **{"invgamma": (4.07,), "invgauss": (0.145,), "triang": (0.158,), "truncnorm": (-1.1, 2.74)},
    **{
        "genextreme": (-0.1,),
        "genpareto": (0.1,),
        "exponnorm": (1.5,),
        "skewnorm": (4.0,),
        "powerlaw": (1.66,),
    },
    **{
        "erlang": (10.0,),
        "loguniform": (0.013, 1.25),
        "vonmises": (3.99,),
        "rice": (0.775,),
        "burr12": (10.0, 4.0),
    },
}
DISCRETE = {
    **{"poisson": (0.6,), "binom": (5, 0.4), "bernoulli": (0.3,), "geom": (0.5,), "nbinom": (5, 0.5)},
    **{
        "hypergeom": (21, 3, 12),
        "randint": (7, 31),
        "zipf": (6.5,),
        "logser": (0.6,),
        "betabinom": (5, 2.3, 0.63),
    },
}
METHODS = {
    "rv_continuous": ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", *QUANTILES),
    "rv_discrete": ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", *QUANTILES),
}
KINDS = [
    pytest.param(name, args, METHODS[kind], id=name)
    for kind, table in (("rv_continuous", CONTINUOUS), ("rv_discrete", DISCRETE))
    for name, args in table.items()
]
LEVELS = np.array([0.12, 0.37, 0.61, 0.83])


@pytest.fixture(autouse=True)
def _nothing_is_split() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", SplitWarning)
        yield


def places(name: str, args: Any, method: str) -> np.ndarray:
    """Return places at which a method is neither at an end nor at a kink."""
    return LEVELS if method in QUANTILES else np.asarray(getattr(stats, name).ppf(LEVELS, *args), float)


def difference(f: Function, x: Any) -> np.ndarray:
    """Return the derivative of a function of NumPy's, element by element."""
    h = 1e-5 * np.maximum(np.abs(x), 0.1)
    near, far = (np.asarray(f(x + k * h)) - np.asarray(f(x - k * h)) for k in (1, 2))
    return np.asarray((8 * near - far) / (12 * h))


def assert_near(found: Any, wanted: Any) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-4 * max(np.abs(wanted).max(), 1e-3))


def summed(f: Function) -> Function:
    return lambda x: xp.sum(xp.asarray(f(x)))


# -- distributions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "args", "methods"), KINDS)
def test_distributions_at_once(name: str, args: tuple[float, ...], methods: tuple[str, ...]) -> None:
    for method in methods:
        at = places(name, args, method)
        f = partial(getattr(getattr(stats, name), method), loc=1)
        wanted = f(at, *args)
        by_place = lambda x, f=f: f(x, *args)  # noqa: E731
        np.testing.assert_array_equal(vmap(by_place)(xp.asarray(at)), wanted)
        np.testing.assert_array_equal(compile(by_place, fullgraph=True)(xp.asarray(at)), wanted)
        found = vmap(f)(xp.asarray(at), *[xp.full(len(at), a) for a in args])
        np.testing.assert_array_equal(found, wanted)
        nested = vmap(vmap(lambda x, loc, f=f: f(x, *args, loc=loc), (0, None)), (None, 0))
        pairs = nested(xp.asarray(at), xp.asarray([0, 1]))
        np.testing.assert_array_equal(pairs[1], wanted)


@pytest.mark.parametrize("name", [name for name in CONTINUOUS if name != "triang"])
def test_derivatives_by_place_and_scale(name: str) -> None:
    args = CONTINUOUS[name]
    distribution = getattr(stats, name)
    for method in METHODS["rv_continuous"]:
        f = getattr(distribution, method)
        at = places(name, args, method)
        if method not in QUANTILES:
            at = 0.3 + 1.7 * at
        by_place = lambda x, f=f: f(x, *args, 0.3, 1.7)  # noqa: E731
        by_scale = lambda s, f=f, at=at: f(at, *args, scale=s, loc=0.3)  # noqa: E731
        assert_near(grad(summed(by_place))(xp.asarray(at)), difference(by_place, at))
        assert_near(grad(summed(by_scale))(1.7), difference(by_scale, 1.7).sum())
        assert_near(vmap(grad(by_place))(xp.asarray(at)), difference(by_place, at))


SHAPED = ["norm", "gamma", "beta", "t", "chi2", "f", "lognorm", "pareto", "weibull_min", "invgamma"]


@pytest.mark.parametrize("name", SHAPED)
def test_derivatives_of_densities_by_parameters(name: str) -> None:
    args = CONTINUOUS[name]
    f = getattr(stats, name).logpdf
    at = places(name, args, "logpdf")
    for i in range(len(args)):

        def by_shape(a: Any, i: int = i) -> Any:
            return f(at, *args[:i], a, *args[i + 1 :])

        assert_near(grad(summed(by_shape))(args[i]), difference(by_shape, args[i]).sum())
        _, tangent = jvp(by_shape, (xp.asarray(args[i]),), (xp.asarray(1.0),))
        assert_near(tangent, difference(by_shape, args[i]))


@pytest.mark.parametrize("method", ["pmf", "logpmf"])
@pytest.mark.parametrize(("name", "args"), [("poisson", (2.5,)), ("geom", (0.4,)), ("bernoulli", (0.3,))])
def test_derivatives_of_counts_by_parameters(name: str, args: tuple[float], method: str) -> None:
    f = lambda a: getattr(getattr(stats, name), method)(np.array([0, 1, 1, 3]), a)  # noqa: E731
    with np.errstate(invalid="ignore"):
        wanted = difference(f, args[0])
    wanted = np.where(np.isfinite(wanted), wanted, 0)  # outside of the support
    assert_near(jvp(f, (xp.asarray(args[0]),), (xp.asarray(1.0),))[1], wanted)
    by_place = lambda k: xp.sum(getattr(getattr(stats, name), method)(k, *args))  # noqa: E731
    np.testing.assert_array_equal(grad(by_place)(xp.asarray([1.0, 1.0])), 0)


def test_a_likelihood() -> None:
    data = stats.gamma.rvs(2.5, scale=1.5, size=200, random_state=0)

    def loss(p: Any) -> Any:
        return -xp.mean(stats.gamma(xp.exp(p[0]), scale=xp.exp(p[1])).logpdf(data))

    p = xp.full(2, 0.7)
    for _ in range(8):
        p = p - xp.linalg.solve(hessian(loss)(p), grad(loss)(p))
    shape, _, scale = stats.gamma.fit(data, floc=0)
    np.testing.assert_allclose(np.exp(p), [shape, scale], rtol=1e-4)


def test_derivatives_of_derivatives() -> None:
    x = xp.asarray([-1.3, 0.2, 2.1])
    density = stats.norm.pdf(np.asarray(x))
    slope = vmap(grad(grad(stats.norm.cdf)))
    np.testing.assert_allclose(slope(x), -np.asarray(x) * density, rtol=1e-12)
    third = vmap(grad(grad(grad(stats.norm.logcdf))))(x)
    second = lambda x: vmap(grad(grad(stats.norm.logcdf)))(xp.asarray(x))  # noqa: E731
    assert_near(third, difference(second, np.asarray(x)))
    quantile = lambda q: vmap(grad(stats.norm.ppf))(xp.asarray(q))  # noqa: E731
    assert_near(vmap(grad(grad(stats.norm.ppf)))(xp.asarray(LEVELS)), difference(quantile, LEVELS))


def test_far_tails() -> None:
    np.testing.assert_allclose(grad(stats.norm.logcdf)(-50.0), 50.02, rtol=1e-3)
    np.testing.assert_allclose(grad(stats.norm.logsf)(50.0), -50.02, rtol=1e-3)
    assert grad(stats.norm.cdf)(60.0) == 0
    assert grad(stats.norm.logpdf)(60.0) == -60


@pytest.mark.parametrize("method", METHODS["rv_continuous"])
def test_ends_and_wrong_parameters(method: str) -> None:
    at = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, np.nan, np.inf, -np.inf])
    scale = np.array([[1.0], [-1.0], [0.0], [np.nan]])
    f = lambda x, s: getattr(stats.beta, method)(x, 0.5, 2.0, scale=s)  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        wanted = f(at, scale)
        value, tangent = jvp(f, (xp.asarray(at), xp.asarray(scale)), (xp.ones(8), xp.zeros((4, 1))))
        by_scale = jvp(f, (xp.asarray(at), xp.asarray(scale)), (xp.zeros(8), xp.ones((4, 1))))[1]
    np.testing.assert_array_equal(value, wanted)
    np.testing.assert_array_equal(vmap(f, (None, 0))(xp.asarray(at), xp.asarray(scale)), wanted)
    tangent = np.asarray(tangent)
    assert np.isnan(tangent[np.isnan(wanted) & np.isfinite(at)]).all()
    assert np.isfinite(tangent[0, np.isfinite(wanted[0])]).all()
    inside = 0.5 if method in QUANTILES else at[2]
    assert_near(tangent[0, 2], difference(lambda x: f(x, 1.0), inside))
    assert_near(np.asarray(by_scale)[0, 2], difference(lambda s: f(inside, s), 1.0))


def test_derivatives_that_have_no_formula_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="no derivative by the shape is known"):
        grad(lambda a: stats.gamma.ppf(0.3, a))(2.0)
    with pytest.raises(TypeError, match="leaves for NumPy"):
        grad(lambda x: stats.triang.pdf(x, 0.2))(0.3)  # which SciPy writes into an array of NumPy's


def test_parameters_that_do_not_broadcast_are_split() -> None:
    warnings.simplefilter("ignore", SplitWarning)
    k = np.arange(4)
    f = lambda k: stats.poisson_binom.pmf(k, [0.1, 0.6, 0.7, 0.8])  # noqa: E731
    np.testing.assert_array_equal(vmap(f)(xp.asarray(k)), f(k))


def test_a_distribution_of_ones_own() -> None:
    class Ramp(stats.rv_continuous):
        def _pdf(self, x: Any) -> Any:
            return 2 * x

        def _cdf(self, x: Any) -> Any:
            return x * x

    ramp = Ramp(a=0, b=1)
    x = xp.asarray([-0.5, 0.25, 0.5])
    np.testing.assert_array_equal(vmap(ramp.cdf)(x), [0, 0.0625, 0.25])
    np.testing.assert_allclose(vmap(grad(ramp.cdf))(x), [0, 0.5, 1])
    np.testing.assert_allclose(vmap(grad(ramp.pdf))(x), [0, 2, 2])


def test_densities_of_several_numbers() -> None:
    mean, cov = np.array([0.3, -0.2]), np.array([[1.0, 0.3], [0.3, 2.0]])
    x = np.random.default_rng(0).normal(size=(3, 4, 2))
    frozen = stats.multivariate_normal(mean, cov)
    for method in ("pdf", "logpdf"):
        wanted = getattr(frozen, method)(x)
        of = partial(getattr(stats.multivariate_normal, method), mean=mean, cov=cov)
        for f in (getattr(frozen, method), of):
            np.testing.assert_array_equal(vmap(f)(xp.asarray(x)), wanted)
            np.testing.assert_array_equal(vmap(vmap(f))(xp.asarray(x)), wanted)
            np.testing.assert_array_equal(compile(f, fullgraph=True)(xp.asarray(x)), wanted)
    slopes = vmap(grad(frozen.logpdf))(xp.asarray(x[0]))
    np.testing.assert_allclose(slopes, -(x[0] - mean) @ np.linalg.inv(cov), rtol=1e-10)


X5 = np.linspace(0.1, 0.9, 5)
SPLINE = interpolate.CubicSpline(np.linspace(0, 1, 9), np.sin(np.linspace(0, 1, 9)))
COMPOSED: dict[str, Callable[[Function], Function]] = {
    "grad of vmap": lambda f: grad(lambda x: xp.sum(vmap(f)(x))),
    "compile of vmap of grad": lambda f: compile(vmap(grad(f))),
    "vmap of compile of grad": lambda f: vmap(compile(grad(f))),
    "grad of compile": lambda f: grad(compile(lambda x: xp.sum(f(x)))),
    "grad of compile of vmap": lambda f: grad(compile(lambda x: xp.sum(vmap(f)(x)))),
    "jvp of vmap": lambda f: lambda x: jvp(vmap(f), (x,), (xp.ones(5),))[1],
    "vjp": lambda f: lambda x: vjp(f, x)[1](xp.ones(5))[0],
    "checkpoint": lambda f: grad(checkpoint(lambda x: xp.sum(f(x)))),
    "jacfwd": lambda f: lambda x: xp.diag(jacfwd(f)(x)),
    "jacrev": lambda f: lambda x: xp.diag(jacrev(f)(x)),
    "scan": lambda f: grad(lambda x: scan(lambda c, z: (c + f(z), f(z)), 0.0, x)[0]),
    "fori_loop": lambda f: grad(lambda x: fori_loop(0, 5, lambda i, c: c + f(x[i]), 0.0)),
    "cond": lambda f: vmap(grad(lambda z: cond(z > 2, lambda q: 0 * q, f, z))),
}


@pytest.mark.parametrize("composed", COMPOSED.values(), ids=COMPOSED)
@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: stats.beta.logpdf(x, 2.0, 3.0), 1 / X5 - 2 / (1 - X5)),
        (lambda x: stats.expon.cdf(x, scale=2.0), stats.expon.pdf(X5, scale=2.0)),
        (stats.norm.ppf, 1 / stats.norm.pdf(stats.norm.ppf(X5))),
        (SPLINE, SPLINE(X5, 1)),
    ],
    ids=["logpdf", "cdf", "ppf", "spline"],
)
def test_inside_other_transforms(f: Function, slope: np.ndarray, composed: Any) -> None:
    np.testing.assert_allclose(composed(f)(xp.asarray(X5)), slope, rtol=1e-10)


@pytest.mark.parametrize("f", [stats.norm.cdf, SPLINE, lambda x: stats.gamma(2.0, scale=x).logpdf(0.3)])
def test_second_derivatives_of_loops(f: Function) -> None:
    looped = lambda x: scan(lambda c, z: (c + f(z), 0.0), 0.0, x)[0]  # noqa: E731
    curvature = np.diag(vmap(grad(grad(f)))(xp.asarray(X5)))
    np.testing.assert_allclose(hessian(looped)(xp.asarray(X5)), curvature, rtol=1e-9, atol=1e-12)


# -- interpolators -------------------------------------------------------------------------------------

X = np.linspace(0, 3, 9)
Y = np.sin(X)
AT = np.array([0.1, 0.77, 1.3, 2.9])
INTERPOLATORS: dict[str, Any] = {
    "CubicSpline": interpolate.CubicSpline(X, Y),
    "CubicSpline of rows": interpolate.CubicSpline(X, np.stack([Y, 2 * Y], axis=1)),
    "PchipInterpolator": interpolate.PchipInterpolator(X, Y),
    "BSpline": interpolate.make_interp_spline(X, Y),
    "interp1d": interpolate.interp1d(X, Y),
    "KroghInterpolator": interpolate.KroghInterpolator(X, Y),
    "BarycentricInterpolator": interpolate.BarycentricInterpolator(X, Y),
    "UnivariateSpline": interpolate.UnivariateSpline(X, Y, s=0),
    "splev": lambda x: interpolate.splev(x, interpolate.splrep(X, Y)),
    "RegularGridInterpolator": interpolate.RegularGridInterpolator((X, X), np.outer(Y, Y)),
}


def test_each_function_of_the_table_is_called() -> None:
    called = {f"{name}.__call__" for name in INTERPOLATORS} | {"splev", "PPoly.__call__"}
    assert {*PLACES["scipy.interpolate"]} <= called
    assert {*PLACES["scipy.spatial.distance"]} == {"cdist"}
    assert len(PLACES["scipy.stats._multivariate"]) == 4
    assert {*PLACES["scipy.stats"]} == {f"{kind}.{m}" for kind, names in METHODS.items() for m in names}


def called(name: str) -> Function:
    """Return an interpolator as a function of one place."""
    f = INTERPOLATORS[name]
    return (lambda x: f(xp.stack([x, 3 - x], axis=-1))) if name == "RegularGridInterpolator" else f


@pytest.mark.parametrize("name", INTERPOLATORS)
def test_interpolators_at_once(name: str) -> None:
    f = called(name)
    wanted = np.stack([np.asarray(f(xp.asarray(x))) for x in AT])
    assert_close = partial(np.testing.assert_allclose, rtol=1e-13)
    assert_close(vmap(f)(xp.asarray(AT)), wanted)
    assert_close(vmap(vmap(f))(xp.asarray(AT.reshape(2, 2))), wanted.reshape(2, 2, *wanted.shape[1:]))
    assert_close(compile(f, fullgraph=True)(xp.asarray(AT[1])), wanted[1])
    assert vmap(f)(xp.zeros(0)).shape == (0, *wanted.shape[1:])


@pytest.mark.parametrize(
    "name", [n for n in INTERPOLATORS if n not in ("interp1d", "KroghInterpolator", "splev")]
)
def test_derivatives_of_a_batch(name: str) -> None:
    f = called(name)
    wanted = difference(lambda xs: np.stack([np.sum(np.asarray(f(xp.asarray(x)))) for x in xs]), AT)
    warnings.simplefilter("ignore", SplitWarning)  # of grids
    assert_near(vmap(grad(summed(f)))(xp.asarray(AT)), wanted)


def test_a_spline_along_another_axis() -> None:
    warnings.simplefilter("ignore", SplitWarning)
    spline = interpolate.CubicSpline(X, np.stack([Y, 2 * Y]), axis=1)
    at = AT.reshape(2, 2)
    np.testing.assert_allclose(vmap(spline)(xp.asarray(at)), np.stack([spline(x) for x in at]), rtol=1e-13)


def test_places_outside_raise_at_the_call() -> None:
    with pytest.raises(ValueError, match=r"above the interpolation\s+range"):
        vmap(INTERPOLATORS["interp1d"])(xp.asarray([0.5, 7.0]))


def test_interpolators_that_change_are_told_apart() -> None:
    for factor in (1.0, 2.0, 3.0):
        spline = interpolate.CubicSpline(X, factor * Y)
        np.testing.assert_array_equal(vmap(spline)(xp.asarray(AT)), spline(AT))
    spline.c[:] = 0
    np.testing.assert_array_equal(vmap(spline)(xp.asarray(AT)), 0)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "minkowski"])
def test_distances_from_tables(metric: str) -> None:
    rng = np.random.default_rng(0)
    tables, others = rng.normal(size=(4, 5, 3)), rng.normal(size=(6, 3))
    f = lambda x: distance.cdist(x, others, metric)  # noqa: E731
    wanted = np.stack([f(x) for x in tables])
    np.testing.assert_array_equal(vmap(f)(xp.asarray(tables)), wanted)
    np.testing.assert_array_equal(vmap(vmap(f))(xp.asarray(tables[None])), wanted[None])
    np.testing.assert_array_equal(compile(f, fullgraph=True)(xp.asarray(tables[0])), wanted[0])
    assert vmap(f)(xp.zeros((0, 5, 3))).shape == (0, 5, 6)
    with pytest.raises(ValueError, match="must be a 2-dimensional"):
        vmap(f)(xp.asarray(tables[0]))


# -- meshes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [INTERPOLATORS["CubicSpline"], lambda x: stats.gamma.logpdf(x, 2.0, loc=-1)])
def test_devices_have_their_own_examples(f: Function) -> None:
    x = np.linspace(0.1, 2.9, 8)
    found = vmap(f)(shard(x, DeviceMesh(4, "d"), P("d")))
    assert found.sharding.partition_spec == P("d")
    np.testing.assert_array_equal(found, f(x))
    program, values = recorded(vmap(f), [x])
    assert pickling  # which says how
    sent = pickle.loads(pickle.dumps(program))
    (found,) = on_mesh(sent, DeviceMesh(2, "d"), values, [None])
    np.testing.assert_array_equal(found, f(x))
