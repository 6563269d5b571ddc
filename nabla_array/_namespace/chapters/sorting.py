"""Sorting functions, with the standard's keywords and NumPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._lazy.ops.ordering import argsort as argsort_p
from ..._lazy.ops.ordering import places, stable_argsort
from ..._lazy.ops.ordering import sort as sort_p
from ..core.array import Array, apply
from ..core.promotion import axis_or_flat
from ..dispatch import fastpath
from ..dispatch.docstrings import described_like, specify

if TYPE_CHECKING:
    from ..core.types import ArrayLike

__all__ = ["argsort", "sort"]

# NumPy's names, by first letter, as it takes them: which are stable?
_KINDS = {"q": False, "h": False, "m": True, "s": True}

_STABLE = """. That shows in zeros of different signs and nothing else, and
    the standard leaves their order open, so the default is NumPy's faster sort."""


def _stable(name: str, kind: str | None, order: Any, stable: bool | None, default: bool) -> bool:
    if order is not None:
        raise ValueError(f"{name}: order is for fields, and dtypes here have none; None would work")
    if kind is None:
        return default if stable is None else bool(stable)
    if stable is not None:
        raise ValueError(
            f"{name}: `kind` and keyword parameters can't be provided at the same time: "
            f"{kind!r} and {stable!r}"
        )
    if not isinstance(kind, str) or kind[:1].lower() not in _KINDS:
        raise ValueError(f"{name}: no kind {kind!r}; 'quicksort', 'heapsort' or 'stable' would work")
    return _KINDS[kind[0].lower()]


def _numpys_argsort(a: np.ndarray, axis: int | None = -1, *, stable: bool | None = None) -> np.ndarray:
    found = places(a) if axis in (-1, 0, None) else None
    if found is not None:
        return found
    return np.argsort(a, axis) if stable is False else stable_argsort(a, axis)


@fastpath.whole(_numpys_argsort)
def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> Array:
    """Return the indices that sort an array along an axis.

    Parameters
    ----------
    a : Array
    axis : int, optional
        Axis to sort along; None sorts the flattened array.
    kind : {"quicksort", "heapsort", "mergesort", "stable"}, optional
        NumPy's way to say `stable`.
    order : None
        Taken for NumPy's sake.
    descending : bool, optional
        Largest first.
    stable : bool, optional
        Keep the order of equal elements; the default is True.

    Returns
    -------
    Array
        Of dtype intp, in the shape of `a`; nan goes last in either direction.

    Raises
    ------
    ValueError
        If the kind is unknown, or given together with `stable`.

    >>> xp.argsort(xp.asarray([2.0, 3.0, 1.0]), descending=True)
    array([1, 0, 2])
    """
    a, k = axis_or_flat("argsort", a, axis)
    steady = _stable("argsort", kind, order, stable, True)
    return apply(argsort_p, a, axis=k, descending=bool(descending), stable=steady)


@fastpath.whole(np.sort)
@described_like(
    argsort, {"; the default is True.": _STABLE, "dtype intp, in the shape": "the dtype and shape"}
)
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> Array:
    """Return a sorted copy of an array.

    >>> xp.sort(xp.asarray([2.0, 3.0, 1.0]), descending=True)
    array([3., 2., 1.])
    """
    a, k = axis_or_flat("sort", a, axis, takes_0d=False)
    steady = _stable("sort", kind, order, stable, False)
    return apply(sort_p, a, axis=k, descending=bool(descending), stable=steady)


specify(globals())
