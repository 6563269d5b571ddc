"""The calls of SciPy and scikit-learn that `scipy_table.py` measures, with what it finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import (
    cluster,
    differentiate,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    special,
    stats,
)
from scipy.optimize import elementwise
from scipy.spatial.transform import RigidTransform, Rotation
from sklearn import decomposition, discriminant_analysis, linear_model, metrics, mixture, naive_bayes
from sklearn import preprocessing as pre
from sklearn.metrics import pairwise
from sklearn.model_selection import train_test_split

import nabla_array

Shape = tuple[int, ...]
Operand = tuple[Callable[[Shape, np.random.Generator], np.ndarray], Shape]
# How it is called, on what, and the cells: see `NOTES` in scipy_table.py.
Entry = tuple[Callable[..., Any], tuple[Operand, ...], str]


# -- operands: how they are drawn, and the shape of one example -------------------------------------------


def normal(*shape: int) -> Operand:
    return lambda size, rng: rng.standard_normal(size), shape


def small(*shape: int) -> Operand:
    """Between 0 and 1."""
    return lambda size, rng: rng.uniform(0.1, 0.9, size), shape


def definite(n: int) -> Operand:
    def draw(size: Shape, rng: np.random.Generator) -> np.ndarray:
        x = rng.standard_normal(size)
        return np.asarray(x @ x.swapaxes(-1, -2) + np.eye(n))

    return draw, (n, n)


def sections(n: int) -> Operand:
    """Second-order sections, stable."""

    def draw(size: Shape, rng: np.random.Generator) -> np.ndarray:
        x = rng.uniform(-0.3, 0.3, size)
        x[..., 0] += 1
        x[..., 3] = 1
        return x

    return draw, (n, 6)


def labels(n: int) -> Operand:
    """Zeros and ones, both there."""

    def draw(size: Shape, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(rng.permuted(np.broadcast_to(np.arange(n) % 2, size), axis=-1))

    return draw, (n,)


def module(x: Any) -> Any:
    """Return NumPy for its arrays, nabla_array for its own."""
    return np if isinstance(x, np.ndarray | np.generic) else nabla_array


# -- calls ------------------------------------------------------------------------------------------------


def each(
    functions: Any,
    names: str,
    operands: tuple[Operand, ...],
    cells: str,
    *first: Any,
    part: Callable[[Any], Any] = lambda result: result,
) -> dict[str, Entry]:
    """Return entries of functions that are called alike: on `first`, then on the operands."""

    def entry(function: Callable[..., Any]) -> Entry:
        return lambda *args: part(function(*first, *args)), operands, cells

    return {name: entry(getattr(functions, name)) for name in names.split()}


def tests(names: str, operands: tuple[Operand, ...], cells: str) -> dict[str, Entry]:
    """Return entries of hypothesis tests: their statistic and p-value."""
    return each(stats, names, operands, cells, part=lambda result: (result.statistic, result.pvalue))


def sizes(functions: Any, names: str, operands: tuple[Operand, ...], cells: str) -> dict[str, Entry]:
    """Return entries of functions with complex results, of which the absolute value is taken."""
    return each(functions, names, operands, cells, part=abs)


def fitted(estimator: Callable[[], Any], *attributes: str) -> Callable[..., Any]:
    """Return a function that fits an estimator and gives what it found."""
    return lambda *data: [getattr(estimator().fit(*data), name) for name in attributes]


def transformed(names: str, operands: tuple[Operand, ...], cells: str) -> dict[str, Entry]:
    """Return entries of scikit-learn's preprocessors: the data that they were fitted to, transformed."""

    def entry(estimator: Callable[[], Any]) -> Entry:
        return lambda x: estimator().fit_transform(x), operands, cells

    return {f"{name}.fit_transform": entry(getattr(pre, name)) for name in names.split()}


def _quantile(x: Any) -> Any:
    return stats.quantile(x, 0.3, method="linear")


