"""Counters behind `nabla_array.report()`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Stats:
    """What this process has done so far."""

    evaluations: int = 0
    regions: int = 0
    host_seconds: float = 0.0
    fallbacks: Counter[str] = field(default_factory=Counter)

    def reset(self) -> None:
        """Count from zero again."""
        self.evaluations = self.regions = 0
        self.host_seconds = 0.0
        self.fallbacks.clear()


stats = Stats()
