"""Decompositions and solvers of matrices: the last two axes, one matrix for each place of the others.

They run through LAPACK as NumPy calls it: float32 and complex64 are computed in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph.aval import Aval, aval_of
from ..graph.node import Node, leaf
from ..graph.primitive import Dims, Primitive
from . import machine as mc
from .contraction import apart, matmul, side_by_side, turned
from .creation import fill_like
from .elementwise import abs_, cast, complex_, conj, eq, imag, ratio, real, select
from .reduction import argmax, reduce_all, reduce_sum
from .structure import broadcast, diagonal, project, span


def _real(dtype: np.dtype) -> np.dtype:
    return dtype.type(0).real.dtype


def _complex(dtype: np.dtype) -> np.dtype:
    return np.result_type(dtype, np.complex64)


# Bytes of matrices of which a decomposition takes a millisecond. (OpenBLAS solves one system at a time.)
_DECOMPOSED = 1 << 16


def _matrix(
    name: str, result: Callable[..., Any], host: Callable[..., Any], square: bool = True, **rules: Any
) -> Primitive:
    """Make the record of an operation on one stack of matrices whose result's aval is `result(x)`."""

    def aval(x: Aval, **params: Any) -> Any:
        if x.ndim < 2 or x.dtype.char not in "fdFD" or (square and x.shape[-1] != x.shape[-2]):
            raise ValueError(f"{name}: needs {'square ' if square else ''}matrices of inexact numbers: {x}")
        return result(x, **params)

    def dims(x: Aval, **params: Any) -> Dims:
        found = result(x, **params)
        lead = tuple(range(x.ndim - 2))
        return tuple(
            (*lead, *range(-3 * n - 1, -3 * n - 1 - (a.ndim - len(lead)), -1))
            for n, a in enumerate((x, *(found if isinstance(found, tuple) else (found,))))
        )

    return Primitive(name, aval, host, dims=dims, **rules)


# What derivative rules say. They choose as JAX's do where there is a choice: of cholesky, eigh and eigvalsh
# the operand varies as a Hermitian matrix, whichever triangle is read, if it is one; vectors of eigh and svd
# turn no more than they must, and those of eig stay normalized as LAPACK does it.
def _adjoint(x: Node) -> Node:
    return conj(turned(x)) if x.aval.dtype.kind == "c" else turned(x)


def _hermitian(x: Node) -> Node:
    return (x + _adjoint(x)) * 0.5


def _as_read(x: Node, t: Node, lower: bool) -> Node:
    """Return the tangent of the Hermitian matrix that is made of a triangle of `x`."""
    shape, ndim = x.aval.shape, x.aval.ndim
    whole = _hermitian(t)
    below = t * _constant(np.tri(shape[-1], k=-1) if lower else np.tri(shape[-1], k=-1).T, t)
    read = below + _adjoint(below) + whole * _identity(whole)
    is_whole = reduce_all(eq(x, _adjoint(x)), axes=(ndim - 2, ndim - 1))
    return select(broadcast(is_whole, shape=shape, axes=tuple(range(ndim - 2))), whole, read)


def _to(x: Node, like: Node) -> Node:
    """Cast real numbers to the dtype of others."""
    return x if x.aval.dtype == like.aval.dtype else cast(x, dtype=like.aval.dtype)


def _re(x: Node) -> Node:
    return real(x) if x.aval.dtype.kind == "c" else x


def _constant(matrix: np.ndarray, x: Node) -> Node:
    """Return a matrix for each place of the leading axes of `x`, in its dtype."""
    ndim = x.aval.ndim
    node = leaf(matrix.astype(x.aval.dtype))
    return broadcast(node, shape=(*x.aval.shape[:-2], *matrix.shape), axes=(ndim - 2, ndim - 1))


def _identity(x: Node) -> Node:
    return _constant(np.eye(x.aval.shape[-1]), x)


def _spread(x: Node, shape: tuple[int, ...], axis: int) -> Node:
    """Repeat vectors as the columns (axis -1) or the rows (axis -2) of matrices: along `axis`."""
    axes = tuple(a for a in range(len(shape)) if a != len(shape) + axis)
    return broadcast(x, shape=shape, axes=axes)


