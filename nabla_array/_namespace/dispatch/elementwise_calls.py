"""Functions made from elementwise primitives: the short way to record, and the docstring."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.graph.aval import Aval
from ..._lazy.graph.node import LIMIT, NO_PARAMS, Node, Part, kept, tapes
from ..._lazy.graph.primitive import Primitive
from ..._lazy.native import compiled
from ..._lazy.ops.creation import scalar_node
from ..._lazy.ops.elementwise import pow_
from ..._lazy.rules.levels import is_seeing
from ..._lazy.run.evaluator import value_of
from ..core.array import Array, ordered
from ..core.order import Axes
from ..core.promotion import SCALARS, UnheldDtypeError, as_array, check_kind, elementwise, full, meets_derived
from ..core.weak import any_stands, noted, weak
from . import eager, fastpath
from .ufuncs import ALIASES, host_hook, make_ufunc, with_options

if TYPE_CHECKING:
    from ..core.types import Binary, MakesUfunc, Unary


def common_axes(*operands: Any) -> Axes | None:
    """Return the axes by which all arrays, and numbers beside them, lie in their order; None for others."""
    found: Axes | None = None
    for x in operands:
        if type(x) is not Array and type(x) not in SCALARS:
            return None
    for x in operands:
        if type(x) is Array:
            seen = x._view
            axes: Axes | None = None if seen is None or x._levels else seen.order
            if axes is None or found not in (None, axes):
                return None
            found = axes
    return found


def _owner(x: Any) -> Any:
    return x._view.base if type(x) is Array and x._view is not None else x


def unary_call(prim: Primitive, slow: Callable[[Any], Array]) -> Callable[..., Array]:
    """Return a function that records `prim` at once where its rule is known, and else asks `slow`."""
    rules = prim.rules

    def function(x: Any) -> Array:
        if type(x) is Array and x._view is not None and (axes := common_axes(x)) is not None:
            return ordered(function(x._view.base), axes)
        if type(x) is Array and ((seen := x._view) is None or seen.base._node is seen.seen):
            a = x._node
            out = rules.get(a.aval)
            if out is not None and (not out.shape or type(a) is Part) and not tapes and not x._levels:
                found = eager.elementwise(prim, out, a)
                if found is not None:
                    return noted(found, x) if weak else found
            if out is not None and not (x._levels and is_seeing()):
                depth = a.depth + out.weight
                if depth < LIMIT:
                    y = Array(Node(prim, (kept(a),), NO_PARAMS, out, depth), x._levels)
                    return noted(y, x) if weak else y
        return slow(x)

    return function


def _number_node(aval: Aval, number: Any) -> Node | None:
    """Return what `scalar_node` does, or a leaf where numbers change in each evaluation."""
    assert compiled is not None
    node = compiled.number_operand(aval, number)
    return scalar_node(aval, number) if node is None else node


def binary_call(prim: Primitive, slow: Callable[[Any, Any], Array]) -> Callable[..., Array]:
    """Return a function that records `prim` at once where its rule is known, and else asks `slow`.

    Compiled code does the same, where there is some (native/recording.h).
    """
    rules = prim.rules
    number_node = scalar_node if compiled is None or prim is pow_ else _number_node

    def function(x1: Any, x2: Any) -> Array:
        a: Node | None
        b: Node | None
        if (axes := common_axes(x1, x2)) is not None:
            return ordered(function(_owner(x1), _owner(x2)), axes)
        if type(x1) is Array and ((seen := x1._view) is None or seen.base._node is seen.seen):
            a = x1._node
            levels = x1._levels
            if type(x2) is not Array:
                b = (scalar_node if tapes or levels else number_node)(a.aval, x2)
            elif x2._levels is levels and ((seen := x2._view) is None or seen.base._node is seen.seen):
                b = x2._node
            else:
                return slow(x1, x2)
        elif type(x2) is Array and ((seen := x2._view) is None or seen.base._node is seen.seen):
            b = x2._node
            levels = x2._levels
            a = (scalar_node if tapes or levels else number_node)(b.aval, x1)
        else:
            return slow(x1, x2)
        if a is None or b is None or (levels and is_seeing()):
            return slow(x1, x2)
        if weak and type(x1) is type(x2) and any_stands(a, b):  # one that stands for a number meets an array
            return slow(x1, x2)
        aval = a.aval
        out = rules.get(aval if b.aval is aval else (aval, b.aval))
        if out is not None:
            at_once = not out.shape or type(a) is Part or type(b) is Part or eager.divides_integers(prim, out)
            if at_once and not tapes and not levels:
                found = eager.elementwise(prim, out, a, b)
                if found is not None:
                    return noted(found, x1, x2) if weak else found
            depth = (a.depth if a.depth > b.depth else b.depth) + out.weight
            if depth < LIMIT:
                y = Array(Node(prim, (kept(a), kept(b)), NO_PARAMS, out, depth), levels)
                return noted(y, x1, x2) if weak else y
        elif (type(a) is Part or type(b) is Part) and not tapes and not levels:
            found = eager.broadcast(prim, a, b)
            if found is not None:
                return found
        return slow(x1, x2)

    return function


def with_keywords(plain: Callable[..., Array], like: np.ufunc) -> Callable[..., Array]:
    """Return a function of one or two operands with the keywords of NumPy's ufuncs besides."""
    return (_unary if plain.__code__.co_argcount == 1 else _binary)(plain, like)


