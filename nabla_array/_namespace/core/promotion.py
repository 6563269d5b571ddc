"""Arrays and Python scalars to one shape and one dtype, and the errors when that cannot be."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from ..._lazy.cpu.faults import copied
from ..._lazy.graph.aval import TooBigError, aval_of, check_size
from ..._lazy.graph.primitive import Primitive, resolve
from ..._lazy.graph.program import is_literal
from ..._lazy.ops.creation import fill_node
from ..._lazy.ops.elementwise import cast
from ..._lazy.ops.structure import broadcast, concat, reshape
from .array import Array, apply, current, from_value
from .weak import any_stands, noted, promoted_dtype, weak, weakened

SCALARS = (bool, int, float, complex)
# What a binary operator takes beside an Array; anything else may know better what to do.
OPERANDS = (Array, *SCALARS, np.ndarray, np.generic, list, tuple, range)
# What an array of ours may be, or be in.
HOLDERS = {Array, list, tuple, dict}

_CATEGORIES = {"numeric": "iufc", "integer": "iu"}


# Functions that NumPy leaves to their operand where that is of another library.
_REDUCING = {"all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "trace", "var"}
_MOVING = {"diagonal", "nonzero", "ravel", "repeat", "reshape", "squeeze", "swapaxes", "take", "transpose"}
# NumPy makes `flip` of a slice of its operand, and `isposinf` of ufuncs.
_COMPOSED = {"flip", "isneginf", "isposinf"}
_OTHERS = {"argsort", "clip", "cumprod", "cumsum", "matmul", "round"}
_LEFT_TO_OTHERS = _REDUCING | _MOVING | _COMPOSED | _OTHERS
# Where an array's elements alone count, not their mask nor that they are a matrix.
_PLAIN = {"array", "asarray", "at", "getitem", "setitem"}


class UnheldDtypeError(TypeError):
    """An array of a dtype, or of a kind, that NumPy can work with and we cannot hold."""


def is_foreign(x: Any) -> bool:
    """Say whether `x` is an array of a kind that knows better what to do: pandas', masked, a matrix, ..."""
    kind = type(x)
    if kind is Array or kind is np.ndarray:
        return False
    if issubclass(kind, np.ndarray):
        return x.__array_priority__ >= 0  # a mapped file is as any array of NumPy's
    return hasattr(kind, "__array_ufunc__")


def is_derived(kind: type) -> bool:
    """Say whether this is a class derived from NumPy's that knows better what to do: a matrix, say."""
    if kind is np.ndarray or not issubclass(kind, np.ndarray):
        return False
    priority = kind.__array_priority__  # NumPy's own is a descriptor; a mapped file's is negative
    return not (isinstance(priority, int | float) and priority < 0)


def meets_derived(function: str, operands: Iterable[Any]) -> bool:
    """Say whether NumPy's function answers: for an array, or one in a list, of a derived class."""
    for x in operands:
        kind = type(x)
        if kind is list or kind is tuple:
            found = any(map(is_derived, set(map(type, x))))
        else:
            found = kind is not Array and is_derived(kind)
        if found:
            return function not in _PLAIN
    return False


def is_operand(x: Any) -> bool:
    """Say whether a binary operator takes `x` beside an Array."""
    return type(x) is Array or (isinstance(x, OPERANDS) and not (isinstance(x, np.ndarray) and is_foreign(x)))


def check_kind(function: str, x: Any, has_methods: bool = False) -> None:
    others = has_methods and not isinstance(x, np.ndarray | np.generic) and hasattr(x, "__array_priority__")
    if others or is_foreign(x):
        raise _unheld(function, x)


def _unheld(function: str, x: Any) -> UnheldDtypeError:
    return UnheldDtypeError(f"{function}: no arrays of {type(x).__name__}; asarray makes one of ours of it")


def overrides_functions(kind: type) -> bool:
    """Say whether objects of this kind override NumPy's functions."""
    return getattr(kind, "__array_function__", None) not in (None, np.ndarray.__array_function__)


def check_override(function: str, x: Any) -> None:
    """Raise UnheldDtypeError for what overrides NumPy's functions, which is to answer in our place."""
    if type(x) is not Array and overrides_functions(type(x)):
        raise _unheld(function, x)


