"""Special functions of doubles, as SciPy defines them, within 6 ulp or so.

The error functions round x^2 as SciPy's do, which costs both of them digits far out.
The polynomials are interpolations at Chebyshev nodes, computed with 120 digits.
"""

from std.math import fma, round, sqrt

from .core import *
from .exponential import exp, log, log1p_nonzero, log1p
from .trigonometric import sin, tan

# That of half of the least subnormal double.
comptime LOG_LEAST = -745.1332191019412
comptime SQRT_HALF = 0.7071067811865476
comptime PI = 3.141592653589793
comptime HALF_LOG_TAU = 0.9189385332046728
# The positive root of psi, as a sum.
comptime PSI_ROOT = 1.4616321449683622
comptime PSI_ROOT_REST = 9.549995429965697e-17
comptime ERFC_SHIFT = 3.0
# Where the series in x^2 of the Bessel functions gives way to that in 1 / x.
comptime BESSEL_FAR = 8.0
# erf(x) / x of z = x^2, for x <= 1.
comptime ERF: List[Float64] = [
    1.1283791670955126,
    -0.3761263890318375,
    0.11283791670954879,
    -0.026866170645076792,
    0.0052239776248180145,
    -0.000854832698083379,
    0.0001205533111164271,
    -1.4925595266831182e-05,
    1.6461000484121368e-06,
    -1.6350312701054695e-07,
    1.4659775274047436e-08,
    -1.1372848856791674e-09,
    5.957176147748911e-11,
]
# (x + 3) e^(x^2) erfc(x) of u = 1 / (x + 3), for x >= 0.7.
comptime ERFC: List[Float64] = [
    0.5641895835477563,
    1.6925687506432658,
    4.795611460158055,
    12.694265629226738,
    30.889379788320696,
    67.27959969716329,
    124.61587214867245,
    171.9857198211216,
    80.5577658286714,
    -465.1438873234887,
    -1390.992133231283,
    -7491.779099136404,
    54650.097596376814,
    -480577.4452467038,
    3744339.341242387,
    -21516263.234990887,
    97854570.66631132,
    -343014032.1035077,
    874990264.9697868,
    -1543736158.09685,
    1762577970.4336023,
    -1128506754.885998,
    233196295.13359007,
    80526459.07396725,
]
# (I0(x) - 1) / a of a = x^2 / 4, for x <= 8.
comptime I0_NEAR: List[Float64] = [
    1.0,
    0.24999999999999978,
    0.02777777777777875,
    0.0017361111111093212,
    6.944444444616768e-05,
    1.9290123446808463e-06,
    3.936759926835679e-08,
    6.151186352073215e-10,
    7.594076203674035e-12,
    7.593826261486644e-14,
    6.2782596125899935e-16,
    4.3438583592285594e-18,
    2.6459481729049967e-20,
    1.1142728859197163e-22,
    9.319037302519698e-25,
]
# sqrt(x) e^(-x) I0(x) of u = 1 / x, for x >= 8.
comptime I0_FAR: List[Float64] = [
    0.39894228040143265,
    0.04986778505049156,
    0.028050628691848427,
    0.029219606504316178,
    0.04468877175959815,
    0.09924132895439314,
    -0.6976770807986133,
    70.32274237094269,
    -3812.6081502570473,
    156388.81527710462,
    -4883899.10095796,
    117610269.05846043,
    -2198414177.5530105,
    31963441377.13554,
    -360565268739.10645,
    3132331466909.3965,
    -20675840709802.957,
    101463481414972.14,
    -357421350709791.6,
    851626889507190.9,
    -1225103318476810.0,
    800346988349134.4,
]
# (I1(x) / (x / 2) - 1) / a of a = x^2 / 4, for x <= 8.
comptime I1_NEAR: List[Float64] = [
    0.5,
    0.08333333333333331,
    0.0069444444444445004,
    0.0003472222222221193,
    1.1574074074173187e-05,
    2.7557319218244207e-07,
    4.9209498831124465e-09,
    6.834652024432265e-11,
    7.594068659611249e-13,
    6.903555797446423e-15,
    5.231322675888681e-17,
    3.3442300506385306e-19,
    1.880771354951542e-21,
    7.606752944827284e-24,
    5.669579277854459e-26,
]
# sqrt(x) e^(-x) I1(x) of u = 1 / x, for x >= 8.
comptime I1_FAR: List[Float64] = [
    0.3989422804014327,
    -0.14960335515085466,
    -0.046751048079463904,
    -0.04090737168082547,
    -0.057471478573254825,
    -0.11949568935393878,
    0.6682057368040907,
    -71.25618068088797,
    3852.3490394980076,
    -157772.53576293093,
    4917379.967165212,
    -118138254.99830823,
    2202075683.6660624,
    -31908798796.59102,
    358489310165.8309,
    -3099028995433.8486,
    20334133653810.56,
    -99059663888979.9,
    345820426267478.5,
    -814758808307128.5,
    1155412021352067.5,
    -740866348403865.2,
]
# log(gamma(x)) / ((x - 1) (x - 2)) of t = x - 2, for 1 <= x <= 3.
comptime LOG_GAMMA: List[Float64] = [
    0.42278433509846713,
    -0.10031730167435392,
    0.03296500062115691,
    -0.012384192193371805,
    0.004998641164627129,
    -0.0021081308339216706,
    0.0009153769240386907,
    -0.0004057073983775151,
    0.0001825526153982638,
    -8.309511477709561e-05,
    3.816907658276081e-05,
    -1.7661767658452517e-05,
    8.221234475942905e-06,
    -3.846858091533014e-06,
    1.8113906873056685e-06,
    -8.54560908975883e-07,
    3.958940459367468e-07,
    -1.878442644643758e-07,
    1.042041826608264e-07,
    -4.9827532071170234e-08,
    5.910565853507869e-09,
    -2.7296358592514825e-09,
    1.6194359237484174e-08,
    -7.842557720538356e-09,
    -4.312495770350818e-09,
    2.0986002157033107e-09,
    1.5746606982777302e-09,
    -7.639292345836201e-10,
]
# x (log(gamma(x)) - (x - 1 / 2) log(x) + x - log(2 pi) / 2) of z = 1 / x^2, for x >= 8.
comptime STIRLING: List[Float64] = [
    0.08333333333333333,
    -0.002777777777773988,
    0.000793650789752374,
    -0.0005952365844987332,
    0.0008414700845084233,
    -0.0018903829559755586,
    0.005065904614765912,
]
# x^2 (log(x) - 1 / (2 x) - psi(x)) of z = 1 / x^2, for x >= 10.
comptime PSI_FAR: List[Float64] = [
    0.08333333333333333,
    -0.008333333333329106,
    0.003968253961468057,
    -0.004166662567411554,
    0.007574572228183736,
    -0.02091510603714855,
    0.06980454894449505,
]
# psi(x) / t of the distance t from its root, for |t| <= 0.35.
comptime PSI_NEAR: List[Float64] = [
    0.9676722454476212,
    -0.44276316898359214,
    0.25849976095560984,
    -0.16394270544237835,
    0.10782405070021173,
    -0.0721995612625775,
    0.0488042874166747,
    -0.0331611259634596,
    0.022597679438807503,
    -0.015424787255238832,
    0.010538062035013356,
    -0.007204035236080484,
    0.004936749002906017,
    -0.0033766210892406967,
    0.002226560742141309,
    -0.0015231853838808072,
    0.0014044175888671799,
    -0.0009608279729024406,
]


