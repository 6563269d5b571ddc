"""Arrays that are full of something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.ops.structure import permute
from ..core import promotion
from ..core.array import Array, apply, check_device, ordered, placed, zero_d
from ..core.order import Axes, axes_of, backwards, check_order, inverse
from ..core.promotion import as_array, broadcast_to, host_array, normalize_shape
from ..core.views import layout
from ..dispatch import fastpath
from ..dispatch.docstrings import described_like, specify
from .creation import number_dtype

if TYPE_CHECKING:
    from ..core._methods import Device
    from ..core.types import ArrayLike, DTypeLike, Shape

__all__ = [
    "empty",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


@fastpath.whole(np.full, "make")
def full(
    shape: Shape,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: Device | None = None,
    like: Any = None,
) -> Array:
    """Return an array filled with one value; a scalar takes no memory.

    Parameters
    ----------
    shape : int or tuple of ints
    fill_value : bool, int, float, complex, or Array that broadcasts to `shape`
    dtype : dtype, optional
        Data type of the result; that of the value where it is None.
    device : str, optional
        ``"cpu"``, the default, or an accelerator: ``"gpu:0"``, ...

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If a size is negative or the value does not broadcast.
    OverflowError
        If a Python integer does not fit the dtype.

    >>> xp.full((2, 2), 7)
    array([[7, 7],
           [7, 7]])
    """
    return _made("full", shape, fill_value, dtype, order, device)


def _made(function: str, shape: Any, value: Any, dtype: Any, order: str, device: Any) -> Array:
    check_device(function, device)
    target = normalize_shape(function, shape)
    axes = backwards(len(target)) if check_order(order) == "F" and len(target) > 1 else None
    return placed(zero_d(_lying(function, target, value, dtype, axes)), device)


def _lying(function: str, shape: tuple[int, ...], value: Any, dtype: Any, axes: Axes | None) -> Array:
    """Return what `_filled` does, in the order of these axes in memory."""
    if axes is None:
        return _filled(function, shape, value, dtype)
    if type(value) in promotion.SCALARS:
        owner = _filled(function, tuple([shape[a] for a in axes]), value, dtype)
    else:
        owner = apply(permute, _filled(function, shape, value, dtype), axes=axes)
    return ordered(owner, inverse(axes))


def _filled(function: str, shape: tuple[int, ...], value: Any, dtype: Any) -> Array:
    if type(value) not in promotion.SCALARS:
        new = as_array(function, value, None if dtype is None else number_dtype(function, dtype))
        if promotion.broadcast_shapes(function, new.shape, shape) != shape:
            raise ValueError(f"{function}: a value of shape {new.shape} does not fit into {shape}")
        return broadcast_to(new, shape).copy()
    wanted = (
        host_array(function, value, None, copy=True).dtype if dtype is None else number_dtype(function, dtype)
    )
    if type(value) is float and wanted.kind in "iu":  # cast as an array is, also what is no number
        value = np.array(value).astype(wanted)[()]
    try:
        return promotion.full(shape, value, wanted)
    except OverflowError as error:
        raise OverflowError(f"{function}: {error}") from None


@fastpath.whole(np.zeros, "make")
def zeros(
    shape: Shape,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: Device | None = None,
    like: Any = None,
) -> Array:
    """Return an array of zeros, which takes no memory.

    Parameters
    ----------
    shape : int or tuple of ints
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
        If a size is negative.

    >>> xp.zeros(3)
    array([0., 0., 0.])
    """
    return _made("zeros", shape, 0, np.float64 if dtype is None else dtype, order, device)


@fastpath.whole(np.ones, "make")
@described_like(zeros)
def ones(
    shape: Shape,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: Device | None = None,
    like: Any = None,
) -> Array:
    """Return an array of ones, which takes no memory.

    >>> xp.ones((2, 3), dtype=xp.int8)
    array([[1, 1, 1],
           [1, 1, 1]], dtype=int8)
    """
    return _made("ones", shape, 1, np.float64 if dtype is None else dtype, order, device)


@fastpath.whole(np.zeros, "make")
@described_like(zeros)
def empty(
    shape: Shape,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: Device | None = None,
    like: Any = None,
) -> Array:
    """Return an array whose elements mean nothing (they are zeros).

    >>> xp.empty((2, 3)).shape
    (2, 3)
    """
    return _made("empty", shape, 0, np.float64 if dtype is None else dtype, order, device)


@fastpath.whole(np.full_like)
def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Device | None = None,
) -> Array:
    """Return an array of the shape of `a` filled with one value.

    Parameters
    ----------
    a : Array
    fill_value : bool, int, float, complex, or Array that broadcasts to the shape
    dtype : dtype, optional
        Data type of the result; that of `a` where it is None.
    device : str, optional
        Of ``"cpu"``, ``"gpu:0"``, ...; that of the array by default.

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If the value does not broadcast.
    OverflowError
        If a Python integer does not fit the dtype.

    >>> xp.full_like(xp.zeros(2), 7)
    array([7., 7.])
    """
    return _like("full_like", a, fill_value, dtype, order, shape, device)


def _like(function: str, x: Any, value: Any, dtype: Any, order: str, shape: Any, device: Any) -> Array:
    check_device(function, device)
    like = as_array(function, x)
    target = like.shape if shape is None else normalize_shape(function, shape)
    name = check_order(order)
    axes = backwards(len(target)) if name == "F" and len(target) > 1 else None
    if name in "AK" and like._view is not None and len(target) == like.ndim:
        axes = axes_of(layout(like), name)
    given = x.dtype if isinstance(x, np.ndarray) else like.dtype
    out = zero_d(_lying(function, target, value, number_dtype(function, dtype, given), axes))
    return placed(out, like.device if device is None else device)


@fastpath.whole(np.zeros_like)
def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Device | None = None,
) -> Array:
    """Return zeros in the shape of `a`.

    Parameters
    ----------
    a : Array
    dtype : dtype, optional
        Data type of the result; that of `a` where it is None.
    device : str, optional
        Of ``"cpu"``, ``"gpu:0"``, ...; that of the array by default.

    Returns
    -------
    Array

    >>> xp.zeros_like(xp.asarray([1, 2]))
    array([0, 0])
    """
    return _like("zeros_like", a, 0, dtype, order, shape, device)


@fastpath.whole(np.ones_like)
@described_like(zeros_like)
def ones_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Device | None = None,
) -> Array:
    """Return ones in the shape of `a`.

    >>> xp.ones_like(xp.asarray([1, 2]))
    array([1, 1])
    """
    return _like("ones_like", a, 1, dtype, order, shape, device)


@fastpath.whole(np.zeros_like)
@described_like(zeros_like, {"a : Array": "prototype : Array", "of `a`": "of `prototype`"})
def empty_like(
    prototype: Any,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Device | None = None,
) -> Array:
    """Return an array in the shape of `prototype` whose elements mean nothing (they are zeros).

    >>> xp.empty_like(xp.asarray([1, 2])).shape
    (2,)
    """
    return _like("empty_like", prototype, 0, dtype, order, shape, device)


specify(globals())
