"""Keys of ints, slices, ellipses and new axes, and what they select of a shape: no array is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..._lazy.graph.aval import MOST_AXES

# What a view's key is made of, and slices in it: a view has its key until it is asked for its steps.
PLAIN = frozenset({int, slice, type(None), type(...)})
_OF_SLICES = frozenset({int, type(None)})


def is_plain(key: Any) -> bool:
    """Say whether a key gives an element or a view, and holds no array."""
    items = key if type(key) is tuple else (key,)
    return PLAIN.issuperset(map(type, items)) and all([is_plain_slice(k) for k in items if type(k) is slice])


def is_plain_slice(key: slice) -> bool:
    return _OF_SLICES.issuperset((type(key.start), type(key.stop), type(key.step)))


def width(item: Any) -> int:
    """Return how many axes an item of a plain key takes."""
    return int(item is not None and item is not Ellipsis)


def one_an_axis(function: str, items: Sequence[Any], widths: Iterable[int], ndim: int) -> list[Any]:
    """Return items of a key, which take so many axes each, with slices for the axes that none takes.

    An ellipsis stays, before the slices that it stands for: even an empty one keeps index arrays apart.
    """
    used = sum(widths)
    if used > ndim:
        raise IndexError(
            f"{function}: too many indices for array: array is {ndim}-dimensional, but {used} were indexed"
        )
    places = [place for place, i in enumerate(items) if i is Ellipsis]
    if len(places) > 1:
        raise IndexError(f"{function}: an index can only have a single ellipsis ('...')")
    k = places[0] if places else len(items)
    return [*items[:k], Ellipsis, *[slice(None)] * (ndim - used), *items[k + 1 :]]


def selected(
    function: str, items: Iterable[Any], shape: tuple[int, ...]
) -> tuple[dict[str, tuple[int, ...]], tuple[int, ...]]:
    """Return what the items of a plain key, one an axis, select: the params of a slice, and a shape."""
    start: list[int] = []
    size: list[int] = []
    step: list[int] = []
    out: list[int] = []
    for item in items:
        if item is None:
            out.append(1)
        elif type(item) is slice:
            first, stop, by = item.indices(shape[len(start)])
            start.append(first)
            size.append(len(range(first, stop, by)))
            step.append(by)
            out.append(size[-1])
        elif item is not Ellipsis:
            start.append(in_bounds(function, item, len(start), shape[len(start)]))
            size.append(1)
            step.append(1)
    if len(out) > MOST_AXES:
        raise IndexError(f"{function}: the key makes {len(out)} axes, and {MOST_AXES} are the most")
    return {"start": tuple(start), "size": tuple(size), "step": tuple(step)}, tuple(out)


def in_bounds(function: str, i: int, axis: int, n: int) -> int:
    """Return an index as one that is not negative; raises IndexError where there is no such place."""
    if not -n <= i < n:
        raise IndexError(f"{function}: index {i} is out of bounds for axis {axis} with size {n}")
    return i % n
