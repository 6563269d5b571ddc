"""SciPy's functions of arrays of ours beside NumPy's and lists: what they give for NumPy's arrays."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import SplitWarning, grad, vmap

pytest.importorskip("scipy")
pytest.importorskip("sklearn")

import scipy.fft
from scipy import integrate, interpolate, linalg, ndimage, signal, special, stats
from scipy.cluster import vq
from scipy.optimize import elementwise
from scipy.spatial.transform import Rotation
from sklearn import (
    calibration,
    cluster,
    config_context,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    isotonic,
    linear_model,
    metrics,
    mixture,
    multiclass,
    naive_bayes,
    neighbors,
    pipeline,
    preprocessing,
    svm,
)

Call = Callable[[Any, Any], Any]  # of an array, and of what stands beside it
X, OTHER = np.linspace(0.1, 0.9, 12), np.linspace(0.2, 1.0, 12)
MATRIX = np.eye(3) * 2 + 0.1


def table(x: Any) -> Any:
    return x[:9].reshape(3, 3)


CALLS: dict[str, Call] = {
    "ttest_ind": lambda x, o: tuple(stats.ttest_ind(x, o)),
    "pearsonr": lambda x, o: tuple(stats.pearsonr(x, o)),
    "linregress": lambda x, o: tuple(stats.linregress(x, o)),
    "ks_2samp": lambda x, o: tuple(stats.ks_2samp(x, o)),
    "mannwhitneyu": lambda x, o: tuple(stats.mannwhitneyu(x, o)),
    "f_oneway": lambda x, o: tuple(stats.f_oneway(x, o)),
    "entropy": stats.entropy,
    "quantile": lambda x, o: stats.quantile(x, o[:3]),
    "norm.pdf": stats.norm.pdf,
    "fftconvolve": signal.fftconvolve,
    "convolve": signal.convolve,
    "lfilter": lambda x, o: signal.lfilter([1.0, 0.2], o[:2], x),
    "sosfilt": lambda x, o: signal.sosfilt(signal.butter(3, 0.2, output="sos"), x),
    "filtfilt": lambda x, o: signal.filtfilt(*signal.butter(2, 0.2), x, padlen=5),
    "welch": lambda x, o: signal.welch(x, window=o[:4], nperseg=4),
    "resample_poly": lambda x, o: signal.resample_poly(x, 2, 1, window=o[:5]),
    "correlate1d": lambda x, o: ndimage.correlate1d(x, o[:3]),
    "ndimage.convolve": lambda x, o: ndimage.convolve(x, o[:3]),
    "map_coordinates": lambda x, o: ndimage.map_coordinates(table(x), [o[:3], o[:3]]),
    "betainc": lambda x, o: special.betainc(x, o, x),
    "xlogy": special.xlogy,
    "logsumexp": lambda x, o: special.logsumexp(x, b=o),
    "trapezoid": lambda x, o: integrate.trapezoid(x, o),
    "simpson": lambda x, o: integrate.simpson(x, x=o),
    "CubicSpline": lambda x, o: interpolate.CubicSpline(o, x)(0.5),
    "cho_solve": lambda x, o: linalg.cho_solve(linalg.cho_factor(table(x) @ table(x).T + MATRIX), x[:3]),
    "lu_solve": lambda x, o: linalg.lu_solve(linalg.lu_factor(table(x) + MATRIX), o[:3]),
    "lstsq": lambda x, o: linalg.lstsq(table(x) + MATRIX, o[:3])[0],
    "vq": lambda x, o: vq.vq(table(x), [o[:3], o[3:6]]),
    "Rotation": lambda x, o: Rotation.from_quat(x[:4]).apply(o[:3]),
    "find_root": lambda x, o: (
        elementwise.find_root(lambda z, c, d: z - c * d, (0, 2), args=(x, np.asarray(o))).x
    ),
    "fftn": lambda x, o: scipy.fft.fftn(x, s=[16], axes=[0]),
}


@pytest.mark.parametrize("beside", [np.asarray, np.ndarray.tolist], ids=["array", "list"])
@pytest.mark.parametrize("name", CALLS)
def test_what_stands_beside_an_array_of_ours(name: str, beside: Any) -> None:
    wanted, found = (CALLS[name](x, beside(OTHER)) for x in (X, xp.asarray(X)))
    assert len(np.shape(found)) == len(np.shape(wanted))
    for got, value in zip(*(y if type(y) is tuple else (y,) for y in (found, wanted)), strict=True):
        np.testing.assert_allclose(np.asarray(got), value, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_what_scipy_takes_of_no_namespace_is_refused() -> None:
    x = xp.asarray(X)
    for other in (np.ma.masked_array(X, X > 0.5), np.matrix(X), X.astype(object), X.astype("U3")):
        with pytest.raises(TypeError):
            stats.pearsonr(x, other)
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(TypeError, match="Multiple namespaces"):
        stats.pearsonr(x, strict.asarray(OTHER))


def test_constants_of_numpys_under_transforms() -> None:
    sos = signal.butter(4, 0.2, output="sos")
    rows = np.random.default_rng(0).normal(size=(3, 30))
    f = lambda x: signal.sosfilt(sos, x)  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("error", SplitWarning)
        np.testing.assert_allclose(vmap(f)(xp.asarray(rows)), f(rows), rtol=1e-12)
        slopes = vmap(grad(lambda x: xp.sum(f(x) ** 2)))(xp.asarray(rows))
    wanted = np.stack([2 * f(f(x)[::-1])[::-1] for x in rows])  # by the filter that goes backwards
    np.testing.assert_allclose(slopes, wanted, rtol=1e-10)
    assert sos.flags.writeable


def test_numbers_of_ours_beside_numpys_arrays() -> None:
    slope = grad(lambda a: xp.sum(special.xlogy(a, OTHER)))(1.5)
    np.testing.assert_allclose(slope, np.log(OTHER).sum())
    rows = vmap(lambda a: special.betainc(a, 2.0, X))(xp.asarray(OTHER))
    np.testing.assert_allclose(rows, special.betainc(OTHER[:, None], 2.0, X))
    np.testing.assert_allclose(special.xlogy(xp.asarray(X), OTHER.mean()), special.xlogy(X, OTHER.mean()))


def test_scipy_that_was_imported_before() -> None:
    script = """
