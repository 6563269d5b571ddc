"""Nodes: the immutable graph that every array names."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ..native import compiled
from .aval import Aval, TooBigError, aval_of_value
from .tape import marks, note
from .tape import tapes as tapes

if TYPE_CHECKING:
    from .primitive import Primitive

# Depth (in the units of Aval.weight) at which recording evaluates what is pending below.
LIMIT = 1000
# Added to the depth of a node that some evaluation computes now: who records on top of it waits for that.
CLAIMED = 1 << 40

NO_PARAMS: dict[str, Any] = {}


class Marked(dict[str, Any]):
    """The params of a node with NumPy's error state when it was recorded, if that was not the usual one."""

    def __init__(self, params: dict[str, Any], state: dict[str, str]) -> None:
        super().__init__(params)
        self.state = state


UNHEARD = Marked({}, dict.fromkeys(("divide", "over", "under", "invalid"), "ignore"))


class Node:
    """One value of the graph: a leaf, or `prim(*inputs, **params)`.

    `value` is None while the node is pending. Evaluation fills it in, drops `inputs` and sets `depth`
    to 0; nothing else ever changes. A primitive with several results has a tuple of avals and of
    values, which `project` nodes take apart.
    """

    __slots__ = ("__weakref__", "aval", "depth", "inputs", "params", "prim", "value")

    def __init__(
        self,
        prim: Primitive | None,
        inputs: tuple[Node, ...],
        params: dict[str, Any],
        aval: Any,
        depth: int,
        value: Any = None,
    ) -> None:
        self.prim = prim
        self.inputs = inputs
        self.params = params
        self.aval = aval
        self.depth = depth
        self.value = value
        if (tapes or marks) and inputs:
            note(self)

    if TYPE_CHECKING:  # elementwise.py installs them, for derivative rules: scalars take the node's aval

        def __add__(self, other: Any) -> Node: ...
        def __radd__(self, other: Any) -> Node: ...
        def __sub__(self, other: Any) -> Node: ...
        def __rsub__(self, other: Any) -> Node: ...
        def __mul__(self, other: Any) -> Node: ...
        def __rmul__(self, other: Any) -> Node: ...
        def __truediv__(self, other: Any) -> Node: ...
        def __rtruediv__(self, other: Any) -> Node: ...
        def __neg__(self) -> Node: ...

    def __repr__(self) -> str:
        state = "pending" if self.value is None else "evaluated"
        return f"<{self.prim.name if self.prim else 'leaf'} {self.aval} {state}>"


def leaf(value: np.ndarray) -> Node:
    """Return a node that holds `value`, which nobody may change from now on."""
    return Node(None, (), NO_PARAMS, aval_of_value(value), 0, value)


class Part(Node):
    """A leaf that is a small part of some array, or was computed at once from such: loops are made of these.

    Operations on it are done at once, since recording them would take longer.
    """

    __slots__ = ()
    # Of the class, so that who makes one has two attributes to set.
    prim = None
    inputs = ()
    params = NO_PARAMS
    depth = 0

    def __init__(self, value: np.ndarray) -> None:
        self.aval = aval_of_value(value)
        self.value = value


class Exported(Part):
    """A leaf whose memory was given away (`ctypes`, `data`), to be written to unseen.

    What can be done with it at once is, writes in place too. A pending operation, and another array, get a
    copy: see `kept`.
    """

    __slots__ = ()


def kept(node: Node) -> Node:
    """Return a node whose elements stay: one of a copy, where others may write to them unseen."""
    return leaf(node.value.copy()) if type(node) is Exported else node


# `evaluate.evaluate` puts itself here: recording must be able to ask for it, and may not import it.
evaluate_hook: list[Callable[[list[Node]], None]] = []


def record(prim: Primitive, inputs: tuple[Node, ...], params: dict[str, Any] = NO_PARAMS) -> Node:
    """Add `prim(*inputs, **params)` to the graph; shapes and dtypes are checked by its aval rule."""
    if Exported in map(type, inputs):
        inputs = tuple(map(kept, inputs))
    try:
        aval = prim.aval(*[n.aval for n in inputs], **params)
    except TooBigError as error:
        raise TooBigError(f"{prim.name}: {error}") from None
    weight = aval.weight if isinstance(aval, Aval) else sum([a.weight for a in aval])
    depth = max([n.depth for n in inputs], default=0) + weight
    if depth > LIMIT and inputs:
        depth = relieve(inputs) + weight
    return Node(prim, inputs, params, aval, depth)


if compiled is not None:
    record = compiled.wrap("record", record, "record")


def relieve(inputs: tuple[Node, ...]) -> int:
    """Evaluate the pending nodes among `inputs`; returns the depth they have afterwards (0)."""
    evaluate_hook[0]([n for n in inputs if n.value is None])
    return max([n.depth for n in inputs], default=0)


# Where the user's code recorded a node whose evaluation can fail on the data (an index, say).
_origins: WeakKeyDictionary[Node, str] = WeakKeyDictionary()
# How the names of this package's files begin.
PACKAGE = os.path.abspath(__file__).removesuffix(os.path.join("_lazy", "graph", "node.py"))


def is_ours(frame: FrameType) -> bool:
    """Say whether a frame runs code of this package."""
    return frame.f_code.co_filename.startswith(PACKAGE)


def user_frame() -> FrameType:
    """Return the innermost frame outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame


def user_line() -> str:
    """Return `file:line` of the innermost frame outside this package."""
    frame = user_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def mark_origin(node: Node, function: str) -> Node:
    """Remember which public function, called at which line of the user's, recorded `node`."""
    _origins[node] = f"{function} (called at {user_line()})"
    return node


def origin(node: Node) -> str:
    """Return what `mark_origin` remembered, or the primitive's name."""
    found = _origins.get(node)
    return found if found is not None else node.prim.name if node.prim else "leaf"


def located(error: Exception, node: Node) -> Exception:
    """Return the error with the name of the operation, and the user's line where it is known."""
    return type(error)(f"{origin(node)}: {error}")
