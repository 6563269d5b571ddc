"""Elements chosen by conditions, masks and indices, and written there."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.ops.elementwise import select as select_p
from ..._lazy.ops.structure import diagonal as diagonal_p
from ..._lazy.ops.structure import reshape as reshape_p
from ..chapters.elementwise import logical_or, remainder
from ..chapters.indexing_functions import take, take_along_axis
from ..chapters.joining import stack
from ..chapters.manipulation import moveaxis, reshape
from ..chapters.searching import nonzero, pick
from ..chapters.statistical import kept
from ..core.array import Array, apply, check_writable, from_value, rewrite, view, write, zero_d
from ..core.evaluation import fresh_value
from ..core.indexing import fitted
from ..core.outputs import deliver
from ..core.promotion import (
    SCALARS,
    UnheldDtypeError,
    as_array,
    astype,
    axis_or_flat,
    broadcast_shapes,
    broadcast_to,
    fits,
    full,
    listed,
    normalize_axis,
    promote,
    result_dtype,
)
from ..dispatch import eager, fastpath
from .described import eager_numpys, numpys
from .joining import flat, repeated

if TYPE_CHECKING:
    from ..core.types import ArrayLike, DTypeLike, Out, Shape

_BOOL = np.dtype(np.bool)
_INTP = np.dtype(np.intp)


# -- conditions --------------------------------------------------------------------------------------


@eager_numpys()
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Array:
    """Return elements of the choice whose condition is the first that is true.

    >>> x = xp.arange(4)
    >>> xp.select([x < 1, x > 2], [x, x * 10], 7)
    array([ 0,  7,  7, 30])
    """
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    conditions = [as_array("select", c) for c in condlist]
    for i, c in enumerate(conditions):
        if c.dtype != _BOOL:
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    *choices, out = promote("select", *choicelist, default)
    for c, choice in zip(reversed(conditions), reversed(choices), strict=True):
        out = pick(c, choice, out)
    return zero_d(out)


@eager_numpys()
def choose(a: ArrayLike, choices: Any, out: Out = None, mode: str = "raise") -> Array:
    """Return for each index the element of the array that it names.

    >>> xp.choose([0, 1, 0], [[1, 2, 3], [10, 20, 30]])
    array([ 1, 20,  3])
    """
    index = as_array("choose", a)
    if index.dtype.kind not in "iub":
        raise TypeError(f"choose: indices must be integers, not {index.dtype}")
    if not np.can_cast(index.dtype, _INTP):
        raise TypeError(f"Cannot cast array data from {index.dtype} to {_INTP} (choose)")
    arrays = promote("choose", *choices)
    shape = broadcast_shapes("choose", index.shape, *[x.shape for x in arrays])
    n = len(arrays)
    wrong = ValueError(f"choose: invalid entry in choice array: an index is not in 0 to {n - 1}")
    index = broadcast_to(_within(astype(index, _INTP), n, mode, wrong), shape)
    many = stack([broadcast_to(x, shape) for x in arrays])
    y = take_along_axis(many, reshape(index, (1, *shape)), axis=0)[0].copy()
    return deliver("choose", out, y, "unsafe")


def _within(index: Array, n: int, mode: str, wrong: Exception, lowest: int = 0) -> Array:
    """Return indices made valid for `n` places as NumPy's `mode` says, which may be to raise `wrong`."""
    if not n and index.size:
        raise wrong
    if mode == "wrap":
        return remainder(index, n)
    if mode == "clip":
        return pick(index < 0, 0, pick(index >= n, n - 1, index))
    if mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    if index.size:
        value = index._value()
        if value.min() < lowest or value.max() >= n:
            raise wrong
    return index


