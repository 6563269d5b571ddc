"""Runs of a function that stand for many, which must not write to what the function captures.

Arrays of ours know where they were made (`_lazy.scopes`). NumPy's are looked for, and read-only meanwhile.
"""

from __future__ import annotations

import functools
import gc
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from traceback import walk_tb
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import TYPE_CHECKING, Any

import numpy as np

from .._lazy.graph.node import is_ours, user_line
from .._lazy.graph.scopes import Scope
from .._namespace.core.array import Array

if TYPE_CHECKING:
    from typing import Self

# How far NumPy's arrays are looked for: so many steps from the function, so many objects.
_DEPTH, _MOST = 8, 1000
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_READ_ONLY = re.compile("read-?only|not writ|writeable|writable", re.IGNORECASE)


class Capturing(Scope):
    """A scope for what functions do, or other objects, which they are given.

    Whoever is about to write to what they capture leaves it at once, before anything changes.
    """

    def __init__(self, *functions: Any) -> None:
        super().__init__()
        self._functions = functions

    def __enter__(self) -> Self:
        arrays = _arrays_of(self._functions)
        self._held = _hold(arrays) if arrays else arrays
        return super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> bool:
        if self._held:
            _release(self._held)
        if isinstance(error, Exception) and not self.line and _READ_ONLY.search(str(error)):
            self.line = _line(error)
        return super().__exit__(kind, error, _)


def _line(error: Exception) -> str:
    """Return the innermost line, outside of this package, that an error passed."""
    passed = [(f.f_code.co_filename, n) for f, n in walk_tb(error.__traceback__) if not is_ours(f)]
    return "{}:{}".format(*passed[-1]) if passed else user_line()


# -- NumPy's arrays, found -----------------------------------------------------------------------------

# What holds no array, is not looked into, or is ours.
_SKIPPED = frozenset(
    {
        *(int, float, complex, bool, str, bytes, type(None), type(...), slice, Array),
        *(np.ufunc, ModuleType, BuiltinFunctionType, MemberDescriptorType, GetSetDescriptorType),
    }
)
_LIBRARIES = (os.path.dirname(os.__file__) + os.sep, _PACKAGE, "<frozen")


@functools.lru_cache(4096)
def _is_library(file: str) -> bool:
    return file.startswith(_LIBRARIES) or "site-packages" in file or "dist-packages" in file


_CONTAINERS = (dict, tuple, list, set, frozenset, deque)
# What calls something else.
_WRAPPERS = (MethodType, functools.partial, property, staticmethod, classmethod)


def _arrays_of(objects: Iterable[Any]) -> list[np.ndarray]:
    """Return NumPy's arrays that can be reached from objects without running code of theirs."""
    found: list[np.ndarray] = []
    seen: dict[int, Any] = {}  # which it keeps alive, so that ids stay theirs
    there: Iterable[Any] = objects
    for _ in range(_DEPTH):
        below: list[Any] = []
        for x in there:
            kind: Any = type(x)
            look = _look_into(kind)
            if look is None or id(x) in seen:
                continue
            seen[id(x)] = x
            if look is _array:
                found.append(x)
            else:
                below += look(x)
        if not below or len(seen) > _MOST:
            break
        there = below
    return found


_Look = Callable[[Any], Iterable[Any]]


@functools.lru_cache(4096)
def _look_into(kind: Any) -> _Look | None:
    """Return what gives the objects that one of a class holds; None for what holds none, or is ours."""
    if kind in _SKIPPED:
        return None
    if kind is FunctionType:
        return _of_function
    if issubclass(kind, np.ndarray):
        return _array
    if issubclass(kind, type):
        return _of_class
    for base in _CONTAINERS:
        if issubclass(kind, base):
            return _of_dict if base is dict else functools.partial(_of_container, base)
    if kind in _WRAPPERS or _is_users(kind):
        return _of_object
    return _of_librarys if kind.__dictoffset__ else None


