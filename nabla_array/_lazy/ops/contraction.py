"""Products that sum over a shared axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..graph.aval import Aval, aval_of
from ..graph.node import Node
from ..graph.primitive import Dims, Primitive
from ..native import compiled
from .structure import permute, reshape

# Elements of a row from which it is worth a call.
_LEAST = 4
# Rows of a unit matrix from which its product is looked for, and columns of the other that are moved at once.
_UNITS, _COLUMNS = 16, 256


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
    """Return the rows of a stack of matrices and the one matrix that each of these meets, if there is one."""
    if x.ndim < 3 or any(y.strides[:-2]) or not x.flags.c_contiguous or not x.size:
        return None
    return x.reshape(-1, x.shape[-1]), y[(0,) * (y.ndim - 2)]


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


def _matmul_jvp(tangents: Any, out: Node, x: Node, y: Node) -> Node:
    s, t = tangents
    parts = [] if s is None else [matmul(s, y)]
    parts += [] if t is None else [matmul(x, t)]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


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
matmul = Primitive(
    "matmul",
    _matmul_aval,
    _host,
    reducer=np.add,
    dims=_matmul_dims,
    jvp=_matmul_jvp,
    transpose=_matmul_transpose,
    mixed=_matmul_mixed,
    fresh=True,
)