@eager_numpys()
def piecewise(x: ArrayLike, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Array:
    """Return values of the function whose condition is true; of one more, where none is.

    >>> x = xp.asarray([-2.0, 3.0])
    >>> xp.piecewise(x, [x < 0, x >= 0], [lambda x: -x, lambda x: x])
    array([2., 3.])
    """
    y = as_array("piecewise", x)
    single = not isinstance(condlist, list | tuple) or (
        not isinstance(condlist[0], list | tuple | Array | np.ndarray) and y.ndim != 0
    )
    masks = [astype(as_array("piecewise", c), _BOOL) for c in ([condlist] if single else condlist)]
    if len(masks) == 1 and type(condlist) in (Array, np.ndarray) and masks[0].ndim > y.ndim:
        masks = list(masks[0])
    n = len(masks)
    if n == len(funclist) - 1:
        masks.append(~functools.reduce(logical_or, masks))
    elif n != len(funclist):
        raise ValueError(
            f"with {n} condition(s), either {n} or {n + 1} functions are expected, got {len(funclist)}"
        )
    out = full(y.shape, 0, y.dtype)
    for mask, f in zip(masks, funclist, strict=True):
        if not callable(f):
            out[mask] = f
            continue
        # Each function sees the elements that are its own, and no others, as in NumPy.
        mine = y[mask]
        if mine.size:
            out[mask] = f(mine, *args, **kw)
    return out


@eager_numpys(large=np.extract)
def extract(condition: ArrayLike, arr: ArrayLike) -> Array:
    """Return the elements where a condition is true.

    >>> xp.extract([True, False, True], [1, 2, 3])
    array([1, 3])
    """
    mask = astype(flat("extract", condition), _BOOL)
    (places,) = nonzero(mask)
    return take(flat("extract", arr), places)


@eager_numpys(large=np.compress)
def compress(condition: ArrayLike, a: ArrayLike, axis: int | None = None, out: Out = None) -> Array:
    """Return the slices along an axis where a condition is true.

    >>> xp.compress([0, 1], [[1, 2], [3, 4]], axis=0)
    array([[3, 4]])
    """
    mask = as_array("compress", condition)
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    (places,) = nonzero(mask)
    return deliver("compress", out, take(a, places, axis=axis), "unsafe")


@eager_numpys()
def argwhere(a: ArrayLike) -> Array:
    """Return the indices of the elements that are not zero, one row each.

    >>> xp.argwhere([[0, 1], [2, 0]])
    array([[0, 1],
           [1, 0]])
    """
    return from_value(np.argwhere(as_array("argwhere", a)._value()))


@eager_numpys()
def flatnonzero(a: ArrayLike) -> Array:
    """Return the indices into the flattened array of the elements that are not zero.

    >>> xp.flatnonzero([[0, 1], [2, 0]])
    array([1, 2])
    """
    return nonzero(flat("flatnonzero", a))[0]


# -- indices -----------------------------------------------------------------------------------------


@fastpath.moving("Diagonal", diagonal_p)
@numpys
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return the diagonals in the plane of two axes, along a new last axis: a read-only view.

    >>> xp.diagonal([[1, 2], [3, 4]])
    array([1, 4])
    """
    x = _plane("diagonal", as_array("diagonal", a), axis1, axis2)
    return view(x, diagonal_p, offset=operator.index(offset))


def _plane(function: str, x: Array, axis1: int, axis2: int) -> Array:
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    i, j = normalize_axis(function, axis1, x.ndim), normalize_axis(function, axis2, x.ndim)
    if i == j:
        raise ValueError("axis1 and axis2 cannot be the same")
    return moveaxis(x, (i, j), (-2, -1))


@eager_numpys()
def trace(
    a: ArrayLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: Out = None,
) -> Array:
    """Return the sums of diagonals in the plane of two axes.

    >>> xp.trace([[1, 2], [3, 4]])
    np.int64(5)
    """
    if out is None and type(a) is Array and a.ndim == 2:
        found = eager.taken(np.trace, a, offset, axis1, axis2, dtype)
        if found is not None:
            return found
    x = _plane("trace", as_array("trace", a), axis1, axis2)
    y: Array = apply(diagonal_p, x, offset=operator.index(offset)).sum(-1, dtype=dtype)
    return deliver("trace", out, y)


def _whole(name: str, indices: Any) -> Array:
    """Return indices as an array; raises TypeError where they are no integers."""
    x = as_array(name, indices)
    if not x.size and not hasattr(indices, "dtype"):
        raise TypeError(f"{name}: indices must be integral: the provided empty sequence was of floats")
    if x.dtype.kind not in "biu":
        raise TypeError(f"{name}: only int indices permitted, not {x.dtype}")
    return x


@eager_numpys()
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Array:
    """Return indices along several axes as indices into the flattened array.

    >>> xp.ravel_multi_index(([0, 1], [2, 1]), (2, 3))
    array([2, 4])
    """
    shape = tuple(map(operator.index, listed(dims)))
    fits("ravel_multi_index", shape)
    modes = (mode,) * len(shape) if isinstance(mode, str) else tuple(mode)
    indices = [_whole("ravel_multi_index", i) for i in multi_index]
    if len(indices) != len(shape):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(shape)}")
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index: order is {order!r}; 'C' and 'F' would work")
    out: Any = 0
    axes = range(len(shape)) if order == "C" else reversed(range(len(shape)))
    wrong = ValueError("invalid entry in coordinates array")
    for k in axes:
        out = out * shape[k] + _within(astype(indices[k], _INTP), shape[k], modes[k], wrong)
    return as_array("ravel_multi_index", out)


def _unravelled(*args: Any, **kwargs: Any) -> tuple[np.ndarray, ...]:
    """Do what NumPy's does, and return single indices as arrays too."""
    return tuple([np.asarray(i) for i in np.unravel_index(*args, **kwargs)])


@fastpath.whole(_unravelled)
@numpys
def unravel_index(indices: ArrayLike, shape: Shape, order: str = "C") -> tuple[Array, ...]:
    """Return indices into the flattened array as indices along its axes.

    >>> xp.unravel_index([2, 4], (2, 3))
    (array([0, 1]), array([2, 1]))
    """
    sizes = tuple(map(operator.index, listed(shape)))
    fits("unravel_index", sizes)
    value = _whole("unravel_index", indices)._value()
    return tuple(map(from_value, _unravelled(value, sizes, order)))


@eager_numpys()
def ix_(*args: Any) -> tuple[Array, ...]:
    """Return index arrays that together index every combination of the given ones.

    >>> xp.arange(9).reshape(3, 3)[xp.ix_([0, 2], [1])]
    array([[1],
           [7]])
    """
    out = []
    for k, a in enumerate(args):
        x = as_array("ix_", a)
        if x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        x = (
            astype(x, _INTP)
            if not x.size and not hasattr(a, "dtype")
            else nonzero(x)[0]
            if x.dtype.kind == "b"
            else x
        )
        out.append(reshape(x, (1,) * k + (x.size,) + (1,) * (len(args) - k - 1)))
    return tuple(out)


# -- written in place --------------------------------------------------------------------------------


def _target(function: str, x: Any) -> Array:
    if isinstance(x, np.ndarray):
        raise UnheldDtypeError(f"{function}: writes to arrays of ours, and leaves NumPy's to NumPy")
    if type(x) is not Array:
        raise TypeError(f"{function}: argument 1 must be an array, not {type(x).__name__}")
    return x


def _safely(function: str, value: Any, x: Array) -> Array:
    """Return values in one axis and of the dtype of `x`, which that of an array must fit."""
    if isinstance(value, Array | np.ndarray | np.generic) and not np.can_cast(value.dtype, x.dtype):
        raise TypeError(f"Cannot cast array data from {value.dtype} to {x.dtype} ({function})")
    return flat(function, as_array(function, value, x.dtype))


@fastpath.writing(np.copyto, 1)
@numpys
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: ArrayLike = True) -> None:
    """Write the elements of an array into another one, where a mask is true.

    >>> x = xp.zeros(3)
    >>> xp.copyto(x, [1, 2, 3], where=[True, False, True])
    >>> x
    array([1., 0., 3.])
    """
    x = _target("copyto", dst)
    if where is True and casting == "same_kind":
        if src.dtype is x.dtype if type(src) is Array else eager.fits(src, x.dtype):
            x[...] = src
            return
        if x.nbytes < eager.PART and eager.put(x, (), src, cuts=False):
            return
    new = src if type(src) in SCALARS else as_array("copyto", src)
    weak = type(src) is int and x.dtype.kind != "b"
    if not np.can_cast(result_dtype(new), x.dtype, casting) and not weak:
        raise TypeError(f"Cannot cast array data from {result_dtype(new)} to {x.dtype} ({casting!r})")
    value = fitted("copyto", new, x.dtype, x.shape)
    mask = None if where is True else broadcast_to(astype(as_array("copyto", where), _BOOL), x.shape)
    rewrite(x, lambda: value if mask is None else apply(select_p, mask, value, x))


