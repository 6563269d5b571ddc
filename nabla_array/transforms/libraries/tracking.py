"""What is being differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._lazy.rules.concretization import differentiating, is_traced
from ..._namespace.core.array import Array, current


def is_tracked(x: Any) -> bool:
    """Say whether a derivative by `x`, or by something in it, is being taken."""
    if type(x) is Array:
        return bool(differentiating(current(x)))
    return type(x) in (list, tuple) and any(map(is_tracked, x))


def constant(x: Any) -> Any:
    """Return what is constant as NumPy's, since rules hand it on to SciPy, but of a batch, or a program.

    Compiled code refuses arrays that are read-only, as captured ones are while `vmap` runs: it gets copies.
    """
    if type(x) is Array and not (x._levels or is_tracked(x) or is_traced(current(x))):
        x = np.asarray(x)
    if type(x) is np.ndarray and not x.flags.writeable:
        return x.copy()
    return type(x)(map(constant, x)) if type(x) in (list, tuple) else x


def holding(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Mark the rule of a function whose operands may capture, or hold, what is being differentiated."""
    vars(rule)["holds"] = True
    return rule
