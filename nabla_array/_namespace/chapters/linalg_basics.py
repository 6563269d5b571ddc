"""The functions of `linalg` that decompose nothing: products, diagonals, norms; and checks for the others."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.linalg import LinAlgError

from ..._lazy.graph.node import mark_origin, tapes
from ..._lazy.graph.primitive import Primitive
from ..._lazy.ops import linalg as p
from ..._lazy.ops.contraction import matmul as matmul_p
from ..._lazy.ops.reduction import reduce_max, reduce_min, reduce_sum
from ..._lazy.ops.structure import concat, permute, reshape, slice_
from ..._lazy.ops.structure import diagonal as diagonal_p
from ..._lazy.run.evaluator import value_of
from ..core.array import Array, apply, apply_many, from_value, view
from ..core.promotion import (
    as_array,
    astype,
    broadcast_to,
    full,
    normalize_axes,
    normalize_axis,
    promote,
    require,
)
from ..dispatch import fastpath
from ..dispatch.docstrings import specify
from . import elementwise as e
from .linear_algebra import axis_last
from .statistical import total_dtype

if TYPE_CHECKING:
    from ..core.types import ArrayLike, DTypeLike

__all__ = ["cross", "diagonal", "matrix_norm", "matrix_power", "outer", "trace", "vector_norm"]


def floats(function: str, x: Any) -> Array:
    """Return `x` as an array of inexact numbers: booleans and integers become float64, as in NumPy."""
    y = as_array(function, x)
    return y if y.dtype.kind in "fc" else astype(y, np.dtype(np.float64))


def matrices(function: str, x: Any, square: bool = False) -> Array:
    """Return `x` as an array of two axes or more; raises LinAlgError."""
    y = as_array(function, x)
    if y.ndim < 2:
        raise LinAlgError(f"{function}: needs matrices (two axes or more), not shape {y.shape}")
    if square and y.shape[-1] != y.shape[-2]:
        raise LinAlgError(f"{function}: needs square matrices, not shape {y.shape}")
    return y


def decomposed(a: Any, *more: Any, **options: Any) -> int:
    """Return how many elements take as long to make as the decomposition of `a`: many are recorded."""
    return fastpath.size(a) * (32 if np.ndim(a) > 2 else 1)


def lapack(function: str, x: Any, square: bool = False) -> Array:
    """Return `x` as matrices of a dtype that LAPACK has; raises LinAlgError, TypeError."""
    y = floats(function, matrices(function, x, square))
    if y.dtype.char not in "fdFD":
        raise TypeError(f"{function}: needs float32, float64, complex64 or complex128, not {y.dtype}")
    return y


def fallible(function: str, prim: Primitive, *arrays: Array, **params: Any) -> Array:
    """Record a primitive that may fail on the data; the error will name `function` and the user's line."""
    out = apply(prim, *arrays, **params)
    mark_origin(out._node, function)
    return out


def asked(out: Array) -> Array:
    """Evaluate a result now: where the data are wrong, programs want the error here, to catch it as NumPy's.

    Within vmap and traces there is no value to look at, and the error comes when there is one.
    """
    if not (out._levels or tapes):
        value_of(out._node)
    return out