@fastpath.writing(np.putmask, 2)
@numpys
def putmask(a: ArrayLike, /, mask: ArrayLike, values: ArrayLike) -> None:
    """Write values where a mask is true: each element its own, repeated as needed.

    >>> x = xp.arange(4)
    >>> xp.putmask(x, x > 1, [10, 20])
    >>> x
    array([ 0,  1, 10, 20])
    """
    x = _target("putmask", a)
    key = fresh_value(mask) if type(mask) is Array and mask.shape == x.shape else None
    if key is not None and key.dtype == bool and eager.change(np.putmask, x, values, key):
        return
    chosen = astype(as_array("putmask", mask), _BOOL)
    if chosen.shape != x.shape:
        if chosen.size != x.size:
            raise ValueError("putmask: mask and data must be the same size")
        chosen = reshape(chosen, x.shape)
    new = _safely("putmask", values, x)
    check_writable(x)
    if new.size and x.size:
        rewrite(x, lambda: pick(chosen, repeated(new, x.shape), x))


@fastpath.writing(np.place, 2)
@numpys
def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike) -> None:
    """Write values where a mask is true: the first one at the first such place, and so on.

    >>> x = xp.arange(4)
    >>> xp.place(x, x > 1, [10, 20])
    >>> x
    array([ 0,  1, 10, 20])
    """
    x = _target("place", arr)
    chosen = astype(flat("place", mask), _BOOL)
    if chosen.size != x.size:
        raise ValueError("place: mask and data must be the same size")
    new = _safely("place", vals, x)
    if not new.size:
        check_writable(x)
        if bool(chosen.any()):
            raise ValueError("Cannot insert from an empty array!")
        return
    number = remainder(chosen.cumsum() - 1, new.size)
    new = take(new, pick(chosen, number, 0))
    rewrite(x, lambda: reshape(pick(chosen, new, reshape(x, (-1,))), x.shape))


