"""Products that sum over a shared axis, or over one that moves along another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..graph.aval import Aval, aval_of
from ..graph.node import Node
from ..graph.primitive import Dims, Primitive
from ..native import compiled
from . import machine as mc
from .structure import flipped, permute, reshape

# Elements of a row from which it is worth a call.
_LEAST = 4
# Rows of a unit matrix from which its product is looked for, and columns of the other that are moved at once.
_UNITS, _COLUMNS = 16, 256
# Elements of rows up to which each is multiplied by a vector on its own.
_DOTS = 1 << 13


def _host(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Multiply; BLAS reads a row many times, which takes long where its elements lie far apart."""
    if x.ndim == 2 and x.shape[0] == 1 and x.strides[1] > x.itemsize:
        x = x.copy()
    if x.shape[-1] == 1 and compiled is not None and x.ndim > 2 and y.shape[-1] >= _LEAST and x.size:
        # Nothing is summed, and of many small matrices NumPy asks BLAS for one at a time.
        lead, m, n = x.shape[:-2], x.shape[-2], y.shape[-1]
        out = compiled.outer(np.multiply, x.reshape(-1, m), y.reshape(-1, n))
        if out is not None:
            return out.reshape(*lead, m, n)
    rows = with_one_matrix(x, y)
    if rows is not None:
        return np.matmul(*rows).reshape(*x.shape[:-1], y.shape[-1])
    found = _times_unit_matrix(x, y) if x.ndim == 2 and y.size > 4 * x.size else None
    return np.matmul(x, y) if found is None else found


def with_one_matrix(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the rows of a stack of matrices and the one matrix that each of these meets, if there is one.

    None for a few dot products: each by itself, they have the bits of `numpy.vecdot`.
    """
    if x.ndim < 3 or any(y.strides[:-2]) or not x.flags.c_contiguous or not x.size:
        return None
    if x.shape[-2] == y.shape[-1] == 1 and x.size <= _DOTS:
        return None
    return x.reshape(-1, x.shape[-1]), y[(0,) * (y.ndim - 2)]


def _as_one(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Return products that gain nothing by being shared: those that BLAS does as one, and outer ones."""
    return _host(x, y) if x.shape[-1] == 1 or with_one_matrix(x, y) is not None else None


def is_unit_matrix(x: np.ndarray) -> bool:
    """Say whether the rows of a matrix that is not small are the unit vectors."""
    n = len(x)
    if n < _UNITS or x.shape[1] != n or x.dtype.kind != "f" or x[0, 0] != 1 or x[0, 1] != 0:
        return False
    return np.count_nonzero(x) == n and bool((x.diagonal() == 1).all())


def _times_unit_matrix(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Return the product, if `x` holds the unit vectors, as Jacobians begin with, and `y` is finite."""
    if not is_unit_matrix(x):
        return None
    out = np.empty(y.shape, y.dtype)
    for i in range(0, y.shape[1], _COLUMNS):  # so that what is far apart is read once
        np.add(y[:, i : i + _COLUMNS], 0, out=out[:, i : i + _COLUMNS])  # -0 becomes 0, as in a sum
    return out if np.isfinite(out).all() else None


def _matmul_aval(x: Aval, y: Aval) -> Aval:
    if x.dtype != y.dtype or x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-2]:
        raise ValueError(f"matmul: inner sizes differ: {x} @ {y} ({x.shape[-1]} against {y.shape[-2]})")
    return aval_of((*x.shape[:-1], y.shape[-1]), x.dtype)


def _of_product(prim: Primitive, tangents: Any, x: Node, y: Node, **params: Any) -> Node:
    """Return the tangent of what is linear in each of its operands."""
    s, t = tangents
    if s is None:
        return prim(x, t, **params)
    return prim(s, y, **params) if t is None else prim(s, y, **params) + prim(x, t, **params)


def turned(x: Node) -> Node:
    """Swap the last two axes."""
    n = x.aval.ndim
    return permute(x, axes=(*range(n - 2), n - 1, n - 2))


def _matmul_transpose(ct: Node, wanted: Any, x: Node, y: Node) -> tuple[Node | None, ...]:
    return (
        matmul(ct, turned(y)) if wanted[0] else None,
        matmul(turned(x), ct) if wanted[1] else None,
    )


def _matmul_mixed(operands: Any, batched: Any, lead: tuple[int, ...], **params: Any) -> Node | None:
    """One product of larger matrices: the examples' rows, or columns, beside each other."""
    x, y = operands
    if not batched[1] and y.aval.ndim == 2:
        *rows, k = x.aval.shape
        return reshape(matmul(reshape(x, shape=(math.prod(rows), k)), y), shape=(*rows, y.aval.shape[1]))
    if not batched[0] and x.aval.ndim == 2:
        if y.aval.shape[-1] == 1:  # vectors are rows as well, which lie as they are
            flat = reshape(y, shape=(math.prod(lead), y.aval.shape[-2]))
            return reshape(matmul(flat, turned(x)), shape=(*lead, x.aval.shape[0], 1))
        columns = side_by_side(y)
        out = matmul(x, columns)
        return apart(out, lead, y.aval.shape[-1])
    return None


def side_by_side(y: Node) -> Node:
    """Put the columns of a stack of matrices beside each other, in one matrix."""
    *lead, k, n = y.aval.shape
    axes = (len(lead), *range(len(lead)), len(lead) + 1)
    return reshape(permute(y, axes=axes), shape=(k, math.prod(lead) * n))


def apart(y: Node, lead: tuple[int, ...], n: int) -> Node:
    """Undo `side_by_side`."""
    out = reshape(y, shape=(y.aval.shape[0], *lead, n))
    return permute(out, axes=(*range(1, len(lead) + 1), 0, len(lead) + 1))


def _matmul_dims(x: Aval, y: Aval) -> Dims:
    *lead, m, k, n = range(x.ndim + 1)
    return (*lead, m, k), (*lead, k, n), (*lead, m, n)


# Operands have two axes or more; the leading ones are equal.
matmul: Primitive = Primitive(
    "matmul",
    _matmul_aval,
    _host,
    reducer=np.add,
    dims=_matmul_dims,
    jvp=lambda tangents, out, x, y: _of_product(matmul, tangents, x, y),
    transpose=_matmul_transpose,
    mixed=_matmul_mixed,
    by_matrices=1 << 19,
    shortcut=_as_one,
    llvm=mc.matmul,
    fresh=True,
)


def _correlate_aval(x: Aval, y: Aval, ends: tuple[int, int]) -> Aval:
    n, m = x.shape[-1] + sum(ends), y.shape[-1]
    if x.dtype != y.dtype or x.shape[:-1] != y.shape[:-1] or not 0 < m <= n or min(ends) < -x.shape[-1]:
        raise ValueError(f"correlate: {y} does not move along {x} with ends of {ends}")
    return aval_of((*x.shape[:-1], n - m + 1), x.dtype)


def _correlate_host(x: np.ndarray, y: np.ndarray, ends: tuple[int, int]) -> np.ndarray:
    if x.ndim == 1:
        return _of_vectors(x, y[::-1], ends)
    shape = (*x.shape[:-1], x.shape[-1] + sum(ends) - y.shape[-1] + 1)
    out = np.empty((math.prod(shape[:-1]), shape[-1]), x.dtype)
    for row, a, b in zip(out, x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1]), strict=True):
        row[:] = _of_vectors(a, b[::-1], ends)
    return out.reshape(shape)