def _sole(signature: Any, sig: Any) -> Any:
    """Return what was given under one of two names."""
    if signature is not None and sig is not None:
        raise TypeError("cannot specify both 'sig' and 'signature'")
    return sig if signature is None else signature


def _unary(plain: Callable[..., Array], like: np.ufunc) -> Callable[..., Array]:
    def unary(
        x: Any,
        /,
        out: Any = None,
        *,
        where: Any = True,
        casting: Any = "same_kind",
        order: Any = "K",
        dtype: Any = None,
        subok: bool = True,
        signature: Any = None,
        sig: Any = None,
    ) -> Array:
        if out is dtype is signature is sig is None and where is True and casting == "same_kind":
            return plain(x)
        signature = _sole(signature, sig)
        return with_options(unary, like, (x,), out, where, casting, dtype, signature)

    return unary


def _binary(plain: Callable[..., Array], like: np.ufunc) -> Callable[..., Array]:
    def binary(
        x1: Any,
        x2: Any,
        /,
        out: Any = None,
        *,
        where: Any = True,
        casting: Any = "same_kind",
        order: Any = "K",
        dtype: Any = None,
        subok: bool = True,
        signature: Any = None,
        sig: Any = None,
    ) -> Array:
        if out is dtype is signature is sig is None and where is True and casting == "same_kind":
            return plain(x1, x2)
        signature = _sole(signature, sig)
        return with_options(binary, like, (x1, x2), out, where, casting, dtype, signature)

    return binary


def _learn(prim: Primitive, avals: tuple[Aval, ...], result: Aval) -> None:
    if len(prim.rules) > 1000:
        prim.rules.clear()
    prim.rules[avals[0] if avals[0] is avals[-1] else avals] = result


def _gives(prim: Primitive, avals: tuple[Aval, ...]) -> Any:
    """Return the aval of a result; None for operands that the primitive does not take."""
    try:
        return prim.aval(*avals)
    except (TypeError, ValueError):
        return None


def promoted(prim: Primitive, name: str, *operands: Any) -> Array:
    """Promote, broadcast and record; the next call with operands like these takes the short way."""
    if prim.ufunc is not None and meets_derived(name, operands):
        return host_hook[0](prim.ufunc, name, operands, {})
    try:
        y = elementwise(prim, name, operands)
    except UnheldDtypeError as error:
        if prim.ufunc is None:
            raise
        return host_hook[1](prim.ufunc, name, operands, {}, error)
    node = y._node
    if node.prim is prim and len(node.inputs) == len(operands):
        _learn(prim, tuple([n.aval for n in node.inputs]), node.aval)
        is_known = not tapes and not y._levels and all([n.value is not None for n in node.inputs])
        if is_known and eager.divides_integers(prim, node.aval):
            value_of(node)
    elif type(node) is Part:  # done at once, so what it was given is not known any more
        avals = tuple([x._node.aval for x in operands if type(x) is Array])
        if avals and avals[0] is avals[-1] and _gives(prim, (avals[0],) * len(operands)) is node.aval:
            _learn(prim, avals, node.aval)
    return y