@numpys
def put(a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str = "raise") -> None:
    """Write values at indices into the flattened array.

    >>> x = xp.zeros(3)
    >>> xp.put(x, [0, -1], [5, 6])
    >>> x
    array([5., 0., 6.])
    """
    x = _target("put", a)
    places = eager.places(ind, x.size) if mode == "raise" else None
    if places is not None and eager.change(np.put, x, v, places):
        return
    index = flat("put", ind)
    if not index.size:
        return
    if not np.can_cast(index.dtype, _INTP, "same_kind"):
        raise TypeError(f"Cannot cast array data from {index.dtype} to {_INTP}")
    if not x.size:
        raise IndexError("put: cannot replace elements of an empty array")
    wrong = IndexError(f"put: an index is out of bounds for axis 0 with size {x.size}")
    index = _within(astype(index, _INTP), x.size, mode, wrong, -x.size)
    new = astype(flat("put", v), x.dtype)  # as NumPy: any cast goes
    if not new.size:
        return

    def written() -> Array:
        old = reshape(x.copy(), (-1,))
        old[index] = repeated(new, index.shape)
        return apply(reshape_p, old, shape=x.shape)

    rewrite(x, written)


@numpys
def put_along_axis(arr: ArrayLike, indices: ArrayLike, values: ArrayLike, axis: int | None) -> None:
    """Write values at indices that differ from row to row.

    >>> x = xp.asarray([[3, 1], [7, 9]])
    >>> xp.put_along_axis(x, xp.argmax(x, axis=1, keepdims=True), 0, axis=1)
    >>> x
    array([[0, 1],
           [7, 0]])
    """
    x = _target("put_along_axis", arr)
    index = as_array("put_along_axis", indices)
    if index.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    whole, k = axis_or_flat("put_along_axis", x, axis, takes_0d=False)
    if index.ndim != whole.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    places = eager.places(index, whole.shape[k])
    if places is not None and eager.change(
        functools.partial(np.put_along_axis, axis=axis), x, values, places
    ):
        return
    whole = whole.copy()
    shape = broadcast_shapes("put_along_axis", index.shape, kept(whole, (k,)))
    key: list[Any] = list(np.indices(whole.shape, sparse=True))
    key[k] = astype(broadcast_to(index, shape), _INTP)
    whole[tuple(key)] = values
    write(x, apply(reshape_p, whole, shape=x.shape))


