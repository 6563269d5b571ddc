"""NumPy's ufuncs that the standard does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..._lazy.ops import elementwise as p
from ..chapters.data_types import result_type
from ..chapters.elementwise import (
    abs,
    copysign,
    floor_divide,
    isinf,
    multiply,
    pow,
    remainder,
    subtract,
    trunc,
)
from ..chapters.searching import pick
from ..core.array import Array, apply
from ..core.promotion import as_array, astype, promote
from ..dispatch.docstrings import NUMPYS, refer
from ..dispatch.elementwise_calls import binary, composed, unary
from ..dispatch.ufuncs import ufunc as ufunc
from .described import describe, of_family

if TYPE_CHECKING:
    from ..core.types import ArrayLike, MakesUfunc, Unary

_F64 = np.dtype(np.float64)


def _numpys(function: Any) -> Any:
    """Make a composed function NumPy's ufunc of that name."""
    made = composed(getattr(np, function.__name__))(function)
    describe(made, f"numpy.{function.__name__}")
    return made


numpys = cast("MakesUfunc", _numpys)

bitwise_count = unary(
    p.bitwise_count,
    "Number of bits that are set in the absolute value of each element.",
    "[3, 8]",
    "array([2, 1], dtype=uint8)",
)
rint = unary(
    p.rint, "Nearest integer of each element, in the element's dtype.", "[1.4, 2.5]", "array([1., 2.])"
)
spacing = unary(
    p.spacing, "Distance of each element to the next number of the dtype.", "[1.0]", "array([2.22044605e-16])"
)
fmod = binary(
    p.fmod,
    "Remainder of x1 / x2 with the sign of x1, as C's.",
    "[7.0, -7.0]",
    "[3.0, 3.0]",
    "array([ 1., -1.])",
)
gcd = binary(p.gcd, "Greatest common divisor of each pair.", "[12, 7]", "[18, 14]", "array([6, 7])")
lcm = binary(p.lcm, "Least common multiple of each pair.", "[4, 7]", "[6, 14]", "array([12, 14])")
heaviside = binary(
    p.heaviside,
    "0 where x1 is negative, x2 where it is 0, and 1 where it is positive.",
    "[-1.0, 0.0, 2.0]",
    "[0.5, 0.5, 0.5]",
    "array([0. , 0.5, 1. ])",
)
ldexp = binary(p.ldexp, "x1 times 2 to the power of x2.", "[5.0, 3.0]", "[1, 2]", "array([10., 12.])")
logaddexp2 = binary(
    p.logaddexp2,
    "Logarithm to base 2 of the sum of 2 to the power of each of a pair.",
    "[0.0, 1.0]",
    "[0.0, 1.0]",
    "array([1., 2.])",
)


fmax = binary(
    p.fmax,
    "The greater element of each pair; nan where both are nan.",
    "[1.0, xp.nan]",
    "[3.0, 4.0]",
    "array([3., 4.])",
)
fmin = binary(
    p.fmin,
    "The smaller element of each pair; nan where both are nan.",
    "[1.0, xp.nan]",
    "[3.0, 4.0]",
    "array([1., 4.])",
)
for _row in (bitwise_count, fmax, fmin, fmod, gcd, heaviside, lcm, ldexp, logaddexp2, rint, spacing):
    refer(_row, f"{NUMPYS}numpy.{_row.__name__}.html")


def floats_of(like: np.ufunc, x: Any) -> Array:
    """Return an array of the dtype that a ufunc of floats takes it in."""
    y = as_array(like.__name__, x)
    return astype(y, like.resolve_dtypes((y.dtype, *[None] * like.nout))[0])


@numpys
def fabs(x: ArrayLike, /) -> Array:
    """Return the absolute value of each element, as a float.

    >>> xp.fabs([-1, 2])
    array([1., 2.])
    """
    return abs(floats_of(np.fabs, x))


def _turning(name: str, summary: str, example: str, result: str) -> Unary:
    """Return NumPy's ufunc of this name, which multiplies by what it makes of 1."""
    like = getattr(np, name)

    def call(x: Any, /) -> Array:
        y = floats_of(like, x)
        wide = astype(y, np.result_type(y.dtype, np.float32))  # half precision is multiplied in single
        return astype(multiply(wide, like(wide.dtype.type(1))), y.dtype)

    return numpys(of_family(call, name, summary, example, result))


_TO_RADIANS = "Return angles in degrees as angles in radians.", "[180.0]", "array([3.14159265])"
_TO_DEGREES = "Return angles in radians as angles in degrees.", "[xp.pi]", "array([180.])"
deg2rad, radians = [_turning(name, *_TO_RADIANS) for name in ("deg2rad", "radians")]
rad2deg, degrees = [_turning(name, *_TO_DEGREES) for name in ("rad2deg", "degrees")]


@numpys
def float_power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return powers, in double precision or more.

    >>> xp.float_power([2, 4], -1)
    array([0.5 , 0.25])
    """
    wide = result_type(_F64, *[as_array("float_power", x).dtype for x in (x1, x2)])
    return pow(as_array("float_power", x1, wide), as_array("float_power", x2, wide))


@numpys
def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Array, Array]:
    """Return quotients, rounded down, and remainders.

    >>> xp.divmod([7, -7], 3)
    (array([ 2, -3]), array([1, 2]))
    """
    a, b = promote("divmod", x1, x2)
    return floor_divide(a, b), remainder(a, b)


@numpys
def modf(x: ArrayLike, /) -> tuple[Array, Array]:
    """Return fractions and whole parts, both with the sign of the element.

    >>> xp.modf([1.25, -3.5])
    (array([ 0.25, -0.5 ]), array([ 1., -3.]))
    """
    y = floats_of(np.modf, x)
    whole = trunc(y)
    zero = y.dtype.type(0)
    return copysign(pick(isinf(y), zero, subtract(y, pick(isinf(y), zero, whole))), y), whole


@numpys
def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """Return mantissas, from 0.5 to 1 in size, and exponents of 2.

    >>> xp.frexp([8.0, 3.0])
    (array([0.5 , 0.75]), array([4, 2], dtype=int32))
    """
    y = floats_of(np.frexp, x)
    return apply(p.mantissa, y), apply(p.exponent, y)
