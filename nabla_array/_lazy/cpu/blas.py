"""NumPy's BLAS, and how its threads leave the cores to ours."""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock  # `threading` takes a millisecond to import
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

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

from ..forks import at_fork  # noqa: E402


@lru_cache(1)
def _libraries() -> list[Any]:
    """Return what sets the threads of NumPy's BLAS; nothing where nothing can."""
    from threadpoolctl import ThreadpoolController

    config: Any = np.show_config(mode="dicts")
    if config["Build Dependencies"]["blas"].get("name") == "accelerate":
        return []  # what would be found is somebody else's
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def is_controlled() -> bool:
    """Say whether BLAS can be told how many threads to take."""
    return bool(_libraries())


# How many threads want products of one thread now, and how many each library took before the first of them.
_users = 0
_before: list[tuple[Any, int]] = []
_lock = allocate_lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Have each product that is begun meanwhile take one thread: several are computed at once.

    That is a setting of the process: the last thread to leave puts back what the first one found.
    """
    global _users
    with _lock:
        if _users == 0:
            _before[:] = [(library, library.get_num_threads()) for library in _libraries()]
            for library, _ in _before:
                _set(library, 1)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _put_back()


def _put_back() -> None:
    for library, threads in _before:
        _set(library, threads)


def _set(library: Any, threads: int) -> None:
    # Newer versions of threadpoolctl ignore all threads but the first to set OpenBLAS's, until that one lets
    # go. Here the first thread to come need not be the last to leave, and it lives on.
    release = getattr(library, "clear_controlling_thread", None)
    if release is None:
        library.set_num_threads(threads)
    else:
        release(force=True)
        library.set_num_threads(threads)
        release(force=True)


def _after_fork() -> None:
    """Put back, in a forked child, what its parent's threads found: none of them is there to leave."""
    global _users
    if _users:
        _users = 0
        _put_back()
    _lock.release()


at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork)
