"""`ndarray`: the class that scripts ask about, ours and NumPy's."""

from __future__ import annotations

from abc import ABCMeta
from functools import lru_cache, partial, wraps
from types import GenericAlias
from typing import Any

import numpy as np

from ..chapters.filling import empty
from ..core.array import Array, is_scalar
from ..core.views import held_dtype, memory
from ..dispatch import fastpath
from ..dispatch.docstrings import NUMPYS, refer
from ..interop.functions import host_call, numpys, to_host
from ..interop.policies import program_hook

__all__ = ["ndarray"]


class _Base(np.ndarray):
    """What a subclass of `ndarray` derives from: NumPy's class, which takes `ndarray` for itself."""

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """Return the same memory as another dtype, or as another class."""
        plain = [_numpys_class(x) for x in args]
        return super().view(*plain, **{k: _numpys_class(x) for k, x in kwargs.items()})


_Base.__name__ = _Base.__qualname__ = "ndarray"


class _Ufuncs(_Base):
    """The same for a subclass that overrides ufuncs: it may call its parent's `__array_ufunc__` with ours."""

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any) -> Any:
        theirs: Any = numpys(ufunc)
        parent = partial(super().__array_ufunc__, theirs, method)
        if Array in map(type, inputs) or Array in map(type, kwargs.get("out") or ()):
            return host_call(parent, ufunc.__name__, inputs, kwargs)
        return parent(*inputs, **kwargs)


class _Functions(_Base):
    """The same for a subclass that overrides NumPy's functions."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        theirs, others = numpys(function), [kind for kind in types if kind is not Array]
        args, kwargs = to_host(function.__name__, args), to_host(function.__name__, kwargs)
        return super().__array_function__(theirs, others, args, kwargs)


_OVERRIDES = {"__array_ufunc__": _Ufuncs, "__array_function__": _Functions}


def _numpys_class(x: Any) -> Any:
    return np.ndarray if x is Array or isinstance(x, _Arrays) else x


@lru_cache(None)
def _method(name: str) -> Any:
    """Return what `ndarray` has of this name: a method is that of the array's own class, ours or NumPy's."""
    ours, theirs = getattr(Array, name, None), getattr(np.ndarray, name)
    if ours is None or not callable(ours):
        return theirs if ours is None else ours

    @wraps(theirs)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return (theirs if isinstance(self, np.ndarray) else ours)(self, *args, **kwargs)

    return call


class _Arrays(ABCMeta):
    """Lets a class stand for `Array` and for `numpy.ndarray`; it may be derived from beside an `abc.ABC`."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, namespace)
        others = [base for base in bases if not isinstance(base, _Arrays)]
        parents = [
            parent
            for method, parent in _OVERRIDES.items()
            if method in namespace or any(hasattr(base, method) for base in others)
        ]
        theirs: list[type] = []  # a subclass holds memory as NumPy's do
        for base in bases:
            theirs += (parents or [_Base]) if isinstance(base, _Arrays) else [base]
        return type(name, tuple(theirs), namespace, **options)

    def __instancecheck__(cls, thing: Any) -> bool:
        if type(thing) is Array:  # a program under the runner takes what has no axes for NumPy's scalars
            return not (program_hook and is_scalar(thing))
        return isinstance(thing, np.ndarray)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, Array | np.ndarray)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is Array or other is np.ndarray

    def __hash__(cls) -> int:
        return hash(Array)

    def __getattr__(cls, name: str) -> Any:
        return _method(name) if hasattr(np.ndarray, name) else getattr(Array, name)

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


_Arrays.__instancecheck__ = fastpath.wrap("instance", _Arrays.__instancecheck__, "ndarray")  # type: ignore[method-assign]


class ndarray(metaclass=_Arrays):
    """The class of arrays, ours and NumPy's: for `isinstance`, annotations and its methods.

    Called, it makes an array of any elements, as NumPy's does; over a `buffer` that is NumPy's own array,
    which shares that memory. A subclass of it is one of NumPy's.

    >>> isinstance(xp.ones(3), xp.ndarray), xp.ndarray((2, 3)).shape
    (True, (2, 3))
    """

    def __class_getitem__(cls, kinds: Any) -> GenericAlias:
        return GenericAlias(cls, kinds)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an array, or one of a subclass, which calls this."""
        kind: Any = cls
        return ndarray(*args, **kwargs) if kind is ndarray else np.ndarray.__new__(kind, *args, **kwargs)


# What every class has, and `ndarray` would find in `object`.
for _name in ("__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__ne__", "__repr__", "__str__"):
    setattr(ndarray, _name, _method(_name))

refer(ndarray, f"{NUMPYS}numpy.ndarray.html")
