"""`vmap`: a function of one example, run on many at once; where their ways part, the batch is split."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .._lazy.graph.aval import aval_of
from .._lazy.graph.node import Node, leaf, tapes
from .._lazy.ops.creation import fill_node
from .._lazy.ops.elementwise import select
from .._lazy.ops.indexing import scatter
from .._lazy.ops.structure import broadcast, concat, permute
from .._lazy.rules.levels import align, merge, sizes_in_force
from .._namespace.core.array import Array, current
from .._namespace.core.indexing import getitem
from .calls import arguments_of_leaves, array_leaf, decorator, is_integer, named
from .captured import Capturing
from .pytree import TreeDef, broadcast_prefix, tree_flatten, tree_unflatten
from .runs import Axis, Cut, Run, SplitWarning, explore, one_by_one, spread, take

if TYPE_CHECKING:
    from ._types import Gradient, Mapped, P, R

__all__ = ["SplitWarning", "vmap"]


@overload
def vmap(  # type: ignore[overload-overlap]
    fun: Gradient[P],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    strict: bool = False,
    spmd_axis_name: Hashable = None,
) -> Gradient[P]: ...
@overload
def vmap(
    fun: Callable[P, R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    strict: bool = False,
    spmd_axis_name: Hashable = None,
) -> Mapped[P, R]: ...
@overload
def vmap(
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    strict: bool = False,
    spmd_axis_name: Hashable = None,
) -> Callable[[Callable[P, R]], Mapped[P, R]]: ...
@decorator
def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    strict: bool = False,
    spmd_axis_name: Hashable = None,
) -> Callable[..., Any]:
    """Return a function that does for every example of a batch what `fun` does for one.

    Where `fun` needs a value (``if x > 0``, ``while error > tol``, ``int(n)``, ``numpy.asarray(x)``, a shape
    that depends on data), the examples that agree in it go on together, and `fun` is run again for the
    others. What it does beside computing (printing, appending) happens once a run. A function that writes to
    arrays that it captures is run for one example after the other. Where there are no examples, what it looks
    at is 0 or 1 at random, and what it gives has none.

    Parameters
    ----------
    fun : callable
        Of arrays, numbers and pytrees of these. Arrays that it captures are the same for every example.
    in_axes : int, None or pytree of them
        For each argument the axis of the examples; None hands the argument to every example as it is.
        A pytree is a prefix of the arguments' structure.
    out_axes : int, None or pytree of them
        Where that axis goes in the outputs; None for what is the same for every example.
    axis_name : hashable, optional
        What the collectives of `nabla_array.distributed` call the axis of the examples: ``psum(x, name)``
        is the sum of all examples' `x`.
    axis_size : int, optional
        The number of examples, where no argument tells it.
    strict : bool
        Raise TypeError, naming the line, instead of splitting the batch or running a loop.
    spmd_axis_name : str or tuple of str, optional
        The axis of a mesh over whose devices the examples are shared out; several, the first the slowest.
        The mesh is that of the arguments, or of the ``with mesh:`` block; in the body of a loop, whose arrays
        lie as the loop's do, nothing is cut. Without `axis_name`, collectives
        call the axis of the examples so too.

    Returns
    -------
    callable
        Of the same arguments; keyword arguments are mapped over their first axis.

    Raises
    ------
    ValueError
        If arguments differ in the number of examples, if an axis is out of range, if examples give results
        of different structure, shape or dtype, if `out_axes` is None where examples differ, if there are
        no examples and the function writes to what it captures, if there is no mesh for
        `spmd_axis_name`, or if a collective needs examples that have parted.
    TypeError
        If `in_axes` is not of the said kind, if a result is no array or number, or with `strict`.

    Warns
    -----
    SplitWarning
        When every example has come to be run alone; once for each line of code.

    >>> from nabla_array.transforms import vmap
    >>> def steps(n):  # of one number
    ...     count = 0
    ...     while n != 1:
    ...         n = n // 2 if n % 2 == 0 else 3 * n + 1
    ...         count += 1
    ...     return count
    >>> vmap(steps)(xp.asarray([1, 2, 3, 3, 5, 6]))
    array([0, 1, 7, 7, 5, 8])
    """

    @named(fun, "Vectorized form")
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten((args, kwargs))
        axes = _axes_of(in_axes, args, tree)
        cut = _cut(leaves, spmd_axis_name)
        batch = [
            Batched(array_leaf("vmap", x), a, cut) if a is not None else None
            for x, a in zip(leaves, axes, strict=True)
        ]
        size = _size(batch, axis_size, tree)
        axis = Axis(size, strict, spmd_axis_name if axis_name is None else axis_name, cut)

        def call(picked: Callable[[Batched], Array]) -> Any:
            new = [x if b is None else picked(b) for x, b in zip(leaves, batch, strict=True)]
            some, named = tree_unflatten(tree, new)
            return fun(*some, **named)

        shared = [x for x, b in zip(leaves, batch, strict=True) if b is None]
        with Capturing(fun, *shared) as scope:
            runs, level = explore(call, axis)
        if scope.line:
            runs, level = one_by_one(call, axis, scope.line)
        return _gathered(runs, level, size, out_axes)

    return mapped


# -- inputs --------------------------------------------------------------------------------------------


# What gives, for the arguments of a call and the name of a mesh axis, what cuts the first axis of nodes over
# that; `distributed` puts it here.
spmd_hook: list[Callable[[Sequence[Any], Hashable], Cut]] = []


def _cut(leaves: Sequence[Any], name: Hashable) -> Cut | None:
    if name is None:
        return None
    if not spmd_hook:
        raise ValueError(f"vmap: spmd_axis_name {name!r} names an axis of a mesh, but there is no mesh")
    return spmd_hook[0](leaves, name)


class Batched:
    """An argument with an axis of examples, which is moved to the front, and cut."""

    def __init__(self, x: Array, axis: Any, cut: Cut | None) -> None:
        if not is_integer(axis):
            raise TypeError(f"vmap: in_axes holds ints and None, not {axis!r}")
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"vmap: in_axes {axis} is out of bounds for an argument of shape {x.shape}")
        self._x, self._axis = x, int(axis) % x.ndim
        place = len(x._levels) + self._axis
        node = current(x)
        if place:
            node = permute(node, axes=(place, *[i for i in range(node.aval.ndim) if i != place]))
        self.node = node if cut is None else cut(node)
        self.levels = x._levels
        self.size: int = self.node.aval.shape[0]

    def example(self, i: int) -> Array:
        """Return the argument for the example of a number."""
        return getitem(self._x, (slice(None),) * self._axis + (i,)).copy()


def _axes_of(in_axes: Any, args: Any, tree: TreeDef) -> list[Any]:
    own, keywords = tree.children
    if type(in_axes) is int:
        return [in_axes] * own.num_leaves + [0] * keywords.num_leaves
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(f"vmap: in_axes has {len(in_axes)} entries for {len(args)} positional arguments")
    if not isinstance(in_axes, tuple | dict | int | None):
        raise TypeError(f"vmap: in_axes must be an int, None, or a tuple of these, not {in_axes!r}")
    return broadcast_prefix("vmap: in_axes", in_axes, own) + [0] * keywords.num_leaves


def _size(batch: Sequence[Batched | None], axis_size: int | None, tree: TreeDef) -> int:
    sizes = {b.size for b in batch if b is not None}
    if axis_size is not None:
        sizes.add(axis_size)
    if not sizes:
        raise ValueError(
            "vmap: no argument has an axis of examples: give in_axes that are not None, or axis_size"
        )
    if len(sizes) > 1:
        pairs = zip(arguments_of_leaves(tree), batch, strict=True)
        told = [f"argument {which!r} has {b.size}" for which, b in pairs if b is not None]
        told += [] if axis_size is None else [f"axis_size is {axis_size}"]
        raise ValueError(f"vmap: arguments differ in the number of examples: {', '.join(told)}")
    return sizes.pop()


# -- outputs -------------------------------------------------------------------------------------------


def _gathered(runs: Sequence[Run], level: int, size: int, out_axes: Any) -> Any:
    """Put the outputs of all runs together, and the axis of the examples where it belongs."""
    first = runs[0]
    for run in runs[1:]:
        _check_alike(first, run)
    axes = broadcast_prefix("vmap: out_axes", out_axes, first.tree)
    leaves = []
    for i, axis in enumerate(axes):
        whole = first.leaves[i] if len(runs) == 1 else _merged(runs, i, level, size)
        leaves.append(_placed(whole, level, size, axis))
    return tree_unflatten(first.tree, leaves)


def _check_alike(one: Run, other: Run) -> None:
    if one.tree != other.tree:
        what = f"structures: {one.tree} and {other.tree}"
    elif wrong := [
        (x, y)
        for x, y in zip(one.leaves, other.leaves, strict=True)
        if (x.shape, x.dtype) != (y.shape, y.dtype)
    ]:
        x, y = wrong[0]
        what = f"results: {x.dtype} of shape {x.shape} and {y.dtype} of shape {y.shape}"
    else:
        return
    raise ValueError(f"vmap: examples {_told(one)} and {_told(other)} give different {what}")


def _told(run: Run) -> str:
    numbers = run.numbers()
    return f"{numbers[0]}" if len(numbers) == 1 else f"{', '.join(map(str, numbers[:4]))}..."[:40]


def _is_followed(node: Node) -> bool:
    """Say whether a derivative, or a program, is being made that depends on a node, known or not."""
    return any([node in t for t in tuple(tapes)])


def _merged(runs: Sequence[Run], i: int, level: int, size: int) -> Array:
    """Return output `i` of all runs as one batched array."""
    outs = [r.leaves[i] for r in runs]
    levels = merge([(level,), *[x._levels for x in outs]])
    if any(r.active_levels != (level,) for r in runs):
        return _chosen(runs, outs, level, size)
    place = np.empty(size, np.intp)  # of each example among the results
    if all(not x._levels and type(x._node.value) is np.ndarray and not _is_followed(x._node) for x in outs):
        for n, run in enumerate(runs):  # each run has given one number, or one array
            place[run.numbers()] = n
        return Array(take(leaf(np.stack([x._node.value for x in outs])), place), levels)
    sizes = {k: n for x in outs for k, n in zip(x._levels, x._node.aval.shape, strict=False)}
    nodes, n = [], 0
    for run, x in zip(runs, outs, strict=True):
        numbers = run.numbers()
        if level in x._levels:
            node = align(x._node, x._levels, levels, sizes | {level: run.size})
            if run.active is not None and not run.active.all():
                node = take(node, np.flatnonzero(run.active))
            place[numbers] = np.arange(n, n + len(numbers))
        else:  # one result for all of them
            node = align(x._node, x._levels, levels, sizes | {level: 1})
            place[numbers] = n
        nodes.append(node)
        n += node.aval.shape[0]
    return Array(take(concat(*nodes, axis=0), place), levels)


def _chosen(runs: Sequence[Run], outs: Sequence[Array], level: int, size: int) -> Array:
    """Do what `_merged` does where the ways part along older levels too: choose entry by entry."""
    levels = merge([(level,), *[x._levels for x in outs], *[r.active_levels for r in runs]])
    sizes = sizes_in_force()
    whole: Node | None = None
    for run, x in zip(runs, outs, strict=True):
        node = align(x._node, x._levels, levels, sizes | {level: run.size})
        lead = tuple(run.size if k == level else sizes[k] for k in levels)
        active = np.ones(run.size, bool) if run.active is None else run.active
        mask = spread(active, run.active_levels, levels, lead)
        if run.rows is not None:
            full = np.zeros((size, *mask.shape[1:]), bool)
            full[run.rows] = mask
            mask = full
            empty = fill_node(aval_of((size, *node.aval.shape[1:]), node.aval.dtype), 0)
            node = scatter(empty, node, leaf(run.rows), axes=(0,), batch=0, mode="set")
        if whole is None:
            whole = node
        else:
            axes, mask = tuple(range(mask.ndim)), np.ascontiguousarray(mask)
            whole = select(broadcast(leaf(mask), shape=node.aval.shape, axes=axes), node, whole)
    assert whole is not None
    return Array(whole, levels)


def _placed(x: Array, level: int, size: int, axis: Any) -> Array:
    """Return an output without the level, its axis of examples in the place that `out_axes` says."""
    node, levels = x._node, x._levels
    batched = bool(levels) and levels[0] == level
    if axis is None:
        if batched:
            raise ValueError(
                "vmap: out_axes is None for an output that differs between examples; an int gives it an axis"
            )
        return x
    if not is_integer(axis):
        raise TypeError(f"vmap: out_axes holds ints and None, not {axis!r}")
    ndim = x.ndim + 1
    if not -ndim <= axis < ndim:
        raise ValueError(f"vmap: out_axes {axis} is out of bounds for an output of {ndim} axes")
    if not batched:
        node = align(node, levels, (level, *levels), {level: size})
        levels = (level, *levels)
    place = len(levels) - 1 + int(axis) % ndim
    if place:
        order = [*range(1, node.aval.ndim)]
        order.insert(place, 0)
        node = permute(node, axes=tuple(order))
    return Array(node, levels[1:])
