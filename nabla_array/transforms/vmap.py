"""`vmap`: a function of one example, run on many at once; where their ways part, the batch is split."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from .._lazy.graph.aval import aval_of
from .._lazy.graph.node import Node, leaf, user_line
from .._lazy.ops.creation import fill_node
from .._lazy.ops.elementwise import select
from .._lazy.ops.indexing import gather, scatter
from .._lazy.ops.structure import broadcast, concat, permute
from .._lazy.rules.levels import Frame, Levels, align, frames, merge, new_level, sizes_in_force
from .._lazy.run.evaluator import value_of
from .._namespace.core.array import Array, current, read_only, split_hook
from .._namespace.core.indexing import getitem
from .calls import arguments_of_leaves, array_leaf, decorator, is_array_like, is_integer, named
from .captured import Capturing
from .pytree import TreeDef, broadcast_prefix, tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from ._types import Gradient, Mapped, P, R

__all__ = ["SplitWarning", "vmap"]

Cut = Callable[[Node], Node]  # hashable, and equal where it does the same


class SplitWarning(UserWarning):
    """Under `vmap`, a look at values, or a write to what is captured, has led to examples run one by one.

    >>> import warnings
    >>> import nabla_array as xp
    >>> from nabla_array.transforms import SplitWarning, vmap
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always", SplitWarning)
    ...     y = vmap(lambda x: xp.asarray(float(x)))(xp.arange(3.0))
    >>> told[0].category.__name__
    'SplitWarning'
    """


class OutsideVmap(RuntimeError):
    """Somebody wants to know a value for which a `vmap` would have to part the examples that has ended."""


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
            _Batched(array_leaf("vmap", x), a, cut) if a is not None else None
            for x, a in zip(leaves, axes, strict=True)
        ]
        size = _size(batch, axis_size, tree)
        axis = _Axis(size, strict, spmd_axis_name if axis_name is None else axis_name, cut)

        def call(picked: Callable[[_Batched], Array]) -> Any:
            new = [x if b is None else picked(b) for x, b in zip(leaves, batch, strict=True)]
            some, named = tree_unflatten(tree, new)
            return fun(*some, **named)

        shared = [x for x, b in zip(leaves, batch, strict=True) if b is None]
        with Capturing(fun, *shared) as scope:
            runs, level = _explore(call, axis)
        if scope.line:
            runs, level = _one_by_one(call, axis, scope.line)
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


class _Batched:
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


def _take(node: Node, rows: np.ndarray) -> Node:
    return gather(node, leaf(rows), axes=(0,), batch=0)


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


def _size(batch: Sequence[_Batched | None], axis_size: int | None, tree: TreeDef) -> int:
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


# -- the ways that examples go -------------------------------------------------------------------------


class _Axis(NamedTuple):
    """The axis of the examples: how many there are, and what was said of it."""

    size: int
    strict: bool
    name: Hashable
    cut: Cut | None


class _Run(Frame):
    """A run of the function on some rows of the batch."""

    leaves: list[Array]  # of what it gave
    tree: TreeDef

    def __init__(
        self,
        axis: _Axis,
        rows: np.ndarray | None = None,
        active: np.ndarray | None = None,
        older: Levels = (),
        known: tuple[np.ndarray, ...] = (),
    ) -> None:
        super().__init__(new_level(), axis.size if rows is None else len(rows), axis.name)
        self.axis = axis
        self.rows = rows  # the numbers of the examples; None for all
        # Which entries go this way, over the run's own level, which is the first, and older ones; None for
        # all. What is computed for the others is not looked at.
        self.active, self.active_levels = active, (self.level, *older)
        # The values that were looked at in the run that put this one off, in order: up to there both go the
        # same way, so they need not be computed again.
        self.known = known
        self.seen: list[np.ndarray] = []  # the values that this run has looked at
        self.deferred: list[_Run] = []  # what is left to do
        self.line = ""  # where the ways parted last
        self.has_met = False  # whether a collective has used all examples

    def argument(self, x: _Batched) -> Array:
        """Return an argument as one example sees it."""
        return Array(x.node if self.rows is None else _take(x.node, self.rows), (self.level, *x.levels))

    def numbers(self) -> np.ndarray:
        """Return the numbers of the examples that go this way."""
        rows = np.arange(self.size) if self.rows is None else self.rows
        return rows if self.active is None else rows[_any_after_first(self.active)]

    def meet(self, function: str) -> None:
        """Take note that a collective uses all examples; raises ValueError where they have parted."""
        inner = frames()[frames().index(self) :]
        if self.rows is not None or any(f.has_parted(self.level) for f in inner):
            line = next((f.line for f in inner if f.line), "before")
            raise ValueError(
                f"{function}: the examples of {self.name!r} have parted ({line}), but a collective needs all "
                "of them: call it before, or choose by xp.where, which does not look"
            )
        self.has_met = True

    def is_behind(self) -> bool:
        """Say whether another run has done all this already, for these examples too."""
        return len(self.seen) < len(self.known)

    def has_parted(self, level: int) -> bool:
        """Say whether only some of a level's examples go this way."""
        if self.active is None or level not in self.active_levels or self.is_behind():
            return False
        return not self.active.all()

    @property
    def key(self) -> Hashable:
        """What the programs of compiled functions that are called meanwhile depend on."""
        if self.name is None:
            return self.size
        return self.size, self.name, self.axis.cut, self.has_parted(self.level)

    def end(self, result: Any, level: int) -> None:
        """Take what the function gave; `level` is to stand in the place of the run's own."""
        leaves, self.tree = tree_flatten(result)
        self.leaves = [_output(x, self, level) for x in leaves]
        self.level, self.active_levels = level, (level, *self.active_levels[1:])


