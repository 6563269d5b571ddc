"""Estimators, metrics and preprocessors of scikit-learn that `libraries` calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import (
    decomposition,
    discriminant_analysis,
    kernel_approximation,
    linear_model,
    metrics,
    mixture,
    naive_bayes,
    preprocessing,
)
from sklearn.metrics import pairwise
from sklearn.model_selection import train_test_split

from .libraries_cases import Case, table

_COLUMNS = 20


def _labelled(rng: np.random.Generator, n: int) -> list[Any]:
    x = rng.standard_normal((n // _COLUMNS, _COLUMNS))
    return [x, (x[:, 0] - x[:, 1] + 0.3 * rng.standard_normal(len(x)) > 0).astype(np.int64)]


def _measured(rng: np.random.Generator, n: int) -> list[Any]:
    x = rng.standard_normal((n // _COLUMNS, _COLUMNS))
    return [x, x[:, 0] - 2.0 * x[:, 1] + 0.1 * rng.standard_normal(len(x))]


def _classes(rng: np.random.Generator, n: int) -> list[Any]:
    true = rng.integers(0, 4, n)
    return [true, np.where(rng.uniform(size=n) < 0.8, true, rng.integers(0, 4, n))]


def _likelihoods(rng: np.random.Generator, n: int) -> list[Any]:
    return [rng.integers(0, 2, n), rng.uniform(0.05, 0.95, n)]


def _numbers(rng: np.random.Generator, n: int) -> list[Any]:
    true = rng.uniform(1.0, 2.0, n)
    return [true, true * rng.uniform(0.9, 1.1, n)]


def _rows(rng: np.random.Generator, n: int) -> list[Any]:
    side = int(n**0.5)
    return list(rng.standard_normal((2, side, _COLUMNS)))


def _transformed(estimator: Callable[[], Any]) -> Callable[..., Any]:
    return lambda x: estimator().fit(x).transform(x)


def _predicted(estimator: Callable[[], Any]) -> Callable[..., Any]:
    return lambda x, y: estimator().fit(x, y).predict(x)


def _gram(x: Any) -> Any:
    return preprocessing.KernelCenterer().fit_transform(pairwise.linear_kernel(x[:500]))


def _mixture(x: Any) -> Any:
    start = {"weights_init": [0.5, 0.5], "means_init": np.eye(2, _COLUMNS), "max_iter": 5, "tol": 0.0}
    return mixture.GaussianMixture(2, init_params="random_from_data", random_state=0, **start).fit(x).means_


def learn_cases() -> list[Case]:
    """Return the calls of scikit-learn."""
    p, m, t = preprocessing, metrics, table(_COLUMNS)
    million = 1_000_000
    return [
        Case("StandardScaler", _transformed(p.StandardScaler), t),
        Case("MinMaxScaler", _transformed(p.MinMaxScaler), t),
        Case("MaxAbsScaler", _transformed(p.MaxAbsScaler), t),
        Case("Normalizer", _transformed(p.Normalizer), t),
        Case("Binarizer", _transformed(p.Binarizer), t),
        Case("PolynomialFeatures", _transformed(lambda: p.PolynomialFeatures(2)), t, million),
        Case("LabelEncoder", lambda y, _: p.LabelEncoder().fit_transform(y), _classes, million),
        Case("KernelCenterer", _gram, t, million),
        Case("PCA, covariance", _transformed(lambda: decomposition.PCA(5, svd_solver="covariance_eigh")), t),
        Case("PCA, full", _transformed(lambda: decomposition.PCA(5, svd_solver="full")), t, million),
        Case(
            "Nystroem",
            _transformed(lambda: kernel_approximation.Nystroem(n_components=30, random_state=0)),
            t,
            million,
        ),
        Case("Ridge", _predicted(lambda: linear_model.Ridge(solver="svd")), _measured, million),
        Case("RidgeCV", _predicted(linear_model.RidgeCV), _measured, 200_000),
        Case("LogisticRegression", _predicted(linear_model.LogisticRegression), _labelled),
        Case(
            "LinearDiscriminantAnalysis",
            _predicted(discriminant_analysis.LinearDiscriminantAnalysis),
            _labelled,
            million,
        ),
        Case("GaussianNB", _predicted(naive_bayes.GaussianNB), _labelled),
        Case("GaussianMixture", _mixture, t, million),
        Case("train_test_split", lambda x: train_test_split(x, random_state=0), t),
        Case("accuracy_score", m.accuracy_score, _classes),
        Case("confusion_matrix", m.confusion_matrix, _classes, million),
        Case("balanced_accuracy_score", m.balanced_accuracy_score, _classes, million),
        Case("f1_score", lambda a, b: m.f1_score(a, b, average="macro"), _classes, million),
        Case("log_loss", m.log_loss, _likelihoods, million),
        Case("brier_score_loss", m.brier_score_loss, _likelihoods, million),
        Case("r2_score", m.r2_score, _numbers),
        Case("mean_squared_error", m.mean_squared_error, _numbers),
        Case("mean_absolute_percentage_error", m.mean_absolute_percentage_error, _numbers),
        Case("mean_tweedie_deviance", lambda a, b: m.mean_tweedie_deviance(a, b, power=1), _numbers),
        Case("euclidean_distances", pairwise.euclidean_distances, _rows),
        Case("cosine_similarity", pairwise.cosine_similarity, _rows),
        Case("rbf_kernel", pairwise.rbf_kernel, _rows),
    ]
