"""Reading and writing with keys: ints, slices, ellipsis, newaxis, masks, integer arrays, mixtures."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._lazy.graph.aval import LARGE
from ..._lazy.graph.node import mark_origin, tapes, user_line
from ..._lazy.ops.elementwise import select
from ..._lazy.ops.indexing import gather, scatter
from ..._lazy.ops.structure import permute, reshape, slice_
from ..._lazy.rules.concretization import is_traced
from .array import (
    Array,
    apply,
    check_writable,
    current,
    from_value,
    is_scalar,
    rewrite,
    view,
    write,
    zero_d,
)
from .evaluation import fresh_value
from .keys import in_bounds, is_plain, is_plain_slice, one_an_axis, selected, width
from .promotion import (
    SCALARS,
    UnheldDtypeError,
    as_array,
    astype,
    broadcast_shapes,
    broadcast_to,
    broadcasts,
    full,
    is_foreign,
)
from .steps import Step

_INTP = np.dtype(np.intp)
_ALL = slice(None)
# What is written is made of these as the array's dtype.
_READ_AS = (list, tuple, str, bytes, type(None))
# What most keys are made of alone (bool, a subclass of int, is no such thing).
_PLAIN = frozenset({int, slice})


class _Fresh:
    """What a 0-d boolean in a key stands for: a new axis, indexed by `zeros` (one 0, or nothing)."""

    __slots__ = ("zeros",)

    def __init__(self, zeros: np.ndarray) -> None:
        self.zeros = zeros


class _Key:  # a named tuple's class takes long to make
    """A key taken apart: a slice and a reshape, then perhaps index arrays on axes of their result.

    Where the arrays stood side by side in the key, their axes stay at that place, else they come first.
    """

    __slots__ = ("arrays", "axes", "element", "shape", "side_by_side", "slice")

    def __init__(
        self,
        slice: dict[str, tuple[int, ...]],
        shape: tuple[int, ...],
        axes: tuple[int, ...],
        arrays: tuple[Array, ...],
        side_by_side: bool,
        element: bool,
    ) -> None:
        self.slice, self.shape, self.axes = slice, shape, axes
        self.arrays, self.side_by_side, self.element = arrays, side_by_side, element


def _items(function: str, key: Any, shape: tuple[int, ...]) -> list[Any]:
    """Return the key as one item an axis of `shape`, and None or `_Fresh` where a new axis goes."""
    many = key if isinstance(key, tuple) else (key,)
    ready = [i if i is Ellipsis or i is None or isinstance(i, slice) else _integer(function, i) for i in many]
    out: list[Any] = []
    axis = 0
    for item in one_an_axis(function, ready, map(_width, ready), len(shape)):
        out.extend(_mask(function, item, shape, axis) if _is_mask(item) else [item])
        axis += _width(item)
    return out


def as_integers(key: Any) -> Any:
    """Return a key with an int in place of each integer array without axes: a view has such keys in NumPy.

    What a transform must see as an index, an example's own or a part of a program, stays one. Bounds of
    slices are asked for their value here, once, before anybody looks at the array.
    """
    if type(key) is tuple:
        return key if is_plain(key) else tuple(map(as_integers, key))
    if type(key) is slice:
        return key if is_plain_slice(key) else slice(*map(_bound, (key.start, key.stop, key.step)))
    if type(key) is not Array or key._node.aval.dtype.kind not in "iu":
        return key
    if current(key).aval.shape or key._levels:
        return key
    return key if tapes and is_traced(current(key)) else operator.index(key)


def _bound(k: Any) -> int | None:
    if k is None or hasattr(type(k), "__index__"):
        return k if k is None else operator.index(k)
    raise TypeError("slice indices must be integers or None or have an __index__ method")


def _ready(function: str, key: Any) -> Any:
    """Return a key of ints, slices of ints, and arrays: to ask others what they are may change any array."""
    key = as_integers(key)
    if not isinstance(key, tuple):
        return key if _is_ready(key) else _integer(function, key)
    return tuple([i if _is_ready(i) else _integer(function, i) for i in key])


def _is_ready(item: Any) -> bool:
    return (
        type(item) in _PLAIN
        or item is None
        or item is Ellipsis
        or isinstance(item, Array | np.ndarray | bool)
    )


def _is_mask(item: Any) -> bool:
    return isinstance(item, Array | np.ndarray) and item.dtype.kind == "b"


def _width(item: Any) -> int:
    """Return how many axes an item of a key takes."""
    return item.ndim if _is_mask(item) else width(item)


def _integer(function: str, item: Any) -> Any:
    """Return an item of a key as an int, or as an array of integers or booleans."""
    if hasattr(type(item), "__array__") and not isinstance(item, Array | np.generic):
        item = np.asarray(item)  # a pandas series, say
    if not isinstance(item, bool | Array | np.ndarray | list | tuple):
        try:
            return operator.index(item)
        except TypeError:
            if isinstance(item, Sequence) and not isinstance(item, str | bytes):
                item = list(item)  # a range, say
            elif not isinstance(item, np.bool):
                raise IndexError(
                    f"{function}: only integers, slices, ellipsis, None and integer or boolean arrays "
                    f"are valid indices, not {item!r}"
                ) from None
    array = item if type(item) is Array else np.asarray(item)
    if array.size == 0 and isinstance(item, list | tuple):
        array = np.asarray(array, _INTP)
    if array.dtype.kind not in "iub":
        raise IndexError(
            f"{function}: arrays used as indices must be of integer (or boolean) type, not {array.dtype}"
        )
    return array


def _mask(function: str, mask: Any, shape: tuple[int, ...], axis: int) -> list[Any]:
    """Return a mask as an index array for each of its axes, which begin at `axis`."""
    # As in the standard, a mask may also have size 0 where the array has another.
    if any([m not in (0, n) for m, n in zip(mask.shape, shape[axis:], strict=False)]):
        raise IndexError(
            f"{function}: a boolean index of shape {mask.shape} does not match the array of shape "
            f"{shape} from axis {axis} on"
        )
    value = np.asarray(mask)
    if value.ndim == 0:
        return [_Fresh(np.zeros(int(value), _INTP))]
    return list(nonzero_indices(value))


# Elements from which `nonzero_indices` counts through them as if they lay in one row.
_MANY = 2048


def nonzero_indices(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return what NumPy's method `nonzero` does, sooner where there are several axes or numbers.

    NumPy finds what is true in a row several times as fast as along several axes, or what is not zero.
    """
    if x.size < _MANY or x.dtype.kind not in "biufc" or (x.ndim == 1 and x.dtype == np.bool):
        return x.nonzero()
    found = np.flatnonzero(x if x.dtype == np.bool else x != 0)
    indices = []
    for n in x.shape[:0:-1]:
        rows = found // n
        indices.append(found - n * rows)
        found = rows
    return (found, *indices[::-1])