def require(function: str, category: str, *arrays: Array) -> None:
    """Raise TypeError unless every array's dtype is of the standard's `category`."""
    for x in arrays:
        if x.dtype.kind not in _CATEGORIES[category]:
            raise TypeError(f"{function}: needs a {category} dtype, not {x.dtype}")


def as_array(function: str, x: Any, dtype: Any = None) -> Array:
    """Return `x` as an array: itself, or what NumPy makes of it (sequences of arrays are stacked, lazily)."""
    if type(x) is Array:
        return x if dtype is None else astype(x, np.dtype(dtype))
    if function in _LEFT_TO_OTHERS or (isinstance(x, np.ndarray) and function not in _PLAIN):
        check_kind(function, x, has_methods=function in _LEFT_TO_OTHERS)
    if isinstance(x, list | tuple):
        known = list_hook[0](x)
        if known is not None and (dtype is None or known.dtype == dtype):
            return known
        if _holds_array(x):
            return _stacked(function, x, dtype) if known is None else astype(known, np.dtype(dtype))
    convert: Any = getattr(type(x), "__array__", None)
    if convert is not None and function not in _PLAIN and overrides_functions(type(x)):
        raise _unheld(function, x)
    # NumPy takes no arrays of ours from an object's `__array__`; under the runner it gets its own.
    if hasattr(convert, "__wrapped__"):
        return as_array(function, convert.__wrapped__(x), dtype)
    try:
        return from_value(host_array(function, x, dtype, copy=True))
    except ValueError:
        made = None if convert is None else x.__array__()
        if type(made) is not Array:
            raise
    return as_array(function, made, dtype)


def host_array(function: str, x: Any, dtype: Any, copy: bool | None, order: Any = "K") -> np.ndarray:
    """Return what NumPy makes of `x`, or the memory that it exports with DLPack if NumPy cannot."""
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        x = np.from_dlpack(x)
    if dtype is None and isinstance(x, np.ndarray) and x.dtype.kind == "O":
        raise UnheldDtypeError(f"{function}: no arrays of dtype object; numbers and booleans would work")
    if copy and dtype is None and type(x) is np.ndarray and x.dtype.isnative:
        return copied(checked(function, x), order)
    try:
        return checked(function, np.array(x, dtype=dtype, copy=copy, order=order))
    except OverflowError as error:
        raise OverflowError(f"{function}: {error}") from None


def checked(function: str, value: np.ndarray) -> np.ndarray:
    """Return `value` in native byte order; raises TypeError for what is no array of numbers alone."""
    check_override(function, value)
    if value.dtype.kind not in "biufc":
        if value.dtype.kind == "O" and any(type(i) is int and not -(2**63) <= i < 2**64 for i in value.flat):
            raise OverflowError(f"{function}: a Python integer is out of bounds for int64 and uint64")
        raise UnheldDtypeError(
            f"{function}: no arrays of dtype {value.dtype}; numbers and booleans would work"
        )
    return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))


def native(function: str, dtype: Any) -> np.dtype:
    """Return a dtype that is asked for; raises UnheldDtypeError for another byte order, or a subarray's."""
    wanted = np.dtype(dtype)
    if wanted.subdtype is not None:
        raise UnheldDtypeError(
            f"{function}: no arrays of a subarray dtype, {wanted}; {wanted.base} would work"
        )
    if not wanted.isnative:
        raise UnheldDtypeError(f"{function}: no arrays of dtype {wanted.str}; {wanted.name} would work")
    return wanted


def _holds_array(items: Any) -> bool:
    types = set(map(type, items))  # in C: most sequences hold nothing but numbers
    if Array in types:
        return True
    nested = any(issubclass(t, list | tuple) for t in types)
    return nested and any(isinstance(i, list | tuple) and _holds_array(i) for i in items)


# The class of the lengths that a traced function is told: `core.lengths` puts it here.
lengths: set[type] = set()
# What makes an array of a sequence of what is known, or None where that is not so simple: `dispatch.fastpath`
# puts it here.
list_hook: list[Callable[[Any], Array | None]] = []


