"""Containers taken apart and put together."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nabla_array.transforms import (
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from nabla_array.transforms.pytree import broadcast_prefix


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclasses.dataclass(frozen=True)
class Layer:
    weights: Any
    bias: Any

    def __post_init__(self) -> None:
        if self.bias is None:
            raise ValueError("a layer has a bias")


class Point:
    def __init__(self, x: Any, y: Any, name: str) -> None:
        self.x, self.y, self.name = x, y, name


register_pytree_node(Point, lambda p: ((p.x, p.y), p.name), lambda name, xy: Point(*xy, str(name)))

leaves = st.integers() | st.text() | st.floats(allow_nan=False)
trees = st.recursive(
    leaves | st.none(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner)
        | st.builds(Pair, inner, inner)
        | st.builds(lambda a, b: Layer(a, [b]), inner, inner)
        | st.dictionaries(st.integers(), inner).map(OrderedDict)
    ),
)


@given(trees)
def test_what_is_taken_apart_comes_together(tree: Any) -> None:
    parts, treedef = tree_flatten(tree)
    assert tree_unflatten(treedef, parts) == tree
    assert treedef == tree_structure(tree)
    assert hash(treedef) == hash(tree_structure(tree))
    assert treedef.num_leaves == len(parts)


@given(trees)
def test_structures_do_not_depend_on_leaves(tree: Any) -> None:
    other = tree_map(lambda leaf: object(), tree)
    assert tree_structure(other) == tree_structure(tree)


def test_containers() -> None:
    layer = Layer([1, 2], 3)
    assert tree_leaves({"b": layer, "a": Pair(4, None)}) == [4, 1, 2, 3]
    assert tree_map(lambda x: None, layer).bias is None  # no check of the class gets in the way
    point = tree_map(lambda x: -x, Point(1, 2, "p"))
    assert (point.x, point.y, point.name) == (-1, -2, "p")
    assert tree_structure(Point(1, 2, "p")) != tree_structure(Point(1, 2, "q"))
    assert tree_structure([1]) != tree_structure((1,))
    assert tree_map(lambda x: x + 1, defaultdict(int, a=1)) == {"a": 2}
    assert tree_leaves({1: "x", "a": "y"}) == ["x", "y"]  # keys without an order
    assert tree_leaves(int) == [int]


def test_the_rest_may_be_deeper() -> None:
    assert tree_map(lambda a, b: (a, b), [1, 2], [(3, 4), {"x": 5}]) == [(1, (3, 4)), (2, {"x": 5})]


@pytest.mark.parametrize("rest", [(1, 2), [1], [1, 2, 3], {"a": 1}, None])
def test_other_structures_are_errors(rest: Any) -> None:
    with pytest.raises(ValueError, match=r"tree_map: structures differ"):
        tree_map(lambda a, b: a, [1, 2], rest)


def test_wrong_numbers_of_leaves_are_errors() -> None:
    with pytest.raises(ValueError, match=r"3 leaves for a tree of 2"):
        tree_unflatten(tree_structure([1, 2]), [1, 2, 3])


def test_a_class_is_registered_once() -> None:
    with pytest.raises(ValueError, match="Point is registered already"):
        register_pytree_node(Point, lambda p: ((), None), lambda _, c: Point(0, 0, ""))


def test_prefixes() -> None:
    tree = tree_structure(({"a": 1, "b": (2, 3)}, 4))
    assert broadcast_prefix("f", 0, tree) == [0] * 4
    assert broadcast_prefix("f", (None, 1), tree) == [None] * 3 + [1]
    assert broadcast_prefix("f", ({"a": 0, "b": None}, 1), tree) == [0, None, None, 1]
    assert broadcast_prefix("f", [{"a": 0, "b": 2}, 1], tree) == [0, 2, 2, 1]
    with pytest.raises(ValueError, match=r"f: \{'a': 0\} is no prefix"):
        broadcast_prefix("f", ({"a": 0}, 1), tree)
