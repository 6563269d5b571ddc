"""Counters behind `nabla_array.report()`."""

from __future__ import annotations

from collections import Counter


class Stats:
    """What this process has done so far."""

    def __init__(self) -> None:
        self.fallbacks: Counter[str] = Counter()
        self.reset()

    def reset(self) -> None:
        """Count from zero again."""
        self.evaluations = 0
        self.fusion_groups = 0
        self.compiled = 0
        self.host_seconds = 0.0
        self.uploaded = 0
        self.downloaded = 0
        self.fallbacks.clear()


stats = Stats()
