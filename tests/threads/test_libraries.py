"""Threads of other libraries compute with our arrays what one thread does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import nabla_array as xp

N = 4  # threads
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 12))
ESTIMATORS = ["ridge", "discriminant", "scaled", "components"]


def _estimator(name: str) -> Any:
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    return {
        "ridge": lambda: Ridge(solver="svd"),
        "discriminant": LinearDiscriminantAnalysis,
        "scaled": lambda: make_pipeline(MinMaxScaler(), Ridge(solver="svd")),
        "components": lambda: make_pipeline(StandardScaler(), PCA(5, svd_solver="full"), Ridge(solver="svd")),
    }[name]()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_scikit_learns_jobs_in_threads(name: str) -> None:
    sklearn = pytest.importorskip("sklearn", reason="scikit-learn is optional")
    joblib = pytest.importorskip("joblib", reason="scikit-learn brings it")
    from sklearn.model_selection import cross_val_score

    x, y = (
        xp.asarray(X),
        xp.asarray(X[:, 0] + X[:, 1] > 0).astype(xp.int64 if name == "discriminant" else float),
    )
    with sklearn.config_context(array_api_dispatch=True):
        fitted = _estimator(name).fit(x, y)
        assert type(fitted.predict(x)) is xp.Array
        with joblib.parallel_config(backend="threading"):
            one, two = (
                cross_val_score(_estimator(name), x, y, cv=6, n_jobs=jobs, error_score="raise")
                for jobs in (1, 2)
            )
    np.testing.assert_array_equal(one, two)
    plain = cross_val_score(_estimator(name), X, np.asarray(y), cv=6)
    np.testing.assert_allclose(one, plain, rtol=1e-6)


@pytest.mark.parametrize("name", ["pairwise_distances", "pairwise_kernels"])
def test_scikit_learns_parts_of_one_array_in_threads(name: str) -> None:
    sklearn = pytest.importorskip("sklearn", reason="scikit-learn is optional")
    from sklearn.metrics import pairwise

    with sklearn.config_context(array_api_dispatch=True):
        one, two = (getattr(pairwise, name)(xp.asarray(X), n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(np.asarray(one), np.asarray(two))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *(("correlate", (np.ones((3, 3)),)), ("median_filter", (3,)), ("gaussian_filter", (1.0,))),
        *(("uniform_filter", (3,)), ("sobel", ()), ("fourier_gaussian", (1.0,)), ("grey_erosion", (3,))),
        *(("spline_filter", ()), ("shift", (1.0,)), ("binary_erosion", ()), ("zoom", (1,))),
    ],
)
def test_scipys_filters_write_to_parts_of_one_output(name: str, arguments: tuple[Any, ...]) -> None:
    ndimage = pytest.importorskip("scipy.ndimage", reason="SciPy is optional")
    parts = RNG.uniform(size=(N, 30, 40))
    dtype = bool if name == "binary_erosion" else float
    results = []
    for f in (xp.asarray, lambda a: a):
        given, out = f(parts), f(np.zeros(parts.shape, dtype))
        given_arguments = [f(a) if isinstance(a, np.ndarray) else a for a in arguments]

        def work(i: int, given: Any = given, out: Any = out, arguments: Any = given_arguments) -> None:
            getattr(ndimage, name)(given[i], *arguments, output=out[i])

        with ThreadPoolExecutor(N) as pool:
            for _ in range(3):
                list(pool.map(work, range(N)))
        results.append(np.asarray(out))
    np.testing.assert_array_equal(*results)
