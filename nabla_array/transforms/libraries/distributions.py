"""Distributions of `scipy.stats`: densities, distribution functions and quantiles, by places and parameters.

SciPy's own methods give the values. The derivative of a density is that of the distribution's formula for it,
which computes with arrays. The slope of a distribution function is the density, and that of a quantile is its
inverse. By shape parameters, the distribution's formulas for these are differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..custom import custom_jvp, stop_gradient
from .operands import array
from .places import METHODS
from .tracking import is_tracked

Rule = Callable[..., Any]
_QUANTILES = ("ppf", "isf")


def _constants(xs: Sequence[Any]) -> list[Any]:
    return [stop_gradient(x) if is_tracked(x) else x for x in xs]


def _with_slope_of(formula: Callable[[Any], Any], at: Any, own: Any, inside: Any, centre: Any) -> Any:
    """Return the value `own` with the derivative of a formula, which counts inside; nan has nan.

    Elsewhere, and where the value is infinite, the derivative is 0: the formula is taken at `centre`.
    """
    inside, unknown = inside & np.isfinite(own), np.isnan(own)
    found = np.where(inside, formula(np.where(inside, at, centre)), 0.0)
    found = found + np.where(unknown, at, 0.0) * np.where(unknown, np.nan, 0.0)
    return found - stop_gradient(found) + own


def _is_inside(name: str, own: Any) -> Any:
    """Say where a value is none of those at the ends."""
    if name.startswith("log"):
        return own < 0 if name[3:] in ("cdf", "sf") else own == own
    return (own > 0) & (own < 1) if name in ("cdf", "sf") else own > 0


class _Standard:
    """A distribution without location and scale, with its shape parameters."""

    def __init__(self, distribution: Any, shapes: Sequence[Any]) -> None:
        self.distribution, self.shapes = distribution, shapes

    def has(self, name: str) -> bool:
        """Say whether the distribution has a formula of its own for this."""
        own, base = (getattr(c, name) for c in (type(self.distribution), _base_of(self.distribution)))
        return own is not base

    def formula(self, name: str, y: Any) -> Any:
        return getattr(self.distribution, f"_{name}")(y, *self.shapes)

    def log_density(self, y: Any, density: str = "pdf") -> Any:
        is_own = self.has(f"_log{density}")
        return self.formula(f"log{density}", y) if is_own else np.log(self.formula(density, y))

    def value(self, name: str, y: Any) -> Any:
        """Return SciPy's value."""
        return array(getattr(self.distribution, name)(y, *_constants(self.shapes)))

    def median(self) -> Any:
        return self.value("ppf", 0.5)

    def of(self, name: str) -> Callable[[Any], Any]:
        """Return a function of the place, which is not to be differentiated by shape parameters."""

        @custom_jvp
        def found(y: Any) -> Any:
            return self.value(name, y)

        @found.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            value = found(*primals)
            place = value if name in _QUANTILES else primals[0]
            slope = self.log_density(place)
            slope = -slope if name in _QUANTILES else slope - value if name.startswith("log") else slope
            sign = -1 if name in ("sf", "logsf", "isf") else 1
            return value, sign * np.exp(slope) * tangents[0]

        return found


def _base_of(distribution: Any) -> Any:
    """Return SciPy's class of all distributions of a kind."""
    names = ("rv_continuous", "rv_discrete")
    return next(c for c in type(distribution).__mro__ if c.__name__ in names)


def _of_a_continuous(name: str) -> Rule:
    """Return the rule of a method of a continuous distribution."""

    def rule(original: Any, self: Any, args: Any = (), **options: Any) -> Any:
        at = array(options.pop("q" if name in _QUANTILES else "x"))
        shapes, loc, scale = self._parse_args(*args, **options)
        standard = _Standard(self, shapes)
        given = _constants([at, *shapes, loc, scale])
        own = array(getattr(self, name)(*given[:-2], loc=given[-2], scale=given[-1]))
        of = partial(standard.formula, name) if is_tracked([*shapes]) else standard.of(name)
        if name in _QUANTILES:
            q = given[0]
            return _with_slope_of(lambda q: of(q) * scale + loc, at, own, (q > 0) & (q < 1), 0.5)
        if name == "pdf":
            formula: Any = lambda y: np.exp(standard.log_density(y)) / scale  # noqa: E731
        elif name == "logpdf":
            formula = lambda y: standard.log_density(y) - np.log(scale)  # noqa: E731
        else:
            formula = of
        return _with_slope_of(formula, (at - loc) / scale, own, _is_inside(name, own), standard.median())

    return rule


def _of_a_discrete(name: str) -> Rule:
    """Return the rule of a method of a discrete distribution: by shape parameters, since places are whole."""

    def rule(original: Any, self: Any, args: Any = (), **options: Any) -> Any:
        at = array(options.pop("q" if name in _QUANTILES else "k"))
        shapes, loc, _ = self._parse_args(*args, **options)
        at, loc = _constants([at, loc])
        own = array(getattr(self, name)(at, *_constants(shapes), loc=loc))
        if name in _QUANTILES or not is_tracked([*shapes]):
            return own
        standard = _Standard(self, shapes)
        if name.endswith("pmf"):
            log = lambda k: standard.log_density(k, "pmf")  # noqa: E731
            formula: Any = log if name == "logpmf" else lambda k: np.exp(log(k))
        else:
            formula = lambda k: standard.formula(name, np.floor(k))  # noqa: E731
        return _with_slope_of(formula, at - loc, own, _is_inside(name, own), standard.median())

    return rule


_KINDS = {"rv_continuous": _of_a_continuous, "rv_discrete": _of_a_discrete}
RULES: dict[str, dict[str, Rule]] = {
    "scipy.stats": {f"{kind}.{name}": _KINDS[kind](name) for kind, name in METHODS}
}
