"""Discrete Fourier transforms along one axis.

All take `n`, the points to transform (the axis is cut or padded with zeros to fit), and `norm`, which
says by what the result is divided: "backward" by nothing forwards and n backwards, "forward" the other
way round, "ortho" by the square root of n both ways.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..config import threads
from ..graph.aval import Aval, aval_of
from ..graph.node import Node, leaf
from ..graph.primitive import Dims, Primitive, shift
from . import four_steps
from .creation import fill_node
from .elementwise import conj, real
from .structure import broadcast, span, update_slice


def _sized(x: Aval, axis: int, n: int, dtype: np.dtype) -> Aval:
    return aval_of((*x.shape[:axis], n, *x.shape[axis + 1 :]), dtype)


def _transform(
    name: str,
    kind: str,
    result: Callable[[Aval, int], tuple[int, np.dtype]],
    host: Any,
    transpose: Any,
    in_four_steps: Callable[..., np.ndarray | None],
) -> Primitive:
    """Make the record of a transform of dtypes of some kinds, which gives so many points of some dtype."""

    def aval(x: Aval, n: int, axis: int, **params: Any) -> Aval:
        if x.dtype.kind not in kind or n < 1:
            raise ValueError(f"{name}: needs a dtype of kind {kind!r} and n of 1 or more: {x}, n={n}")
        return _sized(x, axis, *result(x, n))

    def dims(x: Aval, n: int, axis: int, **params: Any) -> Dims:
        before = tuple(-1 if a == axis else a for a in range(x.ndim))
        after = before if x.shape[axis] == result(x, n)[0] else tuple(-2 if a < 0 else a for a in before)
        return before, after

    def shortcut(x: np.ndarray, axis: int, norm: str, **params: Any) -> np.ndarray | None:
        own = x.nbytes >= _THREADED and _scipys(x, norm) is not None  # threads, which need no copies of rows
        has_rows = x.size > x.shape[axis]
        value: np.ndarray | None = host(x, axis=axis, norm=norm, **params) if own and has_rows else None
        return value

    def joined(x: np.ndarray, each: Any, n: int, axis: int, norm: str, **params: Any) -> Any:
        found = in_four_steps(x, n, norm, each, **params)
        if found is None:
            return host(x, n=n, axis=axis, norm=norm, **params)
        return found.reshape(*x.shape[:axis], found.size, *x.shape[axis + 1 :])

    return Primitive(
        name,
        aval,
        host,
        batch=shift("axis"),
        dims=dims,
        transpose=transpose,
        by_rows=True,
        joined=joined,
        shortcut=shortcut,
    )


def _fitted(x: Node, axis: int, n: int) -> Node:
    """Cut an axis, or pad it with zeros, to `n` points."""
    if x.aval.shape[axis] >= n:
        return span(x, axis, 0, n)
    zero = fill_node(_sized(x.aval, axis, n, x.aval.dtype), 0)
    return update_slice(zero, x, start=(0,) * x.aval.ndim, step=(1,) * x.aval.ndim)


# Points from which half of the transform of real numbers is mirrored: it saves more than Python takes.
MIRRORED = 512
# The same for transforms along several axes, which save less.
MIRRORED_OVER = 1 << 14
# Elements from which SciPy's transforms are taken, and bytes from which they are to have threads.
MANY, _THREADED = 512, 1 << 20
# Where these are, once `scipy.fft` is loaded, which looks for a namespace and a backend at each call.
_POCKETFFT = "scipy.fft._pocketfft"
# The same since SciPy 1.18, whose last bits are not NumPy's: for arrays that gain much.
_DUCC = "scipy.fft._duccfft"


def _scipys(x: np.ndarray, norm: str | None) -> ModuleType | None:
    """Return SciPy's transforms if they are there, and do as NumPy's with an array, but faster."""
    if type(x) is not np.ndarray or x.dtype.char not in "dD" or x.size < MANY or norm == "ortho":
        return None
    found = sys.modules.get(_POCKETFFT)
    return sys.modules.get(_DUCC) if found is None and x.nbytes >= _THREADED else found


def along(name: str, over: bool = False) -> Callable[..., np.ndarray]:
    """Return what transforms NumPy's arrays along an axis as its function of that name does.

    Where SciPy is loaded, its transforms, which know threads, do the same for double precision and each
    `norm` but "ortho": to the bit before SciPy 1.18, for large arrays alone since. A full transform of many
    real numbers is mirrored: the last bits may differ.
    """
    theirs = getattr(np.fft, name)
    is_full = name in ("fft", "ifft")

    def transform(
        a: np.ndarray,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = "backward",
    ) -> np.ndarray:
        if a.dtype.kind in "biu":
            a = a.astype(np.float64)
        scipy = _scipys(a, norm)
        if is_full and a.dtype.kind == "f":
            points = a.shape[axis] if n is None else n
            is_mirrored = name == "fft" and points >= MIRRORED
            if is_mirrored and scipy is None:
                return _mirrored(_rfft(a, n, axis, norm), points, axis % a.ndim)
            if not is_mirrored and scipy is not None:
                a = a.astype(np.complex128)  # SciPy would mirror what is real
        if scipy is None:
            value: np.ndarray = theirs(a, n, axis, norm)
            return value
        value = getattr(scipy, name)(a, n, axis, norm, over, workers=_workers(a))
        return value

    return transform


def _workers(a: np.ndarray) -> int | None:
    return threads() if a.nbytes >= _THREADED else None


def _turned_round(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return what has element -k where `x` has element k along axes, which the first element leads."""
    return np.roll(np.flip(x, axes), 1, axes)


