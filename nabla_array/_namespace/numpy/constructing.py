"""Arrays made: copies, ranges, matrices, windows, coordinates."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..._lazy.ops.structure import diagonal as diagonal_p
from ..chapters.creation import arange, array, asarray, eye, linspace
from ..chapters.elementwise import divide, log10, multiply, pow, sign, sqrt, subtract
from ..chapters.filling import ones, zeros
from ..chapters.joining import stack
from ..chapters.manipulation import broadcast_to, expand_dims, moveaxis, reshape
from ..chapters.searching import nonzero, pick
from ..core.array import Array, freeze, from_value, view, zero_d
from ..core.promotion import as_array, astype, check_kind, checked, fits, normalize_shape
from ..core.views import Flags, copied
from ..dispatch import fastpath
from ..interop.functions import to_host
from .described import eager_numpys, numpys, of_family
from .joining import along, with_axes
from .numbers import i0

if TYPE_CHECKING:
    from ..core.types import ArrayLike, DTypeLike, T

_F64 = np.dtype(np.float64)


@fastpath.whole(np.array, "copy")
@numpys
def copy(a: ArrayLike, order: str = "K", subok: bool = False) -> Array:
    """Return a copy of an array.

    >>> xp.copy([1, 2])
    array([1, 2])
    """
    return array(a) if order == "K" and type(a) is Array else zero_d(copied(as_array("copy", a), order))


@fastpath.whole(np.array, "asarray")
@numpys
def asanyarray(a: Any, dtype: DTypeLike | None = None, order: Any = None, **kwargs: Any) -> Array:
    """Return an array of what is given; an array itself, and so is one of a subclass of NumPy's.

    >>> xp.asanyarray([1, 2])
    array([1, 2])
    """
    if isinstance(a, np.ndarray):
        check_kind("asanyarray", a)
    return asarray(a, dtype=dtype, order=order, **kwargs)


@overload
def frombuffer(
    buffer: bytes, dtype: DTypeLike = float, count: int = -1, offset: int = 0, *, like: Any = None
) -> Array: ...
@overload
def frombuffer(
    buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0, *, like: Any = None
) -> Array | np.ndarray: ...
@numpys
def frombuffer(
    buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0, *, like: Any = None
) -> Any:
    """Return a copy of a buffer that cannot be written to, and NumPy's array on the memory of one that can.

    >>> xp.frombuffer(b"ab", dtype=xp.uint8)
    array([97, 98], dtype=uint8)
    """
    seen = np.frombuffer(to_host("frombuffer", buffer), dtype, count, offset)
    if seen.flags.writeable and type(buffer) is not Array:
        return seen  # others look at that memory (another process, say): what is written is for them
    x = from_value(checked("frombuffer", seen).copy())
    if type(buffer) is not Array:
        freeze(x, for_good=True)
    return x


def _in_order(name: str, order: str, summary: str) -> Callable[..., Array]:
    """Return `ascontiguousarray` or `asfortranarray`."""

    def call(a: Any, dtype: Any = None, *, like: Any = None) -> Array:
        return with_axes(asarray(a, dtype=dtype, order=order), 1)

    made = numpys(of_family(call, name, summary, "3", "array([3])"))
    return fastpath.wrap("ordered", made, name)


_SUMMARY = "Return an array of one axis or more, a copy of one that NumPy would not have in {} order."
ascontiguousarray = _in_order("ascontiguousarray", "C", _SUMMARY.format("C"))
asfortranarray = _in_order("asfortranarray", "F", _SUMMARY.format("Fortran's"))


@numpys
def asarray_chkfinite(a: ArrayLike, dtype: DTypeLike | None = None, order: Any = None) -> Array:
    """Return an array; raises ValueError where an element is infinite or nan.

    >>> xp.asarray_chkfinite([1, 2])
    array([1, 2])
    """
    x = asarray(a, dtype=dtype, order=order)
    if not np.isfinite(x._value()).all():
        raise ValueError("array must not contain infs or NaNs")
    return x


# NumPy's words for what memory is to be; the first letter tells them apart.
_REQUIREMENTS = (
    "A ALIGNED C C_CONTIGUOUS CONTIGUOUS E ENSUREARRAY F F_CONTIGUOUS FORTRAN O OWNDATA W WRITEABLE"
)
_KINDS = {word: word[0] for word in _REQUIREMENTS.split()}


@numpys
def require(
    a: ArrayLike, dtype: DTypeLike | None = None, requirements: Any = None, *, like: Any = None
) -> Array:
    """Return an array, or a copy where NumPy's, to fulfil requirements on its memory, would be one.

    >>> xp.require([1, 2], requirements=["C"])
    array([1, 2])
    """
    kinds = {_KINDS[str(r).upper()] for r in requirements or ()}
    if {"C", "F"} <= kinds:
        raise ValueError('Cannot specify both "C" and "F" order')
    x = asarray(a, dtype=dtype, order="C" if "C" in kinds else "F" if "F" in kinds else "A")
    flags = Flags(x)
    is_foreign = ("O" in kinds and not flags.owndata) or ("W" in kinds and not flags.writeable)
    return copied(x, "A") if is_foreign else x


@eager_numpys(way="numbers")
def identity(n: int, dtype: DTypeLike | None = None, *, like: Any = None) -> Array:
    """Return the identity matrix.

    >>> xp.identity(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, dtype=dtype)


