"""What NumPy tells of an array's memory, and what it sets of an array without touching an element.

An array that owns its elements lies in the order of its axes, or is a view, by a permutation of axes, of one
that nobody else has (`ordered`). Other views are as NumPy would have them on that.
"""

from __future__ import annotations

import gc
import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._lazy.graph.node import Exported, tapes
from ..._lazy.graph.scopes import is_captured, refuse_write, scopes
from ..._lazy.ops.structure import are_parts, concat, permute, reinterpret, reshape, slice_
from ..._lazy.run.claims import lock, locked
from ..._lazy.run.devices import CPU
from .array import (
    Array,
    apply,
    check_leaves,
    current,
    freeze,
    from_value,
    frozen,
    is_from_outside,
    is_scalar,
    ordered,
    read_only,
    thaw,
    view,
    write,
    zero_d,
)
from .evaluation import fresh_value
from .indexing import setitem
from .order import Axes, Order, axes_of, backwards, check_order, copy_of, inverse
from .promotion import full, normalize_shape, sizes_of
from .steps import Step, View, add_step


def _anywhere(index: Array) -> int:
    return 0


# Bytes of memory that takes less time to get than to do as if it was there.
_FEW = 1 << 16


def layout(x: Array, first: np.ndarray | None = None, at: Callable[[Array], int] = _anywhere) -> np.ndarray:
    """Return an array that nobody reads, with the shape, strides and flags that NumPy would have here.

    It is made on the memory of `first`, as if that were the first element of what `x` is a view of. Where it
    begins may depend on indices that are arrays, which `at` is asked for.
    """
    current(x)
    base = x if x._view is None else x._view.base
    if first is None and 0 < base.nbytes < _FEW:
        shown = np.empty(base.shape, base.dtype)[...]
    else:
        strides = [base.itemsize * math.prod(base.shape[i + 1 :]) * (base.size > 0) for i in range(base.ndim)]
        first = np.empty(1, base.dtype) if first is None else first
        shown = np.lib.stride_tricks.as_strided(first, base.shape, strides)
    for step in x._view.steps if x._view is not None else ():
        shown = step.shown(shown, at)
    return shown


def in_order(function: str, x: Array, order: str | None, copy: bool | None = None) -> Array:
    """Return an array in this order in memory: a copy where NumPy has to make one."""
    name = check_order(order)
    if name in "AK" or (name == "C" and x._view is None):
        return x
    flags = layout(x).flags
    if flags.c_contiguous if name == "C" else flags.f_contiguous:
        return x
    if copy is False:
        raise ValueError(f"{function}: an array of order {name} needs a copy, and copy is False")
    return copied(x, name)


def copied(x: Array, order: str | None = "C") -> Array:
    """Return a copy: an array of its own with the same elements, in an order in memory."""
    return in_turn(x, _in_c_order, order)


def _in_c_order(x: Array) -> Array:
    """Return an array of its own with the same elements; what is known lies in the order of its axes."""
    value = fresh_value(x)
    if type(value) is np.ndarray and not value.flags.c_contiguous:
        return from_value(np.ascontiguousarray(value))
    return Array(current(x), x._levels)


def in_turn(x: Array, function: Callable[[Array], Array], order: str | None = "K") -> Array:
    """Return what an elementwise function, which gives a new array, makes of `x`, in an order in memory."""
    name = check_order(order)
    current(x)
    axes = None if name == "C" or (name != "F" and x._view is None) else axes_of(layout(x), name)
    if axes is None:
        return function(x) if x._view is None else zero_d(function(x))
    return ordered(function(turned(x, axes)), inverse(axes))


def turned(x: Array, axes: Axes) -> Array:
    """Return an array with its axes permuted, to be read; elements that are known lie in that order."""
    seen = x._view
    if seen is not None and seen.order == inverse(axes):
        return seen.base
    value = fresh_value(x)
    if value is None or x.device != CPU:
        return apply(permute, x, axes=axes)
    return from_value(np.ascontiguousarray(value.transpose(axes)))


