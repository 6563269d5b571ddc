"""The `fft` extension of the standard, and the other functions that NumPy's has."""

from __future__ import annotations

from typing import Any

from ._namespace.chapters.fft import *  # noqa: F403
from ._namespace.chapters.fft import __all__ as _standard
from ._namespace.numpy import homes

__all__ = sorted({*_standard, *homes.HOMES["fft"]})


def __getattr__(name: str) -> Any:
    found = homes.find(name, "fft")
    if found is None:
        raise AttributeError(f"module 'nabla_array.fft' has no attribute {name!r}")
    globals()[name] = found
    return found
