"""What is to happen around `os.fork`, which Windows does not have."""

from __future__ import annotations

import os
from _thread import get_ident  # `threading` takes a millisecond to import
from collections.abc import Callable
from importlib import import_module
from time import monotonic, sleep
from types import ModuleType
from typing import Any


def at_fork(**functions: Callable[[], Any]) -> None:
    """Register what `os.register_at_fork` takes: ``before``, ``after_in_parent``, ``after_in_child``."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**functions)


# The threads that import a module now, each as often as it does. Appending and removing are atomic.
_importing: list[int] = []
# Seconds that a fork waits for them at most: they may wait for what the forking thread holds.
_PATIENCE = 2.0


def late(name: str, package: str | None = None) -> ModuleType:
    """Import a module, one of whose names is used for the first time.

    A fork waits until it is done: its child would wait forever for Python's lock of that module, since the
    thread that would release it is not there.
    """
    me = get_ident()
    _importing.append(me)
    try:
        return import_module(name, package)
    finally:
        _importing.remove(me)


def _others() -> bool:
    me = get_ident()
    return any([thread != me for thread in tuple(_importing)])


def _wait_for_imports() -> None:
    end = monotonic() + _PATIENCE
    while _others() and monotonic() < end:
        sleep(0.001)


def _forget_others() -> None:
    _importing[:] = [thread for thread in _importing if thread == get_ident()]


# Registered before all others, so that nothing comes between the wait and the fork.
at_fork(before=_wait_for_imports, after_in_child=_forget_others)