import os
os.environ["SCIPY_ARRAY_API"] = "1"
import numpy as np
from scipy import signal, stats
import nabla_array as xp
x = xp.linspace(0.1, 0.9, 12)
assert np.isfinite(stats.pearsonr(x, [*range(12)]).statistic)
assert signal.sosfilt(signal.butter(2, 0.2, output="sos"), x).shape == (12,)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)


# -- modules that ask whether the namespace is NumPy's ---------------------------------------------------


@pytest.mark.parametrize("dtype", [float, complex, np.float32, np.int64, bool])
@pytest.mark.parametrize("n", [10, 3000])
def test_long_convolutions_are_fourier_transforms(n: int, dtype: Any) -> None:
    """SciPy chooses as for NumPy's arrays: sums of products of 100,000 elements would take seconds."""
    x = np.random.default_rng(0).integers(0, 2, n).astype(dtype)
    y = xp.asarray(x)
    assert signal.choose_conv_method(y, y) == signal.choose_conv_method(x, x)
    for call in (signal.correlate, signal.convolve):
        np.testing.assert_allclose(call(y, y), call(x, x), rtol=1e-3, atol=1e-3)


def test_integers_that_no_double_holds_are_convolved_exactly() -> None:
    x = np.full(3000, 2**40)
    assert signal.choose_conv_method(xp.asarray(x), xp.asarray(x)) == "direct"


