"""Constants: NumPy's own objects, for programs that ask ``x is np.nan``."""

from __future__ import annotations

from numpy import e, inf, nan, newaxis, pi

__all__ = ["e", "inf", "nan", "newaxis", "pi"]
