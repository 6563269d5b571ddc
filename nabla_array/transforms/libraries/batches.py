"""Functions of SciPy's that leave for C, called once for all examples of a batch.

Such a function takes `axis`, `axes` or a stack of matrices: the axes of the batch lead those of an example,
and each example gets what it would get alone. `compile` records the call as one operation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..._lazy.graph.aval import Aval, aval_of
from ..._namespace.core.array import Array, from_value
from .host_calls import Call, holds_any, record_call, remembered, several, text_of, varies
from .tracking import constant, is_tracked

_FILTERS = (
    "gaussian_filter uniform_filter gaussian_laplace laplace median_filter maximum_filter minimum_filter "
    "percentile_filter rank_filter convolve correlate gaussian_filter1d uniform_filter1d correlate1d "
    "convolve1d maximum_filter1d minimum_filter1d spline_filter1d grey_erosion grey_dilation grey_opening "
    "grey_closing morphological_gradient white_tophat black_tophat rotate binary_erosion binary_dilation "
    "binary_opening binary_closing"
)
_SIGNALS = "lfilter filtfilt sosfilt sosfiltfilt savgol_filter resample_poly decimate upfirdn"
# Their first results, frequencies and times, are the same for all examples.
_SPECTRA = ("csd", "coherence", "welch", "periodogram", "spectrogram", "stft")
_TRANSFORMS = "dct idct dst idst dctn idctn dstn idstn"
_MATRICES = {
    ("a",): "inv det cholesky eigvals eigvalsh svdvals pinv eigh svd qr lu polar norm cho_factor lu_factor",
    ("A",): "expm cosm sinm",  # `sqrtm` and `logm` have complex results for some matrices
    ("a", "b"): "solve solve_triangular",
    ("ab", "b"): "solve_banded",
    ("a", "b", "q"): "solve_sylvester",
    ("c", "r"): "toeplitz",
    ("c_and_lower", "b"): "cho_solve",
    ("lu_and_piv", "b"): "lu_solve",
    ("c_or_cr", "b"): "solve_toeplitz",
}
# Another argument of theirs gets as many axes as the batch has: the windows of one go along all axes.
_GROWN = {("scipy.signal", "convolve"): "in2", ("scipy.signal", "correlate"): "in2"}
# They have no argument for axes; their rules for derivatives do all examples at once.
_BY_RULES = ("sobel", "prewitt", "gaussian_gradient_magnitude", "spline_filter")
# Arguments that are written to, are of one example, or choose results by their values.
_REFUSED = ("output", "zi", "subset_by_value")
# By module, the operands of each function of which examples may come at once.
OPERANDS: dict[str, dict[str, tuple[str, ...]]] = {
    "scipy.ndimage": dict.fromkeys([*_FILTERS.split(), *_BY_RULES], ("input",)),
    "scipy.signal": {
        **dict.fromkeys([*_SIGNALS.split(), *_SPECTRA], ("x",)),
        **{"detrend": ("data",), "csd": ("x", "y"), "coherence": ("x", "y")},
        **dict.fromkeys(["convolve", "correlate"], ("in1",)),
    },
    "scipy.integrate": {"simpson": ("y",)},
    "scipy.fft": dict.fromkeys(_TRANSFORMS.split(), ("x",)),
    "scipy.linalg": {name: operands for operands, names in _MATRICES.items() for name in names.split()},
}


# An argument, or an item of one that is a tuple.
Operand = str | tuple[str, int]


@dataclass(frozen=True)
class Function:
    """A function of SciPy's, by name so that workers find theirs, with all arguments but some operands.

    Attributes
    ----------
    module, name
        Of the function.
    others
        The other arguments; tuples of which items are operands have anything in their places.
    operands
        Which those are.
    has_column
        Whether `b` is a vector beside matrices, and goes as a column: a batch of vectors would be a matrix.
    grown, ndim
        An argument that gets as many axes as there are before the `ndim` of an example; "" for none.
    """

    module: str
    name: str
    others: Mapping[str, Any]
    operands: tuple[Operand, ...]
    has_column: bool
    grown: str
    ndim: int

    def __call__(self, *values: np.ndarray) -> Any:
        """Return what it gives for values of the operands."""
        given = dict(self.others)
        for operand, value in zip(self.operands, values, strict=True):
            if isinstance(operand, tuple):
                name, i = operand
                given[name] = (*given[name][:i], value, *given[name][i + 1 :])
            else:
                given[operand] = value
        if self.grown:
            lead = (None,) * (values[0].ndim - self.ndim)
            given[self.grown] = np.asarray(given[self.grown])[(*lead, ...)]
        if self.has_column:
            given["b"] = np.asarray(given["b"])[..., None]
        found = getattr(import_module(self.module), self.name)(**given)
        return found[..., 0] if self.has_column else found


def flat(bound: inspect.BoundArguments) -> dict[str, Any]:
    """Return arguments by name, those too that a parameter such as ``**options`` takes."""
    found: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        rest = bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        found |= value if rest else {name: value}
    return found


class _Known(NamedTuple):
    """What the results of a function are like.

    Attributes
    ----------
    shared
        What all examples share, by its place among what the function gives.
    avals
        Of the others, for an example.
    are_several
        Whether the function gives a tuple.
    """

    shared: dict[int, Any]
    avals: dict[int, Aval]
    are_several: bool


class AtOnce:
    """A function that is called once for all examples of some of its arguments, `operands`.

    `rule` is that for derivatives, of a function that has no argument for axes.
    """

    def __init__(
        self,
        module: str,
        original: Callable[..., Any],
        operands: Sequence[str],
        rule: Callable[..., Any] | None,
    ) -> None:
        self.module, self.original, self.operands = module, original, operands
        self.rule = rule if original.__name__ in _BY_RULES else None
        self.signature = inspect.signature(original)
        self.grown = _GROWN.get((module, original.__name__), "")
        # What results are like, by arguments: threads may find it at once, and find the same.
        self._known: dict[Any, _Known | None] = {}

    def __call__(self, args: Any, kwargs: Any) -> Any:
        """Return the results, or NotImplemented where a call does something else."""
        try:
            given = flat(self.signature.bind(*args, **kwargs))
        except TypeError:  # which the original says itself
            return NotImplemented
        some, others = self._parted(given)
        if not some or any(map(holds_any, others.values())) or is_tracked([*given.values()]):
            return NotImplemented
        if self.rule is not None:
            return self.rule(args, kwargs)
        where = self._where(others, [x.ndim for x in some.values()])
        if where is None or any(others.get(name) is not None for name in _REFUSED):
            return NotImplemented
        # Nothing is written over an operand, which others may have.
        known = {k: constant(v) for k, v in others.items() if not k.startswith("overwrite")}
        return self._called(some, known, where)

    def _parted(self, given: Mapping[str, Any]) -> tuple[dict[Operand, Array], dict[str, Any]]:
        """Return the operands that vary, and the other arguments."""
        some: dict[Operand, Array] = {}
        others = dict(given)
        for name in [name for name in self.operands if name in given]:
            value = given[name]
            if type(value) in (tuple, list):
                some |= {(name, i): x for i, x in enumerate(value) if varies(x)}
                others[name] = tuple([None if varies(x) else x for x in value])
            elif varies(value):
                some[name] = others.pop(name)
        return some, others

    def _where(self, given: Mapping[str, Any], ndims: Sequence[int]) -> dict[str, Any] | None:
        """Return the argument that names the axes of an example, counted from the last; None if one is wrong.

        What has no such argument is of matrices, and of vectors beside them.
        """
        name = next((name for name in ("axes", "axis") if name in self.signature.parameters), None)
        ndim = ndims[0]
        if name is None:
            return {} if {*ndims} <= {1, 2} or self.grown else None
        axes = given.get(name, self.signature.parameters[name].default)
        some = range(ndim) if axes is None else [axes] if isinstance(axes, int) else list(axes)
        if not all(isinstance(a, int) and -ndim <= a < ndim for a in some):
            return None
        found = [a % ndim - ndim for a in some]
        return {name: found[0] if name == "axis" and len(found) == 1 else tuple(found)}

    def _called(self, some: dict[Operand, Array], others: dict[str, Any], where: dict[str, Any]) -> Any:
        operands, are_matrices = [*some.values()], not where
        if self.grown and others.get("method", "auto") == "auto":  # it chooses by the size of an example
            like, other = np.zeros(operands[0].shape, operands[0].dtype), np.asarray(others[self.grown])
            method = import_module("scipy.signal").choose_conv_method(like, other, others.get("mode", "full"))
            others = {**others, "method": method}
        b: Any = some.get("b", others.get("b"))
        has_column = are_matrices and "b" in self.operands and np.ndim(b) == 1
        names = self.module, self.original.__name__
        alone = Function(*names, others, tuple(some), False, "", operands[0].ndim)
        batched = replace(alone, others=others | where, has_column=has_column, grown=self.grown)
        text = text_of(batched.others)
        key = text, *[(name, x.shape, x.dtype) for name, x in some.items()]
        known = remembered(
            self._known, key, lambda: self._results(alone, batched, _pairs(some, are_matrices))
        )
        if known is None:
            return NotImplemented
        shared, avals, are_several = known
        ndims = tuple([x.ndim for x in operands])
        call = Call(batched, (*names, text), ndims, tuple(avals.values()), alone, tuple(avals))
        made = record_call(call, operands, self.original.__name__)
        if made is None:
            return NotImplemented
        found = dict(zip(avals, made, strict=True))
        found |= {i: from_value(y.copy()) if type(y) is np.ndarray else y for i, y in shared.items()}
        return tuple([found[i] for i in range(len(found))]) if are_several else found[0]

    def _results(self, alone: Function, batched: Function, pairs: Sequence[np.ndarray]) -> _Known | None:
        """Return what results are like.

        A batch of two examples tells: None where SciPy does not do with it as with each of them alone, as for
        some orders of `axes`.
        """
        try:
            with np.errstate(all="ignore"):
                found = [alone(*[x[k] for x in pairs]) for k in range(2)]
                batch = several(batched(*pairs))
        except Exception:  # which the original raises, too, or does not
            return None
        each = [*zip(*map(several, found), strict=True)]
        if len(batch) != len(each):
            return None
        shared: dict[int, Any] = {}
        avals: dict[int, Aval] = {}
        for i, (own, examples) in enumerate(zip(batch, each, strict=True)):
            x, y = map(np.asarray, examples)
            if x.dtype == bool and x.ndim == 0:  # which way a matrix was factored
                shared[i], are_alike = bool(x), bool(np.all(own == x) and np.all(own == y))
            elif self.original.__name__ in _SPECTRA and i < len(batch) - 1:
                shared[i], are_alike = x, _are_near(own, x) and _are_near(own, y)
            else:
                avals[i] = aval_of(x.shape, x.dtype)
                are_alike = x.shape == y.shape and _are_near(np.asarray(own), np.stack([x, y]))
            if not are_alike:
                return None
        return _Known(shared, avals, type(found[0]) is tuple)


def _pairs(some: Mapping[Operand, Array], are_matrices: bool) -> list[np.ndarray]:
    """Return a batch of two random examples for each operand."""
    rng = np.random.default_rng(0)
    return [_pair(rng, name, x, are_matrices) for name, x in some.items()]


def _pair(rng: np.random.Generator, name: Operand, x: Array, are_matrices: bool) -> np.ndarray:
    """Return two examples like an operand; square matrices are positive definite, pivots keep the order."""
    if name == ("lu_and_piv", 1):
        return np.tile(np.arange(x.shape[-1]).astype(x.dtype), (2, 1))
    some = rng.uniform(-1, 1, (2, *x.shape))
    if x.dtype.kind == "b":
        return some > 0
    if are_matrices and x.ndim == 2 and x.shape[0] == x.shape[1]:
        some = some @ some.swapaxes(1, 2) + len(some[0]) * np.eye(len(some[0]))
    return (100 * some if x.dtype.kind in "iu" else some).astype(x.dtype)


def _are_near(x: np.ndarray, y: np.ndarray) -> bool:
    """Say whether results are equal but for rounding."""
    if (x.shape, x.dtype) != (y.shape, y.dtype):
        return False
    if x.dtype.kind not in "fc":
        return np.array_equal(x, y)
    tolerance = np.finfo(x.dtype).eps ** 0.5
    return np.allclose(x, y, rtol=tolerance, atol=tolerance * np.abs(y).max(initial=0), equal_nan=True)