def _stacked(function: str, items: Any, dtype: Any) -> Array:
    """Return a sequence that holds arrays, at any depth, as one array."""
    rows = [as_array(function, i, dtype) for i in items]
    shapes = list(dict.fromkeys(x.shape for x in rows))
    if len(shapes) > 1:
        raise ValueError(f"{function}: a sequence of shapes {shapes[0]} and {shapes[1]} makes no array")
    common = np.result_type(*{x.dtype for x in rows})
    rows = [astype(x, common) if x.ndim else apply(reshape, astype(x, common), shape=(1,)) for x in rows]
    return apply(reshape, apply(concat, *rows, axis=0), shape=(len(rows), *shapes[0]))


def astype(x: Array, dtype: np.dtype) -> Array:
    """Return `x` with another dtype, or `x` itself if it has it; raises TypeError for what is no number's."""
    if x.dtype == dtype:
        return x
    if dtype.kind not in "biufc":
        raise UnheldDtypeError(f"astype: no arrays of dtype {dtype}; numbers and booleans would work")
    return apply(cast, x, dtype=dtype if dtype.isnative else dtype.newbyteorder("="))


def full_like(x: Array, value: Any) -> Array:
    """Return an array of the shape and dtype of `x` filled with a scalar."""
    return full(x.shape, value, x.dtype)


def full(shape: tuple[int, ...], value: Any, dtype: np.dtype) -> Array:
    """Return an array filled with a scalar that fits `dtype`; it takes no memory."""
    return Array(fill_node(aval_of(shape, dtype), value))


def broadcast_to(x: Array, shape: tuple[int, ...]) -> Array:
    """Return `x` broadcast to `shape`, which it must fit."""
    if x.shape == shape:
        return x
    node = current(x)
    if is_literal(node) and not x._levels:  # a number stays one
        return Array(fill_node(aval_of(shape, node.aval.dtype), node.params["value"].value))
    first = len(shape) - x.ndim
    return apply(broadcast, x, shape=shape, axes=tuple(range(first, len(shape))))


