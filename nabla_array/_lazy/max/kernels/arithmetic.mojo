"""Division as NumPy defines it, extremes that keep nan, signs, steps and bits."""

from std.math import fma, sqrt
from std.memory import bitcast
from std.sys import size_of
from std.sys.intrinsics import llvm_intrinsic

from .core import *


comptime integer_of[dtype: DType] = DType.int32 if dtype == DType.float32 else DType.int64


@always_inline
def not_a_number[dtype: DType, w: SIMDLength](x: SIMD[dtype, w]) -> Mask[w]:
    """Is x nan? On the bits: the compiler takes x != x for false."""
    comptime if dtype.is_floating_point():
        comptime I = integer_of[dtype]
        comptime infinity = Scalar[I](0x7F80_0000) if dtype == DType.float32 else Scalar[I](0x7FF0_0000_0000_0000)
        return (bitcast[I, w](x) & Scalar[I].MAX).gt(infinity)
    else:
        return Mask[w](fill=False)


@always_inline
def fmod[w: SIMDLength](x: F64[w], y: F64[w]) -> F64[w]:
    """Return the remainder of |x| by |y|, exactly."""
    var a = magnitude(x)
    var b = magnitude(y)
    var q = (a / b).__trunc__()
    var far = q.gt(4503599627370496.0)
    if any(far):
        return far_fmod(a, b, far)
    return near_fmod(a, b, q)


@always_inline
def near_fmod[w: SIMDLength](a: F64[w], b: F64[w], q: F64[w]) -> F64[w]:
    # The quotient is off by one at most, and each of these remainders is exact.
    var r = fma(-q, b, a)
    r = r.lt(0).select(r + b, r)
    r = r.ge(b).select(r - b, r)
    return b.eq(INF).select(a.lt(INF).select(a, F64[w](NAN)), r)


@no_inline
def far_fmod[w: SIMDLength](a: F64[w], b: F64[w], far: Mask[w]) -> F64[w]:
    """Return the remainder where some quotients do not fit into a double: by long division, 11 bits at a time."""
    var out = near_fmod(a, b, (a / b).__trunc__())
    comptime for i in range(w):
        if far[i]:
            out[i] = long_division(a[i], b[i])
    return out


def long_division(a: Float64, b: Float64) -> Float64:
    # On the bits: in some graphs the compiler takes a double for finite.
    if bits(a) >= 0x7FF0_0000_0000_0000 or bits(b) == 0:
        return NAN
    var x = Decoded(a)
    var y = Decoded(b)
    var r = x.mantissa % y.mantissa
    var shift = x.exponent - y.exponent
    while shift > 0:
        var step = min(shift, 11)
        r = (r << UInt64(step)) % y.mantissa
        shift -= step
    return scale(Float64(r), U64[1](y.exponent))


@always_inline
def remainder[w: SIMDLength](x: F64[w], y: F64[w]) -> F64[w]:
    """Return the remainder with the sign of y."""
    var r = fmod(x, y)
    var other = sign_bit(x).ne(sign_bit(y)) & r.ne(0)
    return from_bits(bits(other.select(magnitude(y) - r, r)) ^ sign_bit(y))


@always_inline
def floor_divide[w: SIMDLength](x: F64[w], y: F64[w]) -> F64[w]:
    var r = fmod(x, y)
    var sign = sign_bit(x) ^ sign_bit(y)
    var q = from_bits(bits((magnitude(x) - r) / magnitude(y)) ^ sign)
    q = (sign.ne(0) & r.ne(0)).select(q - 1, q)
    # An integer, but for rounding.
    var floor = q.__floor__()
    floor = (q - floor).gt(0.5).select(floor + 1, floor)
    var odd = y.eq(0) | magnitude(x).eq(INF).ne(magnitude(y).eq(INF))
    return odd.select(x / y, floor)


@always_inline
def hypot[w: SIMDLength](x: F64[w], y: F64[w]) -> F64[w]:
    var a = magnitude(x)
    var b = magnitude(y)
    var large = a.gt(b).select(a, b)
    var ratio = a.gt(b).select(b, a) / large
    var out = large * sqrt(fma(ratio, ratio, F64[w](1)))
    out = (a.eq(0) & b.eq(0)).select(F64[w](0), out)
    out = (is_nan(x) | is_nan(y)).select(F64[w](NAN), out)
    return (a.eq(INF) | b.eq(INF)).select(F64[w](INF), out)


