"""The `linalg` extension of the standard."""

from ._namespace.linalg import *
from ._namespace.linalg import __all__ as __all__
