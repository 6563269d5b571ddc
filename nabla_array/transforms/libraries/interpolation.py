"""`scipy.interpolate`: what is linear in the values, and a polynomial of the place where it is evaluated.

An interpolator that is made of tracked values remembers them, and how to make its like for others: of the
vectors of a basis, whose values at some places are the matrix of the linear map. Around a place, it is the
polynomial of Taylor, whose coefficients are its derivatives there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import product
from math import factorial, prod
from typing import Any, NamedTuple

import numpy as np

from ..custom import stop_gradient
from .operands import array, mapped, plain
from .tracking import is_tracked

Function = Callable[..., Any]


class _Recorded(NamedTuple):
    """The values of an interpolator, along the first axis, and what makes one of other values."""

    build: Callable[[np.ndarray], Any]
    values: Any
    axis: int = 0


def _recorded(x: Any) -> _Recorded | None:
    found = getattr(x, "__dict__", {}).get("_recorded")
    return found if found is not None and is_tracked(found.values) else None


def _keep(x: Any, *record: Any) -> None:
    """Let an interpolator remember values, and have coefficients that follow them, or refuse to leave."""
    recorded = x.__dict__["_recorded"] = _Recorded(*record)
    if hasattr(x, "_c"):
        like = recorded.build(np.eye(recorded.values.shape[0]))._c
        x._c = np.tensordot(like, recorded.values, axes=(like.ndim - 1, 0))


def _refused(original: Function, self: Any, *args: Any, **kwargs: Any) -> Any:
    if _recorded(self) is None:
        return NotImplemented
    raise TypeError(
        f"{original.__qualname__}: a value that is being differentiated leaves for NumPy (or C), "
        "where no derivative follows it; what it gives when it is called is followed"
    )


def _made(value: str, axis: int | None = None) -> Callable[..., Any]:
    """Return the rule of an `__init__` that is linear in the values, along an axis that may be given."""

    def rule(original: Function, self: Any, *args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(original).bind(self, *args, **kwargs)
        options = given.arguments
        values = options[value]
        if is_tracked([v for k, v in options.items() if k != value]):
            return NotImplemented
        original(**{**options, value: plain(values)})
        place = 0 if axis is None else (options.get("axis", axis) % array(values).ndim)

        def build(v: np.ndarray) -> Any:
            new = object.__new__(type(self))
            moved = {} if axis is None else {"axis": 0}
            original(**{**options, "self": new, value: v, **moved})
            return new

        _keep(self, build, array(np.moveaxis(array(values), place, 0)), place)
        return None

    return rule


def _hermite(slopes: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of the `__init__` of an interpolator by cubic polynomials with certain slopes."""

    def rule(original: Function, self: Any, x: Any, y: Any, axis: int = 0, **options: Any) -> Any:
        from scipy.interpolate import CubicHermiteSpline

        if is_tracked(x):
            return NotImplemented
        original(self, x, plain(y), axis, **options)
        x, place = np.asarray(x), axis % array(y).ndim
        y = array(np.moveaxis(array(y), place, 0))
        steps = np.diff(x).reshape(-1, *[1] * (y.ndim - 1))
        method = {"method": options["method"]} if "method" in options else {}
        values = np.concatenate([y, slopes(steps, np.diff(y, axis=0) / steps, **method)])

        def build(v: np.ndarray) -> Any:
            return CubicHermiteSpline(x, v[: x.size], v[x.size :], extrapolate=self.extrapolate)

        _keep(self, build, array(values), place)
        return None

    return rule


def _hermite_spline(
    original: Function, self: Any, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None
) -> Any:
    if is_tracked(x):
        return NotImplemented
    original(self, x, plain(y), plain(dydx), axis, extrapolate)
    n, place = len(x), axis % array(y).ndim
    values = np.concatenate([np.moveaxis(array(v), place, 0) for v in (y, dydx)])

    def build(v: np.ndarray) -> Any:
        new = object.__new__(type(self))
        original(new, x, v[:n], v[n:], 0, extrapolate)
        return new

    _keep(self, build, array(values), place)
    return None


