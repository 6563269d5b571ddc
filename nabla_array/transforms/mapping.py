"""`map` and `associative_scan`: loops made of `scan`, `vmap` and slices."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from .._namespace.chapters.joining import concat, stack
from .._namespace.chapters.manipulation import flip, reshape
from .._namespace.core.array import Array
from .bodies import arrays_of, length_of, one_length
from .control_flow import scan_of
from .pytree import tree_map, tree_unflatten
from .vmap import vmap

if TYPE_CHECKING:
    from ._types import Leaf, R, T, X

__all__ = ["associative_scan", "map"]


@overload
def map(f: Callable[[Array], R], xs: Leaf, *, batch_size: int | None = None) -> R: ...
@overload
def map(f: Callable[[X], R], xs: X, *, batch_size: int | None = None) -> R: ...
def map(f: Callable[..., Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Return ``f(x)`` for each x along the first axis of `xs`, stacked: one after the other.

    Parameters
    ----------
    f : callable
        Of arrays and pytrees of them.
    xs : pytree of arrays
        Whose first axes have the same length.
    batch_size : int, optional
        How many to do at once, by `vmap`: faster, for more memory.

    Returns
    -------
    pytree of arrays

    >>> from nabla_array.transforms import map
    >>> map(lambda x: xp.sum(x) ** 2, xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
    array([ 9., 49.])
    """
    _, arrays, tree = arrays_of("map", xs)
    size = length_of("map", arrays, None)
    if batch_size is None:
        return scan_of("map", lambda _, x: ((), f(x)), (), xs, None, False)[1]
    if operator.index(batch_size) < 1:
        raise ValueError(f"map: batch_size must be positive, not {batch_size}")
    whole = size // batch_size * batch_size
    parts = []
    if whole or not size:
        cut = [reshape(x[:whole], (-1 if whole else 0, batch_size, *x.shape[1:])) for x in arrays]
        found = scan_of("map", lambda _, x: ((), vmap(f)(x)), (), tree_unflatten(tree, cut), None, False)[1]
        parts.append(tree_map(lambda x: reshape(x, (whole, *x.shape[2:])), found))
    if whole < size:
        parts.append(vmap(f)(tree_unflatten(tree, [x[whole:] for x in arrays])))
    if len(parts) == 1:
        return parts[0]
    return tree_map(lambda *rows: concat(rows), *parts)


def associative_scan(fn: Callable[[T, T], T], elems: T, reverse: bool = False, axis: int = 0) -> T:
    """Return the results of an associative operation on 1, 2, 3, ... elements along an axis.

    Parameters
    ----------
    fn : callable
        ``(a, b) -> c``, pytrees of arrays like `elems` but for the length of the axis, along which it goes
        element by element. It is called for about ``2 * log2(n)`` pairs of arrays instead of n elements.
    elems : pytree of arrays
        Of the same length along `axis`.
    reverse : bool
        From the end.
    axis : int
        The axis.

    Returns
    -------
    pytree of arrays

    Raises
    ------
    ValueError
        If leaves of `elems` differ in length.

    >>> from nabla_array.transforms import associative_scan
    >>> associative_scan(xp.maximum, xp.asarray([3, 1, 4, 1, 5]))
    array([3, 3, 4, 4, 5])
    >>> def then(f, g):  # one affine map after the other
    ...     return f[0] * g[0], f[1] * g[0] + g[1]
    >>> associative_scan(then, (xp.full(4, 0.5), xp.ones(4)))[1]
    array([1.   , 1.5  , 1.75 , 1.875])
    """
    _, arrays, tree = arrays_of("associative_scan", elems)
    if not arrays:
        return elems
    for x in arrays:
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"associative_scan: axis {axis} is out of bounds for shape {x.shape}")
    axis = axis % arrays[0].ndim
    one_length("associative_scan: elems", [x.shape[axis] for x in arrays])
    if reverse:
        arrays = [flip(x, axis=axis) for x in arrays]

    def combine(a: list[Array], b: list[Array]) -> list[Array]:
        return arrays_of("associative_scan", fn(tree_unflatten(tree, a), tree_unflatten(tree, b)))[1]

    out = _prefixes(combine, arrays, axis)
    return tree_unflatten(tree, [flip(x, axis=axis) for x in out] if reverse else out)


def _prefixes(
    combine: Callable[[list[Array], list[Array]], list[Array]], xs: list[Array], axis: int
) -> list[Array]:
    """Combine neighbours, then what comes before these pairs, then that with the elements in between."""
    n = xs[0].shape[axis]
    if n < 2:
        return xs

    def every(xs: list[Array], first: int, last: int | None, step: int) -> list[Array]:
        key = (slice(None),) * axis + (slice(first, last, step),)
        return [x[key] for x in xs]

    odd = _prefixes(combine, combine(every(xs, 0, n - 1, 2), every(xs, 1, None, 2)), axis)
    even = every(xs, 0, 1, 1)
    if n > 2:
        before = odd if n % 2 else every(odd, 0, -1, 1)
        rest = combine(before, every(xs, 2, None, 2))
        even = [concat([x, y], axis=axis) for x, y in zip(even, rest, strict=True)]
    return [_interleaved(a, b, axis) for a, b in zip(even, odd, strict=True)]


def _interleaved(a: Array, b: Array, axis: int) -> Array:
    """Take elements of `a` and `b` in turn; `a` may have one more."""
    n, m = a.shape[axis], b.shape[axis]
    lead = (slice(None),) * axis
    pairs = stack([a[(*lead, slice(m))], b], axis=axis + 1)
    out = reshape(pairs, (*b.shape[:axis], 2 * m, *b.shape[axis + 1 :]))
    return out if n == m else concat([out, a[(*lead, slice(m, None))]], axis=axis)
