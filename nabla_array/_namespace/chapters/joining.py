"""Functions that join, split and repeat arrays."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.ops.structure import concat as concat_p
from ..._lazy.ops.structure import reshape as reshape_p
from ..core import promotion
from ..core.array import Array, apply, is_scalar
from ..core.indexing import getitem
from ..core.outputs import deliver
from ..core.promotion import as_array, axis_or_flat, normalize_axis, normalize_shape, promote
from ..dispatch import fastpath
from ..dispatch.docstrings import described_like, specify
from .indexing_functions import take

if TYPE_CHECKING:
    from ..core.types import ArrayLike, DTypeLike, Out

__all__ = [
    "concat",
    "concatenate",
    "repeat",
    "stack",
    "tile",
    "unstack",
]


@fastpath.whole(np.concat)
def concat(
    arrays: Any,
    axis: int | None = 0,
    out: Out = None,
    *,
    dtype: DTypeLike | None = None,
    casting: Any = "same_kind",
) -> Array:
    """Return arrays joined along an axis that they have.

    Parameters
    ----------
    arrays : sequence of Array
        Of the same shape, but for `axis`; dtypes are promoted.
    axis : int, optional
        The arrays are flattened where it is None.
    out : Array, optional
        Where the result goes, too.
    dtype : dtype, optional
        Data type of the result.
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}, optional
        Which casts to `dtype` are fine.

    Returns
    -------
    Array

    Raises
    ------
    IndexError
        If the axis is out of range.
    TypeError
        If `casting` does not allow `dtype`.
    ValueError
        If there are no arrays, or their shapes do not fit.

    >>> xp.concat([xp.asarray([1, 2]), xp.asarray([3.5])])
    array([1. , 2. , 3.5])
    """
    return join("concat", arrays, axis, out, dtype, casting)


def join(
    function: str, arrays: Any, axis: Any = 0, out: Any = None, dtype: Any = None, casting: Any = "same_kind"
) -> Array:
    """Do what `concat` does for a function, whose name its errors start with."""
    if out is not None or dtype is not None or casting != "same_kind":
        return _concat_into(function, partial(join, function), arrays, axis, out, dtype, casting)
    xs = _promoted(function, arrays)
    if axis is None:
        return apply(concat_p, *[apply(reshape_p, x, shape=(x.size,)) for x in xs], axis=0)
    first = xs[0].shape
    if not first:
        raise ValueError(f"{function}: a 0-d array cannot be joined; axis=None or stack would work")
    along = normalize_axis(function, axis, len(first))
    for x in xs:
        rest = (s[:along] + s[along + 1 :] for s in (x.shape, first))
        if x.ndim != len(first) or len(set(rest)) > 1:
            raise ValueError(f"{function}: shapes {first} and {x.shape} differ beyond axis {along}")
    return apply(concat_p, *xs, axis=along)


@fastpath.whole(np.concatenate)
@described_like(concat)
def concatenate(
    arrays: Any,
    axis: int | None = 0,
    out: Out = None,
    *,
    dtype: DTypeLike | None = None,
    casting: Any = "same_kind",
) -> Array:
    """Return arrays joined along an axis that they have: NumPy's name for `concat`.

    >>> xp.concatenate([xp.asarray([1, 2]), xp.asarray([3.5])])
    array([1. , 2. , 3.5])
    """
    return join("concatenate", arrays, axis, out, dtype, casting)


def _promoted(function: str, arrays: Any) -> list[Array]:
    if not len(arrays):
        raise ValueError(f"{function}: needs one array or more")
    return promote(function, *arrays)


def _concat_into(
    function: str,
    joined: Callable[..., Array],
    arrays: Any,
    axis: int | None,
    out: Any,
    dtype: Any,
    casting: Any,
) -> Array:
    """Do what `concat`, or `stack`, does with the arguments that only NumPy's have."""
    np.can_cast(np.bool_, np.bool_, casting)  # raises for what is no kind of cast
    if dtype is None:
        return deliver(function, out, joined(arrays, axis=axis), casting, exact=True)
    if out is not None:
        raise TypeError(f"{function}() only takes `out` or `dtype` as an argument, but both were provided.")
    wanted = np.dtype(dtype)
    xs = [as_array(function, a) for a in arrays]
    for x in xs:
        if not np.can_cast(x.dtype, wanted, casting):
            raise TypeError(f"{function}: {x.dtype} as {wanted} is no cast of the kind {casting!r}")
    return joined([promotion.astype(x, promotion.native(function, wanted)) for x in xs], axis=axis)


@fastpath.whole(np.stack)
@described_like(
    concat,
    {
        "shape, but for `axis`;": "shape;",
        "The arrays are flattened where it is None.": "Where the new axis is in the result.",
        "do not fit": "differ",
    },
)
def stack(
    arrays: Any, axis: int = 0, out: Out = None, *, dtype: DTypeLike | None = None, casting: Any = "same_kind"
) -> Array:
    """Return arrays joined along a new axis.

    >>> xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])], axis=1)
    array([[1, 3],
           [2, 4]])
    """
    if out is not None or dtype is not None or casting != "same_kind":
        return _concat_into("stack", stack, arrays, axis, out, dtype, casting)
    xs = _promoted("stack", [as_array("stack", x) for x in arrays])
    first = xs[0].shape
    for x in xs:
        if x.shape != first:
            raise ValueError(f"stack: shapes {first} and {x.shape} differ")
    along = normalize_axis("stack", axis, len(first) + 1)
    shape = (*first[:along], 1, *first[along:])
    return apply(concat_p, *[apply(reshape_p, x, shape=shape) for x in xs], axis=along)