def _pieces(original: Function, self: Any, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Any:
    if is_tracked(x) or axis:
        return NotImplemented
    c = array(c)
    original(self, plain(c), x, extrapolate)
    first, rest = c.shape[:2], c.shape[2:]

    def build(v: np.ndarray) -> Any:
        new = object.__new__(type(self))
        original(new, v.reshape(*first, -1), x, extrapolate)
        return new

    _keep(self, build, c.reshape(prod(first), *rest))
    return None


def _monotone(h: Any, m: Any) -> Any:
    """Return the slopes of Fritsch and Butland, by the steps and the slopes between the points."""
    if m.shape[0] == 1:
        return np.concatenate([m, m])
    first, second = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    flat = m[1:] * m[:-1] <= 0
    safe = [np.where(flat, 1.0, part) for part in (m[:-1], m[1:])]
    inner = np.where(flat, 0.0, (first + second) / (first / safe[0] + second / safe[1]))
    return np.concatenate([_end(h[0], h[1], m[0], m[1])[None], inner, _end(h[-1], h[-2], m[-1], m[-2])[None]])


def _end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = (np.sign(m0) != np.sign(m1)) & (np.abs(d) > 3 * np.abs(m0))
    return np.where(np.sign(d) != np.sign(m0), 0.0, np.where(steep, 3 * m0, d))


def _akima(h: Any, m: Any, method: str = "akima") -> Any:
    """Return the slopes of Akima, by the slopes between the points."""
    if m.shape[0] == 1:
        return np.concatenate([m, m])
    before = [2 * m[:1] - m[1:2]]
    before.insert(0, 2 * before[0] - m[:1])
    after = [2 * m[-1:] - m[-2:-1]]
    after.append(2 * after[0] - m[-1:])
    m = np.concatenate([*before, m, *after])
    turns = np.abs(np.diff(m, axis=0))
    one, two = turns[2:], turns[:-2]
    if method == "makima":
        sums = np.abs(m[1:] + m[:-1])
        one, two = one + 0.5 * sums[2:], two + 0.5 * sums[:-2]
    both = one + two
    turning = both > 1e-9 * plain(both).max()
    share = two / np.where(turning, both, 1.0)
    return np.where(turning, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))


# -- evaluation ----------------------------------------------------------------------------------------


