"""What the workers of a Dask cluster run for a mesh.

The results of a task are a tuple, of which a shard is one. A part of a file that is mapped into memory is a
description, until somebody computes with it: a worker holds no copy of what it can read again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._lazy.config import config
from .._lazy.cpu.blocks import StepFailed
from .._lazy.graph.program import Program
from ..version import __version__
from . import pickling  # noqa: F401  tells pickle how to send programs
from .engines import hearing, joined, run_program
from .layouts import Piece
from .sources import opened

# The results of tasks, and which of each is meant.
Results = Sequence[tuple[Any, ...]]


def version() -> str:
    """Return the version of the library here."""
    return __version__


def _check(theirs: str) -> None:
    if theirs != __version__:
        raise RuntimeError(
            f"mesh: this worker has nabla_array {__version__}, and was sent a program of {theirs}; "
            "one version everywhere would work"
        )


def _parts(indices: Sequence[int], results: Results) -> list[np.ndarray]:
    return [opened(r[i]) for i, r in zip(indices, results, strict=True)]


def keep(theirs: str, part: Any) -> tuple[Any]:
    """Return a part that this process was sent."""
    _check(theirs)
    return (part,)


def cut(theirs: str, taken: tuple[slice, ...], index: int, results: tuple[Any, ...]) -> tuple[Any]:
    """Return some elements of a part, or all of it: what another worker needs of these results."""
    _check(theirs)
    part = opened(results[index])
    if isinstance(part, tuple):
        return (part,)
    some = part[(*taken, ...)]
    return (some if some.size == part.size else some.copy(),)


def run(
    theirs: str, program: Program, mode: str, devices: int, indices: Sequence[int], results: Results
) -> tuple[Any, ...]:
    """Run a device's program on the tiers of a mode, as one of `devices` that share this worker.

    The last of the results is what floating-point errors were heard.
    """
    _check(theirs)
    from distributed import get_worker

    threads = config.threads or max(1, get_worker().state.nthreads // devices)
    try:
        settings = {"threads": threads, "mode": mode}
        found, heard = hearing(partial(run_program, program, _parts(indices, results)), settings)
    except StepFailed as failure:
        error, eqn = failure.error, program.eqns[failure.eqn - len(program.inputs)]
        raise type(error)(f"{eqn.prim}: {error}") from None
    return *found, tuple(dict.fromkeys([message for message, _ in heard]))


def join(
    theirs: str,
    groups: list[list[Piece]],
    shape: tuple[int, ...],
    dtype: np.dtype,
    ufunc: Any,
    indices: Sequence[int],
    results: Results,
) -> tuple[Any]:
    """Return a part made of pieces of others."""
    _check(theirs)
    return (joined(groups, shape, dtype, ufunc, _parts(indices, results).__getitem__),)


def call(
    theirs: str,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    indices: Sequence[int],
    results: Results,
) -> tuple[Any]:
    """Return what a function makes of parts."""
    _check(theirs)
    return (function(*_parts(indices, results), *arguments),)
