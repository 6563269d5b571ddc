"""Sums of products that are matrix products: convolutions as one writes them in NumPy, say."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..._lazy.graph.aval import aval_of
from ..core.array import Array
from . import eager

# How each factor becomes a matrix, by a key and an order of axes; the size of the axis that they share; the
# product's axes, and their order in the result.
_Layout = tuple[tuple[Any, ...], tuple[int, ...], tuple[Any, ...], tuple[int, ...], int, tuple[int, ...], Any]
# Products of elements from which on BLAS, and the copies that it needs, take less time than to add them up.
_FEWEST = 512


def sum_of_product(
    x: Array,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Array | None:
    """Return what `sum` gives for a pending product, if that is a matrix product; None if not.

    It is one where each axis that stays is one of a single factor's (the other repeats its elements along
    it), and each that is reduced one of both. The last axis must stay: then NumPy adds one product after the
    other, which BLAS does at least as accurately; along the last axis it adds pairwise.
    """
    if not (dtype is out is initial is None and keepdims is False and where is True):
        return None
    if x.dtype.char not in "fd" or x.size < _FEWEST or x._node.aval.nbytes >= eager.PART:
        return None
    a, b = [node.value for node in x._node.inputs]
    if a is None or b is None:
        return None  # to compute them apart could cost more than a product of matrices saves
    layout = _layout(a.shape, a.strides, b.strides, axis if type(axis) is tuple else (axis,))
    if layout is None:
        return None
    key, axes, other_key, other_axes, inner, shape, order = layout
    left = a[key].transpose(axes).reshape(-1, inner)
    right = b[other_key].transpose(other_axes).reshape(inner, -1)
    value = np.dot(left, right).reshape(shape)
    if order is not None:
        value = np.ascontiguousarray(value.transpose(order))
    return eager.known(value, aval_of(value.shape, value.dtype))


def _as_matrix(axes: list[int], ndim: int) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Return the key that takes these axes alone, and the order that they then have."""
    ranks = sorted(axes)
    return tuple([slice(None) if i in axes else 0 for i in range(ndim)]), tuple(
        [ranks.index(i) for i in axes]
    )


@lru_cache(1024)
def _layout(
    shape: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...], axis: tuple[int, ...]
) -> _Layout | None:
    ndim = len(shape)
    if any(type(i) is not int or not -ndim <= i < ndim for i in axis):
        return None
    reduced = {i % ndim for i in axis}
    if len(reduced) != len(axis) or ndim - 1 in reduced or 0 in shape:
        return None
    rows, columns, inner = [], [], []
    for i in range(ndim):
        is_in = (a[i] != 0, b[i] != 0)
        if i in reduced:
            if is_in != (True, True) and shape[i] != 1:
                return None
            inner.append(i)
        elif shape[i] == 1 or is_in == (True, False):
            rows.append(i)
        elif is_in == (False, True):
            columns.append(i)
        else:
            return None
    sizes = [prod([shape[i] for i in axes]) for axes in (rows, columns, inner)]
    if min(sizes[1:]) < 2:
        return None
    kept = rows + columns
    order = None if kept == sorted(kept) else tuple([kept.index(i) for i in sorted(kept)])
    left, right = _as_matrix(rows + inner, ndim), _as_matrix(inner + columns, ndim)
    return *left, *right, sizes[2], tuple([shape[i] for i in kept]), order