def compared(prim: Primitive, name: str, x1: Any, x2: Any) -> Array:
    """Do what `promoted` does; a Python integer beyond the integers of the other's dtype compares too."""
    try:
        return promoted(prim, name, x1, x2)
    except OverflowError:
        if type(x1) is int and (x := as_array(name, x2)).dtype.kind in "iu":
            return full(x.shape, eager.COMPARISONS[prim](x1, 0), np.dtype(bool))
        if type(x2) is int and (x := as_array(name, x1)).dtype.kind in "iu":
            return full(x.shape, eager.COMPARISONS[prim](0, x2), np.dtype(bool))
        raise


def composed(like: np.ufunc) -> MakesUfunc:
    """Let a function of operands alone, composed of others, be a ufunc like one of NumPy's."""

    def decorate(plain: Callable[..., Any]) -> Any:
        @wraps(plain)
        def function(
            *operands: Any,
            out: Any = None,
            where: Any = True,
            casting: Any = None,
            order: Any = None,
            dtype: Any = None,
            subok: bool = True,
            signature: Any = None,
            sig: Any = None,
        ) -> Any:
            signature = _sole(signature, sig)
            if like.nin < len(operands) <= like.nargs:
                given = operands[like.nin :]
                operands, out = operands[: like.nin], given + (None,) * (like.nout - len(given))
            if len(operands) != like.nin:
                raise TypeError(
                    f"{like.__name__}() takes from {like.nin} to {like.nargs} positional arguments "
                    f"but {len(operands)} were given"
                )
            if out is None and dtype is None and where is True and casting is None and signature is None:
                try:
                    for x in operands:
                        if type(x) is not Array and type(x) not in SCALARS:
                            check_kind(like.__name__, x)
                    return plain(*operands)
                except UnheldDtypeError as error:
                    return host_hook[1](like, like.__name__, operands, {}, error)
            return with_options(plain, like, operands, out, where, casting, dtype, signature)

        fastest = fastpath.wrap("whole", function, like.__name__, None, like, like.nin)
        make_ufunc(fastest, like)
        return fastest

    return decorate


# The primitive of each function made here: operators record the same ones.
PRIMITIVES: dict[Callable[..., Array], Primitive] = {}


def _made(
    way: str,
    call: Callable[..., Any],
    prim: Primitive,
    summary: str,
    operands: str,
    example: str,
    result: str,
) -> Any:
    """Return a function made from a primitive, named as the standard, or else NumPy, calls its ufunc."""
    like = prim.ufunc
    assert like is not None
    name = ALIASES.get(like.__name__, like.__name__)
    slow = partial(compared if prim in eager.COMPARISONS else promoted, prim, name)
    function = fastpath.wrap(way, with_keywords(call(prim, slow), like), prim.name, prim)
    function.__doc__ = f"""{summary}

Parameters
----------
{operands}

Returns
-------
Array
    One element for each of the operands' (broadcast) elements.

Raises
------
TypeError
    If the operation has no meaning for the operands' dtypes.
ValueError
    If shapes do not broadcast.

>>> xp.{name}({example})
{result}
"""
    PRIMITIVES[function] = prim
    make_ufunc(function, like)
    return function


def unary(prim: Primitive, summary: str, x: str, result: str) -> Unary:
    made: Unary = _made("unary", unary_call, prim, summary, "x : Array", f"xp.asarray({x})", result)
    return made


def binary(prim: Primitive, summary: str, x1: str, x2: str, result: str) -> Binary:
    operands = "x1, x2 : Array or scalar\n    Operands; a Python scalar takes the other's dtype."
    example = f"xp.asarray({x1}), xp.asarray({x2})"
    made: Binary = _made("binary", binary_call, prim, summary, operands, example, result)
    return made
