"""SciPy's compiled filters, whose work threads share while they filter an array of ours.

`scipy.ndimage` goes through an image line by line, window by window or point by point, in C code that
releases Python's lock. Each element is computed from the input alone, so a part of the output has the bits
that it has in the whole: threads fill one part each.

- `CUTS` names the compiled functions, and methods of distributions, which compute with whole arrays. It says
  how a call of each is cut.
- `CALLERS` names the functions that users call. While one of them runs that was given an array of ours, the
  compiled functions that this thread calls are cut; all other calls are SciPy's own.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable, Iterable
from functools import partial, wraps
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..._lazy.config import threads
from ..._lazy.cpu.sharing import slices
from ..._lazy.cpu.spreading import PARALLEL, spread
from ..._lazy.graph.node import tapes
from ..core.array import Array
from .doors import keep_capabilities, put_in
from .imports import after_import

# Steps of the smallest part: 0.5 ms, or ten times what it takes to wake a thread and pass it Python's lock.
_STEPS = 1 << 19
# Steps for an element of a filter along lines that has no weights, for one that is ranked, and for a section
# of a filter.
_PLAIN, _RANKED, _SECTION = 4, 12, 5
# Steps for a point of a transform, and for each weight of the spline there.
_POINT, _WEIGHT = 10, 3
# Steps for a place at which a distribution is asked.
_OF_A_PLACE = 20
# Steps for a segment of a short-time transform, which SciPy takes by itself in Python, and for a point of it.
_OF_A_SEGMENT, _OF_ITS_POINT = 20_000, 10
# The code that ndimage has for edges where an image is continued by its other end.
_WRAP = 1


class Work(NamedTuple):
    """What a call does: `fill` computes a part of an axis of length `n`; the whole takes so many steps."""

    fill: Callable[[slice], object]
    n: int
    # Each is about a nanosecond.
    steps: int
    # The length of the shortest part that is worth its margins.
    shortest: int = 1
    # Returns what the call returns, once all is computed.
    result: Callable[[], Any] = lambda: None


# Returns the work of a call, or None where it is not cut.
Cut = Callable[..., Work | None]


# -- how calls are cut ---------------------------------------------------------------------------------


def _at(axis: int, part: slice) -> tuple[slice, ...]:
    return (slice(None),) * axis + (part,)


def _longest(shape: tuple[int, ...], but: int = -1) -> int:
    """Return the longest axis, but one; of equals, the first."""
    return max(range(len(shape)), key=lambda a: (a != but, shape[a]))


def _call(function: Callable[..., Any], args: tuple[Any, ...], instead: dict[int, Any]) -> None:
    function(*[instead.get(i, a) for i, a in enumerate(args)])


def _are_one(x: np.ndarray, out: np.ndarray) -> bool:
    return x.ctypes.data == out.ctypes.data and x.strides == out.strides


def _lines(axis: int, output: int, weights: int | None = None) -> Cut:
    """Cut between the lines that a filter goes along.

    The image is the first argument; `axis`, `output` and `weights` are the places of these.
    """

    def cut(function: Callable[..., Any], *args: Any) -> Work | None:
        x, along, out = args[0], args[axis], args[output]
        if x.ndim < 2 or (np.may_share_memory(x, out) and not _are_one(x, out)):
            return None
        k = _longest(x.shape, along)

        def fill(part: slice) -> None:
            _call(function, args, {0: x[_at(k, part)], output: out[_at(k, part)]})

        each = _PLAIN if weights is None else args[weights].size
        return Work(fill, x.shape[k], out.size * each) if x.shape[k] >= threads() else None

    return cut


def _windows(weights: int, output: int, mask: int | None = None, each: int = 1) -> Cut:
    """Cut along the longest axis; a part is filtered with what its windows reach beyond it.

    An element of a window takes `each` steps. The mode comes after the output, but where there is a mask: the
    image is continued by a constant there.
    """

    def cut(function: Callable[..., Any], *args: Any) -> Work | None:
        x, out = args[0], args[output]
        if not x.ndim or np.may_share_memory(x, out) or (mask is None and args[output + 1] == _WRAP):
            return None
        k = _longest(x.shape)
        n, reach = x.shape[k], max(args[weights].shape)
        margined = {i: args[i] for i in (0, mask) if i is not None and args[i] is not None}

        def fill(part: slice) -> None:
            first = max(part.start - reach, 0)
            within = {i: v[_at(k, slice(first, part.stop + reach))] for i, v in margined.items()}
            filtered = np.empty(within[0].shape, out.dtype)
            _call(function, args, {**within, output: filtered})
            out[_at(k, part)] = filtered[_at(k, slice(part.start - first, part.stop - first))]

        return Work(fill, n, out.size * args[weights].size * each, 2 * reach)

    return cut


_masked_windows = _windows(weights=1, output=3, mask=2)


def _erosion(function: Callable[..., Any], *args: Any) -> Work | None:
    """Cut as other windows are; the call returns whether an element has changed."""
    x, out, with_list = args[0], args[3], args[8]
    work = None if with_list else _masked_windows(function, *args)
    return work and work._replace(result=lambda: int(np.any(out != (x != 0))))


_between_lines = _lines(axis=2, output=3)
_between_weighted_lines, _along_a_line = _lines(2, 3, weights=1), _windows(weights=1, output=3)


def _weighted_lines(function: Callable[..., Any], *args: Any) -> Work | None:
    """Cut between lines, or along a line: the windows of each element have a sum of their own."""
    return _between_weighted_lines(function, *args) or _along_a_line(function, *args)


def _points(function: Callable[..., Any], *args: Any) -> Work | None:
    """Cut between the points of a transform whose coordinates are given."""
    x, places, out = args[0], args[2], args[5]
    if places is None or not out.ndim or np.may_share_memory(x, out) or np.may_share_memory(places, out):
        return None
    k = _longest(out.shape)

    def fill(part: slice) -> None:
        _call(function, args, {2: places[_at(k + 1, part)], 5: out[_at(k, part)]})

    return Work(fill, out.shape[k], out.size * _steps_of_point(args[6], x.ndim))


def _steps_of_point(order: int, ndim: int) -> int:
    return _POINT + _WEIGHT * (order + 1) ** ndim


# Of a shift that is a multiple of this, its sum with a number of an element has no rounding.
_EXACT = 2.0**-20


def _zoomed(function: Callable[..., Any], *args: Any) -> Work | None:
    """Cut along an axis where the number of a part's first element can be added to the shift."""
    x, _, shift, out, order = args[:5]
    shifts = np.zeros(out.ndim) if shift is None else shift
    lengths = [n * (abs(b) < 1 / _EXACT and b % _EXACT == 0) for n, b in zip(out.shape, shifts, strict=True)]
    if not any(lengths) or np.may_share_memory(x, out):
        return None
    k = lengths.index(max(lengths))

    def fill(part: slice) -> None:
        moved = shifts + part.start * (np.arange(out.ndim) == k)
        _call(function, args, {2: moved, 3: out[_at(k, part)]})

    return Work(fill, out.shape[k], out.size * _steps_of_point(order, out.ndim))


