"""NumPy's `lib.stride_tricks`: windows that slide over arrays."""

from .._namespace.numpy_names.strides import *  # noqa: F403
from .._namespace.numpy_names.strides import __all__ as __all__