def _array(x: np.ndarray) -> Iterable[Any]:
    """Stand for what is looked for."""
    return ()


def _of_class(x: type) -> Iterable[Any]:
    return [y for c in x.__mro__ for y in vars(c).values()] if _is_users(x) else ()


def _of_dict(x: dict[Any, Any]) -> Iterable[Any]:
    return islice(dict.values(x), _MOST)


def _of_container(base: Any, x: Iterable[Any]) -> Iterable[Any]:
    return islice(base.__iter__(x), _MOST)


def _of_object(x: Any) -> list[Any]:
    below: list[Any] = []
    for y in gc.get_referents(x):
        if type(y) is dict:
            below += islice(y.values(), _MOST)
        else:
            below.append(y)
    return below


def _of_librarys(x: Any) -> list[Any]:
    """Return what an object of a library's calls: it has nothing of its own."""
    own = object.__getattribute__(x, "__dict__")
    return [own.get(name) for name in ("__wrapped__", "fun", "func", "pyfunc")]


def _of_function(function: FunctionType) -> list[Any]:
    """Return what a function captures, and what it looks up."""
    below = gc.get_referents(*function.__closure__) if function.__closure__ else []
    if function.__defaults__:
        below += function.__defaults__
    if function.__kwdefaults__:
        below += function.__kwdefaults__.values()
    if function.__dict__:
        below += function.__dict__.values()
    names, scope = _names(function.__code__), function.__globals__
    for name in names:
        x = scope.get(name)
        if x is None:
            continue
        if type(x) is not ModuleType:
            below.append(x)
        elif not _is_library(getattr(x, "__file__", None) or "<frozen"):  # of the user's: what is taken of it
            below += [vars(x)[n] for n in names if n in vars(x)]
    return below


@functools.lru_cache(4096)
def _names(code: CodeType) -> tuple[str, ...]:
    """Return the names that code, and functions in it, may look up outside; none for a library's."""
    if _is_library(code.co_filename):
        return ()
    inner = [n for c in code.co_consts if isinstance(c, CodeType) for n in _names(c)]
    return tuple(dict.fromkeys([*code.co_names, *inner]))


@functools.lru_cache(1024)
def _is_users(kind: type) -> bool:
    """Say whether a class is of no library."""
    if kind.__module__ == "__main__" or kind is SimpleNamespace:
        return True
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is not None and not _is_library(file)


# -- and held ------------------------------------------------------------------------------------------

# By id the arrays that are read-only because of runs, and how many runs these are.
_held: dict[int, tuple[np.ndarray, int]] = {}
_lock = threading.Lock()


def _hold(arrays: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Let nobody write to arrays; returns those that `_release` is to be given."""
    taken = []
    with _lock:
        for x in arrays:
            if id(x) in _held or (x.flags.writeable and _can_be_released(x)):
                x.flags.writeable = False
                _held[id(x)] = x, _held.get(id(x), (x, 0))[1] + 1
                taken.append(x)
    return taken


def _can_be_released(x: np.ndarray) -> bool:
    """Say whether NumPy lets an array be writeable again: its memory must be known to be."""
    base: Any = x
    while isinstance(base, np.ndarray):
        if base is not x and (base.flags.writeable or id(base) in _held):
            return True
        if base.flags.owndata:
            return base is x
        base = base.base
    try:
        return not memoryview(base).readonly
    except TypeError:
        return False


def _release(arrays: Iterable[np.ndarray]) -> None:
    with _lock:
        for x in arrays:
            _held[id(x)] = x, _held[id(x)][1] - 1
        # A view can be written to again when what it is a view of can, which another run may still hold.
        while any([_set_back(x) for x, users in list(_held.values()) if not users]):
            pass


def _set_back(x: np.ndarray) -> bool:
    try:
        x.flags.writeable = True
    except ValueError:
        return False
    del _held[id(x)]
    return True
