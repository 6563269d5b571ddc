"""Evaluation on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..._lazy.graph.node import tapes
from ..._lazy.native import compiled
from ..._lazy.ops.placement import in_use
from ..._lazy.run.evaluator import evaluate, run_loops, value_of
from .array import Array, current

if TYPE_CHECKING:
    from .types import T, Ts

__all__ = ["eval"]

_KNOWN = {np.ndarray, np.float64, float}  # what often comes, and holds no arrays of ours


def arrays_in(tree: Any) -> list[Array]:
    """Return the arrays in nested lists, tuples and dicts, in order; other things are left out."""
    found: list[Array] = []
    stack = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, Array):
            found.append(item)
        elif isinstance(item, list | tuple):
            stack.extend(reversed(item))
        elif isinstance(item, dict):
            stack.extend(reversed(item.values()))
    return found


@overload
def eval(tree: T, /) -> T: ...
@overload
def eval(*trees: *Ts) -> tuple[*Ts]: ...
def eval(*arrays: Any) -> Any:  # type: ignore[misc]  # mypy takes `*Any` for less than `*Ts`
    """Evaluate arrays now, all of them at once, so that what they share is computed once.

    Parameters
    ----------
    *arrays : Array, or nested lists, tuples and dicts of them
        Things that are not arrays are left as they are.

    Returns
    -------
    Array, or whatever was given
        The argument itself; a tuple of them where there are several.

    Examples
    --------
    >>> import nabla_array as xp
    >>> x = xp.exp(xp.asarray([0.0, 1.0]))
    >>> xp.eval(x, {"y": x * 2, "z": [x + 1, None]})[0] is x
    True
    >>> xp.explain(x)
    float64[2]: evaluated, 16 B
    """
    if len(arrays) == 1 and type(arrays[0]) is Array and not in_use:  # the usual case, often of small arrays
        value_of(current(arrays[0]))
    elif len(arrays) != 1 or type(arrays[0]) not in _KNOWN:
        evaluate([current(x) for x in arrays_in(arrays)])
    return arrays[0] if len(arrays) == 1 else arrays


if compiled is not None:
    eval = compiled.wrap("evaluate", eval, "eval")  # type: ignore[assignment]  # mypy knows no overloads of it


def fresh_value(x: Array) -> np.ndarray | None:
    """Return the elements of an array where they are known, and nothing written since would change them."""
    if tapes:
        return None
    seen = x._view
    if seen is not None and seen.base._node is not seen.seen:
        current(x)
    if x._levels:
        return None
    value: np.ndarray | None = x._node.value
    if value is None and run_loops(x._node, is_last=False):
        value = x._node.value
    return value