def _diagonal_of(x: Node) -> Node:
    return diagonal(x, offset=0)


def _trace_of_product(x: Node, y: Node) -> Node:
    ndim = x.aval.ndim
    return reduce_sum(turned(x) * y, axes=(ndim - 2, ndim - 1))


def _inverse_gaps(w: Node, squared: bool = False) -> Node:
    """Return 1 / (w[j] - w[i]), or 1 / (w[j]**2 - w[i]**2), and 0 on the diagonal."""
    shape = (*w.aval.shape, w.aval.shape[-1])
    by_row, by_column = _spread(w, shape, -1), _spread(w, shape, -2)
    gaps = by_column - by_row
    if squared:
        gaps = gaps * (by_column + by_row)
    one = _identity(gaps)
    return 1 / (gaps + one) - one


def _cholesky_jvp(tangents: Any, out: Node, x: Node, upper: bool) -> Node:
    lower = _adjoint(out) if upper else out
    inverse = inv(lower)
    inner = matmul(matmul(inverse, _as_read(x, tangents[0], not upper)), _adjoint(inverse))
    n = x.aval.shape[-1]
    half = _constant(np.tri(n) - np.eye(n) / 2, x)
    t = matmul(lower, inner * half)
    return _adjoint(t) if upper else t


cholesky = _matrix(
    "cholesky",
    lambda x, upper: x,
    lambda x, upper: np.linalg.cholesky(x, upper=upper),
    jvp=_cholesky_jvp,
    llvm=mc.cholesky,
)
inv: Primitive = _matrix(
    "inv",
    lambda x: x,
    np.linalg.inv,
    llvm=mc.solve,
    jvp=lambda tangents, out, x: -matmul(matmul(out, tangents[0]), out),
)


def _adjugate_host(x: np.ndarray) -> np.ndarray:
    # U diag(s) V = x, and the adjugate of a product is that of its factors, the other way round: those of
    # U and V are det(U) U^-1 and det(V) V^-1, and that of diag(s) holds the products of the other values.
    finite = np.isfinite(x).all((-2, -1), keepdims=True)
    u, s, v = np.linalg.svd(np.where(finite, x, 0))
    ones = np.ones_like(s[..., :1])
    before = np.multiply.accumulate(np.concatenate([ones, s[..., :-1]], -1), -1)
    after = np.multiply.accumulate(np.concatenate([ones, s[..., :0:-1]], -1), -1)[..., ::-1]
    others = (before * after * (np.linalg.det(u) * np.linalg.det(v))[..., None])[..., None, :]
    out = np.swapaxes(v, -1, -2).conj() * others @ np.swapaxes(u, -1, -2).conj()
    return np.where(finite, out, np.nan).astype(x.dtype, copy=False)


def _adjugate_jvp(tangents: Any, out: Node, x: Node) -> Node:
    """Differentiate det(x) inv(x)."""
    (t,) = tangents
    trace = _trace_of_product(out, t)
    spread = broadcast(trace, shape=x.aval.shape, axes=tuple(range(trace.aval.ndim)))
    return matmul(_identity(x) * spread - matmul(out, t), inv(x))


# det(x) inv(x), which singular matrices have too: det's derivative is the trace of its product with the
# tangent. Its own is known where x is regular.
adjugate = _matrix("adjugate", lambda x: x, _adjugate_host, jvp=_adjugate_jvp)
det = _matrix(
    "det",
    lambda x: aval_of(x.shape[:-2], x.dtype),
    np.linalg.det,
    jvp=lambda tangents, out, x: _trace_of_product(adjugate(x), tangents[0]),
)


def _slogdet_jvp(tangents: Any, out: tuple[Node, Node], x: Node) -> tuple[Node | None, Node]:
    t = _trace_of_product(inv(x), tangents[0])
    if x.aval.dtype.kind != "c":
        return None, t
    turn = imag(t)
    return out[0] * complex_(fill_like(turn, 0), turn), real(t)


