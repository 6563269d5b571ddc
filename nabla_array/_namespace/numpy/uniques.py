"""Sets: distinct elements, and what two arrays have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..._lazy.graph.node import tapes
from ..chapters.indexing_functions import take
from ..chapters.joining import concat
from ..chapters.sets import isin, uniques
from ..core.array import Array, from_value
from ..core.promotion import as_array, promote
from ..dispatch import fastpath
from .described import eager_numpys, numpys
from .joining import flat

if TYPE_CHECKING:
    from ..core.types import ArrayLike


@overload
def unique(
    ar: ArrayLike,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Array: ...
@overload
def unique(
    ar: ArrayLike,
    return_index: Literal[True],
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> tuple[Array, ...]: ...
@overload
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    *,
    return_inverse: Literal[True],
    return_counts: bool = False,
    axis: int | None = None,
    equal_nan: bool = True,
    sorted: bool = True,
) -> tuple[Array, ...]: ...
@overload
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    *,
    return_counts: Literal[True],
    axis: int | None = None,
    equal_nan: bool = True,
    sorted: bool = True,
) -> tuple[Array, ...]: ...
@eager_numpys()
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Return the distinct elements, or rows along an axis, ascending.

    >>> xp.unique([3, 1, 3], return_counts=True)
    (array([1, 3]), array([1, 2]))
    """
    x = as_array("unique", ar)
    wanted = bool(return_index), bool(return_inverse), bool(return_counts)
    values, indices, *more = uniques(x, *wanted, axis, equal_nan)
    found = (values, indices, *more) if return_index else (values, *more)
    return found if any(wanted) else values


def _both(function: str, *operands: Any) -> list[Array]:
    """Return arrays of one dtype; numbers are arrays here, too, of their own dtypes."""
    return promote(function, *[as_array(function, x) for x in operands])


def _unless_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what does the same, but None where integers become floats: several of them may become one."""

    def host(ar1: Any, ar2: Any, *args: Any, **options: Any) -> Any:
        x, y = np.asarray(ar1), np.asarray(ar2)
        has_integers = x.dtype.kind in "iu" or y.dtype.kind in "iu"
        becomes_float = has_integers and np.result_type(x.dtype, y.dtype).kind in "fc"
        return None if becomes_float else function(ar1, ar2, *args, **options)

    return host


@overload
def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: Literal[False] = False
) -> Array: ...
@overload
def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, *, return_indices: Literal[True]
) -> tuple[Array, Array, Array]: ...
@fastpath.whole(_unless_floats(np.intersect1d))
@numpys
def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """Return the elements that both arrays have, ascending.

    >>> xp.intersect1d([1, 3, 4, 3], [3, 1, 2])
    array([1, 3])
    """
    x, y = [flat("intersect1d", a) for a in _both("intersect1d", ar1, ar2)]
    taken = bool(tapes)  # asked once: another thread's transform may begin or end meanwhile
    find: Any = np.intersect1d
    found = find(x._value(), y._value(), assume_unique, bool(return_indices or taken))
    if type(found) is not tuple:
        return from_value(found)
    values, first, second = found
    # The elements are taken from the array, so a derivative goes through.
    common = take(x, first) if taken else from_value(values)
    return (common, from_value(first), from_value(second)) if return_indices else common


@eager_numpys()
def union1d(ar1: ArrayLike, ar2: ArrayLike) -> Array:
    """Return the elements that either array has, ascending.

    >>> xp.union1d([1, 2], [2, 3])
    array([1, 2, 3])
    """
    return unique(concat([flat("union1d", ar1), flat("union1d", ar2)]))


@numpys
def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Array:
    """Return the elements that one array alone has, ascending.

    >>> xp.setxor1d([1, 2], [2, 3])
    array([1, 3])
    """
    x, y = [flat("setxor1d", a) for a in _both("setxor1d", ar1, ar2)]
    found = np.setxor1d(x._value(), y._value(), assume_unique)
    if not tapes:
        return from_value(found)
    # The elements are taken from the arrays, so a derivative goes through.
    both = concat([x, y])
    order = np.argsort(both._value(), kind="stable")
    return take(both, order[np.searchsorted(both._value()[order], found)])


@fastpath.whole(_unless_floats(np.setdiff1d))
@numpys
def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Array:
    """Return the elements of the first array that the second has not.

    >>> xp.setdiff1d([1, 2, 3], [2])
    array([1, 3])
    """
    x = flat("setdiff1d", ar1) if assume_unique else unique(ar1)
    (keep,) = isin(x, flat("setdiff1d", ar2), invert=True)._value().nonzero()
    return take(x, keep)
