"""Creation functions."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..._lazy.ops.elementwise import floor, select
from ..._lazy.ops.structure import reshape
from ..core import promotion
from ..core.array import (
    Array,
    apply,
    check_device,
    check_leaves,
    freeze,
    from_shared,
    from_value,
    frozen,
    placed,
    view,
    zero_d,
)
from ..core.indexing import warn_of_discard
from ..core.order import check_order
from ..core.promotion import (
    as_array,
    astype,
    broadcast_to,
    checked,
    host_array,
    native,
    normalize_axis,
    normalize_shape,
)
from ..core.views import copied, in_order, in_turn
from ..dispatch import fastpath
from ..dispatch.docstrings import described_like, specify

if TYPE_CHECKING:
    from ..core._methods import Device
    from ..core.types import ArrayLike, DTypeLike

__all__ = [
    "arange",
    "array",
    "asarray",
    "eye",
    "from_dlpack",
    "linspace",
    "meshgrid",
    "tril",
    "triu",
]


def number_dtype(function: str, dtype: Any, default: Any = np.float64) -> np.dtype:
    """Return a dtype of numbers in native byte order; raises TypeError for any other."""
    return checked(function, np.empty(0, native(function, default if dtype is None else dtype))).dtype


@fastpath.whole(np.array, "asarray")
def asarray(
    a: Any,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    device: Device | None = None,
    copy: bool | None = None,
    like: Any = None,
) -> Array:
    """Return `a` as an array.

    Parameters
    ----------
    a : Array, NumPy array, scalar, (nested) sequence, or object with DLPack or the buffer protocol
        Sequences may hold arrays, which are stacked and stay lazy.
    dtype : dtype, optional
        Data type of the result; NumPy's choice where it is None.
    order : {"C", "F", "A", "K"}, optional
        The order of elements in memory: of the last axis, or ("F") of the first, or as they are.
    device : str, optional
        Where it is to be, ``"cpu"`` or ``"gpu:0"``, ...; where it is, by default.
    copy : bool, optional
        True always copies; None copies what is not an `Array` already (a NumPy array may change
        later, a pending computation must not see that); False shares the memory, which must not be
        written to from then on. What is not copied from read-only memory is read-only.

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If `copy` is False and a copy is needed, the shapes in a sequence differ, or the device is unknown.
    TypeError
        If the elements are not numbers or booleans.
    OverflowError
        If a Python integer does not fit the dtype.

    >>> xp.asarray([[1, 2], [3, 4]], dtype=xp.float32)
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    >>> x = xp.asarray(2.0)
    >>> xp.asarray([x, x + 1, 5])
    array([2., 3., 5.])
    """
    check_device("asarray", device)
    return placed(_made("asarray", a, dtype, order, copy), device)


def _made(name: str, a: Any, dtype: Any, order: str | None, copy: bool | None) -> Array:
    x = zero_d(_as_array(name, a, None if dtype is None else number_dtype(name, dtype), copy, order))
    return x if order is None else in_order(name, x, order, copy)


def _as_array(name: str, a: Any, wanted: np.dtype | None, copy: bool | None, order: str | None) -> Array:
    if type(a) is Array:
        if wanted is not None and wanted != a.dtype:
            if copy is False:
                raise ValueError(f"{name}: {a.dtype} as {wanted} needs a copy, and copy is False")
            if a.dtype.kind == "c" and wanted.kind in "iuf":
                warn_of_discard()
            return in_turn(a, lambda x: astype(x, wanted), order)
        return copied(a, order) if copy else a
    if copy is not False:
        return as_array(name, a, wanted)
    try:
        return from_shared(host_array(name, a, wanted, copy=False, order=order))
    except ValueError:
        kind = type(a).__name__
        raise ValueError(
            f"{name}: a {kind} as {wanted or 'an array'} needs a copy, and copy is False"
        ) from None


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Return an array of the data that `x` exports with DLPack.

    Parameters
    ----------
    x : object
        With the methods ``__dlpack__`` and ``__dlpack_device__``.
    device : str, optional
        Where it is to be, ``"cpu"`` or ``"gpu:0"``, ...; where it is, by default.
    copy : bool, optional
        True copies the memory; None and False share it where they can, and what comes of read-only
        memory is read-only. Nothing here ever writes to shared memory; its owner should not either, or
        pending computations would see that.

    Returns
    -------
    Array

    Raises
    ------
    AttributeError
        If `x` does not have the methods.
    BufferError, ValueError
        If the data cannot be had, or not without the copy that `copy` forbids.

    >>> import numpy as np
    >>> xp.from_dlpack(np.arange(3.0))
    array([0., 1., 2.])
    """
    check_device("from_dlpack", device)
    if type(x) is Array:
        own = x.copy()
        if id(x) in frozen and not copy:
            freeze(own, for_good=True)
        return placed(own, own.device if device is None else device)
    if not hasattr(x, "__dlpack__"):
        raise AttributeError(f"from_dlpack: a {type(x).__name__} has no __dlpack__ method")
    options: dict[str, Any] = {} if copy is None else {"copy": copy}
    if device is not None:
        options["device"] = "cpu"
    return placed(from_shared(checked("from_dlpack", np.from_dlpack(x, **options))), device)


