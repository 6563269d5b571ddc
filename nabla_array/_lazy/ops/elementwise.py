"""Operations that treat every element alike."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph.aval import Aval, aval_of
from ..graph.node import Node
from ..graph.primitive import Primitive, elementwise
from . import lowerings as low
from . import machine as mc
from .creation import fill_like, fill_node


# Derivatives follow JAX where there is a choice: at ties, at zero, for complex numbers.
def _pow_by_base(out: Node, x: Node, y: Node) -> Node:
    # Only at 0 ** 0 is another number raised: elsewhere the factor y must stay, for derivatives by y.
    both = and_(eq(x, fill_like(x, 0)), eq(y, fill_like(y, 0)))
    return y * pow_(select(both, fill_like(x, 1), x), y - 1)


def _pow_by_exponent(out: Node, x: Node, y: Node) -> Node:
    return out * log(select(eq(x, fill_like(x, 0)), fill_like(x, 1), x))


def _share(beats: Primitive, x: Node, y: Node) -> Node:
    """Return 1 where `x` beats `y`, 0.5 where they are equal, and 0 elsewhere."""
    one, half, zero = fill_like(x, 1), fill_like(x, 0.5), fill_like(x, 0)
    return select(beats(x, y), one, select(eq(x, y), half, zero))


def _beside_nan(x: Node, y: Node, at_x: float, at_y: float, rest: Node) -> Node:
    """Return a number where `x` is nan, another where `y` alone is, and else `rest`."""
    return select(isnan(x), fill_like(x, at_x), select(isnan(y), fill_like(x, at_y), rest))


def _weight(power: Primitive, out: Node, x: Node) -> Node:
    """Return power(x) / power(out), where both may be infinite."""
    return power(select(eq(x, fill_like(x, math.inf)), fill_like(x, 0), x - out))


def ratio(x: Node, y: Node, at_zero: float = 0.0) -> Node:
    """Return x / y, and `at_zero` where y is 0."""
    zero = eq(y, fill_like(y, 0))
    return select(zero, fill_like(x, at_zero), x / select(zero, fill_like(y, 1), y))


def _abs_jvp(tangents: Any, out: Node, x: Node) -> Node:
    (t,) = tangents
    if x.aval.dtype.kind == "c":
        return ratio(real(t * conj(x)), out)
    return select(ge(x, fill_like(x, 0)), t, -t)


def _sign_jvp(tangents: Any, out: Node, x: Node) -> Node | None:
    """A complex number's sign turns with it: t less its part along x, over the size of x."""
    (t,) = tangents
    if x.aval.dtype.kind != "c":
        return None
    along = out * cast(real(t * conj(out)), dtype=x.aval.dtype)
    return ratio(t - along, cast(abs_(x), dtype=x.aval.dtype))


def _real(name: str, ufunc: np.ufunc, *partials: Any, **rules: Any) -> Primitive:
    """Make the record of a ufunc that MAX runs, on floats, by our kernel of its name."""
    return elementwise(name, ufunc, max=f"nabla.{name}", max_kinds="f", partials=partials, **rules)


