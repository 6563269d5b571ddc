"""The `fft` extension: the transforms, and their samples' frequencies and order."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..._lazy.graph.primitive import Primitive
from ..._lazy.ops import fourier as p
from ..._lazy.ops.elementwise import conj
from ..core.array import Array, apply, check_device, from_value, placed
from ..core.indexing import warn_user
from ..core.outputs import takes_out
from ..core.promotion import as_array, astype, normalize_axis
from ..dispatch import fastpath
from ..dispatch.docstrings import described_like, specify
from . import elementwise as e
from .manipulation import roll

if TYPE_CHECKING:
    from ..core._methods import Device
    from ..core.types import ArrayLike, DTypeLike

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

Norm = Literal["backward", "ortho", "forward"] | None
Integers = Sequence[int] | None
# What docstrings say otherwise of an inverse transform, and of one of real numbers.
_INVERSE = {"nothing, the square root of n, or n": "n, its square root, or nothing"}
_INVERSE_OF_SEVERAL = {
    "nothing, the square root of the sizes' product, or the product": (
        "the sizes' product, its square root, or nothing"
    )
}
_REAL = {"Complex; real numbers count as complex ones.": "Of a real dtype."}
_SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _floats(function: str, x: Any) -> Array:
    """Return `x` as an array of floats or complex numbers: float64 for integers, float32 for float16."""
    y = as_array(function, x)
    if y.dtype.kind in "fc" and y.dtype != np.float16:
        return y
    return astype(y, np.dtype(np.float32 if y.dtype == np.float16 else np.float64))


def _complex(function: str, x: Any) -> Array:
    y = _floats(function, x)
    return astype(y, np.result_type(y.dtype, np.complex64))


def _real(function: str, x: Any) -> Array:
    y = _floats(function, x)
    if y.dtype.kind == "c":
        raise TypeError(f"{function}: needs a real dtype, not {y.dtype}")
    return y


def _norm(function: str, norm: Norm) -> str:
    if norm is not None and norm not in _SWAPPED:
        raise ValueError(f"{function}: no norm {norm!r}; 'backward', 'ortho' or 'forward' would work")
    return norm or "backward"


def _check_points(function: str, points: int) -> int:
    if points < 1:
        raise ValueError(f"{function}: Invalid number of FFT data points ({points}); 1 or more would work")
    return points


def _along(function: str, prim: Primitive, x: Array, n: Any, axis: Any, norm: str, **params: Any) -> Array:
    """Return a transform along one axis: of `n` points, or of all that there are where it is None."""
    k = normalize_axis(function, axis, x.ndim)
    there = 2 * (x.shape[k] - 1) if prim is p.irfft else x.shape[k]
    points = _check_points(function, there if n is None else operator.index(n))
    return apply(prim, x, n=points, axis=k, norm=norm, **params)


def _fft(function: str, x: Array, pairs: Iterable[tuple[Any, Any]], norm: Norm, inverse: bool) -> Array:
    """Return the complex transform for pairs of points and an axis, one after the other."""
    for n, axis in pairs:
        x = _along(function, p.fft, x, n, axis, _norm(function, norm), inverse=inverse)
    return x


def _sizes(function: str, x: Array, s: Any, axes: Any) -> list[tuple[int | None, int]]:
    """Return the points (None for all there are) and the axis of each transform of several."""
    if axes is None:
        if s is not None:
            warn_user(
                "`axes` should not be `None` if `s` is not `None`: an axis for each size would do",
                DeprecationWarning,
            )
        count = x.ndim if s is None else len(s)
        axes = range(-count, 0)
    where = [normalize_axis(function, a, x.ndim) for a in axes]
    sizes = [None] * len(where) if s is None else s
    if len(sizes) != len(where):
        raise ValueError(f"{function}: {len(s)} sizes for {len(where)} axes; one for each would work")
    if s is not None and None in sizes:
        warn_user(
            "passing an array containing `None` values to `s` is deprecated: -1 would do", DeprecationWarning
        )
    points = [None if n is None or n == -1 else operator.index(n) for n in sizes]
    return list(zip(points, where, strict=True))


def over_axes(name: str, usual: Sequence[int] | None = None) -> Callable[..., np.ndarray | None]:
    """Return what does as NumPy's function of that name: one axis after the other, as `along` has them.

    It gives None where NumPy warns of sizes, or refuses them. `usual`: the axes if none are given.
    """
    kind = "ifft" if name[0] == "i" else "fft"
    full, further = p.along(kind), p.along(kind, over=True)
    last = p.along(name[:-1])

    def each(a: np.ndarray, pairs: Iterable[tuple[int | None, int]], norm: Norm, over: bool) -> np.ndarray:
        for n, axis in pairs:
            a, over = (further if over else full)(a, n, axis, norm), True
        return a

    def host(a: np.ndarray, s: Any = None, axes: Any = usual, norm: Norm = None) -> np.ndarray | None:
        if axes is None:
            if s is not None:
                return None
            axes = range(-a.ndim, 0)
        if s is None:
            s = (None,) * len(axes)
        elif None in s or len(s) != len(axes):
            return None
        if not len(axes):
            return None
        pairs = [(a.shape[k] if n == -1 else n, k) for n, k in zip(s, axes, strict=True)]
        *others, (n, end) = pairs
        if name == "irfftn":
            return last(each(a, others, norm, over=False), n, end, norm)
        found = p.mirrored_over(a, pairs, norm) if name == "fftn" else None
        return each(last(a, n, end, norm), reversed(others), norm, over=True) if found is None else found

    return host


def _several(name: str) -> Callable[[fastpath.F], fastpath.F]:
    host = over_axes(name)

    def large(a: np.ndarray, s: Any = None, axes: Any = None, norm: Norm = None) -> np.ndarray | None:
        """Transform several axes; one is recorded, so that threads share it."""
        count = a.ndim if axes is None else np.size(axes)
        return host(a, s, axes, norm) if count > 1 else None

    return fastpath.whole(host, large=large)


@fastpath.whole(p.along("fft"))
@takes_out
def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the discrete Fourier transform along an axis.

    Parameters
    ----------
    a : Array
        Complex; real numbers count as complex ones.
    n : int, optional
        Points to transform: the axis is cut or padded with zeros to fit.
    axis : int
    norm : {"backward", "ortho", "forward"}
        What the result is divided by: nothing, the square root of n, or n.

    Returns
    -------
    Array
        Complex, of the precision of `a`; `n` elements along the axis.

    Raises
    ------
    ValueError
        If there are no points to transform, or no such norm.

    >>> xp.fft.fft(xp.asarray([1.0, 0.0, 0.0, 0.0]))
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _fft("fft", _floats("fft", a), [(n, axis)], norm, inverse=False)


@fastpath.whole(p.along("ifft"))
@takes_out
@described_like(fft, _INVERSE)
def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the inverse discrete Fourier transform along an axis.

    >>> xp.fft.ifft(xp.asarray([1.0, 1.0, 1.0, 1.0]))
    array([1.+0.j, 0.+0.j, 0.+0.j, 0.+0.j])
    """
    return _fft("ifft", _complex("ifft", a), [(n, axis)], norm, inverse=True)


