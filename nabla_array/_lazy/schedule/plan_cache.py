"""How graphs are run that are like others before them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .groups import Plan, Region


class Way:
    """How graphs with one key are run.

    Attributes
    ----------
    plan, numbers
        The plan, and which of its values the nodes are, in order.
    regions
        How many regions it has.
    settled
        Where all of it runs on MAX from now on: the mode in which it does, and what runs it.
    """

    __slots__ = ("numbers", "plan", "regions", "settled")

    def __init__(self, plan: Plan, numbers: list[int]) -> None:
        self.plan = plan
        self.numbers = numbers
        self.regions = sum(isinstance(s, Region) for s in plan.steps)
        self.settled: tuple[str, Callable[[list[Any]], bool]] | None = None


# By the mode, whether it is "max", and by the graph's key; None for those whose nodes are run one by one.
ways: dict[tuple[bool, tuple[Any, ...]], Way | None] = {}
MOST_WAYS = 512
