"""NumPy's functions of `fft` that the standard's does not have: transforms along two axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..chapters.fft import fftn, ifftn, irfftn, rfftn
from ..core.array import Array
from ..core.outputs import deliver
from ..dispatch import fastpath
from .described import numpys_in, of_family

numpys = numpys_in("numpy.fft", np.fft)


def _along_two(name: str, along: Callable[..., Array], what: str, *example: str) -> Callable[..., Any]:
    """Return NumPy's function of this name."""

    def transform(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Array:
        return deliver(name, out, along(a, s=s, axes=axes, norm=norm))

    return numpys(of_family(transform, f"fft.{name}", f"Return the {what}.", *example))


_4 = "array([[4., 0.],\n       [0., 0.]])"
_1 = "array([[1., 0.],\n       [0., 0.]])"
_fft2 = _along_two("fft2", fftn, "Fourier transform along two axes", "xp.fft.fft2(xp.ones((2, 2))).real", _4)
fft2 = fastpath.whole(np.fft.fft2)(_fft2)
ifft2 = _along_two(
    "ifft2", ifftn, "inverse Fourier transform along two axes", "xp.fft.ifft2(xp.ones((2, 2))).real", _1
)
rfft2 = _along_two(
    "rfft2",
    rfftn,
    "Fourier transform of real numbers along two axes",
    "xp.fft.rfft2(xp.ones((2, 2))).real",
    _4,
)
irfft2 = _along_two("irfft2", irfftn, "inverse of `rfft2`", "xp.fft.irfft2(xp.ones((2, 2)))", _1)
