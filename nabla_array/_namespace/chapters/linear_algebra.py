"""The standard's linear algebra functions that live in the main namespace."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.graph.node import tapes
from ..._lazy.ops.contraction import matmul as matmul_p
from ..._lazy.ops.elementwise import conj, mul
from ..._lazy.ops.reduction import reduce_sum
from ..._lazy.ops.structure import permute, reshape
from ..core.array import Array, apply, zero_d
from ..core.outputs import deliver
from ..core.promotion import as_array, broadcast_shapes, broadcast_to, normalize_axis, promote
from ..dispatch import eager, fastpath
from ..dispatch.docstrings import specify
from ..dispatch.ufuncs import make_ufunc
from .manipulation import expand_dims, moveaxis

if TYPE_CHECKING:
    from ..core.types import ArrayLike, DTypeLike, Out

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]

# Bytes of a matrix that no core's cache holds.
_FAR = 1 << 25


@fastpath.product(np.matmul)
def matmul(
    x1: ArrayLike, x2: ArrayLike, /, out: Out = None, *, dtype: DTypeLike | None = None, **options: Any
) -> Array:
    """Return the matrix product.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtypes and one axis or more. A vector counts as a row on the left and as a column on
        the right; axes before the last two broadcast.
    out : Array, optional
        Where the result goes, too.
    dtype : dtype, optional
        Data type to compute in.
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}, optional
        Which casts of the result to `out` are fine.

    Returns
    -------
    Array
        Of the promoted dtype.

    Raises
    ------
    ValueError
        If an operand is 0-d or the inner sizes differ.

    >>> xp.matmul(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), xp.asarray([1.0, 1.0]))
    array([3., 7.])
    """
    if out is not None or dtype is not None or options:
        return with_core_options(matmul, np.matmul, (x1, x2), out=out, dtype=dtype, **options)
    if type(x1) is type(x2) is Array and x1.dtype == x2.dtype:  # for speed alone
        a, b = x1, x2
    else:
        a, b = promote("matmul", x1, x2)
    if not a.ndim or not b.ndim:
        raise ValueError(f"matmul: needs one axis or more, not shapes {a.shape} and {b.shape}")
    row, column = a.ndim == 1, b.ndim == 1
    if (found := eager.product(np.matmul, a, b)) is not None:
        return found
    left = apply(reshape, a, shape=(1, *a.shape)) if row else a
    right = apply(reshape, b, shape=(*b.shape, 1)) if column else b
    if left.shape[-1] != right.shape[-2]:
        raise ValueError(
            f"matmul: inner sizes differ: {a.dtype}{list(a.shape)} @ {b.dtype}{list(b.shape)} "
            f"({left.shape[-1]} against {right.shape[-2]})"
        )
    if column and _passes_by(a) and not b._levels:
        # In one fusion group, for which the matrix never gets into memory.
        return apply(reduce_sum, apply(mul, a, broadcast_to(b, a.shape)), axes=(1,))
    batch = left.shape[:-2]
    if batch != right.shape[:-2]:
        batch = broadcast_shapes("matmul", batch, right.shape[:-2])
        left = broadcast_to(left, batch + left.shape[-2:])
        right = broadcast_to(right, batch + right.shape[-2:])
    out = apply(matmul_p, left, right)
    shape = batch + (() if row else left.shape[-2:-1]) + (() if column else right.shape[-1:])
    return out if out.shape == shape else apply(reshape, out, shape=shape)


def _passes_by(x: Array) -> bool:
    """Say whether a matrix is yet to be computed, element by element, and is too large to wait in a cache."""
    node = x._node
    return (
        x.ndim == 2
        and x._view is None
        and not (tapes or x._levels)
        and node.value is None
        and node.prim is not None
        and node.prim.kind == "elementwise"
        and node.aval.nbytes >= _FAR
        and node.aval.dtype.char in "fd"
    )


def matrix_transpose(x: ArrayLike, /) -> Array:
    """Return each matrix with its two axes swapped, as a view.

    Parameters
    ----------
    x : Array
        Of two axes or more.

    Returns
    -------
    Array
        Of shape ``(..., N, M)`` for `x` of shape ``(..., M, N)``.

    Raises
    ------
    ValueError
        If `x` has less than two axes.

    >>> xp.matrix_transpose(xp.asarray([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]])
    """
    y = as_array("matrix_transpose", x)
    if y.ndim < 2:
        raise ValueError(f"matrix_transpose: array must be at least 2-dimensional, not of shape {y.shape}")
    return y.mT


def _uncontracted(a: Any, b: Any, axes: Any = 2, **_: Any) -> float:
    shape = np.shape(a)
    if not isinstance(axes, int):
        axes = axes[0]
    try:
        summed = math.prod(shape[len(shape) - axes :] if isinstance(axes, int) else [shape[i] for i in axes])
    except (TypeError, IndexError):  # told elsewhere, in our words
        return math.inf
    return fastpath.pairs(a, b) / max(summed, 1) ** 2


@fastpath.whole(np.tensordot, elements=_uncontracted)
def tensordot(a: ArrayLike, b: ArrayLike, axes: Any = 2) -> Array:
    """Return the sum of products over some axes of both arrays.

    Parameters
    ----------
    a, b : Array
        Of numeric dtypes.
    axes : int or (ints, ints)
        The last `axes` axes of `a` against the first of `b`, in order; or the axes of `a` and those
        of `b` that belong together.

    Returns
    -------
    Array
        Of the promoted dtype; the other axes of `a`, then those of `b`.

    Raises
    ------
    ValueError
        If sizes or numbers of axes differ, an axis stands twice, or an axis is out of bounds.

    >>> xp.tensordot(xp.asarray([[1, 2], [3, 4]]), xp.asarray([10, 1]), axes=1)
    array([12, 34])
    """
    a, b = promote("tensordot", a, b)
    first, second = _contracted(a, b, axes)
    sizes = [a.shape[i] for i in first], [b.shape[i] for i in second]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"tensordot: sizes differ: {sizes[0]} along axes {first} of shape {a.shape} against "
            f"{sizes[1]} along axes {second} of shape {b.shape}"
        )
    free1 = [i for i in range(a.ndim) if i not in first]
    free2 = [i for i in range(b.ndim) if i not in second]
    inner = math.prod(sizes[0])
    rows = tuple(a.shape[i] for i in free1)
    columns = tuple(b.shape[i] for i in free2)
    left = apply(reshape, apply(permute, a, axes=(*free1, *first)), shape=(math.prod(rows), inner))
    right = apply(reshape, apply(permute, b, axes=(*second, *free2)), shape=(inner, math.prod(columns)))
    return zero_d(apply(reshape, apply(matmul_p, left, right), shape=rows + columns))


def _contracted(a: Array, b: Array, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes of `a` and of `b` that `tensordot` sums over."""
    if not isinstance(axes, tuple | list):
        n = operator.index(axes)
        if not 0 <= n <= min(a.ndim, b.ndim):
            raise np.exceptions.AxisError(
                f"tensordot: axes={n} does not fit shapes {a.shape} and {b.shape}; "
                f"0 to {min(a.ndim, b.ndim)} would work"
            )
        return tuple(range(a.ndim - n, a.ndim)), tuple(range(n))
    one, two = [some if isinstance(some, tuple | list) else (some,) for some in axes]
    first = tuple(normalize_axis("tensordot", i, a.ndim) for i in one)
    second = tuple(normalize_axis("tensordot", i, b.ndim) for i in two)
    if len(first) != len(second):
        raise ValueError(f"tensordot: {len(first)} axes against {len(second)} in axes={axes!r}")
    if len(set(first)) < len(first) or len(set(second)) < len(second):
        raise ValueError(f"tensordot: an axis stands twice in axes={axes!r}")
    return first, second


