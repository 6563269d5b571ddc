"""Values that come from nothing but their parameters."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..graph.aval import Aval, aval_of
from ..graph.node import Node
from ..graph.primitive import Primitive, prefix


class Literal:
    """A scalar that equals another only bit for bit: 0.0, -0.0 and False differ, nan is nan."""

    __slots__ = ("bits", "value")

    def __init__(self, value: np.generic) -> None:
        self.value = value
        self.bits = (value.dtype.str, value.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self.bits == other.bits

    def __hash__(self) -> int:
        return hash(self.bits)

    def __repr__(self) -> str:
        return str(self.value)


def _fill_host(value: Literal, shape: tuple[int, ...]) -> np.ndarray:
    # What np.broadcast_to gives, at a fifth of its time; read-only, as the scalar's memory is.
    return np.ndarray(shape, value.value.dtype, value.value, strides=(0,) * len(shape))


fill = Primitive(
    "fill",
    lambda value, shape: aval_of(shape, value.value.dtype),
    _fill_host,
    kind="view",
    role="literal",
    batch=prefix(shape=lambda size: size),
    dims=lambda value, shape: (tuple(range(len(shape))),),
)


@lru_cache(1 << 13)
def _fill_node(aval: Aval, value: Literal) -> Node:
    params = {"value": value, "shape": aval.shape}
    # The value takes no memory (all strides are 0), so the node is born evaluated; it stays a literal
    # in programs because it keeps its primitive.
    return Node(fill, (), params, aval, 0, fill.host(**params))


def fill_node(aval: Aval, value: object) -> Node:
    """Return the node of an array full of `value`, a scalar that fits `aval.dtype`.

    Raises OverflowError where a Python integer does not fit.
    """
    return _fill_node(aval, Literal(aval.dtype.type(value)))


def fill_like(x: Node, value: object) -> Node:
    """Return the node of an array like `x` full of `value`."""
    return fill_node(x.aval, value)


_scalars: dict[tuple[Aval, type, Any], Node] = {}
# The kinds of dtypes that take a Python number.
_TAKEN_BY = {bool: "b", int: "iufc", float: "fc", complex: "c"}


def scalar_node(aval: Aval, value: Any) -> Node | None:
    """Return the node of `aval` full of a Python number, if that number takes its dtype and is usual.

    For speed alone: what comes back as None is promoted with all care elsewhere.
    """
    kind = type(value)
    if kind not in _TAKEN_BY:
        if kind is not aval.dtype.type:
            return None
        value = value.item()
        kind = type(value)
    # -0.0 equals 0.0, also as a part of a complex number; nan is a new key each time.
    key = (aval, kind, value if kind is int or (value and kind is float) else str(value))
    node = _scalars.get(key)
    if node is None:
        if value != value or aval.dtype.kind not in _TAKEN_BY.get(kind, ""):
            return None
        try:
            node = fill_node(aval, value)
        except OverflowError:
            return None
        if len(_scalars) > 1 << 13:
            _scalars.clear()
        _scalars[key] = node
    return node
