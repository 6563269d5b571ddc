"""Polynomials as arrays of coefficients, the highest power first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..chapters.data_types import astype
from ..chapters.elementwise import sqrt
from ..chapters.filling import ones, zeros
from ..chapters.joining import concat, stack
from ..chapters.linalg import eigvals, inv
from ..chapters.manipulation import reshape
from ..chapters.statistical import sum as sum_
from ..core.array import Array
from ..core.promotion import as_array, broadcast_to, promote
from ..core.promotion import full as filled
from .constructing import vander
from .described import eager_numpys, numpys
from .more_linalg import lstsq
from .numbers import convolve, inexact

if TYPE_CHECKING:
    from ..core.types import ArrayLike

_F64 = np.dtype(np.float64)


def _plain(p: Any) -> Any:
    """Return the coefficients of a `poly1d`, and anything else as it is."""
    return p.coeffs if isinstance(p, np.poly1d) else p


def _like(*given: Any) -> Any:
    """Return what makes a result: a `poly1d` where any operand is one."""
    if any(isinstance(g, np.poly1d) for g in given):
        return lambda x: np.poly1d(np.asarray(x))
    return lambda x: x


def _vector(function: str, p: Any) -> Array:
    x = as_array(function, _plain(p))
    return x if x.ndim else reshape(x, (1,))


@numpys
def poly(seq_of_zeros: ArrayLike) -> Array:
    """Return the coefficients of the polynomial with the given roots, or of a matrix's characteristic one.

    >>> xp.poly([1.0, 2.0])
    array([ 1., -3.,  2.])
    """
    x = _vector("poly", seq_of_zeros)
    if x.ndim == 2 and x.shape[0] == x.shape[1] != 0:
        x = eigvals(x)
    elif x.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    x = astype(x, np.mintypecode(x.dtype.char))
    out = ones((1,), dtype=x.dtype)
    for i in range(x.size):
        out = convolve(out, stack([ones((1,), dtype=x.dtype)[0], -x[i]]))
    if not x.size:
        return ones(())
    if out.dtype.kind == "c":
        known = x._value()
        if np.array_equal(np.sort(known), np.sort(known.conjugate())):
            return out.real.copy()
    return out


@eager_numpys()
def roots(p: ArrayLike) -> Array:
    """Return the roots of a polynomial.

    >>> xp.roots([1.0, -3.0, 2.0])
    array([2., 1.])
    """
    x = _vector("roots", p)
    if x.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    places = np.flatnonzero(x._value())
    if not places.size:
        return zeros((0,))
    trailing = x.size - int(places[-1]) - 1
    x = inexact("roots", x[int(places[0]) : int(places[-1]) + 1])
    n = x.size
    if n > 1:
        companion = filled((n - 1, n - 1), 0, x.dtype)
        companion[1:, :-1] = np.eye(n - 2)
        companion[0] = -x[1:] / x[0]
        found = eigvals(companion)
        if x.dtype.kind == "f" and not found._value().imag.any():
            found = found.real
    else:
        found = zeros((0,))
    return concat([found, zeros((trailing,), dtype=found.dtype)]) if trailing else found


@overload
def polyval(p: ArrayLike, x: np.poly1d) -> np.poly1d: ...
@overload
def polyval(p: ArrayLike, x: ArrayLike) -> Array: ...
@numpys
def polyval(p: ArrayLike, x: ArrayLike) -> Any:
    """Return the values of a polynomial.

    >>> xp.polyval([3, 0, 1], 5)
    np.int64(76)
    """
    c = as_array("polyval", _plain(p))
    if not c.ndim:
        raise TypeError("polyval: coefficients without axes; a sequence of them would work")
    if isinstance(x, np.poly1d):
        out: Any = np.poly1d([0])
        for a in c._value():
            out = out * x + a
        return out
    y = as_array("polyval", x)
    total: Any = zeros(y.shape, dtype=y.dtype)
    for i in range(c.shape[0]):
        total = total * y + c[i]
    return total


def _aligned(function: str, a: Any, b: Any) -> list[Array]:
    xs = promote(function, _vector(function, a), _vector(function, b))
    n = max(x.size for x in xs)
    return [x if x.size == n else concat([filled((n - x.size,), 0, x.dtype), x]) for x in xs]


@overload
def polyadd(a1: np.poly1d, a2: ArrayLike) -> np.poly1d: ...
@overload
def polyadd(a1: ArrayLike, a2: np.poly1d) -> np.poly1d: ...
@overload
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array: ...
@eager_numpys()
def polyadd(a1: Any, a2: Any) -> Any:
    """Return the sum of two polynomials.

    >>> xp.polyadd([1, 2], [1, 0, 0])
    array([1, 1, 2])
    """
    x, y = _aligned("polyadd", a1, a2)
    return _like(a1, a2)(x + y)


@overload
def polysub(a1: np.poly1d, a2: ArrayLike) -> np.poly1d: ...
@overload
def polysub(a1: ArrayLike, a2: np.poly1d) -> np.poly1d: ...
@overload
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array: ...
@eager_numpys()
def polysub(a1: Any, a2: Any) -> Any:
    """Return the difference of two polynomials.

    >>> xp.polysub([1, 2], [1, 0, 0])
    array([-1,  1,  2])
    """
    x, y = _aligned("polysub", a1, a2)
    return _like(a1, a2)(x - y)


@overload
def polymul(a1: np.poly1d, a2: ArrayLike) -> np.poly1d: ...
@overload
def polymul(a1: ArrayLike, a2: np.poly1d) -> np.poly1d: ...
@overload
def polymul(a1: ArrayLike, a2: ArrayLike) -> Array: ...
@numpys
def polymul(a1: Any, a2: Any) -> Any:
    """Return the product of two polynomials.

    >>> xp.polymul([1, 2], [1, 0])
    array([1, 2, 0])
    """
    xs = [_leading(_vector("polymul", a)) for a in (a1, a2)]
    return _like(a1, a2)(convolve(*xs))


def _leading(x: Array) -> Array:
    """Leave out zeros in front."""
    places = np.flatnonzero(x._value())
    return x[int(places[0]) :] if places.size else filled((1,), 0, x.dtype)


@overload
def polydiv(u: np.poly1d, v: ArrayLike) -> tuple[np.poly1d, np.poly1d]: ...
@overload
def polydiv(u: ArrayLike, v: np.poly1d) -> tuple[np.poly1d, np.poly1d]: ...
@overload
def polydiv(u: ArrayLike, v: ArrayLike) -> tuple[Array, Array]: ...
@numpys
def polydiv(u: ArrayLike, v: ArrayLike) -> Any:
    """Return quotient and remainder of two polynomials.

    >>> xp.polydiv([3.0, 5.0, 2.0], [2.0, 1.0])
    (array([1.5 , 1.75]), array([0.25]))
    """
    x, y = [inexact("polydiv", z) for z in promote("polydiv", _vector("polydiv", u), _vector("polydiv", v))]
    m, n = x.size - 1, y.size - 1
    steps = max(m - n + 1, 1)
    scale = 1.0 / y[0]
    quotient = []
    rest = x.copy()
    for k in range(m - n + 1):
        d = scale * rest[k]
        quotient.append(d)
        rest[k : k + n + 1] = rest[k : k + n + 1] - d * y
    q = stack(quotient) if quotient else filled((steps,), 0, x.dtype)
    known = rest._value()
    first = 0
    while np.allclose(known[first], 0, rtol=1e-14) and first < known.size - 1:
        first += 1
    make = _like(u, v)
    return make(q), make(rest[first:])


@overload
def polyder(p: np.poly1d, m: int = 1) -> np.poly1d: ...
@overload
def polyder(p: ArrayLike, m: int = 1) -> Array: ...
@numpys
def polyder(p: ArrayLike, m: int = 1) -> Any:
    """Return the derivative of a polynomial.

    >>> xp.polyder([1, 1, 1])
    array([2, 1])
    """
    if int(m) < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    x = _vector("polyder", p)
    for _ in range(int(m)):
        x = x[:-1] * np.arange(x.size - 1, 0, -1)
    return _like(p)(x)


@overload
def polyint(p: np.poly1d, m: int = 1, k: ArrayLike | None = None) -> np.poly1d: ...
@overload
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array: ...
@numpys
def polyint(p: ArrayLike, m: int = 1, k: Any = None) -> Any:
    """Return an antiderivative of a polynomial.

    >>> xp.polyint([3.0, 2.0, 1.0])
    array([1., 1., 1., 0.])
    """
    if int(m) < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = zeros((m,)) if k is None else _vector("polyint", k)
    if constants.size == 1 and m > 1:
        constants = broadcast_to(constants, (m,))
    if constants.size < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    x = _vector("polyint", p)
    for i in range(int(m)):
        x = concat([x / np.arange(x.size, 0, -1), reshape(constants[i], (1,))])
    return _like(p)(x)


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: Literal[False] = False,
    w: ArrayLike | None = None,
    cov: Literal[False] = False,
) -> Array: ...
@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: Literal[False] = False,
    w: ArrayLike | None = None,
    *,
    cov: Literal[True, "unscaled"],
) -> tuple[Array, Array]: ...
@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    *,
    full: Literal[True],
    w: ArrayLike | None = None,
    cov: bool | Literal["unscaled"] = False,
) -> tuple[Array, Array, int, Array, float]: ...
@eager_numpys()
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: Any,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Any:
    """Return the coefficients of the polynomial that fits points best, by least squares.

    >>> xp.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).round(12)
    array([2., 1.])
    """
    order = int(deg) + 1
    points = inexact("polyfit", x) + 0.0
    values = inexact("polyfit", y) + 0.0
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if points.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if not points.size:
        raise TypeError("expected non-empty vector for x")
    if values.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if points.shape[0] != values.shape[0]:
        raise TypeError("expected x and y to have same length")
    cut = points.size * np.finfo(points.dtype).eps if rcond is None else rcond
    left, right = vander(points, order), values
    if w is not None:
        weight = as_array("polyfit", w) + 0.0
        if weight.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if weight.shape[0] != values.shape[0]:
            raise TypeError("expected w and y to have the same length")
        left = left * reshape(weight, (-1, 1))
        right = right * (weight if right.ndim == 1 else reshape(weight, (-1, 1)))
    scale = sqrt(sum_(left * left, 0))
    c, residues, rank, singular = lstsq(left / scale, right, cut)
    c = (c.T / scale).T
    if full:
        return c, residues, rank, singular, cut
    if not cov:
        return c
    base = inv(left.T @ left)
    if cov == "unscaled":
        factor: Any = 1
    elif points.size <= order:
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    else:
        factor = residues / (points.size - order)
    return c, base * factor if values.ndim == 1 else reshape(base, (*base.shape, 1)) * factor
