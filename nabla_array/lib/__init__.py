"""NumPy's `lib`: what it holds for users is in its modules."""

from . import stride_tricks as stride_tricks
