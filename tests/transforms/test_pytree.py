"""Containers taken apart and put together."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.native import compiled
from nabla_array.transforms import (
    DictKey,
    GetAttrKey,
    Partial,
    SequenceKey,
    compile,
    grad,
    jvp,
    keystr,
    pytree,
    ravel_pytree,
    register_dataclass,
    register_pytree_node,
    register_pytree_with_keys,
    tree,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_map_with_path,
    tree_reduce,
    tree_structure,
    tree_transpose,
    tree_unflatten,
    vmap,
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


@pytest.mark.skipif(compiled is None, reason="nothing is compiled: no compiler")
@given(trees)
def test_native_code_does_what_python_does(tree: Any) -> None:
    leaves, found = tree_flatten(tree)
    wanted: list[Any] = []
    assert repr(found) == repr(pytree._flatten(tree, wanted))
    assert leaves == wanted
    for some in (leaves, [*map(str, leaves)]):
        assert tree_unflatten(found, iter(some)) == pytree._put_together(found, some)


def test_a_pytree_too_deep_is_an_error() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        tree_flatten(deep)


def test_a_list_that_changes_while_it_is_taken_apart() -> None:
    class Changing(dict):
        pass

    items: list[Any] = [Changing(), 1, 2]
    register_pytree_node(Changing, lambda _: (items.clear() or (), None), lambda _, c: Changing())
    leaves, _ = tree_flatten(items)
    assert leaves in ([1, 2], [])


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


@given(trees)
def test_paths_lead_to_the_leaves(tree: Any) -> None:
    pairs, structure = tree_flatten_with_path(tree)
    assert ([leaf for _, leaf in pairs], structure) == tree_flatten(tree)
    assert tree_map_with_path(lambda _, leaf: leaf, tree) == tree
    assert len({path for path, _ in pairs}) == len(pairs)


def test_paths_of_every_kind_of_container() -> None:
    tree = {"a": [1], "b": Pair(2, Layer(3, 4)), "c": Point(5, 6, "p")}
    assert [keystr(path) for path, _ in tree_leaves_with_path(tree)] == [
        *("['a'][0]", "['b'].left", "['b'].right.weights", "['b'].right.bias"),
        *("['c'][<flat index 0>]", "['c'][<flat index 1>]"),
    ]
    assert keystr((DictKey("a"), SequenceKey(0), GetAttrKey("w")), simple=True, separator="/") == "a/0/w"
    assert DictKey(0) != SequenceKey(0)
    assert (DictKey("k").key, SequenceKey(2).idx, GetAttrKey("n").name) == ("k", 2, "n")


def test_what_is_a_leaf_can_be_said() -> None:
    nested = {"a": (1, 2), "b": None}
    assert tree_leaves(nested, is_leaf=lambda x: isinstance(x, tuple)) == [(1, 2)]
    assert tree_map(lambda x: 0, nested, is_leaf=lambda x: x is None) == {"a": (0, 0), "b": 0}
    assert tree_leaves_with_path(nested, is_leaf=lambda x: x is None)[-1] == ((DictKey("b"),), None)


@given(trees, st.integers(1, 3))
def test_transposing_twice_changes_nothing(inner: Any, n: int) -> None:
    outer = tree_structure([0] * n)
    turned = tree_transpose(outer, tree_structure(inner), [inner] * n)
    assert tree_transpose(tree_structure(inner), outer, turned) == [inner] * n


def test_transposing_wants_the_structures() -> None:
    with pytest.raises(ValueError, match="tree_transpose: structures differ"):
        tree_transpose(tree_structure([0]), tree_structure((0, 0)), [(1, 2, 3)])
    assert tree_transpose(tree_structure([0, 0]), None, [(1, 2), (3, 4)]) == ([1, 3], [2, 4])


def test_reducing() -> None:
    assert tree_reduce(lambda a, b: a + b, {"a": 1, "b": [2, 3]}, 10) == 16
    with pytest.raises(TypeError, match="initializer"):
        tree_reduce(max, ())
    assert tree.all([]) is True


def test_fields_of_dataclasses_that_are_no_children() -> None:
    @dataclasses.dataclass
    class Marked:
        x: Any
        name: str = dataclasses.field(default="", metadata={"static": True})

    assert tree_leaves(Marked(1, "n")) == [1]
    assert tree_map(lambda x: 2 * x, Marked(1, "n")) == Marked(2, "n")
    assert tree_structure(Marked(1, "a")) != tree_structure(Marked(1, "b"))

    @dataclasses.dataclass
    class Dropped:
        x: Any
        cache: Any = None

    register_dataclass(Dropped, ["x"], [], ["cache"])  # after it has been seen as it is, too
    assert tree_map(lambda x: x, Dropped(1, "full")) == Dropped(1, None)
    with pytest.raises(ValueError, match="registered already"):
        register_dataclass(Dropped, ["x"], [], ["cache"])
    with pytest.raises(ValueError, match="each field"):
        register_dataclass(dataclasses.make_dataclass("Third", ["x", "y"]), ["x"], [])
    with pytest.raises(ValueError, match="both"):
        register_dataclass(Point, ["x", "y"])


def test_registering_with_keys_checks_twice() -> None:
    with pytest.raises(ValueError, match="register_pytree_with_keys: Point is registered already"):
        register_pytree_with_keys(Point, lambda p: ([], None), lambda _, xs: None)
    with pytest.raises(ValueError, match="tuple is registered already"):
        register_pytree_node(tuple, lambda t: (t, None), lambda _, c: tuple(c))


def test_partial_under_transforms() -> None:
    power = Partial(xp.pow, xp.asarray([2.0, 3.0]))
    gradient = grad(lambda f: xp.sum(f(2.0)))(power)
    assert isinstance(gradient, Partial)
    assert [*gradient.args[0]] == [4.0, 6.0]
    assert [*vmap(lambda f: f(2.0))(power)] == [4.0, 9.0]
    assert [*compile(lambda f: f(2.0))(power)] == [4.0, 9.0]


def test_raveling_under_transforms() -> None:
    params = {"w": xp.asarray([[1.0, 2.0], [3.0, 4.0]]), "b": 5.0}

    def f(p: Any) -> Any:
        flat, unravel = ravel_pytree(p)
        return xp.sum(unravel(flat * flat)["w"]) + flat[0]

    gradient = grad(f)(params)
    assert (gradient["w"] == 2 * params["w"]).all()
    assert gradient["b"] == 1.0
    assert jvp(f, (params,), (params,))[1] == 2 * 30 + 5
    assert compile(f)(params) == 35.0
    many = tree_map(lambda x: xp.stack([xp.asarray(x), xp.asarray(x) + 1]), params)
    assert [*vmap(f)(many)] == [35.0, 4 + 9 + 16 + 25 + 6]


def test_raveling_mixed_and_empty_trees() -> None:
    flat, unravel = ravel_pytree((xp.asarray([1, 2]), xp.asarray(1.5, dtype=xp.float32)))
    assert flat.dtype == xp.float64
    assert [x.dtype for x in unravel(flat)] == [xp.int64, xp.float32]
    with pytest.raises(TypeError, match="takes an array of float64"):
        unravel(xp.ones(3, dtype=xp.float32))
    with pytest.raises(ValueError, match=r"shape \(3,\), not \(2,\)"):
        unravel(xp.ones(2))
    flat, unravel = ravel_pytree(())
    assert flat.shape == (0,)
    assert unravel(flat) == ()
