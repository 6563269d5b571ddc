"""What other libraries are told of our arrays, where they ask for NumPy's and no protocol meets them.

Everybody is told the truth but the modules in the table of `rows`: they ask in Python, and then do with our
arrays what they do with NumPy's. A row is on once its module is imported; while none is, `isinstance` does
not look who asks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._lazy.native import compiled
from ..core.array import Array, class_hook, error_hook, from_shared, is_scalar
from ..core.views import borrowing, memory, reading, writing

# The modules that rows are on for, by what they are told (and `reading`, `writing`, `borrowing` and
# `trusted` of views.py): an array with axes is an instance of `numpy.ndarray`, ...
arrays: set[str] = set()
# ... a scalar is no number, but an array, as the standard's code takes it, ...
standards: set[str] = set()
# ... an array has `__array_interface__`, ...
interfaces: set[str] = set()
# ... `float` of an array with axes raises SymPy's error, ...
symbolic: set[str] = set()
# ... the name `float` keeps an array that is being differentiated, ...
floats: set[str] = set()
# ... the memory of large results of C code becomes ours, ...
giving: set[str] = set()
# ... `memoryview` shows an array's memory, ...
shown: set[str] = set()
# ... and, as packages, our generators draw NumPy's arrays.
sampling: set[str] = set()


# The runner puts here what says whether global names are of the program that runs.
program_hook: list[Callable[[dict[str, Any]], bool]] = []
# What that has found of modules so far, by their files: compiled code asks there first.
program_files: list[dict[str, bool]] = []


def _class_of(x: Array) -> type[Any]:
    """Return the class that an array has besides its own: a scalar that of NumPy's scalars."""
    name = sys._getframe(2).f_globals.get("__name__")
    if is_scalar(x):
        return Array if name in standards else x.dtype.type
    return np.ndarray if name in arrays else Array


def _no_number(message: str) -> Exception:
    """Return the error that an array with axes raises as a number."""
    names = sys._getframe(3).f_globals
    if names.get("__name__") not in symbolic:
        return TypeError(message)
    return names["SympifyError"](message)


def _interface(self: Array) -> dict[str, Any]:
    """Answer a program's code under the runner, and Pillow, which takes `tobytes` where there are strides."""
    names = sys._getframe(1).f_globals
    if program_hook and program_hook[0](names):
        told: dict[str, Any] = memory(self).__array_interface__
        # Nobody may write there, as in `buffer` of views.py.
        return {**told, "data": (told["data"][0], True)}
    if names.get("__name__") not in interfaces:
        raise AttributeError("__array_interface__")
    value = np.asarray(self)
    typestr = value.__array_interface__["typestr"]
    return {"shape": value.shape, "typestr": typestr, "strides": value.strides, "data": value, "version": 3}


def _typ(self: Array) -> str:
    """Tell pandas, of an array with axes, what it calls its own wrapper of NumPy's arrays."""
    if not self.shape:
        raise AttributeError("_typ")
    return "npy_extension"


def _as_mpf(self: Array) -> Callable[[int, str], Any]:
    """Answer mpmath, and SymPy's `Float`, which take NumPy's numbers for Python's, but no arrays."""
    if self.shape:
        raise AttributeError("_mpmath_")
    import mpmath  # type: ignore[import-untyped]

    return lambda precision, rounding: mpmath.mpmathify(self.item())


def _as_symbol(self: Array) -> Callable[[], Any]:
    """Answer SymPy, which knows NumPy's numbers; it goes through the elements of arrays by itself."""
    if self.shape:
        raise AttributeError("_sympy_")
    import sympy  # type: ignore[import-untyped]

    return lambda: sympy.sympify(self.dtype.type(self.item()))


def is_shown(names: dict[str, Any]) -> bool:
    return names.get("__name__") in shown


class_hook.append(_class_of)
Array.__array_interface__ = property(_interface)  # type: ignore[attr-defined]
if compiled is not None:
    _sets = (arrays, standards, interfaces, writing, reading, borrowing, giving)
    compiled.asking(*_sets, program_hook, program_files, from_shared)
    Array.__array_interface__ = compiled.attribute(  # type: ignore[attr-defined]
        "interface", vars(Array)["__array_interface__"]
    )
error_hook.append(_no_number)
Array._typ = property(_typ)  # type: ignore[attr-defined]
Array._mpmath_ = property(_as_mpf)  # type: ignore[attr-defined]
Array._sympy_ = property(_as_symbol)  # type: ignore[attr-defined]