@numpys
def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = float, *, like: Any = None) -> Array:
    """Return a matrix with ones at and below a diagonal.

    >>> xp.tri(2, 3)
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    return from_value(np.tri(operator.index(N), M, k, dtype))


@eager_numpys(elements=lambda x, N=None, *_, **__: fastpath.size(x) * (fastpath.size(x) if N is None else N))
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """Return a Vandermonde matrix: powers of the elements, in columns.

    >>> xp.vander([1, 2, 3], 3)
    array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]])
    """
    y = as_array("vander", x)
    if y.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = y.size if N is None else operator.index(N)
    y = astype(y, np.promote_types(y.dtype, np.dtype(int)))
    normalize_shape("vander", (y.size, n))
    columns = [ones(y.shape, dtype=y.dtype)] if n else []
    for _ in range(n - 1):
        columns.append(columns[-1] * y)
    if not columns:
        return zeros((y.size, 0), dtype=y.dtype)
    return stack(columns if increasing else columns[::-1], axis=1)


@numpys
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Return numbers whose logarithms are evenly spaced.

    >>> xp.logspace(0, 2, 3)
    array([  1.,  10., 100.])
    """
    if not isinstance(base, float | int) and np.ndim(base):  # a row of numbers for each base
        start, stop, base = [as_array("logspace", x) for x in (start, stop, base)]
        ndim = builtins.max(start.ndim, stop.ndim, base.ndim)
        start, stop, base = [with_axes(x, ndim) for x in (start, stop, base)]
        base = expand_dims(base, axis=axis)
    y = pow(base, linspace(start, stop, num=num, endpoint=endpoint, axis=axis))
    return y if dtype is None else astype(y, np.dtype(dtype))


@numpys
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: DTypeLike | None = None, axis: int = 0
) -> Array:
    """Return numbers each a constant multiple of the one before.

    >>> xp.geomspace(1, 8, 4)
    array([1., 2., 4., 8.])
    """
    a, b = as_array("geomspace", start), as_array("geomspace", stop)
    if not np.all(a._value()) or not np.all(b._value()):
        raise ValueError("Geometric sequence cannot include zero")
    wide = np.result_type(a.dtype, b.dtype, float(num), _F64 if dtype is None else dtype)
    a, b = astype(a, wide), astype(b, wide)
    out_sign = sign(a)
    a, b = divide(a, out_sign), divide(b, out_sign)
    y = logspace(log10(a), log10(b), num, endpoint)
    if num > 0:
        y[along(0, 0)] = a
        if num > 1 and endpoint:
            y[along(0, -1)] = b
    y = multiply(y, out_sign)
    if axis:
        y = moveaxis(y, 0, axis)
    return astype(y, wide if dtype is None else np.dtype(dtype))


@overload
def indices(dimensions: Iterable[int], dtype: DTypeLike = int, sparse: Literal[False] = False) -> Array: ...
@overload
def indices(
    dimensions: Iterable[int], dtype: DTypeLike = int, *, sparse: Literal[True]
) -> tuple[Array, ...]: ...
@numpys
def indices(dimensions: Any, dtype: DTypeLike = int, sparse: bool = False) -> Any:
    """Return the indices of a grid: an array for each axis, stacked unless they are sparse.

    >>> xp.indices((2, 2))[1]
    array([[0, 1],
           [0, 1]])
    """
    shape = normalize_shape("indices", tuple(dimensions))  # a number is none, here
    rows = [
        reshape(arange(n, dtype=dtype), (1,) * k + (n,) + (1,) * (len(shape) - k - 1))
        for k, n in enumerate(shape)
    ]
    if sparse:
        return tuple(rows)
    if not rows:
        return zeros((0,), dtype=dtype)
    return stack([broadcast_to(r, shape) for r in rows])


