"""What other libraries are told of our arrays, where they ask for NumPy's and no protocol meets them.

Everybody is told the truth but the modules in the table of `rows`: they ask in Python, and then do with our
arrays what they do with NumPy's. A row is on once its module is imported; while none is, `isinstance` does
not look who asks.
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..._lazy.native import compiled
from ..core.array import Array, class_hook, error_hook, from_shared, is_scalar
from ..core.views import borrowing, memory, reading, writing

# The modules that rows are on for, by what they are told (and `probing` of array.py, `reading`, `writing`,
# `borrowing` and `trusted` of views.py): an array with axes is an instance of `numpy.ndarray`, ...
arrays: set[str] = set()
# ... a scalar is an instance of the class of NumPy's scalars, ...
scalars: set[str] = set()
# ... a scalar is none of `numpy.isscalar`'s, ...
unscalars: set[str] = set()
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

# The modules that ask for their callers what something is an instance of: abstract classes, functions that
# choose by a class, assertions of tests, and what checks the types of arguments and attributes.
passing = {
    *("abc", "functools", "unittest.case"),
    *("attr.validators", "traitlets.traitlets", "typeguard._checkers", "typeguard._functions"),
}

_NUMBERS = {"i": numbers.Integral, "u": numbers.Integral, "f": numbers.Real, "c": numbers.Complex}
# The module of `numpy.isscalar`, which asks for its caller.
_ISSCALAR = np.isscalar.__globals__["__name__"]


@lru_cache(None)
def number_class(kind: str) -> type[Array]:
    """Return the class of numbers of a kind of dtypes, of whose instances scalars are.

    Made late: each operator that is put into `Array` while it has subclasses is put into all of them.
    """
    abstract = _NUMBERS.get(kind)
    if abstract is None:
        return Array
    lacking = dict.fromkeys(("__contains__", "__iter__", "__len__"))  # what makes something a `Collection`
    registered = type(f"_{abstract.__name__}", (Array,), {"__slots__": (), **lacking})
    abstract.register(registered)
    # Abstract classes remember the answer for what derives from a registered class, not for that one itself.
    return type(registered.__name__, (registered,), {"__slots__": ()})


def _class_of(x: Array) -> type[Any]:
    """Return the class that an array has besides its own: a scalar, a number's, as NumPy's scalars have."""
    is_array = not is_scalar(x)
    if arrays if is_array else scalars or unscalars or program_hook:
        frame = sys._getframe(2)
        name = frame.f_globals.get("__name__")
        while name in passing and frame.f_back is not None:
            frame = frame.f_back
            name = frame.f_globals.get("__name__")
        if is_array:
            return np.ndarray if name in arrays else Array
        if name in scalars or (program_hook and program_hook[0](frame.f_globals)):
            return x.dtype.type
        if name == _ISSCALAR and frame.f_back and frame.f_back.f_globals.get("__name__") in unscalars:
            return Array
    return Array if is_array else number_class(x.dtype.kind)


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


# Modules that compiled code leaves to `_class_of`, of arrays with axes and without.
ask_of_arrays: set[str] = set()
ask_of_numbers = {_ISSCALAR}


def is_shown(names: dict[str, Any]) -> bool:
    return names.get("__name__") in shown


class_hook.append(_class_of)
Array.__array_interface__ = property(_interface)  # type: ignore[attr-defined]
if compiled is not None:
    _sets = (ask_of_arrays, ask_of_numbers, interfaces, writing, reading, borrowing, giving, passing)
    compiled.asking(*_sets, program_hook, program_files, number_class, from_shared)
    Array.__array_interface__ = compiled.attribute(  # type: ignore[attr-defined]
        "interface", vars(Array)["__array_interface__"]
    )
error_hook.append(_no_number)
Array._typ = "npy_extension"  # type: ignore[attr-defined]  # what pandas calls its own wrapper of NumPy's arrays
Array._mpmath_ = property(_as_mpf)  # type: ignore[attr-defined]
Array._sympy_ = property(_as_symbol)  # type: ignore[attr-defined]
