"""The types of what transforms give; for type checkers."""

from typing import Any

from .._namespace.core.array import Array as Array
from ..transforms._types import Mapped as Mapped
from ..transforms._types import P as P
from ..transforms._types import R as R
from ..transforms._types import R_co as R_co
from ..transforms._types import T as T
from .shard_map import Plan

class Sharded(Mapped[P, R_co]):
    """A function on a mesh."""

    def plan(self, *args: Any, **kwargs: Any) -> Plan: ...
