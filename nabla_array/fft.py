"""The `fft` extension of the standard, and the other functions that NumPy's has."""

from __future__ import annotations

from ._namespace.chapters import fft as _ours
from ._namespace.chapters.fft import *  # noqa: F403
from ._namespace.chapters.fft import __all__ as _standard
from ._namespace.interop import functions
from ._namespace.numpy import homes

globals().update(functions.all_or_host(_ours, "fft"))
__all__ = sorted({*_standard, *homes.HOMES["fft"]})
__getattr__ = homes.getter("fft", globals())


def __dir__() -> list[str]:
    return __all__
