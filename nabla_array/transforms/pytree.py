"""Pytrees: nested containers of arrays, taken apart into leaves and put together again."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from .._lazy.native import compiled
from .._namespace.core.array import Array
from .paths import DictKey, FlattenedIndexKey, GetAttrKey, Path, SequenceKey

if TYPE_CHECKING:
    from ._types import T

__all__ = [
    "Partial",
    "TreeDef",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_with_keys",
    "tree_all",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
]

_IsLeaf = Callable[[Any], bool] | None


class _Kind(NamedTuple):
    flatten: Callable[[Any], tuple[Iterable[Any], Hashable]]
    unflatten: Callable[[Any, Sequence[Any]], Any]
    keys: Callable[[Any], Sequence[Any]] | None = None  # how one gets from a container to its children
    registered: bool = True  # by a call, or by us: nobody is to do so again


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

    Examples
    --------
    >>> from nabla_array.transforms import tree_structure
    >>> structure = tree_structure([1.0, {"a": 2.0}])
    >>> structure, structure.num_leaves
    (list(*, dict(('a',): *)), 2)
    >>> structure == tree_structure([0, {"a": 0}])
    True
    """

    type: type | None
    meta: Any
    children: tuple[TreeDef, ...]

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        if compiled is not None:
            return compiled.count_leaves(self)
        return 1 if self.type is None else sum(c.num_leaves for c in self.children)

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        inner = ", ".join(map(repr, self.children))
        named = "" if self.meta is None else f"{self.meta!r}: "
        return f"{self.type.__name__}({named}{inner})"


_LEAF = TreeDef(None, None, ())
# The classes of most leaves, until somebody registers one.
_LEAVES = {Array, np.ndarray, float, int, complex, bool}


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


def _places(t: Sequence[Any]) -> list[SequenceKey]:
    return [SequenceKey(i) for i in range(len(t))]