# Results: sign, logarithm of the absolute value.
slogdet = _matrix(
    "slogdet",
    lambda x: (aval_of(x.shape[:-2], x.dtype), aval_of(x.shape[:-2], _real(x.dtype))),
    np.linalg.slogdet,
    jvp=_slogdet_jvp,
)


def _solve_aval(a: Aval, b: Aval) -> Aval:
    if a.dtype != b.dtype or a.shape[-1] != a.shape[-2] or a.shape[:-1] != b.shape[:-1]:
        raise ValueError(f"solve: needs square matrices and right sides to match: {a} and {b}")
    return b


def _solve_jvp(tangents: Any, out: Node, a: Node, b: Node) -> Node:
    s, t = tangents
    if s is None:
        return solve(a, t)
    moved = matmul(s, out)
    return solve(a, -moved if t is None else t - moved)


def _solve_transpose(ct: Node, wanted: Any, a: Node, b: Node) -> tuple[Node | None, ...]:
    by_b = solve(turned(a), ct)
    return -matmul(by_b, turned(solve(a, b))) if wanted[0] else None, by_b if wanted[1] else None


# The right sides are matrices too, and both have the same leading axes.
def _solve_mixed(operands: Any, batched: Any, lead: tuple[int, ...]) -> Node | None:
    """One matrix is factorized once, for the right sides of all examples."""
    a, b = operands
    if batched[0] or a.aval.ndim > 2:
        return None
    return apart(solve(a, side_by_side(b)), lead, b.aval.shape[-1])


def _solve_dims(a: Aval, b: Aval) -> Dims:
    lead = tuple(range(a.ndim - 2))
    return (*lead, -1, -2), (*lead, -2, a.ndim), (*lead, -2, a.ndim)


solve: Primitive = Primitive(
    "solve",
    _solve_aval,
    np.linalg.solve,
    dims=_solve_dims,
    jvp=_solve_jvp,
    transpose=_solve_transpose,
    mixed=_solve_mixed,
    llvm=mc.solve,
)


def _qr_avals(x: Aval, mode: str) -> tuple[Aval, Aval]:
    *lead, m, n = x.shape
    k = m if mode == "complete" else min(m, n)
    return aval_of((*lead, m, k), x.dtype), aval_of((*lead, k, n), x.dtype)


def _qr_jvp(tangents: Any, out: tuple[Node, Node], x: Node, mode: str) -> tuple[Node, Node]:
    (t,), (q, r) = tangents, out
    m, n = x.aval.shape[-2:]
    if mode == "complete" and m > n:
        raise NotImplementedError(
            f"qr: no derivative of mode 'complete' of tall matrices, {x.aval}: "
            "the last columns of Q are any that fit; mode 'reduced' has one"
        )
    columns = x.aval.ndim - 1
    k = min(m, n)
    # The first k columns are Q times a triangle R, and determine Q; the others only follow it.
    inverse = inv(span(r, columns, 0, k))
    t_inverse = matmul(span(t, columns, 0, k), inverse)
    inner = matmul(_adjoint(q), t_inverse)
    below = inner * _constant(np.tri(k, k=-1), inner)
    turn = below - _adjoint(below)
    if x.aval.dtype.kind == "c":  # the diagonal of R stays real
        phase = imag(inner)
        turn = turn + complex_(fill_like(phase, 0), phase) * _identity(turn)
    q_t = matmul(q, turn - inner) + t_inverse
    if m >= n:
        return q_t, matmul(inner - turn, r)
    return q_t, matmul(_adjoint(q_t), x) + matmul(_adjoint(q), t)


# Results: Q, R; `mode` is "reduced" or "complete".
qr = _matrix(
    "qr",
    _qr_avals,
    lambda x, mode: np.linalg.qr(x, mode=mode),
    square=False,
    by_matrices=2 * _DECOMPOSED,
    jvp=_qr_jvp,
)


def _in_vectors(v: Node, t: Node) -> Node:
    """Return the tangent of a Hermitian matrix as seen from its eigenvectors."""
    return matmul(matmul(_adjoint(v), t), v)


