"""NumPy's functions of `fft` that the standard's does not have: transforms along two axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..chapters.fft import fftn, ifftn, irfftn, rfftn
from ..core.array import Array
from ..core.outputs import deliver
from ..dispatch import fastpath
from .described import numpys_in

numpys = numpys_in("numpy.fft", np.fft)


@fastpath.whole(np.fft.fft2)
@numpys
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Array:
    """Return the Fourier transform along two axes.

    >>> xp.fft.fft2(xp.ones((2, 2))).real
    array([[4., 0.],
           [0., 0.]])
    """
    return deliver("fft2", out, fftn(a, s=s, axes=axes, norm=norm))


@numpys
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Array:
    """Return the inverse Fourier transform along two axes.

    >>> xp.fft.ifft2(xp.ones((2, 2))).real
    array([[1., 0.],
           [0., 0.]])
    """
    return deliver("ifft2", out, ifftn(a, s=s, axes=axes, norm=norm))


@numpys
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Array:
    """Return the Fourier transform of real numbers along two axes.

    >>> xp.fft.rfft2(xp.ones((2, 2))).real
    array([[4., 0.],
           [0., 0.]])
    """
    return deliver("rfft2", out, rfftn(a, s=s, axes=axes, norm=norm))


@numpys
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Array:
    """Return the inverse of `rfft2`.

    >>> xp.fft.irfft2(xp.ones((2, 2)))
    array([[1., 0.],
           [0., 0.]])
    """
    return deliver("irfft2", out, irfftn(a, s=s, axes=axes, norm=norm))
