"""Averages, quantiles, correlations, histograms."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..._lazy.cpu.calls import quiet
from ..._lazy.cpu.faults import unheard
from ..._lazy.cpu.spreading import spread
from ..._lazy.graph.node import tapes
from ..._lazy.ops.indexing import scatter
from ..._lazy.ops.ordering import FEW_RANKS, SOUGHT, search
from ..._lazy.rules.concretization import differentiating
from ..chapters.creation import asarray, linspace
from ..chapters.elementwise import (
    clip,
    conj,
    greater_equal,
    isnan,
    logical_and,
    multiply,
    sqrt,
    subtract,
)
from ..chapters.filling import zeros
from ..chapters.joining import join
from ..chapters.manipulation import broadcast_to, reshape
from ..chapters.searching import pick, searchsorted
from ..chapters.sorting import sort
from ..chapters.statistical import kept
from ..chapters.statistical import max as max_
from ..chapters.statistical import min as min_
from ..chapters.statistical import sum as sum_
from ..core.array import Array, apply, current, from_value
from ..core.outputs import deliver
from ..core.promotion import SCALARS, as_array, astype, check_override, full, normalize_axes, normalize_axis
from ..dispatch import eager, fastpath
from ..interop.functions import host_call, to_host
from .described import eager_numpys, numpys, of_family
from .numbers import inexact
from .ordering import partition, ranked_size

if TYPE_CHECKING:
    from ..core.types import ArrayLike, Axis, DTypeLike, Out

_F64 = np.dtype(np.float64)
_INTP = np.dtype(np.intp)


@eager_numpys()
def ptp(a: ArrayLike, axis: Axis = None, out: Out = None, keepdims: bool = False) -> Array:
    """Return the range of the elements along axes: the largest less the smallest.

    >>> xp.ptp([[1, 5], [4, 2]], axis=1)
    array([4, 2])
    """
    x = as_array("ptp", a)
    y = subtract(max_(x, axis, keepdims=keepdims), min_(x, axis, keepdims=keepdims))
    return deliver("ptp", out, y)


@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: Literal[False] = False,
    *,
    keepdims: bool = False,
) -> Array: ...
@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[Array, Array]: ...
@eager_numpys()
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """Return the mean along axes, of weighted elements if weights are given.

    >>> xp.average([1.0, 2.0, 4.0], weights=[1, 1, 2])
    np.float64(2.75)
    """
    x = as_array("average", a)
    if weights is None:
        y = inexact("average", x).mean(axis, keepdims=keepdims)
        if not returned:
            return y
        return y, full(y.shape, x.size / max(y.size, 1), y.dtype)
    w = as_array("average", weights)
    dtype = np.result_type(x.dtype, w.dtype, *([_F64] if x.dtype.kind in "biu" else []))
    axes = normalize_axes("average", axis, x.ndim)
    if w.shape != x.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        given = axis if isinstance(axis, tuple) else (axis,)
        given = tuple(normalize_axis("average", k, x.ndim) for k in given)
        if w.shape != tuple(x.shape[k] for k in given):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        w = w.transpose([given.index(k) for k in axes])
        w = reshape(w, tuple(n if k in axes else 1 for k, n in enumerate(x.shape)))
    scale = sum_(broadcast_to(astype(w, dtype), x.shape), axis, keepdims=keepdims)
    if not np.all(scale._value()):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    y = sum_(multiply(astype(x, dtype), w), axis, keepdims=keepdims, dtype=dtype) / scale
    return (y, broadcast_to(scale, y.shape)) if returned else y


# -- quantiles ---------------------------------------------------------------------------------------

# Where the quantile q of n elements lies, counted from 0 (Hyndman and Fan's nine definitions).
_PLACES: dict[str, Callable[[Any, int], Any]] = {
    "linear": lambda q, n: (n - 1) * q,
    "lower": lambda q, n: np.floor((n - 1) * q),
    "higher": lambda q, n: np.ceil((n - 1) * q),
    "midpoint": lambda q, n: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
    "weibull": lambda q, n: n * q + q - 1,
    "hazen": lambda q, n: n * q - 0.5,
    "interpolated_inverted_cdf": lambda q, n: n * q - 1,
    "median_unbiased": lambda q, n: n * q + (q + 1) / 3 - 1,
    "normal_unbiased": lambda q, n: n * q + (q + 1.5) / 4 - 1,
}


def in_rows(function: str, a: Any, axis: Any) -> tuple[Array, tuple[int, ...]]:
    """Return the elements along a last axis that stands for `axis`, and the shape with those axes kept."""
    x = as_array(function, a)
    axes = normalize_axes(function, axis, x.ndim)
    rest = tuple(k for k in range(x.ndim) if k not in axes)
    rows = x.transpose((*rest, *axes)) if x.ndim else x
    count = math.prod(x.shape[k] for k in axes)
    return reshape(rows, (*[x.shape[k] for k in rest], count)), kept(x, axes)


def ranked(rows: Array, ranks: Iterable[int]) -> Array:
    """Return rows with the elements of these ranks, and the last (nan, if any), where sorting puts them."""
    wanted = {*ranks, rows.shape[-1] - 1}
    # Of sorting the derivative is shorter.
    if len(wanted) > FEW_RANKS or (tapes and differentiating(current(rows))):
        return sort(rows, axis=-1)
    return partition(rows, sorted(wanted))


def between(low: Array, high: Array, t: Any) -> Array:
    """Return ``low + (high - low) * t``, exact at both ends."""
    off = subtract(high, low)
    return pick(greater_equal(t, 0.5), high - off * (1 - t), low + off * t)


def checked_fractions(q: Array, percent: bool) -> np.ndarray:
    """Return the parts of 1 that quantiles are asked for at."""
    fractions = q._value() / 100 if percent else np.asarray(q._value())
    if q.dtype.kind not in "fc":
        fractions = fractions.astype(np.float64)
    if not ((fractions >= 0) & (fractions <= 1)).all():
        name, most = ("Percentiles", 100) if percent else ("Quantiles", 1)
        raise ValueError(f"{name} must be in the range [0, {most}]")
    return fractions


@unheard()
def _quantile(
    function: str, percent: bool, x: Array, q: Any, axis: Any, method: str, keepdims: bool, weights: Any
) -> Array:
    if weights is not None or method not in _PLACES or x.dtype.kind == "b":
        return quantiles_on_host(function, x, q, axis, method, keepdims, weights)
    if x.dtype.kind == "c":
        raise TypeError(f"a must be an array of real numbers, not {x.dtype}")
    dtype = quantile_dtype(percent, x.dtype, q, method)
    if x.dtype.kind in "iu" and method not in ("lower", "higher"):
        x = astype(x, _F64)
    given = as_array(function, q)
    fractions = checked_fractions(given, percent)
    if fractions.ndim > 2:
        raise ValueError(f"{function}: q has more than two axes")
    rows, shape = in_rows(function, x, axis)
    n = rows.shape[-1]
    if not n:
        raise IndexError(f"{function}: no elements along the axis")
    place = np.clip(np.asarray(_PLACES[method](fractions, n)), 0, n - 1)
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, n - 1)
    rows = ranked(rows, np.append(below, above).tolist())
    rest = tuple(range(rows.ndim - 1))

    def at(index: np.ndarray) -> Array:
        found = rows[..., index.reshape(-1)]
        return reshape(found.transpose((len(rest), *rest)), (*index.shape, *rows.shape[:-1]))

    low = at(below)
    if method in ("lower", "higher") or (method == "linear" and not percent and given.dtype.kind in "iu"):
        y = low  # the least and the largest are elements, also where they are infinite
    else:
        t: Any = place - below
        if tapes and type(q) not in SCALARS:  # a derivative by q goes through
            exact = astype(given, fractions.dtype) / (100 if percent else 1)
            t = clip(_PLACES[method](exact, n), 0, n - 1) - below
        t = t.reshape(t.shape + (1,) * len(rest))
        y = between(low, at(above), t.item() if type(q) in SCALARS else t)
    if x.dtype.kind == "f":  # nan goes last, and spreads
        last = rows[..., -1]
        y = pick(isnan(last), np.nan, y)
    return astype(reshape(y, (*fractions.shape, *shape)) if keepdims else y, dtype)


def quantile_dtype(percent: bool, dtype: np.dtype, q: Any, method: str) -> np.dtype:
    """Return the dtype of NumPy's quantiles, which depends on that of `q` in ways of its own."""
    zeros: Any = np.zeros(q.shape, q.dtype) if isinstance(q, Array) else q
    numpys: Any = np.percentile if percent else np.quantile
    return numpys(np.zeros(2, dtype), zeros, method=method).dtype


