"""NumPy's methods of `Array`: most are functions of the namespace with the array in first place."""

from __future__ import annotations

import builtins
import operator
import pickle
from functools import lru_cache, update_wrapper
from types import FunctionType, GenericAlias
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np

from ..._lazy.forks import late
from ..._lazy.native import compiled
from ..._lazy.ops.elementwise import imag as imag_p
from ..._lazy.ops.elementwise import real as real_p
from ..._lazy.ops.structure import permute, reinterpret, slice_
from ..._lazy.ops.structure import reshape as reshape_p
from ..._lazy.run.claims import lock
from ..chapters import elementwise
from ..core import promotion
from ..core.array import Array, apply, current, from_value, view, write
from ..core.indexing import warn_of_discard
from ..core.steps import Step
from ..core.views import Flags, check_bits, copied, field, held_dtype, in_order, in_turn, view_dtype
from ..dispatch import fastpath
from ..dispatch.ufuncs import Function, host_hook, late_hook
from . import homes

if TYPE_CHECKING:
    from ..core.types import ArrayLike, Casting, DTypeLike, Out

Theirs = TypeVar("Theirs", bound=np.ndarray)


def _host(self: Array, method: str, *args: Any) -> Any:
    """Run one of NumPy's methods on the host, counted: its result is of a dtype that we cannot hold."""

    def call(x: Any, *args: Any) -> Any:
        return getattr(np.asarray(x), method)(*args)

    return host_hook[0](call, f"ndarray.{method}", (self, *args), {})


# The other names of NumPy's are imported when one of them is first used.
_find = lru_cache(None)(homes.find)


@lru_cache(None)
def _ufunc_method(name: str) -> Function:
    """Return a function of `ufunc_methods`."""
    return getattr(late(".ufunc_methods", __package__), name)


late_hook.append(_ufunc_method)


class _Late:
    """A method that is a function of the namespace, made when it is asked for, and then in its place."""

    def __init__(self, name: str, function: Any = None) -> None:
        self._name, self._function = name, function

    def __get__(self, x: Array | None, kind: type) -> Any:
        setattr(Array, self._name, _as_method(self._function or _find(self._name)))
        return getattr(kind if x is None else x, self._name)


def _as_method(function: Any) -> Any:
    """Return a function that does the same, whose first parameter is `self`.

    The name is changed in the code, from which a signature is read when somebody asks for one: to make
    signatures takes longer than most first calls.
    """
    slow: Any = function if type(function) is FunctionType else function.__wrapped__
    code = slow.__code__
    if code.co_argcount:
        first, *others = code.co_varnames
        code = code.replace(
            co_varnames=("self", *others),
            co_cellvars=tuple(["self" if name == first else name for name in code.co_cellvars]),
            co_posonlyargcount=max(1, code.co_posonlyargcount),
        )
    made: Any = FunctionType(code, slow.__globals__, slow.__name__, slow.__defaults__, slow.__closure__)
    made.__kwdefaults__ = slow.__kwdefaults__
    update_wrapper(made, slow)
    if hasattr(slow, "__wrapped__"):  # which says the signature
        made.__wrapped__ = _as_method(slow.__wrapped__)
    else:
        del made.__wrapped__
    return made if slow is function else compiled.like(function, made)


# -- shape -----------------------------------------------------------------------------------------


@fastpath.whole(np.ndarray.flatten)
def flatten(self: Array, /, order: Any = "C") -> Array:
    """Return the elements in one axis, as a copy."""
    return ravel(self, order).copy()


def ravel(self: Array, /, order: Any = "C") -> Array:
    """Return the elements in one axis, as a view where that can be."""
    found: Array = _find("ravel")(self, order)
    return found


