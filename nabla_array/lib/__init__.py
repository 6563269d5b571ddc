"""NumPy's `lib`: what it holds for users is in its modules, which are NumPy's but for `stride_tricks`."""

from functools import partial

import numpy as np

from .._namespace.numpy.modules import NumpyModule
from . import stride_tricks as stride_tricks

__getattr__ = partial(getattr, NumpyModule(np.lib, __name__))


def __dir__() -> list[str]:
    return [name for name in dir(np.lib) if name[0] != "_"]
