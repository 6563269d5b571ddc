"""Exponentials, logarithms, powers and hyperbolic functions of doubles, within 2 ulp or so.

The polynomials are interpolations at Chebyshev nodes, computed with 120 digits.
"""

from std.math import fma, sqrt

from .core import *

comptime LN2 = 0.6931471805599453
comptime LN2_REST = 2.3190468138462996e-17
# The first 32 bits of ln 2, whose products with exponents are exact, and the rest.
comptime LN2_HIGH = 0.6931471803691238
comptime LN2_LOW = 1.9082149292705877e-10
comptime LOG2_E = 1.4426950408889634
comptime LOG10_E = 0.4342944819032518
comptime LOG10_2_HIGH = 0.3010299955494702
comptime LOG10_2_LOW = 1.1451100898021838e-10
# Beyond these, e^x is no normal double.
comptime EXP_MOST = 709.782712893384
comptime EXP_LEAST = -708.3964185322641

# (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
comptime EXP: List[Float64] = [
    0.5000000000000001,
    0.16666666666666669,
    0.041666666666623824,
    0.008333333333330039,
    0.0013888888917367081,
    0.00019841269863171557,
    2.4801521057868204e-05,
    2.7557268276905696e-06,
    2.7620201591031547e-07,
    2.5100472505694996e-08,
]
# (log((1 + s) / (1 - s)) - 2 s) / s^3 of z = s^2, for s <= 3 - 2 sqrt(2).
comptime LOG: List[Float64] = [
    0.6666666666666666,
    0.4000000000000094,
    0.28571428570764074,
    0.22222222400632796,
    0.1818179469190107,
    0.1538629101914345,
    0.13267405750522118,
    0.13100854389788408,
]
# What follows the first two terms, over s^5.
comptime LOG_REST: List[Float64] = [
    0.4,
    0.28571428571429425,
    0.22222222221620416,
    0.18181818343393155,
    0.1538459411197699,
    0.133348507214037,
    0.11705009931329934,
    0.11735939336748627,
]


@always_inline
def clamp[w: SIMDLength](x: F64[w], low: Float64, high: Float64) -> F64[w]:
    """Return `x` between bounds; nan stays."""
    var y = x.gt(high).select(F64[w](high), x)
    return nan_or(x, y.lt(low).select(F64[w](low), y))


struct Reduced[w: SIMDLength](TrivialRegisterPassable):
    """Splits x = k ln(2) + r: the integer k, r, and e^r - 1 - r."""

    var k: U64[Self.w]
    var r: F64[Self.w]
    var rest: F64[Self.w]

    @always_inline
    def __init__(out self, x: F64[Self.w], low: F64[Self.w] = 0):
        var shifted = fma(x, F64[Self.w](LOG2_E), F64[Self.w](SHIFTER))
        var k = shifted - SHIFTER
        self.k = bits(shifted) - bits(F64[Self.w](SHIFTER))
        # The first difference is exact; r and r_low are their sum.
        var high = fma(k, F64[Self.w](-LN2_HIGH), x)
        var more = fma(k, F64[Self.w](-LN2_LOW), low)
        var r = high + more
        var r_low = (high - r) + more
        self.r = r
        self.rest = fma(r * r, polynomial[EXP](r), r_low)

    @always_inline
    def exp(self) -> F64[Self.w]:
        """Return e^r; the rounding error of 1 + r is made up for."""
        var y = self.r + 1
        return y + ((1 - y) + self.r + self.rest)


@always_inline
def exp[w: SIMDLength](x: F64[w]) -> F64[w]:
    var shifted = fma(x, F64[w](LOG2_E), F64[w](SHIFTER))
    var k = shifted - SHIFTER
    var r = fma(k, F64[w](-LN2_LOW), fma(k, F64[w](-LN2_HIGH), x))
    var y = fma(r * r, polynomial[EXP](r), r) + 1
    # Times 2^k, in the bits of the exponent; between the bounds, the result has one.
    var out = from_bits(bits(y) + (bits(shifted) << 52))
    # What lies beyond them is rare, and to select it every time costs a third of the whole.
    if any(bits(magnitude(x)).gt(bits(F64[w](-EXP_LEAST)))):
        out = x.lt(EXP_LEAST).select(F64[w](0), out)
        out = nan_or(x, x.le(EXP_MOST).select(out, F64[w](INF)))
    return out


@always_inline
def exp2[w: SIMDLength](x: F64[w]) -> F64[w]:
    var y = clamp(x, -1080, 1025)
    var shifted = y + SHIFTER
    var r = (y - (shifted - SHIFTER)) * LN2
    return scale(fma(r * r, polynomial[EXP](r), r) + 1, bits(shifted) - bits(F64[w](SHIFTER)))


@always_inline
def expm1_positive[w: SIMDLength](x: F64[w]) -> F64[w]:
    """Return expm1 for every x but the smallest, which it loses, and the sign of zeros."""
    var y = Reduced[w](clamp(x, -45, 710))
    # Halved, so that 2^k does not overflow before the result does.
    var half = power_of_two(y.k - 1)
    return 2 * fma(half, y.r + y.rest, half - 0.5)