def _parse(function: str, key: Any, shape: tuple[int, ...]) -> _Key:
    """Take a key apart; ints and slices alone, which most keys are, need less care than others."""
    many = key if type(key) is tuple else (key,)
    places: list[int] = []  # where what becomes an index array stands: ints, too, where there are arrays
    items: list[Any] | tuple[Any, ...]
    if len(many) <= len(shape) and all([type(i) in _PLAIN for i in many]):
        items = many + (_ALL,) * (len(shape) - len(many))
    else:
        items = _items(function, key, shape)
        if any([isinstance(i, Array | np.ndarray | _Fresh) for i in items]):
            places = [k for k, i in enumerate(items) if isinstance(i, int | Array | np.ndarray | _Fresh)]
    if not places:
        part, out = selected(function, items, shape)
        return _Key(part, out, (), (), False, not out and not any([i is Ellipsis for i in many]))
    plain = [i if k not in places else None if isinstance(i, _Fresh) else _ALL for k, i in enumerate(items)]
    part, out = selected(function, plain, shape)
    none = not all(map(_takes_some, items))  # no element
    arrays: dict[int, Any] = {}
    made = axis = 0  # axes, of the slice and of the array
    for place, item in enumerate(items):
        if place in places:
            is_fresh = isinstance(item, _Fresh)
            arrays[made] = item.zeros if is_fresh else _index(function, item, axis, shape[axis], none)
        made += item is not Ellipsis
        axis += width(plain[place])
    side_by_side = places[-1] - places[0] == len(places) - 1
    return _Key(
        part, out, tuple(arrays), _broadcast_indices(function, list(arrays.values())), side_by_side, False
    )


def _index(function: str, item: Any, axis: int, n: int, none: bool) -> Any:
    """Return an index array, or a number as one, whose bounds are known to be kept where it is known.

    `none`: as NumPy, which forgives arrays that index nothing, but no number.
    """
    counts = not none or type(item) is int or not item.ndim
    if not isinstance(item, Array):
        return array_in_bounds(function, np.asarray(item), axis, n) if counts else item
    if counts and (known := fresh_value(item)) is not None and known.nbytes < LARGE:
        array_in_bounds(function, known, axis, n)
    elif not none and not n and item.size:
        raise IndexError(f"{function}: an index is out of bounds for axis {axis} with size 0")
    return item


