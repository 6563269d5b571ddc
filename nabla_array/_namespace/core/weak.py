"""Arrays that stand for Python numbers, in bodies of loops and branches, and promote as these do."""

from __future__ import annotations

from _thread import _local as local  # `threading` takes a millisecond to import
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..._lazy.graph.node import Node
from .array import Array

# The types of numbers that arrays of these kinds of dtypes may stand for; booleans promote as arrays do.
_TYPES: dict[str, type] = {"i": int, "u": int, "f": float, "c": complex}
_SCALARS = {*_TYPES.values()}


class _Weak(local):
    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}  # by id, in the order in which they came


_weak = _Weak()

# Not empty while some thread has such arrays: they do not go the short ways, which know dtypes only.
weak: list[None] = []


@contextmanager
def standing_for_numbers(nodes: Sequence[Node]) -> Iterator[None]:
    """Let these nodes stand for Python numbers in this thread meanwhile, and what is made of them alone."""
    if not nodes:
        yield
        return
    known, before = _weak.nodes, len(_weak.nodes)
    weak.append(None)
    try:
        known.update({id(n): n for n in nodes})
        yield
    finally:
        weak.pop()
        for key in [*known][before:]:
            del known[key]


def any_stands(*nodes: Any) -> bool:
    """Say whether any of these stands for a Python number."""
    known = _weak.nodes
    return any([id(n) in known for n in nodes])


def let_stand(y: Array) -> None:
    """Let an array stand for a Python number, where others do."""
    if _weak.nodes:
        _weak.nodes[id(y._node)] = y._node


def number_type(x: Any) -> type | None:
    """Return the type of the Python number that an operand is, or stands for."""
    if type(x) is Array:
        return _TYPES.get(x.dtype.kind) if id(x._node) in _weak.nodes else None
    return type(x) if type(x) in _SCALARS else None


def noted(y: Array, *operands: Any) -> Array:
    """Let a result stand for a Python number if its operands do; returns it."""
    if _weak.nodes and all([number_type(x) for x in operands]):
        let_stand(y)
    return y


def weakened(operands: Sequence[Any], kinds: Sequence[Any]) -> tuple[Any, ...]:
    """Return dtypes of operands with Python's types in the place of those that stand for numbers.

    Numbers among themselves have the dtypes that they have.
    """
    types = [number_type(x) for x in operands]
    if all(types):
        return tuple(kinds)
    return tuple([kind if found is None else found for kind, found in zip(kinds, types, strict=True)])


def promoted_dtype(dtypes: Sequence[Any]) -> np.dtype:
    """Return the dtype that dtypes, Python numbers and types of such have together."""
    return np.result_type(*[d() if isinstance(d, type) and d in _SCALARS else d for d in dtypes])


def number_of(dtype: np.dtype) -> Any:
    """Return a Python number that promotes as those that arrays of a dtype stand for."""
    return _TYPES.get(dtype.kind, bool)()
