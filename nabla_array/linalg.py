"""The `linalg` extension of the standard, and the other functions that NumPy's has."""

from __future__ import annotations

from typing import Any

from ._namespace import numpy_names
from ._namespace.linalg import *  # noqa: F403
from ._namespace.linalg import __all__ as _standard

__all__ = sorted({*_standard, *numpy_names.HOMES["linalg"]})


def __getattr__(name: str) -> Any:
    found = numpy_names.find(name, "linalg")
    if found is None:
        raise AttributeError(f"module 'nabla_array.linalg' has no attribute {name!r}")
    globals()[name] = found
    return found
