"""Indexing functions (keys are read in indexing.py)."""

from __future__ import annotations

__all__: list[str] = []
