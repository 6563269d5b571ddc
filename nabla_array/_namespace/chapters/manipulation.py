"""Manipulation functions: views wherever NumPy gives views, else copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..._lazy.ops.structure import broadcast, permute, slice_
from ..._lazy.ops.structure import concat as concat_p
from ..._lazy.ops.structure import reshape as reshape_p
from ..core import promotion
from ..core.array import Array, apply, as_scalar, view, zero_d
from ..core.evaluation import fresh_value
from ..core.indexing import getitem
from ..core.lengths import told
from ..core.promotion import as_array, listed, normalize_axes, normalize_axis, normalize_shape, reduced_axes
from ..core.views import aliases, layout, whole_shape
from ..dispatch import fastpath
from ..dispatch.docstrings import described_like, specify

if TYPE_CHECKING:
    from ..core.types import ArrayLike, Axis, Shape

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "roll",
    "squeeze",
    "swapaxes",
    "transpose",
]


# -- broadcasting ------------------------------------------------------------------------------------


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """Return the shape that all shapes broadcast to.

    Parameters
    ----------
    *shapes : tuple of ints, or int

    Returns
    -------
    tuple of ints
        Empty for no shapes.

    Raises
    ------
    ValueError
        If they do not broadcast.

    >>> xp.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    given = [normalize_shape("broadcast_shapes", s) for s in shapes]
    return told(promotion.broadcast_shapes("broadcast_shapes", *given))


@fastpath.moving("broadcast", broadcast)
def broadcast_to(array: ArrayLike, shape: Shape, subok: bool = False) -> Array:
    """Return a read-only view of an array in a larger shape.

    Parameters
    ----------
    array : Array
    shape : int or tuple of ints
    subok : bool, optional
        Of no effect; NumPy has it.

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If `array` does not broadcast to `shape`.

    >>> xp.broadcast_to(xp.asarray([1, 2]), (2, 2))
    array([[1, 2],
           [1, 2]])
    """
    y = zero_d(as_array("broadcast_to", array))
    target = normalize_shape("broadcast_to", shape)
    if promotion.broadcast_shapes("broadcast_to", y.shape, target) != target:
        raise ValueError(f"broadcast_to: shape {y.shape} does not broadcast to {target}")
    first = len(target) - y.ndim
    return view(y, broadcast, shape=target, axes=tuple(range(first, len(target))))


def broadcast_arrays(*arrays: Any, subok: bool = False) -> tuple[Array, ...]:
    """Return the arrays broadcast against each other, as views; those that grew are read-only.

    Parameters
    ----------
    *arrays : Array
    subok : bool, optional
        Of no effect; NumPy has it.

    Returns
    -------
    tuple of Array

    Raises
    ------
    ValueError
        If they do not broadcast.

    >>> xp.broadcast_arrays(xp.asarray([1, 2]), xp.asarray([[3], [4]]))[1]
    array([[3, 3],
           [4, 4]])
    """
    xs = [zero_d(as_array("broadcast_arrays", a)) for a in arrays]
    shape = promotion.broadcast_shapes("broadcast_arrays", *[x.shape for x in xs])
    return tuple(reshape(x, shape) if x.shape == shape else broadcast_to(x, shape) for x in xs)


# -- shape -------------------------------------------------------------------------------------------


