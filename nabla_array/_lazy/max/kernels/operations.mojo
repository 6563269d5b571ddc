"""The names under which graphs find the kernels. But for those in `single`, floats of 32 bits are computed in 64."""

import extensibility
from extensibility import *

from . import arithmetic, exponential, single, special, trigonometric
from .core import nan_or


@extensibility.register("nabla.exp")
struct Exp(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        comptime if dtype == DType.float64:
            return exponential.exp(x.cast[DType.float64]()).cast[dtype]()
        else:
            return single.exp(x.cast[DType.float32]()).cast[dtype]()

@extensibility.register("nabla.exp2")
struct Exp2(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, exponential.exp2(y)).cast[dtype]()

@extensibility.register("nabla.expm1")
struct Expm1(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, exponential.expm1(y)).cast[dtype]()

@extensibility.register("nabla.log")
struct Log(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        comptime if dtype == DType.float64:
            var y = x.cast[DType.float64]()
            return nan_or(y, exponential.log(y)).cast[dtype]()
        else:
            return single.log(x.cast[DType.float32]()).cast[dtype]()

@extensibility.register("nabla.log1p")
struct Log1p(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, exponential.log1p(y)).cast[dtype]()

@extensibility.register("nabla.log2")
struct Log2(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, exponential.log2(y)).cast[dtype]()

@extensibility.register("nabla.log10")
struct Log10(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, exponential.log10(y)).cast[dtype]()

@extensibility.register("nabla.cbrt")
struct Cbrt(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, exponential.cbrt(y)).cast[dtype]()

@extensibility.register("nabla.sinh")
struct Sinh(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, exponential.sinh(y)).cast[dtype]()

@extensibility.register("nabla.cosh")
struct Cosh(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, exponential.cosh(y)).cast[dtype]()

@extensibility.register("nabla.tanh")
struct Tanh(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        comptime if dtype == DType.float64:
            var y = x.cast[DType.float64]()
            return nan_or(y, exponential.tanh(y)).cast[dtype]()
        else:
            return single.tanh(x.cast[DType.float32]()).cast[dtype]()

@extensibility.register("nabla.asinh")
struct Asinh(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, exponential.asinh(y)).cast[dtype]()

@extensibility.register("nabla.acosh")
struct Acosh(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, exponential.acosh(y)).cast[dtype]()

@extensibility.register("nabla.atanh")
struct Atanh(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, exponential.atanh(y)).cast[dtype]()

@extensibility.register("nabla.sin")
struct Sin(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, trigonometric.sin(y)).cast[dtype]()

@extensibility.register("nabla.cos")
struct Cos(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, trigonometric.cos(y)).cast[dtype]()

@extensibility.register("nabla.tan")
struct Tan(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, trigonometric.tan(y)).cast[dtype]()

@extensibility.register("nabla.asin")
struct Asin(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, trigonometric.asin(y)).cast[dtype]()

@extensibility.register("nabla.acos")
struct Acos(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, trigonometric.acos(y)).cast[dtype]()

@extensibility.register("nabla.atan")
struct Atan(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var y = x.cast[DType.float64]()
        return nan_or(y, trigonometric.atan(y)).cast[dtype]()

@extensibility.register("nabla.logaddexp")
struct Logaddexp(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        var a = x.cast[DType.float64]()
        var b = y.cast[DType.float64]()
        return nan_or(a, nan_or(b, exponential.logaddexp(a, b))).cast[dtype]()

@extensibility.register("nabla.atan2")
struct Atan2(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return trigonometric.atan2(x.cast[DType.float64](), y.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.hypot")
struct Hypot(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.hypot(x.cast[DType.float64](), y.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.pow")
struct Pow(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        comptime if dtype.is_floating_point():
            return exponential.pow(x.cast[DType.float64](), y.cast[DType.float64]()).cast[dtype]()
        else:
            return arithmetic.pow_integers(x, y)

@extensibility.register("nabla.floor_divide")
struct FloorDivide(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        comptime if dtype.is_floating_point():
            return arithmetic.floor_divide(x.cast[DType.float64](), y.cast[DType.float64]()).cast[dtype]()
        else:
            return arithmetic.floor_divide_integers(x, y)

@extensibility.register("nabla.remainder")
struct Remainder(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        comptime if dtype.is_floating_point():
            return arithmetic.remainder(x.cast[DType.float64](), y.cast[DType.float64]()).cast[dtype]()
        else:
            return arithmetic.remainder_integers(x, y)

@extensibility.register("nabla.maximum")
struct Maximum(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.maximum(x, y)

@extensibility.register("nabla.minimum")
struct Minimum(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.minimum(x, y)

@extensibility.register("nabla.copysign")
struct Copysign(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.copysign(x, y)

@extensibility.register("nabla.nextafter")
struct Nextafter(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.nextafter(x, y)

@extensibility.register("nabla.shift_left")
struct ShiftLeft(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.shift_left(x, y)

@extensibility.register("nabla.shift_right")
struct ShiftRight(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.shift_right(x, y)

@extensibility.register("nabla.bit_and")
struct BitAnd(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.bit_and(x, y)

@extensibility.register("nabla.bit_or")
struct BitOr(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.bit_or(x, y)

@extensibility.register("nabla.bit_xor")
struct BitXor(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.bit_xor(x, y)

@extensibility.register("nabla.sign")
struct Sign(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.sign(x)

@extensibility.register("nabla.bit_not")
struct BitNot(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.bit_not(x)

@extensibility.register("nabla.signbit")
struct Signbit(ElementwiseUnaryMixedOp):
    @staticmethod
    def elementwise[
        dtype: DType, out_dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width]) -> SIMD[out_dtype, width]:
        return arithmetic.signbit[dtype, out_dtype](x)

@extensibility.register("nabla.max_key")
struct MaxKey(ElementwiseUnaryMixedOp):
    @staticmethod
    def elementwise[
        dtype: DType, out_dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width]) -> SIMD[out_dtype, width]:
        return arithmetic.max_key[dtype, out_dtype](x)

@extensibility.register("nabla.min_key")
struct MinKey(ElementwiseUnaryMixedOp):
    @staticmethod
    def elementwise[
        dtype: DType, out_dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width]) -> SIMD[out_dtype, width]:
        return arithmetic.min_key[dtype, out_dtype](x)

@extensibility.register("nabla.from_key")
struct FromKey(ElementwiseUnaryMixedOp):
    @staticmethod
    def elementwise[
        dtype: DType, out_dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width]) -> SIMD[out_dtype, width]:
        return arithmetic.from_key[dtype, out_dtype](x)

@extensibility.register("nabla.add")
struct Add(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.add(x, y)


@extensibility.register("nabla.sub")
struct Sub(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.sub(x, y)


@extensibility.register("nabla.mul")
struct Mul(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.mul(x, y)


@extensibility.register("nabla.div")
struct Div(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.div(x, y)


@extensibility.register("nabla.neg")
struct Neg(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return arithmetic.neg(x)


@extensibility.register("nabla.eq")
struct Eq(ElementwiseBinaryComparisonOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[DType.bool, width]:
        return arithmetic.eq(x, y)


@extensibility.register("nabla.ne")
struct Ne(ElementwiseBinaryComparisonOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[DType.bool, width]:
        return arithmetic.ne(x, y)


@extensibility.register("nabla.lt")
struct Lt(ElementwiseBinaryComparisonOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[DType.bool, width]:
        return arithmetic.lt(x, y)


@extensibility.register("nabla.le")
struct Le(ElementwiseBinaryComparisonOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[DType.bool, width]:
        return arithmetic.le(x, y)


@extensibility.register("nabla.gt")
struct Gt(ElementwiseBinaryComparisonOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[DType.bool, width]:
        return arithmetic.gt(x, y)


@extensibility.register("nabla.ge")
struct Ge(ElementwiseBinaryComparisonOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[DType.bool, width]:
        return arithmetic.ge(x, y)


@extensibility.register("nabla.beyond_max")
struct BeyondMax(ElementwiseBinaryComparisonOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[DType.bool, width]:
        return arithmetic.beyond_max(x, y)


@extensibility.register("nabla.beyond_min")
struct BeyondMin(ElementwiseBinaryComparisonOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[DType.bool, width]:
        return arithmetic.beyond_min(x, y)


@extensibility.register("nabla.isfinite")
struct Isfinite(ElementwiseUnaryMixedOp):
    @staticmethod
    def elementwise[
        dtype: DType, out_dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width]) -> SIMD[out_dtype, width]:
        return arithmetic.isfinite[dtype, out_dtype](x)


@extensibility.register("nabla.isinf")
struct Isinf(ElementwiseUnaryMixedOp):
    @staticmethod
    def elementwise[
        dtype: DType, out_dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width]) -> SIMD[out_dtype, width]:
        return arithmetic.isinf[dtype, out_dtype](x)


@extensibility.register("nabla.isnan")
struct Isnan(ElementwiseUnaryMixedOp):
    @staticmethod
    def elementwise[
        dtype: DType, out_dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width]) -> SIMD[out_dtype, width]:
        return arithmetic.isnan[dtype, out_dtype](x)


@extensibility.register("nabla.again")
struct Again(ElementwiseUnaryOp):
    """What it is given, which the graph compiler does not see."""

    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return x


@extensibility.register("nabla.cumsum")
struct CumSum:
    """Sums along the last axis."""

    @staticmethod
    def execute[
        dtype: DType, rank: Int
    ](output: OutputTensor[dtype=dtype, rank=rank, ...], x: InputTensor[dtype=dtype, rank=rank, ...]):
        comptime wide = DType.float64 if dtype.is_floating_point() else dtype
        var n = x.dim_size[rank - 1]()
        var size = x.size()
        for start in range(0, size, max(n, 1)):
            # To -0 all add as they are; of integers it is 0.
            var total = -Scalar[wide](0)
            for i in range(start, start + n):
                total += x.unsafe_ptr().unsafe_load(i).cast[wide]()
                output.unsafe_ptr().unsafe_store(i, total.cast[dtype]())


@extensibility.register("nabla.cumprod")
struct CumProd:
    """Products along the last axis."""

    @staticmethod
    def execute[
        dtype: DType, rank: Int
    ](output: OutputTensor[dtype=dtype, rank=rank, ...], x: InputTensor[dtype=dtype, rank=rank, ...]):
        comptime wide = DType.float64 if dtype.is_floating_point() else dtype
        var n = x.dim_size[rank - 1]()
        var size = x.size()
        for start in range(0, size, max(n, 1)):
            var product = Scalar[wide](1)
            for i in range(start, start + n):
                product *= x.unsafe_ptr().unsafe_load(i).cast[wide]()
                output.unsafe_ptr().unsafe_store(i, product.cast[dtype]())

@extensibility.register("nabla.expit")
struct Expit(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.expit(x.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.log_expit")
struct LogExpit(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.log_expit(x.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.logit")
struct Logit(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.logit(x.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.entr")
struct Entr(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.entr(x.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.erf")
struct Erf(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.erf(x.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.erfc")
struct Erfc(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.erfc(x.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.ndtr")
struct Ndtr(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.ndtr(x.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.i0")
struct I0(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.i0(x.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.i0e")
struct I0e(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.i0e(x.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.i1")
struct I1(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.i1(x.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.i1e")
struct I1e(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.i1e(x.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.erfcx")
struct Erfcx(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.erfcx(x.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.log_ndtr")
struct LogNdtr(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.log_ndtr(x.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.gammaln")
struct Gammaln(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.gammaln(x.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.psi")
struct Psi(ElementwiseUnaryOp):
    @staticmethod
    def elementwise[dtype: DType, width: SIMDLength](x: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.psi(x.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.xlogy")
struct Xlogy(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.xlogy(x.cast[DType.float64](), y.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.xlog1py")
struct Xlog1py(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.xlog1py(x.cast[DType.float64](), y.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.rel_entr")
struct RelEntr(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.rel_entr(x.cast[DType.float64](), y.cast[DType.float64]()).cast[dtype]()

@extensibility.register("nabla.kl_div")
struct KlDiv(ElementwiseBinaryOp):
    @staticmethod
    def elementwise[
        dtype: DType, width: SIMDLength
    ](x: SIMD[dtype, width], y: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return special.kl_div(x.cast[DType.float64](), y.cast[DType.float64]()).cast[dtype]()
