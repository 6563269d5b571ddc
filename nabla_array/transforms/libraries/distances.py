"""Distances between points and between samples, as formulas of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .operands import array, plain
from .tracking import is_tracked

Metric = Callable[..., Any]


def _root(squares: Any) -> Any:
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
    return _root((safe[0] + safe[1]).sum(-1) / 2)


# Of points along the last axis, and weights.
_METRICS: dict[str, Metric] = {
    "euclidean": lambda u, v, w: _root((w * (u - v) ** 2).sum(-1)),
    "sqeuclidean": lambda u, v, w: (w * (u - v) ** 2).sum(-1),
    "cityblock": lambda u, v, w: (w * np.abs(u - v)).sum(-1),
    "chebyshev": lambda u, v, w: np.abs(u - v).max(-1),
    "cosine": _angle,
    "correlation": _correlation,
    "canberra": lambda u, v, w: (w * _shares(u, v)).sum(-1),
    "braycurtis": lambda u, v, w: (w * np.abs(u - v)).sum(-1) / (w * np.abs(u + v)).sum(-1),
}


def _metric(name: Any, options: dict[str, Any]) -> Metric | None:
    """Return a distance of two arrays of points, or None for one that we do not know."""
    w = options.get("w")
    if w is not None:
        w = array(w)
        if name == "chebyshev":
            return None
    w = 1.0 if w is None else w
    if name in _METRICS and not options.keys() - {"w"}:
        return lambda u, v: _METRICS[name](u, v, w)
    if name == "minkowski" and not options.keys() - {"w", "p"}:
        p = options.get("p", 2)
        return lambda u, v: (w * np.abs(u - v) ** p).sum(-1) ** (1 / p)
    if name == "mahalanobis" and options.get("VI") is not None:
        inverse = array(options["VI"])
        return lambda u, v: _root((((u - v) @ inverse) * (u - v)).sum(-1))
    if name == "jensenshannon" and not options:
        return lambda u, v: _jensen(u, v, w)
    return None


def _cdist(
    original: Any, XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any
) -> Any:
    distance = _metric(metric, options)
    if distance is None or out is not None:
        return NotImplemented
    return distance(array(XA)[:, None, :], array(XB)[None, :, :])


def _pdist(original: Any, X: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Any:
    distance = _metric(metric, options)
    if distance is None or out is not None:
        return NotImplemented
    x = array(X)
    i, j = np.triu_indices(x.shape[0], 1)
    return distance(x[i], x[j])


def _squareform(original: Any, X: Any, force: str = "no", checks: bool = True) -> Any:
    x = array(X)
    if x.ndim == 2:
        i, j = np.triu_indices(x.shape[0], 1)
        return x[i, j]
    n = round((1 + (1 + 8 * x.shape[0]) ** 0.5) / 2)
    places = original(np.arange(x.shape[0]) + 1.0).astype(int)
    if places.shape != (n, n):
        return NotImplemented
    return np.concatenate([np.zeros(1), x])[places]


def _single(name: str, *names: str) -> Callable[..., Any]:
    """Return the rule of the distance of two points; `names` are its further parameters."""

    def rule(original: Any, u: Any, v: Any, *args: Any, **options: Any) -> Any:
        distance = _metric(name, {**dict(zip(names, args, strict=False)), **options})
        return NotImplemented if distance is None else distance(array(u), array(v))

    return rule


def _vq(original: Any, obs: Any, code_book: Any, check_finite: bool = True) -> Any:
    code, _ = original(plain(obs), plain(code_book), check_finite)
    gap = array(obs) - array(code_book)[code]
    return code, _root(gap * gap if gap.ndim == 1 else (gap * gap).sum(-1))


def _between(power: int) -> Callable[..., Any]:
    """Return the rule of a distance of two distributions by their distribution functions."""

    def rule(original: Any, u_values: Any, v_values: Any, *weights: Any, **named: Any) -> Any:
        if is_tracked([*weights, *named.values()]) or weights or named:
            return NotImplemented
        u, v = array(u_values), array(v_values)
        every = np.sort(np.concatenate([u, v]))
        cuts = plain(every)[:-1]
        below = [np.searchsorted(np.sort(plain(x)), cuts, side="right") / x.shape[0] for x in (u, v)]
        gaps = np.abs(below[0] - below[1])
        found = (gaps**power * np.diff(every)).sum()
        return found if power == 1 else np.sqrt(2 * found)

    return rule


def _boxcox(original: Any, x: Any, lmbda: Any = None, alpha: Any = None, optimizer: Any = None) -> Any:
    from scipy import special

    return NotImplemented if lmbda is None or alpha is not None else special.boxcox(array(x), lmbda)


RULES = {
    "cdist": _cdist,
    "pdist": _pdist,
    "squareform": _squareform,
    **{name: _single(name, "w") for name in _METRICS if name != "correlation"},
    "correlation": _single("correlation", "w", "centered"),
    "minkowski": _single("minkowski", "p", "w"),
    "mahalanobis": _single("mahalanobis", "VI"),
    "jensenshannon": _single("jensenshannon", "base"),
    "vq": _vq,
    "wasserstein_distance": _between(1),
    "energy_distance": _between(2),
    "boxcox": _boxcox,
}