@fastpath.writing(np.fill_diagonal, 1)
@numpys
def fill_diagonal(a: ArrayLike, val: Any, wrap: bool = False) -> None:
    """Write values on the main diagonal.

    >>> x = xp.zeros((2, 2))
    >>> xp.fill_diagonal(x, 3)
    >>> x
    array([[3., 0.],
           [0., 3.]])
    """
    x = _target("fill_diagonal", a)
    if x.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if x.ndim > 2 and len(set(x.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    if eager.change(functools.partial(np.fill_diagonal, wrap=wrap), x, val):
        return
    end = x.shape[1] ** 2 if x.ndim == 2 and not wrap else None
    places = slice(None, end, sum(math.prod(x.shape[k:]) for k in range(1, x.ndim + 1)))
    new = val if type(val) in SCALARS else flat("fill_diagonal", val)
    if type(new) is Array:
        check_writable(x)
        if not new.size:
            return
        new = repeated(astype(new, x.dtype), (len(range(x.size)[places]),))
    view(x, reshape_p, shape=(x.size,))[places] = new


# -- functions along axes ----------------------------------------------------------------------------


@numpys
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Array:
    """Call a function on each vector along an axis.

    >>> xp.apply_along_axis(lambda v: v[0] + v[-1], 1, [[1, 2], [3, 4]])
    array([3, 7])
    """
    x = as_array("apply_along_axis", arr)
    k = normalize_axis("apply_along_axis", axis, x.ndim)
    rows = moveaxis(x, k, -1)
    outer = rows.shape[:-1]
    if not math.prod(outer):
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    # Reading computes what is pending. Thousands of calls recorded on top of it would take long to plan.
    results = [as_array("apply_along_axis", func1d(rows[i], *args, **kwargs)) for i in np.ndindex(outer)]
    first = results[0]
    out = reshape(stack([astype(r, first.dtype) for r in results]), (*outer, *first.shape))
    inner = tuple(range(len(outer), out.ndim))
    return moveaxis(out, inner, tuple(range(k, k + len(inner)))) if inner else out


@numpys
def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: Any) -> Array:
    """Call a function ``func(x, axis)`` for one axis after another.

    >>> xp.apply_over_axes(xp.sum, xp.ones((2, 3)), [0, 1])
    array([[6.]])
    """
    x = as_array("apply_over_axes", a)
    for axis in axes if isinstance(axes, tuple | list) else [axes]:
        k = normalize_axis("apply_over_axes", axis, x.ndim)
        y = as_array("apply_over_axes", func(x, k))
        if y.ndim != x.ndim:
            y = reshape(y, (*y.shape[:k], 1, *y.shape[k:]))
            if y.ndim != x.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        x = y
    return x