def strides_of(x: Array) -> tuple[int, ...]:
    """Bytes from an element to the next one along each axis, as NumPy would have it."""
    return layout(x).strides


def base_of(x: Array) -> Array | None:
    """The array that owns the elements of a view; None where the array itself does."""
    current(x)
    seen = x._view
    if seen is None or seen.order is not None or not seen.steps:
        return None
    first = seen.steps[0].params
    return ordered(seen.base, first["axes"]) if type(first) is Order else seen.base


_FLAGS = {
    "C": "C_CONTIGUOUS",
    "F": "F_CONTIGUOUS",
    "O": "OWNDATA",
    "W": "WRITEABLE",
    "A": "ALIGNED",
    "X": "WRITEBACKIFCOPY",
}


class Flags:
    """What NumPy's flags say: attributes, and items by their names in capitals or short."""

    def __init__(self, x: Array) -> None:
        self._x = x

    @property
    def owndata(self) -> bool:
        """Whether the array is no view."""
        return base_of(self._x) is None

    @property
    def writeable(self) -> bool:
        """Whether the array may be written to; can be set."""
        return id(self._x) not in frozen and layout(self._x).flags.writeable

    @writeable.setter
    def writeable(self, value: bool) -> None:
        setflags(self._x, write=value)

    @property
    def num(self) -> int:
        """The flags as bits of one number."""
        bits = {"C": 1, "F": 2, "O": 4, "A": 0x100, "W": 0x400}
        return sum(bit for name, bit in bits.items() if self[name])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(layout(self._x).flags, name)
        return found and self.writeable if name in ("behaved", "carray", "farray") else found

    def __getitem__(self, key: Any) -> Any:
        name = _FLAGS.get(key, key) if isinstance(key, str) else ""
        found = getattr(self, name.lower(), None) if name.isupper() else None
        if found is None:
            raise KeyError("Unknown flag")
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        if key not in ("W", "WRITEABLE"):
            raise KeyError("Unknown flag")
        self.writeable = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return "\n".join(f"  {name} : {self[name]}" for name in _FLAGS.values()) + "\n"


def setflags(self: Array, /, write: Any = None, align: Any = None, uic: Any = None) -> None:
    """Say whether the array may be written to; the other flags can only stay what they are."""
    if align is not None and not align:
        raise ValueError("setflags: arrays are aligned always; align=True would work")
    if uic:
        raise ValueError("cannot set WRITEBACKIFCOPY flag to True")
    if write is None:
        return
    if not write:
        freeze(self)
        return
    if not layout(self).flags.writeable or not thaw(self):
        raise ValueError("cannot set WRITEABLE flag to True of this array")


# -- shape and dtype -------------------------------------------------------------------------------


def aliases(x: Array, shape: tuple[int, ...]) -> bool:
    """Say whether NumPy could give `x` another shape without a copy: whether its strides allow it."""
    if x._view is None or all(step.prim.keeps_order for step in x._view.steps):
        return True
    try:
        np.reshape(layout(x), shape, copy=False)
    except ValueError:
        return False
    return True


