"""Discrete Fourier transforms along one axis.

All take `n`, the points to transform (the axis is cut or padded with zeros to fit), and `norm`, which
says by what the result is divided: "backward" by nothing forwards and n backwards, "forward" the other
way round, "ortho" by the square root of n both ways.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aval import Aval, aval_of
from ..primitive import Primitive, shift


def _sized(x: Aval, axis: int, n: int, dtype: np.dtype) -> Aval:
    return aval_of((*x.shape[:axis], n, *x.shape[axis + 1 :]), dtype)


def _check(name: str, x: Aval, n: int, kind: str) -> None:
    if x.dtype.kind != kind or n < 1:
        raise ValueError(f"{name}: needs a dtype of kind {kind!r} and n of 1 or more: {x}, n={n}")


def _fft_aval(x: Aval, n: int, axis: int, norm: str, inverse: bool) -> Aval:
    _check("fft", x, n, "c")
    return _sized(x, axis, n, x.dtype)


def _fft_host(x: np.ndarray, n: int, axis: int, norm: Any, inverse: bool) -> np.ndarray:
    return (np.fft.ifft if inverse else np.fft.fft)(x, n, axis, norm)


# Complex to complex, either way.
fft = Primitive("fft", _fft_aval, _fft_host, batch=shift("axis"))


def _rfft_aval(x: Aval, n: int, axis: int, norm: str) -> Aval:
    _check("rfft", x, n, "f")
    return _sized(x, axis, n // 2 + 1, np.result_type(x.dtype, np.complex64))


# Real to complex, forwards: the first half of the transform, of which the rest is the mirror image.
rfft = Primitive(
    "rfft", _rfft_aval, lambda *args, **params: np.fft.rfft(*args, **params), batch=shift("axis")
)


def _irfft_aval(x: Aval, n: int, axis: int, norm: str) -> Aval:
    _check("irfft", x, n, "c")
    return _sized(x, axis, n, x.dtype.type(0).real.dtype)


# Complex to real, backwards, from the first half; `n` counts the points of the result.
irfft = Primitive(
    "irfft", _irfft_aval, lambda x, n, axis, norm: np.fft.irfft(x, n, axis, norm), batch=shift("axis")
)
