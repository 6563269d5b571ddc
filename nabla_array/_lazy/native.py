"""What is compiled (`compiled/`), where a compiler was: Python's way is the meaning, and always there."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any


def _load() -> Any:
    if os.environ.get("NABLA_ARRAY_COMPILED") == "0":  # asked to do without
        return None
    try:
        found = import_module("._fast", __package__)
    except ImportError:  # there was no compiler when this was installed, say
        return None
    os.register_at_fork(after_in_child=found.forked)
    return found


compiled = _load()