def _eigh_jvp(tangents: Any, out: tuple[Node, Node], x: Node, uplo: str) -> tuple[Node, Node]:
    w, v = out
    inner = _in_vectors(v, _as_read(x, tangents[0], uplo == "L"))
    return _re(_diagonal_of(inner)), matmul(v, _to(_inverse_gaps(w), inner) * inner)


def _eigvalsh_jvp(tangents: Any, out: Node, x: Node, uplo: str) -> Node:
    v = project(eigh(x, uplo=uplo), index=1)
    return _re(_diagonal_of(_in_vectors(v, _as_read(x, tangents[0], uplo == "L"))))


# The eigenvalues of Hermitian matrices, of which only the `uplo` ("L" or "U") triangle is read.
eigh: Primitive = _matrix(
    "eigh",
    lambda x, uplo: (aval_of(x.shape[:-1], _real(x.dtype)), x),
    lambda x, uplo: np.linalg.eigh(x, UPLO=uplo),
    by_matrices=_DECOMPOSED,
    jvp=_eigh_jvp,
)
eigvalsh = _matrix(
    "eigvalsh",
    lambda x, uplo: aval_of(x.shape[:-1], _real(x.dtype)),
    lambda x, uplo: np.linalg.eigvalsh(x, UPLO=uplo),
    by_matrices=_DECOMPOSED,
    jvp=_eigvalsh_jvp,
)


def _eig_avals(x: Aval) -> tuple[Aval, Aval]:
    dtype = _complex(x.dtype)
    return aval_of(x.shape[:-1], dtype), aval_of(x.shape, dtype)


