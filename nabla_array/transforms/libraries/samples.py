"""Samples: `scipy.stats`, `scipy.cluster.vq`, scikit-learn's `silhouette_score`, as formulas of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..custom import stop_gradient
from .distances import metric_of, root
from .operands import array, plain
from .tracking import holding, is_tracked

Rule = Callable[..., Any]


def _between(power: int) -> Rule:
    """Return the rule of a distance of two distributions by their distribution functions."""

    def rule(original: Any, u_values: Any, v_values: Any) -> Any:
        u, v = array(u_values), array(v_values)
        every = np.sort(np.concatenate([u, v]))
        cuts = plain(every)[:-1]
        below = [np.searchsorted(np.sort(plain(x)), cuts, side="right") / x.shape[0] for x in (u, v)]
        gaps = np.abs(below[0] - below[1])
        found = (gaps**power * np.diff(every)).sum()
        return found if power == 1 else np.sqrt(2 * found)

    return rule


def _boxcox(original: Any, x: Any, lmbda: Any, alpha: Any) -> Any:
    from scipy import special

    return NotImplemented if lmbda is None or alpha is not None else special.boxcox(array(x), lmbda)


# -- densities -----------------------------------------------------------------------------------------


def _logpdf(original: Any, self: Any, x: Any, mean: Any, cov: Any, allow_singular: bool) -> Any:
    """Of a normal distribution of several numbers, by mean and covariance too."""
    if hasattr(cov, "covariance"):
        cov = cov.covariance
    x, cov = array(x), array(1.0 if cov is None else cov)
    n = np.size(plain(mean)) if mean is not None else cov.shape[0] if cov.ndim > 1 else 1
    cov = cov if cov.ndim > 1 else cov * np.eye(n)
    if allow_singular or not np.all(np.linalg.eigvalsh(plain(cov)) > 0):
        return NotImplemented
    gap = x[..., None] if n == 1 and x.ndim < 2 else x
    gap = gap if mean is None else gap - array(mean).reshape(-1)
    squares = (gap * np.matmul(np.linalg.inv(cov), gap[..., None])[..., 0]).sum(-1)
    return np.squeeze(-0.5 * (n * np.log(2 * np.pi) + np.linalg.slogdet(cov)[1] + squares))


def _pdf(original: Any, self: Any, x: Any, mean: Any, cov: Any, allow_singular: bool) -> Any:
    found = _logpdf(original, self, x, mean, cov, allow_singular)
    return found if found is NotImplemented else np.exp(found)


def _frozen(rule: Rule) -> Rule:
    def frozen(original: Any, self: Any, x: Any) -> Any:
        return rule(original, self, x, self.mean, self.cov_object, False)

    return frozen


def _density_made(original: Any, self: Any, dataset: Any, bw_method: Any, weights: Any) -> Any:
    """Put into a `gaussian_kde` what follows the data; where its methods take that to C, they refuse."""
    original(self, plain(dataset), bw_method, plain(weights))
    x = array(dataset)
    x = x[None] if x.ndim == 1 else x
    w = np.full(self.n, 1 / self.n)
    if weights is not None:
        w = array(weights) / array(weights).sum()
        self._weights, self._neff = w, 1 / (w * w).sum()
    gap = x - (x * w).sum(-1, keepdims=True)
    self.dataset = x
    self._data_covariance = np.matmul(gap * w, gap.T) / (1 - (w * w).sum())
    self._data_cho_cov = np.linalg.cholesky(self._data_covariance)
    self._compute_covariance()


def _evaluated(original: Any, self: Any, points: Any, log: bool) -> Any:
    if not is_tracked([points, self.dataset, self.cho_cov, self.weights]):
        return NotImplemented
    x = array(points)
    x = x[None] if x.ndim < 2 else x
    x = x.T if x.shape == (1, self.d) else x
    if x.shape[0] != self.d:
        return NotImplemented  # it says so
    gaps = x[:, :, None] - array(self.dataset)[:, None, :]
    flat = np.linalg.solve(array(self.cho_cov), gaps.reshape(self.d, -1))
    energies = -0.5 * (flat * flat).sum(0).reshape(gaps.shape[1:]) - 0.5 * array(self.log_det)
    top = plain(energies).max(-1, keepdims=True)
    sums = (np.exp(energies - top) * array(self.weights)).sum(-1)
    return np.log(sums) + top[:, 0] if log else sums * np.exp(top[:, 0])


@holding
def _evaluate(original: Any, self: Any, points: Any) -> Any:
    return _evaluated(original, self, points, False)


@holding
def _log_evaluate(original: Any, self: Any, x: Any) -> Any:
    return _evaluated(original, self, x, True)


# -- clusters ------------------------------------------------------------------------------------------


def _vq(original: Any, obs: Any, code_book: Any) -> Any:
    code, _ = original(plain(obs), plain(code_book))
    gap = array(obs) - array(code_book)[code]
    return code, root(gap * gap if gap.ndim == 1 else (gap * gap).sum(-1))


def _kmeans2(original: Any, data: Any, k: Any, **options: Any) -> Any:
    """Centroids are the means of their points, which are as they are while these move a little."""
    x = array(data)
    centroids, labels = original(plain(x), plain(k), **options)
    members = labels == np.arange(len(centroids))[:, None]
    if not members.any(axis=1).all():
        return NotImplemented
    means = np.matmul((members / members.sum(axis=1, keepdims=True)).astype(x.dtype), x)
    return means - stop_gradient(means) + centroids, labels


def _silhouettes(original: Any, X: Any, labels: Any, metric: Any, options: dict[str, Any]) -> Any:
    x, labels = array(X), plain(labels)
    distance = metric_of(metric, options)
    if metric == "precomputed" and not options:
        between = x
    elif distance is not None:
        between = distance(x[:, None, :], x[None, :, :])
    else:
        return NotImplemented
    kinds, places = np.unique(labels, return_inverse=True)
    if not 1 < len(kinds) < len(labels):
        return NotImplemented  # it says so
    members = places[:, None] == np.arange(len(kinds))
    own, sizes = np.arange(len(labels)), members.sum(axis=0)
    sums = np.matmul(between, members * 1.0)
    within = sums[own, places] / np.maximum(sizes[places] - 1, 1)
    nearest = np.where(members, np.inf, sums / sizes).min(axis=1)
    larger = np.maximum(within, nearest)
    safe = np.where(larger > 0, larger, 1.0)
    return np.where((sizes[places] > 1) & (larger > 0), (nearest - within) / safe, 0.0)


def _silhouette_samples(original: Any, X: Any, labels: Any, metric: Any, **options: Any) -> Any:
    return _silhouettes(original, X, labels, metric, options)


def _silhouette_score(
    original: Any, X: Any, labels: Any, metric: Any, sample_size: Any, random_state: Any, **options: Any
) -> Any:
    if sample_size is not None:
        return NotImplemented
    found = _silhouettes(original, X, labels, metric, options)
    return found if found is NotImplemented else found.mean()


RULES: dict[str, dict[str, Rule]] = {
    "scipy.stats": {
        "wasserstein_distance": _between(1),
        "energy_distance": _between(2),
        "boxcox": _boxcox,
        "gaussian_kde.__init__": _density_made,
        "gaussian_kde.evaluate": _evaluate,
        "gaussian_kde.__call__": _evaluate,
        "gaussian_kde.logpdf": _log_evaluate,
    },
    "scipy.stats._multivariate": {
        "multivariate_normal_gen.logpdf": _logpdf,
        "multivariate_normal_gen.pdf": _pdf,
        "multivariate_normal_frozen.logpdf": _frozen(_logpdf),
        "multivariate_normal_frozen.pdf": _frozen(_pdf),
    },
    "scipy.cluster.vq": {"vq": _vq, "kmeans2": _kmeans2},
    "sklearn.metrics": {"silhouette_score": _silhouette_score, "silhouette_samples": _silhouette_samples},
}
