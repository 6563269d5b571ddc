"""Errors of this package."""

from __future__ import annotations


class ShardingError(ValueError):
    """An array cannot be sharded like that; the message says what would work."""


class ClusterError(RuntimeError):
    """The cluster that a mesh is on cannot give what was asked; the message says why, and what would work."""