_Call = Callable[[Callable[[_Batched], Array]], Any]


def _explore(call: _Call, axis: _Axis) -> tuple[list[_Run], int]:
    """Run the function until every example has gone its way to the end."""
    level = new_level()
    waiting, size = [_Run(axis)], axis.size
    runs = []
    while waiting:
        run = waiting.pop()
        frames().append(run)
        try:
            run.end(call(run.argument), level)
        finally:
            frames().pop()
        runs.append(run)
        waiting.extend(run.deferred)
        if len(runs) == size > 2 and not waiting:
            _warn(next(r.line for r in runs if r.line), size, "values were looked at here")
    return runs, level


def _one_by_one(call: _Call, axis: _Axis, line: str) -> tuple[list[_Run], int]:
    """Run the function as a loop does, where each example sees what those before it have written."""
    size, strict = axis.size, axis.strict
    if strict or not size:
        why = "with strict=True" if strict else "without examples"
        raise (TypeError if strict else ValueError)(
            f"vmap: {why}, no array may be written to that the function captures ({line}): pass it as an "
            "argument, and return what it becomes"
        )
    if size > 2:
        _warn(line, size, "an array that the function captures is written to here")
    level = new_level()
    runs = []
    for i in range(size):
        runs.append(_Run(axis, np.array([i])))
        runs[-1].end(call(lambda b, i=i: b.example(i)), level)  # type: ignore[misc]
    return runs, level


def _output(x: Any, run: _Run, level: int) -> Array:
    """Return an output of a run as an array that has this level in the place of the run's."""
    if type(x) is not Array and not is_array_like(x):
        raise TypeError(f"vmap: the function must return arrays or numbers, not {type(x).__name__}: {x!r}")
    y = array_leaf("vmap", x)
    node, levels = current(y), y._levels
    if levels == (run.level,):
        return Array(node, (level,))
    if levels:
        _check_among(y, frames())
    return Array(node, (level, *levels[1:]) if levels[:1] == (run.level,) else levels)


def _check_among(x: Array, running: Sequence[Frame]) -> None:
    if not set(x._levels) <= {f.level for f in running}:
        raise OutsideVmap(
            f"a batched array of shape {x.shape} is used outside of the vmap that it comes from: "
            "return it from the function instead of storing it"
        )