def reshape(self: Array, /, *shape: Any, order: Any = "C", copy: bool | None = None) -> Array:
    """Return the array with another shape, given as one tuple or as several ints."""
    if not shape:
        raise TypeError("reshape() takes exactly 1 argument (0 given)")
    return _find("reshape")(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def transpose(self: Array, /, *axes: Any) -> Array:
    """Return a view with the axes permuted, or reversed if none are given."""
    if not axes or (len(axes) == 1 and axes[0] is None):
        return self.T
    order = axes[0] if len(axes) == 1 and np.ndim(axes[0]) else axes
    return _find("transpose")(self, tuple(order))


# -- dtype -----------------------------------------------------------------------------------------


# Of an object or of text arrays are NumPy's; where that is told by a dtype, type checkers do not see it.
@overload
def astype(self: Array, /, dtype: builtins.type[str | bytes], *options: Any, **more: Any) -> np.ndarray: ...
@overload
def astype(
    self: Array,
    /,
    dtype: DTypeLike,
    order: str = "K",
    casting: Casting | Literal["same_value"] = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Array: ...
@fastpath.whole(None, "astype")
@fastpath.whole(np.ndarray.astype)
def astype(
    self: Array,
    /,
    dtype: DTypeLike,
    order: str = "K",
    casting: Any = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Any:
    """Return the array with another dtype; one that arrays here cannot have makes it NumPy's."""
    wanted = held_dtype(dtype)
    if casting == "same_value":  # the elements decide
        return _host(self, "astype", dtype, order, casting)
    if not np.can_cast(self.dtype, np.dtype(dtype), casting):
        raise TypeError(
            f"Cannot cast array data from {self.dtype!r} to {np.dtype(dtype)!r} "
            f"according to the rule {casting!r}"
        )
    if wanted is None:
        made = _host(self, "astype", dtype)
        return made[()] if made.dtype == object else made  # of a number, an object is the number itself
    if self.dtype.kind == "c" and wanted.kind in "iuf":
        warn_of_discard()
    if wanted == self.dtype:
        return copied(self, order) if copy else in_order("astype", self, order)
    return in_turn(self, lambda x: promotion.astype(x, wanted), order)


@overload
def view_as(self: Array, /, dtype: builtins.type[Theirs], type: None = None) -> Theirs: ...
@overload
def view_as(self: Array, /, dtype: DTypeLike | None = None, type: None = None) -> Array: ...
@overload
def view_as(self: Array, /, dtype: DTypeLike | None = None, *, type: builtins.type[Theirs]) -> Theirs: ...
def view_as(self: Array, /, dtype: Any = None, type: Any = None) -> Any:
    """Return a view of the same memory: as it is, or as elements of another dtype.

    One that arrays here cannot have gives a copy of NumPy's, as do its subclasses.
    """
    if isinstance(dtype, builtins.type) and (dtype == Array or issubclass(dtype, np.ndarray)):
        dtype, type = None, dtype
    if type is not None and not issubclass(Array, type) and type is not np.ndarray:
        return np.asarray(self).view(*[] if dtype is None else [dtype], type=type)
    if dtype is None:
        return view(self, reshape_p, shape=self.shape)
    wanted = held_dtype(dtype)
    return _host(self, "view", dtype) if wanted is None else view_dtype(self, wanted)


def setfield(self: Array, /, val: Any, dtype: DTypeLike, offset: int = 0) -> None:
    """Write values of a dtype into each element's bytes from an offset on."""
    field(self, dtype, offset)[...] = val


def byteswap(self: Array, /, inplace: bool = False) -> Array:
    """Return the array with the bytes of each number in the other order."""
    check_bits("byteswap", self, np.dtype(np.uint8))
    size = self.itemsize // (2 if self.dtype.kind == "c" else 1)
    raw = apply(reinterpret, apply(reshape_p, self, shape=(self.size, 1)), dtype=np.dtype(np.uint8))
    rows = apply(reshape_p, raw, shape=(raw.size // size, size))
    rows = apply(slice_, rows, start=(0, size - 1), size=rows.shape, step=(1, -1))
    swapped = apply(reinterpret, apply(reshape_p, rows, shape=raw.shape), dtype=self.dtype)
    swapped = apply(reshape_p, swapped, shape=self.shape)
    if not inplace:
        return swapped
    write(self, swapped)
    return self


def copy(self: Array, /, order: str = "C") -> Array:
    """Return a copy: an array of its own with the same elements."""
    if order != "C":
        return copied(self, order)
    return Array(self._node, self._levels) if self._view is None else _copied(self)


_copied = fastpath.whole(np.ndarray.copy)(copied)


def duplicate(self: Array, memo: Any = None) -> Array:
    """Return what the functions of Python's module `copy` give: a copy in the same order in memory."""
    return Array(self._node, self._levels) if self._view is None else homes.find("copy")(self)


# -- elements --------------------------------------------------------------------------------------


def fill(self: Array, /, value: Any) -> None:
    """Set every element to `value`."""
    if type(value) not in promotion.SCALARS and np.ndim(value):
        raise ValueError("setting an array element with a sequence.")
    self[...] = value


@fastpath.whole(np.ndarray.clip)
def clip(self: Array, /, min: Any = None, max: Any = None, out: Out = None, **options: Any) -> Array:
    """Limit each element to the range from `min` to `max`."""
    return elementwise.clip(self, min, max, out, **options)


def conj(self: Array, /, out: Any = None) -> Array:
    """Return the complex conjugate of each element."""
    if out is not None:
        return elementwise.conj(self, out)
    return elementwise.conj(self) if self.dtype.kind == "c" else self


def choose(self: Array, /, *choices: Any, out: Out = None, mode: str = "raise") -> Array:
    """Return for each element the one that stands there in the array of this number."""
    return _find("choose")(self, choices[0] if len(choices) == 1 else choices, out, mode)


def compress(self: Array, /, condition: ArrayLike, axis: int | None = None, out: Out = None) -> Array:
    """Return the elements, or slices along an axis, where a condition is true."""
    return _find("compress")(condition, self, axis, out)


def put(self: Array, /, indices: ArrayLike, values: ArrayLike, mode: str = "raise") -> None:
    """Write values at indices into the flattened array."""
    _find("put")(self, indices, values, mode)


@fastpath.writing(np.ndarray.sort)
def sort(self: Array, /, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    """Sort in place along an axis."""
    write(self, _find("sort")(self, axis, kind, order, stable=stable))


@fastpath.writing(np.ndarray.partition)
def partition(self: Array, /, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    """Put the k-th element in its place, and smaller ones before it, in place."""
    write(self, _find("partition")(self, kth, operator.index(axis), kind, order))


# -- bytes -----------------------------------------------------------------------------------------


def tobytes(self: Array, /, order: Any = "C") -> bytes:
    """Return the bytes of the elements."""
    return np.asarray(self).tobytes(order)


def tofile(self: Array, /, fid: Any, sep: str = "", format: str = "%s") -> None:
    """Write the elements to a file: their bytes, or as text with a separator."""
    np.asarray(self).tofile(fid, sep, format)


def dumps(self: Array, /) -> bytes:
    """Return the pickled array."""
    return pickle.dumps(self)


def dump(self: Array, /, file: Any) -> None:
    """Write the pickled array to a file, or to a path."""
    if hasattr(file, "write"):
        file.write(dumps(self))
    else:
        with open(file, "wb") as out:
            out.write(dumps(self))


def setstate(self: Array, /, state: Any) -> None:
    """Take on shape, dtype and elements as NumPy's pickles tell them."""
    value = np.empty(0)
    value.__setstate__(state)
    new = from_value(value)
    with lock:
        self._node, self._levels, self._view = current(new), (), None


# -- what other code looks for ---------------------------------------------------------------------


def sizeof(self: Array, /) -> int:
    """Return how many bytes the array takes: its elements, if it owns them, and what describes them."""
    own = self.nbytes if Flags(self).owndata else 0
    return object.__sizeof__(self) + 2 * np.intp().nbytes * self.ndim + own


def to_numpy(self: Array, /, dtype: Any = None, copy: bool = True, na_value: Any = None) -> np.ndarray:
    """Return a NumPy array of the elements, a copy, as pandas' and others' method of this name.

    No elements are missing, to be replaced by `na_value`. Matplotlib asks for it before it tells columns (of
    NumPy's arrays) from rows (of any sequence).
    """
    return np.asarray(self, dtype)


def array_wrap(self: Array, /, value: Any, context: Any = None, return_scalar: bool = False) -> Array:
    """Return what a function of NumPy's made of arrays as one of ours."""
    return promotion.as_array("__array_wrap__", value)


def contains(self: Array, /, value: Any) -> bool:
    """Say whether any element equals `value`."""
    found = self == value
    return bool(_find("any")(found) if type(found) is Array else np.any(found))


def delitem(self: Array, /, key: Any) -> None:
    """Raise ValueError, as in NumPy."""
    raise ValueError("cannot delete array elements")


def flat(self: Array, /) -> Any:
    """The elements in a row, in C order: an iterator that can be indexed and assigned to."""
    from .flat import FlatIterator

    return FlatIterator(self)


def set_flat(self: Array, /, value: Any) -> None:
    """Assign to the elements in a row."""
    flat(self)[...] = value


_LATE = (
    "all any argmax argmin argpartition argsort cumprod cumsum diagonal dot max mean min nonzero prod repeat "
    "searchsorted squeeze std sum swapaxes take trace var"
)
_METHODS: dict[str, Any] = {
    **{name: _Late(name) for name in _LATE.split()},
    "round": _Late("round", elementwise.round),
    "__array_wrap__": array_wrap,
    "__class_getitem__": classmethod(GenericAlias),
    "__contains__": contains,
    "__delitem__": delitem,
    "__setstate__": setstate,
    "__sizeof__": sizeof,
    "astype": astype,
    "byteswap": byteswap,
    "choose": choose,
    "clip": clip,
    "compress": compress,
    "conj": conj,
    "conjugate": conj,
    "copy": copy,
    "__copy__": duplicate,
    "__deepcopy__": duplicate,
    "dump": dump,
    "dumps": dumps,
    "fill": fill,
    "flatten": flatten,
    "getfield": field,
    "partition": partition,
    "put": put,
    "ravel": fastpath.wrap("view", ravel, "all", reshape_p, Step),
    "reshape": fastpath.wrap("view", reshape, "new shape", reshape_p, Step),
    "setfield": setfield,
    "sort": sort,
    "to_numpy": to_numpy,
    "tobytes": tobytes,
    "tofile": tofile,
    "transpose": fastpath.wrap("view", transpose, "T", permute, Step),
    "view": view_as,
}

_real: Any = Array.real
_imag: Any = Array.imag
_ATTRIBUTES = {
    "T": property(fastpath.wrap("view", Array.T.fget, "T", permute, Step)),  # type: ignore[attr-defined]
    "flat": property(flat, set_flat),
    "imag": property(fastpath.wrap("view", _imag.fget, "Imag", imag_p, Step), _imag.fset),
    "real": property(fastpath.wrap("view", _real.fget, "Real", real_p, Step), _real.fset),
}

for _name, _method in (_METHODS | _ATTRIBUTES).items():
    setattr(Array, _name, _method)
