"""NumPy's ufuncs that the standard does not have, whole where composing them would lose bits."""

from __future__ import annotations

import math

import numpy as np

from ..graph.aval import Aval, aval_of
from ..graph.node import Node
from ..graph.primitive import Primitive, alike, elementwise
from .creation import fill_like
from .elementwise import cast, eq, exp2, select, trunc

_INTC = np.dtype(np.intc)


def _weight(out: Node, x: Node) -> Node:
    """Return 2**x / 2**out, where both may be infinite."""
    return exp2(select(eq(x, fill_like(x, math.inf)), fill_like(x, 0), x - out))


fmod = elementwise("fmod", np.fmod, partials=(1, lambda out, x, y: -trunc(x / y)))
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
    partials=(lambda out, x, y: _weight(out, x), lambda out, x, y: _weight(out, y)),
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
    dims=alike,
)
mantissa = Primitive(
    "mantissa",
    lambda x: _floats("mantissa", x),
    lambda x: np.asarray(np.frexp(x)[0]),
    kind="elementwise",
    into=_mantissa_into,
    dims=alike,
    partials=(lambda out, x: ldexp(fill_like(x, 1), _minus(exponent(x))),),
)


def _minus(n: Node) -> Node:
    return fill_like(n, 0) - n