def whole_shape(x: Array, shape: Any) -> tuple[int, ...]:
    """Return `shape` with its -1 worked out."""
    given = sizes_of("reshape", shape)
    unknown = [i for i, n in enumerate(given) if n < 0]
    known = math.prod(n for n in given if n >= 0)
    if len(unknown) > 1:
        raise ValueError(f"reshape: only one size may be unknown (-1), not {given}")
    if unknown and known and x.size % known == 0:
        given = tuple(x.size // known if n < 0 else n for n in given)
    if math.prod(given) != x.size or any(n < 0 for n in given):
        raise ValueError(
            f"reshape: cannot turn shape {x.shape} into {given}: {x.size} elements against {known}"
        )
    return given


def _become(x: Array, y: Array, *steps: Step) -> None:
    """Let `x` be what steps make of it, which `y` is; views of it stay what they are."""
    if scopes and is_captured(getattr(x, "_born", 0)):
        refuse_write()
    node, seen = current(y), x._view
    if seen is not None:
        done = seen.steps
        for step in steps:
            done = add_step(done, step)
        seen = View(seen.base, done, seen.seen)
    x._node, x._levels, x._view = node, y._levels, seen


@locked
def set_shape(self: Array, shape: Any) -> None:
    """Give the array another shape, in place; raises AttributeError where that needs a copy."""
    target = whole_shape(self, shape)
    if not aliases(self, target):
        raise AttributeError(
            "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the "
            "desired shape."
        )
    if target != self.shape:
        _become(self, apply(reshape, self, shape=target), Step(reshape, {"shape": target}))


def held_dtype(dtype: Any) -> np.dtype | None:
    """Return the dtype if arrays here can have it."""
    found = np.dtype(dtype)
    return found if found.kind in "biufc" and found.isnative else None


def view_dtype(x: Array, dtype: np.dtype) -> Array:
    """Return a view of the same memory, read as elements of another dtype, as NumPy's ``view(dtype)``."""
    layout(x).view(dtype)  # what NumPy refuses
    check_bits("view", x, dtype)
    return view(x, reinterpret, dtype=dtype)


def check_bits(function: str, x: Array, dtype: np.dtype) -> None:
    """Raise TypeError where a value that is being differentiated is read as bits of another kind.

    They could be made a float again, of which no derivative would be known. Not so a complex number and its
    parts.
    """
    if tapes and dtype != x.dtype and not are_parts(x.dtype, dtype):
        check_leaves(function, x, f"as bits of {dtype}")


@locked
def set_dtype(self: Array, dtype: Any) -> None:
    """Read the same memory as elements of another dtype, in place."""
    wanted = held_dtype(dtype)
    if wanted is None:
        raise TypeError(f"dtype: no arrays of dtype {np.dtype(dtype)}; numbers and booleans would work")
    layout(self).view(wanted)
    check_bits("dtype", self, wanted)
    if wanted != self.dtype:
        _become(self, apply(reinterpret, self, dtype=wanted), Step(reinterpret, {"dtype": wanted}))


def set_real(self: Array, value: Any) -> None:
    """Write the real parts."""
    setitem(self.real, ..., value)


def set_imag(self: Array, value: Any) -> None:
    """Write the imaginary parts; raises TypeError where there are none."""
    if self.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    setitem(self.imag, ..., value)


def field(self: Array, /, dtype: Any, offset: int = 0) -> Array:
    """Return a view of the bytes of each element from an offset on, as an element of a dtype."""
    wanted = held_dtype(dtype)
    if wanted is None:
        raise TypeError(f"getfield: no arrays of dtype {np.dtype(dtype)}; numbers and booleans would work")
    n = wanted.itemsize
    if offset < 0 or offset + n > self.itemsize:
        raise ValueError(
            f"Need 0 <= offset <= {self.itemsize - n} for requested type but received offset = {offset}"
        )
    check_bits("getfield", self, wanted)
    single = view(self, reshape, shape=(*self.shape, 1))
    raw = view(single, reinterpret, dtype=np.dtype(np.uint8))
    zeros, ones = (0,) * self.ndim, (1,) * self.ndim
    part = view(raw, slice_, start=(*zeros, offset), size=(*self.shape, n), step=(*ones, 1))
    return view(view(part, reinterpret, dtype=wanted), reshape, shape=self.shape)


class _Probe:
    def references(self) -> int:
        return sys.getrefcount(self)


_probe = _Probe()
# What a method counts of an object with one name.
_ONE_NAME = _probe.references()


def resize(self: Array, /, *new_shape: Any, refcheck: bool = True) -> None:
    """Give the array another size in place: what is new is zero.

    With `refcheck`, there may be no views of it, as in NumPy; without, they stay what they are.
    """
    may_have_views = sys.getrefcount(self) > _ONE_NAME
    refcheck = bool(operator.index(refcheck))
    if not new_shape or new_shape == (None,):
        return
    target = normalize_shape("resize", new_shape[0] if len(new_shape) == 1 else new_shape)
    if base_of(self) is not None and math.prod(target) != self.size:
        raise ValueError("cannot resize this array: it does not own its data")
    if not layout(self).flags.forc:
        raise ValueError("resize only works on single-segment arrays")
    mine = self._view
    if mine is not None and mine.order is not None:
        _resize_backwards(self, mine, target, refcheck)
    elif math.prod(target) == self.size:
        set_shape(self, target)
    else:
        if refcheck and (may_have_views or mine is not None):
            _check_alone(self if mine is None else mine.base, mine)
        with lock:
            new = _resized(self, target)
            self._view = None  # of an array without axes
            _become(self, new)


def _resize_backwards(self: Array, mine: View, target: tuple[int, ...], refcheck: bool) -> None:
    """Resize an array in Fortran's order: its memory, as it is."""
    if refcheck and math.prod(target) != self.size:
        _check_alone(mine.base, mine)
    with lock:
        new = ordered(_resized(mine.base, target[::-1]), backwards(len(target)))
        self._node, self._levels, self._view = new._node, new._levels, new._view


def _check_alone(owner: Array, but: View | None) -> None:
    if any(isinstance(r, View) and r is not but for r in gc.get_referrers(owner)):
        raise ValueError(
            "cannot resize an array that references or is referenced\n"
            "by another array in this way.\nUse the np.resize function or refcheck=False"
        )


def _resized(x: Array, target: tuple[int, ...]) -> Array:
    """Return the elements of an array in another shape, zeros where they do not suffice."""
    n = math.prod(target)
    flat = apply(reshape, x, shape=(x.size,))
    if n > x.size:
        flat = apply(concat, flat, full((n - x.size,), 0, x.dtype), axis=0)
    else:
        flat = apply(slice_, flat, start=(0,), size=(n,), step=(1,))
    return apply(reshape, flat, shape=target)


# -- memory ----------------------------------------------------------------------------------------


@locked
def memory(x: Array, is_written: bool = True) -> np.ndarray:
    """Return the elements as a NumPy array whose memory is that of `x`, to be written to at once or never.

    What is pending at that time has its own. Under `vmap`, the examples that agree in the elements go on
    together, and share one memory; that of an array that a function captures is not to be written to.
    """
    check_leaves("ctypes", x)
    current(x)
    owner = x if x._view is None else x._view.base
    is_outside = bool(scopes) and is_from_outside(x)
    if is_outside and is_written:
        refuse_write()
    if owner._levels:
        value = Exported(np.array(owner._value(), order="C"))
        if is_outside:
            owner = Array(value)
            owner._node = value
        else:
            owner._node, owner._levels = value, ()
    elif type(owner._node) is not Exported or not owner._node.value.flags.owndata:  # of another's, say
        owner._node = Exported(np.array(owner._value(), order="C"))
    current(x)
    shown: np.ndarray = owner._node.value
    for step in x._view.steps if x._view is not None else ():
        shown = step.shown(shown, operator.index)
    if is_outside or id(x) in frozen or not (x._view is None or layout(x).flags.writeable):
        shown = shown.view()
        shown.flags.writeable = False
    return shown


# Modules of other libraries, from the table in interop/rows.py: `numpy.asarray` gives them an array's memory,
# to write to or to read. NumPy's `as_strided` counts on the strides that we tell.
writing: set[str] = set()
reading: set[str] = {"numpy.lib._stride_tricks_impl"}
# ... or to read at once and let go of, which needs no memory of its own.
borrowing: set[str] = set()
# ... which may be written to, for all that NumPy says: their C code copies what may not.
trusted: set[str] = set()


def array(self: Array, /, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """Return a NumPy array of the elements: a copy, to do with as one likes.

    With ``copy=False`` it is the same memory, read-only, since a pending computation may need it.
    """
    is_trusted = False
    if copy is None and dtype is None:
        caller = sys._getframe(1).f_globals.get("__name__")
        if caller in writing or caller in reading:
            return memory(self, caller in writing)
        copy = False if caller in borrowing else None
        is_trusted = caller in trusted
    check_leaves("numpy.asarray", self)
    value = self._value()
    wanted = value.dtype if dtype is None else np.dtype(dtype)
    if copy is False:
        if wanted != value.dtype:
            raise ValueError(f"__array__: {value.dtype} as {wanted} needs a copy")
        return value if is_trusted else read_only(value)
    has_order = self._view is not None and value.ndim > 1
    return copy_of(value, wanted, axes_of(layout(self), "K") if has_order else None)


def dlpack(
    self: Array,
    /,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Export the elements as a DLPack capsule, read-only and without a copy where that is possible.

    DLPack before 1.0 cannot say "read-only": there a copy goes out, or with ``copy=False`` the memory
    itself, which the consumer must not write to.
    """
    check_leaves("__dlpack__", self)
    value = self._value()
    if max_version is None or max_version < (1, 0):
        if self.device != CPU:  # what came from there is a copy, but may be kept for others
            value = value.copy()
        elif copy is False and not value.flags.writeable:  # one element, stretched
            if self._view is not None:
                raise BufferError("__dlpack__: a broadcast array needs a copy, and copy is False")
            value = value.copy()
            write(self, from_value(value))
        return (value if copy is False else value.copy()).__dlpack__(stream=stream)
    return read_only(value).__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def dlpack_device(self: Array, /) -> tuple[int, int]:
    """Return DLPack's number for the CPU, to which elements on an accelerator are fetched."""
    return (1, 0)


# What says of global names whether their code, asking for all that a `memoryview` shows, asks for that:
# NumPy asks for the same, and is to get a copy.
openers: list[Callable[[dict[str, Any]], bool]] = []

# What C asks for: memory to write to (PyBUF_WRITABLE), memory that need not be contiguous (a bit of
# PyBUF_STRIDES), all that a `memoryview` shows (PyBUF_FULL_RO).
_WRITABLE, _STRIDES, _EVERYTHING = 0x1, 0x10, 0x11C


def buffer(self: Array, flags: int, /) -> memoryview:
    """Give the elements to C code that reads or writes bytes (PEP 3118), without a copy if it only reads.

    Raises BufferError for what `memoryview(x)` asks for, but in the code that `openers` know. NumPy asks for
    the same before it asks `__array__`, which gives it a copy of its own. Nobody may write to that: code that
    asks NumPy for memory to write to gets a copy, as f2py, which would take ours for a copy of its own. Of a
    scalar everybody gets a copy, as NumPy's scalars give one, and may write to it.
    """
    if flags == _EVERYTHING:
        if is_scalar(self) and not (
            tapes or self._levels
        ):  # a copy, as who asks NumPy for it may write to it
            return self._value().copy().data
        names = sys._getframe(1).f_globals
        if any(opens(names) for opens in openers):
            return memory(self).data.toreadonly()
        raise BufferError(
            "memoryview, bytearray: x.data is the memory of an array x, x.tobytes() is its bytes"
        )
    if flags & _WRITABLE:
        return memory(self).data
    check_leaves("__buffer__", self)
    value = self._value()
    if layout(self).flags.c_contiguous:  # ours may be stretched, or transposed, where NumPy's is not
        value = np.asarray(value, order="C")
    elif not flags & _STRIDES:
        raise ValueError("ndarray is not C-contiguous")
    return read_only(value).data


_shape: Any = Array.shape
_dtype: Any = Array.dtype
_real: Any = Array.real
_imag: Any = Array.imag
_ATTRIBUTES = {
    "shape": _shape.setter(set_shape),
    "dtype": _dtype.setter(set_dtype),
    "real": _real.setter(set_real),
    "imag": _imag.setter(set_imag),
    "strides": property(strides_of),
    "base": property(base_of),
    "flags": property(Flags, doc="What NumPy's flags say of the array's memory."),
    "setflags": setflags,
    "resize": resize,
    "__array__": array,
    "__buffer__": buffer,
    "__dlpack__": dlpack,
    "__dlpack_device__": dlpack_device,
    "data": property(lambda self: memory(self).data, doc="A buffer of the elements."),
    "ctypes": property(lambda self: memory(self).ctypes, doc="What `ctypes` needs of the memory."),
}
for _name, _attribute in _ATTRIBUTES.items():
    setattr(Array, _name, _attribute)