# -- logistic functions and entropies ---------------------------------------------------------------------


@always_inline
def expit[w: SIMDLength](x: F64[w]) -> F64[w]:
    var e = exp(-magnitude(x))
    var y = 1 / (1 + e)
    return nan_or(x, x.lt(0).select(e * y, y))


@always_inline
def log_expit[w: SIMDLength](x: F64[w]) -> F64[w]:
    var y = log1p_nonzero(exp(-magnitude(x)))
    return nan_or(x, x.lt(0).select(x - y, -y))


@always_inline
def logit[w: SIMDLength](x: F64[w]) -> F64[w]:
    # In the middle 2 x - 1 is exact, and the logarithm of a quotient near 1 would lose its digits.
    var s = 2 * x - 1
    var a = magnitude(s)
    var middle = with_sign(magnitude(log1p_nonzero(2 * a / (1 - a))), s)
    var quotient = x / (1 - x)
    var outer = nan_or(quotient, log(quotient))
    return nan_or(x, a.lt(0.35).select(middle, outer))


@always_inline
def times_log[w: SIMDLength](x: F64[w], y: F64[w], log_y: F64[w]) -> F64[w]:
    """Return x log_y, where `log_y` is a logarithm that `y` decides; 0 where `x` is 0 and `y` is not nan."""
    return nan_or(y, nan_or(x, x.eq(0).select(F64[w](0), x * log_y)))


@always_inline
def xlogy[w: SIMDLength](x: F64[w], y: F64[w]) -> F64[w]:
    return times_log(x, y, log(y))


