"""Sines, tangents and their inverses, of doubles, within 2 ulp or so."""

from std.bit import count_leading_zeros
from std.math import fma, sqrt

from .core import *

comptime PI_2 = 1.5707963267948966
comptime PI_2_REST = 6.123233995736766e-17
comptime PI_2_LAST = -1.4973849048591698e-33
comptime TWO_OVER_PI = 0.6366197723675814
# Up to here three doubles of pi / 2 are enough; beyond, all digits are needed that the angle's exponent reaches.
comptime LARGE = 1048576.0
# The bits of 2 / pi, after 64 that are 0.
comptime DIGITS = SIMD[DType.uint64, 32](
    0x0000000000000000,
    0xA2F9836E4E441529,
    0xFC2757D1F534DDC0,
    0xDB6295993C439041,
    0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0,
    0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484,
    0xE99C7026B45F7E41,
    0x3991D639835339F4,
    0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F,
    0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA,
    0x6BFB5FB11F8D5D08,
    0x56033046FC7B6BAB,
    0xF0CFBC209AF4361D,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
)

# (sin(r) / r - 1) / z of z = r^2, for |r| <= pi / 4.
comptime SIN: List[Float64] = [
    -0.16666666666666666,
    0.008333333333333331,
    -0.0001984126984126482,
    2.7557319219149224e-06,
    -2.5052106166800278e-08,
    1.605852126593136e-10,
    -7.586089885879958e-13,
]
# (cos(r) - 1 + z / 2) / z^2.
comptime COS: List[Float64] = [
    0.041666666666666664,
    -0.0013888888888888887,
    2.480158730158451e-05,
    -2.755731922129722e-07,
    2.087675575458191e-09,
    -1.1470455131501131e-11,
    4.745534290878662e-14,
]
# (atan(t) / t - 1) / z of z = t^2, for t <= tan(pi / 8).
comptime ATAN: List[Float64] = [
    -0.3333333333333333,
    0.19999999999995083,
    -0.1428571428457574,
    0.11111111007990161,
    -0.0909090428439351,
    0.07692176401896392,
    -0.06664416305576737,
    0.05857326615908139,
    -0.05081168504125777,
    0.03910860160256512,
    -0.0190269445832592,
]
# (asin(s) / s - 1) / z of z = s^2 <= 1/4.
comptime ASIN: List[Float64] = [
    0.16666666666666669,
    0.07499999999998411,
    0.04464285714640047,
    0.030381944134904228,
    0.022372173092238483,
    0.01735238907363553,
    0.013971268926651485,
    0.011478614420744116,
    0.010326580981628952,
    0.005440910449340163,
    0.017447131447283267,
    -0.014925759768723424,
    0.02880936073076721,
]


@always_inline
def product(x: UInt64, y: UInt64) -> Tuple[UInt64, UInt64]:
    """Return the high and the low half."""
    var xy = UInt128(x) * UInt128(y)
    return UInt64(xy >> 64), UInt64(xy & 0xFFFF_FFFF_FFFF_FFFF)


def reduced(x: Float64) -> Tuple[UInt64, Float64, Float64]:
    """Return the quadrant of a finite angle beyond LARGE, and what is left, up to pi / 4, as a sum of two.

    After Payne and Hanek (1983): of x 2 / pi modulo 4 come 192 bits, 190 of them behind the point.
    """
    var a = Decoded(x)
    var digits = materialize[DIGITS]()
    # Digits before this one add multiples of 4.
    var start = a.exponent + 62
    var word = start >> 6
    var shift = UInt64(start & 63)
    var window = SIMD[DType.uint64, 4](0)
    comptime for i in range(3):
        var next = (digits[word + i + 1] >> 1) >> (63 - shift)
        window[i] = (digits[word + i] << shift) | next
    var last = product(a.mantissa, window[2])
    var middle = product(a.mantissa, window[1])
    var m = middle[1] + last[0]
    var h = a.mantissa * window[0] + middle[0] + (UInt64(1) if m < last[0] else UInt64(0))
    var l = last[1]
    var quadrant = h >> 62
    h = (h << 2) | (m >> 62)
    m = (m << 2) | (l >> 62)
    l = l << 2
    var negative = h >> 63 == 1
    if negative:  # nearer to the next one
        quadrant += 1
        l = ~l + 1
        m = ~m + (UInt64(1) if l == 0 else UInt64(0))
        h = ~h + (UInt64(1) if l == 0 and m == 0 else UInt64(0))
    var zeros = UInt64(0)
    if h == 0:  # as near as doubles come to a multiple of pi / 2
        h, m, l, zeros = m, l, UInt64(0), UInt64(64)
    var n = UInt64(count_leading_zeros(h))
    h = (h << n) | ((m >> 1) >> (63 - n))
    m = (m << n) | ((l >> 1) >> (63 - n))
    zeros += n
    var high = Float64(h >> 11) * power_of_two(-(zeros + 53))
    var low = Float64(((h & 0x7FF) << 53) | (m >> 11)) * power_of_two(-(zeros + 117))
    if negative:
        high, low = -high, -low
    var r = high * PI_2
    return quadrant, r, fma(high, PI_2, -r) + (high * PI_2_REST + low * PI_2)


