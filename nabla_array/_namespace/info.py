"""Inspection of the namespace: dtypes, devices, capabilities."""

from __future__ import annotations

__all__: list[str] = []
