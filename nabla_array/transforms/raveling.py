"""Pytrees of arrays as one array, and back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from .._namespace.chapters.filling import zeros
from .._namespace.chapters.joining import concat
from .._namespace.chapters.manipulation import reshape
from .._namespace.core.array import Array
from .._namespace.core.promotion import astype
from .bodies import arrays_of
from .calls import array_leaf
from .pytree import tree_unflatten

if TYPE_CHECKING:
    from ._types import T

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: T) -> tuple[Array, Callable[[Any], T]]:
    """Return the elements of all arrays of a pytree as one array of one axis, and the way back.

    Parameters
    ----------
    pytree : pytree of arrays
        Of any dtypes; the array has the one that they promote to.

    Returns
    -------
    (array, unravel)
        ``unravel(array)`` gives a pytree of the same structure, shapes and dtypes. If all have one dtype,
        it takes and gives arrays of any.

    Raises
    ------
    ValueError
        By `unravel`, for an array of another shape.
    TypeError
        By `unravel`, for one of another dtype where those of the pytree differ.

    >>> from nabla_array.transforms import ravel_pytree
    >>> flat, unravel = ravel_pytree({"w": xp.ones((2, 2)), "b": 3.0})
    >>> flat
    array([3., 1., 1., 1., 1.])
    >>> unravel(2 * flat)["b"]
    array(6.)
    """
    _, arrays, tree = arrays_of("ravel_pytree", pytree)
    dtypes = [x.dtype for x in arrays]
    one = len(set(dtypes)) < 2
    dtype = np.result_type(*dtypes) if dtypes else np.dtype(np.float64)
    flat = [astype(reshape(x, (-1,)), dtype) for x in arrays]
    shapes, ends = [x.shape for x in arrays], [*accumulate([x.size for x in arrays])]
    size = ends[-1] if ends else 0

    def unravel(array: Any) -> Any:
        x = array_leaf("ravel_pytree", array)
        if x.shape != (size,):
            raise ValueError(f"ravel_pytree: unravel takes an array of shape {(size,)}, not {x.shape}")
        if not one and x.dtype != dtype:
            raise TypeError(f"ravel_pytree: unravel takes an array of {dtype}, not {x.dtype}")
        parts = [x[end - int(np.prod(s)) : end] for s, end in zip(shapes, ends, strict=True)]
        kinds = [x.dtype] * len(parts) if one else dtypes
        made = [astype(reshape(p, s), d) for p, s, d in zip(parts, shapes, kinds, strict=True)]
        return tree_unflatten(tree, made)

    return concat(flat) if flat else zeros(0), unravel