# Arithmetic.
neg = elementwise("neg", np.negative, max="nabla.neg", llvm=mc.neg, partials=(-1,))
abs_ = elementwise(
    "abs",
    np.absolute,
    max=low.by_kind(b=low.identity, other="abs"),
    llvm=mc.absolute,
    jvp=_abs_jvp,
)
sign = elementwise("sign", np.sign, max="nabla.sign", jvp=_sign_jvp)
add = elementwise(
    "add",
    np.add,
    associative=True,
    max=low.by_kind(b="logical_or", other="nabla.add"),
    llvm=mc.instruction(f="fadd", iu="add", b="or"),
    partials=(1, 1),
)
sub = elementwise(
    "sub", np.subtract, max="nabla.sub", llvm=mc.instruction(f="fsub", iu="sub"), partials=(1, -1)
)
mul = elementwise(
    "mul",
    np.multiply,
    associative=True,
    max=low.by_kind(b="logical_and", other="nabla.mul"),
    llvm=mc.instruction(f="fmul", iu="mul", b="and"),
    units=(1, 1),
    partials=(lambda out, x, y: y, lambda out, x, y: x),
)
div = elementwise(
    "div",
    np.true_divide,
    max="nabla.div",
    llvm=mc.instruction(f="fdiv"),
    max_kinds="f",
    units=(None, 1),
    partials=(lambda out, x, y: 1 / y, lambda out, x, y: -(out / y)),
)


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
    "floor_divide",
    np.floor_divide,
    host=_floor_divide,
    divides=True,
    max="nabla.floor_divide",
    llvm=mc.loops("iu"),
    partials=(None, None),
)
remainder = elementwise(
    "remainder",
    np.remainder,
    divides=True,
    max="nabla.remainder",
    partials=(1, lambda out, x, y: -floor(x / y)),
)
# An integer to a negative power raises. MAX, which cannot raise, runs it for unsigned integers only.
pow_ = elementwise(
    "pow",
    np.power,
    into=lambda x, y, out: np.power(x, y, out),
    max="nabla.pow",
    max_kinds="fu",
    raises="iu",
    partials=(_pow_by_base, _pow_by_exponent),
)
square = elementwise("square", np.square, max=low.square, llvm=mc.square, partials=(lambda out, x: 2 * x,))
reciprocal = elementwise(
    "reciprocal",
    np.reciprocal,
    max=low.reciprocal,
    max_kinds="f",
    llvm=mc.reciprocal,
    partials=(lambda out, x: -(out * out),),
)
copysign: Primitive = _real(
    "copysign",
    np.copysign,
    lambda out, x, y: select(
        lt(x, fill_like(x, 0)), -copysign(fill_like(x, 1), y), copysign(fill_like(x, 1), y)
    ),
    None,
)
nextafter = _real("nextafter", np.nextafter, None, None)

# Rounding.
floor: Primitive = elementwise(
    "floor",
    np.floor,
    max=low.by_kind(f="floor", other=low.identity),
    llvm=mc.intrinsic(f="floor", iub=""),
    partials=(None,),
)
ceil = elementwise(
    "ceil",
    np.ceil,
    max=low.by_kind(f="ceil", other=low.identity),
    llvm=mc.intrinsic(f="ceil", iub=""),
    partials=(None,),
)
trunc = elementwise(
    "trunc",
    np.trunc,
    max=low.by_kind(f="trunc", other=low.identity),
    llvm=mc.intrinsic(f="trunc", iub=""),
    partials=(None,),
)
rint = elementwise("rint", np.rint, max="round", max_kinds="f", llvm=mc.intrinsic(f="rint"), partials=(None,))


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
    max=low.round_to,
    llvm=mc.rounded,
    max_kinds="f",
    partials=(None,),
)

# Transcendental.
exp = _real("exp", np.exp, lambda out, x: out)
exp2 = _real("exp2", np.exp2, lambda out, x: out * math.log(2))


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


