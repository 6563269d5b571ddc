"""`ndarray`: the class that scripts ask about, ours and NumPy's."""

from __future__ import annotations

from types import GenericAlias
from typing import Any

import numpy as np

from ..chapters.filling import empty
from ..core.array import Array
from ..core.views import held_dtype, memory
from ..dispatch.docstrings import NUMPYS, refer
from ..interop.policies import program_hook

__all__ = ["ndarray"]


class _Arrays(type):
    """Lets a class stand for `Array` and for `numpy.ndarray`."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        if bases:  # a subclass holds memory as NumPy's do
            theirs = tuple(np.ndarray if isinstance(base, _Arrays) else base for base in bases)
            return type(name, theirs, namespace)
        return super().__new__(cls, name, bases, namespace)

    def __instancecheck__(cls, thing: Any) -> bool:
        if type(thing) is Array:  # a program under the runner takes what has no axes for NumPy's scalars
            return not program_hook or thing.ndim > 0
        return isinstance(thing, np.ndarray)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, Array | np.ndarray)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is Array or other is np.ndarray

    def __hash__(cls) -> int:
        return hash(Array)

    def __getattr__(cls, name: str) -> Any:
        return getattr(Array, name)

    def __dir__(cls) -> list[str]:
        return dir(Array)

    def __call__(
        cls,
        shape: Any,
        dtype: Any = float,
        buffer: Any = None,
        offset: int = 0,
        strides: Any = None,
        order: Any = None,
    ) -> Any:
        if buffer is None and strides is None and held_dtype(dtype) is not None:
            return empty(shape, dtype)
        if type(buffer) is Array:
            buffer = memory(buffer)
        return np.ndarray(shape, dtype, buffer, offset, strides, order)


class ndarray(metaclass=_Arrays):
    """The class of arrays, ours and NumPy's: for `isinstance`, annotations and its methods.

    Called, it makes an array of any elements, as NumPy's does; over a `buffer` that is NumPy's own array,
    which shares that memory. A subclass of it is one of NumPy's.

    >>> isinstance(xp.ones(3), xp.ndarray), xp.ndarray((2, 3)).shape
    (True, (2, 3))
    """

    def __class_getitem__(cls, kinds: Any) -> GenericAlias:
        return GenericAlias(cls, kinds)


refer(ndarray, f"{NUMPYS}numpy.ndarray.html")
