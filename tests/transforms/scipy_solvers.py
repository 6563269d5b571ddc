"""More calls that `scipy_table.py` measures: SciPy leaves for C, calls functions, or looks at values."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import cluster, fft, integrate, interpolate, linalg, ndimage, optimize, signal, sparse, stats
from scipy.sparse import linalg as sparse_linalg
from scipy.spatial import distance
from sklearn import metrics

from .scipy_functions import Entry, definite, each, labels, module, normal, small

# What most rows' cells say; `_OTHERWISE` has the others.
_CELLS = "s..lh"


def like(x: Any, value: Any) -> Any:
    """Return a constant as an array of the kind that `x` is."""
    return module(x).asarray(value)


def stack(x: Any, *parts: Any) -> Any:
    return module(x).stack([p + 0 * x[0] for p in parts])


def cubic(x: Any, a: Any) -> Any:
    return x**3 + x - a


def bowl(x: Any, a: Any) -> Any:
    return ((x - a) ** 2).sum() + (x**4).sum()


def overdetermined(x: Any, a: Any) -> Any:
    return stack(a, x[0] - a[0], x[1] * x[0] - a[1], x[1] - 1)


def minimum(method: str, **options: Any) -> Entry:
    return (
        lambda a: optimize.minimize(bowl, np.ones(2), args=(a,), method=method, tol=1e-13, **options).x,
        (small(2),),
        _CELLS,
    )


def bracketed(name: str) -> Entry:
    find = getattr(optimize, name)
    return lambda a: like(a, 1.0) * find(lambda x: x**3 - a, 0.0, 2.0, xtol=1e-14), (small(),), _CELLS


def prey(t: float, y: Any, a: Any) -> Any:
    return stack(a, a[0] * y[0] - y[0] * y[1], y[0] * y[1] - a[1] * y[1])


def solved(method: str) -> Entry:
    return (
        lambda a: (
            integrate.solve_ivp(
                prey, (0, 0.2), a + 0.5, method=method, args=(a,), rtol=1e-7, atol=1e-9, t_eval=[0.1, 0.2]
            ).y
        ),
        (small(2),),
        _CELLS,
    )


def entries(functions: Any, names: str, call: Any, *operands: Any) -> dict[str, Entry]:
    """Return entries of functions that are called alike: ``call(function, *operands)``."""

    def entry(function: Any) -> Entry:
        return lambda *x: call(function, *x), operands, _CELLS

    return {name: entry(getattr(functions, name)) for name in names.split()}


_TRIDIAGONAL = sparse.csc_array(np.diag(np.full(5, 4.0)) + np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1))
_SPARSE = sparse.csc_array(_TRIDIAGONAL + sparse.csc_array(np.diag(np.full(2, 0.5), 3)))
_X = np.asarray([0.0, 1.0, 2.0, 3.5, 4.0, 5.0])
_AT = np.asarray([0.3, 1.5, 2.2, 4.4])
_GRID = (np.arange(4.0), np.arange(5.0))
_POINTS = np.asarray([[0.5, 0.3], [2.2, 3.1], [1.7, 0.2]])
_SCATTERED = np.random.default_rng(0).uniform(0, 5, (12, 2))
_INSIDE = np.asarray([[2.5, 2.4], [2.2, 2.7]])
_B, _A = signal.butter(3, 0.3)
_SOS = signal.butter(4, 0.3, output="sos")
_TAPS = np.asarray([1.0, 2.0, 3.0, -1.0, 0.5])
_TIMES = np.linspace(0, 1, 6)
_LINE = np.asarray([[1.0, 0.2], [0.1, 1.0], [0.5, 0.5]])
_INTERPOLATORS = "CubicSpline PchipInterpolator Akima1DInterpolator KroghInterpolator BarycentricInterpolator"

MORE: dict[str, dict[str, Entry]] = {
    "scipy.optimize: solvers": {
        "root": (lambda a: optimize.root(cubic, np.ones(2), args=(a,), tol=1e-12).x, (small(2),), _CELLS),
        "root(method='broyden1')": (
            lambda a: optimize.root(lambda x: cubic(x, a), np.ones(2), method="broyden1", tol=1e-12).x,
            (small(2),),
            _CELLS,
        ),
        "fsolve": (
            lambda a: optimize.fsolve(
                lambda x: [x[0] ** 2 + x[1] - a[0] - 1, x[1] - x[0] * a[1]], [1.0, 1.0], xtol=1e-13
            ),
            (small(2),),
            _CELLS,
        ),
        **{name: bracketed(name) for name in ["brentq", "brenth", "ridder", "bisect", "toms748"]},
        "root_scalar": (
            lambda a: like(a, 1.0) * optimize.root_scalar(cubic, args=(a,), bracket=(0, 2), xtol=1e-14).root,
            (small(),),
            _CELLS,
        ),
        "newton": (lambda a: optimize.newton(lambda x: x**3 - a, 1.0, tol=1e-12), (small(),), _CELLS),
        **{f"minimize(method={m!r})": minimum(m) for m in ("BFGS", "L-BFGS-B", "CG", "SLSQP", "Nelder-Mead")},
        "minimize(constraints=...)": minimum(
            "SLSQP", constraints={"type": "eq", "fun": lambda x: x.sum() - 1}
        ),
        "minimize_scalar": (
            lambda a: optimize.minimize_scalar(lambda x: (x - a) ** 2 + x**4, tol=1e-13).fun,
            (small(),),
            _CELLS,
        ),
        "least_squares": (
            lambda a: (
                optimize.least_squares(
                    overdetermined, np.ones(2), args=(a,), xtol=1e-15, ftol=1e-15, gtol=1e-15
                ).x
            ),
            (small(2),),
            _CELLS,
        ),
        "leastsq": (
            lambda a: optimize.leastsq(overdetermined, np.ones(2), args=(a,), xtol=1e-15, ftol=1e-15)[0],
            (small(2),),
            _CELLS,
        ),
        "curve_fit": (
            lambda y: optimize.curve_fit(
                lambda t, p, q: p * module(p).exp(-q * t),
                _TIMES,
                y / 10 + np.exp(-_TIMES),
                p0=[1.0, 1.0],
                method="trf",
                jac="3-point",
                **dict.fromkeys(("xtol", "ftol", "gtol"), 1e-15),
            )[0],
            (small(6),),
            _CELLS,
        ),
        "linprog": (
            lambda b: (
                optimize.linprog([-1.0, -2.0], A_ub=[[1.0, 1.0], [1.0, 3.0]], b_ub=b + like(b, [1, 2])).x
            ),
            (small(2),),
            _CELLS,
        ),
        "milp": (
            lambda c: optimize.milp(c, integrality=np.ones(2), bounds=optimize.Bounds(0, 3)).x,
            (small(2),),
            _CELLS,
        ),
        "nnls": (lambda b: optimize.nnls(_LINE, b)[0], (small(3),), _CELLS),
        "linear_sum_assignment": (
            lambda c: c[optimize.linear_sum_assignment(c)].sum(),
            (small(4, 4),),
            _CELLS,
        ),
    },
    "scipy.integrate: integrals, differential equations": {
        "quad": (
            lambda a: like(a, 1.0) * integrate.quad(lambda x: module(a).exp(-a * x * x), 0, 1)[0],
            (small(),),
            _CELLS,
        ),
        "quad(args=..., limits)": (
            lambda a: like(a, 1.0) * integrate.quad(lambda x, p: p * x**2, 0, a, args=(a,))[0],
            (small(),),
            _CELLS,
        ),
        "quad(infinite)": (
            lambda a: (
                like(a, 1.0) * integrate.quad(lambda x: module(a).exp(-(a + 1) * x * x), -np.inf, np.inf)[0]
            ),
            (small(),),
            _CELLS,
        ),
        "dblquad": (
            lambda a: like(a, 1.0) * integrate.dblquad(lambda y, x: a * x * y, 0, 1, 0, 1, epsabs=1e-6)[0],
            (small(),),
            _CELLS,
        ),
        "quad_vec": (
            lambda a: integrate.quad_vec(lambda x: module(a).exp(-a * x), 0, 1)[0],
            (small(2),),
            _CELLS,
        ),
        "simpson(y, x)": (lambda y: integrate.simpson(y, x=like(y, _X)), (normal(6),), _CELLS),
        **{
            f"solve_ivp(method={m!r})": solved(m) for m in ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
        },
        "odeint": (
            lambda a: integrate.odeint(
                prey, np.ones(2), [0, 0.1, 0.2], args=(a,), rtol=1e-9, atol=1e-9, tfirst=True
            ),
            (small(2),),
            _CELLS,
        ),
        "solve_bvp": (
            lambda a: integrate.solve_bvp(
                lambda x, y: np.vstack([y[1], -a * y[0]]),
                lambda p, q: [p[0], q[0] - 1],
                _TIMES,
                np.zeros((2, 6)),
            ).y[0],
            (small(),),
            _CELLS,
        ),
    },
    "scipy.linalg, scipy.sparse": {
        **entries(linalg, "inv det cholesky expm pinv norm sqrtm logm", lambda f, a: f(a), definite(3)),
        **entries(linalg, "eigvalsh svdvals", lambda f, a: f(a), definite(3)),
        "solve": (lambda a, b: linalg.solve(a, b), (definite(3), normal(3)), _CELLS),
        "solve_triangular": (linalg.solve_triangular, (definite(3), normal(3)), _CELLS),
        "solve_banded": (
            lambda a: linalg.solve_banded((1, 1), a + like(a, [[0], [5], [0]]), like(a, np.ones(5))),
            (small(3, 5),),
            _CELLS,
        ),
        "cho_solve": (
            lambda a: linalg.cho_solve(linalg.cho_factor(a), np.ones(3)),
            (definite(3),),
            _CELLS,
        ),
        "lu_solve": (lambda a: linalg.lu_solve(linalg.lu_factor(a), np.ones(3)), (definite(3),), _CELLS),
        "qr": (lambda a: linalg.qr(a)[1], (definite(3),), _CELLS),
        "lstsq": (lambda a, b: linalg.lstsq(a, b)[0], (normal(5, 3), normal(5)), _CELLS),
        "toeplitz": (linalg.toeplitz, (normal(4),), _CELLS),
        "solve_sylvester": (
            lambda a, q: linalg.solve_sylvester(a, a, q),
            (definite(3), normal(3, 3)),
            _CELLS,
        ),
        "spsolve": (lambda b: sparse_linalg.spsolve(_SPARSE, b), (normal(5),), _CELLS),
        "cg": (lambda b: sparse_linalg.cg(_TRIDIAGONAL, b, rtol=1e-14)[0], (normal(5),), _CELLS),
        "gmres": (lambda b: sparse_linalg.gmres(_SPARSE, b, rtol=1e-14)[0], (normal(5),), _CELLS),
        "cg(dense)": (lambda a, b: sparse_linalg.cg(a, b, rtol=1e-14)[0], (definite(3), normal(3)), _CELLS),
        "expm_multiply": (lambda b: sparse_linalg.expm_multiply(_SPARSE, b), (normal(5),), _CELLS),
        "csc_array.__matmul__": (lambda b: _SPARSE @ b, (normal(5),), _CELLS),
    },
    "scipy.interpolate": {
        **entries(interpolate, _INTERPOLATORS, lambda f, y: f(like(y, _X), y)(like(y, _AT)), normal(6)),
        **{
            f"{name}(...)(x)": entry
            for name, entry in entries(
                interpolate, _INTERPOLATORS, lambda f, x: f(_X, np.sin(_X))(x), small(4)
            ).items()
        },
        "make_interp_spline": (
            lambda y: interpolate.make_interp_spline(like(y, _X), y)(like(y, _AT)),
            (normal(6),),
            _CELLS,
        ),
        "BSpline": (
            lambda c: interpolate.BSpline(like(c, np.arange(9.0)), c, 3)(like(c, _AT * 0.3 + 3.2)),
            (normal(5),),
            _CELLS,
        ),
        "PPoly": (
            lambda c: interpolate.PPoly(c, like(c, np.arange(4.0)))(like(c, _AT * 0.5)),
            (normal(3, 3),),
            _CELLS,
        ),
        "interp1d": (lambda y: interpolate.interp1d(_X, y)(_AT), (normal(6),), _CELLS),
        "interp1d(...)(x)": (lambda x: interpolate.interp1d(_X, np.sin(_X))(x), (small(4),), _CELLS),
        "interp1d(kind='cubic')": (lambda y: interpolate.interp1d(_X, y, "cubic")(_AT), (normal(6),), _CELLS),
        "splev": (lambda y: interpolate.splev(_AT, interpolate.splrep(_X, y)), (normal(6),), _CELLS),
        "UnivariateSpline": (lambda y: interpolate.UnivariateSpline(_X, y)(_AT), (normal(6),), _CELLS),
        "RegularGridInterpolator": (
            lambda v: interpolate.RegularGridInterpolator([like(v, g) for g in _GRID], v)(like(v, _POINTS)),
            (normal(4, 5),),
            _CELLS,
        ),
        "RegularGridInterpolator(...)(x)": (
            lambda x: interpolate.RegularGridInterpolator(_GRID, np.sin(np.arange(20.0)).reshape(4, 5))(x),
            (small(3, 2),),
            _CELLS,
        ),
        "RectBivariateSpline": (
            lambda v: interpolate.RectBivariateSpline(*_GRID, v)(_AT[:2], _AT[:2]),
            (normal(4, 5),),
            _CELLS,
        ),
        "griddata": (lambda v: interpolate.griddata(_SCATTERED, v, _INSIDE), (normal(12),), _CELLS),
        "griddata(method='cubic')": (
            lambda v: interpolate.griddata(_SCATTERED, v, _INSIDE, "cubic"),
            (normal(12),),
            _CELLS,
        ),
        "LinearNDInterpolator": (
            lambda v: interpolate.LinearNDInterpolator(_SCATTERED, v)(_INSIDE),
            (normal(12),),
            _CELLS,
        ),
        "RBFInterpolator": (
            lambda v: interpolate.RBFInterpolator(like(v, _SCATTERED), v)(like(v, _INSIDE)),
            (normal(12),),
            _CELLS,
        ),
    },
    "scipy.ndimage": {
        **entries(
            ndimage,
            "gaussian_filter gaussian_filter1d gaussian_laplace gaussian_gradient_magnitude",
            lambda f, x: f(x, 1.0),
            normal(6, 7),
        ),
        **entries(
            ndimage, "uniform_filter uniform_filter1d median_filter", lambda f, x: f(x, 3), normal(6, 7)
        ),
        **entries(ndimage, "maximum_filter minimum_filter", lambda f, x: f(x, 3), normal(6, 7)),
        **each(ndimage, "sobel prewitt laplace spline_filter", (normal(6, 7),), _CELLS),
        **entries(
            ndimage, "correlate convolve", lambda f, x, w: f(x, w, mode="wrap"), normal(6, 7), normal(3, 4)
        ),
        **entries(ndimage, "correlate1d convolve1d", lambda f, x, w: f(x, w), normal(6, 7), normal(3)),
        "zoom": (lambda x: ndimage.zoom(x, 1.7), (normal(5, 4),), _CELLS),
        "shift": (lambda x: ndimage.shift(x, (0.3, 1.2)), (normal(5, 4),), _CELLS),
        "rotate": (lambda x: ndimage.rotate(x, 20), (normal(5, 4),), _CELLS),
        "affine_transform": (
            lambda x: ndimage.affine_transform(x, like(x, np.eye(2) * 0.8)),
            (normal(5, 4),),
            _CELLS,
        ),
        "map_coordinates": (
            lambda x: ndimage.map_coordinates(x, like(x, [[1.2, 2.0], [0.3, 2.5]])),
            (normal(5, 4),),
            _CELLS,
        ),
        "map_coordinates(coordinates)": (
            lambda c: ndimage.map_coordinates(like(c, np.sin(np.arange(20.0)).reshape(5, 4)), c + 1),
            (small(2, 3),),
            _CELLS,
        ),
        "center_of_mass": (ndimage.center_of_mass, (small(4, 4),), _CELLS),
    },
    "scipy.signal: filters": {
        **entries(signal, "convolve correlate", lambda f, x: f(x, like(x, _TAPS), "same"), normal(12)),
        **entries(
            signal,
            "convolve2d correlate2d",
            lambda f, x, y: f(x, y, boundary="symm"),
            normal(5, 6),
            normal(2, 3),
        ),
        "lfilter": (lambda x: signal.lfilter(like(x, _B), like(x, _A), x), (normal(12),), _CELLS),
        "filtfilt": (lambda x: signal.filtfilt(like(x, _B), like(x, _A), x), (normal(24),), _CELLS),
        **entries(signal, "sosfilt sosfiltfilt", lambda f, x: f(like(x, _SOS), x), normal(24)),
        "resample_poly": (lambda x: signal.resample_poly(x, 3, 2), (normal(12),), _CELLS),
        "decimate": (lambda x: signal.decimate(x, 2), (normal(40),), _CELLS),
        **entries(signal, "welch periodogram", lambda f, x: f(x)[1], normal(16)),
        "stft": (lambda x: abs(signal.stft(x, nperseg=8)[2]), (normal(16),), _CELLS),
        "find_peaks": (lambda x: x[signal.find_peaks(x)[0]].sum(), (normal(16),), _CELLS),
    },
    "scipy.fft, stats, cluster": {
        **each(fft, "idst dctn idctn dstn idstn", (normal(4, 5),), _CELLS),
        "stats.wasserstein_distance": (
            lambda x, y: like(x, 1.0) * stats.wasserstein_distance(x, y),
            (normal(6), normal(7)),
            _CELLS,
        ),
        "stats.gaussian_kde": (lambda x: stats.gaussian_kde(x)(_AT), (normal(9),), _CELLS),
        "stats.multivariate_normal.logpdf": (
            lambda x: like(x, 1.0) * stats.multivariate_normal.logpdf(x, np.zeros(3)),
            (normal(3),),
            _CELLS,
        ),
        "cluster.vq.kmeans2": (
            lambda x: cluster.vq.kmeans2(x, x[:2], minit="matrix")[0],
            (normal(8, 2),),
            _CELLS,
        ),
    },
    "scipy.spatial.distance": {
        **{
            f"cdist({name!r})": (
                lambda x, y, name=name: distance.cdist(x, y, name),
                (small(4, 3), small(5, 3)),
                _CELLS,
            )
            for name in ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation"]
        },
        **{
            f"cdist({name!r})": (
                lambda x, y, name=name: distance.cdist(x, y, name),
                (small(4, 3), small(5, 3)),
                _CELLS,
            )
            for name in ["canberra", "braycurtis", "minkowski", "jensenshannon"]
        },
        **entries(distance, "pdist", lambda f, x: f(x), normal(5, 3)),
        **entries(distance, "squareform", lambda f, x: f(x), normal(6)),
        **entries(
            distance,
            "euclidean sqeuclidean cityblock cosine correlation chebyshev canberra braycurtis",
            lambda f, x, y: like(x, 1.0) * f(x, y),
            small(4),
            small(4),
        ),
    },
    "sklearn.metrics: more": {
        **entries(
            metrics,
            "root_mean_squared_error median_absolute_error explained_variance_score mean_squared_log_error",
            lambda f, x, y: like(x, 1.0) * f(x, y),
            small(8),
            small(8),
        ),
        **entries(
            metrics,
            "mean_gamma_deviance max_error mean_absolute_percentage_error d2_absolute_error_score",
            lambda f, x, y: like(x, 1.0) * f(x, y),
            small(8),
            small(8),
        ),
        "silhouette_score": (
            lambda x, y: like(x, 1.0) * metrics.silhouette_score(x, y),
            (normal(8, 2), labels(8)),
            _CELLS,
        ),
    },
}

# What is called once for a whole batch.
_AT_ONCE = {
    "scipy.linalg, scipy.sparse": (
        "inv det cholesky expm pinv eigvalsh svdvals solve solve_triangular qr norm solve_banded cho_solve "
        "lu_solve toeplitz solve_sylvester"
    ),
    "scipy.ndimage": (
        "gaussian_filter gaussian_filter1d gaussian_laplace gaussian_gradient_magnitude uniform_filter "
        "uniform_filter1d median_filter maximum_filter minimum_filter sobel prewitt laplace spline_filter "
        "rotate"
    ),
    "scipy.signal: filters": (
        "lfilter filtfilt sosfilt sosfiltfilt resample_poly decimate welch periodogram stft convolve "
        "correlate"
    ),
    "scipy.fft, stats, cluster": "idst dctn idctn dstn idstn",
}
_CALLED = (*_INTERPOLATORS.split(), "interp1d", "RegularGridInterpolator")
_OTHERWISE = {
    "...l.": [
        ("scipy.optimize: solvers", "newton"),
    ],
    "s..l.": [
        ("scipy.optimize: solvers", "minimize(method='BFGS')"),
        ("scipy.optimize: solvers", "minimize(method='CG')"),
        ("scipy.optimize: solvers", "linear_sum_assignment"),
        ("scipy.integrate: integrals, differential equations", "quad_vec"),
        ("scipy.linalg, scipy.sparse", "expm_multiply"),
        ("scipy.spatial.distance", "pdist"),
        ("scipy.signal: filters", "find_peaks"),
    ],
    "s00lh": [
        ("scipy.optimize: solvers", "milp"),
    ],
    "....h": [
        *[(chapter, name) for chapter, names in _AT_ONCE.items() for name in names.split()],
        ("scipy.integrate: integrals, differential equations", "simpson(y, x)"),
        ("scipy.interpolate", "RBFInterpolator"),
        *[("scipy.interpolate", f"{name}(...)(x)") for name in _CALLED],
    ],
}
for _cells, _rows in _OTHERWISE.items():
    for _chapter, _name in _rows:
        MORE[_chapter][_name] = (*MORE[_chapter][_name][:2], _cells)
