"""`scipy.spatial.distance`: distances between points, as formulas of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .operands import array, plain

Metric = Callable[..., Any]


def root(squares: Any) -> Any:
    """Return square roots, whose derivatives at 0 are 0."""
    there = squares > 0
    return np.where(there, np.sqrt(np.where(there, squares, 1.0)), 0.0)


def _angle(u: Any, v: Any, w: Any) -> Any:
    return 1 - (w * u * v).sum(-1) / np.sqrt((w * u * u).sum(-1) * (w * v * v).sum(-1))


def _correlation(u: Any, v: Any, w: Any) -> Any:
    w = w / (w.sum() if np.ndim(w) else w * u.shape[-1])
    return _angle(u - (w * u).sum(-1, keepdims=True), v - (w * v).sum(-1, keepdims=True), w)


def _shares(u: Any, v: Any) -> Any:
    below = np.abs(u) + np.abs(v)
    return np.where(below > 0, np.abs(u - v) / np.where(below > 0, below, 1.0), 0.0)


def _jensen(u: Any, v: Any, w: Any) -> Any:
    u, v = u / u.sum(-1, keepdims=True), v / v.sum(-1, keepdims=True)
    m = (u + v) / 2
    safe = [
        np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0) / np.where(m > 0, m, 1.0)), 0.0) for p in (u, v)
    ]
    return root((safe[0] + safe[1]).sum(-1) / 2)


# Of points along the last axis, and weights.
_METRICS: dict[str, Metric] = {
    "euclidean": lambda u, v, w: root((w * (u - v) ** 2).sum(-1)),
    "sqeuclidean": lambda u, v, w: (w * (u - v) ** 2).sum(-1),
    "cityblock": lambda u, v, w: (w * np.abs(u - v)).sum(-1),
    "chebyshev": lambda u, v, w: np.abs(u - v).max(-1),
    "cosine": _angle,
    "correlation": _correlation,
    "canberra": lambda u, v, w: (w * _shares(u, v)).sum(-1),
    "braycurtis": lambda u, v, w: (w * np.abs(u - v)).sum(-1) / (w * np.abs(u + v)).sum(-1),
}


def metric_of(name: Any, options: dict[str, Any]) -> Metric | None:
    """Return a distance of two arrays of points, or None for one that we do not know."""
    options = {k: v for k, v in options.items() if v is not None}
    w = array(options.pop("w")) if "w" in options else 1.0
    weighs = type(w) is not float
    if name in _METRICS and not options and not (weighs and name == "chebyshev"):
        return lambda u, v: _METRICS[name](u, v, w)
    if name == "minkowski" and not options.keys() - {"p"}:
        p = options.get("p", 2)
        return lambda u, v: (w * np.abs(u - v) ** p).sum(-1) ** (1 / p)
    if name == "mahalanobis" and options.keys() == {"VI"} and not weighs:
        inverse = array(options["VI"])
        return lambda u, v: root((((u - v) @ inverse) * (u - v)).sum(-1))
    if name == "jensenshannon" and not options and not weighs:
        return lambda u, v: _jensen(u, v, w)
    return None


def _cdist(original: Any, XA: Any, XB: Any, metric: Any, out: Any, **options: Any) -> Any:
    distance = metric_of(metric, options)
    if distance is None or out is not None:
        return NotImplemented
    return distance(array(XA).astype(float)[:, None, :], array(XB).astype(float)[None, :, :])


def _pdist(original: Any, X: Any, metric: Any, out: Any, **options: Any) -> Any:
    distance = metric_of(metric, options)
    if distance is None or out is not None:
        return NotImplemented
    x = array(X).astype(float)
    i, j = np.triu_indices(x.shape[0], 1)
    return distance(x[i], x[j])


def _squareform(original: Any, X: Any, force: str, checks: bool) -> Any:
    x = array(X)
    places = original(np.arange(x.size).reshape(x.shape) + 1.0, force, False).astype(int)
    if x.ndim == 1:
        return np.concatenate([np.zeros(1, x.dtype), x])[places]
    if checks and not np.all(plain(x) == plain(x).T):
        return NotImplemented  # it says so
    return x.reshape(-1)[places - 1]


def _single(name: str) -> Metric:
    """Return the rule of the distance of two points, or samples."""

    def rule(original: Any, **options: Any) -> Any:
        (_, u), (_, v), *rest = options.items()
        named = {
            k: v for k, v in rest if (k, v) not in (("centered", True), ("axis", 0), ("keepdims", False))
        }
        distance = metric_of(name, named)
        u, v = array(u), array(v)
        return NotImplemented if distance is None or u.ndim > 1 or v.ndim > 1 else distance(u, v)

    return rule


RULES: dict[str, dict[str, Metric]] = {
    "scipy.spatial.distance": {
        "cdist": _cdist,
        "pdist": _pdist,
        "squareform": _squareform,
        **{name: _single(name) for name in (*_METRICS, "minkowski", "mahalanobis", "jensenshannon")},
    }
}