@always_inline
def xlog1py[w: SIMDLength](x: F64[w], y: F64[w]) -> F64[w]:
    return times_log(x, y, log1p(y))


@always_inline
def entr[w: SIMDLength](x: F64[w]) -> F64[w]:
    var y = x.eq(0).select(F64[w](0), -x * log(x))
    return nan_or(x, x.lt(0).select(F64[w](-INF), y))


@always_inline
def log_ratio[w: SIMDLength](x: F64[w], y: F64[w]) -> F64[w]:
    """Return log(x / y) of positive numbers, whose quotient may be near 1 or out of range."""
    var ratio = x / y
    var near = log1p((x - y) / y)
    var far = (ratio.gt(TINY) & ratio.lt(INF)).select(log(ratio), log(x) - log(y))
    return (ratio.gt(0.5) & ratio.lt(2)).select(near, far)


@always_inline
def rel_entr[w: SIMDLength](x: F64[w], y: F64[w]) -> F64[w]:
    var out = (x.gt(0) & y.gt(0)).select(x * log_ratio(x, y), F64[w](INF))
    out = (x.eq(0) & y.ge(0)).select(F64[w](0), out)
    return nan_or(x, nan_or(y, out))


@always_inline
def kl_div[w: SIMDLength](x: F64[w], y: F64[w]) -> F64[w]:
    # A subnormal quotient may be flushed to zero, whose logarithm it has where it is less than that.
    var ratio = x / y
    var tiny = log(x) - log(y)
    tiny = tiny.le(LOG_LEAST).select(F64[w](-INF), tiny)
    var log_ratio = ratio.lt(TINY).select(tiny, log(ratio))
    var out = (x.gt(0) & y.gt(0)).select(x * log_ratio - x + y, F64[w](INF))
    out = (x.eq(0) & y.ge(0)).select(y, out)
    return nan_or(x, nan_or(y, out))


# -- error functions --------------------------------------------------------------------------------------


@always_inline
def erf_near[w: SIMDLength](x: F64[w]) -> F64[w]:
    """Return erf(x) for |x| <= 1."""
    return x * polynomial[ERF](x * x)


@always_inline
def erfcx_far[w: SIMDLength](a: F64[w]) -> F64[w]:
    """Return e^(a^2) erfc(a) for a >= 0.7."""
    var u = 1 / (a + ERFC_SHIFT)
    return u * polynomial[ERFC](u)


@always_inline
def erfc_far[w: SIMDLength](a: F64[w]) -> F64[w]:
    """Return erfc(a) for a >= 0.7."""
    return exp(-(a * a)) * erfcx_far(a)


@always_inline
def erf[w: SIMDLength](x: F64[w]) -> F64[w]:
    var a = magnitude(x)
    return nan_or(x, with_sign(a.lt(1).select(erf_near(a), 1 - erfc_far(a)), x))


@always_inline
def erfc[w: SIMDLength](x: F64[w]) -> F64[w]:
    var a = magnitude(x)
    var far = erfc_far(a)
    return nan_or(x, a.lt(1).select(1 - erf_near(x), x.lt(0).select(2 - far, far)))


@always_inline
def erfcx[w: SIMDLength](x: F64[w]) -> F64[w]:
    var a = magnitude(x)
    var power = exp(x * x)
    var near = power * (1 - erf_near(x))
    var far = erfcx_far(a)
    return nan_or(x, a.lt(0.7).select(near, x.lt(0).select(2 * power - far, far)))


@always_inline
def log_ndtr[w: SIMDLength](x: F64[w]) -> F64[w]:
    var t = x * SQRT_HALF
    var a = magnitude(t)
    var far = log(0.5 * erfcx_far(a)) - t * t
    var half = -0.5 * a.lt(1).select(1 - erf_near(t), erfc_far(a))
    return nan_or(x, x.lt(-1).select(far, log1p(half)))


@always_inline
def ndtr[w: SIMDLength](x: F64[w]) -> F64[w]:
    var z = x * SQRT_HALF
    var a = magnitude(z)
    var far = 0.5 * erfc_far(a)
    return nan_or(x, a.lt(1).select(0.5 + 0.5 * erf_near(z), z.gt(0).select(1 - far, far)))


# -- modified Bessel functions ----------------------------------------------------------------------------


