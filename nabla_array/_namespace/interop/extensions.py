"""Extension modules of libraries that no row knows, where these use NumPy's C API.

Such code reads memory, asks our arrays for no protocol, and may write to what it is given. So a door stands
in front of each function that it has, and of each method of its classes where these let one in (pybind11's
do, Cython's do not): it is handed NumPy's array on the memory of ours.
"""

from __future__ import annotations

from functools import update_wrapper
from mmap import ACCESS_READ, mmap
from types import ModuleType
from typing import Any

from .doors import door, is_compiled, put_in, shared

# The capsule that all code written for NumPy's C API looks up: in C, Cython, pybind11, SWIG.
_CAPSULE = b"_ARRAY_API"


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


def _uses_numpy(file: str) -> bool:
    """Say whether a shared library has been written for NumPy's C API."""
    with open(file, "rb") as library, mmap(library.fileno(), 0, access=ACCESS_READ) as content:
        return content.find(_CAPSULE) >= 0


def open_doors(module: ModuleType) -> None:
    """Put a door in front of the compiled functions, and methods, of an extension module."""
    file = getattr(module, "__file__", None)
    if file is None or not _uses_numpy(file):
        return
    own = {k: v for k, v in vars(module).items() if not k.startswith("__")}
    put_in(module, {name: Compiled(value) for name, value in own.items() if is_compiled(value)})
    for kind in own.values():
        for name, method in list(vars(kind).items()) if isinstance(kind, type) else ():
            if type(method).__name__ == "instancemethod":  # pybind11's
                setattr(kind, name, door(getattr(kind, name), shared))
