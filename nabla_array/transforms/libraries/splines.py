"""`scipy.interpolate`: FITPACK's splines of one variable, where their knots do not depend on the values."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any

import numpy as np

from ..custom import stop_gradient
from .interpolation import called, keep, refused
from .operands import array, mapped, plain
from .tracking import holding, is_tracked

Function = Callable[..., Any]


def _splrep(original: Function, x: Any, y: Any, k: int, s: Any) -> Any:
    """Of the spline through all points: of others, the knots depend on the values."""
    if s not in (None, 0) or is_tracked(x):
        return NotImplemented
    t, _, k = original(x, plain(y), k=k, s=s)

    def forward(v: np.ndarray) -> np.ndarray:
        flat = v.reshape(-1, v.shape[-1])
        return np.stack([original(x, row, k=k, s=s)[1] for row in flat]).reshape(*v.shape[:-1], -1)

    return t, mapped(forward, array(y)), k


def _splev(original: Function, x: Any, tck: Any, der: int, ext: int) -> Any:
    if not isinstance(tck, tuple) or is_tracked([tck[0]]) or (ext == 3 and is_tracked(x)):
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


# What FITPACK says of a spline through all points, and of one that is a single polynomial: both are linear in
# the values, as with these smoothing factors.
_LINEAR = {-1: 0.0, -2: 1e300}


def _smoothed(original: Function, self: Any, x: Any, y: Any, **options: Any) -> Any:
    if is_tracked([x, *options.values()]):
        return NotImplemented
    original(self, x, plain(y), **options)
    if "s" in options:
        if self._data[-1] not in _LINEAR:
            raise TypeError(
                "UnivariateSpline: a value that is being differentiated leaves for NumPy (or C), where no "
                f"derivative follows it: with s={options['s']!r}, the knots depend on the values; s=0 goes "
                "through all points, and LSQUnivariateSpline takes knots"
            )
        options["s"] = _LINEAR[self._data[-1]]

    def build(v: np.ndarray) -> Any:
        splines = [object.__new__(type(self)) for _ in v.T]
        for spline, column in zip(splines, v.T, strict=True):
            original(spline, x, column, **options)
        return splines

    keep(self, build, array(y))
    return None


def _degree(splines: Any) -> int:
    found: int = (splines[0] if isinstance(splines, list) else splines)._eval_args[2]
    return found


def _by_columns(original: Function, splines: Any, x: Any, k: int, nu: int, ext: Any) -> Any:
    """Differentiate a spline, or each of a list, along the last axis."""
    if nu + k > _degree(splines):
        return np.zeros((*np.shape(x), *([len(splines)] if isinstance(splines, list) else [])))
    if isinstance(splines, list):
        return np.stack([original(s, x, nu + k, ext) for s in splines], axis=-1)
    return original(splines, x, nu + k, ext)


_at = called(_by_columns, _degree)


@holding
def _spline_called(original: Function, self: Any, x: Any, nu: int, ext: Any) -> Any:
    if is_tracked(x) and (self.ext if ext is None else ext) in (3, "const"):  # whose derivatives are others
        return NotImplemented
    return _at(original, self, x, nu=nu, ext=ext)


_KINDS = ("UnivariateSpline", "InterpolatedUnivariateSpline", "LSQUnivariateSpline")
_METHODS = (
    *("derivative", "derivatives", "antiderivative", "integral", "roots"),
    *("get_coeffs", "get_residual", "set_smoothing_factor"),
)
RULES: dict[str, dict[str, Function]] = {
    "scipy.interpolate": {
        "splrep": _splrep,
        "splev": _splev,
        **{f"{kind}.__init__": _smoothed for kind in _KINDS},
        "UnivariateSpline.__call__": _spline_called,
        **{f"UnivariateSpline.{name}": refused for name in _METHODS},
    }
}
