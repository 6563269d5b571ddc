"""Extension modules of libraries that no row knows, where these use NumPy's C API, or Boost.Python.

Such code reads memory, asks our arrays for no protocol, and may write to what it is given. So a door stands
in front of each function that it has, and of each method of its classes where these let one in (pybind11's
and Boost's do, Cython's do not): it is handed NumPy's array on the memory of ours, or NumPy's scalar.
"""

from __future__ import annotations

from contextlib import suppress
from functools import update_wrapper
from mmap import ACCESS_READ, mmap
from types import ModuleType
from typing import Any

from .doors import door, is_compiled, put_in, shared
from .imports import LEFT

# What code for NumPy's C API looks up, in C, Cython, pybind11 or SWIG; the name of Boost's library.
_SIGNS = (b"_ARRAY_API", b"boost_python")


class Compiled:
    """A compiled function behind a door, with all its attributes; like it, no method where a class has it."""

    __wrapped__: Any

    def __init__(self, function: Any) -> None:
        self._call = door(function, shared)
        update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function with NumPy's arrays for ours."""
        return self._call(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["__wrapped__"], name)

    def __getitem__(self, key: Any) -> Any:
        """Return the function for one combination of dtypes, which Cython has by its name."""
        return Compiled(self.__wrapped__[key])

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> str:
        return str(self.__qualname__)


def _takes_numpys(file: str) -> bool:
    """Say whether a shared library takes NumPy's arrays, or numbers, and no others."""
    with open(file, "rb") as library, mmap(library.fileno(), 0, access=ACCESS_READ) as content:
        return any(content.find(sign) >= 0 for sign in _SIGNS)


def _is_method(value: object) -> bool:
    """Say whether this is a function of pybind11's in a class, or one of Boost's anywhere."""
    names = (type(value).__module__, type(value).__name__)
    return names in (("builtins", "instancemethod"), ("Boost.Python", "function"))


def _is_own(function: Any) -> bool:
    """Say whether a function is not one that the module took from where nothing is to be changed."""
    return (getattr(function, "__module__", None) or "").partition(".")[0] not in LEFT


def open_doors(module: ModuleType) -> None:
    """Put a door in front of the compiled functions, and methods, of an extension module."""
    file = getattr(module, "__file__", None)
    if file is None or not _takes_numpys(file):
        return
    names = {k: v for k, v in vars(module).items() if not k.startswith("__")}
    functions = {k: v for k, v in names.items() if is_compiled(v) or _is_method(v)}
    put_in(module, {k: Compiled(v) for k, v in functions.items() if _is_own(v)})
    for kind in names.values():
        for name, method in list(vars(kind).items()) if isinstance(kind, type) else ():
            if _is_method(method):
                with suppress(AttributeError, TypeError):  # of a class that nobody may change
                    setattr(kind, name, door(getattr(kind, name), shared))
