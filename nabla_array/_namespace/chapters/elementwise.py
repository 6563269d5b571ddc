"""Elementwise functions: one line each for a primitive, compositions below them."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.graph.primitive import Primitive
from ..._lazy.ops import elementwise as p
from ..core.array import Array, apply, as_scalar
from ..core.outputs import deliver
from ..core.promotion import SCALARS, as_array, astype, broadcast_to, elementwise, require
from ..dispatch import fastpath
from ..dispatch.docstrings import described_like, specify
from ..dispatch.elementwise_calls import binary, composed, unary
from ..dispatch.ufuncs import make_ufunc

if TYPE_CHECKING:
    from ..core.types import ArrayLike, Binary, Out

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]

abs = unary(
    p.abs_,
    "Absolute value of each element; the modulus of a complex one.",
    "[-1.5, 2.0]",
    "array([1.5, 2. ])",
)
acos = unary(
    p.acos,
    "Inverse cosine of each element, in radians from 0 to pi.",
    "[0.0, 1.0]",
    "array([1.57079633, 0.        ])",
)
acosh = unary(
    p.acosh, "Inverse hyperbolic cosine of each element.", "[1.0, 2.0]", "array([0.       , 1.3169579])"
)
asin = unary(
    p.asin,
    "Inverse sine of each element, in radians from -pi/2 to pi/2.",
    "[0.0, 1.0]",
    "array([0.        , 1.57079633])",
)
asinh = unary(
    p.asinh, "Inverse hyperbolic sine of each element.", "[0.0, 1.0]", "array([0.        , 0.88137359])"
)
atan = unary(
    p.atan,
    "Inverse tangent of each element, in radians from -pi/2 to pi/2.",
    "[0.0, 1.0]",
    "array([0.        , 0.78539816])",
)
atanh = unary(
    p.atanh, "Inverse hyperbolic tangent of each element.", "[0.0, 0.5]", "array([0.        , 0.54930614])"
)
bitwise_invert = unary(
    p.not_, "Every bit of each element inverted; on booleans, the logical not.", "[0, 5]", "array([-1, -6])"
)
ceil = unary(
    p.ceil,
    "Smallest integer that is not less than each element, in the element's dtype.",
    "[-1.5, 1.5]",
    "array([-1.,  2.])",
)
conj = unary(p.conj, "Complex conjugate of each element.", "[1 + 2j, 3 - 1j]", "array([1.-2.j, 3.+1.j])")
cos = unary(
    p.cos, "Cosine of each element, an angle in radians.", "[0.0, 1.0]", "array([1.        , 0.54030231])"
)
cosh = unary(p.cosh, "Hyperbolic cosine of each element.", "[0.0, 1.0]", "array([1.        , 1.54308063])")
exp = unary(p.exp, "e to the power of each element.", "[0.0, 1.0]", "array([1.        , 2.71828183])")
exp2 = unary(p.exp2, "2 to the power of each element (NumPy's `exp2`).", "[1.0, 3.0]", "array([2., 8.])")
expm1 = unary(
    p.expm1,
    "e to the power of each element, minus 1, accurate near 0.",
    "[0.0, 1e-10]",
    "array([0.e+00, 1.e-10])",
)
floor = unary(
    p.floor,
    "Largest integer that is not greater than each element, in the element's dtype.",
    "[-1.5, 1.5]",
    "array([-2.,  1.])",
)
isfinite = unary(
    p.isfinite,
    "Whether each element is neither infinite nor nan.",
    '[1.0, float("inf")]',
    "array([ True, False])",
)
isinf = unary(p.isinf, "Whether each element is infinite.", '[1.0, float("inf")]', "array([False,  True])")
isnan = unary(p.isnan, "Whether each element is nan.", '[1.0, float("nan")]', "array([False,  True])")
log = unary(p.log, "Natural logarithm of each element.", "[1.0, 2.0]", "array([0.        , 0.69314718])")
log10 = unary(p.log10, "Logarithm of each element to base 10.", "[1.0, 1000.0]", "array([0., 3.])")
log1p = unary(
    p.log1p,
    "Natural logarithm of 1 plus each element, accurate near 0.",
    "[0.0, 1e-10]",
    "array([0.e+00, 1.e-10])",
)
log2 = unary(p.log2, "Logarithm of each element to base 2.", "[1.0, 8.0]", "array([0., 3.])")
cbrt = unary(p.cbrt, "Cube root of each element (NumPy's `cbrt`).", "[1.0, 27.0]", "array([1., 3.])")
negative = unary(p.neg, "Minus each element.", "[1.0, -2.0]", "array([-1.,  2.])")
reciprocal = unary(p.reciprocal, "1 divided by each element.", "[2.0, 4.0]", "array([0.5 , 0.25])")
sign = unary(
    p.sign,
    "-1, 0 or 1 as each element is below, at or above 0; z / abs(z) for a complex one.",
    "[-3.0, 0.0, 2.0]",
    "array([-1.,  0.,  1.])",
)
signbit = unary(
    p.signbit,
    "Whether the sign bit of each element is set: true for -0.0.",
    "[-0.0, 1.0]",
    "array([ True, False])",
)
sin = unary(
    p.sin, "Sine of each element, an angle in radians.", "[0.0, 1.0]", "array([0.        , 0.84147098])"
)
sinh = unary(p.sinh, "Hyperbolic sine of each element.", "[0.0, 1.0]", "array([0.        , 1.17520119])")
sqrt = unary(p.sqrt, "Square root of each element.", "[4.0, 2.0]", "array([2.        , 1.41421356])")
square = unary(p.square, "Each element times itself.", "[3.0, -2.0]", "array([9., 4.])")
tan = unary(
    p.tan, "Tangent of each element, an angle in radians.", "[0.0, 1.0]", "array([0.        , 1.55740772])"
)
tanh = unary(p.tanh, "Hyperbolic tangent of each element.", "[0.0, 1.0]", "array([0.        , 0.76159416])")
trunc = unary(
    p.trunc, "Each element without its fraction, in the element's dtype.", "[-1.5, 1.5]", "array([-1.,  1.])"
)
add = binary(p.add, "Sum of each pair of elements.", "[1.0, 2.0]", "[3.0, 4.0]", "array([4., 6.])")
atan2 = binary(
    p.atan2,
    "Angle of each point (x2, x1) from the positive x axis, in radians from -pi to pi.",
    "[1.0, -1.0]",
    "[0.0, 1.0]",
    "array([ 1.57079633, -0.78539816])",
)
bitwise_and = binary(
    p.and_,
    "The bits set in both elements; on booleans, the logical and.",
    "[6, 3]",
    "[3, 1]",
    "array([2, 1])",
)
bitwise_left_shift = binary(
    p.shift_left, "Bits of each x1 moved left by x2 places.", "[1, 3]", "[4, 1]", "array([16,  6])"
)
bitwise_or = binary(
    p.or_, "The bits set in either element; on booleans, the logical or.", "[6, 3]", "[3, 1]", "array([7, 3])"
)
bitwise_right_shift = binary(
    p.shift_right,
    "Bits of each x1 moved right by x2 places, keeping the sign.",
    "[16, -8]",
    "[4, 1]",
    "array([ 1, -4])",
)
bitwise_xor = binary(
    p.xor,
    "The bits set in one element only; on booleans, the exclusive or.",
    "[6, 3]",
    "[3, 1]",
    "array([5, 2])",
)
copysign = binary(
    p.copysign, "Each x1 with the sign of x2.", "[1.0, 2.0]", "[-0.0, 3.0]", "array([-1.,  2.])"
)
divide = binary(
    p.div,
    "Each x1 divided by x2; integers give floating-point results.",
    "[1.0, 2.0]",
    "[2.0, 4.0]",
    "array([0.5, 0.5])",
)
equal = binary(
    p.eq, "Whether the elements of each pair are equal.", "[1, 2]", "[1, 3]", "array([ True, False])"
)
floor_divide = binary(
    p.floor_divide,
    "Largest integer that is not greater than x1 / x2.",
    "[7.0, -7.0]",
    "[2.0, 2.0]",
    "array([ 3., -4.])",
)
greater = binary(p.gt, "Whether each x1 is greater than x2.", "[1, 2]", "[1, 1]", "array([False,  True])")
greater_equal = binary(
    p.ge, "Whether each x1 is greater than or equal to x2.", "[1, 0]", "[1, 1]", "array([ True, False])"
)
hypot = binary(
    p.hypot,
    "Square root of the sum of squares of each pair, without undue overflow.",
    "[3.0, 5.0]",
    "[4.0, 12.0]",
    "array([ 5., 13.])",
)
less = binary(p.lt, "Whether each x1 is less than x2.", "[1, 0]", "[1, 1]", "array([False,  True])")
less_equal = binary(
    p.le, "Whether each x1 is less than or equal to x2.", "[1, 2]", "[1, 1]", "array([ True, False])"
)
logaddexp = binary(
    p.logaddexp,
    "Logarithm of the sum of exponentials of each pair, without undue overflow.",
    "[0.0, 1000.0]",
    "[0.0, 1000.0]",
    "array([6.93147181e-01, 1.00069315e+03])",
)
maximum = binary(
    p.maximum,
    "The greater element of each pair; nan where either is nan.",
    "[1.0, 5.0]",
    "[3.0, 4.0]",
    "array([3., 5.])",
)
minimum = binary(
    p.minimum,
    "The smaller element of each pair; nan where either is nan.",
    "[1.0, 5.0]",
    "[3.0, 4.0]",
    "array([1., 4.])",
)
multiply = binary(p.mul, "Product of each pair of elements.", "[1.0, 2.0]", "[3.0, 4.0]", "array([3., 8.])")
nextafter = binary(
    p.nextafter,
    "Next floating-point number after each x1 in the direction of x2.",
    "[1.0]",
    "[2.0]",
    "array([1.])",
)
not_equal = binary(
    p.ne, "Whether the elements of each pair differ.", "[1, 2]", "[1, 3]", "array([False,  True])"
)
_pow = binary(p.pow_, "Each x1 to the power of x2.", "[2.0, 3.0]", "[3.0, 2.0]", "array([8., 9.])")
remainder = binary(
    p.remainder,
    "Remainder of x1 / x2 with the sign of x2, as Python's ``%``.",
    "[7.0, -7.0]",
    "[3.0, 3.0]",
    "array([1., 2.])",
)
subtract = binary(
    p.sub, "Difference of each pair of elements.", "[3.0, 4.0]", "[1.0, 5.0]", "array([ 2., -1.])"
)


# NumPy's operator takes these roads for scalar exponents; they are faster and differ in the last bit.
_POWERS = {0.5: sqrt, 2: square, -1: reciprocal}


def pow(x1: Any, x2: Any, /, out: Any = None, **options: Any) -> Array:
    if out is not None or options:
        return _pow(x1, x2, out, **options)
    if type(x1) is Array and type(x2) in (int, float) and x1.dtype.kind in "fc":
        short = _POWERS.get(x2)
        if short is not None:
            return short(x1)
    return _pow(x1, x2)


pow.__doc__ = _pow.__doc__
make_ufunc(pow, np.power)


@composed(np.positive)
def positive(x: ArrayLike, /) -> Array:
    """Return a copy of a numeric array.

    Parameters
    ----------
    x : Array

    Returns
    -------
    Array
        The same elements.

    Raises
    ------
    TypeError
        If `x` is boolean.

    >>> xp.positive(xp.asarray([1.0, -2.0]))
    array([ 1., -2.])
    """
    y = as_array("positive", x)
    require("positive", "numeric", y)
    return as_scalar(y.copy())


# Numbers whose parts are Python's own, as NumPy's functions have them.
_PYTHONS = (int, float, complex, bool)


@fastpath.moving("Real", p.real)
def real(val: Any) -> Array:
    """Return the real part of each element, as a view.

    Parameters
    ----------
    val : Array
        Of a numeric dtype.

    Returns
    -------
    Array
        float32 for complex64, float64 for complex128; `val` itself where it is real.

    >>> xp.real(xp.asarray([1 + 2j]))
    array([1.])
    """
    return val.real if type(val) in _PYTHONS else as_array("real", val).real


@fastpath.moving("Imag", p.imag)
@described_like(real, {"`val` itself where it": "zeros where `val`"})
def imag(val: Any) -> Array:
    """Return the imaginary part of each element, as a view.

    >>> xp.imag(xp.asarray([1 + 2j]))
    array([2.])
    """
    return val.imag if type(val) in _PYTHONS else as_array("imag", val).imag


@fastpath.whole(np.round)
def round(a: ArrayLike, decimals: int = 0, out: Out = None) -> Array:
    """Round each element to the nearest number with `decimals` decimals, halves to the even one.

    Parameters
    ----------
    a : Array
        Of a numeric dtype.
    decimals : int
        Decimals to keep (NumPy's parameter); may be negative.
    out : Array, optional
        Where the result goes, too.

    Returns
    -------
    Array
        Of the shape and dtype of `a`.

    >>> xp.round(xp.asarray([0.5, 1.5, -1.234]))
    array([ 0.,  2., -1.])
    """
    y = as_array("round", a)
    if y.dtype.kind == "b" and decimals == 0:  # as NumPy
        y = astype(y, np.dtype(np.float16))
    require("round", "numeric", y)
    places = operator.index(decimals)
    if not -(2**31) <= places < 2**31:  # now, not when the value is looked at
        raise OverflowError(f"round: decimals {places} do not fit into 32 bits")
    return deliver("round", out, apply(p.round_, y, decimals=places))


@fastpath.whole(np.clip)
def clip(
    a: ArrayLike,
    min: Any = None,
    max: Any = None,
    out: Out = None,
    *,
    a_min: Any = None,
    a_max: Any = None,
    **options: Any,
) -> Array:
    """Limit each element to the range from `min` to `max`.

    Parameters
    ----------
    a : Array
        Complex numbers are ordered by their real parts first.
    min, max : Array, int or float, optional
        Bounds, which broadcast with `a`; None for no bound. Where min exceeds max, max wins.
    out : Array, optional
        Where the result goes, too.
    a_min, a_max : optional
        NumPy's older names for the bounds.
    **options
        What ufuncs take: `where`, `dtype`, `casting`.

    Returns
    -------
    Array
        Of the dtype that `a` and the bounds have together; nan stays nan.

    >>> xp.clip(xp.asarray([-1.0, 0.5, 7.0]), 0, 1)
    array([0. , 0.5, 1. ])
    """
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    dtype = getattr(a, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":  # what bounds nothing need not fit the dtype
        low = None if type(low) is int and low <= np.iinfo(dtype).min else low
        high = None if type(high) is int and high >= np.iinfo(dtype).max else high
    if out is not None or options:
        return _clip_into(a, low, high, out, options)
    y = as_array("clip", a)
    z = y
    for bound, prim in ((low, p.maximum), (high, p.minimum)):
        if bound is not None:
            z = elementwise(
                prim, "clip", (bound, z)
            )  # of equal numbers the element: it has a sign if it is 0
    return as_scalar(y.copy()) if z is y else z


def _clip_into(x: Any, low: Any, high: Any, out: Any, options: dict[str, Any]) -> Array:
    """Do what `clip` does with the arguments of a ufunc."""
    casting = options.pop("casting", None) or "same_kind"
    mask = options.pop("where", True)
    dtype = options.pop("dtype", None)
    y = as_array("clip", x, dtype)
    if options:
        raise TypeError(f"clip() got an unexpected keyword argument {next(iter(options))!r}")
    y = clip(y, *[b if b is None or dtype is None else as_array("clip", b, dtype) for b in (low, high)])
    if mask is not True:
        before = broadcast_to(astype(as_array("clip", y if out is None else out), y.dtype), y.shape)
        y = apply(p.select, broadcast_to(as_array("clip", mask, bool), y.shape), y, before)
    return deliver("clip", out, y, casting)


def _truth(function: str, x: Any) -> Array:
    y = as_array(function, bool(x) if type(x) in SCALARS else x)
    if y.dtype.kind == "b":
        return y
    return elementwise(p.ne, function, (y, 0))


def _logical(like: np.ufunc, prim: Primitive, question: str, result: str) -> Binary:
    """Return a ufunc of two truth values."""
    name = like.__name__

    def function(x1: Any, x2: Any, /) -> Array:
        return elementwise(prim, name, (_truth(name, x1), _truth(name, x2)))

    function.__name__ = name
    function.__doc__ = f"""Return whether {question}.

Parameters
----------
x1, x2 : Array or scalar
    Booleans; numbers count as true where they are not 0, as in NumPy.

Returns
-------
Array
    Of dtype bool and the broadcast shape.

>>> xp.{name}(xp.asarray([True, True, False]), xp.asarray([True, False, False]))
{result}
"""
    return composed(like)(function)


logical_and = _logical(
    np.logical_and, p.and_, "both elements of each pair are true", "array([ True, False, False])"
)
logical_or = _logical(
    np.logical_or, p.or_, "either element of each pair is true", "array([ True,  True, False])"
)
logical_xor = _logical(
    np.logical_xor, p.xor, "exactly one element of each pair is true", "array([False,  True, False])"
)


@composed(np.logical_not)
def logical_not(x: ArrayLike, /) -> Array:
    """Return whether each element is false.

    Parameters
    ----------
    x : Array
        Booleans; numbers count as true where they are not 0, as in NumPy.

    Returns
    -------
    Array
        Of dtype bool.

    >>> xp.logical_not(xp.asarray([True, False]))
    array([False,  True])
    """
    return apply(p.not_, _truth("logical_not", x))


specify(globals())
