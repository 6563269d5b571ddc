"""`scipy.fft`: transforms along axes, which are linear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .operands import array, mapped
from .tracking import is_tracked


def _real(original: Any, x: Any, axis: int, **options: Any) -> Any:
    """Of `dct` and its kin, along one axis."""
    if is_tracked([*options.values()]):
        return NotImplemented
    return mapped(lambda v: original(v, axis=-1, **options), array(x), axis)


def _several(original: Any, x: Any, type: int, axes: Any, norm: Any) -> Any:
    """Transform along one axis after the other."""
    x = array(x)
    for axis in range(x.ndim) if axes is None else np.atleast_1d(axes):
        x = mapped(lambda v: original(v, type, None, (-1,), norm), x, int(axis))
    return x


def _complex(name: str) -> Callable[..., Any]:
    """Return the rule of a function that NumPy has too."""

    def one(original: Any, x: Any, n: Any, axis: int, norm: Any) -> Any:
        return getattr(np.fft, name)(array(x), n, axis, norm)

    def several(original: Any, x: Any, s: Any, axes: Any, norm: Any) -> Any:
        x = array(x)
        if s is not None and axes is None:  # of the last axes: NumPy wants to be told
            axes = tuple(range(x.ndim - len(s), x.ndim))
        return getattr(np.fft, name)(x, s, axes, norm)

    return several if name[-1] in "2n" else one


_NUMPYS = (
    *("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2"),
    *("fftn", "ifftn", "rfftn", "irfftn"),
)
RULES = {
    "scipy.fft": {
        **{name: _complex(name) for name in _NUMPYS},
        **dict.fromkeys(("dct", "idct", "dst", "idst"), _real),
        **dict.fromkeys(("dctn", "idctn", "dstn", "idstn"), _several),
    }
}
