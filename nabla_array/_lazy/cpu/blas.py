"""NumPy's BLAS, and how its threads leave the cores to ours."""

from __future__ import annotations

import ctypes
import os
import sys
from _thread import allocate_lock  # `threading` takes a millisecond to import
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

# OpenBLAS reads it when it is loaded: its threads spin while they wait for the next product, for
# 25 ms (2**26 cycles) if it is not set. Ours, which go on with what a product gave, need those cores.
_VARIABLE, _CYCLES = "OPENBLAS_THREAD_TIMEOUT", "18"

# Whether that was still to be said here.
was_first = "numpy" not in sys.modules and _VARIABLE not in os.environ
if was_first:
    os.environ[_VARIABLE] = _CYCLES
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[_VARIABLE]

import numpy as np  # noqa: E402
from numpy.linalg import _umath_linalg  # noqa: E402

from ..forks import at_fork  # noqa: E402


class _Threads(NamedTuple):
    """The functions of a BLAS that return, and set, how many threads it takes in the whole process."""

    get: Callable[[], int]
    set: Callable[[int], object]


# Their names in the builds of OpenBLAS (NumPy's wheels have the first), in MKL, and in FlexiBLAS.
_NAMES = [
    *[
        (f"{prefix}openblas_get_num_threads{suffix}", f"{prefix}openblas_set_num_threads{suffix}")
        for prefix in ("scipy_", "")
        for suffix in ("64_", "")
    ],
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ("flexiblas_get_num_threads", "flexiblas_set_num_threads"),
]


@lru_cache(1)
def threads_of_blas() -> _Threads | None:
    """Return these functions of the BLAS that NumPy calls; None where it has none, as Accelerate.

    `threadpoolctl` finds more, but to import it takes as long as a product of large matrices.
    """
    # A name is looked up in a module and in the libraries that it is linked with; on Windows in it alone.
    # Not by `pathlib`, which takes milliseconds to import.
    libraries = os.path.join(os.path.dirname(np.__file__), os.pardir, "numpy.libs")
    shipped = os.listdir(libraries) if os.path.isdir(libraries) else []
    dlls = [os.path.join(libraries, name) for name in shipped if "openblas" in name and name.endswith(".dll")]
    for file in (_umath_linalg.__file__, *dlls):
        library = ctypes.CDLL(file)
        for names in _NAMES:
            if all([hasattr(library, name) for name in names]):
                return _Threads(*[getattr(library, name) for name in names])
    return None


def is_controlled() -> bool:
    """Say whether BLAS can be told how many threads to take."""
    return threads_of_blas() is not None


# How many threads want products of one thread now, and how many BLAS took before the first of them.
_users = _before = 0
_lock = allocate_lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Have each product that is begun meanwhile take one thread: several are computed at once.

    That is a setting of the process: the last thread to leave puts back what the first one found.
    """
    global _users, _before
    blas = threads_of_blas()
    with _lock:
        if _users == 0 and blas:
            _before = blas.get()
            blas.set(1)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0 and blas:
                blas.set(_before)


def _after_fork() -> None:
    """Put back, in a forked child, what its parent's threads found: none of them is there to leave."""
    global _users
    # Only where somebody found these functions before: to load a library may wait for a lock of a thread
    # that is not there.
    if _users and (blas := threads_of_blas()):
        blas.set(_before)
    _users = 0
    _lock.release()


at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork)
