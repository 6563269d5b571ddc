"""SciPy's namespace for arrays of ours beside NumPy's and lists.

With ``SCIPY_ARRAY_API=1`` SciPy asks all arguments of a call for their namespace, and refuses arrays of two:
``sosfilt(butter(4, 0.2, output="sos"), x)`` has NumPy's coefficients. Functions of NumPy's take arrays and
lists side by side, and so do ours. Where an array of ours is among the arguments, SciPy computes with ours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from ..core.array import Array
from .doors import put_in
from .imports import after_import, unknown

_HOME = "scipy._lib._array_api_override"


def _among_ours(array_namespace: Callable[..., ModuleType]) -> Callable[..., ModuleType]:
    """Return SciPy's function, which leaves NumPy's arrays and lists out where one of ours is given."""

    @wraps(array_namespace)
    def chosen(*arrays: Any) -> ModuleType:
        if Array not in map(type, arrays):
            return array_namespace(*arrays)
        numpys = [x for x in arrays if isinstance(x, np.ndarray)]
        if numpys:  # matrices, masked arrays and arrays of objects are refused as they are elsewhere
            array_namespace(*numpys)
        return array_namespace(*[x for x in arrays if not isinstance(x, np.ndarray | list | tuple | range)])

    return chosen


def _put_in(module: ModuleType) -> None:
    if hasattr(module, "array_namespace"):
        put_in(module, {"array_namespace": _among_ours(module.array_namespace)})
    else:
        unknown(module, "it has no array_namespace")


after_import(_HOME, _put_in)