@fastpath.whole(np.vecdot)
def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    out: Out = None,
    *,
    axis: int = -1,
    dtype: DTypeLike | None = None,
    **options: Any,
) -> Array:
    """Return the dot product of vectors, the first one conjugated.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtypes and one axis or more; the axes without the vectors' broadcast.
    out : Array, optional
        Where the result goes, too.
    axis : int
        The axis of the vectors, counted in each operand.
    dtype : dtype, optional
        Data type to compute in.
    **options
        What NumPy's ufuncs of vectors take: `axes`, `keepdims`, `casting`.

    Returns
    -------
    Array
        Of the promoted dtype, without the axis.

    Raises
    ------
    ValueError
        If the vectors' lengths differ (1 against more is no match) or the other axes do not broadcast.

    >>> xp.vecdot(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), xp.asarray([1.0, 10.0]))
    array([21., 43.])
    """
    if out is not None or dtype is not None or options:
        if "axes" not in options or axis != -1:
            options["axis"] = axis
        return with_core_options(vecdot, np.vecdot, (x1, x2), out=out, dtype=dtype, **options)
    a, b = [axis_last("vecdot", y, axis) for y in promote("vecdot", x1, x2)]
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(
            f"vecdot: vectors of lengths {a.shape[-1]} and {b.shape[-1]} along axis {axis}; "
            "equal lengths would work"
        )
    if a.dtype.kind == "c":
        a = apply(conj, a)
    batch = broadcast_shapes("vecdot", a.shape[:-1], b.shape[:-1])
    row = broadcast_to(apply(reshape, a, shape=(*a.shape[:-1], 1, a.shape[-1])), (*batch, 1, a.shape[-1]))
    column = broadcast_to(apply(reshape, b, shape=(*b.shape, 1)), (*batch, b.shape[-1], 1))
    return apply(reshape, apply(matmul_p, row, column), shape=batch)


