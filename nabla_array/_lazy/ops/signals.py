"""Sums of products with a sequence that moves along another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..graph.aval import Aval, aval_of
from ..graph.node import Node
from ..graph.primitive import Primitive
from .creation import fill_node
from .structure import concat, flipped


def _correlate_aval(x: Aval, y: Aval) -> Aval:
    if x.dtype != y.dtype or x.shape[:-1] != y.shape[:-1] or not 0 < y.shape[-1] <= x.shape[-1]:
        raise ValueError(f"correlate: {y} does not move along {x}")
    return aval_of((*x.shape[:-1], x.shape[-1] - y.shape[-1] + 1), x.dtype)


def _correlate_host(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.ndim == 1:
        return np.convolve(x, y[::-1], "valid")
    shape = (*x.shape[:-1], x.shape[-1] - y.shape[-1] + 1)
    out = np.empty((math.prod(shape[:-1]), shape[-1]), x.dtype)
    for row, a, b in zip(out, x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1]), strict=True):
        row[:] = np.convolve(a, b[::-1], "valid")
    return out.reshape(shape)


def _correlate_jvp(tangents: Any, out: Node, x: Node, y: Node) -> Node:
    s, t = tangents
    parts = [] if s is None else [correlate(s, y)]
    parts += [] if t is None else [correlate(x, t)]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _correlate_transpose(ct: Node, wanted: Any, x: Node, y: Node) -> tuple[Node | None, ...]:
    by_x = None
    if wanted[0]:
        last = ct.aval.ndim - 1
        ends = fill_node(aval_of((*ct.aval.shape[:-1], y.aval.shape[-1] - 1), ct.aval.dtype), 0)
        by_x = correlate(concat(ends, ct, ends, axis=last), flipped(y, last))
    return by_x, correlate(x, ct) if wanted[1] else None


# out[..., k] is the sum of x[..., k + j] * y[..., j]; the leading axes are equal.
correlate: Primitive = Primitive(
    "correlate", _correlate_aval, _correlate_host, jvp=_correlate_jvp, transpose=_correlate_transpose
)