@fastpath.whole(np.array, "asarray")
def array(
    object: Any,
    dtype: DTypeLike | None = None,
    *,
    copy: bool | None = True,
    order: str | None = None,
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Array:
    """Return a new array of what `object` holds; NumPy's name for `asarray`, which copies unless told not to.

    Parameters
    ----------
    object : Array, NumPy array, scalar, (nested) sequence
    dtype : dtype, optional
        Data type of the result; NumPy's choice where it is None.
    copy : bool, optional
        As in `asarray`.
    order : {"C", "F", "A", "K"}, optional
        As in `asarray`.
    subok : bool
        Leave what NumPy has subclasses for (masked arrays, matrices, a program's own) to NumPy's function.
    ndmin : int, optional
        New axes of size 1 come first where there are fewer axes than this.
    ndmax : int, optional
        The most axes that sequences are taken apart for, as NumPy does from 2.4 on; 0 is no limit.
    like
        Of no effect; NumPy has it.

    Returns
    -------
    Array

    >>> xp.array([1, 2], dtype=xp.float64)
    array([1., 2.])
    """
    if isinstance(copy, Enum):  # NumPy's names for these
        copy = {"ALWAYS": True, "NEVER": False}.get(copy.name)
    elif copy is not None:
        copy = bool(copy)
    if subok and isinstance(object, np.ndarray):
        promotion.check_kind("array", object)
    if ndmax:
        raise promotion.UnheldDtypeError("array: what ndmax makes may be of sequences")
    try:
        x = placed(_made("array", object, dtype, order, copy), None)
    except OverflowError as error:
        if dtype is None:  # NumPy keeps them as Python's
            raise promotion.UnheldDtypeError(str(error)) from None
        raise
    if x.ndim < ndmin:
        return view(x, reshape, shape=(1,) * (ndmin - x.ndim) + x.shape)
    return x


@fastpath.whole(np.arange, "count")
def arange(
    start: Any = None,
    stop: Any = None,
    step: Any = 1,
    dtype: DTypeLike | None = None,
    *,
    device: Device | None = None,
    like: Any = None,
) -> Array:
    """Return evenly spaced values from `start` up to, but without, `stop`.

    Parameters
    ----------
    start : int or float
        The first value, 0 by default; with no `stop`, that is `start` and the first value is 0.
    stop : int or float, optional
    step : int or float
        Distance of two neighbours.
    dtype : dtype, optional
        Data type of the result; the default integer or floating-point one where it is None.
    device : str, optional
        ``"cpu"``, the default, or an accelerator: ``"gpu:0"``, ...

    Returns
    -------
    Array
        One axis of ``ceil((stop - start) / step)`` elements, or 0 of them.

    Raises
    ------
    TypeError
        If there is no `stop`.
    ZeroDivisionError
        If `step` is 0.

    >>> xp.arange(1, 10, 3)
    array([1, 4, 7])
    """
    check_device("arange", device)
    wanted = None if dtype is None else number_dtype("arange", dtype)
    first, last = (0, start) if stop is None else (0 if start is None else start, stop)
    if last is None:
        raise TypeError("arange() requires stop to be specified.")
    for x in (first, step):  # `last` only says how many there are
        if type(x) is Array:
            check_leaves("arange", x)
    known: list[Any] = [x._value() if type(x) is Array else x for x in (first, last, step)]
    if known[2] == 0:
        raise ZeroDivisionError(f"arange: no range from {known[0]} to {known[1]} has steps of 0")
    return placed(from_value(checked("arange", np.arange(*known, dtype=wanted))), device)


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Array: ...
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    device: Any = None,
) -> tuple[Array, Array | complex]: ...
@fastpath.whole(np.linspace, "spaced")
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Device | None = None,
) -> Any:
    """Return `num` evenly spaced values from `start` to `stop`.

    Parameters
    ----------
    start, stop : int, float or complex
    num : int
    endpoint : bool
        Whether `stop` is the last value; if not, it would be the next one.
    retstep : bool, optional
        Return the distance of neighbours, too.
    dtype : dtype, optional
        Data type of the result; the default floating-point one where it is None.
    axis : int, optional
        Where the values run if `start` or `stop` are arrays.
    device : str, optional
        ``"cpu"``, the default, or an accelerator: ``"gpu:0"``, ...

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If `num` is negative.

    >>> xp.linspace(0, 1, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    check_device("linspace", device)
    wanted = None if dtype is None else number_dtype("linspace", dtype)
    if num < 0:
        raise ValueError(f"linspace: num must be non-negative, not {num}")
    if type(start) is Array or type(stop) is Array:
        y, step = _spaced(start, stop, num, endpoint, wanted, axis)
        return (placed(y, device), step) if retstep else placed(y, device)
    # A step of a range near the largest float is infinite, as in NumPy; that is no news to anybody.
    with np.errstate(all="ignore"):
        value, step = np.linspace(start, stop, num, endpoint, retstep=True, dtype=wanted, axis=axis)
    out = placed(from_value(checked("linspace", value)), device)
    return (out, from_value(np.asarray(step)) if np.ndim(step) else step) if retstep else out


def _spaced(
    start: Any, stop: Any, num: int, endpoint: bool, wanted: np.dtype | None, axis: int
) -> tuple[Array, Any]:
    """Return evenly spaced values and their distance, recorded by the steps that NumPy takes."""
    a, b = [np.zeros((), x.dtype) if type(x) is Array else x for x in (start, stop)]
    dtype = checked("linspace", np.linspace(a, b, 0)).dtype
    first, last = [astype(as_array("linspace", x), dtype) for x in (start, stop)]
    change: Array = last - first
    parts = num - 1 if endpoint else num
    y: Any = from_value(np.arange(num, dtype=dtype).reshape((num,) + (1,) * change.ndim))
    step: Any = np.nan
    if parts > 0:
        step = change / parts
        tiny = broadcast_to((step == 0).any(), np.broadcast_shapes(y.shape, step.shape))  # for any float
        y = apply(select, tiny, y / parts * change, y * step)
    else:
        y = y * change
    y = y + first
    if endpoint and num > 1:
        y[-1] = last
    if wanted is not None and wanted.kind in "iu":
        y = apply(floor, y)
    k = normalize_axis("linspace", axis, y.ndim)
    y = y.transpose((*range(1, k + 1), 0, *range(k + 1, y.ndim))) if k else y
    return astype(y, dtype if wanted is None else wanted), step


@fastpath.whole(np.eye, "numbers")
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: Device | None = None,
    like: Any = None,
) -> Array:
    """Return a matrix with ones on one diagonal and zeros elsewhere.

    Parameters
    ----------
    N : int
    M : int, optional
        As many as rows where it is None.
    k : int
        Which diagonal: 0 is the main one, positive ones lie above it.
    dtype : dtype, optional
        Data type of the result; the default floating-point one where it is None.
    device : str, optional
        ``"cpu"``, the default, or an accelerator: ``"gpu:0"``, ...

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If a number of rows or columns is negative.

    >>> xp.eye(2, 3, k=1)
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    check_device("eye", device)
    shape = normalize_shape("eye", (N, N if M is None else M))
    made = np.eye(
        shape[0], shape[1], k, number_dtype("eye", dtype), "F" if check_order(order) == "F" else "C"
    )
    return placed(from_value(made), device)


