"""Numbers that leave the graph while a derivative is taken: the warning, and when it is due."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from itertools import dropwhile
from traceback import walk_stack
from types import CodeType, FrameType

from .._lazy.graph.node import is_ours, user_line
from .._lazy.graph.tape import Tape
from .._lazy.rules.concretization import differentiating
from .._namespace.core.array import Array, current, number_hook
from . import uses

__all__ = ["ValueLeftWarning"]


class ValueLeftWarning(UserWarning):
    """While a derivative is taken, a value has become a number of Python's that is computed with.

    What comes of the number is a constant for the derivative, which may be wrong by it. See
    ``docs/concepts/when-values-leave.md``.

    >>> import warnings
    >>> from nabla_array.transforms import ValueLeftWarning, grad
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always", ValueLeftWarning)
    ...     slope = grad(lambda x: x * float(x))(3.0)  # of x * x it is 6
    >>> slope, told[0].category.__name__
    (np.float64(3.0), 'ValueLeftWarning')
    """


# The code of functions that run what is differentiated, and refuse numbers among its results themselves.
boundaries: set[CodeType] = set()

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Where methods that give numbers are: what calls them takes the number.
_GIVING = {
    os.path.join(_PACKAGE, "_namespace", *name) for name in (("core", "array.py"), ("numpy", "scalars.py"))
} | {__file__}

# What follows a derivative where a number cannot, by the module through which the number leaves.
_REMEDIES = {
    "sklearn.metrics.": "write the loss as a formula of arrays, xp.mean((y - p) ** 2) say",
    "scipy.integrate.": "derivatives flow through scipy.integrate.quad_vec and cubature, which keep arrays",
    "scipy.optimize.": "derivatives flow through scipy.optimize.newton, which keeps arrays",
}
# Modules that take numbers to decide with, in ways that cannot be read from their instructions.
_DECIDING = {"scipy.integrate._quad_vec": "estimates of errors, which order the intervals"}
_USUAL = "keep the array in place of the number"


def _note(x: Array) -> None:
    """Take note that a value becomes a number, and warn where that may come back as a constant."""
    stack = (frame for frame, _ in walk_stack(sys._getframe(1)))
    takers = list(dropwhile(lambda frame: frame.f_code.co_filename in _GIVING, stack))
    if not takers or takers[0].f_globals.get("__name__") in _DECIDING:
        return
    verdict = _verdict(takers)
    if not verdict.leaves and not uses.kind_of(verdict.returned):
        return
    tapes = differentiating(current(x))
    for tape in tuple(tapes):
        tape.numbers = True
    # What the function that is differentiated only returns, who runs it refuses.
    if tapes and (verdict.leaves or len(tapes) > 1):
        _tell(tapes, takers)


number_hook.append(_note)


def _verdict(takers: Sequence[FrameType]) -> uses.Verdict:
    """Follow a number through the function that took it, and through its callers where it is returned."""
    value, taken = uses.NUMBER, True
    for frame in takers:
        if frame.f_code in boundaries:
            return uses.Verdict(uses.kind_of(value) == uses.DERIVED, value)
        found = uses.follow(frame, value, taken)
        if found.leaves or not uses.kind_of(found.returned):
            return found
        value, taken = found.returned, False
    return uses.Verdict(True)


def _tell(tapes: Sequence[Tape], takers: Sequence[FrameType]) -> None:
    modules = [str(frame.f_globals.get("__name__", "")) for frame in takers[:8]]
    known = [name for module in modules for name in _REMEDIES if module.startswith(name)]
    remedy = _REMEDIES[known[0]] if known else _USUAL
    line = user_line()
    message = (
        "a value that is being differentiated becomes a Python number here, and what is computed from the "
        f"number is a constant: that part of the derivative is lost; {remedy}; stop_gradient says that it is "
        "meant"
    )
    if any(tape.strict for tape in tuple(tapes)):
        raise TypeError(f"with strict=True, {message} ({line})")
    frame = next((f for f in takers if not is_ours(f)), takers[-1])
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    file, _, number = line.rpartition(":")
    warnings.warn_explicit(message, ValueLeftWarning, file, int(number), registry=registry)
