"""NumPy's functions of `fft` that the standard's does not have: transforms along two axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..chapters.fft import fftn, ifftn, irfftn, over_axes, rfftn
from ..core.array import Array
from ..dispatch import fastpath
from .described import numpys_in, of_family


def _in_a_plane(
    name: str, transform: Callable[..., Array], summary: str, example: str, result: str
) -> Callable[..., Array]:
    """Return NumPy's function of this name: the transform along several axes, which are the last two."""

    def call(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Array:
        return transform(a, s, axes, norm, out=out)

    numpys, host = numpys_in("numpy.fft", np.fft), over_axes(f"{name[:-1]}n", (-2, -1))
    return fastpath.whole(host, large=host)(numpys(of_family(call, f"fft.{name}", summary, example, result)))


fft2 = _in_a_plane(
    "fft2",
    fftn,
    "Return the Fourier transform along two axes.",
    "[[1.0, 1.0]]",
    "array([[2.+0.j, 0.+0.j]])",
)
ifft2 = _in_a_plane(
    "ifft2",
    ifftn,
    "Return the inverse Fourier transform along two axes.",
    "[[2.0, 0.0]]",
    "array([[1.+0.j, 1.+0.j]])",
)
rfft2 = _in_a_plane(
    "rfft2",
    rfftn,
    "Return the Fourier transform of real numbers along two axes.",
    "[[1.0, 1.0]]",
    "array([[2.+0.j, 0.+0.j]])",
)
irfft2 = _in_a_plane("irfft2", irfftn, "Return the inverse of `rfft2`.", "[[2.0, 0.0]]", "array([[1., 1.]])")
