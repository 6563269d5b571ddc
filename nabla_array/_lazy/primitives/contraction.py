"""Products that sum over a shared axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aval import Aval, aval_of
from ..node import Node
from ..primitive import Primitive
from .structure import permute


def _matmul_aval(x: Aval, y: Aval) -> Aval:
    if x.dtype != y.dtype or x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-2]:
        raise ValueError(f"matmul: inner sizes differ: {x} @ {y} ({x.shape[-1]} against {y.shape[-2]})")
    return aval_of((*x.shape[:-1], y.shape[-1]), x.dtype)


def _matmul_jvp(tangents: Any, out: Node, x: Node, y: Node) -> Node:
    s, t = tangents
    parts = [] if s is None else [matmul(s, y)]
    parts += [] if t is None else [matmul(x, t)]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def turned(x: Node) -> Node:
    """Swap the last two axes."""
    n = x.aval.ndim
    return permute(x, axes=(*range(n - 2), n - 1, n - 2))


def _matmul_transpose(ct: Node, wanted: Any, x: Node, y: Node) -> tuple[Node | None, ...]:
    return (
        matmul(ct, turned(y)) if wanted[0] else None,
        matmul(turned(x), ct) if wanted[1] else None,
    )


# Operands have two axes or more; the leading ones are equal.
matmul = Primitive("matmul", _matmul_aval, np.matmul, jvp=_matmul_jvp, transpose=_matmul_transpose)
