"""What stands for `float` in modules of other libraries that make a Python number of their result."""

from __future__ import annotations

from typing import Any

from ..._lazy.rules.concretization import differentiating
from ..core.array import Array, current


class _Float(type):
    """The class of what stands for `float`: everything is an instance of it that is one of `float`."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, float)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, float)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is float

    __hash__ = type.__hash__


class number(metaclass=_Float):  # it is called as `float` is
    """What `float` is, but that an array that is being differentiated stays one."""

    def __new__(cls, x: Any = 0.0) -> Any:
        return x if type(x) is Array and differentiating(current(x)) else float(x)