def _of_vectors(x: np.ndarray, v: np.ndarray, ends: tuple[int, int]) -> np.ndarray:
    m = len(v)
    modes = {(0, 0): "valid", (m // 2, m - 1 - m // 2): "same", (m - 1, m - 1): "full"}
    if len(x) >= m and (mode := modes.get(ends)) is not None:
        return np.convolve(x, v, mode)  # type: ignore[call-overload]
    before, after = ends
    x = x[max(-before, 0) : len(x) - max(-after, 0)]
    return np.convolve(np.pad(x, (max(before, 0), max(after, 0))), v, "valid")


def _correlate_dims(x: Aval, y: Aval, ends: tuple[int, int]) -> Dims:
    lead = tuple(range(x.ndim - 1))
    return (*lead, -1), (*lead, -2), (*lead, -3)


def _correlate_transpose(
    ct: Node, wanted: Any, x: Node, y: Node, ends: tuple[int, int]
) -> tuple[Node | None, ...]:
    by_x = None
    if wanted[0]:
        before, after = (y.aval.shape[-1] - 1 - n for n in ends)
        by_x = correlate(ct, flipped(y, ct.aval.ndim - 1), ends=(before, after))
    return by_x, correlate(x, ct, ends=ends) if wanted[1] else None


# out[..., k] is the sum of x[..., k + j - ends[0]] * y[..., j]; the leading axes are equal. `ends`: how many
# zeros there are before and after a row of x; of those below 0, how many of its elements are left out.
correlate: Primitive = Primitive(
    "correlate",
    _correlate_aval,
    _correlate_host,
    dims=_correlate_dims,
    by_rows=True,
    jvp=lambda tangents, out, x, y, ends: _of_product(correlate, tangents, x, y, ends=ends),
    transpose=_correlate_transpose,
)