@always_inline
def expm1[w: SIMDLength](x: F64[w]) -> F64[w]:
    return magnitude(x).lt(1e-300).select(x, expm1_positive(x))


struct Mantissa[w: SIMDLength](TrivialRegisterPassable):
    """Splits x = 2^k m, with m between sqrt(1/2) and sqrt(2), for positive normal x; larger ones are scaled."""

    var k: F64[Self.w]
    var m: F64[Self.w]

    @always_inline
    def __init__(out self, x: F64[Self.w]):
        comptime SQRT_HALF = UInt64(0x3FE6_A09E_667F_3BCD)
        var small = x.lt(TINY)
        var scaled = small.select(x * 18014398509481984.0, x)
        var i = bits(scaled) + (UInt64(0x3FF0_0000_0000_0000) - SQRT_HALF)
        # An integer below 2^52 becomes a double by its bits.
        var k = from_bits((i >> 52) | bits(F64[Self.w](4503599627370496.0)))
        self.k = k - small.select(F64[Self.w](4503599627370496.0 + 1077), F64[Self.w](4503599627370496.0 + 1023))
        self.m = from_bits((i & UInt64(0xF_FFFF_FFFF_FFFF)) + SQRT_HALF)


@always_inline
def log_ends[w: SIMDLength](y: F64[w], x: F64[w]) -> F64[w]:
    """Return `y`, some logarithm of `x`, with its values outside the positive numbers."""
    var out = x.lt(INF).select(y, x)
    out = x.lt(0).select(F64[w](NAN), out)
    return x.eq(0).select(F64[w](-INF), out)


@always_inline
def log_sum[w: SIMDLength](m: F64[w], high: F64[w], low: F64[w]) -> F64[w]:
    """Return log(m) + high + low."""
    var f = m - 1
    var s = f / (m + 1)
    var z = s * s
    var half = 0.5 * f * f
    var rest = fma(s, fma(z, polynomial[LOG](z), half), low)
    return high - ((half - rest) - f)


@always_inline
def log[w: SIMDLength](x: F64[w]) -> F64[w]:
    var y = Mantissa[w](x)
    return log_ends(log_sum(y.m, y.k * LN2_HIGH, y.k * LN2_LOW), x)


@always_inline
def log2[w: SIMDLength](x: F64[w]) -> F64[w]:
    var y = Mantissa[w](x)
    return log_ends(fma(log_sum(y.m, F64[w](0), F64[w](0)), F64[w](LOG2_E), y.k), x)


@always_inline
def log10[w: SIMDLength](x: F64[w]) -> F64[w]:
    var y = Mantissa[w](x)
    var rest = fma(log_sum(y.m, F64[w](0), F64[w](0)), F64[w](LOG10_E), y.k * LOG10_2_LOW)
    return log_ends(fma(y.k, F64[w](LOG10_2_HIGH), rest), x)


@always_inline
def log1p_nonzero[w: SIMDLength](x: F64[w]) -> F64[w]:
    """Return log1p for every x but zeros, whose sign it loses."""
    var u = x + 1
    var back = u - 1
    var lost = (1 - (u - back)) + (x - back)
    var y = Mantissa[w](u)
    return log_ends(log_sum(y.m, y.k * LN2_HIGH, fma(y.k, F64[w](LN2_LOW), lost / u)), u)


@always_inline
def log1p[w: SIMDLength](x: F64[w]) -> F64[w]:
    return x.eq(0).select(x, log1p_nonzero(x))


struct Pair[w: SIMDLength](TrivialRegisterPassable):
    """A sum of two doubles, the second small."""

    var high: F64[Self.w]
    var low: F64[Self.w]

    @always_inline
    def __init__(out self, high: F64[Self.w], low: F64[Self.w]):
        self.high = high
        self.low = low

    @staticmethod
    @always_inline
    def sum(x: F64[Self.w], y: F64[Self.w]) -> Self:
        """Return x + y exactly."""
        var high = x + y
        var back = high - x
        return Self(high, (x - (high - back)) + (y - back))

    @always_inline
    def times(self, other: Self) -> Self:
        var high = self.high * other.high
        var low = fma(self.high, other.high, -high)
        low = fma(self.high, other.low, fma(self.low, other.high, low))
        return Self(high, low)


