"""Runs of functions that are told of lengths so that these note what is decided by them."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._lazy.graph.node import is_ours
from .._namespace.core.array import Array
from .._namespace.core.lengths import Decision, decided, told, watched


class _Runs(threading.local):
    count = 0


_runs = _Runs()
_lock = threading.Lock()
# What tells of lengths, and is there while somebody watches only: else it would cost everybody.
_watching: dict[str, Any] = {}
_usual: dict[str, Any] = {}
_watchers = 0


def is_watching() -> bool:
    """Say whether this thread runs a function to see what it does for some lengths."""
    return _runs.count > 0


@contextmanager
def watching(tells: bool) -> Iterator[list[Decision]]:
    """Note what lengths decide in this thread outside this package; without `tells` they are plain ints."""
    found: list[Decision] = []
    before, watched.decisions = watched.decisions, found if tells else None
    _runs.count += 1
    _watch(1)
    try:
        yield found
    finally:
        _watch(-1)
        _runs.count -= 1
        watched.decisions = before


def _watch(more: int) -> None:
    global _watchers
    with _lock:
        _watchers += more
        if not _watching:
            for name in ("shape", "size", "nbytes", "strides", "__len__", "__iter__"):
                _usual[name] = getattr(Array, name)
                _watching[name] = _telling(_usual[name])
        for name, attribute in (_watching if _watchers else _usual).items():
            setattr(Array, name, attribute)


def _telling(usual: Any) -> Any:
    """Return a property that tells lengths, or a method that decides by one, for code that is not ours."""
    if isinstance(usual, property):

        def get(self: Array) -> Any:
            value = usual.fget(self)  # type: ignore[misc]
            return value if is_ours(sys._getframe(1)) else told(value)

        return property(get, usual.fset)

    @functools.wraps(usual)
    def method(self: Array) -> Any:
        shape = self.shape
        if shape and not is_ours(sys._getframe(1)):
            decided("plain", shape[0], None, shape[0])
        return usual(self)

    return method
