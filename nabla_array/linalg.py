"""The `linalg` extension of the standard."""

from ._namespace.linalg import *  # noqa: F403
from ._namespace.linalg import __all__ as __all__
