"""Decompositions and solvers of matrices: the last two axes, one matrix for each place of the others.

They run through LAPACK as NumPy calls it: float32 and complex64 are computed in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..aval import Aval, aval_of
from ..primitive import Primitive


def _real(dtype: np.dtype) -> np.dtype:
    return dtype.type(0).real.dtype


def _complex(dtype: np.dtype) -> np.dtype:
    return np.result_type(dtype, np.complex64)


def _matrix(
    name: str, result: Callable[..., Any], host: Callable[..., Any], square: bool = True
) -> Primitive:
    """Make the record of an operation on one stack of matrices whose result's aval is `result(x)`."""

    def aval(x: Aval, **params: Any) -> Any:
        if x.ndim < 2 or x.dtype.char not in "fdFD" or (square and x.shape[-1] != x.shape[-2]):
            raise ValueError(f"{name}: needs {'square ' if square else ''}matrices of inexact numbers: {x}")
        return result(x, **params)

    return Primitive(name, aval, host)


cholesky = _matrix("cholesky", lambda x, upper: x, lambda x, upper: np.linalg.cholesky(x, upper=upper))
inv = _matrix("inv", lambda x: x, np.linalg.inv)
det = _matrix("det", lambda x: aval_of(x.shape[:-2], x.dtype), np.linalg.det)
# Results: sign, logarithm of the absolute value.
slogdet = _matrix(
    "slogdet",
    lambda x: (aval_of(x.shape[:-2], x.dtype), aval_of(x.shape[:-2], _real(x.dtype))),
    np.linalg.slogdet,
)


def _solve_aval(a: Aval, b: Aval) -> Aval:
    if a.dtype != b.dtype or a.shape[-1] != a.shape[-2] or a.shape[:-1] != b.shape[:-1]:
        raise ValueError(f"solve: needs square matrices and right sides to match: {a} and {b}")
    return b


# The right sides are matrices too, and both have the same leading axes.
solve = Primitive("solve", _solve_aval, np.linalg.solve)


def _qr_avals(x: Aval, mode: str) -> tuple[Aval, Aval]:
    *lead, m, n = x.shape
    k = m if mode == "complete" else min(m, n)
    return aval_of((*lead, m, k), x.dtype), aval_of((*lead, k, n), x.dtype)


# Results: Q, R; `mode` is "reduced" or "complete".
qr = _matrix("qr", _qr_avals, lambda x, mode: np.linalg.qr(x, mode=mode), square=False)

# The eigenvalues of Hermitian matrices, of which only the `uplo` ("L" or "U") triangle is read.
eigh = _matrix(
    "eigh",
    lambda x, uplo: (aval_of(x.shape[:-1], _real(x.dtype)), x),
    lambda x, uplo: np.linalg.eigh(x, UPLO=uplo),
)
eigvalsh = _matrix(
    "eigvalsh",
    lambda x, uplo: aval_of(x.shape[:-1], _real(x.dtype)),
    lambda x, uplo: np.linalg.eigvalsh(x, UPLO=uplo),
)


def _eig_avals(x: Aval) -> tuple[Aval, Aval]:
    dtype = _complex(x.dtype)
    return aval_of(x.shape[:-1], dtype), aval_of(x.shape, dtype)


def _eig_host(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # Before NumPy 2.5 the dtype depends on the values: real where every eigenvalue happens to be.
    values, vectors = np.linalg.eig(x)
    dtype = _complex(x.dtype)
    return values.astype(dtype, copy=False), vectors.astype(dtype, copy=False)


eig = _matrix("eig", _eig_avals, _eig_host)
eigvals = _matrix(
    "eigvals",
    lambda x: aval_of(x.shape[:-1], _complex(x.dtype)),
    lambda x: np.linalg.eigvals(x).astype(_complex(x.dtype), copy=False),
)


def _svd_avals(x: Aval, full: bool) -> tuple[Aval, Aval, Aval]:
    *lead, m, n = x.shape
    k = min(m, n)
    u = aval_of((*lead, m, m if full else k), x.dtype)
    s = aval_of((*lead, k), _real(x.dtype))
    return u, s, aval_of((*lead, n if full else k, n), x.dtype)


# Results: U, the singular values in descending order, the adjoint of V.
svd = _matrix("svd", _svd_avals, lambda x, full: np.linalg.svd(x, full_matrices=full), square=False)
svdvals = _matrix(
    "svdvals",
    lambda x: aval_of((*x.shape[:-2], min(x.shape[-2:])), _real(x.dtype)),
    np.linalg.svdvals,
    square=False,
)


def _diagonal_aval(x: Aval, offset: int) -> Aval:
    *lead, m, n = x.shape
    size = min(m + min(offset, 0), n - max(offset, 0))
    return aval_of((*lead, max(size, 0)), x.dtype)


# Of any dtype: the elements x[..., i, i + offset].
diagonal = Primitive(
    "diagonal",
    _diagonal_aval,
    lambda x, offset: np.diagonal(x, offset, -2, -1),
    kind="view",
)
