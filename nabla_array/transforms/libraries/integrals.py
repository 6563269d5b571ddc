"""`scipy.integrate.quad` and `simpson`: under the integral, on the intervals that QUADPACK has chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._lazy.graph.tape import derivatives, hidden
from ..custom import stop_gradient
from ..vmap import vmap
from .equations import Watched, refuse
from .operands import array, mapped, plain
from .tracking import holding, is_tracked

# Gauss's nodes and weights; as many as Kronrod's that QUADPACK uses.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(21)


@holding
def _quad(original: Any, func: Any, a: Any, b: Any, args: Any, **options: Any) -> Any:
    extra = args if isinstance(args, tuple) else (args,)
    watch = Watched(lambda x: func(x, *extra))
    low, high = plain(a), plain(b)
    options = {k: plain(v) for k, v in options.items()}
    found = original(watch, low, high, **options)
    if not (watch.is_tracked or is_tracked([a, b])):
        return found
    for name in ("full_output", "weight", "complex_func"):
        if options.get(name):
            refuse("integrate.quad", f"with {name}={options[name]!r}; without {name}, it is")
    with hidden(derivatives()):
        info = original(watch, low, high, **{**options, "full_output": 1})[2]
    last = info["last"]
    nodes, weights = _on(info["alist"][:last], info["blist"][:last])

    def integrand(x: Any) -> Any:
        return func(x, *extra)

    ends = (a, low), (b, high)
    if low > high:  # QUADPACK is given them the other way round
        ends, weights = ends[::-1], -weights
    total = _summed(integrand, nodes, weights, *ends)
    return total - stop_gradient(total) + found[0], found[1]  # the value is SciPy's


def _on(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights on intervals."""
    half = (ends - starts)[:, None] / 2
    return ((starts + ends)[:, None] / 2 + half * _NODES).ravel(), (half * _WEIGHTS).ravel()


def _summed(f: Callable[[Any], Any], nodes: Any, weights: Any, start: Any, end: Any) -> Any:
    """Integrate from `start` to `end`, which are given with their values.

    Towards infinity, QUADPACK's intervals are of t between 0 and 1, where x is (1 - t) / t away from the end.
    """
    (a, low), (b, high) = start, end
    if np.isfinite(low) and np.isfinite(high):
        if is_tracked([a, b]):
            share = (nodes - low) / (high - low)
            nodes, weights = a + (b - a) * share, weights * (b - a) / (high - low)
        return (_values(f, nodes) * weights).sum()
    away, scale = (1 - nodes) / nodes, weights / nodes**2
    if np.isfinite(low):
        places = a + away
    elif np.isfinite(high):
        places = b - away
    else:
        places, scale = np.concatenate([away, -away]), np.concatenate([scale, scale])
    return (_values(f, places) * scale).sum()


def _values(f: Callable[[Any], Any], places: Any) -> Any:
    """Return the function's values at all places, at once where it looks at none of them."""
    try:
        return array(vmap(f, strict=True)(array(places)))
    except TypeError:
        return array(np.stack([array(f(x)) for x in places]))


def _simpson(original: Any, y: Any, x: Any, dx: Any, axis: int) -> Any:
    if is_tracked([x, dx]):
        return NotImplemented
    y = array(y)
    x = None if x is None else np.asarray(x)
    if x is not None and x.ndim > 1:
        return NotImplemented

    def forward(v: np.ndarray) -> Any:
        return original(v, x=x, dx=dx, axis=-1)[..., None]

    return np.squeeze(mapped(forward, y, axis), axis=axis)


RULES = {"scipy.integrate": {"quad": _quad, "simpson": _simpson}}
