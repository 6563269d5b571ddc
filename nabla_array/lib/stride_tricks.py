"""NumPy's `lib.stride_tricks`: windows that slide over arrays."""

from .._namespace.numpy.strides import *  # noqa: F403
from .._namespace.numpy.strides import __all__ as __all__