def test_convolutions_under_transforms() -> None:
    x, k = np.random.default_rng(0).random((2, 600)), np.hanning(400)
    rows = vmap(lambda row: signal.convolve(row, k))(xp.asarray(x))
    np.testing.assert_allclose(rows, [signal.convolve(row, k) for row in x], rtol=1e-9)
    slope = grad(lambda v: xp.sum(signal.correlate(v, k, "same") ** 2))(xp.asarray(x[0]))
    ahead, step = x[0].copy(), 1e-6
    ahead[5] += step
    energy = [np.sum(signal.correlate(v, k, "same") ** 2) for v in (x[0], ahead)]
    np.testing.assert_allclose(slope[5], (energy[1] - energy[0]) / step, rtol=1e-4)


@pytest.mark.parametrize(
    "options",
    [{}, {"neighbors": 5}, {"kernel": "cubic", "degree": 2}, {"kernel": "gaussian", "epsilon": 2.0}],
    ids=str,
)
@pytest.mark.parametrize("is_complex", [False, True])
def test_radial_functions_by_compiled_code(options: dict[str, Any], is_complex: bool) -> None:
    rng = np.random.default_rng(0)
    points, places = rng.random((40, 3)), rng.random((9, 3))
    values = points[:, 0] + (1j * points[:, 1] if is_complex else 0)
    wanted = interpolate.RBFInterpolator(points, values, **options)(places)
    table, where = xp.asarray(points), xp.asarray(places)
    for given in (xp.asarray(values), (table[:, 0] + (1j * table[:, 1] if is_complex else 0))):
        got = interpolate.RBFInterpolator(table, given, **options)(where)
        assert type(got) is xp.Array
        np.testing.assert_allclose(got, wanted, rtol=1e-8)


def test_false_discoveries_are_controlled_as_in_numpys_arrays() -> None:
    p = np.random.default_rng(0).random((4, 200)) ** 3
    for method in ("bh", "by"):
        got = stats.false_discovery_control(xp.asarray(p), axis=1, method=method)
        np.testing.assert_allclose(got, stats.false_discovery_control(p, axis=1, method=method))


# -- scikit-learn --------------------------------------------------------------------------------------

ROWS = np.random.default_rng(0).normal(size=(60, 4))
TARGET = ROWS @ [1.0, 2, 0, 1] + 0.1
CLASSES = (TARGET > 0).astype(int)


def like_given(x: Any, found: Any) -> Any:
    assert type(found) is type(x)
    return found


LEARNED: dict[str, Callable[[Any], Any]] = {
    "accuracy_score": lambda x: metrics.accuracy_score(CLASSES, x[:, 0] > 0),
    "mean_absolute_error": lambda x: metrics.mean_absolute_error(x[:, 0], TARGET, sample_weight=abs(TARGET)),
    "roc_auc_score": lambda x: metrics.roc_auc_score(CLASSES, x[:, 0]),
    "cosine_similarity": lambda x: metrics.pairwise.cosine_similarity(x, ROWS[:3]),
    "LinearRegression": lambda x: linear_model.LinearRegression().fit(x, TARGET).coef_,
    "Ridge": lambda x: linear_model.Ridge(solver="svd").fit(x, TARGET).coef_,
    "LogisticRegression": lambda x: linear_model.LogisticRegression().fit(x, CLASSES).coef_,
    "GaussianNB": lambda x: naive_bayes.GaussianNB().fit(x, CLASSES).predict_proba(x),
    "GaussianMixture": lambda x: (
        mixture.GaussianMixture(2, random_state=0, init_params="random").fit(x).means_
    ),
    "MaxAbsScaler": lambda x: like_given(x, preprocessing.MaxAbsScaler().fit_transform(x)),
    # They know NumPy's arrays alone.
    "KMeans": lambda x: cluster.KMeans(3, random_state=0, n_init=1).fit(x).predict(x),
    "RandomForest": lambda x: ensemble.RandomForestRegressor(5, random_state=0).fit(x, x[:, 0]).predict(x),
    "KNeighbors": lambda x: neighbors.KNeighborsClassifier().fit(x, CLASSES).predict(x),
    "SVC": lambda x: svm.SVC().fit(x, CLASSES).decision_function(x),
    # Compiled code gets their targets, which nobody converts before.
    "HistGradientBoosting": lambda x: ensemble.HistGradientBoostingRegressor().fit(x, x[:, 0]).predict(x),
    "HistGradientBoosting, classes": lambda x: (
        ensemble.HistGradientBoostingClassifier().fit(x, x[:, 0] > 0, x[:, 1] ** 2).predict_proba(x)
    ),
    "CalibratedClassifier": lambda x: (
        calibration.CalibratedClassifierCV(naive_bayes.GaussianNB()).fit(x, x[:, 0] > 0).predict_proba(x)
    ),
    "GammaRegressor": lambda x: linear_model.GammaRegressor().fit(x, x[:, 0] ** 2 + 1).coef_,
    "IsotonicRegression": lambda x: isotonic.IsotonicRegression().fit_transform(x[:, 0], x[:, 1]),
    "TargetEncoder": lambda x: (
        preprocessing.TargetEncoder().fit(x[:, :1] > 0, x[:, 0]).transform(x[:, :1] > 0)
    ),
    "OneVsRest": lambda x: (
        multiclass.OneVsRestClassifier(naive_bayes.GaussianNB()).fit(x, (x[:, 0] > 0) * 1).predict(x)
    ),
    "mutual_info_regression": lambda x: feature_selection.mutual_info_regression(x, x[:, 0], random_state=0),
}


