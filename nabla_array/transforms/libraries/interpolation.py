"""`scipy.interpolate`: what is linear in the values, and a polynomial of the place where it is evaluated.

An interpolator that is made of tracked values remembers them, and how to make its like for others: of the
vectors of a basis, whose values at some places are the matrix of the linear map. Around a place, it is the
polynomial of Taylor, whose coefficients are its derivatives there.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, prod
from typing import Any, NamedTuple

import numpy as np

from ..custom import stop_gradient
from .operands import array, plain
from .tracking import holding, is_tracked

Function = Callable[..., Any]


class Recorded(NamedTuple):
    """The values of an interpolator, along the first axis, and what makes one of other values."""

    build: Callable[[np.ndarray], Any] | Any
    values: Any
    axis: int = 0


def recorded(x: Any) -> Recorded | None:
    found = getattr(x, "__dict__", {}).get("_recorded")
    return found if found is not None and is_tracked(found.values) else None


def keep(x: Any, *record: Any) -> None:
    """Let an interpolator remember values, and have coefficients that follow them, or refuse to leave."""
    made = x.__dict__["_recorded"] = Recorded(*record)
    within = x.__dict__.get("_delegate_to")  # since SciPy 1.18, another object holds the coefficients
    holder, name = (x, "_c") if within is None else (within, "c")
    if hasattr(holder, name):
        like = made.build(np.eye(made.values.shape[0])).c
        setattr(holder, name, np.tensordot(like, made.values, axes=(like.ndim - 1, 0)))


def _refusal(name: str) -> TypeError:
    return TypeError(
        f"{name}: a value that is being differentiated leaves for NumPy (or C), where no derivative follows "
        "it; what the interpolator gives when it is called is followed"
    )


@holding
def refused(original: Function, self: Any, **options: Any) -> Any:
    """Refuse, of an interpolator of tracked values."""
    if recorded(self) is None:
        return NotImplemented
    raise _refusal(original.__qualname__)


class Kept:
    """An attribute of an interpolator: SciPy's own, but while a derivative is taken by the values.

    Then it gives these as they are, or refuses: `moved` says whether their axis lies where it was.
    """

    def __init__(self, name: str, moved: bool = False, refuses: bool = False) -> None:
        self.name, self.moved, self.refuses = name, moved, refuses
        self.original: Any = None  # SciPy's property of this name, if it is one

    def __get__(self, x: Any, kind: type | None = None) -> Any:
        if x is None:
            return self
        made = recorded(x)
        if self.original is None and self.name not in x.__dict__:
            raise AttributeError(f"{type(x).__name__!r} object has no attribute {self.name!r}")
        if made is not None and self.refuses:
            raise _refusal(f"{type(x).__name__}.{self.name}")
        own = x.__dict__[self.name] if self.original is None else self.original.__get__(x, kind)
        if made is None:
            return own
        return np.moveaxis(made.values, 0, made.axis) if self.moved else made.values.reshape(own.shape)

    def __set__(self, x: Any, value: Any) -> None:
        x.__dict__[self.name] = value


def linear(value: str, axis: int | None = None) -> Function:
    """Return the rule of an `__init__` that is linear in the values, along an axis that may be given."""

    def rule(original: Function, self: Any, **options: Any) -> Any:
        values = options.pop(value)
        if is_tracked([*options.values()]) or values is None:
            return NotImplemented
        original(self, **{value: plain(values)}, **options)
        values = array(values)
        place = 0 if axis is None else options.get("axis", axis) % values.ndim

        def build(v: np.ndarray) -> Any:
            new = object.__new__(type(self))
            moved = {} if axis is None else {"axis": 0}
            original(new, **{value: v}, **{**options, **moved})
            return new

        keep(self, build, array(np.moveaxis(values, place, 0)), place)
        return None

    return rule


def _hermite(slopes: Callable[..., Any]) -> Function:
    """Return the rule of the `__init__` of an interpolator by cubic polynomials with certain slopes."""

    def rule(original: Function, self: Any, x: Any, y: Any, axis: int, **options: Any) -> Any:
        from scipy.interpolate import CubicHermiteSpline

        if is_tracked([x, *options.values()]):
            return NotImplemented
        original(self, x, plain(y), axis, **options)
        x, place = np.asarray(x), axis % array(y).ndim
        y = array(np.moveaxis(array(y), place, 0))
        steps = np.diff(x).reshape(-1, *[1] * (y.ndim - 1))
        method = {"method": options["method"]} if "method" in options else {}
        values = np.concatenate([y, slopes(steps, np.diff(y, axis=0) / steps, **method)])

        def build(v: np.ndarray) -> Any:
            return CubicHermiteSpline(x, v[: x.size], v[x.size :], extrapolate=self.extrapolate)

        keep(self, build, array(values), place)
        return None

    return rule


def _hermite_spline(
    original: Function, self: Any, x: Any, y: Any, dydx: Any, axis: int, extrapolate: Any
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

    keep(self, build, array(values), place)
    return None


def _pieces(original: Function, self: Any, c: Any, x: Any, extrapolate: Any, axis: int) -> Any:
    if is_tracked(x) or axis:
        return NotImplemented
    c = array(c)
    original(self, plain(c), x, extrapolate)
    first, rest = c.shape[:2], c.shape[2:]

    def build(v: np.ndarray) -> Any:
        new = object.__new__(type(self))
        original(new, v.reshape(*first, -1), x, extrapolate)
        return new

    keep(self, build, c.reshape(prod(first), *rest))
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


def called(derivative: Callable[..., Any], degree: Callable[[Any], int]) -> Function:
    """Return the rule of a `__call__`.

    ``derivative(original, self, x, k, **options)`` is the k-th derivative by the place.
    """

    @holding
    def rule(original: Function, self: Any, x: Any, **options: Any) -> Any:
        made = recorded(self)
        if made is None and not is_tracked(x):
            return NotImplemented
        if made is None:  # SciPy's own, which is called once for a batch of places
            source, evaluate, axis = self, type(self).__call__, getattr(self, "axis", 0)
            places = stop_gradient(array(x))
        else:
            values, axis = made.values, made.axis
            source, evaluate = made.build(np.eye(values.shape[0])), original
            rest = prod(values.shape[1:])
            places = np.asarray(plain(x))

        def at(k: int) -> Any:
            found = derivative(evaluate, source, places, k, **options)
            if made is None:
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


def _spline(original: Function, x: Any, y: Any, bc_type: Any, axis: int, **options: Any) -> Any:
    if is_tracked([x, *options.values()]) or not (bc_type is None or isinstance(bc_type, str)):
        return NotImplemented
    y = array(y)
    place = axis % y.ndim

    def build(v: np.ndarray, axis: int = 0) -> Any:
        return original(x, v, bc_type=bc_type, axis=axis, **options)

    found = build(plain(y), axis)
    keep(found, build, array(np.moveaxis(y, place, 0)), place)
    return found


_polynomial = called(_by_nu, lambda spline: spline.c.shape[0] - 1)
_through = called(_by_derivative, lambda polynomial: polynomial.n - 1)

RULES = {
    "scipy.interpolate": {
        "CubicSpline.__init__": linear("y", 0),
        "CubicHermiteSpline.__init__": _hermite_spline,
        "PchipInterpolator.__init__": _hermite(_monotone),
        "Akima1DInterpolator.__init__": _hermite(_akima),
        "PPoly.__init__": _pieces,
        "PPoly.__call__": _polynomial,
        "PPoly.integrate": refused,
        "BSpline.__init__": linear("c", 0),
        "BSpline.__call__": called(_by_nu, lambda spline: spline.k),
        "make_interp_spline": _spline,
        "interp1d.__init__": linear("y", -1),
        "interp1d.__call__": called(_straight, lambda line: 1),
        "interp1d.y": Kept("y", moved=True),
        "KroghInterpolator.__init__": linear("yi", 0),
        "KroghInterpolator.__call__": _through,
        "KroghInterpolator.yi": Kept("yi"),
        "KroghInterpolator.c": Kept("c", refuses=True),
        "BarycentricInterpolator.__init__": linear("yi", 0),
        "BarycentricInterpolator.__call__": _through,
        "BarycentricInterpolator.yi": Kept("yi"),
        **{
            f"{kind}Interpolator.{name}": refused
            for kind in ("Krogh", "Barycentric")
            for name in ("derivative", "derivatives")
        },
    }
}