def unstack(x: ArrayLike, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the arrays that lie along an axis, without that axis, as views.

    Parameters
    ----------
    x : Array
        Of one axis or more.
    axis : int

    Returns
    -------
    tuple of Array

    Raises
    ------
    IndexError
        If the axis is out of range.
    ValueError
        If `x` is 0-d.

    >>> xp.unstack(xp.asarray([[1, 2], [3, 4]]), axis=1)
    (array([1, 3]), array([2, 4]))
    """
    y = as_array("unstack", x)
    if not y.ndim:
        raise ValueError("unstack: needs one axis or more, not a 0-d array")
    key = (slice(None),) * normalize_axis("unstack", axis, y.ndim)
    return tuple(getitem(y, (*key, i)) for i in range(y.shape[len(key)]))


def repeated(a: Any, repeats: Any, *more: Any, **options: Any) -> int:
    """Return how many elements `repeat` makes, at most."""
    return fastpath.size(a) * (repeats if type(repeats) is int else int(np.max(repeats, initial=0)))


@fastpath.whole(np.repeat, elements=repeated)
def repeat(a: ArrayLike, repeats: Any, axis: int | None = None) -> Array:
    """Return an array with each element repeated.

    Parameters
    ----------
    a : Array
    repeats : int or Array
        How often: for all, or for each along the axis (which needs its values now).
    axis : int, optional
        The array is flattened where it is None.

    Returns
    -------
    Array

    Raises
    ------
    IndexError
        If the axis is out of range.
    TypeError
        If `repeats` is not of integers.
    ValueError
        If a number is negative, or there are not as many as elements.

    >>> xp.repeat(xp.asarray([1, 2, 3]), 2)
    array([1, 1, 2, 2, 3, 3])
    >>> xp.repeat(xp.asarray([1, 2, 3]), xp.asarray([0, 2, 1]))
    array([2, 2, 3])
    """
    y, along = axis_or_flat("repeat", a, axis)
    times = repeats._value() if isinstance(repeats, Array) else np.asarray(repeats)
    # NumPy takes such a number, but no array of them.
    is_number = is_scalar(repeats) if isinstance(repeats, Array) else isinstance(repeats, float | np.floating)
    if is_number and times.dtype.kind == "f":
        times = times.astype(np.intp)
    if type(repeats) is int and repeats > sys.maxsize:
        raise OverflowError(f"repeat: {repeats} repeats are too many")
    if times.size and times.dtype.kind not in "iub":
        raise TypeError(f"repeat: repeats must be integers, not {times.dtype}")
    if times.ndim > 1 or times.size not in (1, y.shape[along]):
        raise ValueError(
            f"repeat: {times.size} repeats of shape {times.shape} do not fit {y.shape[along]} elements"
        )
    if times.size and times.min() < 0:
        raise ValueError(f"repeat: negative repeats: {times.min()}")
    before, n, after = y.shape[:along], y.shape[along], y.shape[along + 1 :]
    if times.size != 1:
        return take(y, np.repeat(np.arange(n), times.astype(np.intp)), axis=along)
    each = int(times.reshape(()))
    promotion.fits("repeat", (*before, n, each, *after), y.itemsize)
    single = apply(reshape_p, y, shape=(*before, n, 1, *after))
    many = promotion.broadcast_to(single, (*before, n, each, *after))
    return apply(reshape_p, many, shape=(*before, n * each, *after))


@fastpath.whole(np.tile, elements=lambda A, reps: fastpath.size(A) * math.prod(np.atleast_1d(reps).tolist()))
def tile(A: Any, reps: Any) -> Array:
    """Return an array repeated as a whole along its axes.

    Parameters
    ----------
    A : Array
    reps : int or tuple of ints
        How often along each axis, the last of them last; missing ones, and missing axes, count as 1.

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If a number is negative.

    >>> xp.tile(xp.asarray([1, 2]), (2, 2))
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    y = as_array("tile", A)
    given = normalize_shape("tile", reps)
    ndim = max(y.ndim, len(given))
    times = (1,) * (ndim - len(given)) + given
    shape = (1,) * (ndim - y.ndim) + y.shape
    apart = apply(reshape_p, y, shape=tuple(m for n in shape for m in (1, n)))
    spread = tuple(m for t, n in zip(times, shape, strict=True) for m in (t, n))
    out = tuple(t * n for t, n in zip(times, shape, strict=True))
    promotion.fits("tile", out, y.itemsize)
    return apply(reshape_p, promotion.broadcast_to(apart, spread), shape=out)


specify(globals())
