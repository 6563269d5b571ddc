"""Set functions. The unique ones evaluate their input: their shapes depend on the elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._lazy.graph.node import tapes
from ..._lazy.ops.elementwise import not_
from ..._lazy.ops.ordering import distinct
from ..._lazy.ops.ordering import isin as isin_p
from ..._lazy.ops.structure import reshape
from ..core.array import Array, apply, from_value
from ..core.promotion import as_array, full, promote
from ..dispatch import fastpath
from ..dispatch.docstrings import described_like, specify
from .indexing_functions import take

if TYPE_CHECKING:
    from ..core.types import ArrayLike

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: Array
    inverse_indices: Array


@fastpath.whole(np.isin)
def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Array:
    """Test for each element whether it is among those to test for.

    Parameters
    ----------
    element, test_elements : Array or scalar
    assume_unique : bool, optional
        Of no effect; NumPy has it.
    invert : bool, optional
        Test whether it is not.
    kind : {"sort", "table"}, optional
        Of no effect; NumPy has it.

    Returns
    -------
    Array
        Booleans in the shape of `element`; nan is never among anything.

    >>> xp.isin(xp.asarray([1, 2, 3]), xp.asarray([3, 1]))
    array([ True, False,  True])
    """
    if kind not in (None, "sort", "table"):
        raise ValueError(f"isin: no kind {kind!r}; None, 'sort' or 'table' would work")
    try:
        a, among = promote("isin", element, test_elements)
    except OverflowError:  # a Python integer beyond the other's dtype is not among its elements
        shape = element.shape if isinstance(element, Array | np.ndarray) else ()
        return full(shape, bool(invert), np.dtype(np.bool))
    out = apply(isin_p, a, apply(reshape, among, shape=(among.size,)))
    return apply(not_, out) if invert else out


def unique_all(x: ArrayLike, /) -> UniqueAllResult:
    """Return the distinct elements, where each occurs first, how to rebuild `x`, and how many there are.

    Parameters
    ----------
    x : Array

    Returns
    -------
    namedtuple of Array
        ``values`` ascending, each nan by itself; ``indices`` into the flattened `x`; ``inverse_indices``
        in the shape of `x`; ``counts``.

    >>> xp.unique_all(xp.asarray([3, 1, 3])).inverse_indices
    array([1, 0, 1])
    """
    return UniqueAllResult(*uniques(as_array("unique_all", x), index=True, inverse=True, counts=True))


@described_like(unique_all)
def unique_counts(x: ArrayLike, /) -> UniqueCountsResult:
    """Return the distinct elements and how many there are of each.

    Returns
    -------
    namedtuple of Array
        ``values`` ascending, each nan by itself, and ``counts``.

    >>> xp.unique_counts(xp.asarray([3, 1, 3])).counts
    array([1, 2])
    """
    values, _, counts = uniques(as_array("unique_counts", x), counts=True)
    return UniqueCountsResult(values, counts)


@described_like(unique_all)
def unique_inverse(x: ArrayLike, /) -> UniqueInverseResult:
    """Return the distinct elements and the indices into them that rebuild `x`.

    Returns
    -------
    namedtuple of Array
        ``values`` ascending, each nan by itself, and ``inverse_indices`` in the shape of `x`.

    >>> xp.unique_inverse(xp.asarray([3, 1, 3])).values
    array([1, 3])
    """
    values, _, inverse = uniques(as_array("unique_inverse", x), inverse=True)
    return UniqueInverseResult(values, inverse)


@described_like(unique_all)
def unique_values(x: ArrayLike, /) -> Array:
    """Return the distinct elements, ascending.

    Returns
    -------
    Array
        With one axis, of the dtype of `x`; each nan by itself.

    >>> xp.unique_values(xp.asarray([3, 1, 3]))
    array([1, 3])
    """
    values: Array = uniques(as_array("unique_values", x))[0]
    return values


def uniques(
    x: Array,
    index: bool = False,
    inverse: bool = False,
    counts: bool = False,
    axis: int | None = None,
    equal_nan: bool = False,
) -> list[Any]:
    """Return the distinct elements, their indices or None, and what else is wanted.

    While transforms run, the elements are taken from `x`, so a derivative goes through.
    """
    taken = bool(tapes)  # asked once: another thread's transform may begin or end meanwhile
    found = distinct(x._value(), index or taken, inverse, counts, axis, equal_nan=equal_nan)
    values, *more = found if type(found) is tuple else (found,)
    indices: Any = more.pop(0) if index or taken else None
    if inverse and axis is None:
        more[0] = more[0].reshape(x.shape)
    if not taken:
        values = from_value(values)
    elif axis is None:
        values = take(apply(reshape, x, shape=(x.size,)), indices)
    else:
        values = take(x, indices, axis=axis)
    return [values, from_value(indices) if index else None, *map(from_value, more)]


specify(globals())
