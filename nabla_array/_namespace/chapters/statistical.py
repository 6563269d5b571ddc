"""Statistical functions."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.graph.primitive import Primitive
from ..._lazy.ops import reduction as p
from ..._lazy.ops.elementwise import add, maximum, minimum, mul
from ..._lazy.ops.elementwise import select as select_p
from ..._lazy.ops.structure import reshape
from ..core.array import Array, apply
from ..core.outputs import deliver
from ..core.promotion import (
    as_array,
    astype,
    broadcast_shapes,
    broadcast_to,
    elementwise,
    full,
    reduced_axes,
)
from ..dispatch import eager, fastpath
from ..dispatch.contracting import sum_of_product
from ..dispatch.docstrings import described_like, specify

if TYPE_CHECKING:
    from ..core.types import ArrayLike, Axis, DTypeLike, Out

__all__ = ["max", "min", "prod", "sum"]


def reduce(prim: Primitive, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Record a reduction; with `keepdims`, the reduced axes stay, with size 1."""
    out = apply(prim, x, axes=axes)
    return apply(reshape, out, shape=kept(x, axes)) if keepdims else out


def kept(x: Array, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([1 if i in axes else n for i, n in enumerate(x.shape)])


def count(x: Array, axes: tuple[int, ...]) -> int:
    return math.prod([x.shape[i] for i in axes])


def total_dtype(x: Array, dtype: Any) -> np.dtype:
    """Return the dtype that sums and products have: small integers grow to the default one's size."""
    if dtype is not None:
        return np.dtype(dtype)
    if x.dtype.kind in "bi" and x.dtype.itemsize < 8:
        return np.dtype(np.int64)
    if x.dtype.kind == "u" and x.dtype.itemsize < 8:
        return np.dtype(np.uint64)
    return x.dtype


def chosen(function: str, x: Array, where: Any, neutral: Any) -> Array:
    """Return `x` with what a reduction does not see in place of what it is to leave out."""
    mask = astype(as_array(function, where), np.dtype(np.bool))
    shape = broadcast_shapes(function, x.shape, mask.shape)
    return apply(select_p, broadcast_to(mask, shape), broadcast_to(x, shape), full(shape, neutral, x.dtype))


def _lowest(name: str, dtype: np.dtype) -> Any:
    """Return the number of a dtype that never is the result of `max`, or of `min`, of others."""
    sign = -1 if name == "max" else 1
    if dtype.kind in "fc":
        return sign * math.inf
    if dtype.kind == "b":
        return name == "min"
    return np.iinfo(dtype).min if name == "max" else np.iinfo(dtype).max


def _extreme(
    name: str, prim: Primitive, x: Any, axis: Any, out: Any, keepdims: bool, initial: Any, where: Any
) -> Array:
    a = as_array(name, x)
    if where is not True:
        if initial is None:
            raise ValueError(
                f"reduction operation '{name}imum' does not have an identity, so to use a where mask one has "
                "to specify 'initial'"
            )
        a = chosen(name, a, where, _lowest(name, a.dtype))
    axes = reduced_axes(name, axis, a.ndim)
    is_empty = a.size == 0 and builtins.any(a.shape[i] == 0 for i in axes)
    first = None if initial is None else as_array(name, initial, a.dtype)
    if not is_empty:
        y = reduce(prim, a, axes, keepdims)
        if first is not None:
            y = elementwise(maximum if name == "max" else minimum, name, (y, first))
    elif first is None:
        raise ValueError(
            f"{name}: no value for an empty axis: shape {a.shape} over axes {axes}; one element would do"
        )
    else:
        rest = tuple([n for i, n in enumerate(a.shape) if i not in axes])
        y = broadcast_to(first, kept(a, axes) if keepdims else rest)
    return deliver(name, out, y, "unsafe", exact=True)


def _total(
    name: str,
    prim: Primitive,
    join: Primitive,
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Array:
    """Reduce by a primitive whose results of parts another one joins, as `sum` and `prod` do."""
    x = as_array(name, a)
    if out is not None and dtype is None and type(out) is not tuple:
        dtype = np.result_type(out.dtype, x.dtype)
    x = astype(x, total_dtype(x, dtype))
    if where is not True:
        x = chosen(name, x, where, int(name == "prod"))
    axes = reduced_axes(name, axis, x.ndim)
    if initial is not None and out is None:  # what there is little of has NumPy's bits
        assert join.ufunc is not None
        found = eager.taken(join.ufunc.reduce, x, axes, x.dtype, None, keepdims, initial)
        if found is not None:
            return found
    y = reduce(prim, x, axes, keepdims)
    if initial is not None and x.size:
        y = elementwise(join, name, (y, initial))
    elif initial is not None:  # alone: 0.0 + -0.0 would lose the sign
        y = broadcast_to(as_array(name, initial, y.dtype), y.shape)
    return deliver(name, out, y, "unsafe", exact=True)


@fastpath.whole(np.ndarray.max, "reduce")
def max(
    a: ArrayLike,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Any = None,
    where: ArrayLike = True,
) -> Array:
    """Return the largest element along axes.

    Parameters
    ----------
    a : Array
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    out : Array, optional
        Where the result goes, too.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.
    initial : scalar, optional
        A number that counts as one more element.
    where : Array of booleans, optional
        Which elements count.

    Returns
    -------
    Array
        Of the dtype of `a`; nan where any element is nan.

    Raises
    ------
    ValueError
        If there is no element to choose from.

    >>> xp.max(xp.asarray([[1, 5], [4, 2]]), axis=1)
    array([5, 4])
    """
    return _extreme("max", p.reduce_max, a, axis, out, keepdims, initial, where)


@fastpath.whole(np.ndarray.min, "reduce")
@described_like(max)
def min(
    a: ArrayLike,
    axis: Axis = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Any = None,
    where: ArrayLike = True,
) -> Array:
    """Return the smallest element along axes.

    >>> xp.min(xp.asarray([[1, 5], [4, 2]]), axis=1)
    array([1, 2])
    """
    return _extreme("min", p.reduce_min, a, axis, out, keepdims, initial, where)


@fastpath.whole(np.ndarray.sum, "reduce", pending=sum_of_product)
def sum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Any = None,
    where: ArrayLike = True,
) -> Array:
    """Return the sum of the elements along axes.

    Parameters
    ----------
    a : Array
    axis : int or tuple of ints, optional
        Axes to reduce; all of them where it is None.
    dtype : dtype, optional
        Data type to sum in. Where it is None, that of `a`, but 64 bits for booleans and smaller integers.
    out : Array, optional
        Where the result goes, too.
    keepdims : bool, optional
        Keep the reduced axes, with size 1.
    initial : scalar, optional
        A number that counts as one more element.
    where : Array of booleans, optional
        Which elements count.

    Returns
    -------
    Array
        The sums; 0 where there is nothing to sum.

    >>> xp.sum(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([4., 6.])
    """
    return _total("sum", p.reduce_sum, add, a, axis, dtype, out, keepdims, initial, where)


@fastpath.whole(np.ndarray.prod, "reduce")
@described_like(sum, {"sum in": "multiply in", "sums; 0": "products; 1", "to sum.": "to multiply."})
def prod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Any = None,
    where: ArrayLike = True,
) -> Array:
    """Return the product of the elements along axes.

    >>> xp.prod(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([3., 8.])
    """
    return _total("prod", p.reduce_prod, mul, a, axis, dtype, out, keepdims, initial, where)


specify(globals())