def quantiles(
    make: Callable[..., Any], name: str, find: Callable[..., Array], summary: str, example: str, result: str
) -> Callable[..., Array]:
    """Let `make` make NumPy's function of this name; `find` is told whether `q` is in percent."""

    def call(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Any = None,
    ) -> Array:
        check_override(name, q)
        y = find(name, name.endswith("percentile"), as_array(name, a), q, axis, method, keepdims, weights)
        return deliver(name, out, y)

    return make(of_family(call, name, summary, example, result))


def quantiles_on_host(
    name: str, x: Array, q: Any, axis: Any, method: str, keepdims: bool, weights: Any
) -> Array:
    """Return what NumPy's function of this name gives."""
    options = {"axis": axis, "method": method, "keepdims": keepdims, "weights": weights}
    return as_array(name, host_call(getattr(np, name), name, (x, q), options))


_ranking = eager_numpys(elements=lambda a, q, axis=None, *_, **__: ranked_size(a, axis))
quantile = quantiles(
    _ranking, "quantile", _quantile, "Return quantiles along axes.", "[1, 2, 4], 0.5", "np.float64(2.0)"
)
percentile = quantiles(
    _ranking,
    "percentile",
    _quantile,
    "Return percentiles along axes.",
    "[1, 2, 4], 75",
    "np.float64(3.0)",
)


