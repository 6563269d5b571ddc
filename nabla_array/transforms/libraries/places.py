"""Functions of SciPy's that give something for each place, called once for all examples of a batch.

An interpolator is called with places, a distribution with places and parameters, which broadcast. The
examples of a batch are more places. `compile` records the call as one operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..._lazy.graph.aval import Aval, aval_of
from ..._namespace.core.array import Array
from .host_calls import Call, holds_any, record_call, remembered, text_of, varies
from .tracking import constant, is_tracked

# Where an argument is: its position, or its name.
Where = int | str
# Those of distributions, by their class.
METHODS = [
    (kind, name)
    for kind, density in (("rv_continuous", "pdf"), ("rv_discrete", "pmf"))
    for name in (density, f"log{density}", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
]
_INTERPOLATORS = "PPoly BSpline interp1d UnivariateSpline KroghInterpolator BarycentricInterpolator"


class Places(NamedTuple):
    """Which arguments of a function are places.

    Attributes
    ----------
    where
        Where the argument may be; None: all arguments of a method broadcast.
    least
        The axes that places have at least; the function gives fewer some.
    are_rows
        Whether the function takes a table, of which each row is a place.
    """

    where: tuple[Where, ...] | None
    least: int = 0
    are_rows: bool = False


# By module, functions of places.
PLACES: dict[str, dict[str, Places]] = {
    "scipy.interpolate": {
        **dict.fromkeys([f"{kind}.__call__" for kind in _INTERPOLATORS.split()], Places((1, "x"))),
        "RegularGridInterpolator.__call__": Places((1, "xi"), least=2),
        "splev": Places((0, "x")),
    },
    "scipy.stats._multivariate": dict.fromkeys(
        [f"multivariate_normal_{kind}.{name}" for kind in ("gen", "frozen") for name in ("pdf", "logpdf")],
        Places((1, "x"), are_rows=True),
    ),
    "scipy.spatial.distance": {"cdist": Places((0, "XA"), least=2, are_rows=True)},
    "scipy.stats": {f"{kind}.{name}": Places(None) for kind, name in METHODS},
}


@dataclass(frozen=True)
class Placed:
    """A function of SciPy's, by name so that workers find theirs, with all arguments but some."""

    module: str
    name: str
    others: Mapping[Where, Any]
    places: tuple[Where, ...]
    are_rows: bool

    def __call__(self, *values: np.ndarray) -> Any:
        """Return what it gives for values of the others."""
        if self.are_rows and values[0].ndim != 2:
            (x,) = values
            found = np.asarray(self(x.reshape(-1, x.shape[-1])))  # for one place, some leave the axis out
            return found.reshape((*x.shape[:-1], *found.shape[1:]))
        given = {**self.others, **dict(zip(self.places, values, strict=True))}
        n = sum([type(k) is int for k in given])
        function = reduce(getattr, self.name.split("."), import_module(self.module))
        named = {k: v for k, v in given.items() if type(k) is str}
        return function(*[given[k] for k in range(n)], **named)  # type: ignore[operator]


class AtPlaces:
    """A function that is called once for all examples of its places."""

    def __init__(self, module: str, name: str, places: Places) -> None:
        self.module, self.name, self.places = module, name, places
        # What results are like, by arguments: threads may find it at once, and find the same.
        self._known: dict[Any, Aval | None] = {}

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return the result, or NotImplemented where a call does something else."""
        given: dict[Where, Any] = dict([*enumerate(args), *kwargs.items()])
        some = {k: x for k, x in given.items() if varies(x)}
        others = {k: constant(x) for k, x in given.items() if k not in some}
        where = self.places.where
        of_places = [k for k in given if (k != 0 if where is None else k in where)]
        if (
            not {*some} <= {*of_places}
            or any(map(holds_any, others.values()))
            or is_tracked([*given.values()])
        ):
            return NotImplemented
        function = Placed(self.module, self.name, others, tuple(some), self.places.are_rows)
        # The axes of a batch lead, so that examples of fewer axes than others have get some.
        ndim = max([self.places.least, *[np.ndim(given[k]) for k in of_places]])
        text = text_of(others)
        key = text, *[(k, x.shape, x.dtype) for k, x in some.items()]
        result = remembered(self._known, key, lambda: self._result(function, [*some.values()], ndim))
        if result is None:
            return NotImplemented
        call = Call(function, (self.module, self.name, text), (ndim,) * len(some), (result,), function)
        made = record_call(call, [x.reshape(_grown(x, ndim)) for x in some.values()], self.name)
        return NotImplemented if made is None else made[0]

    def _result(self, function: Placed, places: Sequence[Array], ndim: int) -> Aval | None:
        """Return what the result for an example is like; None where it does not lie in that for a batch.

        It is asked for batches of unknown places, of two lengths so that no other axis is taken for theirs,
        and for none where the function refuses these.
        """
        shapes, dtypes = [_grown(x, ndim) for x in places], [x.dtype for x in places]
        for lengths in ((2, 1), (0,)):
            leads = [[(n, *shape) for shape in shapes] for n in lengths]
            alone = [[x.shape for x in places]] if lengths[0] else []
            try:
                with np.errstate(all="ignore"):
                    found = [np.asarray(function(*map(_unknown, s, dtypes))) for s in (*leads, *alone)]
            except Exception:  # which the original raises, too, or does not
                continue
            shape = found[0].shape[1:]
            due = [*[(n, *shape) for n in lengths], *([shape] if lengths[0] else [])]
            return aval_of(shape, found[0].dtype) if [y.shape for y in found] == due else None
        return None


def _unknown(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    return np.full(shape, np.nan if dtype.kind in "fc" else 0, dtype)


def _grown(x: Array, ndim: int) -> tuple[int, ...]:
    return (*[1] * (ndim - x.ndim), *x.shape)
