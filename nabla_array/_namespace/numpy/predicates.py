"""What an object is: questions that need no elements."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..chapters.creation import asarray
from ..core.array import Array, is_scalar
from ..core.lengths import told
from ..core.promotion import normalize_axis
from ..core.views import Flags
from ..dispatch.fastpath import asked
from .described import numpys

if TYPE_CHECKING:
    from ..core.types import ArrayLike, Axis


@asked
@numpys
def ndim(a: ArrayLike) -> int:
    """Return the number of axes.

    >>> xp.ndim([[1, 2]])
    2
    """
    found = getattr(a, "ndim", None)
    return asarray(a).ndim if found is None else found


@asked
@numpys
def shape(a: ArrayLike) -> tuple[int, ...]:
    """Return the shape.

    >>> xp.shape([[1, 2]])
    (1, 2)
    """
    found = getattr(a, "shape", None)
    return told(asarray(a).shape if found is None else found)


@asked
@numpys
def size(a: ArrayLike, axis: Axis = None) -> int:
    """Return the number of elements, or that along axes.

    >>> xp.size([[1, 2]])
    2
    """
    lengths = shape(a)
    if axis is None:
        return math.prod(lengths)
    many = axis if isinstance(axis, tuple) else (axis,)
    return math.prod(lengths[normalize_axis("size", k, len(lengths))] for k in many)


@asked
@numpys
def isscalar(element: ArrayLike) -> bool:
    """Test for a number or a string, Python's or NumPy's, or what is such in NumPy: a sum, or an element.

    >>> xp.isscalar(3.1), xp.isscalar(xp.ones(2).sum()), xp.isscalar(xp.ones(2))
    (True, True, False)
    """
    return is_scalar(element) if type(element) is Array else bool(np.isscalar(element))


@numpys
def iterable(y: ArrayLike) -> bool:
    """Test whether one can iterate over an object.

    >>> xp.iterable([1, 2]), xp.iterable(2)
    (True, False)
    """
    return asarray(y).ndim > 0 if type(y) is Array else bool(np.iterable(y))


@asked
@numpys
def iscomplexobj(x: ArrayLike) -> bool:
    """Test for a complex dtype.

    >>> xp.iscomplexobj([1j])
    True
    """
    dtype = getattr(x, "dtype", None)
    return (asarray(x).dtype if dtype is None else dtype).kind == "c"


@asked
@numpys
def isrealobj(x: ArrayLike) -> bool:
    """Test for a dtype that is not complex.

    >>> xp.isrealobj([1.0])
    True
    """
    return not iscomplexobj(x)


@numpys
def isfortran(a: Any) -> bool:
    """Test for Fortran's order of elements in memory, and not C's.

    >>> xp.isfortran(xp.eye(2)), xp.isfortran(xp.eye(2, order="F"))
    (False, True)
    """
    return bool(Flags(a).fnc if type(a) is Array else np.isfortran(a))


def _owner(x: Array) -> Array:
    return x if x._view is None else x._view.base


@numpys
def may_share_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    """Test whether a write to one array may change the other.

    >>> x = xp.zeros(3)
    >>> xp.may_share_memory(x, x[1:])
    True
    """
    if type(a) is not Array and type(b) is not Array:
        return np.may_share_memory(a, b, max_work)
    return type(a) is type(b) and _owner(a) is _owner(b)


@numpys
def shares_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    """Test whether a write to one array changes the other.

    >>> x = xp.zeros(4)
    >>> xp.shares_memory(x[:2], x[2:])
    False
    """
    if type(a) is not Array and type(b) is not Array:
        return np.shares_memory(a, b, max_work)
    if not may_share_memory(a, b):
        return False
    places = []
    for x in (a, b):
        number: Any = np.arange(_owner(x).size).reshape(_owner(x).shape)
        for step in x._view.steps if x._view is not None else ():
            number = step.shown(number, operator.index)
        places.append(number)
    return bool(np.intersect1d(*places).size)