def _takes_some(item: Any) -> bool:
    if isinstance(item, _Fresh):
        return bool(item.zeros.size)
    return not isinstance(item, Array | np.ndarray) or bool(item.size)


def array_in_bounds(function: str, index: np.ndarray, axis: int, n: int) -> np.ndarray:
    if index.size:
        for i in (index.min(), index.max()):
            in_bounds(function, int(i), axis, n)
    return index


def _broadcast_indices(function: str, arrays: list[Any]) -> tuple[Array, ...]:
    ready = [astype(as_array(function, a), _INTP) for a in arrays]
    if len(ready) < 2:
        return tuple(ready)
    try:
        shape = broadcast_shapes(function, *[a.shape for a in ready])
    except ValueError:
        raise IndexError(
            f"{function}: index arrays of shapes {', '.join(str(a.shape) for a in ready)} do not broadcast"
        ) from None
    return tuple(broadcast_to(a, shape) for a in ready)


def _sliced(x: Array, key: _Key) -> Array:
    """Return what the key's slices and new axes make of `x`: `x` itself where that is all of it."""
    whole = key.slice["size"] == x.shape and all(s == 1 for s in key.slice["step"])
    y = x if whole else view(x, slice_, **key.slice)
    if y.shape != key.shape:
        y = view(y, reshape, shape=key.shape)
    return y


def _basic(x: Array, key: _Key) -> Array:
    y = _sliced(x, key)
    return view(x, reshape, shape=x.shape) if y is x else y


def _to_place(key: _Key, ndim: int) -> tuple[int, ...]:
    """Return the permutation that takes `gather`'s result, its index axes first, to NumPy's order."""
    k = key.arrays[0].ndim
    first = key.axes[0] if key.side_by_side else 0
    return (*range(k, k + first), *range(k), *range(k + first, ndim))


def getitem(x: Array, key: Any) -> Array:
    """Return ``x[key]``: a view for a basic key, a copy for one with arrays, as NumPy does."""
    key = _ready("getitem", key)
    parsed = _parse("getitem", key, x.shape)
    if parsed.element:
        return apply(reshape, apply(slice_, x, **parsed.slice), shape=())
    y = _basic(x, parsed)
    if not parsed.arrays:
        return y
    if all([i.ndim == 0 for i in parsed.arrays]) and y.ndim > len(parsed.arrays):
        # Numbers that a transform has made indices: what is written to the part is written to the whole.
        out = view(y, gather, *[i.copy() for i in parsed.arrays], axes=parsed.axes, batch=0)
    else:
        out = apply(gather, y, *parsed.arrays, axes=parsed.axes, batch=0)
    mark_origin(out._node, "getitem")
    order = _to_place(parsed, out.ndim)
    return out if order == tuple(range(out.ndim)) else apply(permute, out, axes=order)


def _is_own_view(x: Array, key: _Key, value: Any) -> bool:
    """Say whether `value` is the view ``x[key]``, written already: Python's last step of ``x[k] += v``."""
    if type(value) is not Array or value._view is None:
        return False
    mine = _basic(x, key)._view
    return (
        mine is not None
        and value._view.base is mine.base
        and value._view.steps == mine.steps
        and value._view.seen is mine.base._node
    )


# What writes elements at once where nobody can tell, and says whether it did (`dispatch.eager` puts it here).
put_hook: list[Callable[[Array, Any, Any], bool]] = []


def setitem(x: Array, key: Any, value: Any) -> None:
    """Do ``x[key] = value``; the value is cast to the dtype of `x` and broadcast to ``x[key]``.

    Raises IndexError for a key that does not fit, ValueError for a value that does not, TypeError for a
    complex value in a real array, OverflowError for a Python integer out of range.
    """
    if not put_hook[0](x, key, value):
        record_set(x, key, value)


def record_set(x: Array, key: Any, value: Any) -> None:
    """Do what `setitem` does, recorded."""
    if is_scalar(x):  # writes to views of it would not reach it
        check_writable(x)
        changed = zero_d(x)
        setitem(changed, key, value)
        write(x, changed)
        return
    key = _ready("setitem", key)
    check_writable(x)
    if _masked_set(x, key, value):
        return
    parsed = _parse("setitem", key, x.shape)
    if not parsed.arrays and _is_own_view(x, parsed, value):
        return
    if parsed.element and type(value) not in SCALARS:
        value = _one_as_written(value, x.dtype)
        if value.ndim:
            raise ValueError(f"setitem: a value of shape {value.shape} does not fit into one element")
    if not parsed.arrays:
        size = parsed.slice["size"]
        if type(value) in SCALARS:
            new = fitted("setitem", value, x.dtype, size)
        else:
            new = fitted("setitem", value, x.dtype, parsed.shape)
            new = new if size == parsed.shape else apply(reshape, new, shape=size)
        write(x, new, Step(slice_, parsed.slice))
        return
    _scatter("setitem", x, parsed, value, "set")


