"""Pytrees: nested containers of arrays, taken apart into leaves and put together again."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

__all__ = [
    "TreeDef",
    "register_pytree_node",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_structure",
    "tree_unflatten",
]


class _Kind(NamedTuple):
    flatten: Callable[[Any], tuple[Iterable[Any], Hashable]]
    unflatten: Callable[[Any, Sequence[Any]], Any]


class TreeDef(NamedTuple):
    """The structure of a pytree: equal for trees that differ in nothing but leaves.

    Attributes
    ----------
    type
        The class of the container; None for a leaf.
    meta
        What the class needs beside the children: a dict's keys, say.
    children
        The structures of the children.
    """

    type: type | None
    meta: Any
    children: tuple[TreeDef, ...]

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.type is None else sum(c.num_leaves for c in self.children)

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        inner = ", ".join(map(repr, self.children))
        named = "" if self.meta is None else f"{self.meta!r}: "
        return f"{self.type.__name__}({named}{inner})"


_LEAF = TreeDef(None, None, ())


def _keys(d: dict[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(d))
    except TypeError:  # keys of several types have no order
        return tuple(d)


def _flatten_dict(d: dict[Any, Any]) -> tuple[list[Any], Hashable]:
    keys = _keys(d)
    return [d[k] for k in keys], keys


def _flatten_default(d: defaultdict[Any, Any]) -> tuple[list[Any], Hashable]:
    keys = _keys(d)
    return [d[k] for k in keys], (d.default_factory, keys)


_kinds: dict[type, _Kind] = {
    tuple: _Kind(lambda t: (t, None), lambda meta, c: tuple(c)),
    list: _Kind(lambda t: (t, None), lambda meta, c: list(c)),
    dict: _Kind(_flatten_dict, lambda keys, c: dict(zip(keys, c, strict=True))),
    OrderedDict: _Kind(
        lambda d: (d.values(), tuple(d)), lambda keys, c: OrderedDict(zip(keys, c, strict=True))
    ),
    defaultdict: _Kind(_flatten_default, lambda meta, c: defaultdict(meta[0], zip(meta[1], c, strict=True))),
    type(None): _Kind(lambda t: ((), None), lambda meta, c: None),
}


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Sequence[Any]], Any],
) -> None:
    """Make instances of a class containers, not leaves, for every transform.

    Parameters
    ----------
    nodetype : type
        The class, exactly: subclasses are leaves until they are registered.
    flatten_func : callable
        ``instance -> (children, aux_data)``; the data must be hashable and comparable.
    unflatten_func : callable
        ``(aux_data, children) -> instance``.

    Raises
    ------
    ValueError
        If the class is registered already.

    >>> from nabla_array.transforms import register_pytree_node, tree_leaves
    >>> class Point:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> register_pytree_node(Point, lambda p: ((p.x, p.y), None), lambda _, xy: Point(*xy))
    >>> tree_leaves(Point(1, 2))
    [1, 2]
    """
    if nodetype in _kinds:
        raise ValueError(f"register_pytree_node: {nodetype.__name__} is registered already")
    _kinds[nodetype] = _Kind(flatten_func, unflatten_func)


def _kind_of(tree: Any) -> _Kind | None:
    cls = type(tree)
    kind = _kinds.get(cls)
    if kind is not None:
        return kind
    if isinstance(tree, tuple) and hasattr(cls, "_fields"):
        kind = _Kind(lambda t: (t, None), lambda meta, c: cls(*c))
    elif dataclasses.is_dataclass(cls):
        kind = _dataclass(cls)
    else:
        return None
    return _kinds.setdefault(cls, kind)


def _dataclass(cls: type) -> _Kind:
    names = [f.name for f in dataclasses.fields(cls)]

    def unflatten(meta: Any, children: Sequence[Any]) -> Any:
        # Not through __init__, which may check or convert what are no arrays in the midst of a transform.
        out: Any = object.__new__(cls)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(out, name, child)
        return out

    return _Kind(lambda t: ([getattr(t, name) for name in names], None), unflatten)


def tree_flatten(tree: Any) -> tuple[list[Any], TreeDef]:
    """Return the leaves of a pytree, and its structure.

    Parameters
    ----------
    tree : pytree
        Dicts (by sorted keys), lists, tuples, namedtuples, None (no leaf), dataclasses, and what
        `register_pytree_node` was told of are containers; everything else is a leaf.

    Returns
    -------
    (list, TreeDef)

    Examples
    --------
    >>> from nabla_array.transforms import tree_flatten
    >>> tree_flatten({"b": [1, 2], "a": None})
    ([1, 2], dict(('a', 'b'): NoneType(), list(*, *)))
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: list[Any]) -> TreeDef:
    kind = _kind_of(tree)
    if kind is None:
        leaves.append(tree)
        return _LEAF
    children, meta = kind.flatten(tree)
    return TreeDef(type(tree), meta, tuple([_flatten(c, leaves) for c in children]))


