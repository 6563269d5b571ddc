"""The functions of `fft` about samples: their frequencies, and their order."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._lazy.ops.structure import concat, slice_
from ..core.array import Array, apply, check_device, from_value, placed
from ..core.promotion import as_array, astype, normalize_axis
from ..dispatch import fastpath
from ..dispatch.docstrings import specify
from . import elementwise as e

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def points_of(function: str, n: Any, given: int) -> int:
    """Return how many points to transform: `n`, or what is given where it is None."""
    points = given if n is None else operator.index(n)
    if points < 1:
        raise ValueError(f"{function}: cannot transform {points} points; 1 or more would work")
    return points


def fftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Array:
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


def rfftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Array:
    """Return the frequencies of the elements of `rfft`, in cycles per unit of `d`.

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
        Of ``n // 2 + 1`` elements, ascending from 0.

    Raises
    ------
    ZeroDivisionError
        If `n` is 0.
    ValueError
        If `n` is negative or the device is unknown.
    TypeError
        If the dtype is not real.

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
    return points_of(function, n, 0)


def _frequencies(function: str, cycles: np.ndarray, n: int, d: Any, dtype: Any, device: Any) -> Array:
    check_device(function, device)
    wanted = np.dtype(np.float64 if dtype is None else dtype)
    if wanted.kind != "f":
        raise TypeError(f"{function}: needs a real dtype, not {wanted}")
    step = e.divide(1.0, e.multiply(d, n)) if isinstance(d, Array) else 1.0 / (d * n)
    return placed(astype(e.multiply(from_value(cycles.astype(np.float64)), step), wanted), device)


@fastpath.whole(np.fft.fftshift)
def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Array:
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
    return _shifted("fftshift", x, axes, lambda n: n - n // 2)


@fastpath.whole(np.fft.ifftshift)
def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Array:
    """Undo `fftshift`: move the element in the middle of each axis to its start.

    Parameters
    ----------
    x : Array
    axes : int or sequence of ints, optional
        All of them by default.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.

    >>> xp.fft.ifftshift(xp.asarray([-0.5, -0.25, 0.0, 0.25]))
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    return _shifted("ifftshift", x, axes, lambda n: n // 2)


def _shifted(function: str, x: Any, axes: Any, start: Callable[[int], int]) -> Array:
    """Return `x` with the element at `start(length)` first on each axis, and what was before it last."""
    y = as_array(function, x)
    if axes is None:
        axes = range(y.ndim)
    for axis in axes if isinstance(axes, Sequence) else (axes,):
        k = normalize_axis(function, axis, y.ndim)
        n = y.shape[k]
        cut = start(n)
        if 0 < cut < n:
            y = apply(concat, _part(y, k, cut, n), _part(y, k, 0, cut), axis=k)
    return y.copy() if y is x else y


def _part(x: Array, axis: int, start: int, stop: int) -> Array:
    first = [0] * x.ndim
    size = list(x.shape)
    first[axis], size[axis] = start, stop - start
    return apply(slice_, x, start=tuple(first), size=tuple(size), step=(1,) * x.ndim)


specify(globals(), "fft")