def _scatter(function: str, x: Array, parsed: _Key, value: Any, mode: str) -> None:
    y = _sliced(x, parsed)  # the memory of `x` may be written to, that of a view of it never
    rest = tuple(n for a, n in enumerate(parsed.shape) if a not in parsed.axes)
    order = _to_place(parsed, parsed.arrays[0].ndim + len(rest))
    plain = parsed.arrays[0].shape + rest
    new = fitted(function, value, y.dtype, tuple(plain[a] for a in order))
    back = tuple(sorted(range(len(order)), key=order.__getitem__))
    if back != tuple(range(len(back))):
        new = apply(permute, new, axes=back)

    def written() -> Array:
        out = apply(scatter, y.copy(), new, *parsed.arrays, axes=parsed.axes, batch=0, mode=mode)
        mark_origin(current(out), function)
        return out

    rewrite(y, written)


def combine_at(x: Array, key: Any, value: Array, mode: str, function: Callable[..., Array]) -> None:
    """Do ``x[key] = function(x[key], value)``, again where an element stands in the key again.

    `mode` is the scatter primitive's name for the function.
    """
    check_writable(x)
    key = _ready("at", key)
    parsed = _parse("at", key, x.shape)
    if not parsed.arrays:
        setitem(x, key, function(getitem(x, key), value))
        return
    _scatter("at", x, parsed, value, mode)


def _masked_set(x: Array, key: Any, value: Any) -> bool:
    """Write one value, or one for each trailing element, where a mask is true; stays lazy."""
    if type(key) is tuple and len(key) == 1:
        (key,) = key
    if not isinstance(key, Array | np.ndarray) or key.dtype.kind != "b":
        return False
    new = value if type(value) in SCALARS else as_written("setitem", value, x.dtype)
    if getattr(new, "ndim", 0) > x.ndim - key.ndim or x.shape[: key.ndim] != key.shape:
        return False
    mask = as_array("setitem", key)
    spread = apply(reshape, mask, shape=mask.shape + (1,) * (x.ndim - mask.ndim))
    new = fitted("setitem", new, x.dtype, x.shape)
    rewrite(x, lambda: apply(select, broadcast_to(spread, x.shape), new, x))
    return True


def warn_of_discard() -> None:
    """Warn that complex numbers become real, as NumPy does."""
    warn_user("Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the user's line."""
    file, _, line = user_line().rpartition(":")
    warnings.warn_explicit(message, category, file, int(line))


def as_written(function: str, value: Any, dtype: np.dtype) -> Array:
    """Return a value to be written to elements of a dtype as an array, whose dtype may be another still."""
    try:
        # A list gets this dtype at once, so that an integer in it that does not fit is an error.
        return as_array(function, value, dtype if type(value) in _READ_AS else None)
    except UnheldDtypeError:  # text, dates, objects: NumPy's assignment makes numbers of them
        given = np.asarray(value)
        numbers = np.empty(given.shape, dtype)
        numbers[...] = given
        return from_value(numbers)


def _one_as_written(value: Any, dtype: np.dtype) -> Array:
    """Return a value to be written to one element as an array."""
    if (
        isinstance(value, Array | np.ndarray | np.generic)
        and value.dtype.kind in "biufc"
        and not is_foreign(value)
    ):
        return as_array("setitem", value)
    one = np.empty(1, dtype)
    one[0] = value  # as `float(value)` and the like, which lists have none of
    return from_value(one.reshape(()))


def fitted(function: str, value: Any, dtype: np.dtype, shape: tuple[int, ...]) -> Array:
    """Return a value to be written as an array of this dtype and shape, as NumPy's assignment casts."""
    kind = type(value)
    if dtype.kind in "iuf":
        if kind is complex:
            raise TypeError(f"{function}: a complex value does not fit into an array of {dtype}")
        if getattr(value, "dtype", dtype).kind == "c":
            warn_of_discard()
    if kind in SCALARS:
        return full(shape, int(value) if kind is float and dtype.kind in "iu" else value, dtype)
    new = astype(as_written(function, value, dtype), dtype)
    lead = new.ndim - len(shape)
    if lead > 0 and all(n == 1 for n in new.shape[:lead]):
        new = apply(reshape, new, shape=new.shape[lead:])
    if new.shape != shape and not broadcasts(new.shape, shape):
        raise ValueError(f"{function}: a value of shape {new.shape} does not fit into {shape}")
    return broadcast_to(new, shape)
