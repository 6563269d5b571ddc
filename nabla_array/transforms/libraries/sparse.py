"""`scipy.sparse`: systems and products with sparse matrices, which are constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..implicit import custom_linear_solve
from .operands import Function, array, mapped, plain
from .tracking import is_tracked


def _columns(b: Any, forward: Function, backward: Function) -> Any:
    """Map `b`, a vector or the columns of a matrix, by functions of such."""

    def of_rows(function: Function) -> Function:
        return lambda v: np.asarray(function(v.reshape(-1, v.shape[-1]).T)).T.reshape(*v.shape[:-1], -1)

    return mapped(of_rows(forward), b, 0, of_rows(backward))


def _each(function: Function) -> Function:
    """Return a function of columns that takes them one by one."""
    return lambda b: np.stack([function(c) for c in b.T], axis=1)


def _spsolve(original: Any, A: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
    def solver(matrix: Any) -> Function:
        return lambda b: original(matrix, b, *args, **kwargs).reshape(b.shape)

    return _columns(array(b), solver(A), solver(A.T.tocsc()))


def _spsolve_triangular(original: Any, A: Any, b: Any, lower: bool = True, *args: Any, **kwargs: Any) -> Any:
    def solver(matrix: Any, lower: bool) -> Function:
        return lambda b: original(matrix, b, lower, *args, **kwargs)

    return _columns(array(b), solver(A, lower), solver(A.T.tocsr(), not lower))


def _by_steps(original: Any, A: Any, b: Any, x0: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Of `cg` and its kin: exact, as far as they are told to be."""
    matrix = plain(A)
    if args or is_tracked([*kwargs.values()]):
        return NotImplemented
    if not hasattr(matrix, "T"):
        return NotImplemented
    # The preconditioner, and the start, are those of the system itself.
    back = {k: v for k, v in kwargs.items() if k not in ("M", "callback")}
    _x, info = original(matrix, plain(b), plain(x0), **kwargs)
    if info:
        return NotImplemented

    def forward(b: np.ndarray) -> np.ndarray:
        return np.asarray(original(matrix, b, **kwargs)[0])

    def backward(b: np.ndarray) -> np.ndarray:
        return np.asarray(original(matrix.T, b, **back)[0])

    ways = _each(forward), _each(backward)
    if not is_tracked(A):
        return _columns(array(b), *ways), info
    dense = array(A)
    solution = custom_linear_solve(
        lambda x: dense @ x,
        array(b),
        lambda _, b: _columns(b, *ways),
        lambda _, b: _columns(b, *reversed(ways)),
    )
    return solution, info


def _expm_multiply(original: Any, A: Any, B: Any, *args: Any, **kwargs: Any) -> Any:
    if args or kwargs or is_tracked(A):
        return NotImplemented
    return _columns(array(B), lambda b: original(A, b), lambda b: original(A.T, b))


def _product(original: Any, A: Any, other: Any) -> Any:
    return _columns(array(other), lambda b: original(A, b), lambda b: A.T @ b)


_MATRICES = ("csr", "csc", "coo")
RULES = {
    "spsolve": _spsolve,
    "spsolve_triangular": _spsolve_triangular,
    **dict.fromkeys(("cg", "gmres", "bicgstab", "minres"), _by_steps),
    "expm_multiply": _expm_multiply,
    **{f"{kind}_{what}.__matmul__": _product for kind in _MATRICES for what in ("array", "matrix")},
}
