"""The methods of a program's classes that NumPy and Python call: they get and give what those take."""

from __future__ import annotations

import builtins
import typing
from abc import ABCMeta
from collections.abc import Callable
from functools import wraps
from typing import Any

from .._lazy.native import compiled
from .._namespace.core.array import Array
from .._namespace.interop.functions import ours

Method = Callable[..., Any]


def _giving(convert: Callable[[Array], Any]) -> Callable[[Method], Method]:
    """Let a method that returns an array of ours return what `convert` makes of it."""

    def adapt(method: Method) -> Method:
        @wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = method(*args, **kwargs)
            return convert(given) if type(given) is Array else given

        return call

    return adapt


def _asked(method: Method) -> Method:
    """Let a method that NumPy names one of its functions see the one that the program knows by that name."""

    @wraps(method)
    def call(self: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return method(self, ours(function), *args, **kwargs)

    return call


_ADAPTERS: dict[str, Callable[[Method], Method]] = {
    "__array__": _giving(Array.__array__),
    "__float__": _giving(float),
    "__complex__": _giving(complex),
    "__array_ufunc__": _asked,
    "__array_function__": _asked,
}


def checking(usual: Callable[[type, Any], bool]) -> Callable[[type, Any], bool]:
    """Return a method for an `__instancecheck__`, which asks about the class that an array says it has alone.

    The usual one asks about the class of our arrays besides, whose instances are `Iterable`, `Sized`, ..., as
    no scalar is. Protocols of `typing` ask for attributes.
    """

    def check(cls: type, thing: Any) -> bool:
        if getattr(cls, "_is_protocol", False):
            return usual(cls, thing)
        if type(thing) is Array and (kind := thing.__class__) is not Array:
            return cls.__subclasscheck__(kind)
        return usual(cls, thing)

    return check


# What `isinstance` asks: abstract classes, and the names for them in `typing`.
_alias: Any = typing.Iterable
_ASKED: tuple[Any, ...] = (ABCMeta, next(k for k in type(_alias).__mro__ if "__instancecheck__" in vars(k)))


class Classes:
    """While it is on, such methods are adapted in each class that a program's code makes."""

    def __init__(self, is_own: Callable[[dict[str, Any]], bool]) -> None:
        self._is_own = is_own
        self._build = builtins.__build_class__
        self._checks: list[Any] = []

    def on(self) -> None:
        """Begin."""
        self._build, builtins.__build_class__ = builtins.__build_class__, self._made
        self._checks = [vars(kind)["__instancecheck__"] for kind in _ASKED]
        for kind, usual in zip(_ASKED, self._checks, strict=True):
            check = checking(usual) if compiled is None else compiled.checking(usual)
            kind.__instancecheck__ = check

    def off(self) -> None:
        """End: classes made from now on are as they are written."""
        builtins.__build_class__ = self._build
        for kind, usual in zip(_ASKED, self._checks, strict=True):
            kind.__instancecheck__ = usual

    def _made(self, body: Callable[[], Any], name: str, /, *bases: Any, **options: Any) -> Any:
        made = self._build(body, name, *bases, **options)
        if isinstance(made, type) and self._is_own(body.__globals__):
            for method in _ADAPTERS.keys() & vars(made).keys():
                if callable(written := vars(made)[method]):  # None says that there is none
                    setattr(made, method, _ADAPTERS[method](written))
        return made