@always_inline
def bessel[
    w: SIMDLength, //, near: List[Float64], far: List[Float64]
](a: F64[w], near_scale: F64[w], far_scale: F64[w]) -> F64[w]:
    """Return what the polynomials give for a >= 0: the near one of a^2 / 4, the far one of 1 / a."""
    var q = 0.25 * a * a
    var small = polynomial[near](q) * q + 1
    return a.le(BESSEL_FAR).select(near_scale * small, far_scale * (polynomial[far](1 / a) / sqrt(a)))


@always_inline
def i0[w: SIMDLength](x: F64[w]) -> F64[w]:
    var a = magnitude(x)
    return nan_or(x, bessel[I0_NEAR, I0_FAR](a, F64[w](1), exp(a)))


@always_inline
def i0e[w: SIMDLength](x: F64[w]) -> F64[w]:
    var a = magnitude(x)
    return nan_or(x, bessel[I0_NEAR, I0_FAR](a, exp(-a), F64[w](1)))


@always_inline
def odd[w: SIMDLength](y: F64[w], x: F64[w]) -> F64[w]:
    """Return `y`, negated where `x` is negative; of -0 too SciPy gives +0."""
    return x.lt(0).select(-y, y)


@always_inline
def i1[w: SIMDLength](x: F64[w]) -> F64[w]:
    var a = magnitude(x)
    return nan_or(x, odd(bessel[I1_NEAR, I1_FAR](a, 0.5 * a, exp(a)), x))


@always_inline
def i1e[w: SIMDLength](x: F64[w]) -> F64[w]:
    var a = magnitude(x)
    return nan_or(x, odd(bessel[I1_NEAR, I1_FAR](a, 0.5 * a * exp(-a), F64[w](1)), x))


# -- the gamma function's logarithm, and its derivative ---------------------------------------------------


@always_inline
def log_gamma[w: SIMDLength](a: F64[w]) -> F64[w]:
    """Return log(gamma(a)) for a >= 0."""
    # Below 8 by log(gamma) between 1 and 3: log(gamma(y)) = log(y - 1) + log(gamma(y - 1)), and so on.
    var y = a
    var product = F64[w](1)
    comptime for _ in range(5):
        var is_more = y.ge(3)
        product = is_more.select(product * (y - 1), product)
        y = is_more.select(y - 1, y)
    var small = a.lt(1)
    var t = small.select(a - 1, y - 2)
    var middle = small.select(a, y - 1) * t * polynomial[LOG_GAMMA](t)
    var large = a.ge(8)
    var power = log((small | large).select(a, product))
    var z = 1 / a
    var stirling = fma(a - 0.5, power, -a) + HALF_LOG_TAU + z * polynomial[STIRLING](z * z)
    stirling = a.lt(1e300).select(stirling, a * (power - 1))
    return large.select(stirling, middle + small.select(-power, power))


@always_inline
def gammaln[w: SIMDLength](x: F64[w]) -> F64[w]:
    var a = magnitude(x)
    var out = log_gamma(a)
    # Negative numbers are rare, and their sines take as long as all the rest.
    if any(x.lt(0)):
        var distance = magnitude(a - round(a))
        var reflected = log(PI / sin(PI * distance)) - log(a) - out
        reflected = distance.gt(0).select(reflected, F64[w](INF))
        out = x.lt(0).select(reflected, out)
    return nan_or(x, a.lt(INF).select(out, x))


@always_inline
def psi[w: SIMDLength](x: F64[w]) -> F64[w]:
    var y = x.lt(0).select(1 - x, x)
    # The sum of 1 / (y + k) up to 10: its largest term, and the others as a quotient.
    var is_near = y.lt(10)
    var first = is_near.select(1 / y, F64[w](0))
    var far = is_near.select(y + 1, y)
    var numerator, denominator = F64[w](0), F64[w](1)
    comptime for _ in range(9):
        var is_less = far.lt(10)
        numerator = is_less.select(fma(numerator, far, denominator), numerator)
        denominator = is_less.select(denominator * far, denominator)
        far = is_less.select(far + 1, far)
    var z = 1 / far
    var out = log(far) - 0.5 * z - z * z * polynomial[PSI_FAR](z * z) - numerator / denominator - first
    var t = (y - PSI_ROOT) - PSI_ROOT_REST
    out = magnitude(t).lt(0.35).select(t * polynomial[PSI_NEAR](t), out)
    if any(x.lt(0)):
        var part = x - x.__trunc__()
        var reflected = part.lt(0).select(out - PI / tan(PI * part), F64[w](NAN))
        out = x.lt(0).select(reflected, out)
    out = x.lt(INF).select(out, x)
    return nan_or(x, x.eq(0).select(with_sign(F64[w](INF), -x), out))