expm1 = _real("expm1", np.expm1, lambda out, x: out + 1, host=_expm1, llvm=mc.loops("f"))
log = _real("log", np.log, lambda out, x: 1 / x)
log1p = _real("log1p", np.log1p, lambda out, x: 1 / (1 + x))
log2 = _real("log2", np.log2, lambda out, x: 1 / (x * math.log(2)))
log10 = _real("log10", np.log10, lambda out, x: 1 / (x * math.log(10)))
logaddexp = _real(
    "logaddexp",
    np.logaddexp,
    lambda out, x, y: _weight(exp, out, x),
    lambda out, x, y: _weight(exp, out, y),
    associative=True,
)
sqrt = elementwise(
    "sqrt",
    np.sqrt,
    max="sqrt",
    max_kinds="f",
    llvm=mc.intrinsic(f="sqrt"),
    partials=(lambda out, x: 0.5 / out,),
)
cbrt = _real("cbrt", np.cbrt, lambda out, x: reciprocal(out) * reciprocal(out) / 3)
hypot = _real(
    "hypot",
    np.hypot,
    lambda out, x, y: ratio(x, out, 0.5),
    lambda out, x, y: ratio(y, out, 0.5),
    associative=True,
)
sin = _real("sin", np.sin, lambda out, x: cos(x))
cos: Primitive = _real("cos", np.cos, lambda out, x: -sin(x))
tan = _real("tan", np.tan, lambda out, x: 1 + out * out)
asin = _real("asin", np.arcsin, lambda out, x: 1 / sqrt((1 - x) * (1 + x)))
acos = _real("acos", np.arccos, lambda out, x: -1 / sqrt((1 - x) * (1 + x)))
atan = _real("atan", np.arctan, lambda out, x: 1 / (1 + x * x))
atan2 = _real(
    "atan2",
    np.arctan2,
    lambda out, y, x: x / (x * x + y * y),
    lambda out, y, x: -(y / (x * x + y * y)),
)
sinh = _real("sinh", np.sinh, lambda out, x: cosh(x))
cosh: Primitive = _real("cosh", np.cosh, lambda out, x: sinh(x))