def fallible_many(function: str, prim: Primitive, x: Array, **params: Any) -> tuple[Array, ...]:
    """Do the same for a primitive that has several results."""
    out = apply_many(prim, x, **params)
    if out[0]._node.inputs:  # else an error state wanted to know at once, and it did not fail
        mark_origin(out[0]._node.inputs[0], function)
    return out


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Return the cross product of vectors in space.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtypes, with 3 elements along `axis`; the other axes broadcast.
    axis : int
        The axis of the vectors, counted in each operand.

    Returns
    -------
    Array
        Of the promoted dtype.

    Raises
    ------
    ValueError
        If the vectors have not 3 elements or the other axes do not broadcast.

    >>> xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0]))
    array([0, 0, 1])
    """
    a, b = [axis_last("cross", y, axis) for y in promote("cross", x1, x2)]
    require("cross", "numeric", a)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ValueError(
            f"cross: input arrays must be (arrays of) 3-dimensional vectors, not of {a.shape[-1]} and "
            f"{b.shape[-1]} elements along axis {axis}"
        )
    a1, a2, a3 = [_column(a, i) for i in range(3)]
    b1, b2, b3 = [_column(b, i) for i in range(3)]
    pairs = [(a2, b3, a3, b2), (a3, b1, a1, b3), (a1, b2, a2, b1)]
    parts = [e.subtract(e.multiply(s, t), e.multiply(u, v)) for s, t, u, v in pairs]
    out = apply(concat, *parts, axis=parts[0].ndim - 1)
    last = out.ndim - 1
    k = normalize_axis("cross", axis, out.ndim)
    return out if k == last else apply(permute, out, axes=(*range(k), last, *range(k, last)))


def _column(x: Array, i: int) -> Array:
    """Return element `i` of the last axis, which stays, of length 1."""
    lead = x.ndim - 1
    return apply(slice_, x, start=(*[0] * lead, i), size=(*x.shape[:-1], 1), step=(1,) * x.ndim)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """Return a diagonal of each matrix, as a view that cannot be written to.

    Parameters
    ----------
    x : Array
        Of two axes or more.
    offset : int
        Which diagonal: above the main one where positive, below it where negative.

    Returns
    -------
    Array
        The last two axes are replaced by the diagonal's; empty where there is none so far out.

    Raises
    ------
    LinAlgError
        If `x` has less than two axes.

    >>> xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]]))
    array([1, 4])
    """
    return view(matrices("diagonal", x), diagonal_p, offset=operator.index(offset))


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Return the sum of a diagonal of each matrix.

    Parameters
    ----------
    x : Array
        Of two axes or more.
    offset : int
        Which diagonal: above the main one where positive, below it where negative.
    dtype : dtype, optional
        Data type to sum in; by default that of `x`, but int64 for smaller integers and booleans and
        uint64 for smaller unsigned ones.

    Returns
    -------
    Array
        Without the last two axes.

    Raises
    ------
    LinAlgError
        If `x` has less than two axes.

    >>> xp.linalg.trace(xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
    np.float64(5.0)
    """
    y = apply(diagonal_p, matrices("trace", x), offset=operator.index(offset))
    return apply(reduce_sum, astype(y, total_dtype(y, dtype)), axes=(y.ndim - 1,))


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return the products of each element of one vector with each of another.

    Parameters
    ----------
    x1, x2 : Array
        Of one axis.

    Returns
    -------
    Array
        Of shape ``(N, M)`` and the promoted dtype.

    Raises
    ------
    ValueError
        If an operand has not one axis.

    >>> xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([1, 10]))
    array([[ 1, 10],
           [ 2, 20]])
    """
    a, b = promote("outer", x1, x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"outer: Input arrays must be one-dimensional, not {a.shape} and {b.shape}")
    return e.multiply(apply(reshape, a, shape=(*a.shape, 1)), b)


@fastpath.whole(np.linalg.matrix_power)
def matrix_power(a: ArrayLike, n: int) -> Array:
    """Return square matrices to an integer power.

    Parameters
    ----------
    a : Array
        Of shape ``(..., M, M)``.
    n : int
        Exponent; the matrices are inverted first where it is negative.

    Returns
    -------
    Array
        Of the shape of `a`.

    Raises
    ------
    LinAlgError
        If the matrices are not square; on evaluation, if `n` is negative and a matrix is singular.

    >>> xp.linalg.matrix_power(xp.asarray([[1, 1], [1, 0]]), 10)
    array([[89, 55],
           [55, 34]])
    """
    exponent = operator.index(n)
    y = matrices("matrix_power", a, square=True)
    if exponent == 0:
        return broadcast_to(from_value(np.eye(y.shape[-1], dtype=y.dtype)), y.shape).copy()
    if exponent < 0:
        y = asked(fallible("matrix_power", p.inv, lapack("matrix_power", y)))
        exponent = -exponent
    if exponent == 1:
        return y.copy()
    if exponent == 3:  # as NumPy multiplies
        return apply(matmul_p, apply(matmul_p, y, y), y)
    out, square = None, y
    while True:
        if exponent % 2:
            out = square if out is None else apply(matmul_p, out, square)
        exponent //= 2
        if not exponent:
            assert out is not None
            return out
        square = apply(matmul_p, square, square)


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Return a norm of each matrix.

    Parameters
    ----------
    x : Array
        Of two axes or more.
    keepdims : bool
        Whether the last two axes stay, of length 1.
    ord : {"fro", "nuc", 1, -1, 2, -2, inf, -inf}
        ``"fro"``: root of the sum of squares; ``"nuc"``: sum of the singular values; 2 and -2: the
        largest and the smallest of them; 1 and -1: the largest and the smallest sum of magnitudes of a
        column; inf and -inf: of a row.

    Returns
    -------
    Array
        Real, of the precision of `x`; float64 for integers.

    Raises
    ------
    LinAlgError
        If `x` has less than two axes.
    ValueError
        If there is no such norm, or it is the smallest of nothing.

    >>> xp.linalg.matrix_norm(xp.asarray([[3.0, 0.0], [0.0, 4.0]]))
    np.float64(5.0)
    """
    y = floats("matrix_norm", matrices("matrix_norm", x))
    n = y.ndim
    if ord is None or ord in ("fro", "f"):
        out = e.sqrt(apply(reduce_sum, _squares(y), axes=(n - 2, n - 1)))
    elif ord in ("nuc", 2, -2):
        s = fallible("matrix_norm", p.svdvals, lapack("matrix_norm", y))
        if ord == "nuc":
            out = apply(reduce_sum, s, axes=(n - 2,))
        else:
            out = _extreme("matrix_norm", s, (n - 2,), ord > 0)
    elif ord in (1, -1, math.inf, -math.inf):
        sums = apply(reduce_sum, e.abs(y), axes=(n - 2 if ord in (1, -1) else n - 1,))
        out = _extreme("matrix_norm", sums, (n - 2,), ord > 0)
    else:
        raise ValueError(f"matrix_norm: no norm of order {ord!r}; 'fro', 'nuc', +-1, +-2 or +-inf would work")
    return apply(reshape, out, shape=(*out.shape, 1, 1)) if keepdims else out


