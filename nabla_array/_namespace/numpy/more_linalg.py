"""NumPy's functions of `linalg` that the standard's does not have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.config import active
from ..._lazy.graph.node import tapes
from ..._lazy.ops.placement import in_use
from ..chapters.creation import eye
from ..chapters.elementwise import abs as abs_
from ..chapters.elementwise import divide, isfinite, isnan, multiply
from ..chapters.linalg import inv, matrix_norm, pinv, slogdet, solve, svdvals, vector_norm
from ..chapters.linalg_basics import decomposed
from ..chapters.linear_algebra import matmul
from ..chapters.manipulation import moveaxis, reshape
from ..chapters.searching import pick
from ..chapters.statistical import kept
from ..chapters.statistical import sum as sum_
from ..chapters.utility import all as all_
from ..chapters.utility import any as any_
from ..core.array import Array, as_scalar, current, from_value
from ..core.outputs import deliver
from ..core.promotion import as_array, astype, full, normalize_axis, promote
from ..dispatch import fastpath
from .described import numpys_in
from .numbers import inexact

if TYPE_CHECKING:
    from ..core.types import ArrayLike, Axis, Out

numpys = numpys_in("numpy.linalg", np.linalg)
_LinAlgError = np.linalg.LinAlgError
_RANK = np.dtype(np.intc)  # LAPACK's


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the norm of all elements, which NumPy's asks BLAS for; None where blocks are better."""
    return np.linalg.norm(x, ord, None, keepdims) if axis is None and ord in (None, "fro", "f") else None


