"""Paths: how one gets from a pytree to a leaf of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

__all__ = ["DictKey", "FlattenedIndexKey", "GetAttrKey", "SequenceKey", "keystr"]

Path = tuple[Any, ...]


class _Key:
    """A step from a container to a child: equal to those of its class that have the same value."""

    __slots__ = ("_value",)
    _attribute = ""
    _text = ""

    def __init__(self, value: Hashable) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._value == self._value

    def __hash__(self) -> int:
        return hash((type(self), self._value))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._attribute}={self._value!r})"

    def __str__(self) -> str:
        return self._text.format(self._value)


class SequenceKey(_Key):
    """A step to an entry of a list or tuple: ``[idx]``.

    >>> from nabla_array.transforms import SequenceKey, keystr, tree_leaves_with_path
    >>> [(path, leaf)] = tree_leaves_with_path([3.0])
    >>> path == (SequenceKey(0),), path[0].idx, keystr(path)
    (True, 0, '[0]')
    """

    __slots__ = ()
    _attribute, _text = "idx", "[{}]"
    idx: int = property(lambda self: self._value)  # type: ignore[assignment]


class DictKey(_Key):
    """A step to an entry of a dict: ``[key]``.

    >>> from nabla_array.transforms import DictKey, keystr, tree_leaves_with_path
    >>> [(path, leaf)] = tree_leaves_with_path({"w": 3.0})
    >>> path == (DictKey("w"),), path[0].key, keystr(path)
    (True, 'w', "['w']")
    """

    __slots__ = ()
    _attribute, _text = "key", "[{!r}]"
    key: Hashable = property(lambda self: self._value)


class GetAttrKey(_Key):
    """A step to a field of a dataclass or named tuple: ``.name``.

    >>> from collections import namedtuple
    >>> from nabla_array.transforms import GetAttrKey, keystr, tree_leaves_with_path
    >>> [(path, leaf)] = tree_leaves_with_path(namedtuple("Layer", "w")(3.0))
    >>> path == (GetAttrKey("w"),), path[0].name, keystr(path)
    (True, 'w', '.w')
    """

    __slots__ = ()
    _attribute, _text = "name", ".{}"
    name: str = property(lambda self: self._value)  # type: ignore[assignment]


class FlattenedIndexKey(_Key):
    """A step to a child of what was registered without names for its children.

    >>> from nabla_array.transforms import FlattenedIndexKey, keystr
    >>> key = FlattenedIndexKey(1)
    >>> key.key, keystr((key,))
    (1, '[<flat index 1>]')
    """

    __slots__ = ()
    _attribute, _text = "key", "[<flat index {}>]"
    key: int = property(lambda self: self._value)  # type: ignore[assignment]


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """Return a path as one would write it in Python.

    Parameters
    ----------
    keys : iterable of keys
        As `tree_map_with_path` and its like give them.
    simple : bool
        Write the keys alone: no brackets, quotes and dots.
    separator : str
        What to write between them.

    Returns
    -------
    str

    >>> from nabla_array.transforms import keystr, tree_leaves_with_path
    >>> ((path, _),) = tree_leaves_with_path({"layers": [1.0]})
    >>> keystr(path), keystr(path, simple=True, separator="/")
    ("['layers'][0]", 'layers/0')
    """
    return separator.join([str(k._value) if simple and isinstance(k, _Key) else str(k) for k in keys])
