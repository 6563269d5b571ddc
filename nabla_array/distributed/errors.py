"""Errors of this package."""

from __future__ import annotations


class ShardingError(ValueError):
    """An array cannot be sharded like that; the message says what would work."""
