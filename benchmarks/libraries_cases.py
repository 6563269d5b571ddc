"""Functions of SciPy that `libraries` calls, with the arrays that they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import (
    cluster,
    differentiate,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    signal,
    spatial,
    special,
    stats,
)
from scipy.optimize import elementwise as optimize

Maker = Callable[[np.random.Generator, int], Sequence[Any]]

SIZES = {"small": 1_000, "middle": 100_000, "large": 4_000_000}


class Case(NamedTuple):
    """A call of a library.

    Attributes
    ----------
    make
        Gives the operands from a generator and the number of elements that there should be.
    most
        The most elements that suit it: less than the large size where that takes NumPy seconds.
    apart
        SciPy has it in C for NumPy's arrays, and in Python for those of other libraries.
    """

    name: str
    call: Callable[..., Any]
    make: Maker
    most: int = SIZES["large"]
    apart: bool = False

    def size(self, size: str) -> int | None:
        """Return how many elements a size has; None where what suits the case is not large."""
        large = size == "large" and self.most <= SIZES["middle"]
        return None if large else min(SIZES[size], self.most)


def vector(rng: np.random.Generator, n: int) -> list[Any]:
    """Give one vector."""
    return [rng.standard_normal(n)]


def pair(rng: np.random.Generator, n: int) -> list[Any]:
    """Give two vectors that have to do with each other."""
    x = rng.standard_normal(n)
    return [x, 0.5 * x + rng.standard_normal(n)]


def positive(rng: np.random.Generator, n: int) -> list[Any]:
    """Give one vector of positive numbers."""
    return [rng.uniform(0.5, 2.0, n)]


def positive_pair(rng: np.random.Generator, n: int) -> list[Any]:
    """Give two vectors of positive numbers."""
    return list(rng.uniform(0.5, 2.0, (2, n)))


def shares(rng: np.random.Generator, n: int) -> list[Any]:
    """Give one vector of numbers between 0 and 1."""
    return [rng.uniform(0.01, 0.99, n)]


def table(columns: int) -> Maker:
    """Give one table with so many columns."""
    return lambda rng, n: [rng.standard_normal((n // columns, columns))]


def image(rng: np.random.Generator, n: int) -> list[Any]:
    """Give one square picture."""
    side = int(n**0.5)
    return [rng.standard_normal((side, side))]


def square(rng: np.random.Generator, n: int) -> list[Any]:
    """Give one square matrix that is well conditioned."""
    side = int(n**0.5)
    return [rng.standard_normal((side, side)) + side**0.5 * np.eye(side)]


def symmetric(rng: np.random.Generator, n: int) -> list[Any]:
    """Give one square matrix that is symmetric and positive definite."""
    (a,) = square(rng, n)
    return [a @ a.T]


def _frequencies(rng: np.random.Generator, n: int) -> list[Any]:
    observed = rng.uniform(5, 15, n)
    return [observed, np.full(n, observed.mean())]


def _signals(rows: int) -> Maker:
    return lambda rng, n: [rng.standard_normal((rows, n // rows))]


def _kernel(length: int) -> Maker:
    return lambda rng, n: [rng.standard_normal(n), rng.standard_normal(length)]


def _filter(rng: np.random.Generator, n: int) -> list[Any]:
    return [np.array([0.2, 0.3]), np.array([1.0, -0.5]), rng.standard_normal(n)]


def _sections(rng: np.random.Generator, n: int) -> list[Any]:
    return [signal.butter(4, 0.2, output="sos"), rng.standard_normal(n)]


def _steps(rng: np.random.Generator, n: int) -> list[Any]:
    return [rng.standard_normal(n), np.cumsum(rng.uniform(0.5, 1.5, n))]


def _codes(rng: np.random.Generator, n: int) -> list[Any]:
    return [rng.standard_normal((n // 8, 8)), rng.standard_normal((16, 8))]


def _points(rng: np.random.Generator, n: int) -> list[Any]:
    side = int(n**0.5)
    return list(rng.standard_normal((2, side, 3)))


def _grid(rng: np.random.Generator, n: int) -> list[Any]:
    side = max(8, int((n / 4) ** 0.5))
    axis = np.linspace(0.0, 1.0, side)
    return [axis, axis.copy(), rng.standard_normal((side, side)), rng.uniform(0, 1, (n, 2))]


def _knots(rng: np.random.Generator, n: int) -> list[Any]:
    x = np.linspace(0.0, 10.0, 200)
    return [x, np.sin(x), rng.uniform(0.0, 10.0, n)]


def _nodes(rng: np.random.Generator, n: int) -> list[Any]:
    return [np.linspace(0.0, 1.0, n), rng.standard_normal(n)]


def _rotation(rng: np.random.Generator, n: int) -> list[Any]:
    return [rng.standard_normal((n // 4, 4)), rng.standard_normal((n // 4, 3))]


def _coordinates(rng: np.random.Generator, n: int) -> list[Any]:
    side = int(n**0.5)
    return [rng.standard_normal((side, side)), rng.uniform(0, side - 1, (2, n))]


def _rotated(q: Any, v: Any) -> Any:
    return spatial.transform.Rotation.from_quat(q).apply(v)


def _spline(x: Any, y: Any, at: Any) -> Any:
    return interpolate.make_interp_spline(x, y, k=3)(at)


def _cubic(x: Any, y: Any, at: Any) -> Any:
    return interpolate.CubicSpline(x, y)(at)


def _on_grid(a: Any, b: Any, values: Any, at: Any) -> Any:
    return interpolate.RegularGridInterpolator((a, b), values)(at)


def _cube(x: Any, c: Any) -> Any:
    return x * x * x + x - c


def _parabola(x: Any, c: Any) -> Any:
    return (x - c) * (x - c)


def _root(c: Any) -> Any:
    return optimize.find_root(_cube, (0.0 * c - 2.0, 0.0 * c + 2.0), args=(c,)).x


def _minimum(c: Any) -> Any:
    return optimize.find_minimum(_parabola, (0.0 * c - 3.0, 0.0 * c, 0.0 * c + 3.0), args=(c,)).x


def _bracket(c: Any) -> Any:
    return optimize.bracket_root(_cube, 0.0 * c - 0.5, 0.0 * c + 0.5, args=(c,)).bracket[1]


def _slope(x: Any) -> Any:
    return differentiate.derivative(lambda t: t * t * t - t, x).df


def _integral(a: Any) -> Any:
    return integrate.tanhsinh(lambda t, c: t * t + c, 0.0 * a, 0.0 * a + 1.0, args=(a,)).integral


def _several(function: Callable[..., Any], *fields: str) -> Callable[..., Any]:
    """Return a function that gives these fields of what another gives."""
    return lambda *args: [getattr(found, f) for found in (function(*args),) for f in fields]


def _tests(*names: str, make: Maker = vector, most: int = SIZES["large"]) -> Iterable[Case]:
    for name in names:
        yield Case(f"stats.{name}", _several(getattr(stats, name), "statistic", "pvalue"), make, most)


def _plain(
    module: Any, make: Maker, *names: str, most: int = SIZES["large"], args: tuple[Any, ...] = ()
) -> Iterable[Case]:
    part = module.__name__.split(".")[1]
    for name in names:
        function = getattr(module, name)
        yield Case(f"{part}.{name}", lambda *xs, f=function: f(*xs, *args), make, most)


def scipy_cases() -> list[Case]:
    """Return the calls of SciPy."""
    half, million = 2_000_000, 1_000_000
    return [
        *_plain(stats, vector, "zscore", "skew", "kurtosis", "variation", "sem"),
        *_plain(stats, positive, "gmean", "hmean", "entropy", "circmean", "differential_entropy", most=half),
        *_plain(stats, vector, "rankdata", "iqr", most=million),
        Case("stats.describe", _several(stats.describe, "mean", "variance", "skewness", "kurtosis"), vector),
        Case("stats.moment", lambda x: stats.moment(x, 3), vector),
        Case("stats.zmap", stats.zmap, pair),
        Case("stats.quantile", lambda x: stats.quantile(x, 0.3), vector, million),
        Case("stats.boxcox_llf", lambda x: stats.boxcox_llf(0.5, x), positive, million),
        *_tests("normaltest", "jarque_bera"),
        *_tests("pearsonr", "ttest_ind", "ttest_rel", make=pair),
        *_tests("kruskal", "mannwhitneyu", make=pair, most=half // 4),
        Case("stats.ttest_1samp", lambda x: stats.ttest_1samp(x, 0.1).statistic, vector),
        Case("stats.bartlett", lambda x, y: stats.bartlett(x, y).statistic, pair),
        Case("stats.chisquare", lambda x, e: stats.chisquare(x, e).statistic, _frequencies),
        Case("stats.ttest_ind, columns", lambda x: stats.ttest_ind(x, x + 0.1).statistic, table(20)),
        Case("stats.zscore, columns", lambda x: stats.zscore(x, axis=0), table(20)),
        *_plain(special, vector, "expit", "erf", "ndtr", "log_softmax", "softmax", "logsumexp"),
        *_plain(special, positive, "gammaln", "entr", "i0", "digamma", most=half),
        *_plain(special, positive_pair, "xlogy", "rel_entr"),
        *_plain(special, positive_pair, "gammainc", "betaln", most=million),
        *_plain(special, shares, "ndtri", "logit", most=half),
        Case("special.softmax, rows", lambda x: special.softmax(x, axis=1), table(20)),
        *_plain(signal, vector, "hilbert", "detrend", most=half),
        Case("signal.hilbert, rows", signal.hilbert, _signals(100), half),
        Case("signal.fftconvolve", lambda x, k: signal.fftconvolve(x, k, mode="same"), _kernel(200), half),
        Case("signal.oaconvolve", lambda x, k: signal.oaconvolve(x, k, mode="same"), _kernel(200), half),
        Case("signal.welch", lambda x: signal.welch(x)[1], vector, million),
        Case("signal.periodogram", lambda x: signal.periodogram(x)[1], vector, half),
        Case("signal.lfilter", signal.lfilter, _filter),
        Case("signal.sosfiltfilt", signal.sosfiltfilt, _sections, million),
        Case("signal.savgol_filter", lambda x: signal.savgol_filter(x, 11, 3), vector, half),
        *_plain(fft, vector, "fft", "rfft", "dct", most=2**21),
        *_plain(fft, image, "fft2", "irfft2"),
        Case("fft.rfft, rows", fft.rfft, _signals(500)),
        Case("ndimage.gaussian_filter", lambda x: ndimage.gaussian_filter(x, 1.5), image, half),
        Case("ndimage.uniform_filter", lambda x: ndimage.uniform_filter(x, 5), image),
        *_plain(ndimage, image, "sobel", "laplace"),
        Case("ndimage.median_filter", lambda x: ndimage.median_filter(x, 3), image, million),
        Case("ndimage.shift", lambda x: ndimage.shift(x, 0.5), image, million),
        Case(
            "ndimage.map_coordinates",
            lambda x, at: ndimage.map_coordinates(x, at, order=1),
            _coordinates,
            million,
        ),
        *_plain(integrate, _steps, "trapezoid", "simpson", "cumulative_trapezoid"),
        Case("integrate.tanhsinh", _integral, shares, 20_000),
        Case("interpolate.CubicSpline", _cubic, _knots, half),
        Case("interpolate.make_interp_spline", _spline, _knots, half),
        Case("interpolate.pchip", lambda x, y, at: interpolate.PchipInterpolator(x, y)(at), _knots, half),
        Case("interpolate.RegularGridInterpolator", _on_grid, _grid, million),
        Case("optimize.elementwise.find_root", _root, vector, 300_000),
        Case("optimize.elementwise.find_minimum", _minimum, vector, 200_000),
        Case("optimize.elementwise.bracket_root", _bracket, vector, 300_000),
        Case("cluster.vq.vq", cluster.vq.vq, _codes),
        Case("cluster.vq.whiten", cluster.vq.whiten, table(20)),
        Case("spatial.distance.cdist", spatial.distance.cdist, _points),
        Case("spatial.Rotation.apply", _rotated, _rotation, million, apart=True),
        Case("differentiate.derivative", _slope, vector, 500_000),
        *_plain(linalg, square, "inv", "det", "qr", "expm", most=250_000),
        *_plain(linalg, square, "svdvals", most=160_000),
        *_plain(linalg, symmetric, "cholesky", "eigh", most=250_000),
        Case("linalg.solve", lambda a: linalg.solve(a, a[:, 0]), square, million),
    ]
