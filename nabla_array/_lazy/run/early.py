"""Where programs run while a process is young: on the host, which needs nothing of MAX's tier for that.

What a program is to MAX is worked out once the process has computed for a while: a script that ends before
imports less, and a first call waits for less.
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

from ..config import active, config
from ..schedule.planned import Planned
from .executors import execute
from .planning import schedule_of

# Seconds on the host after which the compiled tier is looked at.
_LOOK_AFTER = 0.05


class _Youth:
    """What this process has spent so far; it lasts a little longer where threads lose each other's sums."""

    seconds = 0.0


_youth = _Youth()
# Who has imported it, for a report say, wants to know of MAX's tier.
_TIERS = "nabla_array._lazy.run.tiers"


def _is_young() -> bool:
    return active.settings["mode"] == "auto" and _youth.seconds < min(_LOOK_AFTER, config.compile_after)


def run(plan: Planned, env: list[Any], owned: frozenset[int]) -> None:
    """Run a program over `env`, as `execute` does."""
    if _TIERS not in sys.modules and _is_young():
        start = perf_counter()
        execute(schedule_of(plan), env, owned)
        seconds = perf_counter() - start
        _youth.seconds += seconds
        plan.seconds += seconds
        return
    from . import tiers

    tiers.run(plan, env, owned)
