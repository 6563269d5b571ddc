"""The plan cache: how programs, and graphs, were cut, for those that are like them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeVar

T = TypeVar("T")

# By the mode and a program: its `Planned`; by the accelerator and a program: its schedule there. By the mode
# and a graph key: what runs its program, the `Planned` of that, and which of its values the nodes are, in
# order; None where the nodes are run one by one.
plans: dict[tuple[Hashable, Hashable], Any] = {}
MOST = 1024


def keep(key: tuple[Hashable, Hashable], found: T) -> T:
    """Keep what was found for a key, for the next that comes."""
    if len(plans) >= MOST:
        plans.clear()
    plans[key] = found
    return found