@pytest.mark.parametrize("name", LEARNED)
def test_what_scikit_learn_is_given(name: str) -> None:
    wanted = LEARNED[name](ROWS)
    with config_context(array_api_dispatch=True):
        found = LEARNED[name](xp.asarray(ROWS))
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6, atol=1e-8)


FITTED: dict[str, Callable[[], Any]] = {
    "PCA": lambda: decomposition.PCA(2).fit(ROWS).transform,
    "PCA.inverse_transform": lambda: decomposition.PCA(4).fit(ROWS).inverse_transform,
    "LDA": lambda: discriminant_analysis.LinearDiscriminantAnalysis().fit(ROWS, CLASSES).predict_proba,
    "LDA.transform": lambda: discriminant_analysis.LinearDiscriminantAnalysis().fit(ROWS, CLASSES).transform,
    "Ridge": lambda: linear_model.Ridge(solver="svd").fit(ROWS, TARGET).predict,
    "LogisticRegression": lambda: linear_model.LogisticRegression().fit(ROWS, CLASSES).predict_proba,
    "GaussianNB": lambda: naive_bayes.GaussianNB().fit(ROWS, CLASSES).predict_proba,
    "StandardScaler": lambda: preprocessing.StandardScaler().fit(ROWS).transform,
    "pipeline": lambda: (
        pipeline.make_pipeline(preprocessing.StandardScaler(), decomposition.PCA(2)).fit(ROWS).transform
    ),
}


@pytest.mark.parametrize("name", FITTED)
def test_what_was_fitted_to_numpys_arrays(name: str) -> None:
    """It gives arrays of ours for ours, also one example at a time, and derivatives."""
    given = FITTED[name]()
    wanted, x = given(ROWS), xp.asarray(ROWS)
    with config_context(array_api_dispatch=True):
        np.testing.assert_allclose(like_given(x, given(x)), wanted, rtol=1e-6, atol=1e-8)
        if name not in ("PCA.inverse_transform", "GaussianNB"):
            total = grad(lambda a: xp.sum(given(a) ** 2))(x)
            step = np.zeros_like(ROWS)
            step[3, 1] = 1e-6
            slope = ((given(ROWS + step) ** 2).sum() - (given(ROWS - step) ** 2).sum()) / 2e-6
            np.testing.assert_allclose(float(total[3, 1]), slope, rtol=1e-4, atol=1e-8)


def test_what_was_fitted_to_ours_refuses_numpys_arrays() -> None:
    """As scikit-learn documents it: what the library returns is to be of the arrays that it was fitted to."""
    with config_context(array_api_dispatch=True):
        fitted = decomposition.PCA(2).fit(xp.asarray(ROWS))
        with pytest.raises(ValueError, match="must use the same namespace"):
            fitted.transform(ROWS)
