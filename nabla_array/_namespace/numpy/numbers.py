"""Elementwise functions that are no ufuncs, comparisons of whole arrays, and calculus on samples."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..._lazy.cpu.faults import unheard
from ..._lazy.cpu.sharing import by_elements
from ..._lazy.native import compiled
from ..._lazy.ops.contraction import correlate as correlate_p
from ..._lazy.ops.elementwise import complex_
from ..._lazy.ops.ordering import SOUGHT
from ..._lazy.rules.concretization import differentiating
from ..chapters.elementwise import (
    abs,
    atan2,
    conj,
    equal,
    exp,
    imag,
    isfinite,
    isnan,
    logical_and,
    logical_or,
    minimum,
    multiply,
    real,
    remainder,
    sin,
    sqrt,
    subtract,
    trunc,
)
from ..chapters.joining import concat
from ..chapters.manipulation import broadcast_to, flip, moveaxis, reshape
from ..chapters.searching import pick, searchsorted
from ..chapters.sorting import argsort
from ..chapters.utility import diff
from ..core.array import Array, apply, as_scalar, current, zero_d
from ..core.outputs import deliver
from ..core.promotion import as_array, astype, broadcast_shapes, full, listed, normalize_axis, promote
from ..dispatch import fastpath
from .described import eager_numpys, numpys, of_family
from .joining import along, flat

if TYPE_CHECKING:
    from ..core.types import ArrayLike, Axis, Out

_F64 = np.dtype(np.float64)


def inexact(function: str, x: Any) -> Array:
    """Return an array of floats or complex numbers."""
    y = as_array(function, x)
    return y if y.dtype.kind in "fc" else astype(y, _F64)


# -- parts and rounding ------------------------------------------------------------------------------


@eager_numpys()
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Return the angles of complex numbers.

    >>> xp.angle([1.0, 1j], deg=True)
    array([ 0., 90.])
    """
    x = as_array("angle", z)
    y = atan2(x.imag, x.real) if x.dtype.kind == "c" else atan2(0, x)
    return multiply(y, 180 / math.pi) if deg else y


@numpys
def fix(x: ArrayLike, out: Out = None) -> Array:
    """Round towards zero.

    >>> xp.fix([2.5, -2.5])
    array([ 2., -2.])
    """
    return deliver("fix", out, trunc(x))


@eager_numpys()
def sinc(x: ArrayLike) -> Array:
    """Return ``sin(pi x) / (pi x)``, and 1 at 0.

    >>> xp.sinc([0.0, 1.0]).round(12)
    array([1., 0.])
    """
    y = multiply(inexact("sinc", x), math.pi)
    zero = equal(y, 0)
    far, near = pick(zero, y.dtype.type(1), y), pick(zero, y, y.dtype.type(0))
    # The series is 1 at 0, and has the derivatives there that the quotient has not.
    series = 1 - near * near / 6 * (1 - near * near / 20 * (1 - near * near / 42))
    return pick(zero, series, sin(far) / far)


# Chebyshev coefficients of Cephes (S. Moshier), which NumPy and SciPy use too.
_I0_SMALL = (
    *(-4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16),
    *(1.71539128555513303061e-15, -1.16853328779934516808e-14, 7.67618549860493561688e-14),
    *(-4.85644678311192946090e-13, 2.95505266312963983461e-12, -1.72682629144155570723e-11),
    *(9.67580903537323691224e-11, -5.18979560163526290666e-10, 2.65982372468238665035e-9),
    *(-1.30002500998624804212e-8, 6.04699502254191894932e-8, -2.67079385394061173391e-7),
    *(1.11738753912010371815e-6, -4.41673835845875056359e-6, 1.64484480707288970893e-5),
    *(-5.75419501008210370398e-5, 1.88502885095841655729e-4, -5.76375574538582365885e-4),
    *(1.63947561694133579842e-3, -4.32430999505057594430e-3, 1.05464603945949983183e-2),
    *(-2.37374148058994688156e-2, 4.93052842396707084878e-2, -9.49010970480476444210e-2),
    *(1.71620901522208775349e-1, -3.04682672343198398683e-1, 6.76795274409476084995e-1),
)
_I0_LARGE = (
    *(-7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17),
    *(3.46122286769746109310e-17, -2.82762398051658348494e-16, -3.42548561967721913462e-16),
    *(1.77256013305652638360e-15, 3.81168066935262242075e-15, -9.55484669882830764870e-15),
    *(-4.15056934728722208663e-14, 1.54008621752140982691e-14, 3.85277838274214270114e-13),
    *(7.18012445138366623367e-13, -1.79417853150680611778e-12, -1.32158118404477131188e-11),
    *(-3.14991652796324136454e-11, 1.18891471078464383424e-11, 4.94060238822496958910e-10),
    *(3.39623202570838634515e-9, 2.26666899049817806459e-8, 2.04891858946906374183e-7),
    *(2.89137052083475648297e-6, 6.88975834691682398426e-5, 3.36911647825569408990e-3),
    8.04490411014108831608e-1,
)