@fastpath.moving("reshape", reshape_p)
def reshape(
    a: ArrayLike, shape: Shape, order: Literal["C", "F", "A"] = "C", *, copy: bool | None = None
) -> Array:
    """Return the elements of an array in another shape: a view where NumPy gives one, else a copy.

    Parameters
    ----------
    a : Array
    shape : int or tuple of ints
        One of them may be -1, which stands for what is left.
    order : {"C", "F", "A"}
        Whether the last axis runs fastest, or ("F") the first; "A" is "F" for what lies so in memory.
    copy : bool, optional
        True always copies, False never does.

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If the numbers of elements differ, or a copy is needed and `copy` is False.

    >>> xp.reshape(xp.arange(6), (2, -1))
    array([[0, 1, 2],
           [3, 4, 5]])
    """
    y = as_array("reshape", a)
    target = whole_shape(y, shape)
    order = order.upper() if order in ("c", "f", "a") else order
    if order == "F" or (order == "A" and _is_fortran(y)):
        return transpose(reshape(transpose(y), target[::-1], copy=copy))
    if order not in ("C", "A"):
        raise ValueError(f"reshape: order is {order!r}; 'C', 'F' and 'A' would work")
    if not copy and aliases(y, target):
        return view(y, reshape_p, shape=target)
    if copy is False:
        raise ValueError(f"reshape: {y.shape} as {target} needs a copy here, and copy is False")
    return apply(reshape_p, y, shape=target)


@fastpath.moving("all", reshape_p)
def ravel(a: ArrayLike, order: Literal["C", "F", "A", "K"] = "C") -> Array:
    """Return the elements of an array along one axis: a view where NumPy gives one, else a copy.

    Parameters
    ----------
    a : Array
    order : {"C", "F", "A", "K"}
        Whether the last axis runs fastest, or ("F") the first; "A" is "F" for what lies so in memory, and
        "K" is as it lies there.

    Returns
    -------
    Array

    >>> xp.ravel(xp.ones((2, 2)))
    array([1., 1., 1., 1.])
    """
    order = order.upper() if order in ("c", "f", "a", "k") else order
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    y = as_array("ravel", a)
    if order == "K":
        strides = layout(y).strides
        y = permute_dims(y, tuple(sorted(range(y.ndim), key=lambda k: -abs(strides[k]))))
    if order == "F" or (order == "A" and _is_fortran(y)):
        y = transpose(y)
    if y._view is None or layout(y).flags.c_contiguous:
        return view(y, reshape_p, shape=(y.size,))
    return apply(reshape_p, y, shape=(y.size,))


def _is_fortran(x: Array) -> bool:
    flags = layout(x).flags
    return bool(flags.f_contiguous and not flags.c_contiguous)


@fastpath.moving("grow", reshape_p)
def expand_dims(a: ArrayLike, axis: Axis) -> Array:
    """Return a view with new axes of size 1.

    Parameters
    ----------
    a : Array
    axis : int or tuple of ints
        Where the new axes are in the result.

    Returns
    -------
    Array

    Raises
    ------
    IndexError
        If an axis is out of range.
    ValueError
        If an axis stands twice.

    >>> xp.expand_dims(xp.ones(3), (0, 2)).shape
    (1, 3, 1)
    """
    y = as_array("expand_dims", a)
    new = axis if isinstance(axis, tuple | list) else (axis,)
    axes = normalize_axes("expand_dims", new, y.ndim + len(new))
    sizes = iter(y.shape)
    shape = tuple(1 if i in axes else next(sizes) for i in range(y.ndim + len(axes)))
    return view(y, reshape_p, shape=shape)


@fastpath.moving("drop", reshape_p)
def squeeze(a: ArrayLike, axis: Axis = None) -> Array:
    """Return a view without axes of size 1.

    Parameters
    ----------
    a : Array
    axis : int or tuple of ints, optional
        The axes to leave out; all of size 1 where it is None.

    Returns
    -------
    Array

    Raises
    ------
    IndexError
        If an axis is out of range.
    ValueError
        If an axis has another size.

    >>> xp.squeeze(xp.ones((1, 3, 1)), 0).shape
    (3, 1)
    """
    y = as_array("squeeze", a)
    single = tuple(i for i, n in enumerate(y.shape) if n == 1)
    axes = single if axis is None else reduced_axes("squeeze", axis, y.ndim)
    if not set(axes) <= set(single):
        raise ValueError(f"squeeze: axes {axes} of shape {y.shape} are not all of size 1")
    if not axes:  # NumPy's way
        return y
    return view(y, reshape_p, shape=tuple(n for i, n in enumerate(y.shape) if i not in axes))