def broadcast_shapes(function: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that all `shapes` broadcast to; raises ValueError where they do not."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        given = ", ".join(map(str, shapes))
        columns = [{*sizes} - {1} for sizes in zip_longest(*map(reversed, shapes), fillvalue=1)]
        if all([len(sizes) < 2 for sizes in columns]):
            shape = tuple([sizes.pop() if sizes else 1 for sizes in reversed(columns)])
            raise TooBigError(f"{function}: shapes {given} make an array that is too big: {shape}") from None
        raise ValueError(
            f"{function}: shapes {given} could not be broadcast together: "
            "from the right, sizes must be equal or 1"
        ) from None


def broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Say whether an array of one shape broadcasts to another."""
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def elementwise(prim: Primitive, name: str, args: Sequence[Any]) -> Array:
    """Apply an elementwise primitive as a ufunc is applied: promote, broadcast, record."""
    y = apply(prim, *operands(prim, name, args))
    return noted(y, *args) if weak else y


def operands(prim: Primitive, name: str, args: Sequence[Any]) -> list[Array]:
    """Return the operands of an elementwise primitive, promoted as a ufunc's are, and broadcast."""
    for x in args:
        if type(x) is not Array and type(x) not in SCALARS:
            check_kind(name, x)
    given = [x if type(x) in SCALARS else as_array(name, x) for x in args]
    if all(type(x) is not Array for x in given):
        given = [as_array(name, x) for x in given]
    kinds = tuple(
        x.dtype if type(x) is Array else type(x) if type(x) is not bool else np.dtype(bool) for x in given
    )
    if weak and any_stands(*[x._node for x in given if type(x) is Array]):
        kinds = weakened(given, kinds)
    dtypes = resolve(prim, kinds, name)
    shapes = [x.shape for x in given if type(x) is Array]
    shape = broadcast_shapes(name, *shapes) if len(shapes) > 1 else shapes[0]
    if shape and len({*kinds, *dtypes}) == 1:  # a scalar of NumPy's is a number, as where the rule is known
        given = [a if isinstance(a, np.generic) else x for a, x in zip(args, given, strict=True)]
    return [
        broadcast_to(astype(x, dtype), shape) if type(x) is Array else _fitting(name, shape, x, dtype)
        for x, dtype in zip(given, dtypes, strict=False)
    ]


def _fitting(function: str, shape: tuple[int, ...], value: Any, dtype: np.dtype) -> Array:
    try:
        return full(shape, value, dtype)
    except OverflowError:
        raise OverflowError(f"{function}: the Python number {value} is out of bounds for {dtype}") from None


def result_dtype(*operands: Any) -> np.dtype:
    """Return the promoted dtype of arrays, dtypes and Python scalars (which are weak)."""
    kinds = [x.dtype if type(x) is Array else x for x in operands]
    return promoted_dtype(weakened(operands, kinds)) if weak else np.result_type(*kinds)


def promote(function: str, *operands: Any) -> list[Array]:
    """Return arrays and Python scalars as arrays of one dtype; shapes stay as they are."""
    arrays = [x if type(x) in SCALARS else as_array(function, x) for x in operands]
    dtype = result_dtype(*arrays)
    return [astype(x, dtype) if type(x) is Array else full((), x, dtype) for x in arrays]


def listed(numbers: Any) -> tuple[Any, ...] | list[Any]:
    """Return sizes or axes that were given as one number, a sequence, a range, or an array."""
    if isinstance(numbers, tuple | list):
        return numbers
    if isinstance(numbers, Array | np.ndarray) and numbers.ndim:
        return tuple(numbers.tolist())
    return tuple(numbers) if isinstance(numbers, range) else (numbers,)


def sizes_of(function: str, shape: Any) -> tuple[int, ...]:
    """Return a shape (an int or a sequence of them) as a tuple; raises TypeError for what is no integer."""
    given = listed(shape)
    if bool in map(type, given):
        raise TypeError(f"{function}: an integer is required, not the bool in {shape}")
    return tuple(map(operator.index, given))


def normalize_shape(function: str, shape: Any) -> tuple[int, ...]:
    """Return a shape (an int or a sequence of them) as a tuple; raises ValueError for negative sizes."""
    out = sizes_of(function, shape)
    if any(n < 0 for n in out):
        raise ValueError(f"{function}: negative dimensions are not allowed: {out}")
    fits(function, out)
    return out


def fits(function: str, shape: tuple[int, ...], itemsize: int = 1) -> None:
    """Raise ValueError for a shape that no array has."""
    try:
        check_size(shape, itemsize)
    except TooBigError as error:
        raise TooBigError(f"{function}: {error}") from None


def normalize_axis(function: str, axis: Any, ndim: int) -> int:
    """Return a Python axis as a non-negative int; raises numpy.exceptions.AxisError out of range."""
    index = operator.index(axis)
    if type(axis) is bool:
        raise TypeError(f"{function}: an integer is required for the axis, not {axis}")
    if not -ndim <= index < ndim:
        raise np.exceptions.AxisError(index, ndim, function)
    return index % ndim


def normalize_axes(function: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Return `axes` (None for all, an int, or a tuple) sorted and non-negative, each once."""
    if axes is None:
        return tuple(range(ndim))
    many = axes if isinstance(axes, tuple | list) else (axes,)
    out = [normalize_axis(function, a, ndim) for a in many]
    if len(set(out)) != len(out):
        raise ValueError(f"{function}: an axis stands twice in {axes!r}")
    return tuple(sorted(out))


def reduced_axes(function: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes of a reduction; as in NumPy, 0 and -1 are none of an array without axes."""
    return () if not ndim and axis in (0, -1) else normalize_axes(function, axis, ndim)


def axis_or_flat(function: str, x: Any, axis: Any, takes_0d: bool = True) -> tuple[Array, int]:
    """Return an array and a non-negative axis of it; without an axis the array is flattened.

    One without axes is, too, where the function takes 0 and -1 for an axis of it, as many of NumPy's do.
    """
    y = as_array(function, x)
    if axis is None or (takes_0d and not y.ndim and axis in (0, -1)):
        return apply(reshape, y, shape=(y.size,)), 0
    return y, normalize_axis(function, axis, y.ndim)