@fastpath.whole(np.linalg.norm, large=_norm)
@numpys
def norm(x: ArrayLike, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the norm of a vector or a matrix, or of those along axes.

    >>> xp.linalg.norm([3.0, 4.0])
    np.float64(5.0)
    """
    y = inexact("norm", x)
    if axis is None:
        if ord is None or (ord in ("f", "fro") and y.ndim == 2) or (ord == 2 and y.ndim == 1):
            flat = vector_norm(reshape(y, (-1,)))
            return reshape(flat, (1,) * y.ndim) if keepdims else flat
        axes: tuple[int, ...] = tuple(range(y.ndim))
    else:
        many = axis if isinstance(axis, tuple) else (axis,)
        try:
            axes = tuple(normalize_axis("norm", k, y.ndim) for k in many)
        except TypeError:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from None
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"Invalid norm order '{ord}' for vectors")
        return vector_norm(y, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if axes[0] == axes[1]:
        raise ValueError("Duplicate axes given.")
    if ord not in (None, "fro", "f", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise ValueError("Invalid norm order for matrices.")
    out = matrix_norm(moveaxis(y, axes, (-2, -1)), ord="fro" if ord in (None, "f") else ord)
    if keepdims:
        out = reshape(out, kept(y, axes))
    return out


@fastpath.whole(np.linalg.cond, elements=decomposed)
@numpys
def cond(x: ArrayLike, p: ArrayLike | None = None) -> Array:
    """Return the condition number of a matrix.

    >>> xp.linalg.cond(xp.eye(2))
    np.float64(1.0)
    """
    y = inexact("cond", x)
    if y.ndim < 2 or not math.prod(y.shape[-2:]):
        raise _LinAlgError("cond is not defined on empty arrays" if y.ndim > 1 else "cond: needs a matrix")
    # What is not finite has no decomposition, and is infinite or nan.
    one = eye(y.shape[-2], y.shape[-1], dtype=y.dtype)
    finite = all_(isfinite(y), axis=(-2, -1))
    known = pick(finite[..., None, None], y, one)
    if p is None or p in (2, -2):
        s = svdvals(known)
        first, last = (s[..., -1], s[..., 0]) if p == -2 else (s[..., 0], s[..., -1])
        singular = last == 0
        found = divide(first, pick(singular, first.dtype.type(1), last))
    else:
        if y.shape[-1] != y.shape[-2]:
            raise _LinAlgError("Last 2 dimensions of the array must be square")
        singular = slogdet(known).sign == 0  # of the factors that the inverse is made from
        inverse = inv(pick(singular[..., None, None], one, known))
        found = multiply(norm(known, p, (-2, -1)), norm(inverse, p, (-2, -1)))
    infinite, lost = found.dtype.type(np.inf), found.dtype.type(np.nan)
    unknown = pick(any_(isnan(y), axis=(-2, -1)), lost, infinite)
    return pick(finite, pick(singular, infinite, found), unknown)


def _lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[np.ndarray, ...]:
    """Do what NumPy's does, and return the rank as an array too."""
    solved, residuals, rank, singular = np.linalg.lstsq(a, b, rcond)
    return solved, residuals, np.asarray(rank, _RANK), singular


@fastpath.whole(_lstsq)
@numpys
def lstsq(a: ArrayLike, b: ArrayLike, rcond: Any = None) -> tuple[Array, Array, Array, Array]:
    """Return the least-squares solution of a system, its residuals, the rank and the singular values.

    >>> xp.linalg.lstsq([[1.0, 0.0], [0.0, 2.0]], [3.0, 4.0])[0]
    array([3., 2.])
    """
    x, y = [inexact("lstsq", z) for z in promote("lstsq", inexact("lstsq", a), inexact("lstsq", b))]
    if x.ndim != 2:
        raise _LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    if y.ndim not in (1, 2):
        raise _LinAlgError(f"{y.ndim}-dimensional array given. Array must be one or two-dimensional")
    m, n = x.shape
    if y.shape[0] != m:
        raise _LinAlgError("Incompatible dimensions")
    for z in (x, y):
        current(z)
    if not (tapes or x._levels or y._levels or in_use) and active.settings["mode"] != "max":
        found = np.linalg.lstsq(x._value(), y._value(), None if rcond is None else float(rcond))
        solved, residuals, rank, singular = [from_value(np.asarray(v)) for v in found]
        return solved, residuals, astype(rank, _RANK), singular
    eps = np.finfo(x.dtype).eps
    cut = eps * max(m, n) if rcond is None else eps if rcond == -1 else rcond
    singular = svdvals(x)
    solved = matmul(pinv(x, rtol=float(cut)), y)
    value = singular._value()
    regular = int((value > cut * value.max(initial=0)).sum())
    if regular == n and m > n:
        off = abs_(y - matmul(x, solved))
        residuals = reshape(sum_(off * off, 0), (-1,))
    else:
        residuals = full((0,), 0, x.real.dtype)
    return solved, residuals, full((), regular, _RANK), singular


@fastpath.whole(np.linalg.multi_dot)
@numpys
def multi_dot(arrays: Any, *, out: Out = None) -> Array:
    """Return the product of several matrices, in the order that takes the least work.

    >>> xp.linalg.multi_dot([xp.ones((1, 2)), xp.ones((2, 3)), xp.ones((3, 1))])
    array([[6.]])
    """
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    xs = [as_array("multi_dot", a) for a in arrays]
    row, column = xs[0].ndim == 1, xs[-1].ndim == 1
    if row:
        xs[0] = reshape(xs[0], (1, -1))
    if column:
        xs[-1] = reshape(xs[-1], (-1, 1))
    for x in xs:
        if x.ndim != 2:
            raise _LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    y = _ordered_product(xs)
    shape = y.shape[:0] if row and column else y.shape[1:] if row else y.shape[:1] if column else y.shape
    return deliver("multi_dot", out, as_scalar(reshape(y, shape)))


def _ordered_product(xs: list[Array]) -> Array:
    """Multiply in the best order, which dynamic programming over the lengths finds."""
    n = len(xs)
    sizes = [xs[0].shape[0], *[x.shape[1] for x in xs]]
    best: dict[tuple[int, int], tuple[float, int]] = {(i, i): (0, i) for i in range(n)}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            best[i, j] = min(
                (best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )

    def product(i: int, j: int) -> Array:
        if i == j:
            return xs[i]
        k = best[i, j][1]
        return matmul(product(i, k), product(k + 1, j))

    return product(0, n - 1)


@numpys
def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """Return the inverse of an array with respect to `tensordot` over its first `ind` axes.

    >>> xp.linalg.tensorinv(xp.eye(4).reshape(2, 2, 2, 2)).shape
    (2, 2, 2, 2)
    """
    x = as_array("tensorinv", a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = x.shape[ind:] + x.shape[:ind]
    return reshape(inv(reshape(x, (math.prod(x.shape[:ind]), -1))), shape)


@numpys
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Any = None) -> Array:
    """Return the solution of ``tensordot(a, x, x.ndim) == b``.

    >>> xp.linalg.tensorsolve(xp.eye(4).reshape(2, 2, 2, 2), xp.ones((2, 2)))
    array([[1., 1.],
           [1., 1.]])
    """
    x, y = as_array("tensorsolve", a), as_array("tensorsolve", b)
    if axes is not None:
        moved = [k for k in range(x.ndim) if k not in axes] + list(axes)
        x = x.transpose(moved)
    shape = x.shape[y.ndim :]
    n = math.prod(shape)
    if x.size != n * n:
        raise _LinAlgError(
            "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return reshape(solve(reshape(x, (n, n)), reshape(y, (-1,))), shape)
