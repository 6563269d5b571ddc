"""The runs of a function under `vmap`: where the examples differ in a value, their ways part."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._lazy.graph.bodies import is_writing
from .._lazy.graph.node import Node, leaf, user_line
from .._lazy.ops.indexing import gather
from .._lazy.rules.levels import Frame, Levels, frames, merge, new_level
from .._lazy.run.evaluator import value_of
from .._namespace.core.array import Array, current, read_only, split_hook
from .calls import array_leaf, is_array_like
from .pytree import TreeDef, tree_flatten

if TYPE_CHECKING:
    from .vmap import Batched

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


class Axis(NamedTuple):
    """The axis of the examples: how many there are, and what was said of it."""

    size: int
    strict: bool
    name: Hashable
    cut: Cut | None


class Run(Frame):
    """A run of the function on some rows of the batch."""

    leaves: list[Array]  # of what it gave
    tree: TreeDef

    def __init__(
        self,
        axis: Axis,
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
        self.deferred: list[Run] = []  # what is left to do
        self.line = ""  # where the ways parted first
        self.has_met = False  # whether a collective has used all examples

    def argument(self, x: Batched) -> Array:
        """Return an argument as one example sees it."""
        return Array(x.node if self.rows is None else take(x.node, self.rows), (self.level, *x.levels))

    def numbers(self) -> np.ndarray:
        """Return the numbers of the examples that go this way."""
        rows = np.arange(self.size) if self.rows is None else self.rows
        return rows if self.active is None else rows[any_after_first(self.active)]

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


def take(node: Node, rows: np.ndarray) -> Node:
    """Return some rows of a node."""
    return gather(node, leaf(rows), axes=(0,), batch=0)


Call = Callable[[Callable[["Batched"], Array]], Any]


def explore(call: Call, axis: Axis) -> tuple[list[Run], int]:
    """Run the function until every example has gone its way to the end; returns the runs and their level."""
    level = new_level()
    waiting, size = [Run(axis)], axis.size
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


def one_by_one(call: Call, axis: Axis, line: str) -> tuple[list[Run], int]:
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
        runs.append(Run(axis, np.array([i])))
        runs[-1].end(call(lambda b, i=i: b.example(i)), level)  # type: ignore[misc]
    return runs, level


def _output(x: Any, run: Run, level: int) -> Array:
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


# -- values that are looked at -------------------------------------------------------------------------


def _value_for_all(x: Array) -> np.ndarray:
    """Return the one value that a batched array has for all entries that go on together; the others wait."""
    running = frames()
    run = running[-1] if running else None
    if not (len(running) == 1 and isinstance(run, Run) and x._levels == (run.level,)):
        runs = [f for f in running if isinstance(f, Run)]
        _check_among(x, runs)
        run = runs[-1]
    k = len(run.seen)
    # In the body of a loop there is no value yet, whatever was seen before.
    value = run.known[k] if k < len(run.known) and not is_writing() else _looked_at(run, x)
    run.seen.append(value)
    return value


split_hook.append(_value_for_all)


def _looked_at(run: Run, x: Array) -> np.ndarray:
    value = value_of(current(x))
    k = len(x._levels)
    shape = value.shape[:k]
    count = math.prod(shape)
    if not count:
        # Whatever it is, the result has no examples. At random, so that loops that wait for a value end.
        some = np.random.default_rng(len(run.seen)).integers(0, 2, value.shape[k:])
        return read_only(np.asarray(some.astype(value.dtype)))
    rows = np.ascontiguousarray(value).reshape(count, *value.shape[k:])
    active = None if run.active is None else _among(run, x._levels, shape).reshape(count)
    first = 0 if active is None else int(active.argmax())
    data = _bits(rows)
    others = data != data[first] if data.ndim == 1 else (data != data[first]).any(axis=1)
    if active is not None:
        others &= active
    if others.any():
        first = _part(run, x._levels, rows, data, first, others.reshape(shape))
    return _row(rows, first)


def _row(rows: np.ndarray, which: int) -> np.ndarray:
    return read_only(np.asarray(rows[which]))


def _bits(rows: np.ndarray) -> np.ndarray:
    """Return the bits of each row as one integer (or truth value), or as a row of bytes."""
    flat = rows.reshape(len(rows), -1)
    size = rows.dtype.itemsize * flat.shape[1]
    if not size:
        return np.zeros(len(rows), bool)
    if size in (1, 2, 4, 8):
        return (flat if rows.dtype == bool and size == 1 else flat.view(f"u{size}")).reshape(-1)
    return flat.view(np.uint8)


def _codes(data: np.ndarray) -> np.ndarray:
    """Return a number for each row of what `_bits` gives, equal where the rows are."""
    if data.ndim == 1:
        return data
    keys = data.view(np.dtype((np.void, data.shape[1]))).reshape(-1)
    return np.unique(keys, return_inverse=True)[1].reshape(-1)


def _among(run: Run, levels: Levels, shape: tuple[int, ...]) -> np.ndarray:
    """Say for each entry of `levels` whether any active one is in it."""
    assert run.active is not None
    if levels == run.active_levels:
        return run.active
    gone = tuple(i for i, level in enumerate(run.active_levels) if level not in levels)
    kept = tuple(level for level in run.active_levels if level in levels)
    return spread(np.asarray(run.active.any(axis=gone)), kept, levels, shape)


def going(levels: Levels, shape: tuple[int, ...]) -> np.ndarray:
    """Say for each entry of `levels` whether what it is computed for goes this way."""
    found = np.ones(shape, bool)
    for run in frames():
        if run.active is not None:
            found &= _among(run, levels, shape)
    return found


def _part(
    run: Run, levels: Levels, rows: np.ndarray, data: np.ndarray, first: int, others: np.ndarray
) -> int:
    """Go on with the entries that have one value, put off the others; returns where that value is.

    `first` is the first active row; `others` says which differ from it. The most go on: they need not be
    computed again. Once the run computes twice as many entries as it needs, the fewest go on instead, so that
    the others begin anew without those that have left: a loop that most leave early costs little more than
    its rounds. What is put off comes in the order of the examples.
    """
    run.line = run.line or user_line()
    if run.axis.strict:
        raise TypeError(
            f"vmap: with strict=True, no value may be looked at that differs between examples ({run.line}): "
            "xp.where chooses without looking"
        )
    codes = _codes(data)
    own = codes[first]
    active = np.ones(run.size, bool) if run.active is None else run.active
    union, place = levels, others.argmax()
    whole = codes.reshape(others.shape)
    if levels != run.active_levels:
        union = merge([levels, run.active_levels])
        sizes = dict(zip((*levels, *run.active_levels), (*others.shape, *active.shape), strict=True))
        shape = tuple([sizes[level] for level in union])
        active = spread(active, run.active_levels, union, shape)
        others, whole = spread(others, levels, union, shape) & active, spread(whole, levels, union, shape)
    counts = _counted(own, whole, active, others)
    is_sparse = not run.has_met and 2 * sum(counts.values()) <= active.size
    chosen = (min if is_sparse else max)(counts, key=counts.__getitem__)
    run.active_levels = union
    for code in reversed(counts):
        if code == own:
            where, wanted = first, active ^ others
        elif len(counts) == 2:
            where, wanted = int(place), others
        else:
            where, wanted = int((codes == code).argmax()), (whole == code) & active
        if code == chosen:
            run.active, found = wanted, where
        else:
            run.deferred.append(_deferred(run, wanted, (*run.seen, _row(rows, where))))
    return found


def _deferred(run: Run, wanted: np.ndarray, known: tuple[np.ndarray, ...]) -> Run:
    """Return a run for the entries that go another way than `run` does."""
    older = run.active_levels[1:]
    if run.has_met:  # the collective is to have all examples again
        return Run(run.axis, None, wanted, older, known)
    rows = np.flatnonzero(any_after_first(wanted))  # the run's own level is the newest: axis 0
    numbers = rows if run.rows is None else run.rows[rows]
    if wanted.ndim == 1 or (part := wanted[rows]).all():
        return Run(run.axis, numbers, None, (), known)
    return Run(run.axis, numbers, part, older, known)


def _counted(first: Any, codes: np.ndarray, active: np.ndarray, others: np.ndarray) -> dict[Any, int]:
    """Return how many active entries there are of each code, in order of appearance: `first`, then others."""
    count = int(np.count_nonzero(others))
    counts = {first: int(np.count_nonzero(active)) - count}
    if codes.dtype == bool:
        counts[not first] = count
    else:
        found, where, more = np.unique(codes[others], return_index=True, return_counts=True)
        order = where.argsort()
        counts.update(zip(found[order].tolist(), more[order].tolist(), strict=True))
    return counts


def any_after_first(mask: np.ndarray) -> np.ndarray:
    """Say for each entry of the first axis whether anything is true in it."""
    return mask if mask.ndim == 1 else np.asarray(mask.any(axis=tuple(range(1, mask.ndim))))


def spread(x: np.ndarray, levels: Levels, union: Levels, shape: tuple[int, ...]) -> np.ndarray:
    """Broadcast what has an axis for each of `levels` to `shape`, which has one for each of `union`."""
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
