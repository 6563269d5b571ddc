"""The standard's linear algebra functions that live in the main namespace."""

from __future__ import annotations

from typing import Any

from .._lazy.primitives.contraction import matmul as matmul_p
from .._lazy.primitives.structure import reshape
from .array import Array, apply
from .promotion import broadcast_shapes, broadcast_to, promote

__all__ = ["matmul"]


def matmul(x1: Any, x2: Any, /) -> Array:
    """Return the matrix product.

    Parameters
    ----------
    x1, x2 : Array
        Of numeric dtypes and one axis or more. A vector counts as a row on the left and as a column on
        the right; axes before the last two broadcast.

    Returns
    -------
    Array
        Of the promoted dtype.

    Raises
    ------
    ValueError
        If an operand is 0-d or the inner sizes differ.

    References
    ----------
    https://data-apis.org/array-api/2025.12/API_specification/generated/array_api.matmul.html

    Examples
    --------
    >>> import nabla_array as xp
    >>> xp.matmul(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), xp.asarray([1.0, 1.0]))
    array([3., 7.])
    """
    a, b = promote("matmul", x1, x2)
    if not a.ndim or not b.ndim:
        raise ValueError(f"matmul: needs one axis or more, not shapes {a.shape} and {b.shape}")
    row, column = a.ndim == 1, b.ndim == 1
    left = apply(reshape, a, shape=(1, *a.shape)) if row else a
    right = apply(reshape, b, shape=(*b.shape, 1)) if column else b
    if left.shape[-1] != right.shape[-2]:
        raise ValueError(
            f"matmul: inner sizes differ: {a.dtype}{list(a.shape)} @ {b.dtype}{list(b.shape)} "
            f"({left.shape[-1]} against {right.shape[-2]})"
        )
    batch = broadcast_shapes("matmul", left.shape[:-2], right.shape[:-2])
    out = apply(
        matmul_p,
        broadcast_to(left, batch + left.shape[-2:]),
        broadcast_to(right, batch + right.shape[-2:]),
    )
    shape = batch + (() if row else left.shape[-2:-1]) + (() if column else right.shape[-1:])
    return out if out.shape == shape else apply(reshape, out, shape=shape)
