"""Parts of computed arrays read and written at once, in NumPy's memory, where nobody can tell.

A loop over elements would otherwise record a few nodes for each. What is read directly is a leaf (an element)
or a leaf on the owner's memory (a view); what is written directly goes into that memory, once counts of
references say that no pending node, no other view and nobody outside will look at what was there.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .._lazy import host
from .._lazy.aval import MEDIUM, Aval, aval_of
from .._lazy.evaluate import value_of
from .._lazy.faults import listener, listening, tell
from .._lazy.leaving import is_traced
from .._lazy.node import NO_PARAMS, Node, tapes
from .._lazy.primitive import Primitive
from .._lazy.primitives import elementwise as e
from .._lazy.primitives.creation import fill
from .array import NO_LEVELS, Array, View, current, frozen, write_hook

# Numbers of Python that NumPy's assignment takes as we do, for kinds of dtypes.
_FITTING = {bool: "biufc", int: "iufc", float: "fc", complex: "c"}


_new = object.__new__


def _known(value: np.ndarray, aval: Aval) -> Array:
    """Return an array of these elements; what `Array(leaf(value))` is, in half the time."""
    node = _new(Node)
    node.prim = None
    node.inputs = ()
    node.params = NO_PARAMS
    node.aval = aval
    node.depth = 0
    node.value = value
    y = _new(Array)
    y._node = node
    y._levels = NO_LEVELS
    y._view = None
    return y


_PLAIN = frozenset({int, slice})


def _is_plain(key: Any) -> bool:
    """Say whether a key is made of integers and slices alone."""
    return _PLAIN.issuperset(map(type, key)) if type(key) is tuple else type(key) in _PLAIN


def as_integers(key: Any) -> Any:
    """Return a key with an int in place of each integer array without axes: a view has such keys in NumPy.

    What a transform must see as an index, an example's own or a part of a program, stays one.
    """
    if type(key) is tuple:
        return tuple(map(as_integers, key)) if Array in map(type, key) else key
    if type(key) is not Array or key._levels or key._node.aval.shape or key._node.aval.dtype.kind not in "iu":
        return key
    return key if tapes and is_traced(current(key)) else operator.index(key)


def _fresh_value(x: Array) -> np.ndarray | None:
    """Return the elements of an array where they are known, and nothing written since would change them."""
    if tapes or x._levels:
        return None
    seen = x._view
    if seen is not None and seen.base._node is not seen.seen:
        current(x)
    value: np.ndarray | None = x._node.value
    return value


def read(x: Array, key: Any) -> Array | None:
    """Return ``x[key]``; None where it must be recorded."""
    if tapes or x._levels:
        return None
    seen = x._view
    if seen is not None and seen.base._node is not seen.seen:
        current(x)
    node = x._node
    value: np.ndarray | None = node.value
    if value is None:
        return None
    if not _is_plain(key):
        key = as_integers(key)
        if not _is_plain(key):
            return None
    try:
        part = value[key]
    except IndexError:  # told elsewhere, in our words
        return None
    if type(part) is not np.ndarray:
        return _known(np.asarray(part), node.aval.element)
    if part.nbytes >= MEDIUM or (frozen and id(x) in frozen):
        return None
    out = _known(part, aval_of(part.shape, part.dtype))
    shape = node.aval.shape
    if seen is None:
        out._view = View(x, None, node, (x, key, shape))
    else:
        out._view = View(seen.base, None, seen.seen, (seen, key, shape))
    return out


def _counts(owner: Array) -> tuple[int, int]:
    node = owner._node
    return sys.getrefcount(node), sys.getrefcount(node.value)


# What `_counts` says where nothing but the array holds its node, and nothing but that its elements.
_ALONE = _counts(Array(Node(None, (), NO_PARAMS, aval_of((1,), np.dtype(float)), 0, np.empty(1))))


def _target(x: Array) -> np.ndarray | None:
    """Return the memory of `x` to be written to, if nobody else would see that who should not."""
    view = x._view
    owner = x if view is None else view.base
    value = owner._node.value
    if value is None or not host.can_write(value):
        return None
    del value
    if view is None:
        return owner._node.value if _counts(owner) == _ALONE else None
    part = x._node.value
    # Beside the owner, the view knows its node and uses its memory; only the view may know its own node.
    if part is None or part.base is not owner._node.value or sys.getrefcount(x._node) != _ALONE[0] - 1:
        return None
    return part if _counts(owner) == (_ALONE[0] + 1, _ALONE[1] + 1) else None


def _is_ready(x: Array) -> bool:
    """Compute an array that is to be written to, if it is small or not yet begun."""
    if tapes or frozen or x._levels:
        return False
    node = current(x) if x._view is None else x._view.base._node
    if node.value is None:
        if node.prim is not fill and node.aval.nbytes >= MEDIUM:
            return False
        value_of(node)
        current(x)
    return True


def _fitting(value: Any, dtype: np.dtype) -> Any:
    """Return what NumPy's assignment takes for a value; None where ours says more of it."""
    kind = type(value)
    if kind is Array:
        if value._levels or (value.dtype is not dtype and not np.can_cast(value.dtype, dtype, "same_kind")):
            return None
        return value_of(current(value))
    if kind in _FITTING:
        return value if dtype.kind in _FITTING[kind] else None
    if isinstance(value, np.number | np.bool):
        return value if np.can_cast(value.dtype, dtype, "same_kind") else None
    return None


