"""What the kernels share: bits of doubles, polynomials, powers of two.

No kernel calls the C library, which accelerators do not have.
"""

from std.math import fma
from std.memory import bitcast

comptime F64[w: SIMDLength] = SIMD[DType.float64, w]
comptime I64[w: SIMDLength] = SIMD[DType.int64, w]
comptime U64[w: SIMDLength] = SIMD[DType.uint64, w]
comptime Mask[w: SIMDLength] = SIMD[DType.bool, w]

comptime INF = Float64(1) / Float64(0)
comptime NAN = INF - INF
comptime TINY = 2.2250738585072014e-308
# Adding this rounds a double below 2^51 to an integer, which is then in the sum's low bits.
comptime SHIFTER = 6755399441055744.0


@always_inline
def bits[w: SIMDLength](x: F64[w]) -> U64[w]:
    return bitcast[DType.uint64, w](x)


@always_inline
def from_bits[w: SIMDLength](x: U64[w]) -> F64[w]:
    return bitcast[DType.float64, w](x)


@always_inline
def sign_bit[w: SIMDLength](x: F64[w]) -> U64[w]:
    return bits(x) & (UInt64(1) << 63)


@always_inline
def magnitude[w: SIMDLength](x: F64[w]) -> F64[w]:
    return from_bits(bits(x) & UInt64(0x7FFF_FFFF_FFFF_FFFF))


@always_inline
def with_sign[w: SIMDLength](x: F64[w], sign: F64[w]) -> F64[w]:
    """Return `x`, which has no sign, with that of `sign`."""
    return from_bits(bits(x) | sign_bit(sign))


@always_inline
def is_nan[w: SIMDLength](x: F64[w]) -> Mask[w]:
    # On the bits: the compiler takes x != x for false.
    return (bits(x) & UInt64(0x7FFF_FFFF_FFFF_FFFF)).gt(0x7FF0_0000_0000_0000)


@always_inline
def nan_or[w: SIMDLength](x: F64[w], y: F64[w]) -> F64[w]:
    """Return `y`, but nan where `x` is: the compiler may turn comparisons round, which nan survives one way only."""
    return is_nan(x).select(x, y)


@always_inline
def raised[n: Int, dtype: DType, w: SIMDLength](x: SIMD[dtype, w]) -> SIMD[dtype, w]:
    """Return x^n, for a power of two n."""
    comptime if n == 1:
        return x
    else:
        var root = raised[n // 2](x)
        return root * root


@always_inline
def polynomial[
    coefficients: List[Float64], first: Int = 0, n: Int = len(coefficients), *, dtype: DType, w: SIMDLength
](x: SIMD[dtype, w]) -> SIMD[dtype, w]:
    """Return the polynomial with the `n` coefficients from `first` on, the constant one first.

    By Estrin's scheme, whose halves do not wait for each other as the steps of Horner's do.
    """
    comptime if n == 1:
        comptime c = Scalar[dtype](coefficients[first])
        return SIMD[dtype, w](c)
    else:
        comptime half = 1 if n == 2 else 2 if n <= 4 else 4 if n <= 8 else 8 if n <= 16 else 16
        comptime assert n <= 2 * half, "polynomials have 32 coefficients at most"
        var low = polynomial[coefficients, first, half](x)
        return fma(polynomial[coefficients, first + half, n - half](x), raised[half](x), low)


@always_inline
def power_of_two[w: SIMDLength](k: U64[w]) -> F64[w]:
    """Return 2^k for -1022 <= k <= 1023, an integer in two's complement."""
    return from_bits((k + 1023) << 52)


@always_inline
def scale[w: SIMDLength](x: F64[w], k: U64[w]) -> F64[w]:
    """Return x 2^k in two steps, so that only a result out of range overflows or underflows."""
    var half = ((k + 2048) >> 1) - 1024
    return (x * power_of_two(half)) * power_of_two(k - half)


struct Decoded(TrivialRegisterPassable):
    """A positive finite double as an integer times 2^exponent."""

    var mantissa: UInt64
    var exponent: Int

    @always_inline
    def __init__(out self, x: Float64):
        var field = bits(x) >> 52
        var fraction = bits(x) & 0xF_FFFF_FFFF_FFFF
        self.mantissa = fraction if field == 0 else fraction | (UInt64(1) << 52)
        self.exponent = Int(max(field, 1)) - 1075
