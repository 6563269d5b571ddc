"""What is compiled (`native/`), where a compiler was: Python's way is the meaning, and always there."""

from __future__ import annotations

import os
import warnings

from ..forks import at_fork

_MISSING = (
    "nabla_array is installed without its compiled module: small arrays take three to ten times longer. "
    "Installing it again where there is a C compiler brings the module; NABLA_ARRAY_COMPILED=0 in the "
    "environment does without, and without this warning"
)

try:
    if os.environ.get("NABLA_ARRAY_COMPILED") == "0":
        raise ImportError("asked to do without")
    from . import _fast as compiled
except ImportError as error:
    compiled = None  # type: ignore[assignment]
    if error.name is not None and os.name == "posix":  # elsewhere nothing can be done about it
        warnings.warn(_MISSING, RuntimeWarning, stacklevel=2)
else:
    at_fork(after_in_child=compiled.forked)

__all__ = ["compiled"]
