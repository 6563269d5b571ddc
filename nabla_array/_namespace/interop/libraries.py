"""What libraries ask of an array's class where an array of ours would do: they know NumPy's alone.

Most ask for methods and protocols, which are there. Some compare classes first, and then make a NumPy array
of what they were given: to these, by name, ours say that they are such. Everybody else is told the truth.
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable
from functools import lru_cache
from types import FrameType
from typing import Any

import numpy as np

from ..core.array import Array, class_hook

_NUMBERS = {"i": numbers.Integral, "u": numbers.Integral, "f": numbers.Real, "c": numbers.Complex}


@lru_cache(None)
def _number(kind: str) -> type[Array]:
    """Return the class of numbers of a kind of dtypes, of whose instances arrays without axes are.

    Made late: each operator that is put into `Array` while it has subclasses is put into all of them.
    """
    abstract = _NUMBERS.get(kind)
    if abstract is None:
        return Array
    made = type(f"_{abstract.__name__}", (Array,), {"__slots__": ()})
    abstract.register(made)
    return made


# Functions that make a NumPy array of what they take for one, or go through its elements: of Matplotlib,
# pandas (`groupby`, `set_index`), SciPy, scikit-learn (`GridSearchCV`) and xarray (`interp`).
_WANT_NDARRAY = {
    "DataFrame.set_index",
    "Dataset._validate_interp_indexers",
    "Grouping.__init__",
    "ParameterGrid.__init__",
    "_InstancesOf.is_satisfied_by",
    "_ndptr.from_param",
    "_convert_grouper",
    "aslinearoperator",
    "factorize",
    "get_grouper",
    "streamplot",
}
# Functions of Python's that know no numbers but their own, which NumPy's floats are, and ask them alike.
_WANT_FLOAT = {"Fraction.__new__"}
# Pytest's `approx` asks NumPy's `isscalar`, and takes other arrays for what they are; a number with a length,
# as all instances of a class have that defines one, it takes for a sequence.
_WANT_ARRAY = "_as_numpy_array"
# All of scipy.ndimage asks it of `output=`, and then wants the memory.
_WANT_NDARRAY_IN = "scipy.ndimage"
# Functions of pandas that do so with what they find to be an array of an extension's.
_PANDAS_ASKS = {
    "_ensure_arraylike",
    "convert_to_list_like",
    "is_array_like_deprecate_non_pandas",
    "is_bool_indexer",
}

# The runner puts here what says whether global names are of the program that runs.
program_hook: list[Callable[[dict[str, Any]], bool]] = []


def _is_approx(asking: FrameType) -> bool:
    """Say whether pytest asks NumPy's `isscalar`, which asks the abstract class of numbers."""
    frame: FrameType | None = asking
    for name in ("__instancecheck__", "isscalar", _WANT_ARRAY):
        if frame is None or frame.f_code.co_name != name:
            return False
        frame = frame.f_back
    return True


def _class_for(x: Array, asking: FrameType) -> type[Any]:
    """Return the class that an array has besides its own: without axes, a number's, as NumPy's scalars."""
    if not x.shape:
        if program_hook and program_hook[0](asking.f_globals):
            return x.dtype.type
        if asking.f_code.co_qualname in _WANT_FLOAT and x.dtype == np.float64:
            return np.float64
        return Array if _is_approx(asking) else _number(x.dtype.kind)
    if asking.f_code.co_qualname in _WANT_NDARRAY or asking.f_globals.get("__package__") == _WANT_NDARRAY_IN:
        return np.ndarray
    return Array


def _pandas_kind(self: Array) -> str:
    """Answer pandas, which looks for this to tell arrays from other things, where ours do as NumPy's."""
    asking = sys._getframe(1)
    while asking.f_back is not None and asking.f_code.co_name in ("_check", "_instancecheck"):
        asking = asking.f_back
    if asking.f_code.co_name in _PANDAS_ASKS:
        return "extension"
    raise AttributeError("_typ")


# Pillow takes arrays by this protocol alone, which NumPy would prefer to the one that ours have.
_WANT_INTERFACE = "PIL"


def _interface(self: Array) -> dict[str, Any]:
    """Answer Pillow, which takes `tobytes` where there are strides."""
    if sys._getframe(1).f_globals.get("__package__") != _WANT_INTERFACE:
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


def _is_symbol(self: Array) -> bool:
    """Answer SymPy's operators, which leave NumPy's arrays to the arrays' own."""
    asking = sys._getframe(1)
    if self.shape and asking.f_code.co_name == "sympify" and asking.f_locals.get("strict"):
        return False
    raise AttributeError("__sympy__")


class_hook.append(_class_for)
Array._mpmath_ = property(_as_mpf)  # type: ignore[attr-defined]
Array._sympy_ = property(_as_symbol)  # type: ignore[attr-defined]
Array.__sympy__ = property(_is_symbol)  # type: ignore[attr-defined]
Array._typ = property(_pandas_kind)  # type: ignore[attr-defined]
Array.__array_interface__ = property(_interface)  # type: ignore[attr-defined]
