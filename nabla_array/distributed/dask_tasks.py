"""What the workers of a Dask cluster run for a mesh.

The results of a task are a tuple, of which a shard is one. A part of a file that is mapped into memory is a
description, until somebody computes with it: a worker holds no copy of what it can read again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._lazy.config import config
from .._lazy.cpu.calls import StepFailed
from .._lazy.graph.program import Program
from ..version import __version__
from . import pickling  # noqa: F401  tells pickle how to send programs
from .engines import compact, hearing, joined, run_program
from .errors import ClusterError
from .layouts import Piece
from .sources import opened

# The results of tasks.
Results = Sequence[tuple[Any, ...]]


class Given(NamedTuple):
    """Results that go along with the task that reads them."""

    value: Any


class Make(NamedTuple):
    """A call whose last argument is what its sources give.

    Attributes
    ----------
    sources
        Calls that are done before, numbers among the results that the task waited for, or `Given`.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    sources: Sequence[Make | Given | int]


class Place(NamedTuple):
    """Where a part is: among the results of which task, and which of them."""

    position: int
    number: int


class Join(NamedTuple):
    """A part that is made of pieces of others."""

    groups: list[list[Piece]]
    shape: tuple[int, ...]
    dtype: np.dtype
    ufunc: Any
    places: list[Place]


def version() -> str:
    """Return the version of the library here."""
    return __version__


def _check(theirs: str) -> None:
    if theirs != __version__:
        raise ClusterError(
            f"this worker has nabla_array {__version__}, and was sent a program of {theirs}; "
            "one version everywhere would work"
        )


def _part(of: Place, results: Results) -> Any:
    return opened(results[of.position][of.number])


def work(theirs: str, make: Make, results: Results) -> tuple[Any, ...]:
    """Do what a task is to do, what is inside it first."""
    _check(theirs)
    return _results(make, results, {})


def _results(make: Make, results: Results, found: dict[int, tuple[Any, ...]]) -> tuple[Any, ...]:
    if id(make) not in found:
        sources = []
        for source in make.sources:
            if isinstance(source, Make):
                sources.append(_results(source, results, found))
            else:
                sources.append(source.value if isinstance(source, Given) else results[source])
        found[id(make)] = make.function(*make.args, sources)
    return found[id(make)]


def keep(results: Sequence[Any]) -> tuple[Any]:
    """Return a part that this process was sent."""
    (part,) = results
    return (part,)


def cut(taken: tuple[slice, ...], of: Place, results: Results) -> tuple[Any]:
    """Return some elements of a part, or all of it: what another worker needs of these results."""
    part = _part(of, results)
    if isinstance(part, tuple):
        return (part,)
    some = part[(*taken, ...)]
    return (compact(some) if some.size == part.size else some.copy(),)


def run(
    program: Program,
    mode: str,
    devices: int,
    inputs: Sequence[Place],
    results: Results,
) -> tuple[Any, ...]:
    """Run a device's program on the tiers of a mode, as one of `devices` that share this worker.

    The last of the results is what floating-point errors were heard.
    """
    from distributed import get_worker

    threads = config.threads or max(1, get_worker().state.nthreads // devices)
    try:
        settings = {"threads": threads, "mode": mode}
        parts = [_part(of, results) for of in inputs]
        found, heard = hearing(partial(run_program, program, parts), settings)
    except StepFailed as failure:
        error, eqn = failure.error, program.eqns[failure.eqn - len(program.inputs)]
        raise type(error)(f"{eqn.prim}: {error}") from None
    return *found, tuple(dict.fromkeys([message for message, _ in heard]))


def join(joins: Sequence[Join], results: Results) -> tuple[Any, ...]:
    """Return parts made of pieces of others."""
    return tuple([_joined(of, [_part(place, results) for place in of.places]) for of in joins])


def _joined(of: Join, parts: Sequence[np.ndarray]) -> np.ndarray:
    return joined(of.groups, of.shape, of.dtype, of.ufunc, parts.__getitem__)


def call(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    inputs: Sequence[Place],
    results: Results,
) -> tuple[Any]:
    """Return what a function makes of parts."""
    return (function(*[_part(of, results) for of in inputs], *arguments),)
