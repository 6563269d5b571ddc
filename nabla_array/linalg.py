"""The `linalg` extension of the standard, and the other functions that NumPy's has."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._namespace import fast, interop, numpy_names
from ._namespace import linalg as _ours
from ._namespace.linalg import *  # noqa: F403
from ._namespace.linalg import __all__ as _standard

for _name in _standard:  # matrices, objects
    _function = getattr(_ours, _name)
    if isinstance(_function, fast.FUNCTIONS) and hasattr(np.linalg, _name):
        globals()[_name] = interop.or_host(_function, _name, "linalg")

__all__ = sorted({*_standard, *numpy_names.HOMES["linalg"]})


def __getattr__(name: str) -> Any:
    found = numpy_names.find(name, "linalg")
    if found is None:
        raise AttributeError(f"module 'nabla_array.linalg' has no attribute {name!r}")
    globals()[name] = found
    return found
