"""Sorting and searching."""

from __future__ import annotations

import numpy as np

from ..aval import Aval, aval_of
from ..primitive import Primitive, shift


def _argsort_host(x: np.ndarray, axis: int, descending: bool, stable: bool) -> np.ndarray:
    kind = "stable" if stable else None
    if not descending:
        return np.argsort(x, axis=axis, kind=kind)
    # Reversed twice, so that equal elements keep their order and nan comes last on neither end alone.
    back = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - back, axis)


argsort = Primitive(
    "argsort",
    lambda x, axis, descending, stable: aval_of(x.shape, np.dtype(np.intp)),
    _argsort_host,
    batch=shift("axis"),
)


def _sort_host(x: np.ndarray, axis: int, descending: bool, stable: bool) -> np.ndarray:
    out = np.sort(x, axis=axis, kind="stable" if stable else None)
    return np.flip(out, axis) if descending else out


sort = Primitive("sort", lambda x, axis, descending, stable: x, _sort_host, batch=shift("axis"))


def _searchsorted_aval(x1: Aval, x2: Aval, side: str) -> Aval:
    if x1.shape[:-1] != x2.shape[: x1.ndim - 1]:
        raise ValueError(f"searchsorted: batch axes differ: {x1} and {x2}")
    return aval_of(x2.shape, np.dtype(np.intp))


def _searchsorted_host(x1: np.ndarray, x2: np.ndarray, side: str) -> np.ndarray:
    if x1.ndim == 1:
        return np.asarray(np.searchsorted(x1, x2, side=side))
    out = np.empty(x2.shape, np.intp)
    for i in np.ndindex(x1.shape[:-1]):
        out[i] = np.searchsorted(x1[i], x2[i], side=side)
    return out


# x1 is sorted along its last axis; its leading axes are batch axes of x2 too.
searchsorted = Primitive("searchsorted", _searchsorted_aval, _searchsorted_host)
