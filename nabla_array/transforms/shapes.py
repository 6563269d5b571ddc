"""Shapes and dtypes without elements: arrays described, and what functions would give for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from .._namespace.core.array import Array
from .bodies import Kind, Run
from .pytree import take, tree_flatten, tree_unflatten
from .watching import Watch, is_watched, running_tapes, watched

__all__ = ["ShapeDtypeStruct", "eval_shape"]

_LOOKED = (
    "eval_shape: the function looks at a value ({}), but there are only shapes and dtypes: xp.where chooses "
    "without looking"
)


class ShapeDtypeStruct:
    """What is known of an array without its elements.

    Parameters
    ----------
    shape : tuple of int
    dtype : dtype

    Attributes
    ----------
    shape, dtype, ndim, size
        As an array's.

    >>> from nabla_array.transforms import ShapeDtypeStruct
    >>> ShapeDtypeStruct((2, 3), xp.float32)
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (other.shape, other.dtype) == (self.shape, self.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype})"


def is_shaped(leaf: Any) -> bool:
    """Say whether a leaf is an array or is described as one."""
    return isinstance(leaf, Array | np.ndarray | np.generic | ShapeDtypeStruct)


def is_evaluating_shapes() -> bool:
    """Say whether this thread runs a function for the shapes of its results."""
    return is_watched(_LOOKED)


@overload
def eval_shape(fun: Callable[..., Array], *args: Any, **kwargs: Any) -> ShapeDtypeStruct: ...
@overload
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the shapes and dtypes of what ``fun(*args, **kwargs)`` would return; nothing is computed.

    Parameters
    ----------
    fun : callable
        Of arrays and anything else; it returns arrays and pytrees of them.
    *args, **kwargs
        Where arrays would be, `ShapeDtypeStruct` may be. Numbers of Python and what else there is are handed
        on as they are.

    Returns
    -------
    pytree of ShapeDtypeStruct

    Raises
    ------
    TypeError
        If the function looks at an element (``if x > 0``), or writes to an array that it captures.

    >>> from nabla_array.transforms import ShapeDtypeStruct, eval_shape
    >>> eval_shape(lambda a, n: a @ xp.zeros((3, n)), ShapeDtypeStruct((10**9, 3), xp.float64), 4)
    ShapeDtypeStruct(shape=(1000000000, 4), dtype=float64)
    """
    found, rest = take(*tree_flatten((args, kwargs)), is_shaped)
    watch = Watch(_LOOKED)

    def body(*arrays: Array) -> Any:
        watch.tape = running_tapes()[-1]
        some, named = rest.filled(arrays)
        return fun(*some, **named)

    with watched(watch):
        kinds = [Kind(tuple(x.shape), np.dtype(x.dtype), ()) for x in found]
        run = Run("eval_shape", body, kinds, always=True)
    if run.looked:
        raise TypeError("eval_shape: the function writes to an array that it captures: make it an argument")
    return tree_unflatten(run.tree, [ShapeDtypeStruct(x.shape, x.dtype) for x in run.arrays])
