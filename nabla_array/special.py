"""SciPy's special functions as functions of our arrays: recorded, batched, with derivatives.

SciPy looks for them here when its own are called on our arrays (where it dispatches: the environment has
``SCIPY_ARRAY_API=1``).
"""

from __future__ import annotations

import sys
from typing import Any

from ._namespace.chapters.special import function


def __getattr__(name: str) -> Any:
    found = None if name.startswith("__") else function(name)
    if found is None:
        raise AttributeError(f"module 'nabla_array.special' has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    """Return the names of SciPy's that we have, where SciPy is imported: listing imports nothing."""
    theirs = sys.modules.get("scipy.special")
    return [] if theirs is None else sorted(n for n in {*theirs.__all__} if function(n) is not None)
