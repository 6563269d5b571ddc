"""The compiled short way of operators (`native/`), where there is one: Python's is the meaning."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache, wraps
from inspect import unwrap
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from ..._lazy.config import active, overrides, settings
from ..._lazy.cpu import faults
from ..._lazy.graph import aval, tape
from ..._lazy.graph.node import LIMIT, NO_PARAMS, PACKAGE, Exported, Node, Part, tapes
from ..._lazy.graph.primitive import Primitive, unchanged
from ..._lazy.graph.scopes import scopes
from ..._lazy.native import compiled
from ..._lazy.ops.contraction import matmul
from ..._lazy.ops.creation import scalar_node
from ..._lazy.ops.elementwise import select
from ..._lazy.ops.structure import slice_
from ..._lazy.rules.levels import seeing
from ..._lazy.stats import stats
from ..core.array import TINY, Array, defaults, frozen, limit_hook
from ..core.promotion import list_hook
from ..core.steps import Step, View, order_step
from ..core.views import openers
from ..core.weak import weak
from . import eager

_Function = Callable[..., Any]
# The dtypes that arrays have, by NumPy's letters: NumPy's numbers for them.
_HELD = {t: np.dtype(t).num for t in "?bhilqBHILQfdFD"}
_EVERY: tuple[int, ...] = (*_HELD.values(),)
# Bytes of an element, at most.
_WIDEST = 16
F = TypeVar("F", bound=_Function)


# What functions of ours are instances of.
FUNCTIONS = (FunctionType,) if compiled is None else (FunctionType, compiled.Fast)


def _tell(prim: Primitive, nodes: tuple[Node, ...], result: aval.Aval) -> None:
    faults.tell([Node(prim, nodes, NO_PARAMS, result, 0)])


def _types(function: np.ufunc) -> tuple[int, ...]:
    """Return the dtypes, by NumPy's number, of which a ufunc takes operands as they are."""
    return _numbers(function.nin, " ".join(function.types))


@lru_cache(None)  # many ufuncs have the same loops
def _numbers(operands: int, loops: str) -> tuple[int, ...]:
    alike = {t[0] for t in loops.split() if t[:operands] == t[0] * operands}
    return tuple([_HELD[t] for t in alike if t in _HELD])


def wrap(
    way: str, slow: _Function, name: str, prim: Any = None, host: Any = None, out: int = -1
) -> _Function:
    """Return a function that answers simple calls in the place of `slow`, or `slow` where none is compiled.

    Parameters
    ----------
    way
        "binary", "reflected", "unary", "in_place", "getitem", "setitem", "scalar", "view", "array_ufunc",
        "array_function", "evaluate",
        "iter", "length", "namespace", "result_type", "array", "astype", "draw", "python" (what makes numbers
        of Python's), "asked" (`shape`, and what else needs no elements), "writing" (that of `writing`),
        "ordered" (`ascontiguousarray`, `asfortranarray`), "instance" (of `ndarray`), or one of those of
        `whole`.
    name
        The primitive's; that of a class, which `scalar` makes; what `view` is, which its first letter tells:
        "T", "all" (one axis, as `ravel`), "new shape" (sizes, as the method), "reshape", "permute", "move",
        "swap" (two axes), "grow" (by an axis of length 1), "drop" (one, or all), "broadcast", "Real",
        "Imag", "Diagonal" (of a matrix), "flip", "1 axis or more" (`atleast_1d`).
    prim
        Of the operator; what `whole` asks before about a pending product; for "array_function", the error of
        what NumPy may hold.
    host
        NumPy's function in place of the primitive's; for "view", the class of its steps; for "array_ufunc",
        our functions by NumPy's; for "array_function", by these, the number of arguments and the keywords.
    out
        The place of the argument that `slow` would write to; for "writing", of what it writes.
    """
    if compiled is None:
        return slow
    types = _EVERY
    if host is None and prim is not None and prim.ufunc is not None:
        host = prim.host
        types = _types(prim.ufunc)
    elif isinstance(host, np.ufunc) and way != "whole":
        types = _types(host)
    # Given NumPy's own arrays alone, it need not look for classes that override it (NEP 18).
    host = getattr(host, "__wrapped__", host)
    return compiled.wrap(way, slow, name, prim, host, types if host is not None else (), out)