def _mirrored(half: np.ndarray, n: int, axis: int, others: tuple[int, ...] = ()) -> np.ndarray:
    """Return all points of a transform of real numbers along an axis, and others, of which these are half."""
    out = np.empty((*half.shape[:axis], n, *half.shape[axis + 1 :]), half.dtype)
    before = (slice(None),) * axis
    out[(*before, slice(n // 2 + 1))] = half
    image = _turned_round(half, others) if others else half
    np.conjugate(image[(*before, slice((n - 1) // 2, 0, -1))], out=out[(*before, slice(n // 2 + 1, None))])
    for k in {0, n // 2} if others and n % 2 == 0 else {0} if others else ():
        plane = out[(*before, slice(k, k + 1))]  # whose own half is mirrored, as SciPy does
        number = np.arange(plane.size).reshape(plane.shape)
        is_later = number >= _turned_round(number, others)
        plane[...] = np.where(is_later, _turned_round(plane, others).conj(), plane)
    return out


_fft, _ifft, _rfft, _irfft = map(along, ("fft", "ifft", "rfft", "irfft"))
_further = along("fft", over=True)


def mirrored_over(a: np.ndarray, pairs: Sequence[tuple[int | None, int]], norm: str | None) -> Any:
    """Return the transform of many real numbers along several axes, of which half is mirrored, else None.

    `pairs`: how many points (None for those there are), and which axis. The last bits may differ from those
    of one axis after the other.
    """
    *others, (last, end) = [(a.shape[k] if n is None else n, k % a.ndim) for n, k in pairs]
    others.reverse()
    axes = [*[k for _, k in others], end]
    if a.dtype.kind != "f" or len({*axes}) < max(len(axes), 2):
        return None
    if last * math.prod([n for n, _ in others]) < MIRRORED_OVER:
        return None
    scipy = _scipys(a, norm) if norm != "forward" else None
    if scipy is not None:
        sizes = [*[n for n, _ in others], last]
        return scipy.fftn(a, sizes, axes, norm, workers=_workers(a))
    half = _rfft(a, last, end, norm)
    for n, k in others:
        half = _further(half, n, k, norm)
    return _mirrored(half, last, end, tuple(axes[:-1]))


def _fft_host(x: np.ndarray, n: int, axis: int, norm: str, inverse: bool) -> np.ndarray:
    if x.dtype.kind == "f" and (inverse or n < MIRRORED):  # NumPy computes some of single in double precision
        x = x.astype(np.result_type(x.dtype, np.complex64))
    return (_ifft if inverse else _fft)(x, n, axis, norm)


def _fft_transpose(ct: Node, wanted: Any, x: Node, n: int, axis: int, **params: Any) -> tuple[Node]:
    """The matrix of the transform is symmetric."""
    whole = _fitted(fft(ct, n=n, axis=axis, **params), axis, x.aval.shape[axis])
    return (real(whole) if x.aval.dtype.kind == "f" else whole,)


# To complex numbers, either way. Of real ones half of the points are mirror images.
fft: Primitive = _transform(
    "fft",
    "cf",
    lambda x, n: (n, np.result_type(x.dtype, np.complex64)),
    _fft_host,
    _fft_transpose,
    four_steps.transformed,
)


def _rfft_transpose(ct: Node, wanted: Any, x: Node, n: int, axis: int, norm: str) -> tuple[Node]:
    whole = fft(_fitted(ct, axis, n), n=n, axis=axis, norm=norm, inverse=False)
    return (_fitted(real(whole), axis, x.aval.shape[axis]),)


# Real to complex, forwards: the first half of the transform, of which the rest is the mirror image.
rfft: Primitive = _transform(
    "rfft",
    "f",
    lambda x, n: (n // 2 + 1, np.result_type(x.dtype, np.complex64)),
    lambda x, n, axis, norm: _rfft(x, n, axis, norm),
    _rfft_transpose,
    four_steps.half_transformed,
)

_OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _irfft_transpose(ct: Node, wanted: Any, x: Node, n: int, axis: int, norm: str) -> tuple[Node]:
    """All points but the first, and the middle one, also stand for their mirror images: they count twice."""
    half = conj(rfft(ct, n=n, axis=axis, norm=_OPPOSITE[norm]))
    k = np.arange(n // 2 + 1)
    count = leaf(np.where((k == 0) | (2 * k == n), 1, 2).astype(half.aval.dtype))
    return (_fitted(half * broadcast(count, shape=half.aval.shape, axes=(axis,)), axis, x.aval.shape[axis]),)


# Complex to real, backwards, from the first half; `n` counts the points of the result.
irfft = _transform(
    "irfft",
    "c",
    lambda x, n: (n, x.dtype.type(0).real.dtype),
    lambda x, n, axis, norm: _irfft(x, n, axis, norm),
    _irfft_transpose,
    four_steps.whole_again,
)
