"""Calls of other libraries' functions with what is being differentiated go to rules of ours.

SciPy hands calls on to CuPy and JAX where it meets their arrays, and has no place where others could ask for
that. So the functions in `ROWS` are replaced, once their module is imported, by functions that hand on
theirs. While no derivative is taken, or none by what they are given, they call the original.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial, wraps
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..._lazy.graph.node import tapes
from ..._namespace.core.array import Array
from ..._namespace.interop.imports import after_import
from .tracking import is_tracked

# ``rule(original, *args, **kwargs)`` returns the result, in ways that derivatives pass, or NotImplemented:
# the original is called then, and refuses what would leave.
Rule = Callable[..., Any]


class Row(NamedTuple):
    """Functions of a module (or methods, "Class.method"), and the module of ours that has rules for them."""

    module: str
    names: str
    rules: str
    # What it is given may hold, or capture, what is being differentiated: a function, or an interpolator.
    always: bool = False


ROWS = (
    Row("scipy.linalg", "inv det solve cholesky eigh eigvalsh qr svd svdvals lstsq pinv expm", "matrices"),
    Row("scipy.linalg", "solve_triangular solve_banded cho_factor cho_solve norm toeplitz", "matrices"),
    Row("scipy.sparse.linalg", "spsolve spsolve_triangular cg gmres bicgstab minres expm_multiply", "sparse"),
    Row("scipy.sparse", "csr_array.__matmul__ csc_array.__matmul__ coo_array.__matmul__", "sparse"),
    Row("scipy.sparse", "csr_matrix.__matmul__ csc_matrix.__matmul__ coo_matrix.__matmul__", "sparse"),
    Row("scipy.ndimage", "gaussian_filter1d uniform_filter1d spline_filter1d gaussian_filter", "filters"),
    Row("scipy.ndimage", "uniform_filter sobel prewitt laplace gaussian_laplace spline_filter", "filters"),
    Row("scipy.ndimage", "gaussian_gradient_magnitude zoom shift rotate affine_transform", "filters"),
    Row("scipy.ndimage", "map_coordinates correlate convolve correlate1d convolve1d", "filters"),
    Row("scipy.ndimage", "median_filter maximum_filter minimum_filter percentile_filter", "filters"),
    Row("scipy.signal", "convolve correlate convolve2d correlate2d upfirdn lfilter sosfilt", "filters"),
    Row(
        "scipy.signal", "filtfilt sosfiltfilt savgol_filter detrend resample_poly decimate medfilt", "filters"
    ),
    Row("scipy.signal", "fftconvolve oaconvolve cspline1d", "filters"),
    Row("scipy.fft", "dct idct dst idst dctn idctn dstn idstn", "filters"),
    Row("scipy.integrate", "simpson", "filters"),
    Row("scipy.integrate", "quad", "integrals", True),
    Row("scipy.integrate", "solve_ivp odeint", "steps", True),
    Row("scipy.optimize", "root root_scalar brentq brenth ridder bisect toms748 fsolve", "solvers", True),
    Row("scipy.optimize", "fixed_point minimize minimize_scalar least_squares leastsq", "solvers", True),
    Row("scipy.optimize", "curve_fit", "solvers", True),
    Row("scipy.optimize", "linprog milp nnls lsq_linear linear_sum_assignment", "solvers"),
    Row("scipy.interpolate", "CubicSpline.__init__ CubicHermiteSpline.__init__", "interpolation"),
    Row("scipy.interpolate", "PchipInterpolator.__init__ Akima1DInterpolator.__init__", "interpolation"),
    Row(
        "scipy.interpolate", "BSpline.__init__ interp1d.__init__ KroghInterpolator.__init__", "interpolation"
    ),
    Row(
        "scipy.interpolate",
        "BarycentricInterpolator.__init__ RBFInterpolator.__init__ PPoly.__init__",
        "interpolation",
    ),
    Row(
        "scipy.interpolate", "RegularGridInterpolator.__init__ LinearNDInterpolator.__init__", "interpolation"
    ),
    Row("scipy.interpolate", "make_interp_spline interpn griddata splrep splev", "interpolation"),
    Row("scipy.interpolate", "PPoly.__call__ BSpline.__call__ interp1d.__call__", "interpolation", True),
    Row(
        "scipy.interpolate",
        "KroghInterpolator.__call__ BarycentricInterpolator.__call__",
        "interpolation",
        True,
    ),
    Row(
        "scipy.interpolate",
        "RegularGridInterpolator.__call__ RBFInterpolator.__call__",
        "interpolation",
        True,
    ),
    Row("scipy.interpolate", "LinearNDInterpolator.__call__", "interpolation", True),
    Row("scipy.interpolate", "KroghInterpolator.derivative PPoly.integrate", "interpolation", True),
    Row("scipy.interpolate", "KroghInterpolator.derivatives", "interpolation", True),
    Row("scipy.interpolate", "BarycentricInterpolator.derivative", "interpolation", True),
    Row("scipy.interpolate", "BarycentricInterpolator.derivatives", "interpolation", True),
    Row("scipy.spatial.distance", "cdist pdist squareform euclidean sqeuclidean cityblock", "distances"),
    Row("scipy.spatial.distance", "cosine correlation chebyshev minkowski canberra braycurtis", "distances"),
    Row("scipy.spatial.distance", "mahalanobis jensenshannon", "distances"),
    Row("scipy.cluster.vq", "vq", "distances"),
    Row("scipy.stats", "wasserstein_distance energy_distance boxcox", "distances"),
)


# The modules of rules that are formulas of arrays. Others hand constants to SciPy, as NumPy's arrays.
_FORMULAS = {"matrices", "distances"}


def _constant(x: Any) -> Any:
    if type(x) is Array and not is_tracked(x):
        return np.asarray(x)
    return type(x)(map(_constant, x)) if type(x) in (list, tuple) else x


def delegated(original: Callable[..., Any], name: str, row: Row) -> Callable[..., Any]:
    """Return a function that asks our rule first where a derivative is taken by an operand."""
    long = f"{row.module.rpartition('.')[2]}.{name}"

    @wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if tapes and (row.always or any(map(is_tracked, (*args, *kwargs.values())))):
            rules = import_module(f".{row.rules}", __package__).RULES
            own = (lambda x: x) if row.rules in _FORMULAS else _constant
            named = {k: own(v) for k, v in kwargs.items()}
            result = (rules.get(name) or rules[long])(original, *map(own, args), **named)
            if result is not NotImplemented:
                return result
        return original(*args, **kwargs)

    return call


def _put_on(row: Row, module: ModuleType) -> None:
    for name in row.names.split():
        owner, _, attribute = name.rpartition(".")
        holder = getattr(module, owner) if owner else module
        original = getattr(holder, attribute)
        made = delegated(original, name, row)
        setattr(holder, attribute, made)
        home = sys.modules.get(original.__module__)
        if not owner and getattr(home, attribute, None) is original:  # so that it can be pickled
            setattr(home, attribute, made)


# Modules that make a number of a result at the end: with `number` for `float`, one that is tracked stays an
# array.
NUMBERS = (
    "sklearn.metrics._classification",
    "sklearn.metrics._ranking",
    "sklearn.metrics._regression",
    "sklearn.utils._array_api",
    "scipy.spatial.distance",
)


class _Float(type):
    """The class of what stands for `float`: everything is an instance of it that is one of `float`."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, float)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, float)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is float

    __hash__ = type.__hash__


class number(metaclass=_Float):  # it is called as `float` is
    """What `float` is, but that an array that is being differentiated stays one."""

    def __new__(cls, x: Any = 0.0) -> Any:
        return x if is_tracked(x) else float(x)


def _keep_arrays(module: ModuleType) -> None:
    vars(module)["float"] = number


for _name in NUMBERS:
    after_import(_name, _keep_arrays)
for _row in ROWS:
    after_import(_row.module, partial(_put_on, _row))
