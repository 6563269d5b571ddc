"""`scipy.interpolate` of values on grids, and of scattered ones: linear in the values."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import factorial, prod
from typing import Any

import numpy as np

from ..._lazy.graph.tape import derivatives, hidden
from ..custom import stop_gradient
from .interpolation import Kept, keep, linear, recorded, refused
from .operands import array, plain
from .tracking import holding, is_tracked

Function = Callable[..., Any]


def _weighted(matrix: Any, values: Any) -> Any:
    """Return sums of the values; what is nan for all values stays so."""
    unknown = np.isnan(matrix).any(axis=-1)
    weights = np.where(unknown[..., None], 0.0, matrix)
    found = np.tensordot(weights, values, axes=(weights.ndim - 1, 0))
    return np.where(unknown.reshape((*unknown.shape, *[1] * (values.ndim - 1))), np.nan, found)


@holding
def _at_constants(original: Function, self: Any, args: Any, **options: Any) -> Any:
    """Of values at many points: at places that are constants."""
    made = recorded(self)
    if made is None or is_tracked([args, *options.values()]):
        return NotImplemented
    matrix = original(made.build(np.eye(made.values.shape[0])), *args, **options)
    found = _weighted(matrix, made.values)
    with hidden(derivatives()):
        own = original(self, *args, **options)
    return found - stop_gradient(found) + own  # the values are SciPy's


@holding
def _radial_called(original: Function, self: Any, x: Any) -> Any:
    return _at_constants(original, self, (x,))


def _griddata(original: Function, points: Any, values: Any, xi: Any, **options: Any) -> Any:
    if is_tracked([points, xi, *options.values()]):
        return NotImplemented
    v = array(values)
    found = _weighted(original(points, np.eye(v.shape[0]), xi, **options), v)
    return found - stop_gradient(found) + original(points, plain(v), xi, **options)


# -- grids ---------------------------------------------------------------------------------------------


def _grid_made(original: Function, self: Any, points: Any, values: Any, **options: Any) -> Any:
    if is_tracked([points, *options.values()]) or options["method"] == "pchip":
        return NotImplemented
    v = array(values)
    original(self, points, plain(v), **options)
    grid, rest = v.shape[: len(points)], v.shape[len(points) :]

    def build(basis: np.ndarray) -> Any:
        new = object.__new__(type(self))
        original(new, points, basis.reshape(*grid, -1), **options)
        return new

    keep(self, build, v.reshape(prod(grid), *rest))
    return None


@holding
def _grid_called(original: Function, self: Any, xi: Any, method: Any, nu: Any) -> Any:
    if not is_tracked(xi):
        return _at_constants(original, self, (xi, method), nu=nu)
    if (method or self.method) != "linear" or nu is not None:
        return NotImplemented
    places, values = plain(array(xi)).reshape(-1, len(self.grid)), array(self.values)
    with hidden(derivatives()):
        outside = original(self, places)  # refuses places where it must
    x, corners, shares = array(xi).reshape(places.shape), [], []
    for i, g in enumerate(map(np.asarray, self.grid)):
        if self.fill_value is not None and not np.all((places[:, i] >= g[0]) & (places[:, i] <= g[-1])):
            return NotImplemented
        low = np.clip(np.searchsorted(g, places[:, i], side="right") - 1, 0, g.size - 2)
        share = (x[:, i] - g[low]) / (g[low + 1] - g[low])
        corners.append((low, low + 1))
        shares.append((1 - share, share))
    total: Any = 0
    for choice in product((0, 1), repeat=len(corners)):
        weight = prod((s[c] for s, c in zip(shares, choice, strict=True)), start=np.ones(len(places)))
        corner = values[tuple(k[c] for k, c in zip(corners, choice, strict=True))]
        total = total + weight.reshape(-1, *[1] * (corner.ndim - 1)) * corner
    return total.reshape((*np.shape(xi)[:-1], *outside.shape[1:]))


def _interpn(original: Function, points: Any, values: Any, xi: Any, method: str, **options: Any) -> Any:
    from scipy.interpolate import RegularGridInterpolator

    if method in ("splinef2d", "pchip"):
        return NotImplemented
    return RegularGridInterpolator(points, values, method, **options)(xi)


# -- splines of surfaces -------------------------------------------------------------------------------


def _surface_made(original: Function, self: Any, x: Any, y: Any, z: Any, s: Any, **options: Any) -> Any:
    """Remember the values, and how those along an axis are interpolated."""
    if is_tracked([x, y, s, *options.values()]):
        return NotImplemented
    original(self, x, y, plain(z), s=s, **options)
    if s:
        raise TypeError(
            f"RectBivariateSpline: a value that is being differentiated leaves for NumPy (or C), where no "
            f"derivative follows it: with s={s!r}, the knots depend on the values; with s=0 they do not"
        )
    self.__dict__["_nodes"] = np.asarray(x, float), np.asarray(y, float), np.ravel(options["bbox"])
    keep(self, None, array(z))
    return None


@holding
def _surface_called(original: Function, self: Any, x: Any, y: Any, dx: int, dy: int, grid: bool) -> Any:
    from scipy.interpolate import UnivariateSpline

    made = recorded(self)
    if made is None:
        return NotImplemented
    last = np.ndim(plain(x)), np.ndim(plain(y))

    def weights(places: Any, axis: int, order: int) -> Any:
        """Return the derivatives at places of the interpolants of the vectors of a basis."""
        nodes, k = self._nodes[axis], self.degrees[axis]
        ends = self._nodes[2][2 * axis : 2 * axis + 2]

        def at(order: int) -> Any:
            if order > k:
                return np.zeros((inside.size, nodes.size))
            rows = [
                UnivariateSpline(nodes, e, bbox=ends, k=k, s=0)(inside, order) for e in np.eye(nodes.size)
            ]
            return np.stack(rows, axis=-1)

        knots = self.tck[axis]
        places = np.clip(array(places), knots[0], knots[-1]).reshape(-1)  # as FITPACK does
        inside = plain(places)
        total = at(order)
        if is_tracked(places):
            gap = (places - stop_gradient(places))[:, None]
            for j in range(1, k + 1):
                total = total + at(order + j) * gap**j / factorial(j)
        return total

    with hidden(derivatives()):
        found = original(self, plain(x), plain(y), dx, dy, grid)
    if grid:
        total = np.matmul(np.matmul(weights(x, 0, dx), made.values), weights(y, 1, dy).T)
        total = total.reshape(found.shape)
    else:
        x, y = np.broadcast_arrays(array(x), array(y)) if last[0] != last[1] else (x, y)
        total = (np.matmul(weights(x, 0, dx), made.values) * weights(y, 1, dy)).sum(-1).reshape(found.shape)
    return total - stop_gradient(total) + found  # the values are SciPy's


RULES: dict[str, dict[str, Any]] = {
    "scipy.interpolate": {
        "RegularGridInterpolator.__init__": _grid_made,
        "RegularGridInterpolator.__call__": _grid_called,
        "RegularGridInterpolator.values": Kept("values"),
        "interpn": _interpn,
        "RectBivariateSpline.__init__": _surface_made,
        "RectBivariateSpline.__call__": _surface_called,
        **{
            f"RectBivariateSpline.{name}": refused
            for name in ("integral", "get_coeffs", "get_residual", "partial_derivative")
        },
        "RBFInterpolator.__init__": linear("d"),
        "RBFInterpolator.__call__": _radial_called,
        "RBFInterpolator.d": Kept("d"),
        "LinearNDInterpolator.__init__": linear("values"),
        "LinearNDInterpolator.__call__": _at_constants,
        "LinearNDInterpolator.values": Kept("values"),
        "CloughTocher2DInterpolator.__init__": linear("values"),
        "CloughTocher2DInterpolator.__call__": _at_constants,
        "CloughTocher2DInterpolator.values": Kept("values"),
        "NearestNDInterpolator.__init__": linear("y"),
        "NearestNDInterpolator.__call__": _at_constants,
        "NearestNDInterpolator.values": Kept("values"),
        "griddata": _griddata,
    }
}
