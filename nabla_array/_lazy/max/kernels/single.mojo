"""The most used functions for floats of 32 bits, computed in 32 bits, within 2 ulp or so.

The polynomials are interpolations at Chebyshev nodes, computed with 60 digits.
"""

from std.math import fma
from std.memory import bitcast

from .core import polynomial

comptime F32[w: SIMDLength] = SIMD[DType.float32, w]
comptime U32[w: SIMDLength] = SIMD[DType.uint32, w]

comptime INFINITE = Float32(1) / Float32(0)
# Adding this rounds a float below 2^22 to an integer, which is then in the sum's low bits.
comptime SHIFT = Float32(12582912.0)
comptime LOG2E = Float32(1.4426950408889634)
# The first bits of ln 2, whose products with exponents are exact, and the rest.
comptime LN2_FIRST = Float32(0.693359375)
comptime LN2_LAST = Float32(-2.12194440e-4)
# Beyond these, e^x is no normal float.
comptime EXP_MOST = Float32(88.72283)
comptime EXP_LEAST = Float32(-87.33654)

# (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
comptime EXP: List[Float64] = [
    0.5, 0.16666577756404877, 0.041666556149721146, 0.008363173343241215, 0.0013926175888627768
]
# (log((1 + s) / (1 - s)) - 2 s) / s^3 of z = s^2, for s <= 3 - 2 sqrt(2).
comptime LOG: List[Float64] = [0.6666666865348816, 0.4000012278556824, 0.2855082154273987, 0.2333046793937683]
# (tanh(x) - x) / x^3 of z = x^2, for |x| <= 0.625.
comptime TANH: List[Float64] = [
    -0.3333333432674408,
    0.13333304226398468,
    -0.053959257900714874,
    0.02176891826093197,
    -0.008343945257365704,
    0.002292744815349579,
]


@always_inline
def word[w: SIMDLength](x: F32[w]) -> U32[w]:
    return bitcast[DType.uint32, w](x)


@always_inline
def nan_or[w: SIMDLength](x: F32[w], y: F32[w]) -> F32[w]:
    """Do what `core.nan_or` does."""
    return (word(x) & UInt32(0x7FFF_FFFF)).gt(0x7F80_0000).select(x, y)


@always_inline
def exp[w: SIMDLength](x: F32[w]) -> F32[w]:
    var shifted = fma(x, F32[w](LOG2E), F32[w](SHIFT))
    var k = shifted - SHIFT
    var r = fma(k, F32[w](-LN2_LAST), fma(k, F32[w](-LN2_FIRST), x))
    var y = fma(r * r, polynomial[EXP](r), r) + 1
    # Times 2^k, in the bits of the exponent; between the bounds, the result has one.
    var out = bitcast[DType.float32, w](word(y) + (word(shifted) << 23))
    # What lies beyond them is rare, as in `exponential.exp`.
    if any((word(x) & UInt32(0x7FFF_FFFF)).gt(word(F32[w](-EXP_LEAST)))):
        out = x.lt(EXP_LEAST).select(F32[w](0), out)
        out = nan_or(x, x.le(EXP_MOST).select(out, F32[w](INFINITE)))
    return out


@always_inline
def log[w: SIMDLength](x: F32[w]) -> F32[w]:
    comptime SQRT_HALF = UInt32(0x3F35_04F3)
    var i = word(x) + (UInt32(0x3F80_0000) - SQRT_HALF)
    var k = ((i >> 23).cast[DType.int32]() - 127).cast[DType.float32]()
    var f = bitcast[DType.float32, w]((i & UInt32(0x7F_FFFF)) + SQRT_HALF) - 1
    var s = f / (f + 2)
    var z = s * s
    var half = 0.5 * f * f
    var rest = fma(s, fma(z, polynomial[LOG](z), half), k * LN2_LAST)
    var out = fma(k, F32[w](LN2_FIRST), -((half - rest) - f))
    # Subnormal numbers are zero here, as everywhere in MAX.
    out = x.lt(Float32(1.1754944e-38)).select(F32[w](-INFINITE), out)
    out = (x.lt(0)).select(F32[w](INFINITE - INFINITE), out)
    return nan_or(x, x.lt(INFINITE).select(out, x))


@always_inline
def tanh[w: SIMDLength](x: F32[w]) -> F32[w]:
    var sign = word(x) & (UInt32(1) << 31)
    var a = bitcast[DType.float32, w](word(x) ^ sign)
    var z = a * a
    var small = fma(a * z, polynomial[TANH](z), a)
    var large = 1 - 2 / (exp(2 * a) + 1)
    return nan_or(x, bitcast[DType.float32, w](word(a.lt(Float32(0.625)).select(small, large)) | sign))
