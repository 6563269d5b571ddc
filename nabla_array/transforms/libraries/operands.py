"""What the rules for other libraries' functions have in common: operands, values, linear maps on the host.

Rules call NumPy's functions, which are ours for our arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._lazy.graph.aval import Aval, aval_of
from ..._lazy.graph.node import Node
from ..._lazy.graph.primitive import Primitive
from ..._namespace.core.array import Array, apply
from ..._namespace.core.promotion import as_array
from ..custom import stop_gradient
from .tracking import is_tracked

Function = Callable[[np.ndarray], Any]


def array(x: Any) -> Any:
    """Return an operand as an array; lists and tuples may hold arrays."""
    if type(x) in (list, tuple) and is_tracked(x):
        return array(np.stack([array(part) for part in x]))
    return as_array("asarray", x)


def plain(x: Any) -> Any:
    """Return the value of an operand as NumPy's, a constant for derivatives."""
    if type(x) is Array:
        return np.asarray(stop_gradient(x))
    if type(x) in (list, tuple) and is_tracked(x):
        return type(x)(map(plain, x))
    return x


# -- windows -------------------------------------------------------------------------------------------


def padded(x: Any, width: Sequence[tuple[int, int]], mode: str, value: Any) -> Any:
    if mode == "constant":
        return array(np.pad(x - value, width) + value) if np.any(value) else array(np.pad(x, width))
    found: Any = np.pad(x, width, mode=mode)  # type: ignore[call-overload]
    return found


def windowed(x: Any, w: Any, places: Sequence[int]) -> Any:
    """Return the sums over all windows of `x`, weighted by `w` along some axes."""
    for a, k in reversed([*zip(places, w.shape, strict=True)]):
        index = np.arange(x.shape[a] - k + 1)[:, None] + np.arange(k)
        x = array(np.moveaxis(np.take(x, index, axis=a), a + 1, -1))  # the last axis's window comes first
    last = [*range(x.ndim - len(places), x.ndim)]
    return np.tensordot(x, w, axes=(last[::-1], [*range(len(places))]))


# -- linear maps ---------------------------------------------------------------------------------------

# So many vectors of a basis are mapped at a time, where a transpose is made of a map.
_AT_ONCE = 1024


@dataclass(eq=False)
class LinearMap:
    """A linear map of vectors, by a function of NumPy arrays that maps those along the last axis."""

    forward: Function
    # The lengths and the dtypes of a vector and of what it is mapped to.
    n: int
    m: int
    dtypes: tuple[np.dtype, np.dtype]
    # What maps by the transpose; without it, the map is applied to a basis.
    backward: Function | None = None
    _matrix: np.ndarray | None = field(default=None, init=False)

    @property
    def transposed(self) -> LinearMap:
        return LinearMap(self._back, self.m, self.n, self.dtypes[::-1], self.forward)

    def _back(self, ct: np.ndarray) -> np.ndarray:
        if self.backward is not None:
            return self._real(np.asarray(self.backward(ct)))
        out = np.empty((*ct.shape[:-1], self.n), self.dtypes[0])
        for start in range(0, self.n, _AT_ONCE):
            stop = min(start + _AT_ONCE, self.n)
            out[..., start:stop] = self._real(ct @ self._rows(start, stop).T)
        return out

    def _real(self, found: np.ndarray) -> np.ndarray:
        """Return cotangents of real vectors as real numbers."""
        return found.real if self.dtypes[0].kind == "f" else found

    def _rows(self, start: int, stop: int) -> np.ndarray:
        """Return what some vectors of the basis are mapped to, a row each."""
        if self._matrix is not None:
            return self._matrix
        rows = np.asarray(self.forward(np.eye(stop - start, self.n, start, self.dtypes[0])))
        if stop - start == self.n:
            self._matrix = rows
        return rows


def _aval(x: Aval, map: LinearMap) -> Aval:
    return aval_of((*x.shape[:-1], map.m), map.dtypes[1])


def _transpose(ct: Node, wanted: Any, x: Node, map: LinearMap) -> tuple[Node]:
    return (linear_map(ct, map=map.transposed),)


linear_map = Primitive(
    "linear_map",
    _aval,
    lambda x, map: np.asarray(map.forward(x)).astype(map.dtypes[1], copy=False),
    transpose=_transpose,
)


def mapped(forward: Function, x: Any, axis: int = -1, backward: Function | None = None) -> Any:
    """Map the vectors along an axis by a function of NumPy arrays, which maps those along the last.

    It is linear, but for a vector that it adds. `backward` maps by the transpose; without it, the function is
    applied to each vector of a basis.
    """
    n = x.shape[axis]
    added = np.asarray(forward(np.zeros((1, n), x.dtype)))
    if added.any():
        whole = mapped(lambda v: np.asarray(forward(v)) - added[0], x, axis, backward)
        shape = [1] * x.ndim
        shape[axis] = -1
        return whole + added.reshape(shape)
    made = LinearMap(forward, n, added.shape[-1], (x.dtype, added.dtype), backward)
    image: Any = apply(linear_map, array(np.moveaxis(x, axis, -1)), map=made)
    return np.moveaxis(image, -1, axis)
