"""Reads and writes at indices that are data."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.aval import Aval, aval_of
from ..graph.node import Node, leaf
from ..graph.primitive import Dims, Primitive
from . import machine as mc
from .creation import fill_like, fill_node
from .elementwise import eq, select


def _batched(
    x: np.ndarray, indices: tuple[np.ndarray, ...], axes: tuple[int, ...], batch: int
) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Return x with its batch axes and the indexed `axes` in front, and a NumPy key for them."""
    rest = [a for a in range(batch, x.ndim) if a not in axes]
    moved = x.transpose((*range(batch), *axes, *rest))
    if batch == 0:
        return moved, indices
    ndim = indices[0].ndim
    grid = [np.arange(x.shape[b]).reshape([-1 if i == b else 1 for i in range(ndim)]) for b in range(batch)]
    return moved, (*grid, *indices)


def _gather_aval(x: Aval, *indices: Aval, axes: tuple[int, ...], batch: int) -> Aval:
    rest = tuple(n for a, n in enumerate(x.shape) if a >= batch and a not in axes)
    return aval_of(indices[0].shape + rest, x.dtype)


def _gather_host(x: np.ndarray, *indices: np.ndarray, axes: tuple[int, ...], batch: int) -> np.ndarray:
    if axes == (0,) and batch == 0 and x.flags.c_contiguous:
        return np.take(x, indices[0], 0)  # which copies rows whole
    moved, key = _batched(x, indices, axes, batch)
    return np.asarray(moved[key])


def _labels(x: Aval, index: Aval, axes: tuple[int, ...], batch: int) -> Dims:
    """Label an array whose indexed axes are needed whole, the indices, and what is found there."""
    own = (*range(batch), *range(x.ndim, x.ndim + index.ndim - batch))
    rest = [a for a in range(batch, x.ndim) if a not in axes]
    return tuple(-1 - a if a in axes else a for a in range(x.ndim)), own, (*own, *rest)


def _gather_dims(x: Aval, *indices: Aval, axes: tuple[int, ...], batch: int) -> Dims:
    array, own, result = _labels(x, indices[0], axes, batch)
    return array, *[own] * len(indices), result


def _scatter_dims(x: Aval, value: Aval, *indices: Aval, axes: tuple[int, ...], batch: int, mode: str) -> Dims:
    """Whoever writes to a place has to know all that is written there, in order."""
    array, own, found = (
        tuple(-1 - f if f >= x.ndim else f for f in row) for row in _labels(x, indices[0], axes, batch)
    )
    return array, found, *[own] * len(indices), array


def _more_batch(params: dict[str, Any], size: int) -> dict[str, Any]:
    return {**params, "axes": tuple(a + 1 for a in params["axes"]), "batch": params["batch"] + 1}


# Element x[..., i, ..., j, ...] for the index arrays i, j, ... on `axes`. The indices have one shape,
# begin with the `batch` leading axes of x, may be negative as in NumPy, and must be in bounds. The
# result has the indices' axes first, then the axes of x that are not indexed.
def _gather_mixed(operands: Any, batched: Any, lead: Any, **params: Any) -> Node | None:
    """Indices may have any axes: all examples read the one array."""
    whole = not batched[0] and not params["batch"] and all(batched[1:])
    return gather(*operands, **params) if whole else None


gather: Primitive = Primitive(
    "gather",
    _gather_aval,
    _gather_host,
    batch=_more_batch,
    dims=_gather_dims,
    by_rows=True,
    mixed=_gather_mixed,
    transpose=lambda ct, wanted, x, *indices, **params: (
        scatter(fill_like(x, 0), ct, *indices, mode="add", **params),
        *[None] * len(indices),
    ),
    picks=True,
    llvm=mc.gather,
    put=lambda apply, old, new, *indices, **params: apply(scatter, old, new, *indices, **params, mode="set"),
)


def _scatter_aval(x: Aval, value: Aval, *indices: Aval, axes: tuple[int, ...], batch: int, mode: str) -> Aval:
    wanted = _gather_aval(x, *indices, axes=axes, batch=batch)
    if value is not wanted:
        raise ValueError(f"scatter: the value is {value}, not {wanted}")
    return x


_AT = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _scatter_inplace(
    x: np.ndarray,
    value: np.ndarray,
    *indices: np.ndarray,
    axes: tuple[int, ...],
    batch: int,
    mode: str,
) -> np.ndarray:
    moved, key = _batched(x, indices, axes, batch)
    if mode == "set":
        moved[key] = value
    else:
        _AT[mode].at(moved, key, value)
    return x


def _check_mode(mode: str) -> None:
    if mode not in ("set", "add"):
        raise NotImplementedError(
            f"scatter: no derivative is known of mode {mode!r}; those of 'set' and 'add' are"
        )


def _scatter_jvp(
    tangents: Any, out: Node, x: Node, value: Node, *indices: Node, mode: str, **params: Any
) -> Node:
    _check_mode(mode)
    s, t = (fill_like(n, 0) if d is None else d for d, n in zip(tangents, (x, value), strict=False))
    return scatter(s, t, *indices, mode=mode, **params)


def _scatter_transpose(
    ct: Node, wanted: Any, x: Node, value: Node, *indices: Node, mode: str, **params: Any
) -> tuple[Node | None, ...]:
    """Both operands get what they became part of: where several values met with "set", the last only."""
    _check_mode(mode)
    by_x, by_value = ct if wanted[0] else None, gather(ct, *indices, **params) if wanted[1] else None
    if mode == "set":
        zero = fill_like(value, 0)
        if by_x is not None:
            by_x = scatter(ct, zero, *indices, mode=mode, **params)
        if by_value is not None:
            number = leaf(np.arange(value.aval.size).reshape(value.aval.shape))
            nobody = fill_node(aval_of(x.aval.shape, number.aval.dtype), 0)
            winner = gather(scatter(nobody, number, *indices, mode=mode, **params), *indices, **params)
            by_value = select(eq(winner, number), by_value, zero)
    return by_x, by_value, *[None] * len(indices)


# The transpose of gather (mode "add"), and NumPy's item assignment (mode "set": the last one wins).
scatter: Primitive = Primitive(
    "scatter",
    _scatter_aval,
    lambda x, *rest, **params: _scatter_inplace(x.copy(), *rest, **params),
    batch=_more_batch,
    dims=_scatter_dims,
    inplace=_scatter_inplace,
    llvm=mc.scatter,
    jvp=_scatter_jvp,
    transpose=_scatter_transpose,
)