@_several("fftn")
@takes_out
def fftn(a: ArrayLike, s: Integers = None, axes: Integers = None, norm: Norm = "backward") -> Array:
    """Return the discrete Fourier transform along several axes.

    Parameters
    ----------
    a : Array
        Complex; real numbers count as complex ones.
    s : sequence of ints, optional
        Points along each axis, -1 for those there are: axes are cut or padded with zeros to fit.
    axes : sequence of ints, optional
        All of them by default (the last ones where `s` is given).
    norm : {"backward", "ortho", "forward"}
        What the result is divided by: nothing, the square root of the sizes' product, or the product.

    Returns
    -------
    Array
        Complex, of the precision of `a`.

    Raises
    ------
    ValueError
        If there are no points to transform, no such norm, or not a size for each axis.

    >>> xp.fft.fftn(xp.asarray([[1.0, 0.0], [0.0, 0.0]]))
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    y = _floats("fftn", a)
    pairs = _sizes("fftn", y, s, axes)
    return _fft("fftn", y if pairs else _complex("fftn", y), reversed(pairs), norm, inverse=False)


@_several("ifftn")
@takes_out
@described_like(fftn, _INVERSE_OF_SEVERAL)
def ifftn(a: ArrayLike, s: Integers = None, axes: Integers = None, norm: Norm = "backward") -> Array:
    """Return the inverse discrete Fourier transform along several axes.

    >>> xp.fft.ifftn(xp.asarray([[1.0, 1.0], [1.0, 1.0]]))
    array([[1.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    y = _complex("ifftn", a)
    return _fft("ifftn", y, reversed(_sizes("ifftn", y, s, axes)), norm, inverse=True)


@fastpath.whole(p.along("rfft"))
@takes_out
@described_like(fft, _REAL)
def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the first half of the discrete Fourier transform of real numbers along an axis.

    Returns
    -------
    Array
        Complex, of the precision of `a`; ``n // 2 + 1`` elements along the axis (the others are their
        mirror image, conjugated).

    Raises
    ------
    TypeError
        If `a` is complex.
    ValueError
        If there are no points to transform, or no such norm.

    >>> xp.fft.rfft(xp.asarray([1.0, 0.0, 0.0, 0.0]))
    array([1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _along("rfft", p.rfft, _real("rfft", a), n, axis, _norm("rfft", norm))


@fastpath.whole(p.along("irfft"))
@takes_out
@described_like(
    fft,
    {
        **_INVERSE,
        "Points to transform: the axis is cut or padded with zeros to fit.": (
            "Points of the result; ``2 * (M - 1)`` for an axis of M by default."
        ),
        "Complex, of": "Real, of",
    },
)
def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the inverse of `rfft`: real numbers from the first half of their transform.

    >>> xp.fft.irfft(xp.asarray([1.0, 1.0, 1.0]))
    array([1., 0., 0., 0.])
    """
    return _along("irfft", p.irfft, _complex("irfft", a), n, axis, _norm("irfft", norm))


@_several("rfftn")
@takes_out
@described_like(fftn, _REAL)
def rfftn(a: ArrayLike, s: Integers = None, axes: Integers = None, norm: Norm = "backward") -> Array:
    """Return half of the discrete Fourier transform of real numbers along several axes.

    Returns
    -------
    Array
        Complex, of the precision of `a`; the last of `axes` has the first half of its elements.

    Raises
    ------
    TypeError
        If `a` is complex.
    ValueError
        If there are no points to transform, no such norm, or not a size for each axis.

    >>> xp.fft.rfftn(xp.asarray([[1.0, 0.0], [0.0, 0.0]]))
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    y = _real("rfftn", a)
    pairs = _sizes("rfftn", y, s, axes)
    y = _along("rfftn", p.rfft, y, *pairs[-1], _norm("rfftn", norm))
    return _fft("rfftn", y, reversed(pairs[:-1]), norm, inverse=False)


@_several("irfftn")
@takes_out
@described_like(
    fftn,
    {
        **_INVERSE_OF_SEVERAL,
        "Points along each axis, -1 for those there are: axes are cut or padded with zeros to fit.": (
            "Points of the result along each axis; ``2 * (M - 1)`` by default for M along the last of `axes`."
        ),
        "Complex, of": "Real, of",
    },
)
def irfftn(a: ArrayLike, s: Integers = None, axes: Integers = None, norm: Norm = "backward") -> Array:
    """Return the inverse of `rfftn`.

    >>> xp.fft.irfftn(xp.asarray([[1.0, 1.0], [1.0, 1.0]]))
    array([[1., 0.],
           [0., 0.]])
    """
    y = _complex("irfftn", a)
    pairs = _sizes("irfftn", y, s, axes)
    y = _fft("irfftn", y, pairs[:-1], norm, inverse=True)
    n, axis = pairs[-1]
    if s is not None and n is None:  # -1 is all there are
        n = y.shape[axis]
    return _along("irfftn", p.irfft, y, n, axis, _norm("irfftn", norm))


@takes_out
@described_like(
    irfft,
    {
        "as complex ones.": "as complex ones. The other half is the mirror image, conjugated.",
        "n, its square root, or nothing": "nothing, the square root of n, or n",
    },
)
def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the discrete Fourier transform of a signal given by the first half, which is real.

    >>> xp.fft.hfft(xp.asarray([1.0, 0.0, 0.0]))
    array([1., 1., 1., 1.])
    """
    y = apply(conj, _complex("hfft", a))
    return _along("hfft", p.irfft, y, n, axis, _SWAPPED[_norm("hfft", norm)])


@takes_out
@described_like(rfft, _INVERSE)
def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the inverse of `hfft`: the first half of the signal.

    Returns
    -------
    Array
        Complex, of the precision of `a`; ``n // 2 + 1`` elements along the axis.

    >>> xp.fft.ihfft(xp.asarray([1.0, 1.0, 1.0, 1.0]))
    array([1.-0.j, 0.-0.j, 0.-0.j])
    """
    y = _along("ihfft", p.rfft, _real("ihfft", a), n, axis, _SWAPPED[_norm("ihfft", norm)])
    return apply(conj, y)


def fftfreq(n: int, d: Any = 1.0, device: Device | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """Return the frequencies of the elements of a transform, in cycles per unit of `d`.

    Parameters
    ----------
    n : int
        Points of the transform.
    d : float or Array
        Distance of the samples.
    device : str, optional
        ``"cpu"``, the default, or an accelerator: ``"gpu:0"``, ...
    dtype : dtype, optional
        Real; float64 by default.

    Returns
    -------
    Array
        Of `n` elements: 0 and the positive ones ascending, then the negative ones ascending.

    Raises
    ------
    ZeroDivisionError
        If `n` is 0.
    ValueError
        If `n` is negative or the device is unknown.
    TypeError
        If the dtype is not real.

    >>> xp.fft.fftfreq(4, d=0.5)
    array([ 0. ,  0.5, -1. , -0.5])
    """
    points = _whole("fftfreq", n)
    half = (points + 1) // 2
    cycles = np.concatenate([np.arange(half), np.arange(half - points, 0)])
    return _frequencies("fftfreq", cycles, points, d, dtype, device)


@described_like(fftfreq)
def rfftfreq(n: int, d: Any = 1.0, device: Device | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """Return the frequencies of the elements of `rfft`, in cycles per unit of `d`.

    Returns
    -------
    Array
        Of ``n // 2 + 1`` elements, ascending from 0.

    >>> xp.fft.rfftfreq(4, d=0.5)
    array([0. , 0.5, 1. ])
    """
    points = _whole("rfftfreq", n)
    return _frequencies("rfftfreq", np.arange(points // 2 + 1), points, d, dtype, device)


def _whole(function: str, n: Any) -> int:
    if not isinstance(n, int | np.integer):
        raise ValueError(f"{function}: n should be an integer, not {n!r}")
    if n == 0:
        raise ZeroDivisionError(f"{function}: 0 points have no frequencies; 1 or more would work")
    return _check_points(function, int(n))


def _frequencies(function: str, cycles: np.ndarray, n: int, d: Any, dtype: Any, device: Any) -> Array:
    check_device(function, device)
    wanted = np.dtype(np.float64 if dtype is None else dtype)
    if wanted.kind != "f":
        raise TypeError(f"{function}: needs a real dtype, not {wanted}")
    step = e.divide(1.0, e.multiply(d, n)) if isinstance(d, Array) else 1.0 / (d * n)
    return placed(astype(e.multiply(from_value(cycles.astype(np.float64)), step), wanted), device)


@fastpath.whole(np.fft.fftshift)
def fftshift(x: ArrayLike, axes: int | Integers = None) -> Array:
    """Move the element of frequency 0 to the middle of each axis.

    Parameters
    ----------
    x : Array
    axes : int or sequence of ints, optional
        All of them by default.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.

    >>> xp.fft.fftshift(xp.fft.fftfreq(4))
    array([-0.5 , -0.25,  0.  ,  0.25])
    """
    return _rolled("fftshift", x, axes, lambda n: n // 2)


@fastpath.whole(np.fft.ifftshift)
@described_like(fftshift)
def ifftshift(x: ArrayLike, axes: int | Integers = None) -> Array:
    """Undo `fftshift`: move the element in the middle of each axis to its start.

    >>> xp.fft.ifftshift(xp.asarray([-0.5, -0.25, 0.0, 0.25]))
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    return _rolled("ifftshift", x, axes, lambda n: -(n // 2))


def _rolled(function: str, x: Any, axes: Any, by: Callable[[int], int]) -> Array:
    y = as_array(function, x)
    if axes is None:
        axes = range(y.ndim)
    where = [normalize_axis(function, k, y.ndim) for k in (axes if isinstance(axes, Sequence) else (axes,))]
    return roll(y, [by(y.shape[k]) for k in where], where)


specify(globals(), "fft")