def tree_unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """Return the pytree of this structure and these leaves; raises ValueError unless their number fits."""
    given = list(leaves)
    if len(given) != treedef.num_leaves:
        raise ValueError(f"tree_unflatten: {len(given)} leaves for a tree of {treedef.num_leaves}: {treedef}")
    return _unflatten(treedef, iter(given))


def _unflatten(treedef: TreeDef, leaves: Any) -> Any:
    if treedef.type is None:
        return next(leaves)
    children = [_unflatten(c, leaves) for c in treedef.children]
    return _kinds[treedef.type].unflatten(treedef.meta, children)


class Rest(NamedTuple):
    """A pytree that leaves were taken from."""

    leaves: list[Any]  # None in the place of what was taken
    tree: TreeDef
    places: list[int]

    def filled(self, taken: Sequence[Any]) -> Any:
        """Return the pytree with these leaves in the places of those that were taken."""
        leaves = list(self.leaves)
        for i, x in zip(self.places, taken, strict=True):
            leaves[i] = x
        return tree_unflatten(self.tree, leaves)


def take(leaves: Sequence[Any], tree: TreeDef, wanted: Callable[[Any], bool]) -> tuple[list[Any], Rest]:
    """Take the leaves that are wanted from a pytree; returns these, and the rest."""
    flags = [wanted(x) for x in leaves]
    rest = Rest(
        [None if one else x for x, one in zip(leaves, flags, strict=True)],
        tree,
        [i for i, one in enumerate(flags) if one],
    )
    return [leaves[i] for i in rest.places], rest


def tree_leaves(tree: Any) -> list[Any]:
    """Return the leaves of a pytree."""
    return tree_flatten(tree)[0]


def tree_structure(tree: Any) -> TreeDef:
    """Return the structure of a pytree."""
    return tree_flatten(tree)[1]


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """Return the pytree of ``f(leaf, *leaves_of_the_rest)``; the others may be deeper than the first.

    Examples
    --------
    >>> from nabla_array.transforms import tree_map
    >>> tree_map(lambda a, b: a + b, {"x": 1, "y": (2,)}, {"x": 10, "y": (20,)})
    {'x': 11, 'y': (22,)}
    """
    leaves, treedef = tree_flatten(tree)
    others = [flatten_up_to("tree_map", treedef, r) for r in rest]
    return tree_unflatten(treedef, [f(*row) for row in zip(leaves, *others, strict=True)])


def _parts(tree: Any, wanted: TreeDef, loosely: bool = False) -> list[tuple[TreeDef, Any]] | None:
    """Return a tree's children beside those of a structure; None if it is built otherwise.

    `loosely`: a list may stand for a tuple, and the other way round.
    """
    kind = _kind_of(tree)
    children, meta = kind.flatten(tree) if kind is not None else ((), None)
    parts, types = list(children), {wanted.type, type(tree)}
    if len(types) > 1 and not (loosely and types == {list, tuple}):
        return None
    if meta != wanted.meta or len(parts) != len(wanted.children):
        return None
    return list(zip(wanted.children, parts, strict=True))


def flatten_up_to(function: str, treedef: TreeDef, tree: Any) -> list[Any]:
    """Return the parts of `tree` at the leaves of `treedef`; ValueError if it is built otherwise."""
    if treedef.type is None:
        return [tree]
    parts = _parts(tree, treedef)
    if parts is None:
        raise ValueError(f"{function}: structures differ: {tree!r} in the place of {treedef}")
    return [x for child, part in parts for x in flatten_up_to(function, child, part)]


def broadcast_prefix(function: str, prefix: Any, treedef: TreeDef) -> list[Any]:
    """Return one entry of `prefix` for each leaf of `treedef`, of which it is a prefix; None counts as entry.

    Raises ValueError where it is none.
    """
    if prefix is None or _kind_of(prefix) is None:
        return [prefix] * treedef.num_leaves
    parts = _parts(prefix, treedef, loosely=True)
    if parts is None:
        raise ValueError(f"{function}: {prefix!r} is no prefix of the structure {treedef}")
    return [x for child, part in parts for x in broadcast_prefix(function, part, child)]
