"""What is to happen around `os.fork`, which Windows does not have."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any


def at_fork(**functions: Callable[[], Any]) -> None:
    """Register what `os.register_at_fork` takes: ``before``, ``after_in_parent``, ``after_in_child``."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**functions)
