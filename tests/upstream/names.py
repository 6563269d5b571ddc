"""What NumPy's test files import from NumPy's private modules, and is ours where it is public too."""

from __future__ import annotations

from typing import Any

import numpy as np

import nabla_array as xp


class _Umath:
    def __getattr__(self, name: str) -> Any:
        return getattr(xp if hasattr(xp, name) else np._core.umath, name)


umath = _Umath()
