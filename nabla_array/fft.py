"""The `fft` extension of the standard."""

from ._namespace.fft import *  # noqa: F403
from ._namespace.fft import __all__ as __all__
