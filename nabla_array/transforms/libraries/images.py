"""`scipy.ndimage`: linear filters along axes, interpolation, and filters that choose by order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import product
from math import factorial
from typing import Any

import numpy as np

from .operands import array, mapped, padded, plain, windowed
from .tracking import is_tracked

Rule = Callable[..., Any]


def _ndimage(name: str) -> Callable[..., Any]:
    from scipy import ndimage

    found: Callable[..., Any] = getattr(ndimage, name)
    return found


def _each(value: Any, axes: Sequence[int]) -> list[Any]:
    return [value] * len(axes) if np.ndim(value) == 0 else list(value)


def _axes(x: Any, axes: Any) -> list[int]:
    return [*range(x.ndim)] if axes is None else [a % x.ndim for a in np.atleast_1d(axes)]


# -- linear filters ------------------------------------------------------------------------------------


def _along(original: Any, input: Any, axis: int, output: Any, **options: Any) -> Any:
    """Of a filter along one axis."""
    if not _writes_new(output) or is_tracked([*options.values()]):
        return NotImplemented
    return mapped(partial(original, axis=-1, **options), array(input), axis)


def _writes_new(output: Any) -> bool:
    return output is None or output is np.float64


def _in_turn(name: str, **along: Any) -> Rule:
    """Return the rule of a filter that filters along one axis after the other.

    ``along[option]`` is what the filter of one axis calls an option that may have a value for each axis.
    """

    def rule(original: Any, input: Any, output: Any, axes: Any = None, **options: Any) -> Any:
        if output is not None or is_tracked([*options.values()]):
            return NotImplemented
        x = array(input)
        places = _axes(x, axes)
        several = {k: _each(options.pop(k), places) for k in along if k in options}
        for i, axis in enumerate(places):
            own = {along[k]: v[i] for k, v in several.items()}
            if own.get("sigma", 1) > 1e-15 and own.get("size", 2) > 1:  # as SciPy leaves axes out
                x = mapped(partial(_ndimage(name), **own, **options), x, axis)
        return x

    return rule


_gaussian = _in_turn("gaussian_filter1d", sigma="sigma", order="order", mode="mode", radius="radius")


def _terms(
    x: Any, places: Sequence[int], order: int, sigma: Any, mode: Any, options: dict[str, Any]
) -> list[Any]:
    """Return the derivatives of an order along some axes of what is smoothed; each has a mode."""
    orders = [[order * (a == b) for b in range(x.ndim)] for a in places]
    return [
        _gaussian(None, x, None, sigma=sigma, order=own, mode=m, **options)
        for own, m in zip(orders, _each(mode, places), strict=True)
    ]


def _gaussian_laplace(
    original: Any, input: Any, sigma: Any, output: Any, mode: Any, axes: Any, **options: Any
) -> Any:
    if output is not None or is_tracked([sigma, *options.values()]):
        return NotImplemented
    x = array(input)
    places = _axes(x, axes)
    widths = _each(sigma, places)
    if len(places) < x.ndim:
        widths = [dict(zip(places, widths, strict=True)).get(a, 0) for a in range(x.ndim)]
    return sum(_terms(x, places, 2, widths, mode, options))


def _gaussian_gradient_magnitude(
    original: Any, input: Any, sigma: Any, output: Any, mode: Any, axes: Any, **options: Any
) -> Any:
    x = array(input)
    if output is not None or is_tracked([sigma, *options.values()]) or x.dtype.kind in "iub":
        return NotImplemented  # of integers, SciPy's is rounded
    # As in SciPy, `axes` choose the derivatives: it smooths along all axes.
    return np.sqrt(sum(t * t for t in _terms(x, _axes(x, axes), 1, sigma, mode, options)))


def _edges(smooth: Sequence[float]) -> Rule:
    """Return the rule of a derivative along one axis, smoothed along the others."""

    def rule(original: Any, input: Any, axis: int, mode: Any, cval: float) -> Any:
        x = array(input)
        modes = _each(mode, range(x.ndim))
        for a in sorted(range(x.ndim), key=lambda a: a != axis % x.ndim):  # in SciPy's order
            weights = smooth if a != axis % x.ndim else (-1, 0, 1)
            x = mapped(partial(_ndimage("correlate1d"), weights=weights, mode=modes[a], cval=cval), x, a)
        return x

    return rule


def _laplace(original: Any, input: Any, mode: Any, cval: float, axes: Any) -> Any:
    x = array(input)
    places = _axes(x, axes)
    second = partial(_ndimage("correlate1d"), weights=(1, -2, 1), cval=cval)
    return sum(
        mapped(partial(second, mode=m), x, a) for a, m in zip(places, _each(mode, places), strict=True)
    )


def _spline_filter(original: Any, input: Any, order: int, output: Any, mode: str) -> Any:
    if not _writes_new(output):
        return NotImplemented
    x = array(input)
    for axis in range(x.ndim) if order > 1 else ():
        x = mapped(partial(_ndimage("spline_filter1d"), order=order, mode=mode), x, axis)
    return x


# -- with weights --------------------------------------------------------------------------------------

# NumPy's names for ndimage's modes.
_PADS = {
    **{"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap"},
    **{"constant": "constant", "grid-mirror": "symmetric", "grid-wrap": "wrap", "grid-constant": "constant"},
}


def _weighted(flipped: bool) -> Rule:
    """Return the rule of `correlate` or `convolve`: sums over windows, which `weights` weigh."""

    def rule(original: Any, input: Any, weights: Any, mode: Any, cval: Any, origin: Any, axes: Any) -> Any:
        x, w = array(input), array(weights)
        w = w if flipped else np.conj(w)
        places = _axes(x, axes)
        if (
            is_tracked(cval)
            or len(places) != w.ndim
            or len(set(places)) < w.ndim
            or not isinstance(mode, str)
        ):
            return NotImplemented
        for a, o, k in zip(places, _each(origin, places), w.shape, strict=True):
            before = k // 2 - o - (k % 2 == 0) if flipped else k // 2 + o
            width = [(0, 0)] * x.ndim
            width[a] = (before, k - 1 - before)
            x = padded(x, width, _PADS[mode], cval)
        return windowed(x, np.flip(w) if flipped else w, places)

    return rule


def _one(flipped: bool) -> Rule:
    every = _weighted(flipped)

    def rule(original: Any, input: Any, weights: Any, axis: int, mode: Any, cval: Any, origin: Any) -> Any:
        return every(original, input, weights, mode, cval, origin, [axis])

    return rule


# -- interpolation -------------------------------------------------------------------------------------


def _moved(amount: str, still: float) -> Rule:
    """Return the rule of `zoom` or `shift`, which move along each axis by itself; `still` does not."""

    def rule(original: Any, input: Any, output: Any, **options: Any) -> Any:
        x, by = array(input), options.pop(amount)
        if output is not None or is_tracked([by, *options.values()]) or options.get("grid_mode"):
            return NotImplemented
        for axis, b in enumerate(_each(by, range(x.ndim))):

            def forward(v: np.ndarray, b: float = b) -> Any:
                return original(v, (*[still] * (v.ndim - 1), b), **options)

            x = mapped(forward, x, axis) if b != still else x
        own = original(plain(input), by, **options)  # filters several axes at once, with other roundings
        return (x - plain(x) + own).astype(own.dtype)

    return rule


def _spline(t: Any, order: int) -> Any:
    """Return the B-spline of an order around 0, at `t`."""
    total: Any = 0.0
    for k in range(order + 2):
        sign = (-1) ** k * factorial(order + 1) / (factorial(k) * factorial(order + 1 - k) * factorial(order))
        gap = t + (order + 1) / 2 - k
        total = total + sign * np.where(gap > 0, gap, 0.0) ** order
    return total


def _folded(k: np.ndarray, n: int, mode: str) -> np.ndarray:
    """Return the points of a grid that stand for points beyond it."""
    if mode in ("constant", "mirror", "wrap") and n > 1:
        k = np.abs(k) % (2 * n - 2)
        return np.where(k >= n, 2 * n - 2 - k, k)
    if mode in ("reflect", "grid-mirror"):
        k = k % (2 * n)
        return np.where(k >= n, 2 * n - 1 - k, k)
    return k % n if mode == "grid-wrap" else np.clip(k, 0, n - 1)


def _brought_back(c: np.ndarray, n: int, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """Return sign and shift that take places beyond a grid to where the same values are."""
    sign, shift = np.ones_like(c), np.zeros_like(c)
    if mode == "nearest":
        sign = np.where((c < 0) | (c > n - 1), 0.0, 1.0)
        shift = np.where(c > n - 1, n - 1.0, 0.0)
    elif mode == "wrap" and n > 1:  # of period n - 1
        shift = np.where((c < 0) | (c > n - 1), -(n - 1) * np.floor(c / (n - 1)), 0.0)
    return sign, shift


def _map_coordinates(
    original: Any, input: Any, coordinates: Any, order: int, mode: str, cval: float, prefilter: bool
) -> Any:
    """Sum the coefficients of splines, weighted by B-splines around the places."""
    x, places = array(input), array(coordinates)
    if is_tracked(cval) or mode == "grid-constant" or min(x.shape) < 2:
        return NotImplemented
    if order == 0:
        return _nearest(original, x, places, mode, cval)
    plains = plain(places)
    found = original(plain(x), plains, order=order, mode=mode, cval=cval, prefilter=prefilter)
    if order > 1 and prefilter:
        if mode == "nearest":  # as SciPy extends it
            x, places, plains = padded(x, [(12, 12)] * x.ndim, "edge", 0), places + 12, plains + 12
        x = _spline_filter(None, x, order, None, mode)
    inside = np.ones(plains.shape[1:], bool)
    taken, weights = [], []
    for n, c, p in zip(x.shape, plains, places, strict=True):
        if mode == "constant":
            inside &= (c >= 0) & (c <= n - 1)
        sign, shift = _brought_back(c, n, mode)
        p, c = p * sign + shift, c * sign + shift
        first = (
            np.floor(c).astype(int) - order // 2 if order % 2 else np.floor(c + 0.5).astype(int) - order // 2
        )
        points = [first + k for k in range(order + 1)]
        taken.append([_folded(k, n, mode) for k in points])
        weights.append([_spline(p - k, order) for k in points])
    total: Any = 0.0
    for choice in product(range(order + 1), repeat=len(taken)):
        weight = reduce(np.multiply, [w[c] for w, c in zip(weights, choice, strict=True)])
        total = total + weight * x[tuple(k[c] for k, c in zip(taken, choice, strict=True))]
    total = np.where(inside, total, cval)
    return (total - plain(total) + found).astype(found.dtype)  # the values are SciPy's


def _nearest(original: Any, x: Any, places: Any, mode: str, cval: float) -> Any:
    """Of order 0: the values of points, which SciPy tells by their numbers."""
    numbers = np.arange(1.0, x.size + 1).reshape(x.shape)
    at = original(numbers, plain(places), order=0, mode=mode, cval=0.0).astype(int)
    return np.where(at > 0, x.reshape(-1)[at - 1], cval)


def _placed(x: Any, output_shape: Any, matrix: Any, offset: Any) -> Any:
    """Return the places in the image that an affine map takes the points of the output from."""
    grid = np.stack(np.meshgrid(*map(np.arange, output_shape), indexing="ij")).reshape(x.ndim, -1) * 1.0
    matrix, offset = array(matrix), array(offset)
    if matrix.ndim == 1:
        matrix = matrix[:, None] * np.eye(x.ndim)
    if matrix.shape[-1] == x.ndim + 1:
        matrix, offset = matrix[: x.ndim, : x.ndim], matrix[: x.ndim, -1]
    if not offset.ndim:
        offset = np.broadcast_to(offset, (x.ndim,))
    return (np.matmul(matrix, grid) + offset[:, None]).reshape(x.ndim, *output_shape)


def _affine_transform(
    original: Any, input: Any, matrix: Any, offset: Any, output_shape: Any, **options: Any
) -> Any:
    x = array(input)
    if options.pop("output") is not None:
        return NotImplemented
    places = _placed(x, x.shape if output_shape is None else output_shape, matrix, offset)
    return _map_coordinates(_ndimage("map_coordinates"), x, places, **options)


def _rotate(original: Any, input: Any, angle: Any, axes: Any, reshape: bool, **options: Any) -> Any:
    """Rotate around the centre of each plane."""
    x = array(input)
    if options.pop("output") is not None:
        return NotImplemented
    a, b = sorted(k % x.ndim for k in axes)
    turn = array(angle) * (np.pi / 180)
    rows = [np.stack([np.cos(turn), np.sin(turn)]), np.stack([-np.sin(turn), np.cos(turn)])]
    plane = np.stack(rows)
    shape = np.asarray(original(np.zeros(x.shape), plain(angle), axes, reshape, order=0)).shape
    middle = np.asarray([(shape[a] - 1) / 2, (shape[b] - 1) / 2])
    offset = np.asarray([(x.shape[a] - 1) / 2, (x.shape[b] - 1) / 2]) - np.matmul(plane, middle)
    pick = np.eye(x.ndim)[:, [a, b]]
    rest = np.eye(x.ndim) - pick @ pick.T
    matrix = rest + np.matmul(np.matmul(pick, plane), pick.T)
    places = _placed(x, shape, matrix, np.matmul(pick, offset))
    return _map_coordinates(_ndimage("map_coordinates"), x, places, **options)


# -- chosen by order -----------------------------------------------------------------------------------


def _chosen(original: Any, input: Any, output: Any, mode: Any, **options: Any) -> Any:
    """Take the elements that the filter chooses, which it tells by choosing among their ranks."""
    x = array(input)
    if output is not None or any(m in ("constant", "grid-constant") for m in np.atleast_1d(mode)):
        return NotImplemented
    order = np.argsort(plain(x), axis=None, kind="stable")
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.arange(order.size)
    return x.reshape(-1)[order[original(ranks.reshape(x.shape), mode=mode, **options)]]


def _center_of_mass(original: Any, input: Any, labels: Any, index: Any) -> Any:
    x = array(input)
    if labels is None and index is not None:
        return NotImplemented
    if labels is None or index is None:
        parts = np.ones((1, *x.shape)) if labels is None else np.asarray(labels > np.zeros(x.shape))[None]
    else:
        parts = np.stack([np.broadcast_to(labels, x.shape) == i for i in np.ravel(index)])
    parts = parts.reshape(len(parts), -1) * 1.0
    whole = np.matmul(parts, x.reshape(-1))
    grids = np.indices(x.shape).reshape(x.ndim, -1)
    sums = [np.matmul(parts, x.reshape(-1) * g) / whole for g in grids]
    if index is None or not np.ndim(index):
        return tuple(s[0] for s in sums)
    return [tuple(s[i] for s in sums) for i in range(len(parts))]


RULES = {
    "scipy.ndimage": {
        **dict.fromkeys(("gaussian_filter1d", "uniform_filter1d", "spline_filter1d"), _along),
        "gaussian_filter": _gaussian,
        "uniform_filter": _in_turn("uniform_filter1d", size="size", mode="mode", origin="origin"),
        "gaussian_laplace": _gaussian_laplace,
        "gaussian_gradient_magnitude": _gaussian_gradient_magnitude,
        "sobel": _edges((1, 2, 1)),
        "prewitt": _edges((1, 1, 1)),
        "laplace": _laplace,
        "spline_filter": _spline_filter,
        "correlate": _weighted(False),
        "convolve": _weighted(True),
        "correlate1d": _one(False),
        "convolve1d": _one(True),
        "zoom": _moved("zoom", 1.0),
        "shift": _moved("shift", 0.0),
        "rotate": _rotate,
        "affine_transform": _affine_transform,
        "map_coordinates": _map_coordinates,
        **dict.fromkeys(
            ("median_filter", "maximum_filter", "minimum_filter", "percentile_filter", "rank_filter"), _chosen
        ),
        "center_of_mass": _center_of_mass,
    }
}
