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


def _spsolve(original: Any, A: Any, b: Any) -> Any:
    def solver(matrix: Any) -> Function:
        return lambda b: original(matrix, b).reshape(b.shape)

    return _columns(array(b), solver(A), solver(A.T.tocsc()))


def _spsolve_triangular(original: Any, A: Any, b: Any, lower: bool, unit_diagonal: bool) -> Any:
    def solver(matrix: Any, lower: bool) -> Function:
        return lambda b: original(matrix, b, lower, unit_diagonal=unit_diagonal)

    return _columns(array(b), solver(A, lower), solver(A.T.tocsr(), not lower))


def _by_steps(original: Any, A: Any, b: Any, x0: Any, **options: Any) -> Any:
    """Of `cg` and its kin: exact, as far as they are told to be."""
    matrix = plain(A)
    if is_tracked([*options.values()]) or not hasattr(matrix, "T"):
        return NotImplemented
    # The preconditioner, and the start, are those of the system itself.
    own = {k: v for k, v in options.items() if not k.startswith("callback")}
    back = {k: v for k, v in own.items() if k != "M"}
    info = original(matrix, plain(b), plain(x0), **options)[1]
    if info:
        return NotImplemented

    def forward(b: np.ndarray) -> np.ndarray:
        return np.asarray(original(matrix, b, **own)[0])

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


def _expm_multiply(original: Any, A: Any, B: Any) -> Any:
    return _columns(array(B), lambda b: original(A, b), lambda b: original(A.T, b))


def _product(original: Any, self: Any, other: Any) -> Any:
    return _columns(array(other), lambda b: original(self, b), lambda b: self.T @ b)


RULES = {
    "scipy.sparse.linalg": {
        "spsolve": _spsolve,
        "spsolve_triangular": _spsolve_triangular,
        **dict.fromkeys(("cg", "gmres", "bicgstab", "minres"), _by_steps),
        "expm_multiply": _expm_multiply,
    },
    "scipy.sparse": {
        f"{kind}_{what}.__matmul__": _product
        for kind in ("csr", "csc", "coo")
        for what in ("array", "matrix")
    },
}