def _value_for_all(x: Array) -> np.ndarray:
    """Return the one value that a batched array has for all entries that go on together; the others wait."""
    running = frames()
    run = running[-1] if running else None
    if not (len(running) == 1 and isinstance(run, _Run) and x._levels == (run.level,)):
        runs = [f for f in running if isinstance(f, _Run)]
        _check_among(x, runs)
        run = runs[-1]
    value = run.known[len(run.seen)] if run.is_behind() else _looked_at(run, x)
    run.seen.append(value)
    return value


def _looked_at(run: _Run, x: Array) -> np.ndarray:
    value = value_of(current(x))
    k = len(x._levels)
    count = math.prod(value.shape[:k])
    if not count:
        # Whatever it is, the result has no examples. At random, so that loops that wait for a value end.
        some = np.random.default_rng(len(run.seen)).integers(0, 2, value.shape[k:])
        return read_only(np.asarray(some.astype(value.dtype)))
    rows = np.ascontiguousarray(value).reshape(count, value.size // count)
    active = None if run.active is None else _among(run, x._levels, value.shape[:k])
    kinds = _kinds(rows, None if active is None else active.ravel())
    if kinds is not None:
        where = _follow_most(run, kinds.reshape(value.shape[:k]), x._levels, value)
    else:
        where = 0 if active is None else int(np.argmax(active.ravel()))
    return _row(value, where, k)


split_hook.append(_value_for_all)


def _row(value: np.ndarray, where: int, k: int) -> np.ndarray:
    return read_only(np.asarray(value[np.unravel_index(where, value.shape[:k])]))


def _among(run: _Run, levels: Levels, shape: tuple[int, ...]) -> np.ndarray:
    """Say for each entry of `levels` whether any active one is in it."""
    assert run.active is not None
    if levels == run.active_levels:
        return run.active
    gone = tuple(i for i, level in enumerate(run.active_levels) if level not in levels)
    kept = tuple(level for level in run.active_levels if level in levels)
    return _spread(np.asarray(run.active.any(axis=gone)), kept, levels, shape)


def going(levels: Levels, shape: tuple[int, ...]) -> np.ndarray:
    """Say for each entry of `levels` whether what it is computed for goes this way."""
    found = np.ones(shape, bool)
    for run in frames():
        if run.active is not None:
            found &= _among(run, levels, shape)
    return found


def _kinds(rows: np.ndarray, active: np.ndarray | None) -> np.ndarray | None:
    """Number the rows by their bits, or return None where all active ones are equal."""
    data = rows.view(np.uint8).reshape(len(rows), -1) if rows.shape[1] else np.zeros((len(rows), 1), np.uint8)
    first = 0 if active is None else int(np.argmax(active))
    same = data[:, 0] == data[first, 0] if data.shape[1] == 1 else (data == data[first]).all(axis=1)
    if (same if active is None else same | ~active).all():
        return None
    if data.shape[1] == 1:
        return rows[:, 0] if rows.dtype == bool else data[:, 0]
    keys = np.ascontiguousarray(data).view(np.dtype((np.void, data.shape[1]))).ravel()
    return np.unique(keys, return_inverse=True)[1].reshape(-1)


def _follow_most(run: _Run, kinds: np.ndarray, levels: Levels, value: np.ndarray) -> int:
    """Go on with the kind that most entries are of, put off the others; returns where that kind is."""
    run.line = user_line()
    if run.axis.strict:
        raise TypeError(
            f"vmap: with strict=True, no value may be looked at that differs between examples ({run.line}): "
            "xp.where chooses without looking"
        )
    union = merge([levels, run.active_levels])
    sizes = dict(zip(levels, kinds.shape, strict=True))
    if run.active is None:
        run.active = np.ones(run.size, bool)
    sizes |= dict(zip(run.active_levels, run.active.shape, strict=True))
    shape = tuple(sizes[level] for level in union)
    active = _spread(run.active, run.active_levels, union, shape)
    spread = _spread(kinds, levels, union, shape)
    found, counts = _counted(spread, active)
    chosen = found[np.argmax(counts)]
    for kind in found[::-1]:
        if kind != chosen:
            wanted = active & (spread == kind)
            rows = _any_after_first(wanted)  # the run's own level is the newest: axis 0
            known = (*run.seen, _row(value, int(np.argmax(kinds == kind)), kinds.ndim))
            if run.has_met:  # the collective is to have all examples again
                run.deferred.append(_Run(run.axis, None, wanted, union[1:], known))
                continue
            part = None if wanted.ndim == 1 or wanted[rows].all() else wanted[rows]
            numbers = np.flatnonzero(rows) if run.rows is None else run.rows[rows]
            older = () if part is None else union[1:]
            run.deferred.append(_Run(run.axis, numbers, part, older, known))
    run.active, run.active_levels = active & (spread == chosen), union
    return int(np.argmax((kinds == chosen) & _among(run, levels, kinds.shape)))


def _counted(kinds: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the kinds of what is active, in order, and how many of each there are."""
    if kinds.dtype != bool:
        return np.unique(kinds[active], return_counts=True)
    true = np.count_nonzero(active & kinds)
    counts = np.array([np.count_nonzero(active) - true, true])
    found = np.flatnonzero(counts)
    return found.astype(bool), counts[found]


def _any_after_first(mask: np.ndarray) -> np.ndarray:
    return mask if mask.ndim == 1 else np.asarray(mask.any(axis=tuple(range(1, mask.ndim))))


def _spread(x: np.ndarray, levels: Levels, union: Levels, shape: tuple[int, ...]) -> np.ndarray:
    if levels == union:
        return x.reshape(shape)
    full = [n if level in levels else 1 for n, level in zip(shape, union, strict=True)]
    return np.broadcast_to(x.reshape(full), shape)


_warned: set[str] = set()


def _warn(line: str, size: int, why: str) -> None:
    if line not in _warned:
        _warned.add(line)
        file, _, number = line.rpartition(":")
        message = f"vmap: the {size} examples have come to be run one by one, since {why}"
        warnings.warn_explicit(message, SplitWarning, file, int(number))


# -- outputs -------------------------------------------------------------------------------------------


def _gathered(runs: Sequence[_Run], level: int, size: int, out_axes: Any) -> Any:
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


def _check_alike(one: _Run, other: _Run) -> None:
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


def _told(run: _Run) -> str:
    numbers = run.numbers()
    return f"{numbers[0]}" if len(numbers) == 1 else f"{', '.join(map(str, numbers[:4]))}..."[:40]


def _merged(runs: Sequence[_Run], i: int, level: int, size: int) -> Array:
    """Return output `i` of all runs as one batched array."""
    outs = [r.leaves[i] for r in runs]
    levels = merge([(level,), *[x._levels for x in outs]])
    if any(r.active_levels != (level,) for r in runs):
        return _chosen(runs, outs, level, size)
    sizes = {k: n for x in outs for k, n in zip(x._levels, x._node.aval.shape, strict=False)}
    nodes = []
    for run, x in zip(runs, outs, strict=True):
        node = align(x._node, x._levels, levels, sizes | {level: run.size})
        if run.active is not None and not run.active.all():
            node = _take(node, np.flatnonzero(run.active))
        nodes.append(node)
    place = np.empty(size, np.intp)  # of each example among the results
    place[np.concatenate([r.numbers() for r in runs])] = np.arange(size)
    return Array(_take(concat(*nodes, axis=0), place), levels)


def _chosen(runs: Sequence[_Run], outs: Sequence[Array], level: int, size: int) -> Array:
    """Do what `_merged` does where the ways part along older levels too: choose entry by entry."""
    levels = merge([(level,), *[x._levels for x in outs], *[r.active_levels for r in runs]])
    sizes = sizes_in_force()
    whole: Node | None = None
    for run, x in zip(runs, outs, strict=True):
        node = align(x._node, x._levels, levels, sizes | {level: run.size})
        lead = tuple(run.size if k == level else sizes[k] for k in levels)
        active = np.ones(run.size, bool) if run.active is None else run.active
        mask = _spread(active, run.active_levels, levels, lead)
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
