"""Runs of a function that stand for many, which must not write to what the function captures.

Who made an array of ours is known (`_lazy.scopes`); NumPy's arrays are looked for, and are read-only meanwhile.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import sysconfig
import threading
import traceback
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .._lazy.scopes import Scope, scope
from .._namespace.array import Array

# How far NumPy's arrays are looked for: so many steps from the function, so many objects.
_DEPTH, _MOST = 8, 1000
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_READ_ONLY = re.compile("read-?only|not writ|writeable|writable", re.IGNORECASE)


@contextmanager
def capturing(*functions: Any) -> Iterator[Scope]:
    """Run a scope for what functions do (or other objects, which they are given).

    Whoever is about to write to what they capture leaves it at once, before anything changes: `line` is set then.
    """
    with scope() as found:
        held = _hold(_arrays_of(functions))
        try:
            yield found
        except Exception as error:
            if not found.line and _READ_ONLY.search(str(error)):
                found.line = _line(error)
            raise
        finally:
            _release(held)


def _line(error: Exception) -> str:
    """Return the innermost line, outside of this package, that an error passed."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    file, line = next(f for f in reversed(frames) if not f[0].startswith(_PACKAGE))
    return f"{file}:{line}"


# -- NumPy's arrays, found -----------------------------------------------------------------------------

# What holds no array, is not looked into, or is ours.
_SKIPPED = frozenset(
    {int, float, complex, bool, str, bytes, type(None), type(...), slice, type, np.ufunc, BuiltinFunctionType, Array}
)
_paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
_LIBRARIES = (*_paths, _PACKAGE, "<frozen")


def _is_library(file: str) -> bool:
    return file.startswith(_LIBRARIES) or "site-packages" in file


def _arrays_of(objects: Iterable[Any]) -> list[np.ndarray]:
    """Return NumPy's arrays that can be reached from objects without running code of theirs."""
    found: list[np.ndarray] = []
    seen: dict[int, Any] = {}  # which it keeps alive, so that ids stay theirs
    there: Iterable[Any] = objects
    for _ in range(_DEPTH):
        below: list[Any] = []
        for x in there:
            kind = type(x)
            if kind in _SKIPPED or id(x) in seen:
                continue
            seen[id(x)] = x
            if isinstance(x, np.ndarray):
                found.append(x)
            elif kind is FunctionType:
                _of_function(x, below)
            elif isinstance(x, dict):
                below.extend(islice(x.values(), _MOST))
            elif isinstance(x, tuple | list | set | frozenset | deque):
                below.extend(islice(x, _MOST))
            else:
                _of_object(x, kind, below)
        if not below or len(seen) > _MOST:
            break
        there = below
    return found


def _of_function(function: FunctionType, below: list[Any]) -> None:
    for cell in function.__closure__ or ():
        try:
            below.append(cell.cell_contents)
        except ValueError:  # not yet, or no longer
            continue
    if function.__defaults__:
        below.extend(function.__defaults__)
    if function.__kwdefaults__:
        below.extend(function.__kwdefaults__.values())
    if function.__dict__:
        below.extend(function.__dict__.values())
    names, scope = _names(function.__code__), function.__globals__
    for name in names:
        x = scope.get(name)
        if type(x) is not ModuleType:
            below.append(x)
        elif not _is_library(getattr(x, "__file__", None) or "<frozen"):  # of the user's: what is taken of it
            below.extend([vars(x)[n] for n in names if n in vars(x)])


@functools.lru_cache(4096)
def _names(code: CodeType) -> tuple[str, ...]:
    """Return the names that code, and functions in it, may look up outside; those of a library are its own."""
    if _is_library(code.co_filename):
        return ()
    inner = [n for c in code.co_consts if isinstance(c, CodeType) for n in _names(c)]
    return tuple(dict.fromkeys([*code.co_names, *inner]))


def _of_object(x: Any, kind: type, below: list[Any]) -> None:
    if kind is MethodType:
        below.extend((x.__func__, x.__self__))
        return
    if isinstance(x, functools.partial):
        below.extend((x.func, x.args, x.keywords))
    of_its_own = getattr(x, "__dict__", None) if kind.__dictoffset__ else None
    if _is_users(kind):
        below.append(kind.__dict__.get("__call__"))
        below.extend([getattr(x, name, None) for name in _slots(kind)])
        if of_its_own:
            below.extend(of_its_own.values())
    elif of_its_own:  # a library's: what it calls, nothing of its own
        below.extend([of_its_own.get(name) for name in ("__wrapped__", "fun", "func", "pyfunc")])


@functools.lru_cache(1024)
def _is_users(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None) or ("" if kind.__module__ == "__main__" else "<frozen")
    return kind is SimpleNamespace or not _is_library(file)


@functools.lru_cache(1024)
def _slots(kind: type) -> list[str]:
    slots = [vars(c).get("__slots__", ()) for c in kind.__mro__]
    return [name for some in slots for name in ((some,) if isinstance(some, str) else some)]


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
