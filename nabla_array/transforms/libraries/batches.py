"""Functions of SciPy's that leave for C, called once for all examples of a batch.

Such a function takes `axis`, `axes` or a stack of matrices: the axes of the batch lead those of an example,
and each example gets what it would get alone. `compile` records the call as one operation.
"""

from __future__ import annotations

import inspect
import pickle
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._lazy.graph.aval import Aval, aval_of
from ..._lazy.graph.node import mark_origin
from ..._lazy.graph.primitive import Dims, Primitive
from ..._lazy.rules.concretization import is_traced
from ..._lazy.run.evaluator import evaluate
from ..._namespace.core.array import Array, apply, current
from .tracking import constant, is_tracked

_FILTERS = (
    "gaussian_filter uniform_filter gaussian_laplace laplace median_filter maximum_filter minimum_filter "
    "percentile_filter rank_filter convolve correlate gaussian_filter1d uniform_filter1d correlate1d "
    "convolve1d maximum_filter1d minimum_filter1d spline_filter1d grey_erosion grey_dilation grey_opening "
    "grey_closing morphological_gradient white_tophat black_tophat"
)
_SIGNALS = "lfilter filtfilt sosfilt sosfiltfilt savgol_filter resample_poly decimate upfirdn"
_TRANSFORMS = "dct idct dst idst dctn idctn dstn idstn"
_MATRICES = {"a": "inv det cholesky eigvalsh svdvals pinv", "A": "expm sqrtm logm"}
# They have no argument for axes; their rules for derivatives do all examples at once.
_BY_RULES = ("sobel", "prewitt", "gaussian_gradient_magnitude", "spline_filter")
# By module, the operand of each function of which examples may come at once.
OPERANDS: dict[str, dict[str, str]] = {
    "scipy.ndimage": dict.fromkeys([*_FILTERS.split(), *_BY_RULES], "input"),
    "scipy.signal": {**dict.fromkeys(_SIGNALS.split(), "x"), "detrend": "data"},
    "scipy.fft": dict.fromkeys(_TRANSFORMS.split(), "x"),
    "scipy.linalg": {name: operand for operand, names in _MATRICES.items() for name in names.split()},
}


@dataclass(frozen=True)
class Call:
    """A function of NumPy's arrays, whose last `ndim` axes are an example's, and the aval of one result.

    `key` tells the function and its other arguments, so that plans and programs are found again.
    """

    function: Callable[[np.ndarray], Any] = field(compare=False)
    key: Hashable
    ndim: int
    shape: tuple[int, ...]
    dtype: np.dtype


def _aval(x: Aval, call: Call) -> Aval:
    return aval_of((*x.shape[: x.ndim - call.ndim], *call.shape), call.dtype)


def _dims(x: Aval, call: Call) -> Dims:
    lead = tuple(range(x.ndim - call.ndim))
    return (*lead, *(-1,) * call.ndim), (*lead, *(-2,) * len(call.shape))


host_call = Primitive(
    "host_call", _aval, lambda x, call: np.asarray(call.function(x)), dims=_dims, by_rows=True
)


def varies(x: Any) -> bool:
    """Say whether an argument is a batch, or part of a program that is recorded, or has such a part."""
    if type(x) is Array:
        return bool(x._levels or is_traced(current(x)))
    return type(x) in (list, tuple) and any(map(varies, x))


class AtOnce:
    """A function that is called once for all examples of its argument `operand`.

    `rule` is that for derivatives, of a function that has no argument for axes.
    """

    def __init__(self, original: Callable[..., Any], operand: str, rule: Callable[..., Any] | None) -> None:
        self.original, self.operand = original, operand
        self.rule = rule if original.__name__ in _BY_RULES else None
        self.signature = inspect.signature(original)

    def __call__(self, args: Any, kwargs: Any) -> Any:
        """Return the results, or NotImplemented where a call does something else."""
        try:
            others = self.signature.bind(*args, **kwargs).arguments
        except TypeError:  # which the original says itself
            return NotImplemented
        x = others.pop(self.operand, None)
        if type(x) is not Array or any(map(varies, others.values())) or is_tracked([x, *others.values()]):
            return NotImplemented
        if self.rule is not None:
            return self.rule(args, kwargs)
        where = self._where(others, x.ndim)
        if where is None or others.get("output") is not None or others.get("zi") is not None:
            return NotImplemented
        return self._called(x, {name: constant(value) for name, value in others.items()} | where)

    def _where(self, given: Mapping[str, Any], ndim: int) -> dict[str, Any] | None:
        """Return the argument that names the axes of an example, counted from the last; None if one is wrong.

        What has no such argument is of matrices.
        """
        name = next((name for name in ("axes", "axis") if name in self.signature.parameters), None)
        if name is None:
            return {} if ndim == 2 else None
        axes = given.get(name, self.signature.parameters[name].default)
        some = range(ndim) if axes is None else [axes] if isinstance(axes, int) else list(axes)
        if not all(isinstance(a, int) and -ndim <= a < ndim for a in some):
            return None
        found = [a % ndim - ndim for a in some]
        return {name: found[0] if name == "axis" else tuple(found)}

    def _called(self, x: Array, others: Mapping[str, Any]) -> Any:
        def function(v: np.ndarray) -> Any:
            call = inspect.BoundArguments(self.signature, OrderedDict({**others, self.operand: v}))
            return self.original(*call.args, **call.kwargs)

        # What one result is like: of zeros, or of a matrix that has an inverse.
        are_axes = others.keys() & {"axes", "axis"}
        example = function(
            (np.zeros(x.shape, x.dtype) if are_axes else np.eye(*x.shape, dtype=x.dtype))[None]
        )
        if type(example) is not np.ndarray:
            return NotImplemented
        key = self.original, _text(others)
        result = apply(host_call, x, call=Call(function, key, x.ndim, example.shape[1:], example.dtype))
        mark_origin(result._node, self.original.__name__)
        if not is_traced(current(x)):
            evaluate((current(result),))  # what it raises, it raises here
        return result


def _text(arguments: Mapping[str, Any]) -> Hashable:
    """Return what is equal for equal arguments."""
    try:
        return pickle.dumps(arguments)
    except (pickle.PicklingError, AttributeError, TypeError):  # a function within another one, or a file
        return object()