def _signals(function: Callable[..., Any], sos: Any, x: np.ndarray, zi: np.ndarray) -> Work | None:
    """Cut between signals, which are filtered in place."""
    if x.dtype == object:  # whose numbers are computed with under Python's lock
        return None
    return Work(lambda part: function(sos, x[part], zi[part]), len(x), x.size * len(sos) * _SECTION)


def _product(function: Callable[..., Any], n: int, *args: Any) -> Work:
    """Cut between the rows of a sparse matrix, by which vectors are multiplied."""
    (starts, columns, elements, x, out), sizes = args[-5:], args[:-5]
    width = len(out) // n if n else 0

    def fill(part: slice) -> None:
        rows = part.stop - part.start
        own = out[part.start * width : part.stop * width]
        function(rows, *sizes, starts[part.start : part.stop + 1], columns, elements, x, own)

    return Work(fill, n, len(elements) * width)


# Metrics whose parameters are found from all rows, unless they are given; and the other names of these.
_OF_ALL_ROWS = {"seuclidean", "se", "s", "mahalanobis", "mahal", "mahala"}


def _distances(
    function: Callable[..., Any], XA: Any, XB: Any, metric: Any = "euclidean", **options: Any
) -> Work | None:
    """Cut between the rows of the first table."""
    if (
        not isinstance(metric, str)
        or metric.lower().removeprefix("test_") in _OF_ALL_ROWS
        or "out" in options
    ):
        return None
    a, b = np.asarray(XA), np.asarray(XB)
    if a.ndim != 2 or b.ndim != 2 or np.longdouble in (a.dtype, b.dtype):
        return None
    out = np.empty((len(a), len(b)))

    def fill(part: slice) -> None:
        function(a[part], b, metric, out=out[part], **options)

    return Work(fill, len(a), out.size * max(a.shape[1] // 2, 2), result=lambda: out)


# SciPy's own distributions compute with arrays in these methods, or one number after the other.
_FORMULAS = {"pdf": "_pdf", "logpdf": "_pdf", "pmf": "_pmf", "logpmf": "_pmf", "ppf": "_ppf", "isf": "_ppf"}
_FORMULAS |= dict.fromkeys(("cdf", "logcdf", "sf", "logsf"), "_cdf")


def _places(function: Callable[..., Any], self: Any, *args: Any, **options: Any) -> Work | None:
    """Cut between the places at which a distribution is asked, where its parameters are numbers."""
    formula = getattr(type(self), _FORMULAS[function.__name__]).__module__
    if not formula.startswith("scipy.") or formula == "scipy.stats._distn_infrastructure" or not args:
        return None
    x, *parameters = args
    if not isinstance(x, Array | np.ndarray) or any(map(np.ndim, (*parameters, *options.values()))):
        return None
    places = np.asarray(x)
    if not places.ndim or places.dtype.kind not in "fiub" or places.dtype == np.longdouble:
        return None
    k, out, here = _longest(places.shape), np.empty(places.shape), contextvars.copy_context()

    def fill(part: slice) -> None:
        # NumPy's error state is the caller's.
        out[_at(k, part)] = here.copy().run(function, self, places[_at(k, part)], *parameters, **options)

    return Work(fill, places.shape[k], out.size * _OF_A_PLACE, result=lambda: out)


def _segments(
    function: Callable[..., Any],
    self: Any,
    x: Any,
    detr: Any,
    p0: int | None = None,
    p1: int | None = None,
    *,
    k_offset: int = 0,
    padding: str = "zeros",
    axis: int = -1,
) -> Work | None:
    """Cut between the segments of a short-time Fourier transform; those of a part are transformed at once.

    A linear trend is found for all of them together, so that its last bits may differ.
    """
    n = x.shape[axis]
    if n < self.m_num - self.m_num_mid or (self.onesided_fft and x.dtype.kind == "c"):
        return None
    each = _OF_A_SEGMENT + x.size // n * self.m_num * _OF_ITS_POINT
    if n // self.hop * each < 2 * _STEPS or detr not in (None, "constant", "linear"):
        return None
    x, (p0, p1) = np.moveaxis(np.asarray(x), axis, -1), self.p_range(n, p0, p1)
    segments = [*self._x_slices(x, k_offset, p0, p1, padding)]
    out = np.zeros((*x.shape[:-1], self.f_pts, len(segments)), complex)

    def fill(part: slice) -> None:
        some = np.stack(segments[part], axis=-2)
        if detr is not None:
            some = sys.modules["scipy.signal"].detrend(some, type=detr)
        rows = self._fft_func((some * self.win.conj()).reshape(-1, self.m_num))
        out[..., part] = rows.reshape(*some.shape[:-1], -1).swapaxes(-1, -2)

    def result() -> np.ndarray:
        return np.moveaxis(out, -2, axis if axis >= 0 else axis - 1) if x.ndim > 1 else out

    return Work(fill, len(segments), len(segments) * each, result=result)


class Shared(NamedTuple):
    """A function, its module, and how its calls are cut."""

    module: str
    name: str
    cut: Cut


CUTS = (
    Shared("scipy.ndimage._nd_image", "correlate1d", _weighted_lines),
    Shared("scipy.ndimage._nd_image", "uniform_filter1d", _between_lines),
    Shared("scipy.ndimage._nd_image", "min_or_max_filter1d", _between_lines),
    Shared("scipy.ndimage._nd_image", "spline_filter1d", _between_lines),
    Shared("scipy.ndimage._nd_image", "correlate", _windows(weights=1, output=2)),
    Shared("scipy.ndimage._nd_image", "min_or_max_filter", _windows(weights=1, output=3)),
    Shared("scipy.ndimage._nd_image", "rank_filter", _windows(weights=2, output=3, each=_RANKED)),
    Shared("scipy.ndimage._nd_image", "geometric_transform", _points),
    Shared("scipy.ndimage._nd_image", "zoom_shift", _zoomed),
    Shared("scipy.ndimage._nd_image", "binary_erosion", _erosion),
    Shared("scipy.signal._short_time_fft", "ShortTimeFFT.stft_detrend", _segments),
    Shared("scipy.signal._sosfilt", "_sosfilt", _signals),
    Shared("scipy.signal._upfirdn_apply", "_apply", _lines(axis=5, output=2, weights=1)),
    Shared("scipy.sparse._sparsetools", "csr_matvec", _product),
    Shared("scipy.sparse._sparsetools", "csr_matvecs", _product),
    Shared("scipy.spatial.distance", "cdist", _distances),
    *[
        Shared("scipy.stats", f"rv_{kind}.{name}", _places)
        for kind, density in (("continuous", "pdf"), ("discrete", "pmf"))
        for name in (density, f"log{density}", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
    ],
)

# Modules, and those of their functions and methods that lead to the ones above; none: all.
CALLERS = {
    "scipy.ndimage": "",
    "scipy.signal": "savgol_filter sosfilt sosfiltfilt decimate resample_poly upfirdn welch csd coherence "
    "ShortTimeFFT.stft ShortTimeFFT.stft_detrend ShortTimeFFT.spectrogram",
    "scipy.sparse._base": "_spbase.__matmul__ _spbase.dot",
    "scipy.sparse.linalg": "",
    "scipy.spatial.distance": "cdist",
    "scipy.stats": " ".join([row.name for row in CUTS if row.module == "scipy.stats"]),
}


# -- calls ---------------------------------------------------------------------------------------------


class _Calling(threading.local):
    """Whether this thread runs a call that was given an array of ours."""

    ours = False


_calling = _Calling()


def shared(function: Callable[..., Any], cut: Cut) -> Callable[..., Any]:
    """Return a function whose calls threads share, within calls that were given an array of ours."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        work = cut(function, *args, **kwargs) if _calling.ours and threads() > 1 else None
        parts = (PARALLEL * threads(), work.n // work.shortest, work.steps // _STEPS) if work else (0,)
        if work is None or min(parts) < 2:
            return function(*args, **kwargs)

        def fill(some: Iterable[slice]) -> None:
            for part in some:
                work.fill(part)

        spread(fill, slices(work.n, min(parts)), in_order=False, least=1)
        return work.result()

    return call


def caller(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function within whose calls with arrays of ours threads share what `CUTS` names.

    A transform is to see its arrays as they are.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        ours = [x for x in (*args, *kwargs.values()) if type(x) is Array]
        if _calling.ours or tapes or not ours or any([x._levels for x in ours]):
            return function(*args, **kwargs)
        _calling.ours = True
        try:
            return function(*args, **kwargs)
        finally:
            _calling.ours = False

    return call


# A release of SciPy that lacks a name of the tables computes in another way: it is only not shared.


def _share(row: Shared, module: ModuleType) -> None:
    owner, _, name = row.name.rpartition(".")
    holder = getattr(module, owner) if owner else module
    if hasattr(holder, name):
        made = shared(getattr(holder, name), row.cut)
        if owner:
            setattr(holder, name, made)
        else:
            put_in(module, {name: made})


def _watch(names: str, module: ModuleType) -> None:
    for name in names.split() or [n for n in module.__all__ if isinstance(getattr(module, n), FunctionType)]:
        owner, _, attribute = name.rpartition(".")
        holder = getattr(module, owner, None) if owner else module
        original = getattr(holder, attribute, None)
        if original is None:
            continue
        made = caller(original)
        made.__module__ = module.__name__  # where `pickle` finds it
        setattr(holder, attribute, made)
        keep_capabilities(original, made)


for _row in CUTS:
    after_import(_row.module, partial(_share, _row))
for _name, _names in CALLERS.items():
    after_import(_name, partial(_watch, _names))
