"""What other libraries are told of our arrays, where they ask for NumPy's and no protocol meets them.

Everybody is told the truth but the modules in `ROWS`: they ask in Python, and then do with our arrays what
they do with NumPy's. A row is on once its module is imported; while none is, `isinstance` does not look who
asks.
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from types import ModuleType
from typing import Any

import numpy as np

from ..._lazy.native import compiled
from ..core.array import Array, class_hook, error_hook, from_shared, probing
from ..core.views import borrowing, memory, openers, reading, trusted, writing
from .imports import after_import

# The modules that rows are on for, by what they are told (and `probing` of array.py, `reading`, `writing`,
# `borrowing` and `trusted` of views.py): an array with axes is an instance of `numpy.ndarray`, ...
arrays: set[str] = set()
# ... one without axes is an instance of the class of NumPy's scalars, ...
scalars: set[str] = set()
# ... one without axes is none of `numpy.isscalar`'s, ...
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


class Row:  # a named tuple's class takes longer to make than all rows
    """A module (or package, in `sampling`), what it is told, and why."""

    __slots__ = ("module", "reason", "told")

    def __init__(self, module: str, told: set[str], reason: str) -> None:
        self.module, self.told, self.reason = module, told, reason


ROWS = (
    Row("astropy.table.table", arrays, "makes columns of no others, nor takes them for keys"),
    Row("h5py._hl.selections", arrays, "takes no others for masks"),
    Row("jax._src.numpy.indexing", arrays, "takes no others for indices"),
    Row("jax._src.numpy.indexing", scalars, "takes no others for an index"),
    Row("matplotlib.streamplot", arrays, "`color` and `linewidth` vary if they are NumPy's"),
    Row("numpy.ctypeslib._ctypeslib", arrays, "`ndpointer` takes no others"),
    Row("pandas.core.algorithms", arrays, "`factorize` asks others to do it themselves"),
    Row("pandas.core.common", arrays, "masks and lists are NumPy's, before pandas 3"),
    Row("pandas.core.frame", arrays, "`set_index` takes others for names of columns"),
    Row("pandas.core.groupby.grouper", arrays, "`groupby` takes others for functions"),
    Row("scipy.ndimage._interpolation", arrays, "takes the shape of `output` from no others"),
    Row("scipy.ndimage._measurements", arrays, "takes no others for `output`"),
    Row("scipy.ndimage._morphology", arrays, "writes its results to no others"),
    Row("scipy.sparse.linalg._interface", arrays, "`aslinearoperator` takes no others"),
    Row("sklearn.model_selection._search", arrays, "`ParameterGrid` takes no others"),
    Row("sklearn.utils._param_validation", arrays, "parameters that may be arrays must be NumPy's"),
    Row("statsmodels.tools.data", arrays, "models take no others"),
    Row("xarray.core.dataset", arrays, "`interp` takes no others"),
    Row("fractions", scalars, "takes `float` for what has a ratio, as NumPy's numbers are"),
    Row("xarray.core.variable", scalars, "takes others for keys with axes"),
    Row("xarray.core.indexing", scalars, "takes no others for an index"),
    Row("zarr.core.common", scalars, "takes no others for lengths"),
    Row("_pytest.approx", unscalars, "takes what has a length for a sequence, if it is no array"),
    Row("_pytest.python_api", unscalars, "the home of `approx` before pytest 9.2"),
    Row("scipy.fft._realtransforms_backend", giving, "hands over what its C code made"),
    Row("scipy.ndimage._support_alternative_backends", giving, "hands over what its C code made"),
    Row("scipy.signal._signaltools", giving, "hands over what its C code, or NumPy, made"),
    Row("scipy.cluster.vq", borrowing, "hands it to C code, which reads"),
    Row("scipy.fft._realtransforms_backend", borrowing, "hands it to C code, which reads (registered.py)"),
    Row("scipy.integrate._quadrature", borrowing, "computes with it by NumPy, and keeps none"),
    Row("scipy.ndimage._filters", borrowing, "hands it to C code, which reads"),
    Row("scipy.ndimage._interpolation", borrowing, "hands it to C code, which reads"),
    Row("scipy.signal._signaltools", borrowing, "hands it to C code, which reads (`detrend`: registered.py)"),
    Row(
        "scipy.signal._signaltools",
        trusted,
        "writes to no argument; C code copies what it might not write to",
    ),
    Row("scipy.signal._spectral_py", borrowing, "computes with it by NumPy, and keeps none"),
    Row("scipy.ndimage._fourier", writing, "hands `output` to C code, which writes to it"),
    Row("scipy.ndimage._morphology", writing, "hands `distances` and `indices` to C code, too"),
    Row("scipy.ndimage._ni_support", writing, "hands `output` to C code, which writes to it"),
    Row("numpy.lib._stride_tricks_impl", reading, "`as_strided` counts on the strides that we tell"),
    Row("PIL.Image", interfaces, "`fromarray` takes arrays by this protocol only, which NumPy would prefer"),
    Row("wave", shown, "writes what `memoryview` shows"),
    Row("sympy.core.sympify", symbolic, "leaves operators to what it cannot convert, if it hears so"),
    Row("sklearn.metrics._classification", floats, "makes `float` of losses and scores"),
    Row("sklearn.metrics._ranking", floats, "makes `float` of areas, losses and gains"),
    Row("sklearn.metrics._regression", floats, "makes `float` of errors and scores"),
    Row("scipy", sampling, "computes with what it draws by NumPy, in compiled code"),
    Row("sklearn", sampling, "computes with what it draws by NumPy, in compiled code"),
    *[
        Row(f"{package}.common._helpers", probing, "tries `bool` to see whether values can be looked at")
        for package in (
            "array_api_compat",
            "scipy._external.array_api_compat",
            "scipy._lib.array_api_compat",
            "sklearn.externals.array_api_compat",
        )
    ],
)
# The runner puts here what says whether global names are of the program that runs.
program_hook: list[Callable[[dict[str, Any]], bool]] = []
# What that has found of modules so far, by their files: compiled code asks there first.
program_files: list[dict[str, bool]] = []

_NUMBERS = {"i": numbers.Integral, "u": numbers.Integral, "f": numbers.Real, "c": numbers.Complex}
# The module of `numpy.isscalar`, which asks for its caller.
_ISSCALAR = np.isscalar.__globals__["__name__"]


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


def _class_of(x: Array) -> type[Any]:
    """Return the class that an array has besides its own: without axes, a number's, as NumPy's scalars."""
    shape = x.shape
    if arrays if shape else scalars or unscalars or program_hook:
        frame = sys._getframe(2)
        name = frame.f_globals.get("__name__")
        while name == "abc" and frame.f_back is not None:  # abstract classes pass the question on
            frame = frame.f_back
            name = frame.f_globals.get("__name__")
        if shape:
            return np.ndarray if name in arrays else Array
        if name in scalars or (program_hook and program_hook[0](frame.f_globals)):
            return x.dtype.type
        if name == _ISSCALAR and frame.f_back and frame.f_back.f_globals.get("__name__") in unscalars:
            return Array
    return Array if shape else _number(x.dtype.kind)


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
        return told
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
_ask_of_arrays = {"abc"}
_ask_of_numbers = {"abc", _ISSCALAR}


def _is_shown(names: dict[str, Any]) -> bool:
    return names.get("__name__") in shown


def _put_on(row: Row, module: ModuleType) -> None:
    row.told.add(row.module)
    for told, asking in ((arrays, _ask_of_arrays), (scalars, _ask_of_numbers)):
        if row.told is told:
            asking.add(row.module)
    if row.told is floats:
        from .floats import number

        vars(module)["float"] = number  # the classes' own name is looked up behind the module's
    if row.told is shown and _is_shown not in openers:
        openers.append(_is_shown)


for _row in ROWS:
    after_import(_row.module, partial(_put_on, _row))
class_hook.append(_class_of)
Array.__array_interface__ = property(_interface)  # type: ignore[attr-defined]
if compiled is not None:
    _sets = (_ask_of_arrays, _ask_of_numbers, interfaces, writing, reading, borrowing, giving)
    compiled.asking(*_sets, program_hook, program_files, _number, from_shared)
    Array.__array_interface__ = compiled.attribute(  # type: ignore[attr-defined]
        "interface", vars(Array)["__array_interface__"]
    )
error_hook.append(_no_number)
Array._typ = "npy_extension"  # type: ignore[attr-defined]  # what pandas calls its own wrapper of NumPy's arrays
Array._mpmath_ = property(_as_mpf)  # type: ignore[attr-defined]
Array._sympy_ = property(_as_symbol)  # type: ignore[attr-defined]
