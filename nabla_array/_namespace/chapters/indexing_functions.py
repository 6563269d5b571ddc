"""Indexing functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.graph.node import mark_origin
from ..._lazy.ops.indexing import gather
from ..._lazy.ops.structure import permute
from ..core.array import Array, apply
from ..core.indexing import array_in_bounds
from ..core.outputs import deliver
from ..core.promotion import as_array, astype, axis_or_flat, broadcast_shapes, broadcast_to
from ..dispatch import eager, fastpath
from ..dispatch.docstrings import specify
from .elementwise import clip, remainder

if TYPE_CHECKING:
    from ..core.types import ArrayLike, Out

__all__ = ["take", "take_along_axis"]

_INTP = np.dtype(np.intp)


def _indices(function: str, indices: Any, axis: int, n: int, error: type[Exception]) -> Array:
    """Return indices ready for `gather`; those that are no `Array` are known, and checked, now."""
    if type(indices) is float and error is TypeError:  # NumPy takes such a number, but no array of them
        indices = np.asarray(indices).astype(_INTP)
    out = as_array(function, indices)
    if not out.size and isinstance(indices, list | tuple):
        return astype(out, _INTP)
    if out.dtype.kind not in ("iu" if error is IndexError else "biu"):
        raise error(f"{function}: indices must be integers, not {out.dtype}")
    if type(indices) is not Array and out._node.value is not None:
        array_in_bounds(function, out._node.value, axis, n)
    return astype(out, _INTP)


def _few(x: Array, indices: Any, axis: Any) -> Array | None:
    """Return the elements at once, if they are few of an array that is known."""
    if axis is None:
        n = x.size
    elif type(axis) is int and -x.ndim <= axis < x.ndim:
        n = x.shape[axis]
    else:
        return None
    places = eager.places(indices, n)
    if places is None or x.nbytes // n * places.size >= eager.LARGE:
        return None
    return eager.taken(np.take, x, places, axis)


@fastpath.whole(np.take)
def take(
    a: ArrayLike, indices: ArrayLike, axis: int | None = None, out: Out = None, mode: str = "raise"
) -> Array:
    """Return the elements at some indices along an axis.

    Parameters
    ----------
    a : Array
    indices : Array of integers
        Negative ones count from the end. The result has their axes in the place of `axis`.
    axis : int, optional
        The array is flattened where it is None.
    out : Array, optional
        Where the result goes, too.
    mode : {"raise", "wrap", "clip"}, optional
        What becomes of indices out of range.

    Returns
    -------
    Array

    Raises
    ------
    IndexError
        If an index or the axis is out of range (for indices that are not known yet: when somebody
        looks at the result).
    TypeError
        If the indices are not integers.

    >>> xp.take(xp.asarray([10, 20, 30]), xp.asarray([2, 0, -1]))
    array([30, 10, 30])
    """
    if type(a) is Array and mode == "raise" and out is None:
        few = _few(a, indices, axis)
        if few is not None:
            return few
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"take: no mode {mode!r}; 'raise', 'wrap' or 'clip' would work")
    y, along = axis_or_flat("take", a, axis)
    n = y.shape[along]
    if mode == "raise":
        index = _indices("take", indices, along, n, TypeError)
    else:  # led back to a place that there is
        index = _indices("take", as_array("take", indices), along, n, TypeError)
        if not n and index.size:
            raise IndexError("take: cannot do a non-empty take from an empty axis")
        index = remainder(index, n) if mode == "wrap" else clip(index, 0, n - 1)
    found = apply(gather, y, index, axes=(along,), batch=0)
    mark_origin(found._node, "take")
    k = index.ndim
    order = (*range(k, k + along), *range(k), *range(k + along, found.ndim))
    y = found if order == tuple(range(found.ndim)) else apply(permute, found, axes=order)
    return deliver("take", out, y, exact=True)


@fastpath.whole(np.take_along_axis)
def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: int | None = -1) -> Array:
    """Return the elements at indices that differ from row to row, as `argsort` and `argmax` give them.

    Parameters
    ----------
    arr : Array
    indices : Array of integers
        With as many axes as `arr`, which broadcast with those of `arr` but for `axis`. Negative ones
        count from the end.
    axis : int, optional
        The array is flattened where it is None.

    Returns
    -------
    Array

    Raises
    ------
    IndexError
        If an index or the axis is out of range (for indices that are not known yet: when somebody
        looks at the result), the indices are not integers, or the shapes do not broadcast.
    ValueError
        If the numbers of axes differ.

    >>> x = xp.asarray([[3, 1, 2], [9, 7, 8]])
    >>> xp.take_along_axis(x, xp.argsort(x, axis=1), axis=1)
    array([[1, 2, 3],
           [7, 8, 9]])
    """
    y, along = axis_or_flat("take_along_axis", arr, axis, takes_0d=False)
    index = _indices("take_along_axis", indices, along, y.shape[along], IndexError)
    if index.ndim != y.ndim:
        raise ValueError(f"take_along_axis: {index.ndim} axes of indices against {y.ndim} of the array")
    rows = [s[:along] + s[along + 1 :] for s in (y.shape, index.shape)]
    try:
        shape = broadcast_shapes("take_along_axis", *rows)
    except ValueError as error:
        raise IndexError(str(error)) from None
    last = (*range(along), *range(along + 1, y.ndim), along)
    back = (*range(along), y.ndim - 1, *range(along, y.ndim - 1))
    y, index = (broadcast_to(apply(permute, a, axes=last), (*shape, a.shape[along])) for a in (y, index))
    out = apply(gather, y, index, axes=(y.ndim - 1,), batch=y.ndim - 1)
    mark_origin(out._node, "take_along_axis")
    return apply(permute, out, axes=back)


specify(globals())
