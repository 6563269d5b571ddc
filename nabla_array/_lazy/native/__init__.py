"""What is compiled (`native/`), where a compiler was: Python's way is the meaning, and always there."""

from __future__ import annotations

import os

try:
    if os.environ.get("NABLA_ARRAY_COMPILED") == "0":
        raise ImportError("asked to do without")
    from . import _fast as compiled
except ImportError:  # there was no compiler when this was installed, say
    compiled = None  # type: ignore[assignment]
else:
    os.register_at_fork(after_in_child=compiled.forked)

__all__ = ["compiled"]
