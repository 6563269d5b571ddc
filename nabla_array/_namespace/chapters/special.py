"""SciPy's special functions on our arrays: recorded, with derivatives, instead of computed at once."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..._lazy.graph.primitive import Primitive
from ..._lazy.ops.special import special
from ..core.array import Array, apply_many
from ..core.promotion import as_array, operands
from ..dispatch import fastpath
from ..dispatch.elementwise_calls import binary_call, promoted, unary_call
from ..dispatch.ufuncs import call_it
from . import elementwise
from .searching import pick

# Ours, though SciPy has a ufunc of its own.
_SAME = ("cbrt", "exp2", "expm1", "log1p")


@lru_cache(None)
def function(name: str) -> Callable[..., Any] | None:
    """Return our function for `scipy.special`'s of that name, or None where there is none."""
    if name in _SAME:
        found: Callable[..., Any] = getattr(elementwise, name)
        return found
    if name in _WRITTEN:
        return _WRITTEN[name]
    prim = special("psi" if name == "digamma" else name)
    if prim is None or prim.ufunc is None:
        return None
    ufunc = prim.ufunc
    call: Callable[..., Any] = partial(promoted if ufunc.nout == 1 else _several, prim, name)
    way = {1: "unary", 2: "binary"}.get(ufunc.nin) if ufunc.nout == 1 else None
    if way is not None:
        call = unary_call(prim, call) if way == "unary" else binary_call(prim, call)

    def recorded(*args: Any) -> Any:
        return call(*args)

    recorded.__doc__ = f"`scipy.special.{name}`, recorded: see SciPy's documentation."
    if way is not None:
        made = fastpath.wrap(way, recorded, prim.name, prim)
    else:
        made = fastpath.whole(ufunc)(recorded)
    return call_it(made, "nabla_array.special", name)


@lru_cache(None)
def of_ufunc(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """Return our function for a ufunc of SciPy's, or None for another's."""
    theirs = sys.modules.get("scipy.special._ufuncs")
    name = ufunc.__name__
    return function(name) if theirs is not None and getattr(theirs, name, None) is ufunc else None


def _several(prim: Primitive, name: str, *args: Any) -> tuple[Array, ...]:
    """Call a function with several results."""
    return apply_many(prim, *operands(prim, name, args))


def _call(name: str, *args: Any) -> Any:
    found = function(name)
    assert found is not None
    return found(*args)


def polygamma(n: Any, x: Any, /) -> Array:
    """Return the n-th derivative of `psi` at `x`."""
    n, x = as_array("polygamma", n), as_array("polygamma", x)
    sign = elementwise.subtract(elementwise.multiply(2.0, elementwise.remainder(n, 2)), 1.0)
    size = elementwise.multiply(_call("gamma", n + 1.0), _call("_zeta", n + 1.0, x))
    return pick(elementwise.equal(n, 0), _call("psi", x), elementwise.multiply(sign, size))


def multigammaln(a: Any, d: int, /) -> Array:
    """Return the logarithm of the multivariate gamma function of `d` dimensions."""
    a = as_array("multigammaln", a)
    total = elementwise.add(elementwise.multiply(a, 0.0), d * (d - 1) / 4 * math.log(math.pi))
    for j in range(d):
        total = elementwise.add(total, _call("gammaln", elementwise.subtract(a, 0.5 * j)))
    return total


def sinc(x: Any, /) -> Array:
    """Return ``sin(pi x) / (pi x)``, and 1 at 0."""
    x = as_array("sinc", x)
    zero = elementwise.equal(x, 0)
    angle = elementwise.multiply(pick(zero, 0.5, x), math.pi)
    return pick(zero, 1.0, elementwise.divide(elementwise.sin(angle), angle))


def zeta(x: Any, q: Any = None, /) -> Array:
    """Return the zeta function: Riemann's, or with `q` Hurwitz's."""
    return _call("_riemann_zeta", x) if q is None else _call("_zeta", x, q)


# What are no ufuncs in SciPy.
_WRITTEN: dict[str, Callable[..., Any]] = {f.__name__: f for f in (polygamma, multigammaln, sinc, zeta)}
