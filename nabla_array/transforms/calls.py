"""What transforms share: decorators with or without arguments, and arrays as nodes and back."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from .._lazy.ops.structure import alias
from .._lazy.rules.levels import align_to_force
from .._namespace.core.array import Array, current
from .._namespace.core.promotion import as_array
from .pytree import TreeDef

_F = TypeVar("_F", bound=Callable[..., Any])


def decorator(transform: Callable[..., Any]) -> Any:
    """Let ``transform(f, ...)`` be used as ``@transform`` and as ``@transform(...)`` too."""

    @functools.wraps(transform)
    def either(fun: Callable[..., Any] | None = None, /, *args: Any, **kwargs: Any) -> Any:
        if fun is None:
            return lambda f: transform(f, *args, **kwargs)
        if not callable(fun):
            raise TypeError(f"{transform.__name__}: needs a function, not {fun!r}")
        return transform(fun, *args, **kwargs)

    return either


def named(fun: Callable[..., Any], transform: str) -> Callable[[_F], _F]:
    """Give a transformed function the name and docstring of `fun`, where it has them."""

    def wrap(new: _F) -> _F:
        name = getattr(fun, "__name__", type(fun).__name__)
        if hasattr(fun, "__name__"):
            functools.update_wrapper(new, fun)
        else:
            new.__name__ = name
        new.__doc__ = f"{transform} of {name}." + (f"\n\n{fun.__doc__}" if fun.__doc__ else "")
        return new

    return wrap


# What an array holds, without a call of Python's.
node_of = attrgetter("_node")
levels_of = attrgetter("_levels")
# As tuples: to join classes takes longer than to ask for them.
_ARRAY_LIKE = (Array, np.ndarray, np.generic, bool, int, float, complex)
_INTEGERS = (int, np.integer)


def is_array_like(leaf: Any) -> bool:
    """Say whether a leaf is an array or a number."""
    return isinstance(leaf, _ARRAY_LIKE)


def is_integer(x: Any) -> bool:
    """Say whether this is a whole number, and no truth value."""
    return type(x) is int or (isinstance(x, _INTEGERS) and not isinstance(x, bool))


def array_leaf(function: str, leaf: Any) -> Array:
    """Return a leaf as an array, which knows its levels; raises TypeError for what is none."""
    if type(leaf) is Array:
        current(leaf)
        return leaf
    if not is_array_like(leaf):
        raise TypeError(f"{function}: needs arrays or numbers, not {type(leaf).__name__}: {leaf!r}")
    return as_array(function, leaf)


def fresh(x: Array) -> Array:
    """Return an array of its own node, along every level in force: what a transform hands to a function."""
    node, levels = align_to_force(current(x), x._levels)
    return Array(alias(node), levels)


def choose(
    function: str, fun: Callable[..., Any], argnums: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """Return `fun` as a function of the arguments that `argnums` says, and these.

    Raises ValueError for an argument that the call does not have, TypeError for what says none.
    """
    if type(argnums) is int and argnums == 0 and len(args) == 1 and not kwargs:
        return fun, [args[0]]
    places = _positions(function, fun, argnums, args)
    for p in places:
        if isinstance(p, str) and p not in kwargs:
            raise ValueError(f"{function}: argnums {p!r} names no argument of the call")

    def of_chosen(*values: Any) -> Any:
        new, more = list(args), dict(kwargs)
        for p, value in zip(places, values, strict=True):
            if isinstance(p, str):
                more[p] = value
            else:
                new[p] = value
        return fun(*new, **more)

    return of_chosen, [kwargs[p] if isinstance(p, str) else args[p] for p in places]


def _positions(function: str, fun: Callable[..., Any], argnums: Any, args: Sequence[Any]) -> list[int | str]:
    out: list[int | str] = []
    for i in argnums if isinstance(argnums, tuple | list) else (argnums,):
        if isinstance(i, str):
            names = [p.name for p in parameters(fun)]
            place = names.index(i) if i in names else len(args)
            out.append(place if place < len(args) else i)
            continue
        if not isinstance(i, _INTEGERS):
            raise TypeError(f"{function}: argnums must be ints or names of arguments, not {i!r}")
        if not -len(args) <= i < len(args):
            raise ValueError(
                f"{function}: argnums {i} is out of range: the call has {len(args)} positional arguments"
            )
        out.append(int(i) % len(args))
    return out


def arguments_of_leaves(tree: TreeDef) -> list[int | str]:
    """Say for each leaf of ``(args, kwargs)`` which argument it is in."""
    own, keywords = tree.children
    pairs = [*enumerate(own.children), *zip(keywords.meta, keywords.children, strict=True)]
    return [which for which, child in pairs for _ in range(child.num_leaves)]


def parameters(fun: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return what a function's signature says, nothing where there is none."""
    try:
        return list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):  # builtins, say: no names
        return []


class Positions:
    """How what a function is given by name goes by position, as the rules of custom functions get it."""

    def __init__(self, transform: str, fun: Callable[..., Any]) -> None:
        self._transform, self._fun = transform, fun
        self.parameters = parameters(fun)
        self._signature = inspect.Signature(self.parameters) if self.parameters else None
        self._has_defaults = any(p.default is not p.empty for p in self.parameters)

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return the arguments by position, with defaults; raises TypeError if one has no position."""
        if self._signature is None:
            if kwargs:
                raise TypeError(
                    f"{self._transform}: arguments of {self._fun!r}, which has no signature, must be "
                    "positional"
                )
            return args
        if not kwargs and not self._has_defaults:
            return args
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if left := [k for k in bound.kwargs if k in kwargs]:
            raise TypeError(
                f"{self._transform}: rules take arguments by position, but {', '.join(left)} of "
                f"{self._fun.__name__} can only be given by name"
            )
        return bound.args