def put(x: Array, key: Any, value: Any) -> bool:
    """Do ``x[key] = value``; returns False, having done nothing, where it must be recorded."""
    if not _is_plain(key):
        key = as_integers(key)
        if not _is_plain(key):
            return False
    if type(value) is Array and value._view is not None and value._view.is_part(x, key):
        return True  # Python's last step of ``x[key] += v``, which has been written
    if not _is_ready(x):
        return False
    fitting = _fitting(value, x._node.aval.dtype)
    if fitting is None or (type(fitting) is np.ndarray and fitting.nbytes >= MEDIUM):
        return False
    target = _target(x)
    if target is None:
        return False
    try:
        target[key] = fitting
    except (IndexError, ValueError, OverflowError):  # told elsewhere, in our words
        return False
    owner = x if x._view is None else x._view.base
    for note in write_hook:
        note(owner)
    return True


def put_whole(x: Array, new: Array) -> bool:
    """Make all elements of a view equal those of `new`, which has its shape and dtype."""
    return x._view is not None and x._node.aval.nbytes < MEDIUM and put(x, (), new)


def inner(x: Array, y: Array) -> Array | None:
    """Return the inner product of two small vectors of one dtype; None where it must be recorded."""
    a, b = _fresh_value(x), _fresh_value(y)
    if a is None or b is None or a.shape != b.shape or a.nbytes >= MEDIUM:
        return None
    return _known(np.asarray(_heard(np.matmul, a, b)), x._node.aval.element)


# What Python's numbers give bit for bit as NumPy's do, as long as the result is finite, or fits.
_QUICK: dict[Primitive, Callable[[Any, Any], Any]] = {
    e.add: operator.add,
    e.sub: operator.sub,
    e.mul: operator.mul,
    e.div: operator.truediv,
    e.eq: operator.eq,
    e.ne: operator.ne,
    e.lt: operator.lt,
    e.le: operator.le,
    e.gt: operator.gt,
    e.ge: operator.ge,
}
_FLOAT, _INT = aval_of((), np.dtype(np.float64)), aval_of((), np.dtype(np.int64))


def _number(node: Node) -> Any:
    """Return the value of a node that is known, or of a literal; None for what is pending."""
    value = node.value
    if value is None and node.prim is fill:
        return node.params["value"].value
    return value


def numbers(prim: Primitive, aval: Aval, a: Node, b: Node | None = None) -> Array | None:
    """Return what a primitive gives for numbers (0-d values) that are known; None if they are not."""
    x = _number(a)
    if x is None:
        return None
    if b is None:
        value = _heard(prim.host, x)
    else:
        y = _number(b)
        if y is None:
            return None
        quick = _QUICK.get(prim)
        if quick is not None and a.aval is b.aval is _FLOAT:
            try:
                value = quick(x.item(), y.item())
            except ZeroDivisionError:
                value = math.nan
            if value - value == 0:  # finite, or a truth value
                return _known(np.array(value), aval)
        elif quick is not None and a.aval is b.aval is _INT and aval is not _FLOAT:
            value = quick(x.item(), y.item())
            if -0x8000_0000_0000_0000 <= value < 0x8000_0000_0000_0000:
                return _known(np.array(value), aval)
        value = _heard(prim.host, x, y)
    if listener.heard:
        tell([Node(prim, (a,) if b is None else (a, b), NO_PARAMS, aval, 0)])
    return _known(np.asarray(value), aval)


def _heard(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function where NumPy's faults are heard, to be told of at the user's line."""
    return listening.copy().run(function, *args)
