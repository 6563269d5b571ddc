"""The arguments of a compiled function: which are arrays, and what tells one kind of call from another."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._lazy.graph.aval import aval_of
from .._lazy.ops.placement import in_use, sharding_of
from .._namespace.core.array import Array, current, from_value
from .calls import arguments_of_leaves, parameters
from .fastcall import ArrayLeaf, Leaf, NumberLeaf, StaticLeaf
from .pytree import TreeDef, tree_flatten
from .symbolic import NUMBERS, Sizes, Symbols


class _Static:
    """An argument that is part of the kind as a whole, so that it counts as a leaf."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Call(NamedTuple):
    """A call taken apart."""

    key: Hashable  # equal for calls that one program answers
    exact: Hashable  # the same with all lengths in it
    tree: TreeDef  # of ``(args, kwargs)``
    leaves: list[Any]
    arrays: list[int]  # the places of the arrays among the leaves
    kinds: list[Leaf]
    sizes: Sizes
    loose: Hashable  # `exact` with the types of numbers in the place of their values; None without numbers

    @property
    def numbers(self) -> list[int]:
        """The places of the numbers of Python among the leaves, but for those in static arguments."""
        return [i for i, kind in enumerate(self.kinds) if _is_number(kind)]

    def taking(self, dtypes: Mapping[int, np.dtype]) -> Call:
        """Return the call with the numbers in some places as inputs of these dtypes.

        Raises OverflowError where one does not fit.
        """
        leaves, kinds = list(self.leaves), list(self.kinds)
        for i, dtype in dtypes.items():
            kinds[i] = NumberLeaf(dtype, type(leaves[i]))
            leaves[i] = from_value(np.asarray(dtype.type(leaves[i])))
        key: Hashable = (self.tree, tuple([_hashable(kind) for kind in kinds]))
        arrays = sorted([*self.arrays, *dtypes])
        return self._replace(key=key, leaves=leaves, kinds=kinds, arrays=arrays)


class _Signature:
    """Which parameters of a function an option of `compile` means, by position and by name."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.parameters = parameters(fun)
        self.names = [
            p.name for p in self.parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        self.variadic = not self.parameters or any(
            p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in self.parameters
        )

    def both(self, option: str, which: int | str) -> tuple[int | None, str | None]:
        """Return the position and the name of a parameter, as far as they are known."""
        if isinstance(which, str):
            known = which in {p.name for p in self.parameters}
            if not known and not self.variadic:
                raise ValueError(f"compile: {option} {which!r} names no parameter of {self._told()}")
            return (self.names.index(which), which) if which in self.names else (None, which)
        if isinstance(which, bool) or not isinstance(which, int | np.integer):
            raise TypeError(f"compile: {option} holds positions and names of parameters, not {which!r}")
        n = len(self.names)
        place = int(which) + n if which < 0 else int(which)
        if place < 0 or (place >= n and not self.variadic):
            raise ValueError(f"compile: {option} {which} is out of range: there are {self._told()}")
        return place, self.names[place] if place < n else None

    def of(self, option: str, argnums: Any, argnames: Any) -> set[int | str]:
        """Return the positions and the names of the parameters of a pair of options."""
        nums = argnums if isinstance(argnums, tuple | list) else (argnums,)
        names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
        found = [self.both(f"{option}_argnums", i) for i in nums]
        found += [self.both(f"{option}_argnames", i) for i in names]
        return {key for both in found for key in both if key is not None}

    def _told(self) -> str:
        return f"the parameters {', '.join(p.name for p in self.parameters) or '(none)'}"


class Arguments:
    """What the options of `compile` say of the arguments of a call."""

    def __init__(
        self, fun: Callable[..., Any], dynamic_dims: Any, static: tuple[Any, Any], donated: tuple[Any, Any]
    ) -> None:
        signature = _Signature(fun)
        self.static = signature.of("static", *static)
        self.donated = signature.of("donate", *donated)
        self.symbols = Symbols({} if dynamic_dims is None else dynamic_dims, signature.both)

    def arrays_donated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Array]:
        """Return the arrays among the arguments that the caller gives up."""
        given = [a for which, a in [*enumerate(args), *kwargs.items()] if which in self.donated]
        return [x for x in tree_flatten(given)[0] if type(x) is Array and x._view is None]

    def parse(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Take a call apart."""
        if self.static:
            args = tuple([_Static(a) if i in self.static else a for i, a in enumerate(args)])
            kwargs = {k: _Static(a) if k in self.static else a for k, a in kwargs.items()}
        given, tree = tree_flatten((args, kwargs))
        kinds = [_kind(leaf) for leaf in given]
        arrays = [i for i, kind in enumerate(kinds) if isinstance(kind, ArrayLeaf)]
        leaves = [leaf.value if type(leaf) is _Static else leaf for leaf in given]
        exact: Hashable = (tree, tuple([_hashable(kind) for kind in kinds]))
        try:
            hash(exact)
        except TypeError:
            raise _unhashable(given, tree) from None
        loose = None
        if any(map(_is_number, kinds)):
            loose = (tree, tuple([kind.type if _is_number(kind) else _hashable(kind) for kind in kinds]))
        if not self.symbols:
            return Call(exact, exact, tree, leaves, arrays, kinds, (), loose)
        sizes, symbolic = self.symbols.read(tree, kinds)
        key: Hashable = (tree, tuple([_hashable(kind) for kind in symbolic]))
        return Call(key, exact, tree, leaves, arrays, kinds, sizes, None)


def _kind(leaf: Any) -> Leaf:
    cls = type(leaf)
    if cls is Array:
        aval = aval_of(leaf.shape, leaf.dtype) if leaf._levels else leaf._node.aval
        return ArrayLeaf(aval, Array, sharding_of(current(leaf)) if in_use else None)
    if (cls is np.ndarray or isinstance(leaf, np.generic)) and leaf.dtype.kind in "biufc":
        return ArrayLeaf(aval_of(leaf.shape, leaf.dtype), cls)
    if cls is _Static:
        return StaticLeaf(type(leaf.value), leaf.value)
    return StaticLeaf(cls, leaf, cls in NUMBERS)


def _hashable(kind: Any) -> Hashable:
    """Return a leaf's kind as a part of a key, where 0.0 is not -0.0 and nan is nan."""
    if isinstance(kind, StaticLeaf) and kind.type in NUMBERS:
        return kind.type, repr(kind.value)
    return kind


def _is_number(kind: Leaf) -> bool:
    return isinstance(kind, StaticLeaf) and kind.is_number


def _unhashable(leaves: Sequence[Any], tree: TreeDef) -> TypeError:
    for which, leaf in zip(arguments_of_leaves(tree), leaves, strict=True):
        kind = _kind(leaf)
        try:
            hash(kind)
        except TypeError:
            assert isinstance(kind, StaticLeaf)
            how = "is static" if isinstance(leaf, _Static) else "is or holds no array"
            return TypeError(
                f"compile: argument {which!r} {how} and must be hashable to tell one call from another, "
                f"which {kind.type.__name__} is not: {kind.value!r}; a tuple or an array would work"
            )
    return TypeError("compile: the structure of the arguments holds something that is not hashable")


def overlap(leaves: Sequence[Any]) -> bool:
    """Say whether two of the arguments share elements."""
    owners = [id(x._view.base if x._view is not None else x) for x in leaves if type(x) is Array]
    if len(set(owners)) < len(owners):
        return True
    own = [x for x in leaves if isinstance(x, np.ndarray)]
    return any(np.may_share_memory(x, y) for i, x in enumerate(own) for y in own[:i])