_kinds: dict[type, _Kind] = {
    tuple: _Kind(lambda t: (t, None), lambda meta, c: tuple(c), _places),
    list: _Kind(lambda t: (t, None), lambda meta, c: list(c), _places),
    dict: _Kind(
        _flatten_dict,
        lambda keys, c: dict(zip(keys, c, strict=True)),
        lambda d: [DictKey(k) for k in _keys(d)],
    ),
    OrderedDict: _Kind(
        lambda d: (d.values(), tuple(d)),
        lambda keys, c: OrderedDict(zip(keys, c, strict=True)),
        lambda d: [DictKey(k) for k in d],
    ),
    defaultdict: _Kind(
        _flatten_default,
        lambda meta, c: defaultdict(meta[0], zip(meta[1], c, strict=True)),
        lambda d: [DictKey(k) for k in _keys(d)],
    ),
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
    _register("register_pytree_node", nodetype, _Kind(flatten_func, unflatten_func))


def _register(function: str, nodetype: type, kind: _Kind) -> None:
    if nodetype in _kinds and _kinds[nodetype].registered:
        raise ValueError(f"{function}: {nodetype.__name__} is registered already")
    _LEAVES.discard(nodetype)
    _kinds[nodetype] = kind


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Hashable]],
    unflatten_func: Callable[[Any, Sequence[Any]], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
    """Make instances of a class containers whose children have names in paths.

    Parameters
    ----------
    nodetype : type
        As for `register_pytree_node`.
    flatten_with_keys : callable
        ``instance -> (pairs, aux_data)``, of pairs ``(key, child)``.
    unflatten_func : callable
        ``(aux_data, children) -> instance``.
    flatten_func : callable, optional
        ``instance -> (children, aux_data)``, where that is faster.

    Raises
    ------
    ValueError
        If the class is registered already.

    >>> from nabla_array.transforms import GetAttrKey, keystr, tree_leaves_with_path
    >>> from nabla_array.transforms import register_pytree_with_keys
    >>> class Ray:
    ...     def __init__(self, start, end):
    ...         self.start, self.end = start, end
    >>> register_pytree_with_keys(
    ...     Ray,
    ...     lambda r: ([(GetAttrKey("start"), r.start), (GetAttrKey("end"), r.end)], None),
    ...     lambda _, ends: Ray(*ends),
    ... )
    >>> [keystr(path) for path, _ in tree_leaves_with_path([Ray(1, 2)])]
    ['[0].start', '[0].end']
    """

    def flatten(instance: Any) -> tuple[Iterable[Any], Hashable]:
        pairs, aux = flatten_with_keys(instance)
        return [child for _, child in pairs], aux

    def keys(instance: Any) -> list[Any]:
        return [key for key, _ in flatten_with_keys(instance)[0]]

    kind = _Kind(flatten if flatten_func is None else flatten_func, unflatten_func, keys)
    _register("register_pytree_with_keys", nodetype, kind)


def register_dataclass(
    nodetype: type,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> type:
    """Say which fields of a dataclass are children, and which are part of the structure; returns the class.

    Without it, all fields of a dataclass are children, but for those of ``field(metadata={"static": True})``.

    Parameters
    ----------
    nodetype : type
        The class; one that is no dataclass needs both lists.
    data_fields, meta_fields : sequences of str, optional
        Fields that hold arrays and pytrees, and fields that are compared and hashed.
    drop_fields : sequence of str
        Fields that are in neither list, and get their defaults.

    Raises
    ------
    ValueError
        If a field is in no list or in two, or the class is registered already.

    >>> import dataclasses
    >>> from nabla_array.transforms import register_dataclass, tree_map
    >>> @dataclasses.dataclass
    ... class Layer:
    ...     weights: object
    ...     name: str
    >>> Layer = register_dataclass(Layer, data_fields=["weights"], meta_fields=["name"])
    >>> tree_map(lambda w: 2 * w, Layer(21, "first"))
    Layer(weights=42, name='first')
    """
    data, meta, drop = data_fields, meta_fields, set(drop_fields)
    if data is None or meta is None:
        if (data is None) != (meta is None) or not dataclasses.is_dataclass(nodetype):
            raise ValueError(
                f"register_dataclass: {nodetype.__name__} needs both data_fields and meta_fields; a "
                "dataclass may have neither"
            )
        fields = [f for f in dataclasses.fields(nodetype) if f.init and f.name not in drop]
        data = [f.name for f in fields if not f.metadata.get("static", False)]
        meta = [f.name for f in fields if f.metadata.get("static", False)]
    if dataclasses.is_dataclass(nodetype):
        wanted = {f.name for f in dataclasses.fields(nodetype) if f.init} - drop
        if wanted != {*data, *meta} or len(wanted) != len(data) + len(meta):
            raise ValueError(
                f"register_dataclass: each field of {nodetype.__name__} must be in one of data_fields and "
                f"meta_fields: {sorted(wanted)}, not {[*data]} and {[*meta]}"
            )

    def unflatten(values: Any, children: Sequence[Any]) -> Any:
        named = dict(zip([*meta, *data], [*(values or ()), *children], strict=True))
        # Dropped fields come from __init__. Else it is left out, as for any dataclass.
        return nodetype(**named) if drop else _made(nodetype, named)

    _register("register_dataclass", nodetype, _fields_of(data, meta, unflatten))
    return nodetype


def _kind_of(tree: Any) -> _Kind | None:
    cls = type(tree)
    if cls in _LEAVES:
        return None
    kind = _kinds.get(cls)
    if kind is not None:
        return kind
    if isinstance(tree, tuple) and hasattr(cls, "_fields"):
        kind = _Kind(lambda t: (t, None), lambda meta, c: cls(*c), lambda t: [*map(GetAttrKey, t._fields)])
    elif dataclasses.is_dataclass(cls):
        kind = _dataclass(cls)
    else:
        return None
    return _kinds.setdefault(cls, kind._replace(registered=False))


def _dataclass(cls: type) -> _Kind:
    fields = dataclasses.fields(cls)
    data = [f.name for f in fields if not f.metadata.get("static", False)]
    meta = [f.name for f in fields if f.metadata.get("static", False)]

    def unflatten(values: Any, children: Sequence[Any]) -> Any:
        return _made(cls, dict(zip([*meta, *data], [*(values or ()), *children], strict=True)))

    return _fields_of(data, meta, unflatten)


def _made(cls: type, values: dict[str, Any]) -> Any:
    # Not through __init__, which may check or convert what are no arrays in the midst of a transform.
    out: Any = object.__new__(cls)
    for name, value in values.items():
        object.__setattr__(out, name, value)
    return out


def _fields_of(data: Sequence[str], meta: Sequence[str], unflatten: Callable[..., Any]) -> _Kind:
    def flatten(t: Any) -> tuple[list[Any], Hashable]:
        return [getattr(t, name) for name in data], tuple([getattr(t, name) for name in meta]) or None

    return _Kind(flatten, unflatten, lambda _: [GetAttrKey(name) for name in data])


class Partial(partial):
    """`functools.partial` as a container: its arguments are children, its function is part of the structure.

    So a function that holds arrays can be handed through transforms.

    >>> from nabla_array.transforms import Partial, compile, tree_leaves
    >>> power = Partial(lambda n, x: x**n, 3.0)
    >>> tree_leaves(power)
    [3.0]
    >>> compile(lambda f, x: f(x))(power, xp.asarray([1.0, 2.0]))
    array([1., 8.])
    """


_kinds[Partial] = _Kind(
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, c: Partial(func, *c[0], **c[1]),
    lambda p: [GetAttrKey("args"), GetAttrKey("keywords")],
)


def tree_flatten(tree: Any, is_leaf: _IsLeaf = None) -> tuple[list[Any], TreeDef]:
    """Return the leaves of a pytree, and its structure.

    Parameters
    ----------
    tree : pytree
        Dicts (by sorted keys), lists, tuples, namedtuples, None (no leaf), dataclasses, and what
        `register_pytree_node` was told of are containers; everything else is a leaf.
    is_leaf : callable, optional
        Says of what would be a container whether it is a leaf.

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
    if compiled is not None and is_leaf is None:
        return leaves, compiled.flatten(tree, leaves)
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: Any, leaves: list[Any], is_leaf: _IsLeaf = None) -> TreeDef:
    kind = _kind_of(tree)
    if kind is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF
    children, meta = kind.flatten(tree)
    return TreeDef(type(tree), meta, tuple([_flatten(c, leaves, is_leaf) for c in children]))


def tree_unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """Return the pytree of this structure and these leaves; raises ValueError unless their number fits.

    >>> from nabla_array.transforms import tree_structure, tree_unflatten
    >>> tree_unflatten(tree_structure([1.0, {"a": 2.0}]), [3, 4])
    [3, {'a': 4}]
    """
    return _put_together(treedef, leaves) if compiled is None else compiled.unflatten(treedef, leaves)


def _put_together(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    given = list(leaves)
    if len(given) != treedef.num_leaves:
        raise ValueError(f"tree_unflatten: {len(given)} leaves for a tree of {treedef.num_leaves}: {treedef}")
    return _unflatten(treedef, iter(given))


def _unflatten(treedef: TreeDef, leaves: Any) -> Any:
    if treedef.type is None:
        return next(leaves)
    return _container(treedef, [_unflatten(c, leaves) for c in treedef.children])


def _container(treedef: TreeDef, children: Sequence[Any]) -> Any:
    assert treedef.type is not None
    return _kinds[treedef.type].unflatten(treedef.meta, children)


if compiled is not None:  # it does what `_flatten` and `_put_together` do for the usual containers
    compiled.trees(TreeDef, _LEAVES, _LEAF, _flatten, _container, _put_together)


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


def tree_leaves(tree: Any, is_leaf: _IsLeaf = None) -> list[Any]:
    """Return the leaves of a pytree.

    >>> from nabla_array.transforms import tree_leaves
    >>> tree_leaves([1.0, {"a": 2.0, "b": (3.0, None)}])
    [1.0, 2.0, 3.0]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: _IsLeaf = None) -> TreeDef:
    """Return the structure of a pytree.

    >>> from nabla_array.transforms import tree_structure
    >>> tree_structure([1.0, {"a": 2.0}])
    list(*, dict(('a',): *))
    """
    return tree_flatten(tree, is_leaf)[1]


@overload
def tree_map(f: Callable[..., Array], tree: T, *rest: Any, is_leaf: _IsLeaf = None) -> T: ...
@overload
def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: _IsLeaf = None) -> Any: ...
def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: _IsLeaf = None) -> Any:
    """Return the pytree of ``f(leaf, *leaves_of_the_rest)``; the others may be deeper than the first.

    >>> from nabla_array.transforms import tree_map
    >>> tree_map(lambda a, b: a + b, {"x": 1, "y": (2,)}, {"x": 10, "y": (20,)})
    {'x': 11, 'y': (22,)}
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    others = [flatten_up_to("tree_map", treedef, r) for r in rest]
    return tree_unflatten(treedef, [f(*row) for row in zip(leaves, *others, strict=True)])


_NONE = object()


def tree_reduce(
    function: Callable[[Any, Any], T], tree: Any, initializer: Any = _NONE, is_leaf: _IsLeaf = None
) -> T:
    """Return what ``function(so_far, leaf)`` makes of the leaves of a pytree, one after the other.

    Parameters
    ----------
    function : callable
    tree : pytree
    initializer : optional
        What comes before the first leaf; the first leaf itself without it.
    is_leaf : callable, optional
        As for `tree_flatten`.

    Raises
    ------
    TypeError
        If there is neither a leaf nor an `initializer`.

    >>> from nabla_array.transforms import tree_reduce
    >>> tree_reduce(lambda a, b: a + b, {"x": 1, "y": (2, 3)})
    6
    """
    leaves = tree_leaves(tree, is_leaf)
    if initializer is _NONE:
        if not leaves:
            raise TypeError("tree_reduce: a tree without leaves needs an initializer")
        initializer, leaves = leaves[0], leaves[1:]
    for leaf in leaves:
        initializer = function(initializer, leaf)
    reduced: T = initializer
    return reduced


def tree_all(tree: Any, *, is_leaf: _IsLeaf = None) -> bool:
    """Say whether all leaves of a pytree are true.

    >>> from nabla_array.transforms import tree_all
    >>> tree_all({"x": True, "y": (True, False)})
    False
    """
    return all(tree_leaves(tree, is_leaf))


def tree_transpose(outer_treedef: TreeDef, inner_treedef: TreeDef | None, pytree_to_transpose: Any) -> Any:
    """Return a pytree of pytrees turned inside out.

    Parameters
    ----------
    outer_treedef, inner_treedef : TreeDef
        The structure that is outside, and the one that is in each of its leaves; None for that of the first.
    pytree_to_transpose : pytree

    Returns
    -------
    pytree
        Of the inner structure, with the outer one in each leaf.

    Raises
    ------
    ValueError
        For a tree of another structure.

    >>> from nabla_array.transforms import tree_structure, tree_transpose
    >>> outer, inner = tree_structure([0, 0, 0]), tree_structure({"x": 0, "y": 0})
    >>> tree_transpose(outer, inner, [{"x": 1, "y": 2}, {"x": 3, "y": 4}, {"x": 5, "y": 6}])
    {'x': [1, 3, 5], 'y': [2, 4, 6]}
    """
    parts = flatten_up_to("tree_transpose", outer_treedef, pytree_to_transpose)
    if inner_treedef is None:
        if not parts:
            raise ValueError("tree_transpose: an outer structure without leaves needs inner_treedef")
        inner_treedef = tree_structure(parts[0])
    rows = [flatten_up_to("tree_transpose", inner_treedef, part) for part in parts]
    columns = [[row[i] for row in rows] for i in range(inner_treedef.num_leaves)]
    return tree_unflatten(inner_treedef, [tree_unflatten(outer_treedef, column) for column in columns])


def tree_leaves_with_path(tree: Any, is_leaf: _IsLeaf = None) -> list[tuple[Path, Any]]:
    """Return pairs of the path to each leaf of a pytree, and the leaf; see `keystr`.

    >>> from nabla_array.transforms import tree_leaves_with_path
    >>> tree_leaves_with_path({"x": [7]})
    [((DictKey(key='x'), SequenceKey(idx=0)), 7)]
    """
    kind = _kind_of(tree)
    if kind is None or (is_leaf is not None and is_leaf(tree)):
        return [((), tree)]
    children = [*kind.flatten(tree)[0]]
    keys = [FlattenedIndexKey(i) for i in range(len(children))] if kind.keys is None else kind.keys(tree)
    pairs = zip(keys, children, strict=True)
    return [((k, *path), leaf) for k, c in pairs for path, leaf in tree_leaves_with_path(c, is_leaf)]


def tree_flatten_with_path(tree: Any, is_leaf: _IsLeaf = None) -> tuple[list[tuple[Path, Any]], TreeDef]:
    """Return what `tree_leaves_with_path` does, and the structure.

    >>> from nabla_array.transforms import tree_flatten_with_path
    >>> tree_flatten_with_path((7,))
    ([((SequenceKey(idx=0),), 7)], tuple(*))
    """
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


@overload
def tree_map_with_path(f: Callable[..., Array], tree: T, *rest: Any, is_leaf: _IsLeaf = None) -> T: ...
@overload
def tree_map_with_path(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: _IsLeaf = None) -> Any: ...
def tree_map_with_path(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: _IsLeaf = None) -> Any:
    """Return the pytree of ``f(path, leaf, *leaves_of_the_rest)``: `tree_map` that is told where a leaf is.

    Parameters
    ----------
    f : callable
        Its first argument is a tuple of keys, which `keystr` writes as one would in Python.
    tree, *rest : pytrees
        As for `tree_map`.
    is_leaf : callable, optional
        As for `tree_flatten`.

    Raises
    ------
    ValueError
        If one of `rest` is built otherwise than `tree`.

    >>> from nabla_array.transforms import keystr, tree_map_with_path
    >>> tree_map_with_path(lambda path, x: f"{keystr(path)} is {x}", {"w": [1, 2]})
    {'w': ["['w'][0] is 1", "['w'][1] is 2"]}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf)
    others = [flatten_up_to("tree_map_with_path", treedef, r) for r in rest]
    rows = zip(pairs, *others, strict=True)
    return tree_unflatten(treedef, [f(path, leaf, *more) for (path, leaf), *more in rows])


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


def flatten_up_to(function: str, treedef: TreeDef, tree: Any, nones: bool = False) -> list[Any]:
    """Return the parts of `tree` at the leaves of `treedef`; ValueError if it is built otherwise.

    `nones`: None may stand for a whole subtree, and for each of its leaves then; lists for tuples.
    """
    if treedef.type is None:
        return [tree]
    if nones and tree is None:
        return [None] * treedef.num_leaves
    parts = _parts(tree, treedef, loosely=nones)
    if parts is None:
        raise ValueError(f"{function}: structures differ: {tree!r} in the place of {treedef}")
    return [x for child, part in parts for x in flatten_up_to(function, child, part, nones)]


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
