"""Bits of bytes."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING

import numpy as np

from ..chapters.elementwise import bitwise_and, bitwise_left_shift, bitwise_or, bitwise_right_shift
from ..chapters.joining import concat
from ..chapters.manipulation import moveaxis, reshape
from ..core.array import Array
from ..core.promotion import as_array, astype, axis_or_flat, full
from .described import eager_numpys

if TYPE_CHECKING:
    from ..core.types import ArrayLike

_BYTE = np.dtype(np.uint8)
_BIG = np.arange(7, -1, -1).astype(np.uint8)


def _shifts(bitorder: str) -> np.ndarray:
    if not isinstance(bitorder, str):
        raise TypeError(f"'bitorder' must be str, not {type(bitorder).__name__}")
    if bitorder not in ("big", "little"):
        raise ValueError(f"'bitorder' must be either 'little' or 'big' (got {bitorder!r})")
    return _BIG if bitorder == "big" else _BIG[::-1]


def _fitted(x: Array, n: int) -> Array:
    """Return the first `n` elements along the last axis; zeros follow where there are fewer."""
    missing = n - x.shape[-1]
    if missing > 0:
        return concat([x, full((*x.shape[:-1], missing), 0, x.dtype)], axis=-1)
    return x[..., :n] if missing else x


@eager_numpys(large=np.packbits)
def packbits(a: ArrayLike, /, axis: int | None = None, bitorder: str = "big") -> Array:
    """Return bytes, each of eight elements that are zero or not.

    >>> xp.packbits([1, 0, 0, 0, 0, 0, 0, 1])
    array([129], dtype=uint8)
    """
    shifts = _shifts(bitorder)
    x = as_array("packbits", a)
    if x.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    x, k = axis_or_flat("packbits", x, axis, takes_0d=False)
    y = _fitted(astype(moveaxis(astype(x, np.dtype(bool)), k, -1), _BYTE), -(-x.shape[k] // 8) * 8)
    bits = [bitwise_left_shift(y[..., place::8], _BYTE.type(by)) for place, by in enumerate(shifts)]
    return moveaxis(functools.reduce(bitwise_or, bits), -1, k)


@eager_numpys(large=np.unpackbits)
def unpackbits(
    a: ArrayLike, /, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """Return the bits of bytes, an element each.

    >>> xp.unpackbits(xp.asarray([129], dtype=xp.uint8))
    array([1, 0, 0, 0, 0, 0, 0, 1], dtype=uint8)
    """
    shifts = _shifts(bitorder)
    x = as_array("unpackbits", a)
    if x.dtype != _BYTE:
        raise TypeError("Expected an input array of unsigned byte data type")
    x, k = axis_or_flat("unpackbits", x, axis, takes_0d=False)
    y = moveaxis(x, k, -1)
    bits = bitwise_and(bitwise_right_shift(reshape(y, (*y.shape, 1)), shifts), _BYTE.type(1))
    out = reshape(bits, (*y.shape[:-1], y.shape[-1] * 8))
    if count is not None:
        n = operator.index(count)
        if -n > out.shape[-1]:
            raise ValueError(f"-count ({-n}) must not exceed the number of bits ({out.shape[-1]})")
        out = _fitted(out, n if n >= 0 else out.shape[-1] + n)
    return moveaxis(out, -1, k)
