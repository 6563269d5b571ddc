"""`scipy.linalg` where derivatives are taken: our own decompositions, and what is composed of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .operands import array, plain


def _unless(*options: Any) -> bool:
    """Say whether one of these options is set."""
    return any(option not in (None, False) for option in options)


def _inv(original: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
    return np.linalg.inv(array(a)) if kwargs.get("assume_a") in (None, "gen", "general") else NotImplemented


def _det(original: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
    return np.linalg.det(array(a))


def _whole(a: Any, assume_a: Any, lower: bool) -> Any:
    """Return the matrix of which SciPy is told the kind, and reads a part."""
    if assume_a in (None, "gen", "general"):
        return a
    if assume_a in ("pos", "positive definite", "sym", "symmetric", "her", "hermitian"):
        half = np.tril(a) if lower else np.triu(a)
        other = np.matrix_transpose(half)
        if assume_a.startswith(("pos", "her")):
            other = np.conj(other)
        n = a.shape[-1]
        return half + np.where(np.eye(n, dtype=bool), 0, other)
    return None


def _solve(original: Any, a: Any, b: Any, lower: bool = False, *args: Any, **kwargs: Any) -> Any:
    if args or kwargs.get("transposed"):
        return NotImplemented
    whole = _whole(array(a), kwargs.get("assume_a"), lower)
    return NotImplemented if whole is None else _solved(whole, array(b))


def _solved(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b)


def _triangle(a: Any, lower: bool, trans: Any, unit: bool) -> Any:
    half = np.tril(a) if lower else np.triu(a)
    if unit:
        half = np.where(np.eye(a.shape[-1], dtype=bool), 1, half)
    if trans in (1, "T"):
        return np.matrix_transpose(half)
    return np.conj(np.matrix_transpose(half)) if trans in (2, "C") else half


def _solve_triangular(
    original: Any,
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    **kwargs: Any,
) -> Any:
    return _solved(_triangle(array(a), lower, trans, unit_diagonal), array(b))


def _solve_banded(original: Any, l_and_u: Any, ab: Any, b: Any, **kwargs: Any) -> Any:
    below, above = l_and_u
    bands = array(ab)
    n = bands.shape[-1]
    i, j = np.indices((n, n))
    row = above + i - j
    whole = np.where((row >= 0) & (row <= below + above), bands[np.clip(row, 0, below + above), j], 0)
    return _solved(whole, array(b))


def _cholesky(original: Any, a: Any, lower: bool = False, **kwargs: Any) -> Any:
    whole = _whole(array(a), "pos", lower)
    assert whole is not None
    return np.linalg.cholesky(whole, upper=not lower)


def _cho_factor(original: Any, a: Any, lower: bool = False, **kwargs: Any) -> Any:
    return _cholesky(original, a, lower), lower


def _cho_solve(original: Any, c_and_lower: Any, b: Any, **kwargs: Any) -> Any:
    c, lower = c_and_lower
    half = _triangle(array(c), lower, 0, False)
    other = np.conj(np.matrix_transpose(half))
    first, second = (half, other) if lower else (other, half)
    return _solved(second, _solved(first, array(b)))


def _eigh(original: Any, a: Any, b: Any = None, *, lower: bool = True, **kwargs: Any) -> Any:
    only = kwargs.pop("eigvals_only", False)
    if b is not None or _unless(*[v for k, v in kwargs.items() if k.startswith("subset")]):
        return NotImplemented
    whole = _whole(array(a), "her", lower)
    return np.linalg.eigvalsh(whole) if only else tuple(np.linalg.eigh(whole))


def _eigvalsh(original: Any, a: Any, b: Any = None, **kwargs: Any) -> Any:
    return _eigh(original, a, b, eigvals_only=True, **kwargs)


def _qr(
    original: Any, a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", **kw: Any
) -> Any:
    a = array(a)
    square = a.shape[-2] <= a.shape[-1]
    if kw.get("pivoting") or mode not in ("economic", "r", "full") or not (square or mode == "economic"):
        return NotImplemented
    q, r = np.linalg.qr(a)
    return (r,) if mode == "r" else (q, r)


def _svd(original: Any, a: Any, full_matrices: bool = True, compute_uv: bool = True, **kwargs: Any) -> Any:
    a = array(a)
    if not compute_uv:
        return np.linalg.svd(a, compute_uv=False)
    full = full_matrices and a.shape[-2] != a.shape[-1]
    return NotImplemented if full else tuple(np.linalg.svd(a, full_matrices=False))


def _svdvals(original: Any, a: Any, **kwargs: Any) -> Any:
    return np.linalg.svdvals(array(a))


def _pseudoinverse(a: Any) -> Any:
    return a.__array_namespace__().linalg.pinv(a)


def _pinv(original: Any, a: Any, *, return_rank: bool = False, **kwargs: Any) -> Any:
    if return_rank or _unless(kwargs.get("atol"), kwargs.get("rtol")):
        return NotImplemented
    return _pseudoinverse(array(a))


def _lstsq(original: Any, a: Any, b: Any, cond: Any = None, **kwargs: Any) -> Any:
    """Of full rank, by the normal equations' own derivative: the pseudoinverse has it."""
    x, residues, rank, _s = original(plain(a), plain(b), cond, **kwargs)
    a, b = array(a), array(b)
    if rank < min(a.shape[-2:]) or _unless(cond):
        return NotImplemented
    x = np.matmul(_pseudoinverse(a), b)
    rest = b - np.matmul(a, x)
    over = a.shape[-2] > a.shape[-1]
    return x, (np.abs(rest) ** 2).sum(axis=0) if over else residues, rank, np.linalg.svd(a, compute_uv=False)


# The approximant of degree 13 of Padé is right to rounding where the norm is at most this.
_PADE = (
    *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0),
    *(
        10559470521600.0,
        670442572800.0,
        33522128640.0,
        1323241920.0,
        40840800.0,
        960960.0,
        16380.0,
        182.0,
        1.0,
    ),
)
_NORM = 5.371920351148152


def _expm(original: Any, a: Any) -> Any:
    a = array(a)
    norm = np.abs(plain(a)).sum(axis=-2).max(initial=0.0)
    halvings = max(0, math.ceil(math.log2(norm / _NORM))) if norm > 0 else 0
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


def _norm(
    original: Any, a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, **kwargs: Any
) -> Any:
    return np.linalg.norm(array(a), ord, axis, keepdims)


def _toeplitz(original: Any, c: Any, r: Any = None) -> Any:
    c, r = array(c), np.conj(array(c)) if r is None else array(r)
    values = np.concatenate([r[:0:-1], c])
    return values[len(r) - 1 + np.subtract.outer(np.arange(len(c)), np.arange(len(r)))]


RULES = {
    "norm": _norm,
    "toeplitz": _toeplitz,
    "inv": _inv,
    "det": _det,
    "solve": _solve,
    "solve_triangular": _solve_triangular,
    "solve_banded": _solve_banded,
    "cholesky": _cholesky,
    "cho_factor": _cho_factor,
    "cho_solve": _cho_solve,
    "eigh": _eigh,
    "eigvalsh": _eigvalsh,
    "qr": _qr,
    "svd": _svd,
    "svdvals": _svdvals,
    "lstsq": _lstsq,
    "pinv": _pinv,
    "expm": _expm,
}
