"""What is being differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._lazy.rules.concretization import differentiating
from ..._namespace.core.array import Array, current


def is_tracked(x: Any) -> bool:
    """Say whether a derivative by `x`, or by something in it, is being taken."""
    if type(x) is Array:
        return bool(differentiating(current(x)))
    return type(x) in (list, tuple) and any(map(is_tracked, x))


def holding(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Mark the rule of a function whose operands may capture, or hold, what is being differentiated."""
    vars(rule)["holds"] = True
    return rule