def _directional(x: Any) -> Any:
    result = stats.directional_stats(x)
    return result.mean_direction, result.mean_resultant_length


def _permutation(x: Any, y: Any) -> Any:
    means = module(x).mean
    return stats.permutation_test(
        (x, y), lambda x, y, axis: means(x, axis=axis) - means(y, axis=axis), n_resamples=20, rng=0
    ).statistic


def _bootstrap(x: Any) -> Any:
    means = module(x).mean
    return stats.bootstrap(
        (x,), lambda x, axis: means(x, axis=axis), n_resamples=20, rng=np.random.default_rng(0)
    ).standard_error


def _cubature(a: Any) -> Any:
    ns = module(a)
    corner = ns.asarray([0.0, 0.0])
    return integrate.cubature(
        lambda x, a: ns.exp(-a * ns.sum(x * x, axis=-1)), corner, corner + 1, args=(a,)
    ).estimate


def _tanhsinh(a: Any) -> Any:
    return integrate.tanhsinh(lambda x, a: module(x).exp(-a * x * x), 0 * a, 0 * a + 1, args=(a,)).integral


def _nsum(a: Any) -> Any:
    return integrate.nsum(lambda k, a: 1 / k ** (2 + a), 1.0, 20.0, args=(a,)).sum


def _jacobian_of(x: Any) -> Any:
    ns = module(x)
    return ns.stack([ns.sin(x[0]) * x[1], ns.exp(x[1])])


_U, _UU = (small(5),), (small(5), small(5))
_SAMPLE, _SAMPLES = (small(12),), (small(12), small(12))