def _tanh(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    # C99 gives 1 + 0 sin(2y) j at inf + y j; the standard wants the sign of y.
    out = np.asarray(np.tanh(x, out=out))
    if x.dtype.kind == "c":
        odd = np.isinf(x.real)
        if odd.any():
            np.copyto(out.imag, np.copysign(0.0, x.imag), where=odd)
    return out


tanh = _real("tanh", np.tanh, lambda out, x: (1 - out) * (1 + out), host=_tanh, llvm=mc.loops("f"))
asinh = _real("asinh", np.arcsinh, lambda out, x: 1 / sqrt(x * x + 1))
acosh = _real("acosh", np.arccosh, lambda out, x: 1 / (sqrt(x - 1) * sqrt(x + 1)))
atanh = _real("atanh", np.arctanh, lambda out, x: 1 / ((1 - x) * (1 + x)))

# Comparison and tests.
eq = elementwise("eq", np.equal, max="nabla.eq", llvm=mc.instruction(f="fcmp oeq", iub="icmp eq"))
ne = elementwise("ne", np.not_equal, max="nabla.ne", llvm=mc.instruction(f="fcmp une", iub="icmp ne"))
lt: Primitive = elementwise("lt", np.less, max="nabla.lt", llvm=mc.ordered("lt"))
le = elementwise("le", np.less_equal, max="nabla.le", llvm=mc.ordered("le"))
gt: Primitive = elementwise("gt", np.greater, max="nabla.gt", llvm=mc.ordered("gt"))
ge = elementwise("ge", np.greater_equal, max="nabla.ge", llvm=mc.ordered("ge"))


def _extremum(ufunc: np.ufunc, beats: Primitive, truth: str, kernel: str) -> Primitive:
    """Make the record of the operand that `beats` the other: of any, or of those that are no nan."""
    partials = (lambda out, x, y: _share(beats, x, y), lambda out, x, y: _share(beats, y, x))
    kinds: dict[str, Any] = {"b": truth, "other": kernel}
    if ufunc in (np.fmax, np.fmin):
        # Of equal numbers it is the second.
        partials = (
            lambda out, x, y: _beside_nan(x, y, 0, 1, select(beats(x, y), fill_like(x, 1), fill_like(x, 0))),
            lambda out, x, y: _beside_nan(x, y, 1, 0, select(beats(x, y), fill_like(x, 0), fill_like(x, 1))),
        )
        kinds["f"] = low.beside_nan(kernel)
    return elementwise(
        ufunc.__name__,
        ufunc,
        associative=True,
        max=low.by_kind(**kinds),
        llvm=mc.extreme(beats.name, ufunc in (np.fmax, np.fmin)),
        partials=partials,
    )


maximum = _extremum(np.maximum, gt, "logical_or", "nabla.maximum")
minimum = _extremum(np.minimum, lt, "logical_and", "nabla.minimum")
fmax = _extremum(np.fmax, gt, "logical_or", "nabla.maximum")
fmin = _extremum(np.fmin, lt, "logical_and", "nabla.minimum")
isnan = elementwise("isnan", np.isnan, max="nabla.isnan", max_kinds="f", llvm=mc.isnan, contiguous=True)
isinf = elementwise(
    "isinf", np.isinf, max="nabla.isinf", max_kinds="f", llvm=mc.compared_size("oeq"), contiguous=True
)
isfinite = elementwise(
    "isfinite",
    np.isfinite,
    max="nabla.isfinite",
    max_kinds="f",
    llvm=mc.compared_size("olt"),
    contiguous=True,
)
signbit = elementwise(
    "signbit", np.signbit, max="nabla.signbit", max_kinds="f", llvm=mc.signbit, contiguous=True
)

# Bits; on bool they are the logical functions.
and_ = elementwise(
    "and",
    np.bitwise_and,
    associative=True,
    max=low.by_kind(b="logical_and", other="nabla.bit_and"),
    llvm=mc.instruction(iub="and"),
)
or_ = elementwise(
    "or",
    np.bitwise_or,
    associative=True,
    max=low.by_kind(b="logical_or", other="nabla.bit_or"),
    llvm=mc.instruction(iub="or"),
)
xor = elementwise(
    "xor",
    np.bitwise_xor,
    associative=True,
    max=low.by_kind(b="logical_xor", other="nabla.bit_xor"),
    llvm=mc.instruction(iub="xor"),
)
not_ = elementwise("not", np.invert, max=low.by_kind(b="logical_not", other="nabla.bit_not"))
shift_left = elementwise("shift_left", np.left_shift, max="nabla.shift_left")
shift_right = elementwise("shift_right", np.right_shift, max="nabla.shift_right")

# Complex.
conj: Primitive = elementwise(
    "conj", np.conjugate, max=low.identity, transpose=lambda ct, wanted, x: (conj(ct),)
)


def _part(name: str, transpose: Callable[..., Any], put: Callable[..., Any]) -> Primitive:
    def aval(x: Aval) -> Aval:
        return aval_of(x.shape, x.dtype.type(0).real.dtype)

    host = operator.attrgetter(name)

    def into(x: np.ndarray, out: np.ndarray) -> None:
        np.copyto(out, host(x))

    return Primitive(name, aval, host, kind="elementwise", into=into, transpose=transpose, put=put)


# Cotangents pair with tangents as the real part of their product, without a conjugate.
real: Primitive = _part(
    "real",
    lambda ct, wanted, x: (complex_(ct, fill_like(ct, 0)),),
    lambda apply, old, new: apply(complex_, new, apply(imag, old)),
)
imag: Primitive = _part(
    "imag",
    lambda ct, wanted, x: (complex_(fill_like(ct, 0), -ct),),
    lambda apply, old, new: apply(complex_, apply(real, old), new),
)


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


complex_: Primitive = Primitive(
    "complex",
    _complex_aval,
    _complex_host,
    kind="elementwise",
    into=_complex_into,
    transpose=lambda ct, wanted, re, im: (real(ct), -imag(ct)),
)


# Choice and type.
def _select_aval(mask: Aval, x: Aval, y: Aval) -> Aval:
    if x is not y or mask.shape != x.shape or mask.dtype != np.bool:
        raise ValueError(f"select: needs a bool mask and two equal operands: {mask}, {x}, {y}")
    return x


# One true element of so many is worth two ways through memory instead of six.
_RARE = 16


def _select_into(mask: np.ndarray, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    if np.count_nonzero(mask) * _RARE < mask.size:  # as where nan is replaced: NumPy skips what is false
        np.copyto(out, y)
        np.copyto(out, x, where=mask)
        return
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


def _select_transpose(ct: Node, wanted: Any, mask: Node, x: Node, y: Node) -> tuple[Node | None, ...]:
    zero = fill_like(ct, 0)
    return None, select(mask, ct, zero) if wanted[1] else None, select(mask, zero, ct) if wanted[2] else None


select: Primitive = Primitive(
    "select",
    _select_aval,
    np.where,
    kind="elementwise",
    into=_select_into,
    max="where",
    llvm=mc.select,
    transpose=_select_transpose,
    fresh=True,
)


def _cast_into(x: np.ndarray, out: np.ndarray, dtype: np.dtype) -> None:
    np.copyto(out, x.real if x.dtype.kind == "c" and dtype.kind not in "cb" else x, casting="unsafe")


def _cast_host(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    out = np.empty(x.shape, dtype)
    _cast_into(x, out, dtype)
    return out


cast: Primitive = Primitive(
    "cast",
    lambda x, dtype: aval_of(x.shape, dtype),
    _cast_host,
    kind="elementwise",
    into=_cast_into,
    max=low.cast,
    llvm=mc.cast,
    transpose=lambda ct, wanted, x, dtype: (cast(ct, dtype=x.aval.dtype),),
    fresh=True,
)


# NumPy's that the standard does not have, whole where composing them would lose bits.
_INTC = np.dtype(np.intc)

fmod = elementwise("fmod", np.fmod, divides=True, partials=(1, lambda out, x, y: -trunc(x / y)))
heaviside = elementwise(
    "heaviside",
    np.heaviside,
    partials=(None, lambda out, x, y: cast(eq(x, fill_like(x, 0)), dtype=x.aval.dtype)),
)
gcd = elementwise("gcd", np.gcd, associative=True)
lcm = elementwise("lcm", np.lcm, associative=True)
logaddexp2 = elementwise(
    "logaddexp2",
    np.logaddexp2,
    associative=True,
    partials=(lambda out, x, y: _weight(exp2, out, x), lambda out, x, y: _weight(exp2, out, y)),
)
spacing = elementwise("spacing", np.spacing, partials=(None,))
bitwise_count = elementwise("bitwise_count", np.bitwise_count)
# x times 2 to the power of integers.
ldexp: Primitive = elementwise(
    "ldexp", np.ldexp, partials=(lambda out, x, n: ldexp(fill_like(x, 1), n), None)
)


def _mantissa_into(x: np.ndarray, out: np.ndarray) -> None:
    np.frexp(x, out=(out, np.empty(x.shape, _INTC)))


def _exponent_into(x: np.ndarray, out: np.ndarray) -> None:
    np.frexp(x, out=(np.empty(x.shape, x.dtype), out))


def _floats(name: str, x: Aval) -> Aval:
    if x.dtype.kind != "f":
        raise TypeError(f"{name}: no such operation on {x}; floats would work")
    return x


# The results of `frexp`: x is mantissa * 2**exponent.
exponent = Primitive(
    "exponent",
    lambda x: aval_of(_floats("exponent", x).shape, _INTC),
    lambda x: np.asarray(np.frexp(x)[1]),
    kind="elementwise",
    into=_exponent_into,
)
mantissa = Primitive(
    "mantissa",
    lambda x: _floats("mantissa", x),
    lambda x: np.asarray(np.frexp(x)[0]),
    kind="elementwise",
    into=_mantissa_into,
    partials=(lambda out, x: ldexp(fill_like(x, 1), 0 - exponent(x)),),
)


def _method(prim: Primitive, reflected: bool) -> Callable[[Node, Any], Node]:
    def method(self: Node, other: Any) -> Node:
        other = other if isinstance(other, Node) else fill_node(self.aval, other)
        return prim(other, self) if reflected else prim(self, other)

    return method


# Nodes in arithmetic: derivative rules are written so.
for _name, _prim in {"add": add, "sub": sub, "mul": mul, "truediv": div}.items():
    setattr(Node, f"__{_name}__", _method(_prim, False))
    setattr(Node, f"__r{_name}__", _method(_prim, True))
Node.__neg__ = lambda self: neg(self)  # type: ignore[method-assign]
