"""What is known of a value before it exists: its shape and its dtype."""

from __future__ import annotations

import math
import sys
from _thread import RLock  # what `threading` gives; importing that takes a millisecond
from weakref import WeakValueDictionary

import numpy as np

from ..forks import at_fork

# Values of this many bytes or more are worth a plan (evaluate.py); those below run one by one, from
# MEDIUM on in the memory of dead ones.
LARGE = 1 << 19
MEDIUM = 1 << 16
MEDIUM_WEIGHT = 17
# A pending chain evaluates itself at a depth of LIMIT (node.py). Large values count for more, since
# a pending node may hold arrays of its size alive.
_BYTES_PER_UNIT = 8 << 20


# The most axes of NumPy's arrays, and of those here.
MOST_AXES = 64


class TooBigError(ValueError):
    """No array can have this shape."""


def check_size(shape: tuple[int, ...], itemsize: int) -> None:
    """Raise TooBigError for a shape that no array of elements of so many bytes has.

    As in NumPy, no axis of size 0 makes up for others.
    """
    if len(shape) > MOST_AXES:
        raise TooBigError(f"{len(shape)} axes exceed the maximum supported dimension, {MOST_AXES}")
    if math.prod([n or 1 for n in shape]) * itemsize > sys.maxsize:
        raise TooBigError(f"array is too big: shape {shape} has more elements than fit into 2**63 - 1 bytes")


class Aval:
    """Shape and dtype of a value, interned: equal avals are the same object.

    Identity is the equality, so a dictionary keyed by avals costs no Python-level hash.
    Make one with `aval_of`, never directly. `element` is that of one element, without axes.
    """

    __slots__ = ("__weakref__", "dtype", "element", "nbytes", "ndim", "shape", "size", "weight")

    element: Aval

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        size = math.prod(shape)
        nbytes = size * dtype.itemsize
        if not 0 < nbytes <= sys.maxsize or len(shape) > MOST_AXES:
            check_size(shape, dtype.itemsize)
        self.shape = shape
        self.dtype = dtype
        self.ndim = len(shape)
        self.size = size
        self.nbytes = nbytes
        self.weight = MEDIUM_WEIGHT + self.nbytes // _BYTES_PER_UNIT if self.nbytes >= MEDIUM else 1

    def __repr__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"


# The last ones, which a loop may ask for again before anything holds them, ...
_recent: dict[tuple, Aval] = {}
_KEPT = 1 << 13
# ... and those of before that something holds.
_table: WeakValueDictionary[tuple, Aval] = WeakValueDictionary()
_lock = RLock()  # a collection while it is held may run finalizers, which ask for avals
at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def aval_of(shape: tuple[int, ...], dtype: np.dtype) -> Aval:
    """Return the one aval of this shape (a tuple of ints) and dtype (an `np.dtype` instance)."""
    found = _recent.get((shape, dtype))
    if found is None:
        element = aval_of((), dtype) if shape else None
        with _lock:
            if len(_recent) >= _KEPT:
                _forget()
            found = _table.get((shape, dtype)) if _table else None
            if found is None:
                shape = tuple([int(n) for n in shape])  # what only counts as an int is not kept
                found = Aval(shape, dtype)
                found.element = found if element is None else element
            # A finalizer may have asked for this one just now.
            found = _recent.setdefault((shape, dtype), found)
    return found


def _forget() -> None:
    """Let go of the last avals that nothing else holds; other threads find them meanwhile.

    A finalizer that runs here may have them let go of first.
    """
    last = list(_recent.items())
    _table.update(last)
    for key, _ in last:
        _recent.pop(key, None)


def aval_of_value(value: np.ndarray) -> Aval:
    """Return the aval of a NumPy array."""
    return aval_of(value.shape, value.dtype)


def is_differentiable(aval: Aval | tuple[Aval, ...]) -> bool:
    """Say whether values of this aval (or of one of these) have tangents: real and complex numbers do."""
    if isinstance(aval, Aval):
        return aval.dtype.kind in "fc"
    return any(a.dtype.kind in "fc" for a in aval)