def _at_least(function: str, arrays: tuple[Any, ...], ndim: int) -> Any:
    if len(arrays) == 1 and type(arrays[0]) is Array and arrays[0].ndim >= ndim:  # the usual case
        return arrays[0]
    xs = [as_array(function, a) for a in arrays]
    out = tuple(x if x.ndim >= ndim else expand_dims(x, tuple(range(ndim - x.ndim))) for x in xs)
    return out[0] if len(out) == 1 else out


@overload
def atleast_1d(array: ArrayLike, /) -> Array: ...
@overload
def atleast_1d(first: ArrayLike, second: ArrayLike, /, *more: ArrayLike) -> tuple[Array, ...]: ...
@fastpath.moving("1 axis or more", reshape_p)
def atleast_1d(*arrays: Any) -> Any:
    """Return arrays with one axis or more, as views.

    Parameters
    ----------
    *arrays : Array

    Returns
    -------
    Array, or tuple of Array for several

    >>> xp.atleast_1d(3)
    array([3])
    """
    return _at_least("atleast_1d", arrays, 1)


@overload
def atleast_2d(array: ArrayLike, /) -> Array: ...
@overload
def atleast_2d(first: ArrayLike, second: ArrayLike, /, *more: ArrayLike) -> tuple[Array, ...]: ...
@described_like(atleast_1d)
@fastpath.moving("2 axes or more", reshape_p)
def atleast_2d(*arrays: Any) -> Any:
    """Return arrays with two axes or more, as views.

    >>> xp.atleast_2d(xp.asarray([1, 2]))
    array([[1, 2]])
    """
    return _at_least("atleast_2d", arrays, 2)


# -- order of axes and of elements -------------------------------------------------------------------


@fastpath.moving("permute", permute)
def permute_dims(a: ArrayLike, axes: Any = None) -> Array:
    """Return a view with the axes in another order.

    Parameters
    ----------
    a : Array
    axes : tuple of ints, optional
        For each axis of the result, which one of `a` it is; they are reversed where it is None.

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If `axes` is not a permutation of the axes of `a`.

    >>> xp.permute_dims(xp.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return _permuted("permute_dims", a, axes)


def _permuted(function: str, a: Any, axes: Any) -> Array:
    y = as_array(function, a)
    if axes is None:
        return y.T
    many = tuple(listed(axes))
    order = tuple(normalize_axis(function, a, y.ndim) for a in many)
    if len(many) != y.ndim or len(set(order)) != y.ndim:
        raise ValueError(f"{function}: {many} is no permutation of the axes of shape {y.shape}")
    return view(y, permute, axes=order)


@fastpath.moving("permute", permute)
@described_like(permute_dims)
def transpose(a: ArrayLike, axes: Any = None) -> Array:
    """Return a view with the axes in another order, reversed where `axes` is None.

    >>> xp.transpose(xp.ones((2, 3, 4))).shape
    (4, 3, 2)
    """
    return _permuted("transpose", a, axes)


@fastpath.moving("move", permute)
def moveaxis(a: ArrayLike, source: Any, destination: Any) -> Array:
    """Return a view with some axes at other places; the others keep their order.

    Parameters
    ----------
    a : Array
    source, destination : int or tuple of ints

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If an axis stands twice, or the numbers of axes differ.

    >>> xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    y = as_array("moveaxis", a)
    pair = {"source": listed(source), "destination": listed(destination)}
    for name, axes in pair.items():
        normalize_axes(f"moveaxis: {name}", tuple(axes), y.ndim)  # checks them; the order is lost
    old, new = ([normalize_axis("moveaxis", a, y.ndim) for a in axes] for axes in pair.values())
    if len(old) != len(new):
        raise ValueError(f"moveaxis: {len(old)} axes cannot move to {len(new)} places")
    order = [i for i in range(y.ndim) if i not in old]
    for place, axis in sorted(zip(new, old, strict=True)):
        order.insert(place, axis)
    return view(y, permute, axes=tuple(order))