@always_inline
def nextafter[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    comptime I = integer_of[dtype]
    var i = bitcast[I, w](x)
    var least = (bitcast[I, w](y) & Scalar[I].MIN) | 1
    # Away from zero is up by one in the bits.
    var away = i.lt(0) ^ x.lt(y)
    var stepped = (i & Scalar[I].MAX).eq(0).select(least, away.select(i + 1, i - 1))
    var out = bitcast[dtype, w](stepped)
    return (not_a_number(x) | not_a_number(y)).select(x + y, x.eq(y).select(y, out))


@always_inline
def copysign[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    comptime I = integer_of[dtype]
    var i = bitcast[I, w](x) & Scalar[I].MAX
    return bitcast[dtype, w](i | (bitcast[I, w](y) & Scalar[I].MIN))


@always_inline
def signbit[dtype: DType, out_dtype: DType, w: SIMDLength](x: SIMD[dtype, w]) -> SIMD[out_dtype, w]:
    return bitcast[integer_of[dtype], w](x).lt(0).cast[out_dtype]()


@always_inline
def sign[dtype: DType, w: SIMDLength](x: SIMD[dtype, w]) -> SIMD[dtype, w]:
    var zero = SIMD[dtype, w](0)
    var one = SIMD[dtype, w](1)
    var nan = not_a_number(x).select(x, zero)
    comptime if dtype.is_unsigned():
        return x.gt(0).select(one, zero)
    else:
        return x.gt(0).select(one, x.lt(0).select(-one, nan))


@always_inline
def maximum[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    # Of zeros with different signs the second one, as NumPy's loops, which are x86's instruction.
    return (x.gt(y) | not_a_number(x)).select(x, y)


@always_inline
def minimum[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    return (x.lt(y) | not_a_number(x)).select(x, y)


@always_inline
def beyond_max[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> Mask[w]:
    """Is x above y? Nan is above all."""
    return (x.gt(y) | not_a_number(x)) & ~not_a_number(y)


@always_inline
def beyond_min[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> Mask[w]:
    """Is x below y? Nan is below all."""
    return (x.lt(y) | not_a_number(x)) & ~not_a_number(y)


@always_inline
def sort_key[
    dtype: DType, out_dtype: DType, w: SIMDLength, nan: Scalar[out_dtype]
](x: SIMD[dtype, w]) -> SIMD[out_dtype, w]:
    """Return integers in the order of floats, zeros equal, with `nan` for every nan."""
    var i = bitcast[out_dtype, w](x.eq(0).select(SIMD[dtype, w](0), x))
    var key = i.lt(0).select(i ^ Scalar[out_dtype].MAX, i)
    return not_a_number(x).select(SIMD[out_dtype, w](nan), key)


@always_inline
def max_key[dtype: DType, out_dtype: DType, w: SIMDLength](x: SIMD[dtype, w]) -> SIMD[out_dtype, w]:
    return sort_key[dtype, out_dtype, w, Scalar[out_dtype].MAX](x)


@always_inline
def min_key[dtype: DType, out_dtype: DType, w: SIMDLength](x: SIMD[dtype, w]) -> SIMD[out_dtype, w]:
    return sort_key[dtype, out_dtype, w, Scalar[out_dtype].MIN](x)


@always_inline
def from_key[dtype: DType, out_dtype: DType, w: SIMDLength](i: SIMD[dtype, w]) -> SIMD[out_dtype, w]:
    """Return the floats of such integers; those of nan are the bits of one."""
    return bitcast[out_dtype, w](i.lt(0).select(i ^ Scalar[dtype].MAX, i))


@always_inline
def add[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    return x + y


@always_inline
def sub[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    return x - y


@always_inline
def mul[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    comptime if dtype.is_floating_point():
        # Behind the fence, the compiler does not contract the product with a sum that follows it.
        return llvm_intrinsic["llvm.arithmetic.fence", SIMD[dtype, w], has_side_effect=False](x * y)
    else:
        return x * y


@always_inline
def div[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    return x / y


@always_inline
def neg[dtype: DType, w: SIMDLength](x: SIMD[dtype, w]) -> SIMD[dtype, w]:
    return -x


@always_inline
def eq[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> Mask[w]:
    return x.eq(y)


@always_inline
def ne[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> Mask[w]:
    return ~x.eq(y)


@always_inline
def lt[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> Mask[w]:
    return x.lt(y)


@always_inline
def le[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> Mask[w]:
    return x.le(y)


@always_inline
def gt[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> Mask[w]:
    return x.gt(y)


@always_inline
def ge[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> Mask[w]:
    return x.ge(y)


# What follows looks at the bits of sizes, since the compiler takes it that there is no nan.
@always_inline
def size_bits[dtype: DType, w: SIMDLength](x: SIMD[dtype, w]) -> SIMD[integer_of[dtype], w]:
    return bitcast[integer_of[dtype], w](x) & Scalar[integer_of[dtype]].MAX


@always_inline
def infinite_bits[dtype: DType]() -> Scalar[integer_of[dtype]]:
    comptime I = integer_of[dtype]
    comptime infinity = Scalar[I](0x7F80_0000) if dtype == DType.float32 else Scalar[I](0x7FF0_0000_0000_0000)
    return infinity


@always_inline
def isfinite[dtype: DType, out_dtype: DType, w: SIMDLength](x: SIMD[dtype, w]) -> SIMD[out_dtype, w]:
    return size_bits(x).lt(infinite_bits[dtype]()).cast[out_dtype]()


@always_inline
def isinf[dtype: DType, out_dtype: DType, w: SIMDLength](x: SIMD[dtype, w]) -> SIMD[out_dtype, w]:
    return size_bits(x).eq(infinite_bits[dtype]()).cast[out_dtype]()


@always_inline
def isnan[dtype: DType, out_dtype: DType, w: SIMDLength](x: SIMD[dtype, w]) -> SIMD[out_dtype, w]:
    return size_bits(x).gt(infinite_bits[dtype]()).cast[out_dtype]()


@always_inline
def bit_and[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    return x & y


@always_inline
def bit_or[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    return x | y


@always_inline
def bit_xor[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    return x ^ y


@always_inline
def bit_not[dtype: DType, w: SIMDLength](x: SIMD[dtype, w]) -> SIMD[dtype, w]:
    return ~x


@always_inline
def floor_divide_integers[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    """Return x // y, and NumPy's 0 where y is 0; the least integer over -1 stays."""
    comptime if dtype.is_signed():
        var safe = (y.eq(0) | y.eq(-1)).select(SIMD[dtype, w](1), y)
        var q = y.eq(-1).select(-x, x // safe)
        return y.eq(0).select(SIMD[dtype, w](0), q)
    else:
        var q = x // y.eq(0).select(SIMD[dtype, w](1), y)
        return y.eq(0).select(SIMD[dtype, w](0), q)


@always_inline
def shift_left[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    comptime n = Scalar[dtype](8 * size_of[dtype]())
    var fits = y.ge(0) & y.lt(n)
    return fits.select(x << fits.select(y, SIMD[dtype, w](0)), SIMD[dtype, w](0))


@always_inline
def shift_right[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    comptime n = Scalar[dtype](8 * size_of[dtype]())
    var fits = y.ge(0) & y.lt(n)
    var by = fits.select(y, SIMD[dtype, w](n - 1))
    comptime if dtype.is_signed():
        return x >> by
    else:
        return fits.select(x >> by, SIMD[dtype, w](0))


@always_inline
def remainder_integers[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    """Return x - (x // y) y, and NumPy's 0 where y is 0."""
    return y.eq(0).select(SIMD[dtype, w](0), x - floor_divide_integers(x, y) * y)


@always_inline
def pow_integers[dtype: DType, w: SIMDLength](x: SIMD[dtype, w], y: SIMD[dtype, w]) -> SIMD[dtype, w]:
    """Return x^y for y >= 0, wrapping."""
    var out = SIMD[dtype, w](1)
    var base = x
    var rest = y
    while any(rest.ne(0)):
        out = (rest & 1).ne(0).select(out * base, out)
        base = base * base
        rest = rest >> 1
    return out
