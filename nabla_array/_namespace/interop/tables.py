"""pandas takes our arrays without axes for the numbers that NumPy has there."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from ..core.array import Array
from .doors import put_in
from .imports import after_import

TOLD = "pandas._libs.lib"
# Functions of its `lib` that say what an object is: the kinds of dtype that each says yes to.
_KINDS = {"is_bool": "b", "is_float": "f", "is_int_or_none": "iu", "is_integer": "iu", "is_scalar": "biufc"}


def _number(x: Any) -> Any:
    return x._value()[()] if type(x) is Array and not x.shape else x


def take_numbers(lib: ModuleType) -> None:
    """Let pandas' `lib` see numbers: in lists of objects, as results of functions, as keys."""
    convert, item = lib.maybe_convert_objects, lib.item_from_zerodim

    @wraps(convert)
    def maybe_convert_objects(objects: Any, *args: Any, **kwargs: Any) -> Any:
        if Array in set(map(type, objects)):
            objects = objects.copy()
            objects[:] = [_number(x) for x in objects]
        return convert(objects, *args, **kwargs)

    put_in(
        lib,
        {
            **{name: _knowing(getattr(lib, name), kinds) for name, kinds in _KINDS.items()},
            **{name: _mapping(getattr(lib, name)) for name in ("map_infer", "map_infer_mask")},
            "maybe_convert_objects": maybe_convert_objects,
            "item_from_zerodim": lambda x: item(_number(x)),
        },
    )


def _knowing(function: Callable[[Any], bool], kinds: str) -> Callable[[Any], bool]:
    @wraps(function)
    def know(x: Any) -> bool:
        return (not x.shape and x.dtype.kind in kinds) if type(x) is Array else function(x)

    return know


def _mapping(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def mapping(values: Any, each: Callable[[Any], Any], *args: Any, **kwargs: Any) -> Any:
        return function(values, lambda x: _number(each(x)), *args, **kwargs)

    return mapping


after_import(TOLD, take_numbers)
