"""The bits of elements, read as elements of another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.aval import Aval, aval_of
from ..graph.node import Node
from ..graph.primitive import Primitive
from .elementwise import conj


def _aval(x: Aval, dtype: np.dtype) -> Aval:
    if x.dtype.itemsize == dtype.itemsize:
        return aval_of(x.shape, dtype)
    if not x.ndim or x.shape[-1] * x.dtype.itemsize % dtype.itemsize:
        raise ValueError(f"reinterpret: the last axis of {x} does not divide into elements of {dtype}")
    return aval_of((*x.shape[:-1], x.shape[-1] * x.dtype.itemsize // dtype.itemsize), dtype)


def _host(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if x.dtype.itemsize == dtype.itemsize or x.shape[-1] == 1 or x.strides[-1] == x.itemsize:
        return x.view(dtype)
    return np.ascontiguousarray(x).view(dtype)


def are_parts(a: np.dtype, b: np.dtype) -> bool:
    """Say whether one is complex and the other the dtype of its parts; other bits have no derivative."""
    return {a.kind, b.kind} == {"f", "c"} and a.type(0).real.dtype == b.type(0).real.dtype


def _jvp(tangents: Any, out: Node, x: Node, dtype: np.dtype) -> Node | None:
    return reinterpret(tangents[0], dtype=dtype) if are_parts(x.aval.dtype, dtype) else None


def _transpose(ct: Node, wanted: Any, x: Node, dtype: np.dtype) -> tuple[Node | None]:
    if not are_parts(x.aval.dtype, dtype):
        return (None,)
    # Cotangents pair with tangents as the real part of their product.
    back = reinterpret(conj(ct) if dtype.kind == "c" else ct, dtype=x.aval.dtype)
    return (conj(back) if dtype.kind == "f" else back,)


# With an itemsize that is not the operand's, the last axis holds more elements, or fewer.
reinterpret: Primitive = Primitive(
    "reinterpret",
    _aval,
    _host,
    jvp=_jvp,
    transpose=_transpose,
    put=lambda apply, old, new, dtype: apply(reinterpret, new, dtype=old.dtype),
)
