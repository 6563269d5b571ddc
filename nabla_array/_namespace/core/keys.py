"""Keys as NumPy takes them, before an array is looked at."""

from __future__ import annotations

import operator
from typing import Any

from ..._lazy.graph.node import tapes
from ..._lazy.rules.concretization import is_traced
from .array import Array, current

# What a view's key is made of, and slices in it: a view has its key until it is asked for its steps.
PLAIN = frozenset({int, slice, type(None), type(...)})
_OF_SLICES = frozenset({int, type(None)})


def is_plain(key: Any) -> bool:
    """Say whether a key gives an element or a view, and holds no array."""
    items = key if type(key) is tuple else (key,)
    return PLAIN.issuperset(map(type, items)) and all([is_plain_slice(k) for k in items if type(k) is slice])


def is_plain_slice(key: slice) -> bool:
    return _OF_SLICES.issuperset((type(key.start), type(key.stop), type(key.step)))


def as_integers(key: Any) -> Any:
    """Return a key with an int in place of each integer array without axes: a view has such keys in NumPy.

    What a transform must see as an index, an example's own or a part of a program, stays one. Bounds of
    slices are asked for their value here, once, before anybody looks at the array.
    """
    if type(key) is tuple:
        return key if is_plain(key) else tuple(map(as_integers, key))
    if type(key) is slice:
        return key if is_plain_slice(key) else slice(*map(_bound, (key.start, key.stop, key.step)))
    if type(key) is not Array or key._node.aval.dtype.kind not in "iu":
        return key
    if current(key).aval.shape or key._levels:
        return key
    return key if tapes and is_traced(current(key)) else operator.index(key)


def _bound(k: Any) -> int | None:
    if k is None or hasattr(type(k), "__index__"):
        return k if k is None else operator.index(k)
    raise TypeError("slice indices must be integers or None or have an __index__ method")
