"""The `linalg` extension of the standard, and the other functions that NumPy's has."""

from __future__ import annotations

import numpy as np

from ._namespace.chapters import linalg as _ours
from ._namespace.chapters.linalg import *  # noqa: F403
from ._namespace.chapters.linalg import __all__ as _standard
from ._namespace.dispatch import fastpath
from ._namespace.interop import functions
from ._namespace.numpy import homes

for _name in _standard:  # matrices, objects
    _function = getattr(_ours, _name)
    if isinstance(_function, fastpath.FUNCTIONS) and hasattr(np.linalg, _name):
        globals()[_name] = functions.or_host(_function, _name, "linalg")

__all__ = sorted({*_standard, *homes.HOMES["linalg"]})
__getattr__ = homes.getter("linalg", globals())


def __dir__() -> list[str]:
    return __all__