@fastpath.whole(
    np.meshgrid, elements=lambda *arrays, **_: len(arrays) * math.prod(map(fastpath.size, arrays))
)
def meshgrid(
    *arrays: Any, copy: bool = True, sparse: bool = False, indexing: Literal["xy", "ij"] = "xy"
) -> tuple[Array, ...]:
    """Return the coordinates of a grid, an array for each of its axes.

    Parameters
    ----------
    *arrays : Array
        The coordinates along each axis; they are flattened.
    indexing : {"xy", "ij"}
        Whether the first two axes are swapped ("xy", as in a plot) or not ("ij", as in a matrix).
    copy : bool
        Of no effect; NumPy has it.
    sparse : bool
        Leave the axes along which an array does not change at size 1.

    Returns
    -------
    tuple of Array

    Raises
    ------
    ValueError
        If `indexing` is something else.

    >>> x, y = xp.meshgrid(xp.asarray([1, 2, 3]), xp.asarray([10, 20]))
    >>> x + y
    array([[11, 12, 13],
           [21, 22, 23]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is {indexing!r}; 'xy' and 'ij' would work")
    xs = [as_array("meshgrid", a) for a in arrays]
    places = [1, 0, *range(2, len(xs))] if indexing == "xy" and len(xs) > 1 else list(range(len(xs)))
    shape = [1] * len(xs)
    rows = []
    for x, place in zip(xs, places, strict=True):
        shape[place] = x.size
        alone = (1,) * place + (x.size,) + (1,) * (len(xs) - place - 1)
        rows.append(apply(reshape, x, shape=alone))
    return tuple(rows if sparse else [broadcast_to(x, tuple(shape)) for x in rows])


@fastpath.whole(np.tril)
def tril(m: ArrayLike, k: int = 0) -> Array:
    """Return the lower triangle of a matrix, or of each in a stack; the rest is zeros.

    Parameters
    ----------
    m : Array
        Of two axes or more; one with a single axis is each row of a square matrix, as in NumPy.
    k : int
        The diagonal above which there are zeros: 0 is the main one, positive ones lie above it.

    Returns
    -------
    Array

    Raises
    ------
    TypeError
        If `m` has no axes.

    >>> xp.tril(xp.ones((2, 3), dtype=xp.int8))
    array([[1, 0, 0],
           [1, 1, 0]], dtype=int8)
    """
    return _triangle("tril", m, k, lower=True)


@fastpath.whole(np.triu)
@described_like(tril, {"above which": "below which"})
def triu(m: ArrayLike, k: int = 0) -> Array:
    """Return the upper triangle of a matrix, or of each in a stack; the rest is zeros.

    >>> xp.triu(xp.ones((2, 3), dtype=xp.int8))
    array([[1, 1, 1],
           [0, 1, 1]], dtype=int8)
    """
    return _triangle("triu", m, k, lower=False)


def _triangle(function: str, x: Any, k: int, lower: bool) -> Array:
    y = as_array(function, x)
    if not y.ndim:
        raise TypeError(f"{function}: needs an axis or more, not shape {y.shape}")
    rows = y.shape[-2] if y.ndim > 1 else y.shape[0]  # as in NumPy, a vector is each row
    below = np.tri(rows, y.shape[-1], k if lower else k - 1, np.bool)
    shape = (*y.shape[:-2], *below.shape)
    mask = broadcast_to(from_value(below if lower else ~below), shape)
    return apply(select, mask, broadcast_to(y, shape), promotion.full(shape, 0, y.dtype))


specify(globals())
