"""Products that sum over a shared axis."""

from __future__ import annotations

import numpy as np

from ..aval import Aval, aval_of
from ..primitive import Primitive


def _matmul_aval(x: Aval, y: Aval) -> Aval:
    if x.dtype != y.dtype or x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-2]:
        raise ValueError(f"matmul: inner sizes differ: {x} @ {y} ({x.shape[-1]} against {y.shape[-2]})")
    return aval_of((*x.shape[:-1], y.shape[-1]), x.dtype)


# Operands have two axes or more; the leading ones are equal.
matmul = Primitive("matmul", _matmul_aval, np.matmul)