def axis_last(function: str, x: Array, axis: Any) -> Array:
    """Return `x` with one of its axes moved to the end."""
    if not x.ndim:
        raise ValueError(f"{function}: needs one axis or more, not a 0-d array")
    k = normalize_axis(function, axis, x.ndim)
    if k == x.ndim - 1:
        return x
    return apply(permute, x, axes=(*range(k), *range(k + 1, x.ndim), k))


def with_core_options(
    function: Callable[[Any, Any], Array],
    like: np.ufunc,
    args: tuple[Any, ...],
    *,
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    out: Any = None,
    dtype: Any = None,
    casting: Any = None,
    order: Any = None,
    subok: bool = True,
) -> Any:
    """Call a ufunc of whole vectors or matrices with more than its operands."""
    name = like.__name__
    if type(keepdims) is not bool:
        raise TypeError(f"{name}: keepdims must be a bool, not {keepdims!r}")
    if axis is not None and axes is not None:
        raise TypeError("cannot specify both 'axis' and 'axes'")
    if (axis is not None or keepdims) and like is not np.vecdot:
        raise TypeError(f"{name}: axis and keepdims are for functions of vectors alone; axes would work")
    places = [(axis,)] * like.nin if axis is not None else _places(name, axes, like)
    arrays = [as_array(name, x, dtype) for x in args]
    y = function(*[moveaxis(x, a, _last(a)) for x, a in zip(arrays, places or [()] * like.nin, strict=False)])
    if len(places) > like.nin:
        y = moveaxis(y, _last(places[-1]), places[-1])
    if keepdims:
        y = expand_dims(y, axis=-1 if axis is None else axis)
    return deliver(name, out, y, casting or "same_kind")


def _places(name: str, axes: Any, like: np.ufunc) -> list[tuple[int, ...]]:
    if axes is None:
        return []
    if not isinstance(axes, list):
        raise TypeError(f"{name}: axes should be a list, not {type(axes).__name__}")
    assert like.signature is not None
    if len(axes) != like.nargs and not (len(axes) == like.nin and like.signature.endswith("()")):
        raise ValueError(f"{name}: axes has {len(axes)} entries for {like.nargs} operands")
    places = [a if isinstance(a, tuple) else (a,) for a in axes]
    cores = [core.split(",") if core else [] for core in re.findall(r"\(([^)]*)\)", like.signature)]
    for k, (place, core) in enumerate(zip(places, cores, strict=False)):
        if len(place) != len(core) and "?" not in like.signature:
            raise np.exceptions.AxisError(
                f"{name}: operand {k} has {len(core)} core dimensions, and axes names {axes[k]!r}"
            )
    return places


def _last(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(range(-len(axes), 0))


make_ufunc(matmul, np.matmul)
make_ufunc(vecdot, np.vecdot)
specify(globals())