def _eig_host(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # Before NumPy 2.5 the dtype depends on the values: real where every eigenvalue happens to be.
    values, vectors = np.linalg.eig(x)
    dtype = _complex(x.dtype)
    return values.astype(dtype, copy=False), vectors.astype(dtype, copy=False)


def _eig_jvp(tangents: Any, out: tuple[Node, Node], x: Node) -> tuple[Node | None, Node | None]:
    if x.aval.size == 0:
        return None, None
    w, v = out
    inner = matmul(matmul(inv(v), _to(tangents[0], v)), v)
    t = matmul(v, _inverse_gaps(w) * inner)
    # A multiple of each vector is to be added: its length stays 1, and its largest element real.
    rows, shape = v.aval.ndim - 2, v.aval.shape
    largest = _spread(argmax(abs_(v), axis=rows), shape, -2)
    number = broadcast(leaf(np.arange(shape[-1])), shape=shape, axes=(rows,))
    pick = _to(eq(largest, number), v)
    phase = imag(reduce_sum(pick * t, axes=(rows,))) / real(reduce_sum(pick * v, axes=(rows,)))
    length = real(reduce_sum(conj(v) * t, axes=(rows,)))
    return _diagonal_of(inner), t - v * _spread(complex_(length, phase), shape, -2)


def _eigvals_jvp(tangents: Any, out: Node, x: Node) -> Node:
    v = project(eig(x), index=1)
    return _diagonal_of(matmul(matmul(inv(v), _to(tangents[0], v)), v))


eig = _matrix("eig", _eig_avals, _eig_host, by_matrices=_DECOMPOSED, jvp=_eig_jvp)
eigvals = _matrix(
    "eigvals",
    lambda x: aval_of(x.shape[:-1], _complex(x.dtype)),
    lambda x: np.linalg.eigvals(x).astype(_complex(x.dtype), copy=False),
    by_matrices=_DECOMPOSED,
    jvp=_eigvals_jvp,
)


def _svd_avals(x: Aval, full: bool) -> tuple[Aval, Aval, Aval]:
    *lead, m, n = x.shape
    k = min(m, n)
    u = aval_of((*lead, m, m if full else k), x.dtype)
    s = aval_of((*lead, k), _real(x.dtype))
    return u, s, aval_of((*lead, n if full else k, n), x.dtype)


def _svd_jvp(tangents: Any, out: tuple[Node, Node, Node], x: Node, full: bool) -> tuple[Node, Node, Node]:
    (t,), (u, s, vh) = tangents, out
    m, n = x.aval.shape[-2:]
    if full and m != n:
        raise NotImplementedError(
            f"svd: no derivative with full matrices of oblong ones, {x.aval}: "
            "the vectors of no singular value are any that fit; full_matrices=False has one"
        )
    uh, v = _adjoint(u), _adjoint(vh)
    inner = matmul(matmul(uh, t), v)
    shape = inner.aval.shape
    by_row, by_column = (_to(_spread(s, shape, axis), inner) for axis in (-1, -2))
    gaps = _to(_inverse_gaps(s, squared=True), inner)
    u_turn = gaps * (by_column * inner + _adjoint(by_column * inner))
    v_turn = gaps * (by_row * inner + _adjoint(by_row * inner))
    if x.aval.dtype.kind == "c":  # a phase that U and V share: U takes it
        phase = ratio(imag(inner), _spread(s, shape, -2))
        u_turn = u_turn + complex_(fill_like(phase, 0), phase) * _identity(inner)
    u_t, v_t = matmul(u, u_turn), matmul(v, v_turn)
    # What leaves the space of the k vectors.
    if m > n:
        side = matmul(t, v)
        side = side - matmul(u, matmul(uh, side))
        u_t = u_t + side / _to(_spread(s, side.aval.shape, -2), side)
    if m < n:
        side = matmul(_adjoint(t), u)
        side = side - matmul(v, matmul(vh, side))
        v_t = v_t + side / _to(_spread(s, side.aval.shape, -2), side)
    return u_t, _re(_diagonal_of(inner)), _adjoint(v_t)


def _svdvals_jvp(tangents: Any, out: Node, x: Node) -> Node:
    u, _, vh = (project(svd(x, full=False), index=i) for i in range(3))
    return _re(_diagonal_of(matmul(matmul(_adjoint(u), tangents[0]), _adjoint(vh))))


# Results: U, the singular values in descending order, the adjoint of V.
svd = _matrix(
    "svd",
    _svd_avals,
    lambda x, full: np.linalg.svd(x, full_matrices=full),
    square=False,
    by_matrices=_DECOMPOSED,
    jvp=_svd_jvp,
)
svdvals = _matrix(
    "svdvals",
    lambda x: aval_of((*x.shape[:-2], min(x.shape[-2:])), _real(x.dtype)),
    np.linalg.svdvals,
    square=False,
    by_matrices=_DECOMPOSED,
    jvp=_svdvals_jvp,
)


def _pinv_aval(x: Aval, y: Aval) -> Aval:
    if x.dtype != y.dtype or x.shape[:-2] != y.shape[:-2] or x.shape[-2:] != y.shape[:-3:-1]:
        raise ValueError(f"pinv: the second cannot be the pseudo-inverse of the first: {x}, {y}")
    return y


def _pinv_dims(x: Aval, y: Aval) -> Dims:
    labels = tuple(range(x.ndim))
    return labels, (*labels[:-2], *labels[:-3:-1]), (*labels[:-2], *labels[:-3:-1])


def _pinv_jvp(tangents: Any, out: Node, x: Node, y: Node) -> Node | None:
    """Golub and Pereyra's formula, for matrices that keep their rank."""
    t, _ = tangents
    if t is None:
        return None
    t_adjoint, out_adjoint = _adjoint(t), _adjoint(out)
    rows, columns = matmul(x, out), matmul(out, x)
    left = matmul(matmul(matmul(out, out_adjoint), t_adjoint), _identity(rows) - rows)
    right = matmul(matmul(_identity(columns) - columns, t_adjoint), matmul(out_adjoint, out))
    return left + right - matmul(matmul(out, t), out)


# The second operand, known to be the pseudo-inverse of the first, as which it is differentiated: its singular
# vectors have no derivative where values are equal, and it has.
pinv = Primitive("pinv", _pinv_aval, lambda x, y: y, dims=_pinv_dims, jvp=_pinv_jvp)