@always_inline
def log_pair[w: SIMDLength](x: F64[w]) -> Pair[w]:
    """Return log(x) to some 65 bits."""
    var y = Mantissa[w](x)
    var f = y.m - 1
    var divisor = Pair[w].sum(y.m, F64[w](1))
    var inverse = 1 / divisor.high
    var s = f * inverse
    var s_low = fma(-s, divisor.low, fma(-s, divisor.high, f)) * inverse
    var quotient = Pair[w](s, s_low)
    var square = quotient.times(quotient)
    var cube = quotient.times(square)
    var third = cube.times(Pair[w](F64[w](0.6666666666666666), F64[w](3.700743415417188e-17)))
    var rest = cube.high * square.high * polynomial[LOG_REST](square.high)
    var first = Pair[w].sum(2 * s, third.high)
    var all = Pair[w].sum(y.k * LN2_HIGH, first.high)
    var low = fma(y.k, F64[w](LN2_LOW), rest + (third.low + 2 * s_low) + first.low) + all.low
    var high = all.high + low
    low = (all.high - high) + low
    # At zero, infinity and nan.
    var plain = x.lt(INF) & x.gt(0)
    var end = x.eq(0).select(F64[w](-INF), x)
    return Pair[w](plain.select(high, end), plain.select(low, F64[w](0)))


@always_inline
def is_integer[w: SIMDLength](x: F64[w]) -> Mask[w]:
    return x.__trunc__().eq(x)


@always_inline
def pow_positive[w: SIMDLength](a: F64[w], y: F64[w]) -> F64[w]:
    """Return a^y for a >= 0, but for a = 1 and y = 0."""
    var log = log_pair(a)
    var high = y * log.high
    var low = fma(y, log.low, fma(y, log.high, -high))
    low = magnitude(high).lt(800).select(low, F64[w](0))
    var e = Reduced[w](clamp(high, -750, 710), low)
    return scale(e.exp(), e.k)


@always_inline
def pow[w: SIMDLength](x: F64[w], y: F64[w]) -> F64[w]:
    var a = magnitude(x)
    var out = pow_positive(a, y)
    var whole = is_integer(y)
    var odd = whole & ~is_integer(0.5 * y)
    out = from_bits(bits(out) | odd.select(sign_bit(x), U64[w](0)))
    out = (x.lt(0) & ~whole & a.lt(INF)).select(F64[w](NAN), out)
    var one = x.eq(1) | y.eq(0) | (x.eq(-1) & magnitude(y).eq(INF))
    return one.select(F64[w](1), nan_or(x, nan_or(y, out)))


@always_inline
def half_exp[w: SIMDLength](x: F64[w]) -> F64[w]:
    """Return e^x / 2, finite as long as it fits."""
    var y = Reduced[w](clamp(x, -745, 712))
    return scale(y.exp(), y.k - 1)


@always_inline
def sinh[w: SIMDLength](x: F64[w]) -> F64[w]:
    var a = magnitude(x)
    var small = expm1(a)
    var large = half_exp(a)
    return with_sign(a.lt(1).select(0.5 * (small + small / (small + 1)), large - 0.25 / large), x)


@always_inline
def cosh[w: SIMDLength](x: F64[w]) -> F64[w]:
    var y = half_exp(magnitude(x))
    return y + 0.25 / y


@always_inline
def tanh[w: SIMDLength](x: F64[w]) -> F64[w]:
    # y / (y + 2) of y = e^(2 |x|) - 1, whose digits beyond the 53rd do not matter: for k = 0 r is exact.
    var a = magnitude(x)
    a = a.gt(22).select(F64[w](22), a)
    var shifted = fma(a, F64[w](2 * LOG2_E), F64[w](SHIFTER))
    var k = shifted - SHIFTER
    var r = fma(k, F64[w](-LN2_LOW), fma(k, F64[w](-LN2_HIGH), a + a))
    var power = from_bits((bits(shifted) << 52) + bits(F64[w](1)))
    var y = fma(power, fma(r * r, polynomial[EXP](r), r), power - 1)
    return with_sign(y / (y + 2), x)


@always_inline
def asinh[w: SIMDLength](x: F64[w]) -> F64[w]:
    var a = magnitude(x)
    var y = log1p_nonzero(a + a * a / (1 + sqrt(a * a + 1)))
    # From 2^28 on it is log(2 a).
    return with_sign(a.lt(268435456.0).select(y, log(a) + LN2), x)


@always_inline
def acosh[w: SIMDLength](x: F64[w]) -> F64[w]:
    var t = x - 1
    var y = log1p(t + sqrt(t * (t + 2)))
    y = x.lt(268435456.0).select(y, log(x) + LN2)
    return x.lt(1).select(F64[w](NAN), y)


@always_inline
def atanh[w: SIMDLength](x: F64[w]) -> F64[w]:
    var a = magnitude(x)
    return with_sign(0.5 * magnitude(log1p_nonzero(2 * a / (1 - a))), x)


@always_inline
def logaddexp[w: SIMDLength](x: F64[w], y: F64[w]) -> F64[w]:
    var difference = x - y
    var large = difference.gt(0).select(x, y)
    var out = large + log1p_nonzero(exp(-magnitude(difference)))
    return x.eq(y).select(x + LN2, out)


@always_inline
def cbrt[w: SIMDLength](x: F64[w]) -> F64[w]:
    var a = magnitude(x)
    var y = exp(log(a) * 0.3333333333333333)
    # One step of Newton's makes up for the logarithm's lost bits.
    y = y - (y - a / (y * y)) * 0.3333333333333333
    return with_sign((a.gt(0) & a.lt(INF)).select(y, a), x)