@fastpath.moving("swap", permute)
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Return a view with two axes swapped.

    Parameters
    ----------
    a : Array
    axis1, axis2 : int

    Returns
    -------
    Array

    >>> xp.swapaxes(xp.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    y = as_array("swapaxes", a)
    order = list(range(y.ndim))
    i, j = (normalize_axis("swapaxes", a, y.ndim) for a in (axis1, axis2))
    order[i], order[j] = j, i
    return view(y, permute, axes=tuple(order))


@fastpath.moving("flip", slice_)
def flip(m: ArrayLike, axis: Axis = None) -> Array:
    """Return a view with the elements in reverse order.

    Parameters
    ----------
    m : Array
    axis : int or tuple of ints, optional
        The axes to reverse; all of them where it is None.

    Returns
    -------
    Array

    Raises
    ------
    IndexError
        If an axis is out of range.

    >>> xp.flip(xp.asarray([1, 2, 3]))
    array([3, 2, 1])
    """
    y = as_array("flip", m)
    axes = normalize_axes("flip", axis, y.ndim)
    if not y.shape:
        return as_scalar(y)
    if axes and fresh_value(y) is not None:
        return y[tuple([slice(None, None, -1 if i in axes else 1) for i in range(y.ndim)])]
    start = tuple(max(n - 1, 0) if i in axes else 0 for i, n in enumerate(y.shape))
    step = tuple(-1 if i in axes else 1 for i in range(y.ndim))
    return view(y, slice_, start=start, size=y.shape, step=step)


def _roll_several(a: np.ndarray, shift: Any, axis: Any = None) -> np.ndarray | None:
    """Roll along several axes in one pass; along one, threads share the copy."""
    return np.roll(a, shift, axis) if isinstance(axis, tuple | list) and len(axis) > 1 else None


@fastpath.whole(np.roll, large=_roll_several)
def roll(a: ArrayLike, shift: Any, axis: Shape | None = None) -> Array:
    """Return an array with its elements shifted; those that leave at one end enter at the other.

    Parameters
    ----------
    a : Array
    shift : int or tuple of ints
        By how many places, towards larger indices; one for each of `axis`, or the same for all.
    axis : int or tuple of ints, optional
        The flattened array is shifted where it is None.

    Returns
    -------
    Array

    Raises
    ------
    IndexError
        If an axis is out of range.
    ValueError
        If the numbers of shifts and of axes differ.

    >>> xp.roll(xp.arange(5), 2)
    array([3, 4, 0, 1, 2])
    """
    y = as_array("roll", a)
    if axis is None:
        return apply(reshape_p, roll(apply(reshape_p, y, shape=(y.size,)), shift, axis=0), shape=y.shape)
    # NumPy's cuts floats off.
    by = [int(s) for s in (shift if isinstance(shift, tuple | list) else (shift,))]
    axes = [normalize_axis("roll", a, y.ndim) for a in (axis if isinstance(axis, tuple | list) else (axis,))]
    if len(by) != len(axes) and 1 not in (len(by), len(axes)):
        raise ValueError(f"roll: {len(by)} shifts do not fit {len(axes)} axes")
    many = max(len(by), len(axes)) if by and axes else 0
    for s, a in zip(by * (many // len(by or [0])), axes * (many // len(axes or [0])), strict=True):
        y = _rolled(y, s, a)
    return y.copy()


def _rolled(x: Array, by: int, axis: int) -> Array:
    n = x.shape[axis]
    cut = -by % n if n else 0
    if not cut:
        return x
    key = (slice(None),) * axis
    return apply(concat_p, getitem(x, (*key, slice(cut, None))), getitem(x, (*key, slice(cut))), axis=axis)


specify(globals())
