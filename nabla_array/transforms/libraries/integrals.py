"""`scipy.integrate.quad` where derivatives are taken: by the quadrature that keeps arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .operands import array, plain
from .tracking import is_tracked


def _quad(
    original: Any, func: Any, a: Any, b: Any, args: Any = (), full_output: Any = 0, epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8, limit: int = 50, points: Any = None, weight: Any = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """Integrate by `quad_vec`; between finite limits over the unit interval, so that these may move."""
    args = args if isinstance(args, tuple) else (args,)
    if full_output or points is not None or weight is not None or kwargs.get("complex_func"):
        return NotImplemented
    low, high = float(plain(a)), float(plain(b))
    is_finite = np.isfinite(low) and np.isfinite(high)
    probe = (
        (low + high) / 2
        if is_finite
        else low + 1
        if np.isfinite(low)
        else high - 1
        if np.isfinite(high)
        else 0.5
    )
    tracked_limits = is_tracked([a, b])
    if not tracked_limits and not is_tracked(func(probe, *args)):
        return NotImplemented
    if not is_finite and tracked_limits:
        return NotImplemented

    from scipy.integrate import quad_vec

    def on_unit(t: float) -> Any:
        return array(func(a + (b - a) * t, *args)) * (b - a)

    def whole(x: float) -> Any:
        return array(func(x, *args))

    tolerances = {"epsabs": epsabs, "epsrel": min(epsrel, 1e-10), "limit": max(limit, 200)}
    found = (
        quad_vec(on_unit, 0.0, 1.0, **tolerances) if is_finite else quad_vec(whole, low, high, **tolerances)
    )
    return found[0], float(plain(found[1]))


RULES = {"quad": _quad}