def whole(
    function: Any,
    way: str = "whole",
    pending: _Function | None = None,
    large: _Function | None = None,
    elements: Callable[..., float] | None = None,
) -> Callable[[F], F]:
    """Let NumPy's function answer for small arrays that are known: it gives what the decorated one does.

    Where there is no array among the arguments, a `way` says what makes a small one: "make", a shape
    that comes first; "count", the bounds of a range; "spaced", numbers to go between; "numbers",
    integers; "list", numbers in a list; "asarray", these, and what is an array already stays what it is;
    "copy", one of either. "reduce" adds up (or the like) what is at hand without NumPy's function. Where
    the first array is a pending product that nobody else has, `pending` is asked before, which may
    return None. `large` answers for the others that are known, of functions that gain nothing by blocks.
    Of what makes more elements than it is given, or takes long for one, `elements` says how many, or how many
    take as long: what is large is recorded.
    """
    host = function if elements is None else _unless_large(function, elements)

    def decorate(slow: F) -> F:
        code = unwrap(slow).__code__
        names = code.co_varnames[: code.co_argcount]
        # Where an argument would let NumPy's function write to arrays; by name, compiled code knows it.
        out = next((names.index(n) for n in ("out", "copy") if n in names), -1)
        longer = slow if large is None else _for_large(large, slow, out)
        return cast(F, wrap(way, longer, slow.__name__, pending, host, out))

    return decorate


def _unless_large(function: _Function, elements: Callable[..., float]) -> _Function:
    """Return what does the same, but gives None where the result would be large."""

    def host(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if elements(*args, **kwargs) * _WIDEST < eager.PART else None

    return host


def size(x: Any) -> int:
    """Return how many elements an argument has."""
    return x.size if type(x) is np.ndarray else int(np.size(x))


def pairs(a: Any, b: Any, *more: Any, **options: Any) -> int:
    """Return how many pairs the elements of two arrays make: `elements` of `outer`."""
    return size(a) * size(b)


def _for_large(large: _Function, slow: _Function, out: int) -> _Function:
    """Return what asks `large` first where the arrays are too large for compiled code."""

    @wraps(slow)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not 0 <= out < len(args):
            found = eager.whole(large, args, kwargs)
            if found is not None:
                return found
        return slow(*args, **kwargs)

    return call


def product(function: Any) -> Callable[[F], F]:
    """Do what `whole` does for a function of two arrays that multiplies them as BLAS does."""

    def decorate(slow: F) -> F:
        return cast(F, wrap("binary", slow, "matmul", matmul, function))

    return decorate


def writing(function: Any, written: int = -1) -> Callable[[F], F]:
    """Let NumPy's function write to a small array that is known, and that nobody else looks at.

    `written` is the place of the argument whose elements, of the array's own dtype, it writes there.
    """

    def decorate(slow: F) -> F:
        return cast(F, wrap("writing", slow, slow.__name__, None, function, written))

    return decorate


def moving(name: str, prim: Primitive) -> Callable[[F], F]:
    """Let compiled code answer for a function that gives a view through one primitive."""

    def decorate(slow: F) -> F:
        return cast(F, wrap("view", slow, name, prim, Step))

    return decorate


def asked(slow: F) -> F:
    """Let compiled code answer what the attributes of an array tell, or the class of a number does."""
    return cast(F, wrap("asked", slow, slow.__name__))


def behind(function: _Function) -> _Function:
    """Return what a function asks where its short way gives nothing."""
    while type(function) is not FunctionType and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def like(function: _Function, slow: _Function) -> _Function:
    """Return `slow` with the short way that a function has, if it has one."""
    if compiled is None or not isinstance(function, compiled.Fast):
        return slow
    return compiled.like(function, slow)


def alone(function: _Function) -> None:
    """Let a function be what NumPy's ufuncs and builtin ones are: attributes of classes, but no methods.

    So ``activation = np.tanh`` in a class does not take ``self``. Python's functions stay methods.
    """
    if compiled is not None and isinstance(function, compiled.Fast):
        compiled.alone(function)


def of_axes(slow: F, way: str, name: str, lacking: Callable[[F], Any]) -> Any:
    """Return a method that arrays without axes lack: a compiled one, or what `lacking` makes of it."""
    if compiled is None:
        return lacking(slow)
    made = wrap(way, slow, name)
    compiled.of_axes(cast(Any, made))
    return made


def fill_slots() -> None:
    """Let the operators of arrays, which have their methods by now, be called without being looked up."""
    if compiled is not None:
        compiled.fill_slots()


def limit() -> None:
    """Let what is compiled record, or not, what `direct` does now."""
    if compiled is not None:
        compiled.limit(0 if defaults else eager.PART, eager.LARGE, TINY, eager.RECORDED, LIMIT)


if compiled is not None:
    compiled.setup(
        *(Array, Node, Part, Exported, View, aval.Aval, tapes, frozen, scopes, weak),
        *(aval._recent, aval.aval_of, vars(faults), faults.listener, _tell, faults.tell_of_nodes, PACKAGE),
        *(settings, overrides, active),
        *(NO_PARAMS, scalar_node, stats, slice_, select, os.cpu_count() or 1, openers, order_step),
        *(tape.Tape, tape.Entry, tape.marks, seeing, tape.note, unchanged),
    )
    limit()
    for _name in ("shape", "size", "ndim", "dtype"):
        setattr(Array, _name, compiled.attribute(_name, vars(Array)[_name]))
    Array.__array__ = wrap("array", Array.__array__, "__array__")  # type: ignore[method-assign]

limit_hook.append(limit)
list_hook.append(wrap("list", lambda items: None, "array", host=np.array))
