"""SciPy's special functions: what SciPy computes on the host, with the derivatives that have a formula.

The ufuncs are SciPy's; the primitive of one is made when it is first asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..graph.aval import Aval, aval_of
from ..graph.node import Node
from ..graph.primitive import Dims, Primitive, elementwise
from .creation import fill_like
from .elementwise import (
    abs_,
    cast,
    cos,
    cosh,
    exp,
    expm1,
    floor,
    le,
    log,
    log1p,
    pow_,
    ratio,
    select,
    sign,
    sin,
    sinh,
    sqrt,
)
from .elementwise import eq as equal


@lru_cache(None)
def special(name: str) -> Primitive | None:
    """Return the primitive of a ufunc of `scipy.special`, or None."""
    # Where SciPy dispatches, scipy.special itself holds functions instead.
    from scipy.special import _ufuncs

    ufunc = getattr(_ufuncs, name, None)
    if not isinstance(ufunc, np.ufunc):
        return None
    if ufunc.nout > 1:
        return _several(name, ufunc)
    partials = PARTIALS.get(name)
    if partials is not None:
        partials = tuple(_unknown(name, p) if isinstance(p, str) else p for p in partials)
    lowering = f"nabla.{name}" if name in LOWERED else None
    return elementwise(f"special.{name}", ufunc, partials=partials, max=lowering, max_kinds="f", serial=True)


def _several(name: str, ufunc: np.ufunc) -> Primitive:
    """Make the primitive of a ufunc with several results; it runs in one call."""

    def aval(*avals: Aval) -> tuple[Aval, ...]:
        dtypes = ufunc.resolve_dtypes((*[a.dtype for a in avals], *[None] * ufunc.nout))
        if dtypes[: ufunc.nin] != tuple(a.dtype for a in avals) or len({a.shape for a in avals}) > 1:
            raise TypeError(f"special.{name}: no such operation on {avals} without a cast or a broadcast")
        return tuple(aval_of(avals[0].shape, d) for d in dtypes[ufunc.nin :])

    def jvp(tangents: Any, out: Any, *inputs: Node) -> list[Node | None]:
        slopes = SEVERAL[name]
        results: list[Node | None] = [None] * ufunc.nout
        for k, t in enumerate(tangents):
            if t is not None:
                by: Any = slopes[k] if not isinstance(slopes[k], str) else _unknown(name, slopes[k])
                terms = [t * slope for slope in by(out, *inputs)]
                results = [y if r is None else r + y for r, y in zip(results, terms, strict=True)]
        return results

    def dims(*avals: Aval) -> Dims:
        return (tuple(range(avals[0].ndim)),) * (ufunc.nin + ufunc.nout)

    rule = jvp if name in SEVERAL else None
    return Primitive(f"special.{name}", aval, ufunc, ufunc=ufunc, dims=dims, jvp=rule)


def call(name: str, *operands: Any) -> Node:
    """Record a special function on nodes, and numbers that take their aval."""
    prim = special(name)
    assert prim is not None
    like = next(x for x in operands if isinstance(x, Node))
    return prim(*[x if isinstance(x, Node) else fill_like(like, x) for x in operands])


def _at(x: Node, point: float, value: Any, otherwise: Callable[[Node], Node]) -> Node:
    """Return `value` where `x` is `point`, and elsewhere a formula that must not see that point."""
    there = equal(x, fill_like(x, point))
    value = value if isinstance(value, Node) else fill_like(x, value)
    return select(there, value, otherwise(select(there, fill_like(x, point + 0.5), x)))


def _unknown(name: str, operand: str) -> Callable[..., Node]:
    def refuse(*nodes: Node) -> Node:
        raise NotImplementedError(
            f"special.{name}: no derivative by {operand} is known; stop_gradient on it makes it a constant, "
            "custom_jvp or custom_vjp would give one"
        )

    return refuse


def _psi_less(x: Node, y: Node) -> Node:
    return call("psi", x) - call("psi", y)


_ROOT_PI, _ROOT_TAU = math.sqrt(math.pi), math.sqrt(2 * math.pi)
_DEGREE = math.pi / 180


# -- densities: the derivatives of distribution functions -------------------------------------------------


def _normal(x: Node, shift: Any = 0) -> Node:
    return exp(-0.5 * x * x - shift) / _ROOT_TAU


def _gamma_density(a: Node, x: Node) -> Node:
    return exp(call("xlogy", a - 1, x) - x - call("gammaln", a))


def _chi_square_density(v: Node, x: Node) -> Node:
    return 0.5 * _gamma_density(0.5 * v, 0.5 * x)


def _beta_density(a: Node, b: Node, x: Node) -> Node:
    return exp(call("xlogy", a - 1, x) + call("xlog1py", b - 1, -x) - call("betaln", a, b))


def _student_density(df: Node, t: Node) -> Node:
    size = -0.5 * (df + 1) * log1p(t * t / df) - 0.5 * log(df)
    return exp(size - call("betaln", 0.5 * df, 0.5))


def _f_density(n: Node, d: Node, x: Node) -> Node:
    a, b = 0.5 * n, 0.5 * d
    logs = call("xlogy", a, n / d) + call("xlogy", a - 1, x) - (a + b) * log1p(n * x / d)
    return exp(logs - call("betaln", a, b))


def _poisson(k: Node, m: Node) -> Node:
    k = floor(k)
    return exp(call("xlogy", k, m) - m - call("gammaln", k + 1))


# -- functions with a case of their own -------------------------------------------------------------------


def _boxcox_by_power(out: Node, x: Node, p: Node) -> Node:
    half_square = 0.5 * log(x) * log(x)
    return _at(p, 0, half_square, lambda p: (pow_(x, p) * log(x) - expm1(p * log(x)) / p) / p)


def _boxcox1p_by_power(out: Node, x: Node, p: Node) -> Node:
    size = log1p(x)
    return _at(p, 0, 0.5 * size * size, lambda p: (exp(p * size) * size - expm1(p * size) / p) / p)


def _inv_boxcox_by_power(out: Node, y: Node, p: Node) -> Node:
    """For inv_boxcox1p too, whose result is one less."""
    power = exp(_at(p, 0, y, lambda p: log1p(p * y) / p))
    return power * _at(p, 0, -0.5 * y * y, lambda p: (y / (1 + p * y) - log1p(p * y) / p) / p)


def _inv_boxcox_by_value(out: Node, y: Node, p: Node) -> Node:
    return exp(_at(p, 0, y, lambda p: log1p(p * y) / p)) / (1 + p * y)


def _huber_by_delta(out: Node, delta: Node, r: Node) -> Node:
    return select(le(abs_(r), delta), fill_like(r, 0), abs_(r) - delta)


def _huber_by_r(out: Node, delta: Node, r: Node) -> Node:
    return select(le(abs_(r), delta), r, delta * sign(r))


def _stretch(delta: Node, r: Node) -> Node:
    return sqrt(1 + r / delta * (r / delta))


def _expn(out: Node, n: Node, x: Node) -> Node:
    none = equal(n, fill_like(n, 0))
    before = call("expn", select(none, fill_like(n, 0), n - 1), x)
    return -select(none, exp(-x) * (1 + x) / (x * x), before)


def _ellipkinc_by_m(out: Node, phi: Node, m: Node) -> Node:
    s = sin(phi)
    root = sqrt(1 - m * s * s)
    return (call("ellipeinc", phi, m) / (1 - m) - out) / (2 * m) - s * cos(phi) / (2 * (1 - m) * root)


def _bessel(name: str, sign: int) -> tuple[Any, Any]:
    """Give the derivative of Bessel functions that is half of that before and (signed) that after."""

    def by_z(out: Node, v: Node, z: Node) -> Node:
        before, after = call(name, v - 1, z), call(name, v + 1, z)
        return 0.5 * (before + after if sign > 0 else before - after)

    return "the order", by_z


def _scaled_bessel(name: str, factor: float, scale: Callable[[Node], Any]) -> tuple[Any, Any]:
    """Give the derivative of a modified Bessel function that is scaled by an exponential."""

    def by_z(out: Node, v: Node, z: Node) -> Node:
        if z.aval.dtype.kind == "c":
            raise NotImplementedError(
                f"special.{name}: no derivative by complex numbers: it is not holomorphic"
            )
        return factor * (call(name, v - 1, z) + call(name, v + 1, z)) + scale(z) * out

    return "the order", by_z


def _polynomial(name: str, factor: Callable[..., Any], *more: float) -> Callable[..., Node]:
    """Give the derivative of an orthogonal polynomial: a factor times one of one degree less.

    That has other parameters: each of the first's, in order, is one larger, or `more` are there.
    """

    def by_x(out: Node, n: Node, *rest: Node) -> Node:
        *params, x = rest
        own = [p + 1 for p in params] or [fill_like(n if x.aval.dtype.kind == "c" else x, a) for a in more]
        is_constant = equal(n, fill_like(n, 0))
        before = call(name, select(is_constant, n, n - 1), *own, x)
        degree = cast(n, dtype=x.aval.dtype)
        slope = factor(degree, *[cast(p, dtype=x.aval.dtype) for p in params]) * before
        return select(is_constant, fill_like(slope, 0), slope)

    return by_x


# Those of which we have a Mojo kernel.
LOWERED = {
    *("entr", "expit", "kl_div", "log_expit", "logit", "rel_entr", "xlog1py", "xlogy"),
    *("erf", "erfc", "erfcx", "log_ndtr", "ndtr", "gammaln", "psi", "i0", "i0e", "i1", "i1e"),
}

# For each function its derivatives by its operands, as `(out, *operands) -> Node`, a number, None where it
# is zero, or what the operand is called where there is no formula.
PARTIALS: dict[str, tuple[Any, ...]] = {
    # Error functions and the normal distribution.
    "erf": (lambda out, x: exp(-(x * x)) * (2 / _ROOT_PI),),
    "erfc": (lambda out, x: exp(-(x * x)) * (-2 / _ROOT_PI),),
    "erfcx": (lambda out, x: 2 * x * out - 2 / _ROOT_PI,),
    "erfi": (lambda out, x: exp(x * x) * (2 / _ROOT_PI),),
    "wofz": (lambda out, z: fill_like(z, 2j / _ROOT_PI) - 2 * z * out,),
    "dawsn": (lambda out, x: 1 - 2 * x * out,),
    "erfinv": (lambda out, y: exp(out * out) * (_ROOT_PI / 2),),
    "erfcinv": (lambda out, y: exp(out * out) * (-_ROOT_PI / 2),),
    "ndtr": (lambda out, x: _normal(x),),
    "log_ndtr": (lambda out, x: _normal(x, out),),
    "ndtri": (lambda out, p: exp(0.5 * out * out) * _ROOT_TAU,),
    "ndtri_exp": (lambda out, y: exp(y + 0.5 * out * out) * _ROOT_TAU,),
    "owens_t": (
        lambda out, h, a: call("erf", a * h * math.sqrt(0.5)) * _normal(h) * -0.5,
        lambda out, h, a: exp(-0.5 * h * h * (1 + a * a)) / (2 * math.pi * (1 + a * a)),
    ),
    # The gamma function's family.
    "gamma": (lambda out, x: out * call("psi", x),),
    "gammaln": (lambda out, x: call("psi", x),),
    "loggamma": (lambda out, x: call("psi", x),),
    "gammasgn": (None,),
    "rgamma": (lambda out, x: -(out * call("psi", x)),),
    "psi": (lambda out, x: call("_zeta", 2, x),),
    "_zeta": ("the exponent", lambda out, s, q: -(s * call("_zeta", s + 1, q))),
    "poch": (
        lambda out, z, m: out * _psi_less(z + m, z),
        lambda out, z, m: out * call("psi", z + m),
    ),
    "beta": (
        lambda out, a, b: out * _psi_less(a, a + b),
        lambda out, a, b: out * _psi_less(b, a + b),
    ),
    "betaln": (lambda out, a, b: _psi_less(a, a + b), lambda out, a, b: _psi_less(b, a + b)),
    "binom": (
        lambda out, n, k: out * _psi_less(n + 1, n - k + 1),
        lambda out, n, k: out * _psi_less(n - k + 1, k + 1),
    ),
    # Distribution functions.
    "gdtr": (
        lambda out, a, b, x: x * _gamma_density(b, a * x),
        "the shape",
        lambda out, a, b, x: a * _gamma_density(b, a * x),
    ),
    "gdtrc": (
        lambda out, a, b, x: -(x * _gamma_density(b, a * x)),
        "the shape",
        lambda out, a, b, x: -(a * _gamma_density(b, a * x)),
    ),
    "pdtr": (None, lambda out, k, m: -_poisson(k, m)),
    "pdtrc": (None, lambda out, k, m: _poisson(k, m)),
    # Logistic functions, entropies, losses.
    "expit": (lambda out, x: out * call("expit", -x),),
    "log_expit": (lambda out, x: call("expit", -x),),
    "logit": (lambda out, p: 1 / (p * (1 - p)),),
    "xlogy": (lambda out, x, y: log(y), lambda out, x, y: x / y),
    "xlog1py": (lambda out, x, y: log1p(y), lambda out, x, y: x / (1 + y)),
    "entr": (lambda out, x: -1 - log(x),),
    "rel_entr": (lambda out, x, y: log(x / y) + 1, lambda out, x, y: -(x / y)),
    "kl_div": (lambda out, x, y: log(x / y), lambda out, x, y: 1 - x / y),
    "huber": (_huber_by_delta, _huber_by_r),
    "pseudo_huber": (
        lambda out, d, r: 2 * ratio(out, d) - r * (r / d) / _stretch(d, r),
        lambda out, d, r: r / _stretch(d, r),
    ),
    "boxcox": (lambda out, x, p: pow_(x, p - 1), _boxcox_by_power),
    "boxcox1p": (lambda out, x, p: pow_(1 + x, p - 1), _boxcox1p_by_power),
    "inv_boxcox": (_inv_boxcox_by_value, _inv_boxcox_by_power),
    "inv_boxcox1p": (_inv_boxcox_by_value, _inv_boxcox_by_power),
    # Elementary functions.
    "exp10": (lambda out, x: out * math.log(10),),
    "exprel": (lambda out, x: 0.5 * call("hyp1f1", 2, 3, x),),
    "powm1": (lambda out, x, y: y * pow_(x, y - 1), lambda out, x, y: pow_(x, y) * log(x)),
    "cosm1": (lambda out, x: -sin(x),),
    "sindg": (lambda out, x: call("cosdg", x) * _DEGREE,),
    "cosdg": (lambda out, x: call("sindg", x) * -_DEGREE,),
    "tandg": (lambda out, x: (1 + out * out) * _DEGREE,),
    "cotdg": (lambda out, x: (1 + out * out) * -_DEGREE,),
    "radian": tuple(
        lambda out, d, m, s, unit=unit: fill_like(out, unit)
        for unit in (_DEGREE, _DEGREE / 60, _DEGREE / 3600)
    ),
    "round": (None,),
    # Integrals.
    "exp1": (lambda out, x: -(exp(-x) / x),),
    "expi": (lambda out, x: exp(x) / x,),
    "expn": (None, _expn),
    "spence": (lambda out, x: _at(x, 1, -1, lambda x: log(x) / (1 - x)),),
    "ellipk": (
        lambda out, m: _at(
            m, 0, math.pi / 8, lambda m: (call("ellipe", m) / (1 - m) - call("ellipk", m)) / (2 * m)
        ),
    ),
    "ellipkm1": (lambda out, p: -((call("ellipe", 1 - p) / p - out) / (2 * (1 - p))),),
    "ellipe": (
        lambda out, m: _at(m, 0, -math.pi / 8, lambda m: (call("ellipe", m) - call("ellipk", m)) / (2 * m)),
    ),
    "ellipkinc": (lambda out, phi, m: 1 / sqrt(1 - m * sin(phi) * sin(phi)), _ellipkinc_by_m),
    "ellipeinc": (
        lambda out, phi, m: sqrt(1 - m * sin(phi) * sin(phi)),
        lambda out, phi, m: (out - call("ellipkinc", phi, m)) / (2 * m),
    ),
    # Bessel functions.
    "j0": (lambda out, x: -call("j1", x),),
    "j1": (lambda out, x: _at(x, 0, 0.5, lambda x: call("j0", x) - call("j1", x) / x),),
    "y0": (lambda out, x: -call("y1", x),),
    "y1": (lambda out, x: call("y0", x) - out / x,),
    "i0": (lambda out, x: call("i1", x),),
    "i0e": (lambda out, x: call("i1e", x) - sign(x) * out,),
    "i1": (lambda out, x: _at(x, 0, 0.5, lambda x: call("i0", x) - call("i1", x) / x),),
    "i1e": (lambda out, x: _at(x, 0, 0.5, lambda x: call("i0e", x) - call("i1e", x) * (sign(x) + 1 / x)),),
    "k0": (lambda out, x: -call("k1", x),),
    "k0e": (lambda out, x: out - call("k1e", x),),
    "k1": (lambda out, x: -call("k0", x) - out / x,),
    "k1e": (lambda out, x: out - call("k0e", x) - out / x,),
    "jv": _bessel("jv", -1),
    "yv": _bessel("yv", -1),
    "iv": _bessel("iv", 1),
    "yn": _bessel("yn", -1),
    "ive": _scaled_bessel("ive", 0.5, lambda z: -sign(z)),
    "kve": _scaled_bessel("kve", -0.5, lambda z: 1),
    "kv": ("the order", lambda out, v, z: -0.5 * (call("kv", v - 1, z) + call("kv", v + 1, z))),
    # Orthogonal polynomials.
    "eval_legendre": ("the degree", _polynomial("eval_gegenbauer", lambda n: 1, 1.5)),
    "eval_gegenbauer": (
        "the degree",
        "the parameter",
        _polynomial("eval_gegenbauer", lambda n, a: 2 * a),
    ),
    "eval_jacobi": (
        "the degree",
        "the first parameter",
        "the second parameter",
        _polynomial("eval_jacobi", lambda n, a, b: 0.5 * (n + a + b + 1)),
    ),
    "eval_chebyt": ("the degree", _polynomial("eval_chebyu", lambda n: n)),
    "eval_chebyu": ("the degree", _polynomial("eval_gegenbauer", lambda n: 2, 2.0)),
    "eval_laguerre": ("the degree", _polynomial("eval_genlaguerre", lambda n: -1, 1.0)),
    "eval_genlaguerre": (
        "the degree",
        "the parameter",
        _polynomial("eval_genlaguerre", lambda n, a: -1),
    ),
    "eval_hermite": ("the degree", _polynomial("eval_hermite", lambda n: 2 * n)),
    "eval_hermitenorm": ("the degree", _polynomial("eval_hermitenorm", lambda n: n)),
    # Hypergeometric functions.
    "hyp0f1": ("the parameter", lambda out, v, z: call("hyp0f1", v + 1, z) / v),
    "hyp1f1": (
        "the first parameter",
        "the second parameter",
        lambda out, a, b, z: a / b * call("hyp1f1", a + 1, b + 1, z),
    ),
    "hyp2f1": (
        "the first parameter",
        "the second parameter",
        "the third parameter",
        lambda out, a, b, c, z: a * b / c * call("hyp2f1", a + 1, b + 1, c + 1, z),
    ),
    "hyperu": (
        "the first parameter",
        "the second parameter",
        lambda out, a, b, z: -(a * call("hyperu", a + 1, b + 1, z)),
    ),
    "wrightomega": (lambda out, z: out / (1 + out),),
    "_lambertw": (lambda out, z, k, tol: exp(-out) / (1 + out), None, None),
}

# The same for integrals of a density by their last operand: from below, from above, and the inverses of both.
_BY_INTEGRAL: tuple[Callable[..., Node], ...] = (
    lambda density, out, *xs: density(*xs),
    lambda density, out, *xs: -density(*xs),
    lambda density, out, *xs: 1 / density(*xs[:-1], out),
    lambda density, out, *xs: -1 / density(*xs[:-1], out),
)
for _names, (_density, *_others) in {
    "gammainc gammaincc gammaincinv gammainccinv": (_gamma_density, "the shape"),
    "chdtr chdtrc - chdtri": (_chi_square_density, "the degrees"),
    "betainc betaincc betaincinv betainccinv": (_beta_density, "the first shape", "the second shape"),
    "stdtr - stdtrit -": (_student_density, "the degrees"),
    "fdtr fdtrc fdtri -": (_f_density, "the first degrees", "the second degrees"),
}.items():
    for _name, _rule in zip(_names.split(), _BY_INTEGRAL, strict=True):
        if _name != "-":
            PARTIALS[_name] = (*_others, partial(_rule, _density))


def _over(x: Node, numerator: Node, limit: float) -> Node:
    return _at(x, 0, limit, lambda x: numerator / x)


# The same for functions with several results: the derivatives of all of them by an operand.
SEVERAL: dict[str, tuple[Any, ...]] = {
    "sici": (lambda out, x: (_over(x, sin(x), 1), cos(x) / x),),
    "shichi": (lambda out, x: (_over(x, sinh(x), 1), cosh(x) / x),),
    "fresnel": (lambda out, x: (sin(x * x * (math.pi / 2)), cos(x * x * (math.pi / 2))),),
    "airy": (lambda out, x: (out[1], x * out[0], out[3], x * out[2]),),
    "ellipj": (
        lambda out, u, m: (
            out[1] * out[2],
            -(out[0] * out[2]),
            -(m * out[0] * out[1]),
            out[2],
        ),
        "the parameter",
    ),
}
