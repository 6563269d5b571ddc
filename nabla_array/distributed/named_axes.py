"""Collectives by hand: operations between the examples of a batch whose axis has a name.

`vmap` and `pmap` name that axis. Each example sees its own value; a collective gives it something that is
made of the others' too. That is an operation along the axis of the batch: where the axis is sharded, the
partitioner makes steps between devices of it, where it is not, none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .._lazy.rules.levels import closed, frames, opened
from .._namespace.chapters import statistical, utility
from .._namespace.chapters.creation import arange
from .._namespace.chapters.filling import zeros
from .._namespace.chapters.joining import concat
from .._namespace.chapters.manipulation import moveaxis, reshape
from .._namespace.core.array import Array, current, default
from ..transforms.calls import array_leaf
from ..transforms.pytree import tree_map
from .mesh import DeviceMesh

if TYPE_CHECKING:
    from ._types import T


def _frames_of(function: str, axis_name: Hashable) -> list[Any]:
    """Return the runs of `vmap` that name an axis so; for a tuple of names, those of each."""
    running = frames()[::-1]
    for frame in running:
        if frame.name is not None and frame.name == axis_name:
            return [frame]
    if isinstance(axis_name, tuple) and axis_name:
        return [f for name in axis_name for f in _frames_of(function, name)]
    names = ", ".join([repr(f.name) for f in running if f.name is not None])
    of_mesh = isinstance(default.device, DeviceMesh) and axis_name in default.device.sizes
    raise NameError(
        f"{function}: no axis is named {axis_name!r} here{f', only {names}' if names else ''}; "
        "inside of vmap(f, axis_name=...) or pmap the axis of the examples has a name"
        + "; arrays on a mesh are whole, so that xp.sum and the like go along all of an axis"
        * of_mesh
    )


def _opened(function: str, x: Any, some: Sequence[Any]) -> Array:
    """Return an array whose first axes are those of the examples of these runs."""
    for frame in some:
        frame.meet(function)
    x = array_leaf(function, x)
    node, levels = current(x), x._levels
    for frame in reversed(some):
        node, levels = opened(node, levels, frame.level)
    return Array(node, levels)


def _closed(x: Array, some: Sequence[Any]) -> Array:
    """Give each example of these runs its part of an array, along its first axes."""
    node, levels = current(x), x._levels
    for frame in some:
        node, levels = closed(node, levels, frame.level)
        cut = frame.axis.cut
        if cut is not None and levels[0] == frame.level:
            node = cut(node)
    return Array(node, levels)


def _merged(function: str, x: Any, some: Sequence[Any]) -> Array:
    """Return an array whose first axis is that of all examples of these runs."""
    x = _opened(function, x, some)
    return x if len(some) == 1 else reshape(x, (-1, *x.shape[len(some) :]))


def _parted(x: Array, some: Sequence[Any]) -> Array:
    """Undo `_merged`."""
    if len(some) > 1:
        x = reshape(x, (*[f.size for f in some], *x.shape[1:]))
    return _closed(x, some)


def _size(some: Sequence[Any]) -> int:
    n = 1
    for frame in some:
        n *= frame.size
    return n


def _axis(function: str, axis: Any, ndim: int) -> int:
    n = operator.index(axis)
    if not -ndim <= n < ndim:
        raise ValueError(f"{function}: axis {n} is out of bounds for {ndim} axes")
    return n % ndim


def _sum(x: Array, axis: tuple[int, ...]) -> Array:
    return statistical.sum(x, axis=axis, dtype=None if x.dtype.kind == "b" else x.dtype)


def _prod(x: Array, axis: tuple[int, ...]) -> Array:
    return statistical.prod(x, axis=axis, dtype=None if x.dtype.kind == "b" else x.dtype)


_OPS: dict[str, Callable[..., Array]] = {
    "sum": _sum,
    "prod": _prod,
    "max": statistical.max,
    "min": statistical.min,
    "any": utility.any,
    "all": utility.all,
}


def all_reduce(x: T, axis_name: Hashable, op: str = "sum") -> T:
    """Return what the values of all examples make together: their sum, say.

    Parameters
    ----------
    x : pytree of arrays
        An example's own.
    axis_name : hashable, or tuple of them
        What `vmap` or `pmap` calls the axis of the examples; several names stand for all examples of these.
    op : {"sum", "prod", "max", "min", "any", "all"}
        How two values are joined.

    Returns
    -------
    pytree of arrays
        The same for all examples, and of `x`'s shapes. A sum or a product keeps the dtype.

    Raises
    ------
    NameError
        If no axis has the name.
    ValueError
        For another `op`, and where `vmap` has split the examples.

    Notes
    -----
    A derivative that is taken inside of `vmap` is that of the sum of all examples' results. A result that a
    collective has made the same for all is one, and counts once (in JAX so in ``shard_map``; in its ``vmap``
    and ``pmap`` once an example).

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import all_reduce
    >>> from nabla_array.transforms import vmap
    >>> x = xp.asarray([3.0, 1.0, 2.0])
    >>> vmap(lambda v: v / all_reduce(v, "i", op="max"), axis_name="i")(x)
    array([1.        , 0.33333333, 0.66666667])
    """
    return _reduced("all_reduce", x, axis_name, op)


def _reduced(function: str, x: T, axis_name: Hashable, op: str) -> T:
    if op not in _OPS:
        raise ValueError(f"{function}: no op {op!r}; {', '.join(_OPS)} would work")
    some = _frames_of(function, axis_name)
    axes = tuple(range(len(some)))
    return tree_map(lambda leaf: _OPS[op](_opened(function, leaf, some), axis=axes), x)


def psum(x: T, axis_name: Hashable) -> T:
    """Return the sum of the values of all examples, as ``all_reduce(x, axis_name)`` does.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import psum
    >>> from nabla_array.transforms import vmap
    >>> vmap(lambda v: v - psum(v, "i"), axis_name="i")(xp.asarray([1.0, 2.0, 4.0]))
    array([-6., -5., -3.])
    """
    return _reduced("psum", x, axis_name, "sum")


def pmax(x: T, axis_name: Hashable) -> T:
    """Return the greatest of the values of all examples, element by element.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import pmax
    >>> from nabla_array.transforms import vmap
    >>> vmap(lambda v: pmax(v, "i"), axis_name="i", out_axes=None)(xp.asarray([1, 4, 2]))
    np.int64(4)
    """
    return _reduced("pmax", x, axis_name, "max")


def pmin(x: T, axis_name: Hashable) -> T:
    """Return the least of the values of all examples, element by element.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import pmin
    >>> from nabla_array.transforms import vmap
    >>> vmap(lambda v: pmin(v, "i"), axis_name="i", out_axes=None)(xp.asarray([1, 4, 2]))
    np.int64(1)
    """
    return _reduced("pmin", x, axis_name, "min")


def pmean(x: T, axis_name: Hashable) -> T:
    """Return the mean of the values of all examples.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import pmean
    >>> from nabla_array.transforms import vmap
    >>> vmap(lambda v: v - pmean(v, "i"), axis_name="i")(xp.asarray([1.0, 2.0, 6.0]))
    array([-2., -1.,  3.])
    """
    n = _size(_frames_of("pmean", axis_name))
    return tree_map(lambda total: total / n, _reduced("pmean", x, axis_name, "sum"))


def axis_size(axis_name: Hashable) -> int:
    """Return the number of examples along an axis with a name.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import axis_size
    >>> from nabla_array.transforms import vmap
    >>> vmap(lambda v: v / axis_size("i"), axis_name="i")(xp.asarray([2.0, 4.0]))
    array([1., 2.])
    """
    return _size(_frames_of("axis_size", axis_name))


def axis_index(axis_name: Hashable) -> Array:
    """Return the number of an example along an axis with a name; for several names, the first the slowest.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import axis_index
    >>> from nabla_array.transforms import vmap
    >>> vmap(lambda v: v * axis_index("i"), axis_name="i")(xp.asarray([5, 5, 5]))
    array([ 0,  5, 10])
    """
    some = _frames_of("axis_index", axis_name)
    for frame in some:
        frame.meet("axis_index")
    return _parted(arange(_size(some)), some)


def all_gather(x: T, axis_name: Hashable, *, axis: int = 0, tiled: bool = False) -> T:
    """Return the values of all examples, stacked.

    Parameters
    ----------
    x : pytree of arrays
    axis_name : hashable, or tuple of them
    axis : int
        Where the new axis goes.
    tiled : bool
        Join the values along `axis`, which they have, in place of a new one.

    Returns
    -------
    pytree of arrays
        The same for all examples.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import all_gather
    >>> from nabla_array.transforms import vmap
    >>> x = xp.asarray([[1, 2], [3, 4]])
    >>> vmap(lambda v: all_gather(v, "i", tiled=True), axis_name="i", out_axes=None)(x)
    array([1, 2, 3, 4])
    """
    some = _frames_of("all_gather", axis_name)

    def gathered(leaf: Any) -> Array:
        whole = _merged("all_gather", leaf, some)
        place = _axis("all_gather", axis, whole.ndim - tiled)
        return _joined(whole, 0, place) if tiled else moveaxis(whole, 0, place)

    return tree_map(gathered, x)


def _joined(x: Array, parts: int, axis: int) -> Array:
    """Move the axis of parts to the front of another one, and make one axis of both."""
    moved = moveaxis(x, parts, axis)
    return reshape(moved, (*moved.shape[:axis], -1, *moved.shape[axis + 2 :]))


def _shared_out(function: str, x: Array, axis: int, n: int, tiled: bool, lead: int = 0) -> Array:
    """Return an array whose first axis is the parts, one an example, into which an axis is cut.

    The axis does not count the first `lead` ones.
    """
    told = f"{function}: axis {axis} of length {x.shape[lead + axis]}"
    axis += lead
    if tiled:
        if x.shape[axis] % n:
            raise ValueError(f"{told} does not part into {n} of one length; a multiple of {n} would work")
        x = reshape(x, (*x.shape[:axis], n, x.shape[axis] // n, *x.shape[axis + 1 :]))
    elif x.shape[axis] != n:
        raise ValueError(
            f"{told} has no part for each of {n} examples; length {n}, or tiled=True, would work"
        )
    return moveaxis(x, axis, 0)


def reduce_scatter(
    x: T, axis_name: Hashable, *, scatter_dimension: int = 0, tiled: bool = False, op: str = "sum"
) -> T:
    """Return an example's part of what the values of all examples make together.

    Parameters
    ----------
    x : pytree of arrays
    axis_name : hashable, or tuple of them
    scatter_dimension : int
        The axis of which each example gets its part.
    tiled : bool
        Parts keep the axis, cut to its share. Without it the axis has as many elements as there are examples,
        and goes.
    op : {"sum", "prod", "max", "min", "any", "all"}
        How two values are joined.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import reduce_scatter
    >>> from nabla_array.transforms import vmap
    >>> x = xp.asarray([[1, 2], [30, 40]])
    >>> vmap(lambda v: reduce_scatter(v, "i"), axis_name="i")(x)
    array([31, 42])
    """
    return _scattered("reduce_scatter", x, axis_name, scatter_dimension, tiled, op)


def psum_scatter(x: T, axis_name: Hashable, *, scatter_dimension: int = 0, tiled: bool = False) -> T:
    """Return an example's part of the sum of all, as ``reduce_scatter(x, axis_name)`` does.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import psum_scatter
    >>> from nabla_array.transforms import vmap
    >>> vmap(lambda v: psum_scatter(v, "i", tiled=True), axis_name="i")(xp.ones((2, 4)))
    array([[2., 2.],
           [2., 2.]])
    """
    return _scattered("psum_scatter", x, axis_name, scatter_dimension, tiled, "sum")


def _scattered(function: str, x: T, axis_name: Hashable, axis: int, tiled: bool, op: str) -> T:
    some = _frames_of(function, axis_name)

    def scattered(total: Array) -> Array:
        place = _axis(function, axis, total.ndim)
        return _parted(_shared_out(function, total, place, _size(some), tiled), some)

    return tree_map(scattered, _reduced(function, x, axis_name, op))


def all_to_all(x: T, axis_name: Hashable, split_axis: int, concat_axis: int, *, tiled: bool = False) -> T:
    """Give part k of each example's value to example k, which gets them stacked.

    Parameters
    ----------
    x : pytree of arrays
    axis_name : hashable, or tuple of them
    split_axis : int
        The axis that is cut into as many parts as there are examples.
    concat_axis : int
        Where the axis of the examples that the parts come from goes.
    tiled : bool
        Parts keep the axis `split_axis`, cut to its share, and are joined along `concat_axis`. Without it
        the one has as many elements as there are examples, and goes, and the other is new.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import all_to_all
    >>> from nabla_array.transforms import vmap
    >>> x = xp.asarray([[1, 2], [3, 4]])
    >>> vmap(lambda v: all_to_all(v, "i", 0, 0), axis_name="i")(x)
    array([[1, 3],
           [2, 4]])
    """
    function = "all_to_all"
    some = _frames_of(function, axis_name)

    def exchanged(leaf: Any) -> Array:
        whole = _merged(function, leaf, some)
        split = _axis(function, split_axis, whole.ndim - 1)
        join = _axis(function, concat_axis, whole.ndim - 1)
        # First the examples that get the parts, then those that they come from.
        parts = _shared_out(function, whole, split, _size(some), tiled, lead=1)
        return _parted(_joined(parts, 1, 1 + join) if tiled else moveaxis(parts, 1, 1 + join), some)

    return tree_map(exchanged, x)


def ppermute(x: T, axis_name: Hashable, perm: Iterable[tuple[int, int]]) -> T:
    """Send the values of examples to others; who gets none has zeros.

    Parameters
    ----------
    x : pytree of arrays
    axis_name : hashable, or tuple of them
    perm : iterable of (int, int)
        The number of an example that sends, and that of the one who gets it. Nobody sends or gets twice.

    Raises
    ------
    ValueError
        For a number that is out of range, or stands twice.

    Examples
    --------
    >>> import nabla_array as xp
    >>> from nabla_array.distributed import ppermute
    >>> from nabla_array.transforms import vmap
    >>> around = [(0, 1), (1, 2), (2, 0)]
    >>> vmap(lambda v: ppermute(v, "i", around), axis_name="i")(xp.asarray([10, 20, 30]))
    array([30, 10, 20])
    """
    some = _frames_of("ppermute", axis_name)
    runs = _runs(_sources(perm, _size(some)))

    def permuted(leaf: Any) -> Array:
        whole = _merged("ppermute", leaf, some)
        parts = [
            zeros((count, *whole.shape[1:]), dtype=whole.dtype)
            if first is None
            else whole[first : first + count]
            for first, count in runs
        ]
        return _parted(parts[0] if len(parts) == 1 else concat(parts, axis=0), some)

    return tree_map(permuted, x)


def _sources(perm: Iterable[tuple[int, int]], n: int) -> list[int | None]:
    """Return for each example the one whose value it gets."""
    found: list[int | None] = [None] * n
    sent: set[int] = set()
    for source, target in perm:
        if not (0 <= source < n and 0 <= target < n) or source in sent or found[target] is not None:
            raise ValueError(
                f"ppermute: the pair ({source}, {target}) does not go with {n} examples and the pairs "
                f"before; each number from 0 to {n - 1} may send once, and get once"
            )
        sent.add(source)
        found[target] = source
    return found


def _runs(sources: Sequence[int | None]) -> list[tuple[int | None, int]]:
    """Return neighbours that get theirs from neighbours: whom the first has it from, and how many they are.

    As slices they are moved without the others.
    """
    found: list[tuple[int | None, int]] = []
    for source in sources:
        if found:
            first, count = found[-1]
            if source is None if first is None else source == first + count:
                found[-1] = first, count + 1
                continue
        found.append((source, 1))
    return found