@numpys
def fromfunction(
    function: Callable[..., T], shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> T:
    """Return what a function makes of the coordinates of a grid.

    >>> xp.fromfunction(lambda i, j: i + j, (2, 2), dtype=int)
    array([[0, 1],
           [1, 2]])
    """
    return function(*indices(shape, dtype=dtype), **kwargs)


@fastpath.moving("Diagonal", diagonal_p)
@eager_numpys(elements=lambda v, k=0: (fastpath.size(v) + abs(k)) ** 2 if np.ndim(v) == 1 else 0)
def diag(v: ArrayLike, k: int = 0) -> Array:
    """Return a matrix with a vector on its diagonal, or the diagonal of a matrix: a read-only view.

    >>> xp.diag([1, 2])
    array([[1, 0],
           [0, 2]])
    """
    x = as_array("diag", v)
    if x.ndim == 2:
        return view(x, diagonal_p, offset=operator.index(k))
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = x.size + abs(k)
    fits("diag", (n, n), x.dtype.itemsize)
    column = np.arange(n)
    hit = column[:, None] + k == column
    spread = np.clip(column - max(k, 0), 0, max(x.size - 1, 0))
    if not x.size:
        return zeros((n, n), dtype=x.dtype)
    return pick(hit, x[spread], x.dtype.type(0))


@numpys
def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """Return a matrix with the flattened elements on its diagonal.

    >>> xp.diagflat([[1, 2]])
    array([[1, 0],
           [0, 2]])
    """
    return diag(reshape(as_array("diagflat", v), (-1,)), k)


@numpys
def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Return the indices of the main diagonal.

    >>> xp.diag_indices(2)
    (array([0, 1]), array([0, 1]))
    """
    return (arange(n),) * ndim


@numpys
def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """Return the indices of the main diagonal of an array.

    >>> xp.diag_indices_from(xp.eye(2))
    (array([0, 1]), array([0, 1]))
    """
    x = as_array("diag_indices_from", arr)
    if x.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(x.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(x.shape[0], x.ndim)


@numpys
def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> tuple[Array, ...]:
    """Return the indices that a function such as `triu` keeps.

    >>> xp.mask_indices(2, xp.triu)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    return nonzero(as_array("mask_indices", mask_func(ones((n, n), dtype=int), k)) != 0)


def _of_triangle(name: str, summary: str, result: str) -> Callable[..., tuple[Array, ...]]:
    """Return `tril_indices` or `triu_indices`."""

    def call(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
        return tuple(map(from_value, getattr(np, name)(n, k, m)))

    return numpys(of_family(call, name, summary, "2", result))


def _of_matrix(
    name: str, indices: Callable[..., tuple[Array, ...]], summary: str, result: str
) -> Callable[..., tuple[Array, ...]]:
    """Return `tril_indices_from` or `triu_indices_from`."""

    def call(arr: Any, k: int = 0) -> tuple[Array, ...]:
        x = as_array(name, arr)
        if x.ndim != 2:
            raise ValueError("input array must be 2-d")
        return indices(x.shape[0], k, x.shape[1])

    return numpys(of_family(call, name, summary, "xp.eye(2)", result))


_LOWER, _UPPER = "(array([0, 1, 1]), array([0, 0, 1]))", "(array([0, 0, 1]), array([0, 1, 1]))"
tril_indices = _of_triangle("tril_indices", "Return the indices of a lower triangle.", _LOWER)
triu_indices = _of_triangle("triu_indices", "Return the indices of an upper triangle.", _UPPER)
tril_indices_from = _of_matrix(
    "tril_indices_from", tril_indices, "Return the indices of the lower triangle of an array.", _LOWER
)
triu_indices_from = _of_matrix(
    "triu_indices_from", triu_indices, "Return the indices of the upper triangle of an array.", _UPPER
)

# -- windows -----------------------------------------------------------------------------------------


def _window(name: str, summary: str, example: str, result: str) -> Callable[[Any], Array]:
    """Return NumPy's window of this name."""

    def call(M: Any) -> Array:
        return from_value(getattr(np, name)(as_array(name, M)._value()))

    return numpys(of_family(call, name, summary, example, result))


bartlett = _window(
    "bartlett", "Return the Bartlett window: a triangle.", "5", "array([0. , 0.5, 1. , 0.5, 0. ])"
)
hanning = _window("hanning", "Return the Hann window: a raised cosine.", "3", "array([0., 1., 0.])")
hamming = _window("hamming", "Return the Hamming window.", "3", "array([0.08, 1.  , 0.08])")
blackman = _window("blackman", "Return the Blackman window.", "5)[1:4].round(2", "array([0.34, 1.  , 0.34])")


@numpys
def kaiser(M: Any, beta: Any) -> Array:
    """Return the Kaiser window.

    >>> xp.kaiser(3, 0.0)
    array([1., 1., 1.])
    """
    m = int(as_array("kaiser", M)._value())
    if m == 1:
        return ones((1,))
    n, alpha = arange(0.0, m), (m - 1) / 2.0
    b = as_array("kaiser", beta) * 1.0
    ratio = subtract(n, alpha) / alpha
    return divide(i0(b * sqrt(1 - ratio * ratio)), i0(b))


@numpys
def common_type(*arrays: Any) -> type[np.inexact]:
    """Return the type of floats or complex numbers that holds all arrays.

    >>> xp.common_type(xp.asarray([1, 2]), xp.asarray([1.0], dtype=xp.float32)).__name__
    'float64'
    """
    return np.common_type(*[np.empty(0, as_array("common_type", a).dtype) for a in arrays])
