"""Operations that treat every element alike."""

from __future__ import annotations

import numpy as np

from .. import lowerings as low
from ..aval import Aval, aval_of
from ..primitive import Primitive, alike, elementwise

# Arithmetic.
neg = elementwise("neg", np.negative, max="nabla.neg")
abs_ = elementwise("abs", np.absolute, max=low.by_kind(b=low.identity, other="abs"))
sign = elementwise("sign", np.sign, max="nabla.sign")
add = elementwise("add", np.add, max=low.by_kind(b="logical_or", other="nabla.add"))
sub = elementwise("sub", np.subtract, max="nabla.sub")
mul = elementwise("mul", np.multiply, max=low.by_kind(b="logical_and", other="nabla.mul"))
div = elementwise("div", np.true_divide, max="nabla.div", max_kinds="f")


def _floor_divide(x: np.ndarray, y: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    # The standard's infinities, where NumPy gives nan and -1: inf // 2 is inf, and 1 // -inf is -0.0.
    out = np.asarray(np.floor_divide(x, y, out=out))
    if x.dtype.kind == "f":
        odd = np.isinf(x) != np.isinf(y)
        odd &= y != 0
        if odd.any():
            np.copyto(out, np.true_divide(x, y), where=odd)
    return out


floor_divide = elementwise(
    "floor_divide", np.floor_divide, host=_floor_divide, into=_floor_divide, max="nabla.floor_divide"
)
remainder = elementwise("remainder", np.remainder, max="nabla.remainder")
# It can raise (an integer to a negative power): so it must not write over its operands, and MAX, which
# cannot raise, runs it for unsigned integers only.
pow_ = elementwise(
    "pow", np.power, into=lambda x, y, out: np.power(x, y, out), max="nabla.pow", max_kinds="fu"
)
square = elementwise("square", np.square, max=low.square)
reciprocal = elementwise("reciprocal", np.reciprocal, max=low.reciprocal, max_kinds="f")
maximum = elementwise("maximum", np.maximum, max=low.by_kind(b="logical_or", other="nabla.maximum"))
minimum = elementwise("minimum", np.minimum, max=low.by_kind(b="logical_and", other="nabla.minimum"))
copysign = elementwise("copysign", np.copysign, max="nabla.copysign", max_kinds="f")
nextafter = elementwise("nextafter", np.nextafter, max="nabla.nextafter", max_kinds="f")

# Rounding.
floor = elementwise("floor", np.floor, max=low.by_kind(f="floor", other=low.identity))
ceil = elementwise("ceil", np.ceil, max=low.by_kind(f="ceil", other=low.identity))
trunc = elementwise("trunc", np.trunc, max=low.by_kind(f="trunc", other=low.identity))
rint = elementwise("rint", np.rint, max="round", max_kinds="f")


def _round_into(x: np.ndarray, out: np.ndarray, decimals: int) -> None:
    # NumPy rounds integers to tens through floats, which it does not write to an integer array.
    if x.dtype.kind in "iu":
        np.copyto(out, np.round(x, decimals))
    else:
        np.round(x, decimals, out)


round_ = Primitive(
    "round",
    lambda x, decimals: x,
    lambda x, decimals: np.round(x, decimals),
    kind="elementwise",
    into=_round_into,
    dims=alike,
    max=low.round_to,
)

# Transcendental.
exp = elementwise("exp", np.exp, max="nabla.exp", max_kinds="f")
exp2 = elementwise("exp2", np.exp2, max="nabla.exp2", max_kinds="f")


def _expm1(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    # NumPy's complex expm1 gives nan + nan j for everything that is not finite; its exp follows C99.
    # At -0 + 0j the standard wants +0.
    out = np.asarray(np.expm1(x, out=out))
    if x.dtype.kind == "c":
        odd = ~np.isfinite(x)
        if odd.any():
            np.copyto(out, np.exp(x) - 1, where=odd)
        np.copyto(out.real, 0.0, where=x == 0)
    return out


expm1 = elementwise("expm1", np.expm1, host=_expm1, into=_expm1, max="nabla.expm1", max_kinds="f")
log = elementwise("log", np.log, max="nabla.log", max_kinds="f")
log1p = elementwise("log1p", np.log1p, max="nabla.log1p", max_kinds="f")
log2 = elementwise("log2", np.log2, max="nabla.log2", max_kinds="f")
log10 = elementwise("log10", np.log10, max="nabla.log10", max_kinds="f")
logaddexp = elementwise("logaddexp", np.logaddexp, max="nabla.logaddexp", max_kinds="f")
sqrt = elementwise("sqrt", np.sqrt, max="sqrt", max_kinds="f")
cbrt = elementwise("cbrt", np.cbrt, max="nabla.cbrt", max_kinds="f")
hypot = elementwise("hypot", np.hypot, max="nabla.hypot", max_kinds="f")
sin = elementwise("sin", np.sin, max="nabla.sin", max_kinds="f")
cos = elementwise("cos", np.cos, max="nabla.cos", max_kinds="f")
tan = elementwise("tan", np.tan, max="nabla.tan", max_kinds="f")
asin = elementwise("asin", np.arcsin, max="nabla.asin", max_kinds="f")
acos = elementwise("acos", np.arccos, max="nabla.acos", max_kinds="f")
atan = elementwise("atan", np.arctan, max="nabla.atan", max_kinds="f")
atan2 = elementwise("atan2", np.arctan2, max="nabla.atan2", max_kinds="f")
sinh = elementwise("sinh", np.sinh, max="nabla.sinh", max_kinds="f")
cosh = elementwise("cosh", np.cosh, max="nabla.cosh", max_kinds="f")


def _tanh(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    # C99 gives 1 + 0 sin(2y) j at inf + y j; the standard wants the sign of y.
    out = np.asarray(np.tanh(x, out=out))
    if x.dtype.kind == "c":
        odd = np.isinf(x.real)
        if odd.any():
            np.copyto(out.imag, np.copysign(0.0, x.imag), where=odd)
    return out


tanh = elementwise("tanh", np.tanh, host=_tanh, into=_tanh, max="nabla.tanh", max_kinds="f")
asinh = elementwise("asinh", np.arcsinh, max="nabla.asinh", max_kinds="f")
acosh = elementwise("acosh", np.arccosh, max="nabla.acosh", max_kinds="f")
atanh = elementwise("atanh", np.arctanh, max="nabla.atanh", max_kinds="f")

# Comparison and tests.
eq = elementwise("eq", np.equal, max="nabla.eq")
ne = elementwise("ne", np.not_equal, max="nabla.ne")
lt = elementwise("lt", np.less, max="nabla.lt")
le = elementwise("le", np.less_equal, max="nabla.le")
gt = elementwise("gt", np.greater, max="nabla.gt")
ge = elementwise("ge", np.greater_equal, max="nabla.ge")
isnan = elementwise("isnan", np.isnan, max="is_nan", max_kinds="f")
isinf = elementwise("isinf", np.isinf, max="is_inf", max_kinds="f")
isfinite = elementwise("isfinite", np.isfinite, max="nabla.isfinite", max_kinds="f")
signbit = elementwise("signbit", np.signbit, max="nabla.signbit", max_kinds="f")

# Bits; on bool they are the logical functions.
and_ = elementwise("and", np.bitwise_and, max=low.by_kind(b="logical_and", other="nabla.bit_and"))
or_ = elementwise("or", np.bitwise_or, max=low.by_kind(b="logical_or", other="nabla.bit_or"))
xor = elementwise("xor", np.bitwise_xor, max=low.by_kind(b="logical_xor", other="nabla.bit_xor"))
not_ = elementwise("not", np.invert, max=low.by_kind(b="logical_not", other="nabla.bit_not"))
shift_left = elementwise("shift_left", np.left_shift, max="nabla.shift_left")
shift_right = elementwise("shift_right", np.right_shift, max="nabla.shift_right")

# Complex.
conj = elementwise("conj", np.conjugate, max=low.identity)


def _part(name: str, pick: str) -> Primitive:
    def aval(x: Aval) -> Aval:
        return aval_of(x.shape, x.dtype.type(0).real.dtype)

    def host(x: np.ndarray) -> np.ndarray:
        return getattr(x, pick)

    def into(x: np.ndarray, out: np.ndarray) -> None:
        np.copyto(out, getattr(x, pick))

    return Primitive(name, aval, host, kind="elementwise", into=into, dims=alike)


real = _part("real", "real")
imag = _part("imag", "imag")


def _complex_aval(re: Aval, im: Aval) -> Aval:
    if re is not im:
        raise ValueError(f"complex: parts differ: {re} and {im}")
    return aval_of(re.shape, np.result_type(re.dtype, np.complex64))


def _complex_into(re: np.ndarray, im: np.ndarray, out: np.ndarray) -> None:
    out.real = re
    out.imag = im


def _complex_host(re: np.ndarray, im: np.ndarray) -> np.ndarray:
    out = np.empty(re.shape, np.result_type(re.dtype, np.complex64))
    _complex_into(re, im, out)
    return out


complex_ = Primitive(
    "complex", _complex_aval, _complex_host, kind="elementwise", into=_complex_into, dims=alike
)


# Choice and type.
def _select_aval(mask: Aval, x: Aval, y: Aval) -> Aval:
    if x is not y or mask.shape != x.shape or mask.dtype != np.bool:
        raise ValueError(f"select: needs a bool mask and two equal operands: {mask}, {x}, {y}")
    return x


def _select_into(mask: np.ndarray, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    if x.dtype.itemsize > 8:
        np.copyto(out, np.where(mask, x, y))
        return
    # y ^ ((x ^ y) & mask) on the bits: np.where takes a branch an element, three times as slow where
    # the mask is mixed.
    bits = np.dtype(f"i{x.dtype.itemsize}")
    ones = mask.view(np.int8).astype(bits)
    np.negative(ones, out=ones)
    y, out = y.view(bits), out.view(bits)
    np.bitwise_xor(x.view(bits), y, out=out)
    np.bitwise_and(out, ones, out=out)
    np.bitwise_xor(out, y, out=out)


select = Primitive(
    "select", _select_aval, np.where, kind="elementwise", into=_select_into, dims=alike, max="where"
)


def _cast_into(x: np.ndarray, out: np.ndarray, dtype: np.dtype) -> None:
    np.copyto(out, x.real if x.dtype.kind == "c" and dtype.kind not in "cb" else x, casting="unsafe")


def _cast_host(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    out = np.empty(x.shape, dtype)
    _cast_into(x, out, dtype)
    return out


cast = Primitive(
    "cast",
    lambda x, dtype: aval_of(x.shape, dtype),
    _cast_host,
    kind="elementwise",
    into=_cast_into,
    dims=alike,
    max=low.cast,
)
