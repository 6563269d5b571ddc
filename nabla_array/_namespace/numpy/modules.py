"""NumPy's modules that we have no own for, under our name: `import nabla_array.polynomial` and the like."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ..._lazy.stats import stats
from ..core.array import Array
from ..core.views import memory
from ..dispatch.ufuncs import call_it
from ..interop.functions import on_host, to_host

_US = "nabla_array."
# They concern dtypes, files, text and errors, and compute nothing that we could.
_SHARED = {"core", "ctypeslib", "dtypes", "exceptions", "f2py", "testing", "typing"}
# What takes arrays as they come; NumPy's masked functions are objects, which see to it themselves.
_FUNCTIONS = (FunctionType, BuiltinFunctionType, type(np.sum), np.ufunc)


class NumpyModule(ModuleType):
    """A module of NumPy's: its functions run on the host; all else in it is NumPy's own."""

    def __init__(self, theirs: ModuleType, name: str) -> None:
        super().__init__(name, theirs.__doc__)
        self.__path__: list[str] = []  # what is in it, the finder finds
        self._theirs = theirs
        self._part = name.removeprefix(_US)
        self._computes = self._part.partition(".")[0] not in _SHARED

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._theirs, name)
        if name.startswith("__"):
            return found
        if inspect.ismodule(found):
            inside = found.__name__ == f"{self._theirs.__name__}.{name}"
            found = import_module(f"{self.__name__}.{name}") if inside else found
        elif isinstance(found, _FUNCTIONS):
            found = (on_host if self._computes else _uncounted)(found, f"{self._part}.{name}")
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return dir(self._theirs)


def _uncounted(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that gets our arrays as NumPy's, unless it is to call another (`assert_raises`)."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and callable(args[0]):
            return function(*args, **kwargs)
        if name == "ctypeslib.as_ctypes":  # C may write to it
            args = tuple([memory(x) if type(x) is Array else x for x in args])
        return function(*to_host(name, args), **to_host(name, kwargs))

    return call_it(call, *f"{_US}{name}".rsplit(".", 1))


class Finder:
    """Finds what `import` does not find in our folder among NumPy's modules."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to make the module of this name, or None for those that are not for us."""
        parts = name.split(".")
        if parts[0] != "nabla_array" or any(part.startswith("_") for part in parts):
            return None
        from importlib.util import find_spec

        if find_spec(f"numpy.{parts[1]}") is None or find_spec(_theirs(name)) is None:
            return None
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        return NumpyModule(import_module(_theirs(spec.name)), spec.name)

    def exec_module(self, module: NumpyModule) -> None:
        """Count the module, once, if it computes."""
        if module._computes:
            stats.fallbacks[_theirs(module.__name__)] += 1


def _theirs(name: str) -> str:
    return f"numpy.{name.removeprefix(_US)}"
