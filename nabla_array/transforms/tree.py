"""Functions of pytrees under short names: ``tree.map`` is `tree_map`."""

from .pytree import tree_all as all
from .pytree import tree_flatten as flatten
from .pytree import tree_flatten_with_path as flatten_with_path
from .pytree import tree_leaves as leaves
from .pytree import tree_leaves_with_path as leaves_with_path
from .pytree import tree_map as map
from .pytree import tree_map_with_path as map_with_path
from .pytree import tree_reduce as reduce
from .pytree import tree_structure as structure
from .pytree import tree_transpose as transpose
from .pytree import tree_unflatten as unflatten

__all__ = [
    "all",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "structure",
    "transpose",
    "unflatten",
]