@eager_numpys(elements=lambda a, axis=None, *_, **__: ranked_size(a, axis))
def median(
    a: ArrayLike, axis: Axis = None, out: Out = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """Return the middle element along axes, or the mean of the two in the middle.

    >>> xp.median([3.0, 1.0, 2.0, 10.0])
    np.float64(2.5)
    """
    rows, shape = in_rows("median", a, axis)
    n = rows.shape[-1]
    if not n:
        y = inexact("median", rows).mean(-1)
    else:
        rows = ranked(rows, ((n - 1) // 2, n // 2))
        y = inexact("median", rows[..., (n - 1) // 2 : n // 2 + 1]).mean(-1)
        if rows.dtype.kind in "fc":
            last = rows[..., -1]
            y = pick(isnan(last), last, y)
    return deliver("median", out, reshape(y, shape) if keepdims else y, "unsafe")


# -- correlation -------------------------------------------------------------------------------------


@eager_numpys()
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return the covariance matrix of variables, each a row of observations.

    >>> xp.cov([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    parts = [as_array("cov", p) for p in ((m,) if y is None else (m, y))]
    if any(p.ndim > 2 for p in parts):
        raise ValueError(f"{'m' if parts[0].ndim > 2 else 'y'} has more than 2 dimensions")
    wide = np.dtype(dtype) if dtype is not None else np.result_type(*[p.dtype for p in parts], _F64)
    rows = [astype(p if p.ndim == 2 else reshape(p, (1, -1)), wide) for p in parts]
    rows = [p.T if not rowvar and p.shape[0] != 1 else p for p in rows]
    x = join("cov", rows, axis=0) if len(rows) > 1 else rows[0]
    if not x.shape[0]:
        return zeros((0, 0))
    ddof = ddof if ddof is not None else 0 if bias else 1
    w = _cov_weights(fweights, aweights, x.shape[1])
    mean = average(x, axis=1, weights=w)
    total: Any = x.shape[1] if w is None else w.sum()
    if aweights is None or ddof == 0:
        fact = total - ddof
    else:
        fact = total - ddof * (w * as_array("cov", aweights)).sum() / total
    fact = fact if fact > 0 else 0.0
    off = astype(x - reshape(mean, (-1, 1)), x.dtype)
    fact = astype(fact, off.real.dtype) if type(fact) is Array else float(fact)
    weighted = off if w is None else off * w
    # The very elements, transposed: BLAS multiplies these in half the time.
    turned = conj(weighted.T) if weighted.dtype.kind == "c" else weighted.T
    products = off @ turned
    scaled = products * np.true_divide(1, fact)  # not divided by it: NumPy's bits
    return astype(scaled, products.dtype).squeeze()


def _cov_weights(fweights: Any, aweights: Any, n: int) -> Array | None:
    w = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        x = as_array("cov", given)
        if name == "fweights" and not np.all(x._value() == np.around(x._value())):
            raise TypeError("fweights must be integer")
        if x.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if x.size != n:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if (x._value() < 0).any():
            raise ValueError(f"{name} cannot be negative")
        x = astype(x, _F64)
        w = x if w is None else w * x
    return w


@eager_numpys()
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, *, dtype: DTypeLike | None = None
) -> Array:
    """Return the correlation coefficients of variables, each a row of observations.

    >>> xp.corrcoef([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    scale = sqrt(c[(np.arange(len(c)),) * 2].real)
    c = c / reshape(scale, (-1, 1)) / scale
    if c.dtype.kind == "c":
        return clip(c.real, -1, 1) + 1j * clip(c.imag, -1, 1)
    return clip(c, -1, 1)


# -- counting ----------------------------------------------------------------------------------------


@eager_numpys(large=np.bincount)
def bincount(x: ArrayLike, /, weights: ArrayLike | None = None, minlength: int = 0) -> Array:
    """Return how often each integer from 0 on occurs, or the sum of the weights that it has.

    >>> xp.bincount([0, 2, 2])
    array([1, 0, 2])
    """
    index = as_array("bincount", x)
    if index.ndim != 1:
        raise ValueError(f"object too {'deep' if index.ndim else 'shallow'} for desired array")
    given = index.size or isinstance(x, Array | np.ndarray)  # an empty list is one of integers
    if given and index.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from {index.dtype} to {_INTP} according to the rule 'safe'")
    value = index._value().astype(np.intp, copy=False)
    if operator.index(minlength) < 0:
        raise ValueError("'minlength' must not be negative")
    if weights is None:
        return from_value(np.bincount(value, minlength=minlength))
    w = as_array("bincount", weights)
    if w.dtype.kind == "c":
        raise TypeError(f"Cannot cast array data from {w.dtype} to {_F64} according to the rule 'safe'")
    if w.shape != index.shape:
        raise ValueError("The weights and list don't have the same length.")
    if not w.size:
        return zeros((minlength,), dtype=_INTP)
    w = astype(w, _F64)
    known = eager.at_hand(w)
    if known is not None:
        return from_value(np.bincount(value, known, minlength))
    if value.min() < 0:
        raise ValueError("'list' argument must have no negative elements")
    n = max(int(value.max()) + 1, minlength)
    return added_at(zeros((n,)), astype(index, _INTP), w)


def added_at(x: Array, index: Array, values: Array) -> Array:
    """Return `x`, of one axis, with values added at indices."""
    return apply(scatter, x, values, index, axes=(0,), batch=0, mode="add")


def _is_rising(edges: np.ndarray) -> bool:
    """Say whether bins rise, or fall; of those that are not in order, raise what NumPy does."""
    steps = (edges[1:] != edges[:-1]).nonzero()[0]
    if not steps.size:
        return True
    earlier, later = edges[steps[0] : -1], edges[steps[0] + 1 :]
    is_rising = bool(earlier[0] < later[0])
    if ((later < earlier) if is_rising else (earlier < later)).any():
        raise ValueError("bins must be monotonically increasing or decreasing")
    return is_rising


def _host_digitize(x: Any, bins: Any, right: Any = False) -> Any:
    """Return what `np.digitize` gives, for many numbers in a part of the time."""
    edges = np.asarray(bins)
    are_many = type(x) is np.ndarray and x.size >= SOUGHT
    if not are_many or edges.ndim != 1 or {x.dtype.kind, edges.dtype.kind} - {*"fiub"}:
        return np.digitize(x, bins, right)
    side = "left" if right else "right"
    return search(edges, x, side) if _is_rising(edges) else edges.size - search(edges[::-1], x, side)


@fastpath.whole(_host_digitize)
@numpys
def digitize(x: ArrayLike, bins: Any, right: bool = False) -> Array:
    """Return the numbers of the bins that elements fall into.

    >>> xp.digitize([0.2, 6.4, 3.0], [0.0, 1.0, 2.5, 4.0])
    array([1, 4, 3])
    """
    values, edges = as_array("digitize", x), as_array("digitize", bins)
    if values.dtype.kind == "c":
        raise TypeError("x may not be complex")
    if edges.dtype.kind == "c":
        raise TypeError("digitize: bins may not be complex")
    known = edges._value()
    if known.ndim != 1:
        raise ValueError("object too deep for desired array" if known.ndim else "object of too small depth")
    side: Any = "left" if right else "right"
    if _is_rising(known):
        return searchsorted(edges, values, side=side)
    return known.size - searchsorted(edges[::-1], values, side=side)


@numpys
def histogram_bin_edges(
    a: ArrayLike, bins: Any = 10, range: Any = None, weights: ArrayLike | None = None
) -> Array:
    """Return the edges of the bins of a histogram.

    >>> xp.histogram_bin_edges([0.0, 4.0], bins=4)
    array([0., 1., 2., 3., 4.])
    """
    x = as_array("histogram_bin_edges", a)
    given = bins._value() if type(bins) is Array else bins
    limits, w = to_host("histogram_bin_edges", [range, weights])
    known = np.histogram_bin_edges(x._value(), given, limits, w)
    if tapes and type(bins) is Array and bins.ndim:
        return bins
    if tapes and range is None and np.ndim(given) == 0 and differentiating(current(x)):
        low, high = min_(x), max_(x)
        off = 0.0 if known[0] == low._value() else 0.5  # there is no range between equal elements
        return astype(linspace(low - off, high + off, known.size), known.dtype)
    return from_value(known)


@eager_numpys()
def histogram(
    a: ArrayLike, bins: Any = 10, range: Any = None, density: Any = None, weights: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Return how many elements fall into each bin, and the edges of the bins.

    >>> xp.histogram([1, 2, 1], bins=[0, 1, 2, 3])
    (array([0, 2, 1]), array([0, 1, 2, 3]))
    """
    x = as_array("histogram", a)
    w = None if weights is None else as_array("histogram", weights)
    if w is not None:
        current(w)
    if not (tapes or (w is not None and w._levels)):
        given, limits, known = to_host("histogram", [bins, range, w])  # no tape runs
        counts, edges = _counted(x._value(), given, limits, density, known)
        return from_value(counts), from_value(edges)
    # Within transforms, the weights and the edges stay what is transformed.
    bounds = histogram_bin_edges(x, bins, range)
    if w is None:
        counts_ = from_value(np.histogram(x._value(), bounds._value())[0])
    else:
        counts_ = _weighed(x, bounds, w)
    if density:
        return counts_ / (bounds[1:] - bounds[:-1]) / counts_.sum(), bounds
    return counts_, bounds


# Elements from which on a histogram is made of those of parts.
_PART = 1 << 18


def _counted(x: np.ndarray, bins: Any, limits: Any, density: Any, weights: Any) -> tuple[Any, Any]:
    """Return NumPy's histogram; of many elements in bins of one size, on several threads."""
    many = x.size // _PART
    simple = type(bins) is int and bins > 0 and not density and x.dtype.kind == "f"
    if many < 2 or not simple or limits is not None or (weights is not None and weights.shape != x.shape):
        return np.histogram(x, bins, limits, density, weights)
    limits = x.min(), x.max()
    if not np.isfinite(limits).all():  # told of by NumPy
        return np.histogram(x, bins, None, density, weights)
    flat, w = x.reshape(-1), None if weights is None else weights.reshape(-1)
    cuts = np.linspace(0, x.size, many + 1).astype(int).tolist()

    def count(parts: Iterable[tuple[int, int]]) -> list[np.ndarray]:
        given = [(flat[a:b], None if w is None else w[a:b]) for a, b in parts]
        return [np.histogram(some, bins, limits, weights=own)[0] for some, own in given]

    counts = [n for part in quiet.copy().run(spread, count, list(pairwise(cuts))) for n in part]
    return np.sum(counts, axis=0, dtype=counts[0].dtype), np.histogram_bin_edges(flat[:1], bins, limits)


def _weighed(x: Array, bounds: Array, w: Array) -> Array:
    """Return the sums of the weights of what falls between bounds."""
    if w.shape != x.shape:
        raise ValueError("weights should have the same shape as a.")
    values, w = reshape(x, (-1,)), reshape(w, (-1,))
    n = bounds.size - 1
    place = searchsorted(bounds, values, side="right") - 1
    place = pick(values == bounds[-1], n - 1, place)
    inside = logical_and(place >= 0, place < n)
    total = np.result_type(w.dtype, np.int64) if w.dtype.kind in "biu" else w.dtype
    return added_at(
        zeros((n,), dtype=total), pick(inside, place, 0), astype(pick(inside, w, w.dtype.type(0)), total)
    )


@numpys
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: ArrayLike | None = None
) -> tuple[Array, list[Array]]:
    """Return how many points fall into each cell of a grid, and the edges of the cells.

    >>> counts, edges = xp.histogramdd(xp.asarray([[0.0, 0.0], [1.0, 1.0]]), bins=2)
    >>> counts
    array([[1., 0.],
           [0., 1.]])
    """
    if isinstance(sample, list | tuple):  # of coordinates, where an array's rows are points
        known: Any = [as_array("histogramdd", s)._value() for s in sample]
    else:
        known = as_array("histogramdd", sample)._value()
    many = bins if isinstance(bins, list | tuple) else [bins]
    given = [b._value() if type(b) is Array else b for b in many]
    limits, w = to_host("histogramdd", [range, weights])
    counts, edges = np.histogramdd(known, given if many is bins else given[0], limits, density, w)
    return from_value(counts), list(map(from_value, edges))


@numpys
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: ArrayLike | None = None,
) -> tuple[Array, Array, Array]:
    """Return how many points fall into each cell of a grid, and the edges along both axes.

    >>> xp.histogram2d([0.0, 1.0], [0.0, 1.0], bins=2)[0]
    array([[1., 0.],
           [0., 1.]])
    """
    a, b = as_array("histogram2d", x), as_array("histogram2d", y)
    if len(a) != len(b):
        raise ValueError("x and y must have the same length.")
    try:
        n = len(bins)
    except TypeError:
        n = 1
    both = bins if n in (1, 2) else [asarray(bins)] * 2
    counts, edges = histogramdd((a, b), both, range, density, weights)
    return counts, edges[0], edges[1]
