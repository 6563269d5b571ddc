"""Options of rules are heeded (values are SciPy's, derivatives equal finite differences), or refused."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import fft, integrate, interpolate, linalg, ndimage, optimize, signal, stats
from scipy.sparse import csc_array
from scipy.sparse import linalg as sparse_linalg
from scipy.spatial import distance

import nabla_array as xp
from nabla_array.transforms import grad, jacrev, tree_flatten

RNG = np.random.default_rng(7)
M = np.eye(4) * 4 + RNG.uniform(-1, 1, (4, 4))
S = (M + M.T) / 2
B = RNG.normal(size=(4, 2))
V = RNG.normal(size=24)
IMAGE = RNG.normal(size=(6, 5))
X = np.array([0.0, 1.0, 2.0, 3.5, 4.0, 5.0])
Y = RNG.normal(size=(6, 2))
AT = np.array([0.3, 1.5, 2.2, 4.4])
P = RNG.uniform(0.1, 1.0, (5, 3))
W = np.array([1.0, 0.5, 2.0])
LABELS = np.arange(30).reshape(6, 5) % 3
PLACES = np.stack([RNG.uniform(-0.9, 6.4, 7), RNG.uniform(-0.8, 5.3, 7)])
SPARSE = csc_array(np.triu(M))

Case = tuple[Callable[..., Any], tuple[Any, ...]]
CASES: dict[str, Case] = {}


def case(name: str, call: Callable[..., Any], *operands: Any) -> None:
    assert name not in CASES
    CASES[name] = call, operands


# -- scipy.linalg, scipy.sparse ----------------------------------------------------------------------------

for kind in ("pos", "sym", "her", "gen"):
    for lower in (False, True):
        case(f"solve {kind} {lower}", lambda a, b, k=kind, o=lower: linalg.solve(a, b, o, assume_a=k), S, B)
for trans in ("N", "T", 2):
    for lower in (False, True):
        case(
            f"solve_triangular {trans} {lower}",
            lambda a, b, t=trans, o=lower: linalg.solve_triangular(a, b, t, o, unit_diagonal=o),
            M,
            B,
        )
for trans in (0, 1, 2):
    case(f"lu_solve {trans}", lambda a, b, t=trans: linalg.lu_solve(linalg.lu_factor(a), b, t), M[::-1], B)
case("lu_factor", lambda a: linalg.lu_factor(a)[0], M[::-1])
case("cho lower", lambda a: linalg.cho_solve(linalg.cho_factor(a, lower=True), B), S)
case("cholesky lower", lambda a: linalg.cholesky(a, lower=True, overwrite_a=True, check_finite=False), S)
case("eigh upper", lambda a: linalg.eigh(a, lower=False, eigvals_only=True), M)
case("svd values", lambda a: linalg.svd(a, compute_uv=False), M[:, :3])
case("qr r", lambda a: linalg.qr(a, mode="r")[0], M)
case("qr economic", lambda a: linalg.qr(a, mode="economic")[1], M[:, :3])
case("lstsq", lambda a, b: linalg.lstsq(a, b)[0], M[:, :3], B)
case("norm", lambda a: linalg.norm(a, 1, axis=0, keepdims=True), M)
case("toeplitz", lambda c, r: linalg.toeplitz(c, r), V[:3], V[:4])
case("sqrtm complex", lambda a: np.abs(linalg.sqrtm(a)), np.array([[1.0, 2.0], [0.5, -3.0]]))
case("logm complex", lambda a: np.abs(linalg.logm(a)), np.array([[1.0, 2.0], [0.5, -3.0]]))
case("solve_sylvester", linalg.solve_sylvester, M, S[:2, :2], B)
case("spsolve_triangular", lambda b: sparse_linalg.spsolve_triangular(SPARSE, b, lower=False), V[:4])
case(
    "spsolve_triangular unit",
    lambda b: sparse_linalg.spsolve_triangular(SPARSE, b, lower=False, unit_diagonal=True),
    V[:4],
)

# -- scipy.ndimage -----------------------------------------------------------------------------------------

for mode in ("reflect", "constant", "nearest", "mirror", "wrap"):
    options = {"mode": mode, "cval": 0.7}
    case(f"gaussian {mode}", lambda x, o=options: ndimage.gaussian_filter(x, (1.0, 0.6), **o), IMAGE)
    case(f"sobel {mode}", lambda x, o=options: ndimage.sobel(x, 0, **o), IMAGE)
    case(
        f"correlate {mode}",
        lambda x, w, o=options: ndimage.correlate(x, w, origin=(1, -1), **o),
        IMAGE,
        RNG.normal(size=(3, 4)),
    )
    case(
        f"convolve {mode}",
        lambda x, w, o=options: ndimage.convolve(x, w, origin=(-1, 0), **o),
        IMAGE,
        RNG.normal(size=(4, 3)),
    )
    case(f"shift {mode}", lambda x, o=options: ndimage.shift(x, (0.7, -1.3), **o), IMAGE)
    case(f"zoom {mode}", lambda x, o=options: ndimage.zoom(x, (1.4, 0.8), order=2, **o), IMAGE)
    case(f"rotate {mode}", lambda x, a, o=options: ndimage.rotate(x, a, reshape=False, **o), IMAGE, 23.0)
for mode in ("reflect", "grid-mirror", "constant", "nearest", "mirror", "wrap", "grid-wrap"):
    for order in range(6):
        case(
            f"map_coordinates {mode} {order}",
            lambda x, c, m=mode, o=order: ndimage.map_coordinates(x, c, order=o, mode=m, cval=0.3),
            IMAGE,
            PLACES,
        )
case("map_coordinates unfiltered", lambda x, c: ndimage.map_coordinates(x, c, prefilter=False), IMAGE, PLACES)
case("gaussian axes", lambda x: ndimage.gaussian_filter(x, 1.0, 1, axes=(1,), truncate=3.0), IMAGE)
case("gaussian radius", lambda x: ndimage.gaussian_filter(x, 1.0, (0, 2), radius=2), IMAGE)
case("gaussian modes", lambda x: ndimage.gaussian_filter(x, 1.0, mode=["wrap", "nearest"]), IMAGE)
case("gaussian1d", lambda x: ndimage.gaussian_filter1d(x, 1.0, 0, 1, None, "wrap"), IMAGE)
case("uniform", lambda x: ndimage.uniform_filter(x, (3, 2), origin=(1, 0), mode="wrap"), IMAGE)
case("uniform default", lambda x: ndimage.uniform_filter(x), IMAGE)
case("gaussian_laplace", lambda x: ndimage.gaussian_laplace(x, 1.0, mode="wrap", truncate=2.0), IMAGE)
case("gradient magnitude", lambda x: ndimage.gaussian_gradient_magnitude(x, (1.0, 0.8), axes=(1, 0)), IMAGE)
case("laplace", lambda x: ndimage.laplace(x, axes=(1,)), IMAGE)
case("correlate axes", lambda x, w: ndimage.correlate(x, w, axes=(1,)), IMAGE, V[:3])
case("correlate1d", lambda x, w: ndimage.correlate1d(x, w, 0, origin=1, mode="wrap"), IMAGE, V[:3])
case("rotate", lambda x, a: ndimage.rotate(x, a, axes=(0, 1)), IMAGE, 31.0)
case(
    "affine",
    lambda x, m, o: ndimage.affine_transform(x, m, o, (4, 3), mode="mirror"),
    IMAGE,
    np.array([[0.8, 0.1], [-0.2, 0.9]]),
    np.array([0.3, 0.2]),
)
case("affine diagonal", lambda x, m: ndimage.affine_transform(x, m, 0.25), IMAGE, np.array([0.8, 0.9]))
case("median", lambda x: ndimage.median_filter(x, footprint=np.eye(3) > 0, mode="wrap"), IMAGE)
case("percentile", lambda x: ndimage.percentile_filter(x, 30, size=(3, 2), axes=(0, 1)), IMAGE)
case("rank", lambda x: ndimage.rank_filter(x, 2, 3, mode="nearest"), RNG.permutation(30).reshape(6, 5))
case("center of labels", lambda x: np.stack(ndimage.center_of_mass(x, LABELS, [0, 2])[1]), IMAGE + 5)
case("center of label", lambda x: np.stack(ndimage.center_of_mass(x, LABELS, 1)), IMAGE + 5)
case("center of all labels", lambda x: np.stack(ndimage.center_of_mass(x, LABELS)), IMAGE + 5)

# -- scipy.signal, scipy.fft -------------------------------------------------------------------------------

SIGNALS = RNG.normal(size=(40, 2))
for mode in ("full", "same", "valid"):
    case(f"convolve {mode}", lambda x, y, m=mode: signal.convolve(x, y, m), V, V[:5])
    case(f"correlate {mode}", lambda x, y, m=mode: signal.correlate(x, y, m, "direct"), V, V[:5])
    for boundary in ("fill", "wrap", "symm"):
        case(
            f"convolve2d {mode} {boundary}",
            lambda x, y, m=mode, b=boundary: signal.convolve2d(x, y, m, b, 0.5),
            IMAGE,
            RNG.normal(size=(3, 2)),
        )
case("correlate2d", lambda x, y: signal.correlate2d(x, y, "same", "symm"), IMAGE, IMAGE[:3, :3])
case("lfilter", lambda b, a, x: signal.lfilter(b, a, x, axis=0), V[:3], np.array([1, 0.4, 0.1]), SIGNALS)
case("lfilter scaled", lambda a: signal.lfilter(V[:3], a, V), np.array([2.0, 0.4, 0.1]))
case("filtfilt", lambda x: signal.filtfilt(*signal.butter(2, 0.3), x, 0, "even", 7), SIGNALS)
case("filtfilt gust", lambda x: signal.filtfilt(*signal.butter(2, 0.3), x, method="gust"), V)
case("savgol", lambda x: signal.savgol_filter(x, 5, 2, 1, 0.5, 0, "nearest"), SIGNALS)
case("detrend", lambda x: signal.detrend(x, 0, "linear", 10), SIGNALS)
case("resample_poly", lambda x: signal.resample_poly(x, 3, 2, window="hann", padtype="line"), SIGNALS)
case("decimate", lambda x: signal.decimate(x, 2, 5, "fir", 0, False), SIGNALS)
case("upfirdn", lambda h, x: signal.upfirdn(h, x, 3, 2, 0), V[:4], SIGNALS)
case("medfilt", lambda x: signal.medfilt(x, (3, 1)), IMAGE)
WELCH = {"fs": 2.0, "window": "hamming", "nperseg": 10, "noverlap": 4, "nfft": 16}
case("welch", lambda x: signal.welch(x, **WELCH, detrend="linear", scaling="spectrum", axis=0)[1], SIGNALS)
case("welch odd", lambda x: signal.welch(x, nperseg=7, nfft=9, detrend=False)[1], V)
case("welch twosided", lambda x: signal.welch(x, window=np.hanning(8), return_onesided=False)[1], V)
case("csd", lambda x, y: np.abs(signal.csd(x, y, **WELCH)[1]), V, V[:20] ** 2)
case("periodogram", lambda x: signal.periodogram(x, 3.0, "hann", 32, "linear")[1], V)
case("periodogram cut", lambda x: signal.periodogram(x, nfft=15, scaling="spectrum", axis=0)[1], SIGNALS)
for boundary in ("even", "odd", "constant", "zeros", None):
    case(
        f"stft {boundary}",
        lambda x, b=boundary: np.real(
            signal.stft(x, 2.0, "hann", 9, 3, 12, "constant", boundary=b, axis=0, scaling="psd")[2]
        ),
        SIGNALS,
    )
case("find_peaks", lambda x: signal.find_peaks(x, height=-9, threshold=0, prominence=0)[1]["prominences"], V)
case("peak heights", lambda x: signal.find_peaks(x, height=-9)[1]["peak_heights"], V)
case("peak thresholds", lambda x: signal.find_peaks(x, threshold=0)[1]["right_thresholds"], V)
for kind in (1, 2, 3, 4):
    case(f"dct {kind}", lambda x, k=kind: fft.dct(x, k, 7, 0, "ortho", orthogonalize=False), SIGNALS[:6])
case("dctn", lambda x: fft.dctn(x, 3, axes=0, norm="ortho"), SIGNALS[:6])
case("dstn", lambda x: fft.dstn(x, axes=(1, 0)), IMAGE)
case("irfft", lambda x: fft.irfft(x, 9, axis=0, norm="forward"), SIGNALS[:6])
case("fftn", lambda x: np.real(fft.fftn(x, (4,), norm="ortho")), IMAGE)

# -- scipy.integrate ---------------------------------------------------------------------------------------


def decay(t: Any, y: Any, a: Any) -> Any:
    return [-a * y[0] + y[1], -y[1] * t]


case(
    "quad points",
    lambda a: 1.0 * integrate.quad(lambda x: xp.exp(-a * x), 0, 2, points=[0.5])[0] + 0 * a,
    0.7,
)
case("quad backwards", lambda a: integrate.quad(lambda x, p: p * x * x, 1, a, (a,))[0] + 0 * a, 0.3)
case("quad to inf", lambda a: integrate.quad(lambda x: xp.exp(-a * x * x), a, np.inf)[0] + 0 * a, 0.7)
case("quad from inf", lambda a: integrate.quad(lambda x: xp.exp(a * x), -np.inf, a)[0] + 0 * a, 0.7)
case("quad down from inf", lambda a: integrate.quad(lambda x: xp.exp(-a * x), np.inf, a)[0] + 0 * a, 0.7)
case("quad looks", lambda a: integrate.quad(lambda x: a * x if x < 0.5 else a * a, 0, 1)[0] + 0 * a, 0.7)
case("simpson", lambda y: integrate.simpson(y, dx=0.5, axis=0), Y)
TIGHT = {"rtol": 1e-8, "atol": 1e-10}
for method in ("RK45", "Radau", "LSODA"):
    case(
        f"ivp {method}",
        lambda a, y, m=method: integrate.solve_ivp(decay, (1.0, 0.2), y, m, args=(a,), **TIGHT).y[:, -1],
        0.7,
        np.array([1.0, 2.0]),
    )
case(
    "ivp vectorized",
    lambda a: (
        integrate.solve_ivp(
            lambda t, y: (
                xp.stack([-a * y[0] + y[1], -y[1] * t]) if type(a) is xp.Array else np.array(decay(t, y, a))
            ),
            *((0.0, 0.5), [1.0, 2.0], "Radau", [0.1, 0.5]),
            vectorized=True,
            **TIGHT,
        ).y
    ),
    0.7,
)
case(
    "odeint",
    lambda a: integrate.odeint(lambda y, t, a: decay(t, y, a), [1.0, 2.0], [0, 0.3, 0.5], (a,), **TIGHT),
    0.7,
)
case(
    "bvp with a parameter",
    lambda a: integrate.solve_bvp(
        lambda x, y, p: [y[1], -(p[0] ** 2) * y[0]],
        lambda u, v, p: [u[0], v[0], u[1] - a],
        np.linspace(0, 1, 8),
        np.array([np.sin(np.linspace(0, 3, 8)), np.ones(8)]),
        [3.0],
        tol=1e-9,
    ).sol([0.25, 0.5])[0],
    2.0,
)

# -- scipy.optimize ----------------------------------------------------------------------------------------


def bowl(x: Any, a: Any) -> Any:
    return ((x - a) ** 2).sum() + 0.1 * (x**4).sum()


def bowl_and_slope(x: Any, a: Any) -> Any:
    return bowl(x, a), 2 * (x - a) + 0.4 * x**3


C = np.array([0.8, 1.7])
LESS = {"type": "ineq", "fun": lambda x, b: b - x[0] * x[1], "args": (0.5,)}
SLACK = {"type": "ineq", "fun": lambda x: 9.0 - x.sum()}


def minimum(method: str, **options: Any) -> Callable[..., Any]:
    return lambda a: optimize.minimize(bowl, np.ones(2), (a,), method, tol=1e-14, **options).x


case("minimize slope", lambda a: optimize.minimize(bowl_and_slope, C, (a,), jac=True, tol=1e-13).x, C)
case("minimize bounds", minimum("L-BFGS-B", bounds=[(0, 0.5), (None, None)]), C)
case("minimize Bounds", minimum("SLSQP", bounds=optimize.Bounds([0, 0], [9, 1.0])), C)
case("minimize inequality", minimum("SLSQP", constraints=[LESS, SLACK]), C)
case(
    "minimize linear",
    minimum("SLSQP", constraints=optimize.LinearConstraint([[1.0, 2.0], [1.0, 0.0]], [0, -9], [2, 9])),
    C,
)
case(
    "minimize nonlinear",
    minimum("SLSQP", constraints=[optimize.NonlinearConstraint(lambda x: (x**2).sum(), 1.0, 1.0)]),
    C,
)
case(
    "minimize constraint",
    lambda b: (
        optimize.minimize(
            lambda x: bowl(x, C),
            np.ones(2),
            method="SLSQP",
            tol=1e-14,
            constraints={"type": "eq", "fun": lambda x: x[0] + 2 * x[1] - b},
        ).x
    ),
    2.0,
)
case(
    "minimize_scalar", lambda a: optimize.minimize_scalar(bowl, bounds=(-1, 3), args=(a,), tol=1e-13).x, C[:1]
)
case(
    "root slope",
    lambda a: optimize.root(lambda x: (x**3 - a, np.diag(3 * x**2)), C, jac=True, tol=1e-13).x,
    C,
)
case(
    "root_scalar newton",
    lambda a: optimize.root_scalar(lambda x, a: (x**3 - a, 3 * x**2), (a,), x0=1.0, fprime=True).root + 0 * a,
    1.3,
)
case(
    "brentq full", lambda a: optimize.brentq(lambda x: x**3 - a, 0, 3, full_output=True)[1].root + 0 * a, 1.3
)
case("fsolve full", lambda a: optimize.fsolve(lambda x: x**3 - a, C, full_output=True, xtol=1e-13)[0], C)
STRICT = dict.fromkeys(("xtol", "ftol", "gtol"), 1e-15)
case(
    "least_squares bounds",
    lambda a: (
        optimize.least_squares(
            lambda x, k, s=1.0: (
                s * xp.stack([x[0] - k[0], x[1] * x[0] - k[1], x[1] - 1 + 0 * k[0]])
                if type(k) is xp.Array
                else s * np.stack([x[0] - k[0], x[1] * x[0] - k[1], x[1] - 1])
            ),
            [0.5, 0.5],
            bounds=([0, 0], [0.6, 9]),
            args=(a,),
            kwargs={"s": 2.0},
            **STRICT,
        ).x
    ),
    C,
)
case(
    "linprog equations",
    lambda b: optimize.linprog([1.0, 2.0, 0.5], A_eq=[[1.0, 1.0, 1.0], [1.0, -1.0, 0.0]], b_eq=b).x,
    np.array([2.0, 0.5]),
)
case("lsq_linear", lambda a, b: optimize.lsq_linear(a, b, (-0.1, 0.1)).x, M[:, :2], B[:, 0])

# -- scipy.interpolate -------------------------------------------------------------------------------------

for bc in ("natural", "clamped", "not-a-knot"):
    case(f"CubicSpline {bc}", lambda y, x, b=bc: interpolate.CubicSpline(X, y, 1, b)(x, 1), Y.T, AT)
case("Pchip", lambda y, x: interpolate.PchipInterpolator(X, y, 1, extrapolate=True)(x), Y.T, AT + 1.0)
case("makima", lambda y, x: interpolate.Akima1DInterpolator(X, y, method="makima")(x, 1), Y, AT)
case("Hermite", lambda y, d, x: interpolate.CubicHermiteSpline(X, y, d)(x), Y, Y[::-1], AT)
case("BSpline", lambda c, x: interpolate.BSpline(np.arange(9.0), c, 2, False, 1)(x, 1), Y.T, AT * 0.5 + 2.3)
case("interp1d", lambda y, x: interpolate.interp1d(X, y, axis=1, fill_value="extrapolate")(x), Y.T, AT + 1)
for kind in ("nearest", "previous", "quadratic", "cubic"):
    case(f"interp1d {kind}", lambda y, k=kind: interpolate.interp1d(X, y, k, axis=0)(AT), Y)
case("make_interp_spline", lambda y, x: interpolate.make_interp_spline(X, y, 5, axis=1)(x, 2), Y.T, AT)
case("splev", lambda y, x: interpolate.splev(x, interpolate.splrep(X, y, k=4, s=0), 1, 1), Y[:, 0], AT)
case("Univariate s=0", lambda y, x: interpolate.UnivariateSpline(X, y, s=0, k=4)(x, 1), Y[:, 0], AT)
case(
    "Univariate weights",
    lambda y, x: interpolate.UnivariateSpline(X, y, X + 1, k=2, s=1e5, ext=1)(x),
    Y[:, 0],
    AT,
)
case("Interpolated", lambda y, x: interpolate.InterpolatedUnivariateSpline(X, y, k=2)(x), Y[:, 0], AT)
case("LSQ", lambda y, x: interpolate.LSQUnivariateSpline(X, y, [2.5])(x, 3), Y[:, 0], AT)
GRID = (X, X[:5])
for method in ("linear", "nearest", "slinear", "cubic"):
    solver = {} if method in ("linear", "nearest") else {"solver": sparse_linalg.spsolve}
    case(
        f"RegularGrid {method}",
        lambda v, m=method, s=solver: interpolate.RegularGridInterpolator(GRID, v, m, False, None, **s)(
            PLACES.T
        ),
        IMAGE,
    )
case("interpn", lambda v, x: interpolate.interpn(GRID, v, x, "linear", False, None), IMAGE, PLACES.T)
case(
    "surface",
    lambda z, x, y: interpolate.RectBivariateSpline(*GRID, z, kx=2)(x, y, 1, 0),
    IMAGE,
    AT + 0.1,
    AT[:2],
)
case(
    "surface at points",
    lambda z, x, y: interpolate.RectBivariateSpline(*GRID, z).ev(x, y),
    IMAGE,
    AT,
    AT * 0.5,
)
case(
    "surface cut", lambda z, x: interpolate.RectBivariateSpline(*GRID, z)(x, 1.5, dy=1, grid=False), IMAGE, AT
)
SCATTERED = RNG.uniform(0, 5, (12, 2))
INSIDE = SCATTERED.mean(0) + RNG.uniform(-0.5, 0.5, (3, 2))
for name in ("LinearNDInterpolator", "NearestNDInterpolator", "CloughTocher2DInterpolator"):
    made = getattr(interpolate, name)
    case(name, lambda v, f=made: f(SCATTERED, v, rescale=True)(*INSIDE.T), V[:12])
for method in ("nearest", "linear", "cubic"):
    case(f"griddata {method}", lambda v, m=method: interpolate.griddata(SCATTERED, v, INSIDE, m, 0.0), V[:12])
case(
    "RBF",
    lambda v: interpolate.RBFInterpolator(SCATTERED, v, 8, 0.1, "gaussian", 0.7, degree=0)(INSIDE),
    V.reshape(12, 2),
)

# -- scipy.spatial, scipy.stats, scipy.cluster -------------------------------------------------------------

for name in ("euclidean", "sqeuclidean", "cityblock", "cosine", "correlation", "canberra", "braycurtis"):
    case(f"cdist {name} weights", lambda x, y, w, n=name: distance.cdist(x, y, n, w=w), P, P[:2] + 0.3, W)
    made = getattr(distance, name)
    case(f"{name} weights", lambda x, y, w, f=made: f(x, y, w) + 0 * w[0], P[0], P[1], W)
case("cdist minkowski", lambda x, y: distance.cdist(x, y, "minkowski", p=3.5, w=W), P, P[:2] + 0.3)
case(
    "cdist mahalanobis", lambda x, y, v: distance.cdist(x, y, "mahalanobis", VI=v), P, P[:2] + 0.3, np.diag(W)
)
case("minkowski", lambda x, y: distance.minkowski(x, y, 3, W) + 0 * x[0], P[0], P[1])
case("squareform", lambda x: distance.squareform(distance.squareform(x)), V[:6])
case("kde", lambda x, p: stats.gaussian_kde(x)(p), V, AT)
case("kde of vectors", lambda x, w, p: stats.gaussian_kde(x, "silverman", w).logpdf(p), P.T, P[:, 0], P[:2].T)
case("kde bandwidth", lambda x: stats.gaussian_kde(x, 0.5).pdf(AT), V)
case(
    "normal",
    lambda x, m, c: stats.multivariate_normal.logpdf(x, m, c @ c.T + np.eye(3)),
    P,
    W,
    P[:3],
)
case("normal diagonal", lambda x, c: stats.multivariate_normal.pdf(x, cov=c), P[0], 1.7)
case("normal frozen", lambda x: stats.multivariate_normal(W, np.diag(W)).logpdf(x), P)
case("normal of numbers", lambda x: stats.multivariate_normal.logpdf(x, 0.3, 2.0), V)


def leaves(tree: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in tree_flatten(tree)[0]]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_options_are_heeded(name: str) -> None:
    call, operands = CASES[name]
    operands = tuple(np.asarray(x, float) for x in operands)
    places = tuple(range(len(operands)))
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    plain = np.asarray(call(*[x.copy() for x in operands]))  # which some write over
    weights = rng.uniform(0.5, 1.5, plain.shape)
    seen = []

    def number(*x: Any) -> Any:
        found = call(*x)
        seen.append(found)
        return xp.sum(xp.asarray(weights) * found)

    slopes = grad(number, argnums=places)(*map(xp.asarray, operands))
    np.testing.assert_allclose(np.asarray(seen[0]), plain, rtol=1e-9, atol=1e-9)
    tangents = [rng.standard_normal(x.shape) for x in operands]

    def at(h: float) -> Any:
        return (
            weights * np.asarray(call(*[x + h * t for x, t in zip(operands, tangents, strict=True)]))
        ).sum()

    h = 1e-4
    wanted = (at(-2 * h) - 8 * at(-h) + 8 * at(h) - at(2 * h)) / (12 * h)
    found = sum(float((np.asarray(s) * t).sum()) for s, t in zip(slopes, tangents, strict=True))
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "eigh subset": lambda x: linalg.eigh(S * x[0], subset_by_index=[0, 1], eigvals_only=True),
    "qr pivoting": lambda x: linalg.qr(S * x[0], pivoting=True)[1],
    "lstsq cond": lambda x: linalg.lstsq(S * x[0], B, cond=0.1)[0],
    "pinv rtol": lambda x: linalg.pinv(S * x[0], rtol=0.1),
    "lfilter zi": lambda x: signal.lfilter(V[:2], [1.0, 0.5], x, zi=np.ones(1))[0],
    "gaussian output": lambda x: ndimage.gaussian_filter(x, 1.0, output=np.zeros(4)),
    "gaussian sigma": lambda x: ndimage.gaussian_filter(IMAGE, x[0]),
    "map grid-constant": lambda x: ndimage.map_coordinates(IMAGE * x[0], PLACES, mode="grid-constant"),
    "zoom grid mode": lambda x: ndimage.zoom(x, 2.0, grid_mode=True),
    "welch median": lambda x: signal.welch(x, nperseg=2, average="median")[1],
    "find_peaks widths": lambda x: signal.find_peaks(x, width=0)[1]["widths"],
    "upfirdn mode": lambda x: signal.upfirdn(V[:2], x, mode="wrap"),
    "quad weight": lambda x: integrate.quad(lambda t: x[0] * t, 0, 1, weight="sin", wvar=2.0)[0],
    "quad full": lambda x: integrate.quad(lambda t: x[0] * t, 0, 1, full_output=1)[0],
    "ivp dense": lambda x: integrate.solve_ivp(lambda t, y: x * y, (0, 1), x, dense_output=True).sol(0.5),
    "ivp events": lambda x: integrate.solve_ivp(
        lambda t, y: x * y, (0, 1), x, events=lambda t, y: y[0] - 1
    ).t_events[0],
    "bvp mesh": lambda x: integrate.solve_bvp(lambda t, y: y, lambda a, b: a - x[:1], x, np.ones((1, 4))).y,
    "least_squares loss": lambda x: optimize.least_squares(lambda z: z - x, x, loss="cauchy").x,
    "minimize bounds": lambda x: optimize.minimize(lambda z: (z**2).sum(), [1.0], bounds=[(x[0], 9)]).x,
    "leastsq full": lambda x: optimize.leastsq(lambda z: z - x, np.ones(4), full_output=True)[0],
    "spline smoothing": lambda x: interpolate.UnivariateSpline(X[:4], x * V[:4], k=1, s=0.3)(AT),
    "surface smoothing": lambda x: interpolate.RectBivariateSpline(X[:4], X[:4], x[:, None] * x, s=1.0)(
        AT, AT
    ),
    "surface integral": lambda x: interpolate.RectBivariateSpline(X[:4], X[:4], x[:, None] * x).integral(
        0, 1, 0, 1
    ),
    "spline coefficients": lambda x: interpolate.UnivariateSpline(X[:4], x, s=0).get_coeffs(),
    "Krogh c": lambda x: interpolate.KroghInterpolator(X[:4], x).c,
    "jensenshannon base": lambda x: distance.jensenshannon(x, P[0, 0] + X[:4], 2.0),
    "wasserstein weights": lambda x: stats.wasserstein_distance(x, V, np.ones(4)),
    "kde resample": lambda x: stats.gaussian_kde(x).resample(3, np.random.default_rng(0)),
    "splrep task": lambda x: interpolate.splrep(X[:4], x, s=0, per=1)[1],
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_what_a_rule_does_not_heed_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=r"leaves for NumPy|Multiple namespaces"):
        grad(lambda x: xp.sum(xp.asarray(REFUSED[name](x))))(xp.asarray([0.2, 0.5, 1.0, 1.4]))


def test_attributes_of_interpolators_follow_the_values() -> None:
    y, made = xp.asarray(Y), interpolate
    attributes: dict[str, Callable[[Any], Any]] = {
        "interp1d": lambda y: made.interp1d(X, y.T).y.T,
        "Krogh": lambda y: made.KroghInterpolator(X, y).yi,
        "Barycentric": lambda y: made.BarycentricInterpolator(X, y).yi,
        "grid": lambda y: made.RegularGridInterpolator((X, [0.0, 1.0]), y).values,
        "scattered": lambda y: made.LinearNDInterpolator(SCATTERED[:6], y).values,
        "nearest": lambda y: made.NearestNDInterpolator(SCATTERED[:6], y).values,
        "radial": lambda y: made.RBFInterpolator(SCATTERED[:6], y).d,
    }
    for name, read in attributes.items():
        slopes = grad(lambda y, read=read: xp.sum(read(y) ** 2))(y)
        np.testing.assert_allclose(slopes, 2 * Y, err_msg=name)
        assert type(read(Y)) is np.ndarray


def test_a_fit_by_its_data() -> None:
    def fitted(y: Any) -> Any:
        return optimize.curve_fit(lambda t, p, q: p * t + q * t * t, X, y, sigma=X + 1, absolute_sigma=True)[
            0
        ]

    line = np.stack([X, X * X], 1) / (X + 1)[:, None]
    np.testing.assert_allclose(jacrev(fitted)(xp.asarray(Y[:, 0])), np.linalg.pinv(line) / (X + 1), atol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_nan_is_refused_as_scipy_refuses_it() -> None:
    with pytest.raises(ValueError, match="infs or NaNs"):
        grad(lambda a: xp.sum(linalg.inv(a)))(xp.asarray([[float("nan"), 1.0], [1.0, 2.0]]))
