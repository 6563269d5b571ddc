"""`x.flat`: the elements of an array in a row, to be read, written and iterated over."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._lazy.ops.structure import reshape
from ..core.array import Array, apply, check_writable, rewrite, view
from ..core.indexing import as_written
from ..core.promotion import SCALARS, astype
from ..core.views import aliases


class FlatIterator:
    """The elements of an array in C order: an iterator that can be indexed and assigned to, as NumPy's."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, x: Array) -> None:
        self._x = x
        self._next = 0
        self._row: Array | None = None  # a view in one axis where there can be one, once somebody iterates

    @property
    def base(self) -> Array:
        """The array."""
        return self._x

    @property
    def index(self) -> int:
        """The place in the row of the next element."""
        return self._next

    @property
    def coords(self) -> tuple[int, ...]:
        """The indices of the next element in the array."""
        return _place(self._next, self._x.shape)

    def copy(self) -> Array:
        """Return the elements in an array with one axis."""
        return apply(reshape, self._x, shape=(self._x.size,)).copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.copy().__array__(dtype, copy)

    def __len__(self) -> int:
        return self._x.size

    def __iter__(self) -> FlatIterator:
        return self

    def __next__(self) -> Array:
        if self._next >= self._x.size:
            raise StopIteration
        if self._next == 0 and self._row is None and aliases(self._x, (self._x.size,)):
            self._row = view(self._x, reshape, shape=(self._x.size,))
        found = self._x[self.coords] if self._row is None else self._row[self._next]
        self._next += 1
        return found

    def __getitem__(self, key: Any) -> Array:
        self._next = 0
        if type(key) is int and -self._x.size <= key < self._x.size:
            return self._x[_place(key % self._x.size, self._x.shape)]
        return self.copy()[_places(key, self._x.size)]

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write to elements; values are repeated as often as needed, and what is too many is left out."""
        check_writable(self._x)
        if type(key) is tuple and not key:
            raise IndexError("flat: Assigning to a flat iterator with a 0-D index is not supported")
        self._next = 0
        n = self._x.size
        if type(key) is int and -n <= key < n and type(value) in SCALARS:
            self._x[_place(key % n, self._x.shape)] = value
            return
        key = _places(key, n)
        new = value if type(value) in SCALARS else as_written("flat", value, self._x.dtype)
        if type(new) is Array:
            places = np.arange(n)[key]
            if np.ndim(places) == 0 and new.ndim:
                raise ValueError("Error setting single item of array.")
            if new.size == 0:
                return
            new = apply(reshape, new, shape=(new.size,))[np.arange(places.size) % new.size]
            new = apply(reshape, astype(new, self._x.dtype), shape=np.shape(places))
        if aliases(self._x, (n,)):
            view(self._x, reshape, shape=(n,))[key] = new
            return

        def written() -> Array:
            row = self.copy()
            row[key] = new
            return apply(reshape, row, shape=self._x.shape)

        rewrite(self._x, written)

    def __delitem__(self, key: Any) -> None:
        raise TypeError("Cannot delete iterator elements")


def _places(key: Any, n: int) -> Any:
    """Return which of `n` elements a key means to NumPy's iterators, which take others than arrays do."""
    if type(key) in (int, slice) or key is Ellipsis:
        return key
    if type(key) is FlatIterator:
        key = key.__array__()
    return np.arange(n).flat[key._value() if type(key) is Array else key]


def _comparison(name: str) -> Callable[[FlatIterator, Any], Any]:
    compare = getattr(operator, name)
    return lambda self, other: compare(self.copy(), other)


for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(FlatIterator, _name, _comparison(_name))


def _place(i: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    out = []
    for n in reversed(shape):
        i, rest = divmod(i, n) if n else (0, 0)
        out.append(rest)
    return tuple(reversed(out))
