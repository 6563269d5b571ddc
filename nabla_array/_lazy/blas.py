"""NumPy, imported so that threads of its BLAS do not keep the cores from ours."""

from __future__ import annotations

import os
import sys

# OpenBLAS reads it when it is loaded: its threads spin while they wait for the next product, for
# 25 ms (2**26 cycles) if it is not set. Ours, which go on with what a product gave, need those cores.
_VARIABLE, _CYCLES = "OPENBLAS_THREAD_TIMEOUT", "18"

# Whether that was still to be said here.
was_first = "numpy" not in sys.modules and _VARIABLE not in os.environ
if was_first:
    os.environ[_VARIABLE] = _CYCLES
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[_VARIABLE]
