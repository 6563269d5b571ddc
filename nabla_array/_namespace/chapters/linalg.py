"""The `linalg` extension: decompositions and what rests on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
from numpy.linalg import LinAlgError

from ..._lazy.cpu.faults import may_be_told
from ..._lazy.ops import linalg as p
from ..._lazy.ops.contraction import matmul as matmul_p
from ..._lazy.ops.elementwise import conj, select
from ..._lazy.ops.reduction import reduce_any, reduce_max, reduce_sum
from ..._lazy.ops.structure import reshape, stop_gradient
from ..core.array import Array, apply, apply_many
from ..core.promotion import as_array, astype, broadcast_shapes, broadcast_to, full, full_like, promote
from ..dispatch import fastpath
from ..dispatch.docstrings import described_like, specify
from ..dispatch.ufuncs import host_hook
from . import elementwise as e
from .indexing_functions import take_along_axis
from .linalg_basics import (
    asked,
    cross,
    decomposed,
    diagonal,
    fallible,
    fallible_many,
    floats,
    lapack,
    matrices,
    matrix_norm,
    matrix_power,
    outer,
    trace,
    vector_norm,
)
from .linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from .sorting import argsort, sort

if TYPE_CHECKING:
    from ..core.types import ArrayLike

__all__ = [
    "LinAlgError",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

_INT = np.dtype(np.int64)


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Array
    S: Array
    Vh: Array


def _named(kind: type[tuple[Any, ...]], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy's whose tuples with names are of a class of ours."""

    def host(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        return kind(*map(np.asarray, found)) if hasattr(found, "_fields") else found

    return host


def _complex(found: np.ndarray) -> np.ndarray:
    """Return eigenvalues or eigenvectors as NumPy 2.5 gives them, also where they happen to be real."""
    return found.astype(np.result_type(found, np.complex64), copy=False)


def _numpys_eig(a: Any) -> Any:
    return EigResult(*map(_complex, np.linalg.eig(a)))  # type: ignore[arg-type]


@fastpath.whole(np.linalg.cholesky)
def cholesky(a: ArrayLike, *, upper: bool = False) -> Array:
    """Return the Cholesky factor of Hermitian, positive-definite matrices.

    Parameters
    ----------
    a : Array
        Of shape ``(..., M, M)``; integers become float64. Only one triangle is read.
    upper : bool
        Whether to return U of ``a = U^H U``, or L of ``a = L L^H``.

    Returns
    -------
    Array
        Triangular, of the shape of `a`.

    Raises
    ------
    LinAlgError
        If the matrices are not square; on evaluation, if one is not positive definite.

    >>> xp.linalg.cholesky(xp.asarray([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    return asked(fallible("cholesky", p.cholesky, lapack("cholesky", a, square=True), upper=bool(upper)))


def _numpys_det(a: Any) -> Any:
    """Do what NumPy's does: where large numbers overflow it would be asked again, to tell of it."""
    with np.errstate(over=None if may_be_told() else "ignore"):
        return np.linalg.det(a)


@fastpath.whole(_numpys_det)
def det(a: ArrayLike) -> Array:
    """Return the determinant of square matrices.

    Parameters
    ----------
    a : Array
        Of shape ``(..., M, M)``; integers become float64.

    Returns
    -------
    Array
        Without the last two axes.

    Raises
    ------
    LinAlgError
        If the matrices are not square.

    >>> xp.linalg.det(xp.asarray([[2.0, 0.0], [0.0, 3.0]]))
    np.float64(6.0)
    """
    return apply(p.det, lapack("det", a, square=True))


@fastpath.whole(_numpys_eig, elements=decomposed)
def eig(a: ArrayLike) -> EigResult:
    """Return the eigenvalues and right eigenvectors of square matrices.

    Parameters
    ----------
    a : Array
        Of shape ``(..., M, M)``; integers become float64.

    Returns
    -------
    EigResult
        `eigenvalues`, in no order, and `eigenvectors`, which are columns of length 1; both complex, of the
        precision of `a` (NumPy before 2.5 gives real ones where all happen to be).

    Raises
    ------
    LinAlgError
        If the matrices are not square; on evaluation, if an element is not finite or the
        iteration does not converge.

    >>> xp.linalg.eig(xp.asarray([[2.0, 0.0], [0.0, 3.0]])).eigenvalues
    array([2.+0.j, 3.+0.j])
    """
    return EigResult(*fallible_many("eig", p.eig, lapack("eig", a, square=True)))


@fastpath.whole(_named(EighResult, np.linalg.eigh), elements=decomposed)
def eigh(a: ArrayLike, UPLO: str = "L") -> EighResult:
    """Return the eigenvalues and eigenvectors of Hermitian (or symmetric) matrices.

    Parameters
    ----------
    a : Array
        Of shape ``(..., M, M)``; integers become float64.
    UPLO : {"L", "U"}
        The triangle that is read (NumPy's parameter).

    Returns
    -------
    EighResult
        `eigenvalues`, real and ascending, and `eigenvectors`, orthonormal columns.

    Raises
    ------
    LinAlgError
        If the matrices are not square; on evaluation, if the iteration does not converge.
    ValueError
        If there is no such triangle.

    >>> xp.linalg.eigh(xp.asarray([[3.0, 0.0], [0.0, 2.0]])).eigenvalues
    array([2., 3.])
    """
    uplo = _triangle("eigh", UPLO)
    return EighResult(*fallible_many("eigh", p.eigh, lapack("eigh", a, square=True), uplo=uplo))


@fastpath.whole(lambda a: _complex(np.linalg.eigvals(a)), elements=decomposed)
@described_like(eig)
def eigvals(a: ArrayLike) -> Array:
    """Return the eigenvalues of square matrices.

    Returns
    -------
    Array
        Of shape ``(..., M)``, in no order; complex, of the precision of `a` (NumPy before 2.5 gives real ones
        where all happen to be).

    >>> xp.linalg.eigvals(xp.asarray([[2.0, 0.0], [0.0, 3.0]]))
    array([2.+0.j, 3.+0.j])
    """
    return fallible("eigvals", p.eigvals, lapack("eigvals", a, square=True))


@fastpath.whole(np.linalg.eigvalsh, elements=decomposed)
@described_like(eigh)
def eigvalsh(a: ArrayLike, UPLO: str = "L") -> Array:
    """Return the eigenvalues of Hermitian (or symmetric) matrices.

    Returns
    -------
    Array
        Of shape ``(..., M)``, real and ascending.

    >>> xp.linalg.eigvalsh(xp.asarray([[3.0, 0.0], [0.0, 2.0]]))
    array([2., 3.])
    """
    uplo = _triangle("eigvalsh", UPLO)
    return fallible("eigvalsh", p.eigvalsh, lapack("eigvalsh", a, square=True), uplo=uplo)


def _triangle(function: str, uplo: str) -> str:
    if uplo.upper() not in ("L", "U"):
        raise ValueError(f"{function}: no triangle {uplo!r}; 'L' or 'U' would work")
    return uplo.upper()


@fastpath.whole(np.linalg.inv)
@described_like(
    det,
    {
        "Without the last two axes.": "Of the shape of `a`.",
        "not square.": "not square; on evaluation, if one is singular.",
    },
)
def inv(a: ArrayLike) -> Array:
    """Return the inverse of square matrices.

    >>> xp.linalg.inv(xp.asarray([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return asked(fallible("inv", p.inv, lapack("inv", a, square=True)))


@fastpath.whole(np.linalg.matrix_rank, elements=decomposed)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Array:
    """Return the number of singular values of each matrix that are not 0.

    Parameters
    ----------
    A : Array
        Of shape ``(..., M, N)``; integers become float64.
    tol : float or Array, optional
        The bound itself, not relative to anything (NumPy's parameter).
    hermitian : bool
        Whether the matrices are Hermitian: their lower triangles are read alone, and more cheaply
        (NumPy's parameter).
    rtol : float or Array, optional
        Singular values up to `rtol` times the largest one count as 0; by default the larger side of the
        matrix times the dtype's epsilon. An array broadcasts against the axes before the matrices.

    Returns
    -------
    Array
        Of int64, without the last two axes.

    Raises
    ------
    LinAlgError
        On evaluation, if the iteration does not converge.
    ValueError
        If both bounds are given.

    >>> xp.linalg.matrix_rank(xp.asarray([[1.0, 2.0], [2.0, 4.0]]))
    np.int64(1)
    """
    y = as_array("matrix_rank", A)
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: `tol` and `rtol` can't be both set.")
    if y.ndim < 2:  # as NumPy: a vector has rank 1 unless it is 0
        nonzero = e.not_equal(apply(reshape, y, shape=(y.size,)), 0)
        return astype(apply(reduce_any, nonzero, axes=(0,)), _INT)
    y = lapack("matrix_rank", y)
    s = _singular_values("matrix_rank", y, hermitian)
    bound = _cutoff("matrix_rank", y, s, rtol) if tol is None else _per_matrix("matrix_rank", tol, s.dtype)
    return apply(reduce_sum, astype(e.greater(s, bound), _INT), axes=(s.ndim - 1,))


@fastpath.whole(np.linalg.pinv, elements=decomposed)
def pinv(a: ArrayLike, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Array:
    """Return the (Moore-Penrose) pseudo-inverse of matrices.

    Parameters
    ----------
    a : Array
        Of shape ``(..., M, N)``; integers become float64.
    rcond : float or Array, optional
        NumPy's name for `rtol`.
    hermitian : bool
        Whether the matrices are Hermitian: their lower triangles are read alone (NumPy's parameter).
    rtol : float or Array, optional
        Singular values up to `rtol` times the largest one count as 0; by default the larger side of the
        matrix times the dtype's epsilon. An array broadcasts against the axes before the matrices.

    Returns
    -------
    Array
        Of shape ``(..., N, M)``.

    Raises
    ------
    LinAlgError
        If `x` has less than two axes; on evaluation, if the iteration does not converge.
    ValueError
        If both bounds are given.

    >>> xp.linalg.pinv(xp.asarray([[2.0, 0.0], [0.0, 0.0]]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    y = lapack("pinv", a, square=hermitian)
    if rcond is not None and rtol is not None:
        raise ValueError("pinv: `rtol` and `rcond` can't be both set.")
    if not y.shape[-1] or not y.shape[-2]:
        return full((*y.shape[:-2], y.shape[-1], y.shape[-2]), 0, y.dtype)
    u, s, vh = _decomposed("pinv", apply(conj, y) if y.dtype.kind == "c" else y, False, hermitian)
    large = e.greater(s, _cutoff("pinv", y, s, rcond if rtol is None else rtol))
    one = full_like(s, 1)
    # Divided where it is safe, so that a derivative meets no infinity.
    inverse = apply(select, large, e.divide(one, apply(select, large, s, one)), full_like(s, 0))
    scaled = e.multiply(apply(reshape, inverse, shape=(*s.shape, 1)), u.mT)
    return apply(p.pinv, y, apply(stop_gradient, apply(matmul_p, vh.mT, scaled)))


def _cutoff(function: str, x: Array, s: Array, rtol: Any) -> Array:
    """Return the bound up to which the singular values `s` of `x` count as 0, with an axis for them."""
    kept = (*s.shape[:-1], 1)
    if not s.shape[-1]:
        return full(kept, 0, s.dtype)
    if rtol is None:
        rtol = float(max(x.shape[-2:]) * np.finfo(s.dtype).eps)
    largest = apply(reshape, apply(reduce_max, s, axes=(s.ndim - 1,)), shape=kept)
    return e.multiply(largest, _per_matrix(function, rtol, s.dtype))


def _per_matrix(function: str, bound: Any, dtype: np.dtype) -> Array:
    """Return a bound for each matrix, with an axis for the singular values; Python's numbers are weak."""
    y = as_array(function, bound)
    y = y if isinstance(bound, Array | np.ndarray | np.generic) else astype(y, dtype)
    return apply(reshape, y, shape=(*y.shape, 1))


# "raw", and what NumPy deprecates.
_HOST_MODES = ("raw", "full", "f", "economic", "e")


@overload
def qr(a: ArrayLike, mode: Literal["reduced", "complete"] = "reduced") -> QRResult: ...
@overload
def qr(a: ArrayLike, mode: Literal["r"]) -> Array: ...
@overload
def qr(a: ArrayLike, mode: Literal["raw"]) -> tuple[Array, Array]: ...
@fastpath.whole(_named(QRResult, np.linalg.qr), elements=decomposed)
def qr(a: ArrayLike, mode: Literal["reduced", "complete", "r", "raw"] = "reduced") -> Any:
    """Return the QR decomposition of matrices.

    Parameters
    ----------
    a : Array
        Of shape ``(..., M, N)``; integers become float64.
    mode : {"reduced", "complete", "r", "raw"}
        Whether Q has ``K = min(M, N)`` columns or M; "r" (NumPy's) returns the reduced R alone, and "raw"
        LAPACK's reflectors and their factors, through NumPy on the host.

    Returns
    -------
    QRResult
        `Q`, with orthonormal columns, and `R`, upper triangular. Of a tall matrix that is sharded along its
        rows, a column of `Q` and its row of `R` may have the other sign than of one that is not.

    Raises
    ------
    LinAlgError
        If `a` has less than two axes.
    ValueError
        If there is no such mode.

    >>> xp.linalg.qr(xp.asarray([[-2.0, 1.0], [0.0, 3.0]])).R
    array([[-2.,  1.],
           [ 0.,  3.]])
    """
    if mode in _HOST_MODES:
        return host_hook[0](np.linalg.qr, "linalg.qr", (lapack("qr", a),), {"mode": mode})
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: no mode {mode!r}; 'reduced', 'complete', 'r' or 'raw' would work")
    out = apply_many(p.qr, lapack("qr", a), mode="reduced" if mode == "r" else mode)
    return out[1] if mode == "r" else QRResult(*out)


@fastpath.whole(_named(SlogdetResult, np.linalg.slogdet))
@described_like(det)
def slogdet(a: ArrayLike) -> SlogdetResult:
    """Return the sign and the logarithm of the magnitude of the determinant of square matrices.

    Returns
    -------
    SlogdetResult
        `sign`, of the dtype of `a` (of magnitude 1, or 0 for a singular matrix), and `logabsdet`, real.

    >>> xp.linalg.slogdet(xp.asarray([[0.0, 1.0], [1.0, 0.0]]))
    SlogdetResult(sign=np.float64(-1.0), logabsdet=np.float64(0.0))
    """
    return SlogdetResult(*apply_many(p.slogdet, lapack("slogdet", a, square=True)))


@fastpath.whole(np.linalg.solve)
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the solutions of systems of linear equations, ``a @ out = b``.

    Parameters
    ----------
    a : Array
        Of shape ``(..., M, M)``.
    b : Array
        A vector of shape ``(M,)`` if it has one axis; else a stack of matrices, ``(..., M, K)``.

    Returns
    -------
    Array
        Of the promoted dtype (float64 for integers), of shape ``(..., M)`` or ``(..., M, K)``.

    Raises
    ------
    LinAlgError
        If the matrices are not square; on evaluation, if one is singular.
    ValueError
        If the shapes do not fit.

    >>> xp.linalg.solve(xp.asarray([[2.0, 0.0], [0.0, 4.0]]), xp.asarray([2.0, 2.0]))
    array([1. , 0.5])
    """
    a, b = promote("solve", lapack("solve", a, square=True), floats("solve", b))
    if not b.ndim or a.shape[-1] != b.shape[-2:][0]:
        raise ValueError(
            f"solve: the right side of shape {b.shape} does not fit matrices of shape {a.shape}; "
            f"({a.shape[-1]},) or (..., {a.shape[-1]}, K) would work"
        )
    columns = apply(reshape, b, shape=(*b.shape, 1)) if b.ndim == 1 else b
    batch = broadcast_shapes("solve", a.shape[:-2], columns.shape[:-2])
    a = broadcast_to(a, batch + a.shape[-2:])
    out = asked(fallible("solve", p.solve, a, broadcast_to(columns, batch + columns.shape[-2:])))
    return apply(reshape, out, shape=out.shape[:-1]) if b.ndim == 1 else out


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
) -> SVDResult: ...
@overload
def svd(
    a: ArrayLike, full_matrices: bool = True, *, compute_uv: Literal[False], hermitian: bool = False
) -> Array: ...
@overload
def svd(a: ArrayLike, full_matrices: bool, compute_uv: Literal[False], hermitian: bool = False) -> Array: ...
@fastpath.whole(_named(SVDResult, np.linalg.svd), elements=decomposed)
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Return the singular value decomposition of matrices, ``a = U @ diag(S) @ Vh``.

    Parameters
    ----------
    a : Array
        Of shape ``(..., M, N)``; integers become float64.
    full_matrices : bool
        Whether U and Vh are square, or have ``K = min(M, N)`` columns and rows.
    compute_uv : bool
        If False (NumPy's parameter), the singular values alone are returned.
    hermitian : bool
        Whether the matrices are Hermitian: their lower triangles are read alone, and more cheaply
        (NumPy's parameter).

    Returns
    -------
    SVDResult
        `U`, with orthonormal columns; `S`, real and descending, of shape ``(..., K)``; `Vh`, with orthonormal
        rows. Of a tall matrix that is sharded along its rows, vectors may have the other sign than of one
        that is not.

    Raises
    ------
    LinAlgError
        If `a` has less than two axes; on evaluation, if the iteration does not converge.

    >>> xp.linalg.svd(xp.asarray([[3.0, 0.0], [0.0, 4.0]])).S
    array([4., 3.])
    """
    y = lapack("svd", a)
    if not compute_uv:
        return _singular_values("svd", y, hermitian)
    return SVDResult(*_decomposed("svd", y, bool(full_matrices), hermitian))


def _singular_values(function: str, x: Array, hermitian: bool) -> Array:
    if not hermitian:
        return fallible(function, p.svdvals, x)
    w = fallible(function, p.eigvalsh, matrices(function, x, square=True), uplo="L")
    return sort(e.abs(w), descending=True)


def _decomposed(function: str, x: Array, full: bool, hermitian: bool) -> tuple[Array, ...]:
    """Return U, the singular values and Vh; those of a Hermitian matrix are its eigenvectors, up to signs."""
    if not hermitian:
        return fallible_many(function, p.svd, x, full=full)
    w, vectors = fallible_many(function, p.eigh, matrices(function, x, square=True), uplo="L")
    # As NumPy orders equal ones.
    order = argsort(e.abs(w))[..., ::-1]
    w, u = take_along_axis(w, order), take_along_axis(vectors, order[..., None, :])
    signs = e.copysign(w.dtype.type(1), w)  # a row is no zero where its singular value is
    turned = e.multiply(u, signs[..., None, :]).mT
    return u, e.abs(w), apply(conj, turned) if turned.dtype.kind == "c" else turned


def svdvals(x: ArrayLike, /) -> Array:
    """Return the singular values of matrices.

    Parameters
    ----------
    x : Array
        Of shape ``(..., M, N)``; integers become float64.

    Returns
    -------
    Array
        Of shape ``(..., min(M, N))``, real and descending.

    Raises
    ------
    LinAlgError
        If `x` has less than two axes; on evaluation, if the iteration does not converge.

    >>> xp.linalg.svdvals(xp.asarray([[3.0, 0.0], [0.0, 4.0]]))
    array([4., 3.])
    """
    return fallible("svdvals", p.svdvals, lapack("svdvals", x))


specify(globals(), "linalg")