@fastpath.whole(np.linalg.vector_norm)
def vector_norm(
    x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: Any = 2
) -> Array:
    """Return a norm of vectors.

    Parameters
    ----------
    x : Array
    axis : int or tuple of ints, optional
        Axes that together hold a vector; all of them where it is None.
    keepdims : bool
        Whether those axes stay, of length 1.
    ord : int or float
        Order p of ``sum(abs(x) ** p) ** (1 / p)``; inf and -inf give the largest and the smallest
        magnitude, 0 the number of elements that are not 0.

    Returns
    -------
    Array
        Real, of the precision of `x`; float64 for integers.

    Raises
    ------
    ValueError
        If the order is no number, or the smallest magnitude of nothing is asked for.

    >>> xp.linalg.vector_norm(xp.asarray([3.0, 4.0]))
    np.float64(5.0)
    """
    y = floats("vector_norm", x)
    axes = normalize_axes("vector_norm", axis, y.ndim)
    kept = tuple(1 if i in axes else n for i, n in enumerate(y.shape))
    if len(axes) == y.ndim:  # one long axis is summed pairwise
        y, axes = apply(reshape, y, shape=(y.size,)), (0,)
    out = _norm(y, axes, 2 if ord is None else ord)
    return apply(reshape, out, shape=kept) if keepdims else out


def _norm(x: Array, axes: tuple[int, ...], order: Any) -> Array:
    if isinstance(order, str):
        raise ValueError(f"vector_norm: no norm of order {order!r} for vectors; a number would work")
    if order in (math.inf, -math.inf):
        return _extreme("vector_norm", e.abs(x), axes, order > 0)
    if order == 2:
        return e.sqrt(apply(reduce_sum, _squares(x), axes=axes))
    magnitudes = e.abs(x)
    if order == 0:
        return apply(reduce_sum, astype(e.not_equal(magnitudes, 0), magnitudes.dtype), axes=axes)
    if order == 1:
        return apply(reduce_sum, magnitudes, axes=axes)
    power = float(order)
    return e.pow(apply(reduce_sum, e.pow(magnitudes, power), axes=axes), 1.0 / power)


def _squares(x: Array) -> Array:
    """Return the squares of the magnitudes."""
    return e.square(x) if x.dtype.kind == "f" else e.real(e.multiply(e.conj(x), x))


def _extreme(function: str, x: Array, axes: tuple[int, ...], largest: bool) -> Array:
    """Return the largest (0 of nothing) or the smallest of non-negative numbers."""
    if any(x.shape[i] == 0 for i in axes):
        if not largest:
            raise ValueError(f"{function}: no smallest element along an empty axis of shape {x.shape}")
        shape = tuple(n for i, n in enumerate(x.shape) if i not in axes)
        return full(shape, 0, x.dtype)
    if not largest:
        return apply(reduce_min, x, axes=axes)
    return e.maximum(apply(reduce_max, x, axes=axes), 0)  # which halves the derivative at 0, as JAX's


specify(globals(), "linalg")
