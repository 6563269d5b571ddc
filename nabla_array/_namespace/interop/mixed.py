"""Arrays of ours beside NumPy's and lists, in calls of SciPy's and scikit-learn's.

With ``SCIPY_ARRAY_API=1`` SciPy asks all arguments of a call for their namespace, and refuses arrays of two:
``sosfilt(butter(4, 0.2, output="sos"), x)`` has NumPy's coefficients. So does scikit-learn with
``array_api_dispatch=True``. Functions of NumPy's take arrays and lists side by side, and so do ours. Where an
array of ours is among the arguments, these libraries compute with ours. Beside a number of ours, which has no
axes, lists and NumPy's numbers are refused as SciPy documents it.

An estimator that knows NumPy's arrays alone (`KMeans`) refuses others then, though it takes them without the
switch. It is given NumPy's. What was fitted to NumPy's arrays (`PCA`) transforms ours.

Some modules of SciPy take a slower way for all namespaces but NumPy's (`convolve` and `correlate` choose sums
of products, however long the arrays are), or refuse an option (`neighbors` of `RBFInterpolator`). Ours has
what they need. What SciPy's tests want refused (`workers`, `method=PermutationMethod()`) stays refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache, partial, wraps
from types import ModuleType
from typing import Any

import numpy as np

from ..._lazy.graph.node import tapes
from ..._lazy.graph.scopes import scopes
from ..core.array import Array, from_value, is_lazy
from ..core.views import in_order
from .doors import put_in
from .imports import after_import, unknown

# Estimators that know arrays of other libraries, though their tags do not say so.
_UNTAGGED = {"MaxAbsScaler"}
# Classes of arguments beside which there is no other namespace.
_OURS = {Array, bool, int, float, complex, type(None)}
# What scikit-learn means by no argument.
_NOTHING = "no_validation"


def _among_ours(array_namespace: Callable[..., ModuleType]) -> Callable[..., ModuleType]:
    """Return SciPy's function, which leaves NumPy's arrays and lists out where one of ours is given."""

    @lru_cache(1)
    def ours() -> ModuleType:
        return array_namespace(from_value(np.zeros(0)))

    @wraps(array_namespace)
    def chosen(*arrays: Any, **options: Any) -> ModuleType:
        kinds = {*map(type, arrays)}
        if Array not in kinds:
            return array_namespace(*arrays, **options)
        if not options and kinds <= _OURS:
            return ours()
        numpys = [x for x in arrays if isinstance(x, np.ndarray)]
        if numpys:  # matrices, masked arrays and arrays of objects are refused as they are elsewhere
            array_namespace(*numpys, **options)
        has_axes = any([type(x) is Array and x.ndim for x in arrays])
        left_out = (np.ndarray, np.generic, list, tuple, range) if has_axes else np.ndarray
        return array_namespace(*[x for x in arrays if not isinstance(x, left_out)], **options)

    return chosen


def _told(is_lazy_array: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return array-api-compat's function, which need not try `bool` on an array of ours.

    That would compute what is recorded, or split a batch.
    """

    @wraps(is_lazy_array)
    def told(x: Any) -> bool:
        return is_lazy(x) if type(x) is Array else is_lazy_array(x)

    return told


def _or_ours(is_numpy: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return SciPy's function, to which our namespace is as good as NumPy's, other than in transforms."""

    @wraps(is_numpy)
    def has_numpys(xp: Any) -> bool:
        return is_numpy(xp) or (not (tapes or scopes) and getattr(xp, "__name__", "") == "nabla_array")

    return has_numpys


def _in_order(asarray: Callable[..., Any]) -> Callable[..., Any]:
    """Return scikit-learn's function, which keeps to an order in memory for arrays of ours, too.

    What has to do with compiled code asks for one.
    """

    @wraps(asarray)
    def ordered(array: Any, dtype: Any = None, order: Any = None, *more: Any, **options: Any) -> Any:
        found = asarray(array, dtype, order, *more, **options)
        if type(found) is Array and order in ("C", "F") and not (tapes or scopes):
            return in_order("asarray", found, order)
        return found

    return ordered


def _by_estimator(validate_data: Callable[..., Any]) -> Callable[..., Any]:
    """Return scikit-learn's function, which is given NumPy's arrays for an estimator that knows no others.

    Under a transform it gets what there is.
    """

    @wraps(validate_data)
    def validated(estimator: Any, /, X: Any = _NOTHING, y: Any = _NOTHING, **options: Any) -> Any:
        if Array in (type(X), type(y)) and not tapes and not _knows_others(estimator):
            X, y = (np.asarray(v) if type(v) is Array and not v._levels else v for v in (X, y))
        return validate_data(estimator, X=X, y=y, **options)

    return validated


def _fitted_to_numpys(check: Callable[..., None]) -> Callable[..., None]:
    """Return scikit-learn's function, which lets what was fitted to NumPy's arrays take ours."""

    @wraps(check)
    def checked(X: Any, estimator: Any, *, attribute: str, method: str) -> None:
        if type(X) is not Array or type(getattr(estimator, attribute)) is not np.ndarray:
            check(X, estimator, attribute=attribute, method=method)

    return checked


def _knows_others(estimator: Any) -> bool:
    """Say whether an estimator takes arrays of other libraries; private ones are parts of those that do."""
    kind = type(estimator)
    if kind.__name__.startswith("_") or not _UNTAGGED.isdisjoint([c.__name__ for c in kind.__mro__]):
        return True
    return bool(sys.modules["sklearn.utils"].get_tags(estimator).array_api_support)


# Where array-api-compat is, by itself and in libraries.
COMPAT = (
    "array_api_compat",
    "scipy._external.array_api_compat",
    "scipy._lib.array_api_compat",
    "sklearn.externals.array_api_compat",
)
# Modules, functions of theirs, and what is put in their places.
PLACES: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("scipy._lib._array_api_override", "array_namespace", _among_ours),
    ("sklearn.externals.array_api_compat.common._helpers", "array_namespace", _among_ours),
    ("sklearn.utils._array_api", "_asarray_with_order", _in_order),
    ("sklearn.utils._array_api", "check_same_namespace", _fitted_to_numpys),
    ("sklearn.utils.validation", "validate_data", _by_estimator),
    *[(f"{package}.common._helpers", "is_lazy_array", _told) for package in COMPAT],
)


# Modules of SciPy that do more, or do it faster, where the namespace is NumPy's.
AS_NUMPYS = (
    "scipy.interpolate._rbfinterp",
    "scipy.signal._signaltools",
    "scipy.stats._correlation",
    "scipy.stats._morestats",
)


def _put_in(name: str, wrap: Callable[..., Any], module: ModuleType) -> None:
    if hasattr(module, name):
        put_in(module, {name: wrap(getattr(module, name))})
    else:
        unknown(module, f"it has no {name}")


for _module, _name, _wrap in PLACES:
    after_import(_module, partial(_put_in, _name, _wrap))


def _tell(module: ModuleType) -> None:
    if hasattr(module, "is_numpy"):  # a release may do without
        vars(module)["is_numpy"] = _or_ours(vars(module)["is_numpy"])


for _module in AS_NUMPYS:
    after_import(_module, _tell)
