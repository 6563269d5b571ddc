"""`scipy.linalg` where derivatives are taken: our own decompositions, and what is composed of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..custom import custom_jvp
from .equations import undone, zero_of
from .operands import array, plain

_GENERAL = (None, "gen", "general")


def _inv(original: Any, a: Any, assume_a: Any) -> Any:
    return np.linalg.inv(array(a)) if assume_a in _GENERAL else NotImplemented


def _det(original: Any, a: Any) -> Any:
    a = array(a)
    return np.linalg.det(a.astype(np.result_type(a, np.float64)))  # in double precision, as SciPy's


def _whole(a: Any, assume_a: Any, lower: bool) -> Any:
    """Return the matrix of which SciPy is told the kind, and reads a part."""
    if assume_a in _GENERAL:
        return a
    if assume_a in ("pos", "positive definite", "sym", "symmetric", "her", "hermitian"):
        half = np.tril(a) if lower else np.triu(a)
        other = np.matrix_transpose(half)
        diagonal = np.eye(a.shape[-1], dtype=bool)
        if assume_a.startswith(("pos", "her")):  # LAPACK takes the diagonal for real
            half, other = np.where(diagonal, np.real(half), half), np.conj(other)
        return half + np.where(diagonal, 0, other)
    return None


def _solve(original: Any, a: Any, b: Any, lower: bool, assume_a: Any) -> Any:
    whole = _whole(array(a), assume_a, lower)
    return NotImplemented if whole is None else np.linalg.solve(whole, array(b))


def _triangle(a: Any, lower: bool, trans: Any = 0, unit: bool = False) -> Any:
    half = np.tril(a) if lower else np.triu(a)
    if unit:
        half = np.where(np.eye(a.shape[-1], dtype=bool), 1, half)
    if trans in (1, "T"):
        return np.matrix_transpose(half)
    return np.conj(np.matrix_transpose(half)) if trans in (2, "C") else half


def _solve_triangular(original: Any, a: Any, b: Any, trans: Any, lower: bool, unit_diagonal: bool) -> Any:
    return np.linalg.solve(_triangle(array(a), lower, trans, unit_diagonal), array(b))


def _solve_banded(original: Any, l_and_u: Any, ab: Any, b: Any) -> Any:
    below, above = l_and_u
    bands = array(ab)
    if bands.ndim != 2:
        return NotImplemented
    n = bands.shape[-1]
    i, j = np.indices((n, n))
    row = above + i - j
    whole = np.where((row >= 0) & (row <= below + above), bands[np.clip(row, 0, below + above), j], 0)
    return np.linalg.solve(whole, array(b))


def _cholesky(original: Any, a: Any, lower: bool) -> Any:
    whole = _whole(array(a), "pos", lower)
    return np.linalg.cholesky(whole, upper=not lower)


def _cho_factor(original: Any, a: Any, lower: bool) -> Any:
    return _cholesky(original, a, lower), lower


def _cho_solve(original: Any, c_and_lower: Any, b: Any) -> Any:
    c, lower = c_and_lower
    half = _triangle(array(c), lower)
    other = np.conj(np.matrix_transpose(half))
    first, second = (half, other) if lower else (other, half)
    return np.linalg.solve(second, np.linalg.solve(first, array(b)))


def _order(pivots: np.ndarray) -> np.ndarray:
    """Return the permutation of rows that exchanges make, one after the other."""
    order = np.arange(len(pivots))
    for i, k in enumerate(pivots):
        order[[i, k]] = order[[k, i]]
    return order


def _lu_factor(original: Any, a: Any) -> Any:
    a = array(a)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        return NotImplemented
    lu, pivots = original(plain(a))

    @custom_jvp
    def factored(permuted: Any) -> Any:
        return array(lu)

    @factored.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        both = factored(*primals)
        low, up = _triangle(both, True, unit=True), np.triu(both)
        moved = np.linalg.solve(low, tangents[0])
        moved = np.matrix_transpose(np.linalg.solve(np.matrix_transpose(up), np.matrix_transpose(moved)))
        return both, np.matmul(low, np.tril(moved, -1)) + np.matmul(np.triu(moved), up)

    return factored(a[_order(pivots)]), pivots


def _lu_solve(original: Any, lu_and_piv: Any, b: Any, trans: Any) -> Any:
    lu, pivots = lu_and_piv
    lu, order = array(lu), _order(plain(pivots))
    if lu.ndim != 2:
        return NotImplemented
    low, up, b = _triangle(lu, True, trans, unit=True), _triangle(lu, False, trans), array(b)
    if trans == 0:
        return np.linalg.solve(up, np.linalg.solve(low, b[order]))
    return np.linalg.solve(low, np.linalg.solve(up, b))[np.argsort(order)]


def _eigh(original: Any, a: Any, b: Any, lower: bool, eigvals_only: bool) -> Any:
    if b is not None:
        return NotImplemented
    whole = _whole(array(a), "her", lower)
    return np.linalg.eigvalsh(whole) if eigvals_only else tuple(np.linalg.eigh(whole))


def _eigvalsh(original: Any, a: Any, b: Any, lower: bool) -> Any:
    return _eigh(original, a, b, lower, True)


def _qr(original: Any, a: Any, mode: str) -> Any:
    a = array(a)
    square = a.shape[-2] <= a.shape[-1]
    if mode not in ("economic", "r", "full") or not (square or mode == "economic"):
        return NotImplemented
    q, r = np.linalg.qr(a)
    return (r,) if mode == "r" else (q, r)


def _svd(original: Any, a: Any, full_matrices: bool, compute_uv: bool) -> Any:
    a = array(a)
    if not compute_uv:
        return np.linalg.svd(a, compute_uv=False)
    full = full_matrices and a.shape[-2] != a.shape[-1]
    return NotImplemented if full else tuple(np.linalg.svd(a, full_matrices=False))


def _svdvals(original: Any, a: Any) -> Any:
    return np.linalg.svdvals(array(a))


def _pseudoinverse(a: Any) -> Any:
    return a.__array_namespace__().linalg.pinv(a)


def _pinv(original: Any, a: Any) -> Any:
    return _pseudoinverse(array(a))


def _lstsq(original: Any, a: Any, b: Any) -> Any:
    """Of full rank: the pseudoinverse has a derivative."""
    _x, residues, rank, _s = original(plain(a), plain(b))
    a, b = array(a), array(b)
    if a.ndim > 2 or rank < min(a.shape):
        return NotImplemented
    x = np.matmul(_pseudoinverse(a), b)
    rest = b - np.matmul(a, x)
    over = a.shape[-2] > a.shape[-1]
    return x, (np.abs(rest) ** 2).sum(axis=0) if over else residues, rank, np.linalg.svd(a, compute_uv=False)


# -- functions of matrices -----------------------------------------------------------------------------

# The approximant of degree 13 of Padé is right to rounding where the norm is at most this.
_PADE = (
    *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0),
    *(10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0),
    1.0,
)
_NORM = 5.371920351148152


def _expm(original: Any, A: Any) -> Any:
    a = array(A)
    return _exponential(a, _halvings(a))


def _halvings(a: Any) -> int:
    """Return how often a matrix is halved, to be small."""
    norm = np.abs(plain(a)).sum(axis=-2).max(initial=0.0)
    return max(0, math.ceil(math.log2(norm / _NORM))) if norm > 0 else 0


def _exponential(a: Any, halvings: int) -> Any:
    a = a / 2.0**halvings
    c, one = _PADE, np.eye(a.shape[-1], dtype=a.dtype)
    a2 = np.matmul(a, a)
    a4 = np.matmul(a2, a2)
    a6 = np.matmul(a4, a2)
    high = c[13] * a6 + c[11] * a4 + c[9] * a2
    u = np.matmul(a, np.matmul(a6, high) + c[7] * a6 + c[5] * a4 + c[3] * a2 + c[1] * one)
    high = c[12] * a6 + c[10] * a4 + c[8] * a2
    v = np.matmul(a6, high) + c[6] * a6 + c[4] * a4 + c[2] * a2 + c[0] * one
    found = np.linalg.solve(v - u, v + u)
    for _ in range(halvings):
        found = np.matmul(found, found)
    return found


def _sqrtm(original: Any, A: Any) -> Any:
    from scipy.linalg import solve_sylvester

    a = array(A)
    if a.ndim != 2:
        return NotImplemented
    x = original(plain(a))

    def solve(y: np.ndarray, transposed: bool) -> Any:
        side = x.T if transposed else x
        return solve_sylvester(side, side, y)

    return zero_of(lambda y: np.matmul(y, y) - a.astype(x.dtype), x, solve)


def _logm(original: Any, A: Any) -> Any:
    """The logarithm of [[a, y], [0, a]] has the derivative along y in its corner."""
    a = array(A)
    if a.ndim != 2:
        return NotImplemented
    value = plain(a)
    x = original(value)
    n = len(x)

    def solve(y: np.ndarray, transposed: bool) -> Any:
        side = value.T if transposed else value
        found = original(np.block([[side, y], [np.zeros_like(side), side]]))[:n, n:]
        return found if x.dtype.kind == "c" else found.real

    halvings = _halvings(x)
    return zero_of(lambda y: _exponential(y, halvings) - a.astype(x.dtype), x, solve)


def _solve_sylvester(original: Any, a: Any, b: Any, q: Any) -> Any:
    a, b, q = array(a), array(b), array(q)
    if a.ndim != 2 or q.ndim != 2:
        return NotImplemented
    dtype = np.result_type(a, b, q)
    a, b, q = (x.astype(dtype) for x in (a, b, q))
    sides = plain(a), plain(b)

    def solve(y: np.ndarray, transposed: bool) -> Any:
        return original(*(x.T if transposed else x for x in sides), y)

    return undone(lambda x: np.matmul(a, x) + np.matmul(x, b), q, solve)


def _norm(original: Any, a: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    return np.linalg.norm(array(a), ord, axis, keepdims)


def _toeplitz(original: Any, c: Any, r: Any) -> Any:
    c, r = array(c), np.conj(array(c)) if r is None else array(r)
    if c.ndim != 1 or r.ndim != 1:
        return NotImplemented
    values = np.concatenate([r[:0:-1], c])
    return values[len(r) - 1 + np.subtract.outer(np.arange(len(c)), np.arange(len(r)))]


RULES = {
    "scipy.linalg": {
        "inv": _inv,
        "det": _det,
        "solve": _solve,
        "solve_triangular": _solve_triangular,
        "solve_banded": _solve_banded,
        "cholesky": _cholesky,
        "cho_factor": _cho_factor,
        "cho_solve": _cho_solve,
        "lu_factor": _lu_factor,
        "lu_solve": _lu_solve,
        "eigh": _eigh,
        "eigvalsh": _eigvalsh,
        "qr": _qr,
        "svd": _svd,
        "svdvals": _svdvals,
        "lstsq": _lstsq,
        "pinv": _pinv,
        "expm": _expm,
        "sqrtm": _sqrtm,
        "logm": _logm,
        "solve_sylvester": _solve_sylvester,
        "norm": _norm,
        "toeplitz": _toeplitz,
    }
}