CHAPTERS: dict[str, dict[str, Entry]] = {
    "scipy.special": {
        **each(special, "logsumexp softmax log_softmax softplus", (normal(5),), "....."),
        **each(special, "erf erfc erfcx erfi erfinv dawsn ndtr log_ndtr ndtri", _U, "....."),
        **each(special, "gamma gammaln loggamma rgamma psi digamma", _U, "....."),
        **each(special, "polygamma", _U, ".....", 1),
        **each(special, "zeta", _U, ".....", 3.0),
        **each(special, "gammainc gammaincc gammaincinv chdtr chdtrc chdtri stdtr stdtrit", _U, ".....", 1.5),
        **each(special, "betainc betaincc betaincinv fdtr fdtrc hyp1f1", _U, ".....", 1.5, 2.5),
        **each(special, "beta betaln binom poch", _UU, "....."),
        **each(special, "expit log_expit logit entr", _U, "....."),
        **each(special, "xlogy xlog1py rel_entr kl_div huber pseudo_huber", _UU, "....."),
        **each(special, "boxcox boxcox1p inv_boxcox inv_boxcox1p", _UU, "....."),
        **each(special, "j0 j1 y0 y1 i0 i0e i1 i1e k0 k0e k1 k1e", _U, "....."),
        **each(special, "jv yv iv kv", _U, ".....", 1.5),
        **each(special, "exp1 expi spence ellipk ellipkm1 ellipe", _U, "....."),
        **each(special, "expn", _U, ".....", 2),
        **each(special, "exprel exp10 exp2 cbrt cosm1 sinc sindg cosdg tandg cotdg", _U, "....."),
        "multigammaln": (lambda x: special.multigammaln(x + 3, 3), _U, "....."),
        "zetac": (special.zetac, _U, ".nn.."),
        **each(special, "sici shichi fresnel airy", _U, "....."),
    },
    "scipy.stats: descriptive": {
        **each(stats, "gmean skew kurtosis variation sem zscore gzscore gstd", _SAMPLE, "....."),
        "hmean": (stats.hmean, _SAMPLE, "...l."),
        "pmean": (lambda x: stats.pmean(x, 2.0), _SAMPLE, "...l."),
        "moment": (lambda x: stats.moment(x, 3), _SAMPLE, "....."),
        "trim_mean": (lambda x: stats.trim_mean(x, 0.1), _SAMPLE, "....."),
        "zmap": (stats.zmap, (small(5), small(6)), "....."),
        **each(stats, "circmean circvar circstd kstat kstatvar lmoment tmean tmin tmax", _SAMPLE, "....."),
        **each(stats, "tvar tstd tsem iqr median_abs_deviation", _SAMPLE, "...l."),
        **each(stats, "differential_entropy entropy", _SAMPLE, "....."),
        "quantile": (_quantile, _SAMPLE, "...l."),
        "rankdata": (stats.rankdata, _SAMPLE, ".00l."),
        "describe": (lambda x: tuple(stats.describe(x))[2:], _SAMPLE, "....."),
        "directional_stats": (_directional, (normal(6, 3),), "....."),
        "mode": (lambda x: tuple(stats.mode(module(x).round(x * 3))), _SAMPLE, "s00lh"),
        "boxcox_llf": (lambda x: stats.boxcox_llf(0.5, x), _SAMPLE, "....."),
        "yeojohnson_llf": (lambda x: stats.yeojohnson_llf(0.5, x), _SAMPLE, "...l."),
        "boxcox": (lambda x: stats.boxcox(x, 0.5), _SAMPLE, "s..lh"),
        "expectile": (stats.expectile, _SAMPLE, "ccclh"),
        "linregress": (lambda x, y: tuple(stats.linregress(x, y))[:2], _SAMPLES, "ccclh"),
        "energy_distance": (stats.energy_distance, _SAMPLES, "s..lh"),
    },
    "scipy.stats: tests and distributions": {
        **tests("normaltest skewtest kurtosistest jarque_bera", (small(30),), "....."),
        **tests("ttest_ind ttest_rel bartlett alexandergovern f_oneway pearsonr", _SAMPLES, "....."),
        **tests("levene", _SAMPLES, "...l."),
        **tests("power_divergence chisquare", (small(6),), "....."),
        "ttest_1samp": (lambda x: tuple(stats.ttest_1samp(x, 0.2)), _SAMPLE, "....."),
        "ttest_ind_from_stats": (
            lambda x, y: tuple(stats.ttest_ind_from_stats(x, 1.0, 10, y, 2.0, 12)),
            (small(), small()),
            ".....",
        ),
        "combine_pvalues": (lambda x: tuple(stats.combine_pvalues(x)), (small(6),), "....."),
        "false_discovery_control": (stats.false_discovery_control, (small(6),), "...l."),
        **tests("mannwhitneyu fligner mood kruskal spearmanrho chatterjeexi", _SAMPLES, ".00l."),
        **tests("wilcoxon ks_2samp", _SAMPLES, "s00lh"),
        **tests("brunnermunzel", _SAMPLES, ".00l."),
        **tests("epps_singleton_2samp", _SAMPLES, "...l."),
        **tests("kendalltau ranksums", _SAMPLES, "ccclh"),
        "bootstrap": (_bootstrap, (small(6),), "...l."),
        "permutation_test": (_permutation, (small(6), small(6)), "....."),
        "norm.logpdf": (stats.norm.logpdf, _U, "....h"),
        "norm.logpdf(x, loc, scale)": (stats.norm.logpdf, (small(5), small(), small()), "....h"),
        "norm.cdf": (stats.norm.cdf, _U, "....h"),
        "norm.logsf": (stats.norm.logsf, _U, "....h"),
        "norm.ppf": (stats.norm.ppf, _U, "....h"),
        "gamma.logpdf(x, a)": (stats.gamma.logpdf, (small(5), small()), "....h"),
        "beta.pdf(x, a, b)": (stats.beta.pdf, (small(5), small(), small()), "....h"),
        "t.logpdf(x, df)": (stats.t.logpdf, (normal(5), small()), "....h"),
        "uniform(loc, scale).pdf": (lambda x, a: stats.uniform(a, 2.0).pdf(x), (small(5), small()), ".00.h"),
        "poisson.logpmf(k, mu)": (lambda mu: stats.poisson.logpmf(np.arange(4), mu), (small(),), "....h"),
        "binom.cdf(k, n, p)": (lambda p: stats.binom.cdf(np.arange(4), 5, p), (small(),), ".nn.h"),
        "Normal().logpdf": (lambda x: stats.Normal().logpdf(x), _U, "ccclh"),
    },
    "scipy.signal": {
        "fftconvolve": (signal.fftconvolve, (normal(9), normal(4)), "....."),
        "oaconvolve": (signal.oaconvolve, (normal(9), normal(4)), "....."),
        "convolve(method='fft')": (
            lambda x, y: signal.convolve(x, y, method="fft"),
            (normal(9), normal(4)),
            "...l.",
        ),
        "convolve": (signal.convolve, (normal(9), normal(4)), "s..lh"),
        "correlate(method='fft')": (
            lambda x, y: signal.correlate(x, y, method="fft"),
            (normal(9), normal(4)),
            "...l.",
        ),
        **sizes(signal, "hilbert", (normal(12),), "....."),
        **sizes(signal, "hilbert2", (normal(4, 4),), "....."),
        "envelope": (signal.envelope, (normal(16),), "....."),
        "resample": (lambda x: signal.resample(x, 6), (normal(12),), "....."),
        "freqz": (lambda b: abs(signal.freqz(b, worN=8)[1]), (normal(4),), "....."),
        "vectorstrength": (lambda x: signal.vectorstrength(x, 2.0), (normal(6),), "....."),
        "gauss_spline": (lambda x: signal.gauss_spline(x, 3), (normal(6),), "....."),
        "normalize": (lambda b: signal.normalize(b, b * 0 + 1.0)[0], (normal(3),), "...l."),
        "sos2tf": (lambda s: signal.sos2tf(s)[0], (sections(2),), "...l."),
        **each(signal, "medfilt detrend", (normal(12),), "....h"),
        **each(signal, "cspline1d", (normal(12),), "s..lh"),
        "wiener": (signal.wiener, (normal(12),), "cccl."),
        "savgol_filter": (lambda x: signal.savgol_filter(x, 5, 2), (normal(12),), "....h"),
        "upfirdn": (signal.upfirdn, (normal(3), normal(8)), "s..lh"),
    },
    "scipy.fft": {
        **sizes(fft, "fft ifft rfft hfft ihfft", (normal(8),), "....."),
        **sizes(fft, "fft2 ifft2 rfft2 fftn ifftn rfftn", (normal(4, 4),), "....."),
        "irfft": (lambda x: fft.irfft(x + 0j), (normal(5),), "....."),
        "fht": (lambda x: fft.fht(x, 0.1, 0.5), (normal(8),), "....."),
        "fftshift": (fft.fftshift, (normal(5),), "....."),
        **each(fft, "dct idct dst", (normal(8),), "....h"),
    },
    "scipy.integrate": {
        "trapezoid": (lambda y: integrate.trapezoid(y, dx=0.1), (normal(9),), "....."),
        "trapezoid(y, x)": (integrate.trapezoid, (normal(9), normal(9)), "....."),
        **each(integrate, "cumulative_trapezoid romb", (normal(9),), "....."),
        "cumulative_simpson": (integrate.cumulative_simpson, (normal(9),), "....h"),
        "fixed_quad": (
            lambda a: integrate.fixed_quad(lambda x: module(a).exp(-a * module(a).asarray(x)), 0.0, 1.0)[0],
            (small(),),
            ".....",
        ),
        "tanhsinh": (_tanhsinh, (small(),), "...lh"),
        "cubature": (_cubature, (small(),), "...l."),
        "simpson": (lambda y: integrate.simpson(y, dx=0.1), (normal(9),), "....h"),
        "nsum": (_nsum, (small(),), "ccclh"),
    },
    "scipy.optimize, scipy.differentiate": {
        **each(optimize, "rosen rosen_der rosen_hess", (normal(5),), "....."),
        "rosen_hess_prod": (optimize.rosen_hess_prod, (normal(5), normal(5)), "....h"),
        "elementwise.find_root": (
            lambda a: elementwise.find_root(lambda x, a: x**3 - a, (0 * a - 0.5, 0 * a + 2.0), args=(a,)).x,
            (small(),),
            "s..lh",
        ),
        "elementwise.bracket_root": (
            lambda a: elementwise.bracket_root(lambda x, a: x**3 - a, 0 * a + 0.1, args=(a,)).bracket,
            (small(),),
            ".00lh",
        ),
        "elementwise.bracket_minimum": (
            lambda a: elementwise.bracket_minimum(lambda x, a: (x - a) ** 2, 0 * a + 0.1, args=(a,)).bracket,
            (small(),),
            ".00lh",
        ),
        "derivative": (
            lambda a: differentiate.derivative(lambda x: module(x).exp(x * x), a).df,
            (small(),),
            "...lh",
        ),
        "jacobian": (lambda a: differentiate.jacobian(_jacobian_of, a, maxiter=3).df, (small(2),), "...lh"),
    },
    "scipy.linalg, cluster, ndimage, interpolate": {
        "linalg.block_diag": (linalg.block_diag, (normal(2, 2), normal(3, 3)), "....h"),
        "linalg.fiedler": (linalg.fiedler, (normal(4),), "....."),
        "linalg.orthogonal_procrustes": (
            lambda x, y: linalg.orthogonal_procrustes(x, y)[0],
            (normal(4, 3), normal(4, 3)),
            "...l.",
        ),
        **{f"linalg.{k}": v for k, v in each(linalg, "inv det expm", (definite(3),), "....h").items()},
        "cluster.vq.whiten": (cluster.vq.whiten, (normal(8, 2),), "....."),
        "cluster.vq.vq": (cluster.vq.vq, (normal(8, 2), normal(3, 2)), "s..lh"),
        "cluster.hierarchy.linkage": (cluster.hierarchy.linkage, (normal(5, 2),), "cccl."),
        "ndimage.gaussian_filter": (lambda x: ndimage.gaussian_filter(x, 1.0), (normal(6, 6),), "....h"),
        "ndimage.median_filter": (lambda x: ndimage.median_filter(x, 3), (normal(6, 6),), "....h"),
        "ndimage.zoom": (lambda x: ndimage.zoom(x, 2), (normal(4, 4),), "s..lh"),
        "interpolate.PchipInterpolator": (
            lambda y: interpolate.PchipInterpolator(module(y).asarray([0.0, 1, 2, 3]), y)(1.5),
            (normal(4),),
            "s..lh",
        ),
    },
    "scipy.spatial.transform": {
        "Rotation.from_quat.as_matrix": (lambda q: Rotation.from_quat(q).as_matrix(), (normal(4),), "....."),
        "Rotation.from_rotvec.apply": (
            lambda r, v: Rotation.from_rotvec(r).apply(v),
            (normal(3), normal(3)),
            ".....",
        ),
        "Rotation.from_euler.as_quat": (
            lambda a: Rotation.from_euler("xyz", a).as_quat(),
            (small(3),),
            ".....",
        ),
        "Rotation.__mul__.as_rotvec": (
            lambda a, b: (Rotation.from_rotvec(a) * Rotation.from_rotvec(b)).as_rotvec(),
            (small(3), small(3)),
            ".....",
        ),
        "Rotation.magnitude": (lambda a: Rotation.from_rotvec(a).magnitude(), (small(3),), "....."),
        "Rotation.mean": (lambda a: Rotation.from_rotvec(a).mean().as_rotvec(), (small(4, 3),), "....."),
        "RigidTransform.apply": (
            lambda a, v: RigidTransform.from_translation(a).apply(v),
            (normal(3), normal(3)),
            ".....",
        ),
    },
    "sklearn.metrics": {
        **each(
            metrics,
            "mean_squared_error mean_absolute_error r2_score mean_poisson_deviance mean_pinball_loss",
            (small(8), small(8)),
            "s..l.",
        ),
        **each(metrics, "log_loss brier_score_loss", (labels(8), small(8)), "s..l."),
        **each(metrics, "roc_auc_score", (labels(8), small(8)), "s00l."),
        **each(metrics, "accuracy_score f1_score confusion_matrix", (labels(12), labels(12)), "siil."),
        **each(
            pairwise,
            "euclidean_distances cosine_similarity cosine_distances linear_kernel polynomial_kernel "
            "rbf_kernel sigmoid_kernel laplacian_kernel manhattan_distances",
            (small(4, 3), small(5, 3)),
            ".....",
        ),
        **each(pairwise, "additive_chi2_kernel chi2_kernel", (small(4, 3), small(5, 3)), "...l."),
        **each(
            pairwise,
            "paired_euclidean_distances paired_cosine_distances",
            (small(4, 3), small(4, 3)),
            ".....",
        ),
    },
    "sklearn estimators": {
        **transformed("Normalizer PolynomialFeatures", (normal(6, 3),), "....."),
        **transformed("MinMaxScaler MaxAbsScaler", (normal(6, 3),), "...l."),
        **transformed("StandardScaler", (normal(6, 3),), ".w.l."),
        **transformed("KernelCenterer", (normal(5, 5),), "....."),
        **transformed("Binarizer", (normal(6, 3),), ".00.."),
        **each(pre, "normalize", (normal(6, 3),), "....."),
        **each(pre, "minmax_scale", (normal(6, 3),), "...l."),
        "Ridge.coef_": (
            fitted(lambda: linear_model.Ridge(0.5, solver="svd"), "coef_"),
            (normal(8, 3), normal(8)),
            "...l.",
        ),
        "RidgeCV.coef_": (fitted(linear_model.RidgeCV, "coef_"), (normal(8, 3), normal(8)), "...l."),
        "LinearRegression.coef_": (
            fitted(linear_model.LinearRegression, "coef_"),
            (normal(8, 3), normal(8)),
            "ccclh",
        ),
        "PCA(full).explained_variance_": (
            fitted(lambda: decomposition.PCA(2, svd_solver="full"), "explained_variance_"),
            (normal(8, 3),),
            ".....",
        ),
        "PCA(full).fit_transform": (
            lambda x: decomposition.PCA(2, svd_solver="full").fit(x).transform(x),
            (normal(8, 3),),
            ".....",
        ),
        "PCA(covariance_eigh).explained_variance_": (
            fitted(lambda: decomposition.PCA(2, svd_solver="covariance_eigh"), "explained_variance_"),
            (normal(8, 3),),
            ".....",
        ),
        "GaussianNB.predict_log_proba": (
            lambda x, y: naive_bayes.GaussianNB().fit(x, y).predict_log_proba(x),
            (normal(12, 3), labels(12)),
            "s..l.",
        ),
        "LinearDiscriminantAnalysis.transform": (
            lambda x, y: discriminant_analysis.LinearDiscriminantAnalysis().fit(x, y).transform(x),
            (normal(12, 3), labels(12)),
            "s..l.",
        ),
        "GaussianMixture.means_": (
            fitted(
                lambda: mixture.GaussianMixture(2, init_params="random", random_state=0, max_iter=3, tol=1.0),
                "means_",
            ),
            (normal(12, 2),),
            "...l.",
        ),
        "train_test_split": (lambda x: train_test_split(x, random_state=0), (normal(8, 2),), "....."),
    },
}