struct Angle[w: SIMDLength](TrivialRegisterPassable):
    """The quadrant of an angle, and sine and cosine of what is left, up to pi / 4."""

    var quadrant: U64[Self.w]
    var sin: F64[Self.w]
    var cos: F64[Self.w]

    @always_inline
    def __init__(out self, x: F64[Self.w]):
        var shifted = fma(x, F64[Self.w](TWO_OVER_PI), F64[Self.w](SHIFTER))
        var k = shifted - SHIFTER
        self.quadrant = bits(shifted)
        # The first difference is exact; the second is kept as a sum of two.
        var first = fma(k, F64[Self.w](-PI_2), x)
        var term = k * PI_2_REST
        var rest = fma(k, F64[Self.w](PI_2_REST), -term)
        var r = first - term
        var back = r - first
        var low = ((first - (r - back)) - (term + back)) - fma(k, F64[Self.w](PI_2_LAST), rest)
        if any(x.gt(LARGE)):
            Self.reduce(x, self.quadrant, r, low)
        var z = r * r
        var half = 0.5 * z
        self.sin = r + fma(r * z, polynomial[SIN](z), low * (1 - half))
        var c = 1 - half
        self.cos = c + (((1 - c) - half) + fma(z * z, polynomial[COS](z), -r * low))

    @staticmethod
    @no_inline
    def reduce(x: F64[Self.w], mut quadrant: U64[Self.w], mut r: F64[Self.w], mut low: F64[Self.w]):
        """Replace the quadrant and what is left of it where the angle is large."""
        comptime for i in range(Self.w):
            if x[i] == INF:
                r[i] = NAN
            elif x[i] > LARGE:
                quadrant[i], r[i], low[i] = reduced(x[i])


@always_inline
def turned[w: SIMDLength](x: Angle[w], quadrant: U64[w]) -> F64[w]:
    """Return the sine of what is left of `x`, after so many quarter turns."""
    var y = (quadrant & 1).eq(0).select(x.sin, x.cos)
    return from_bits(bits(y) ^ ((quadrant & 2) << 62))


@always_inline
def sin[w: SIMDLength](x: F64[w]) -> F64[w]:
    var angle = Angle[w](magnitude(x))
    return from_bits(bits(turned(angle, angle.quadrant)) ^ sign_bit(x))


@always_inline
def cos[w: SIMDLength](x: F64[w]) -> F64[w]:
    var angle = Angle[w](magnitude(x))
    return turned(angle, angle.quadrant + 1)


@always_inline
def tan[w: SIMDLength](x: F64[w]) -> F64[w]:
    var angle = Angle[w](magnitude(x))
    var y = turned(angle, angle.quadrant) / turned(angle, angle.quadrant + 1)
    return from_bits(bits(y) ^ sign_bit(x))


@always_inline
def atan_ratio[w: SIMDLength](n: F64[w], d: F64[w]) -> F64[w]:
    """Return atan(n / d) for n and d from 0 to 2^1000, not both 0; d may be infinite where n is not."""
    var large = n.gt(2.414213562373095 * d)
    var middle = n.gt(0.41421356237309503 * d)
    var t = large.select(-d, middle.select(n - d, n)) / large.select(n, middle.select(n + d, d))
    var z = t * t
    var y = fma(t * z, polynomial[ATAN](z), t)
    var turn = large.select(F64[w](1), middle.select(F64[w](0.5), F64[w](0)))
    return fma(turn, F64[w](PI_2), fma(turn, F64[w](PI_2_REST), y))


@always_inline
def atan[w: SIMDLength](x: F64[w]) -> F64[w]:
    return with_sign(atan_ratio(magnitude(x), F64[w](1)), x)


@always_inline
def atan2[w: SIMDLength](y: F64[w], x: F64[w]) -> F64[w]:
    var n = magnitude(y)
    var d = magnitude(x)
    # 2^-60 keeps the sum of the two finite; equal infinities, and zeros, have known ratios.
    var shrink = (n.gt(1e300) | d.gt(1e300)).select(F64[w](8.673617379884035e-19), F64[w](1))
    var infinite = n.eq(INF) & d.eq(INF)
    var zero = n.eq(0)
    var out = atan_ratio(
        infinite.select(F64[w](1), n * shrink),
        (infinite | (zero & d.eq(0))).select(F64[w](1), d * shrink),
    )
    out = sign_bit(x).ne(0).select(2 * PI_2 - (out - 2 * PI_2_REST), out)
    return (is_nan(x) | is_nan(y)).select(F64[w](NAN), with_sign(out, y))


struct Arc[w: SIMDLength](TrivialRegisterPassable):
    """For a = |x|: the arc sine of a, or up from 1/2 that of sqrt((1 - a) / 2)."""

    var large: Mask[Self.w]
    var arc: F64[Self.w]

    @always_inline
    def __init__(out self, a: F64[Self.w]):
        self.large = a.gt(0.5)
        var halved = 0.5 * (1 - a)
        var z = self.large.select(halved, a * a)
        var s = self.large.select(sqrt(halved), a)
        self.arc = fma(s * z, polynomial[ASIN](z), s)


@always_inline
def asin[w: SIMDLength](x: F64[w]) -> F64[w]:
    var y = Arc[w](magnitude(x))
    return with_sign(magnitude(y.large.select(PI_2 - (2 * y.arc - PI_2_REST), y.arc)), x)


@always_inline
def acos[w: SIMDLength](x: F64[w]) -> F64[w]:
    var y = Arc[w](magnitude(x))
    var twice = 2 * y.arc
    var far = x.lt(0).select(2 * PI_2 - (twice - 2 * PI_2_REST), twice)
    return y.large.select(far, PI_2 - (from_bits(bits(y.arc) ^ sign_bit(x)) - PI_2_REST))
