"""Data type functions and the dtypes themselves."""

from __future__ import annotations

__all__: list[str] = []