def _chebyshev(x: Array, coefficients: tuple[float, ...]) -> Array:
    """Return a Chebyshev series (highest first, the constant halved) at points of [-2, 2]."""
    b0: Any = coefficients[0]
    b1: Any = 0.0
    b2: Any = 0.0
    for c in coefficients[1:]:
        b0, b1, b2 = x * b0 - b1 + c, b0, b1
    return 0.5 * (b0 - b2)


@eager_numpys()
def i0(x: ArrayLike) -> Array:
    """Return the modified Bessel function of the first kind, of order 0.

    >>> xp.i0([0.0, 1.0])
    array([1.        , 1.26606588])
    """
    y = as_array("i0", x)
    if y.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    y = abs(inexact("i0", y))
    # Each branch sees numbers of its own range only, so that no derivative meets an infinity.
    low, high = minimum(y, 8.0), pick(y <= 8.0, 8.0, y)
    small = exp(low) * _chebyshev(low / 2.0 - 2, _I0_SMALL)
    large = exp(high) * _chebyshev(32.0 / high - 2, _I0_LARGE) / sqrt(high)
    return pick(y <= 8.0, small, large)


@eager_numpys()
def nan_to_num(
    x: ArrayLike, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Array:
    """Return an array with numbers in place of nan and infinities.

    >>> xp.nan_to_num([1.0, xp.nan])
    array([1., 0.])
    """
    y = as_array("nan_to_num", x)
    if y.dtype.kind not in "fc":
        return as_scalar(y.copy() if copy else y)
    part = np.finfo(y.dtype)
    top, bottom = part.max if posinf is None else posinf, part.min if neginf is None else neginf

    def cleaned(part: Array) -> Array:
        out = part
        for found, value in ((isnan(part), nan), (part == np.inf, top), (part == -np.inf, bottom)):
            out = pick(found, as_array("nan_to_num", value, part.dtype), out)
        return out

    out = apply(complex_, cleaned(y.real), cleaned(y.imag)) if y.dtype.kind == "c" else cleaned(y)
    if not copy and type(x) is Array:
        return deliver("nan_to_num", x, out)
    return out


@numpys
def real_if_close(a: ArrayLike, tol: float = 100) -> Array:
    """Return the real parts, if all imaginary ones are close to zero.

    >>> xp.real_if_close([1 + 1e-14j])
    array([1.])
    """
    x = zero_d(as_array("real_if_close", a))
    if x.dtype.kind != "c":
        return x
    bound = tol * np.finfo(x.dtype).eps if tol > 1 else tol
    return x.real if np.all(np.absolute(x._value().imag) < bound) else x


# -- tests -------------------------------------------------------------------------------------------


def _infinite(name: str, value: float, summary: str, result: str) -> Callable[..., Array]:
    """Return `isposinf` or `isneginf`."""

    def call(x: Any, out: Any = None) -> Array:
        y = as_array(name, x)
        if y.dtype.kind == "c":
            raise TypeError(f"{name}: {y.dtype} has no order; a real dtype would work")
        return deliver(name, out, equal(y, value))

    return numpys(of_family(call, name, summary, "[xp.inf, -xp.inf, 0.0]", result))


isposinf = _infinite("isposinf", np.inf, "Test for positive infinity.", "array([ True, False, False])")
isneginf = _infinite("isneginf", -np.inf, "Test for negative infinity.", "array([False,  True, False])")


@numpys
def iscomplex(x: ArrayLike) -> Array:
    """Test for an imaginary part that is not zero.

    >>> xp.iscomplex([1 + 1j, 1])
    array([ True, False])
    """
    y = as_array("iscomplex", x)
    return y.imag != 0 if y.dtype.kind == "c" else full(y.shape, False, np.dtype(bool))


@numpys
def isreal(x: ArrayLike) -> Array:
    """Test for an imaginary part that is zero.

    >>> xp.isreal([1 + 1j, 1])
    array([False,  True])
    """
    y = as_array("isreal", x)
    return y.imag == 0 if y.dtype.kind == "c" else full(y.shape, True, np.dtype(bool))


@eager_numpys()
@unheard()
def isclose(
    a: ArrayLike, b: ArrayLike, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Array:
    """Test which elements are equal within tolerances: ``abs(a - b) <= atol + rtol * abs(b)``.

    >>> xp.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1])
    array([ True, False])
    """
    x, y = as_array("isclose", a), as_array("isclose", b)
    if y.dtype.kind != "m":
        y = astype(y, np.result_type(y.dtype, 1.0))
    if x.dtype.kind == "b":
        x = astype(x, np.dtype(np.int8))
    near = abs(subtract(x, y)) <= atol + rtol * abs(y)
    out = logical_or(logical_and(near, isfinite(y)), equal(x, y))
    return logical_or(out, logical_and(isnan(x), isnan(y))) if equal_nan else out


@eager_numpys()
def allclose(
    a: ArrayLike, b: ArrayLike, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> bool:
    """Test whether all elements are equal within tolerances.

    >>> xp.allclose([1.0, 2.0], [1.0, 2.0 + 1e-9])
    True
    """
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


@eager_numpys(large=np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Test whether two arrays have the same shape and elements.

    >>> xp.array_equal([1, 2], [1, 2])
    True
    """
    x, y = as_array("array_equal", a1), as_array("array_equal", a2)
    if x.shape != y.shape:
        return False
    same = equal(x, y)
    if equal_nan:
        same = logical_or(same, logical_and(isnan(x), isnan(y)))
    return bool(same.all())


@eager_numpys(large=np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> bool:
    """Test whether two arrays broadcast to the same elements.

    >>> xp.array_equiv([1, 2], [[1, 2], [1, 2]])
    True
    """
    x, y = as_array("array_equiv", a1), as_array("array_equiv", a2)
    try:
        broadcast_shapes("array_equiv", x.shape, y.shape)
    except ValueError:
        return False
    return bool(equal(x, y).all())


# -- samples -----------------------------------------------------------------------------------------


@eager_numpys()
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Array:
    """Return the differences of neighbours in the flattened array.

    >>> xp.ediff1d([1, 4, 9], to_begin=0)
    array([0, 3, 5])
    """
    x = flat("ediff1d", ary)
    parts = [x[1:] - x[:-1] if x.dtype.kind != "b" else x[1:] ^ x[:-1]]
    for end, value in ((0, to_begin), (1, to_end)):
        if value is not None:
            new = flat("ediff1d", value)
            if not np.can_cast(new.dtype, x.dtype, "same_kind"):
                name = "to_end" if end else "to_begin"
                raise TypeError(
                    f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
                )
            parts.insert(len(parts) * end, astype(new, x.dtype))
    return concat(parts) if len(parts) > 1 else parts[0]


@overload
def gradient(f: ArrayLike, *varargs: ArrayLike, axis: int, edge_order: int = 1) -> Array: ...
@overload
def gradient(
    f: ArrayLike, *varargs: ArrayLike, axis: tuple[int, ...] | None = None, edge_order: int = 1
) -> Array | tuple[Array, ...]: ...
@eager_numpys()
def gradient(f: Any, *varargs: Any, axis: Axis = None, edge_order: int = 1) -> Any:
    """Return the slopes along axes, from differences of second order inside.

    >>> xp.gradient([1.0, 2.0, 4.0, 7.0])
    array([1. , 1.5, 2.5, 3. ])
    """
    x = as_array("gradient", f)
    axes = [normalize_axis("gradient", a, x.ndim) for a in (range(x.ndim) if axis is None else listed(axis))]
    if len(set(axes)) != len(axes):
        raise ValueError("repeated axis")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    spacings = _spacings(x, varargs, axes)
    boolean = x.dtype.kind == "b"
    x = x if x.dtype.kind in "fc" else astype(x, _F64)
    out = []
    for k, h in zip(axes, spacings, strict=True):
        if x.shape[k] < edge_order + 1:
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) "
                "elements are required."
            )
        if boolean:
            raise TypeError("gradient: booleans have no differences; a numeric dtype would work")
        out.append(astype(moveaxis(_slopes(moveaxis(x, k, -1), h, edge_order), -1, k), x.dtype))
    return out[0] if len(out) == 1 else tuple(out)


def _spacings(x: Array, given: tuple[Any, ...], axes: list[int]) -> list[Any]:
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and np.ndim(given[0]) == 0:
        return list(given) * len(axes)
    if len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    out: list[Any] = []
    for h, k in zip(given, axes, strict=True):
        if np.ndim(h) == 0:
            out.append(h)
            continue
        points = as_array("gradient", h)
        if points.ndim != 1:
            raise ValueError("distances must be either scalars or 1d")
        if points.size != x.shape[k]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        steps = diff(astype(points, _F64) if points.dtype.kind in "iub" else points)
        value = steps._value()
        even = value.size and (value == value[0]).all() and not differentiating(current(steps))
        out.append(float(value[0]) if even else steps)
    return out


def _slopes(x: Array, h: Any, edge_order: int) -> Array:
    """Return the slopes along the last axis, whose points are `h` apart: a number, or an array of them."""
    if type(h) is not Array or not h.ndim:
        inner = (x[..., 2:] - x[..., :-2]) / (2.0 * h)
        h1 = h2 = h3 = h4 = h
    else:
        d1, d2 = h[:-1], h[1:]
        a, b, c = -d2 / (d1 * (d1 + d2)), (d2 - d1) / (d1 * d2), d1 / (d2 * (d1 + d2))
        inner = a * x[..., :-2] + b * x[..., 1:-1] + c * x[..., 2:]
        h1, h2, h3, h4 = h[0], h[min(1, h.size - 1)], h[-1], h[max(h.size - 2, 0)]
    if edge_order == 1:
        first, last = (x[..., 1] - x[..., 0]) / h1, (x[..., -1] - x[..., -2]) / h3
    elif type(h) is not Array:
        first = (-1.5 / h) * x[..., 0] + (2.0 / h) * x[..., 1] + (-0.5 / h) * x[..., 2]
        last = (0.5 / h) * x[..., -3] + (-2.0 / h) * x[..., -2] + (1.5 / h) * x[..., -1]
    else:
        a, b, c = -(2.0 * h1 + h2) / (h1 * (h1 + h2)), (h1 + h2) / (h1 * h2), -h1 / (h2 * (h1 + h2))
        first = a * x[..., 0] + b * x[..., 1] + c * x[..., 2]
        a, b, c = h3 / (h4 * (h4 + h3)), -(h3 + h4) / (h4 * h3), (2.0 * h3 + h4) / (h3 * (h4 + h3))
        last = a * x[..., -3] + b * x[..., -2] + c * x[..., -1]
    ends = [reshape(e, (*e.shape, 1)) for e in (first, last)]
    return concat([ends[0], inner, ends[1]], axis=-1)


@numpys
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """Return integrals along an axis by the trapezoidal rule.

    >>> xp.trapezoid([1, 2, 3])
    np.float64(4.0)
    """
    f = as_array("trapezoid", y)
    k = normalize_axis("trapezoid", axis, f.ndim)
    d = dx
    if x is not None:
        points = as_array("trapezoid", x)
        one = points.ndim == 1
        d = reshape(diff(points), (-1, *[1] * (f.ndim - k - 1))) if one else diff(points, axis=axis)
    low, high = f[along(k, slice(None, -1))], f[along(k, slice(1, None))]
    return (d * (high + low) / 2.0).sum(k)


@eager_numpys()
def unwrap(p: ArrayLike, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Array:
    """Return angles without jumps: differences of more than half a period are undone.

    >>> xp.unwrap([0, 4, 8], period=6)
    array([ 0, -2, -4])
    """
    x = as_array("unwrap", p)
    k = normalize_axis("unwrap", axis, x.ndim)
    d = diff(x, axis=k)
    jump = period / 2 if discont is None else discont
    dtype = np.result_type(d.dtype, period)
    if dtype.kind in "iu":
        high, rest = divmod(period, 2)
        ambiguous = rest == 0
    else:
        high, ambiguous = period / 2, True
    low = -high
    turned = remainder(d - low, period) + low
    if ambiguous:
        turned = pick(logical_and(equal(turned, low), d > 0), high, turned)
    steps = pick(abs(d) < jump, 0, turned - d)
    first = astype(x[along(k, slice(0, 1))], np.result_type(dtype, x.dtype))
    rest_of = x[along(k, slice(1, None))] + steps.cumsum(k)
    return concat([first, astype(rest_of, first.dtype)], axis=k)


def _host_interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Return what `np.interp` gives, for many places in a part of the time."""
    if compiled is not None and type(x) is np.ndarray and x.size >= SOUGHT and period is None:
        places = x if x.dtype.kind not in "iub" else x.astype(np.float64)
        found = compiled.interpolate(places, np.asarray(xp), np.asarray(fp), left, right)
        if found is not None:
            return found
    return np.interp(x, xp, fp, left, right, period)


def _large_interp(x: Any, xp: Any, fp: Any, *more: Any, **options: Any) -> Any:
    at = np.asarray(x)
    dtype = np.complex128 if np.iscomplexobj(fp) else np.float64
    return by_elements(lambda some: _host_interp(some, xp, fp, *more, **options), at, dtype)


@fastpath.whole(_host_interp, large=_large_interp)
@numpys
def interp(
    x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: Any = None, right: Any = None, period: Any = None
) -> Array:
    """Return values between samples, on straight lines.

    >>> xp.interp(2.5, [1, 2, 3], [3, 2, 0])
    np.float64(1.0)
    """
    at, points, values = [as_array("interp", z) for z in (x, xp, fp)]
    if "c" in (at.dtype.kind, points.dtype.kind):
        raise TypeError("interp: complex numbers are not in order; real ones would work for x and xp")
    at, points, values = [astype(z, np.result_type(z.dtype, _F64)) for z in (at, points, values)]
    if points.ndim != 1 or values.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if points.size != values.size:
        raise ValueError("fp and xp are not of the same length.")
    if not points.size:
        raise ValueError("array of sample points is empty")
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period = builtins.abs(period)
        at, points = remainder(at, period), remainder(points, period)
        order = argsort(points)
        points, values = points[order], values[order]
        points = concat([points[-1:] - period, points, points[:1] + period])
        values = concat([values[-1:], values, values[:1]])
        left = right = None
    low = values[0] if left is None else left
    high = values[-1] if right is None else right
    if points.size == 1:
        between = broadcast_to(values[0], at.shape)
        return pick(at < points[0], low, pick(at > points[-1], high, between))
    if values.dtype.kind == "c":
        between = apply(complex_, *[_interpolated(at, points, part(values)) for part in (real, imag)])
    else:
        between = _interpolated(at, points, values)
    out = pick(at < points[0], low, pick(at > points[-1], high, between))
    return pick(isnan(at), at, out)


def _interpolated(at: Array, points: Array, values: Array) -> Array:
    """Return real values between samples, and on the lines of the outermost ones."""
    i = searchsorted(points, at, side="right")
    i = pick(i > points.size - 1, points.size - 1, pick(i < 1, 1, i)) - 1
    x0, y0, x1, y1 = points[i], values[i], points[i + 1], values[i + 1]
    dx = x1 - x0
    slope = (y1 - y0) / pick(equal(dx, 0), 1.0, dx)
    between = slope * (at - x0) + y0
    # From the other end where a sample is infinite.
    between = pick(isnan(between), slope * (at - x1) + y1, between)
    between = pick(logical_and(isnan(between), equal(y0, y1)), y0, between)
    # Samples are met exactly, by what takes off 0 but has the slope of the line beside them.
    for end, y in ((x0, y0), (x1, y1)):
        met = y - (slope * (end - at) + 0.0)
        between = pick(equal(at, end), pick(isnan(met), y, met), between)
    return between


def _correlated(a: Array, v: Array, mode: Any) -> Array:
    """Return sums of products of `a` with a moving `v` (of no more elements), reversed already."""
    if mode is None:
        raise TypeError("mode must be one of 'valid', 'same', or 'full', not None")
    modes = {0: "valid", 1: "same", 2: "full"}
    mode = modes.get(mode, mode)
    if mode not in modes.values():
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    m = v.size
    ends = {"full": (m - 1, m - 1), "same": (m // 2, m - 1 - m // 2), "valid": (0, 0)}[mode]
    return apply(correlate_p, a, v, ends=ends)


def _signals(function: str, a: Any, v: Any) -> list[Array]:
    xs = promote(function, as_array(function, a), as_array(function, v))
    xs = [x if x.ndim else reshape(x, (1,)) for x in xs]
    if any(x.ndim > 1 for x in xs):
        raise ValueError("object too deep for desired array")
    for name, x in zip("av", xs, strict=True):
        if not x.size:
            raise ValueError(f"{name} cannot be empty")
    return xs


@eager_numpys()
def convolve(a: ArrayLike, v: ArrayLike, mode: Any = "full") -> Array:
    """Return the convolution of two sequences.

    >>> xp.convolve([1, 2, 3], [0, 1, 0.5])
    array([0. , 1. , 2.5, 4. , 1.5])
    """
    x, y = _signals("convolve", a, v)
    if y.size > x.size:
        x, y = y, x
    return _correlated(x, flip(y), mode)


@eager_numpys()
def correlate(a: ArrayLike, v: ArrayLike, mode: Any = "valid") -> Array:
    """Return the cross-correlation of two sequences.

    >>> xp.correlate([1, 2, 3], [0, 1, 0.5])
    array([3.5])
    """
    x, y = _signals("correlate", a, v)
    if not (np.ndim(a) and np.ndim(v)):
        raise ValueError("object of too small depth for desired array")
    if y.dtype.kind == "c":
        y = conj(y)
    if y.size > x.size:
        return flip(_correlated(y, x, mode))
    return _correlated(x, y, mode)