def _called(derivative: Callable[..., Any], degree: Callable[[Any], int]) -> Callable[..., Any]:
    """Return the rule of a `__call__`.

    ``derivative(original, self, x, k, *args)`` is the k-th derivative by the place.
    """

    def rule(original: Function, self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        recorded = _recorded(self)
        if recorded is None and not is_tracked(x):
            return NotImplemented
        places, source = np.asarray(plain(x)), self
        if recorded is not None:
            values, axis = recorded.values, recorded.axis
            source = recorded.build(np.eye(values.shape[0]))
            rest = prod(values.shape[1:])
        else:
            axis = getattr(self, "axis", 0)

        def at(k: int) -> Any:
            found = derivative(original, source, places, k, *args, **kwargs)
            if recorded is None:
                return np.moveaxis(found, range(axis, axis + places.ndim), range(places.ndim))
            matrix = np.asarray(found).reshape(-1, values.shape[0])
            return (matrix @ values.reshape(-1, rest)).reshape((*places.shape, *values.shape[1:]))

        total = at(0)
        if is_tracked(x):
            gap = array(x) - stop_gradient(array(x))
            gap = gap.reshape((*places.shape, *[1] * (total.ndim - places.ndim)))
            for k in range(1, degree(source) + 1):
                total = total + at(k) * gap**k / factorial(k)
        return np.moveaxis(total, range(places.ndim), range(axis, axis + places.ndim))

    return rule


def _by_nu(original: Function, self: Any, x: Any, k: int, nu: int = 0, extrapolate: Any = None) -> Any:
    return original(self, x, nu + k, extrapolate)


def _by_derivative(original: Function, self: Any, x: Any, k: int) -> Any:
    return self.derivative(x, k) if k else original(self, x)


def _straight(original: Function, self: Any, x: Any, k: int) -> Any:
    """Differentiate between the points on both sides, where a straight line connects them."""
    if k == 0:
        return original(self, x)
    if self._kind != "linear":
        raise NotImplementedError(
            f"scipy.interpolate.interp1d: kind={self._kind!r} has no derivative by the place: "
            "make_interp_spline has one"
        )
    high = np.clip(np.searchsorted(self.x, x), 1, self.x.size - 1)
    ends = self.x[high - 1], self.x[high]
    below, above = original(self, ends[0]), original(self, ends[1])
    length = np.expand_dims(ends[1] - ends[0], tuple(range(np.ndim(x), below.ndim)))
    return (above - below) / length


def _matrix_only(original: Function, self: Any, *args: Any, **kwargs: Any) -> Any:
    """Of values at many points: at places that are constants."""
    recorded = _recorded(self)
    if recorded is None or is_tracked([*args, *kwargs.values()]):
        return NotImplemented
    matrix = original(recorded.build(np.eye(recorded.values.shape[0])), *args, **kwargs)
    found = _weighted(matrix, recorded.values)
    return found - stop_gradient(found) + original(self, *args, **kwargs)  # the values are SciPy's


def _weighted(matrix: Any, values: Any) -> Any:
    """Return sums of the values; what is nan for all values stays so."""
    unknown = np.isnan(matrix).any(axis=-1)
    weights = np.where(unknown[..., None], 0.0, matrix)
    found = np.tensordot(weights, values, axes=(weights.ndim - 1, 0))
    return np.where(unknown.reshape((*unknown.shape, *[1] * (values.ndim - 1))), np.nan, found)


def _griddata(
    original: Function, points: Any, values: Any, xi: Any, method: str = "linear", *args: Any, **kwargs: Any
) -> Any:
    if is_tracked([points, xi, *args, *kwargs.values()]) or method == "cubic":
        return NotImplemented
    v = array(values)
    return _weighted(original(points, np.eye(v.shape[0]), xi, method, *args, **kwargs), v)


# -- grids ---------------------------------------------------------------------------------------------


def _grid_made(original: Function, self: Any, points: Any, values: Any, *args: Any, **kwargs: Any) -> Any:
    if is_tracked([points, *args, *kwargs.values()]):
        return NotImplemented
    v = array(values)
    original(self, points, plain(v), *args, **kwargs)
    if self.method == "pchip":
        return NotImplemented
    grid, rest = v.shape[: len(points)], v.shape[len(points) :]

    def build(basis: np.ndarray) -> Any:
        new = object.__new__(type(self))
        original(new, points, basis.reshape(*grid, -1), *args, **kwargs)
        return new

    _keep(self, build, v.reshape(prod(grid), *rest))
    return None


def _grid_called(original: Function, self: Any, xi: Any, method: Any = None, **kwargs: Any) -> Any:
    recorded = _recorded(self)
    if not is_tracked(xi):
        return _matrix_only(original, self, xi, method, **kwargs)
    if (method or self.method) != "linear" or kwargs:
        return NotImplemented
    places = plain(array(xi)).reshape(-1, len(self.grid))
    outside = original(self, places)  # refuses places where it must
    values = array(self.values) if recorded is None else recorded.values.reshape(self.values.shape)
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


def _interpn(
    original: Function, points: Any, values: Any, xi: Any, method: str = "linear", *args: Any, **kwargs: Any
) -> Any:
    from scipy.interpolate import RegularGridInterpolator

    if method in ("splinef2d", "pchip"):
        return NotImplemented
    return RegularGridInterpolator(points, values, method, *args, **kwargs)(xi)


# -- splines -------------------------------------------------------------------------------------------


def _spline(
    original: Function,
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    *args: Any,
) -> Any:
    if is_tracked([x, t]) or not (bc_type is None or isinstance(bc_type, str)):
        return NotImplemented
    y = array(y)
    found = original(x, plain(y), k, t, bc_type, axis, *args)
    place = axis % y.ndim
    _keep(found, lambda v: original(x, v, k, t, bc_type, 0, *args), array(np.moveaxis(y, place, 0)), place)
    return found


def _splrep(original: Function, x: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
    """Of the spline through all points: of others, the knots depend on the values."""
    if args or kwargs.keys() - {"s", "k"} or kwargs.get("s") not in (None, 0) or is_tracked(x):
        return NotImplemented
    t, _, k = original(x, plain(y), **kwargs)

    def forward(v: np.ndarray) -> np.ndarray:
        flat = v.reshape(-1, v.shape[-1])
        return np.stack([original(x, row, **kwargs)[1] for row in flat]).reshape(*v.shape[:-1], -1)

    return t, mapped(forward, array(y)), k


def _splev(original: Function, x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    if not isinstance(tck, tuple) or is_tracked([tck[0]]):
        return NotImplemented
    t, c, k = tck
    places = np.asarray(plain(x))

    def at(order: int) -> Any:
        if der + order > k:
            return 0.0

        def forward(v: np.ndarray) -> np.ndarray:
            rows = v.reshape(-1, v.shape[-1])
            found = np.stack([np.ravel(original(places, (t, row, k), der + order, ext)) for row in rows])
            return found.reshape(*v.shape[:-1], -1)

        found = mapped(forward, array(c)) if is_tracked(c) else forward(np.asarray(c))
        return found.reshape(places.shape)

    total = at(0)
    if is_tracked(x):
        gap = array(x) - stop_gradient(array(x))
        for n in range(1, k + 1):
            total = total + at(n) * gap**n / factorial(n)
    return total


_polynomial = _called(_by_nu, lambda spline: spline.c.shape[0] - 1)
_through = _called(_by_derivative, lambda polynomial: polynomial.n - 1)

RULES = {
    "CubicSpline.__init__": _made("y", 0),
    "CubicHermiteSpline.__init__": _hermite_spline,
    "PchipInterpolator.__init__": _hermite(_monotone),
    "Akima1DInterpolator.__init__": _hermite(_akima),
    "PPoly.__init__": _pieces,
    "PPoly.__call__": _polynomial,
    "BSpline.__init__": _made("c", 0),
    "BSpline.__call__": _called(_by_nu, lambda spline: spline.k),
    "make_interp_spline": _spline,
    "interp1d.__init__": _made("y", -1),
    "interp1d.__call__": _called(_straight, lambda line: 1),
    "KroghInterpolator.__init__": _made("yi", 0),
    "KroghInterpolator.__call__": _through,
    "BarycentricInterpolator.__init__": _made("yi", 0),
    "BarycentricInterpolator.__call__": _through,
    **dict.fromkeys(("PPoly.integrate", "KroghInterpolator.derivative"), _refused),
    "KroghInterpolator.derivatives": _refused,
    **dict.fromkeys(("BarycentricInterpolator.derivative", "BarycentricInterpolator.derivatives"), _refused),
    "RegularGridInterpolator.__init__": _grid_made,
    "RegularGridInterpolator.__call__": _grid_called,
    "interpn": _interpn,
    "griddata": _griddata,
    "RBFInterpolator.__init__": _made("d"),
    "RBFInterpolator.__call__": _matrix_only,
    "LinearNDInterpolator.__init__": _made("values"),
    "LinearNDInterpolator.__call__": _matrix_only,
    "splrep": _splrep,
    "splev": _splev,
}
