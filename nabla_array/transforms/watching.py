"""Runs of functions that are watched: what they do that a program could not do again."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._lazy.node import tapes, user_line
from .._lazy.tape import Tape
from .._namespace.array import Array, asked_hook, current, look_hook, write_hook


def running_tapes() -> list[Tape]:
    """Return the tapes that run in this thread, outermost first."""
    me = threading.get_ident()
    return [t for t in tapes if t.thread == me]


class Watch:
    """A run of a function whose looks at values matter.

    Attributes
    ----------
    tape
        What depends on the arguments.
    line
        The user's line that looked first; "" while none did.
    asked
        Whether a library has asked if values can be looked at, and heard no.
    written
        The arrays that were changed in place, and the user's lines that did it.
    """

    def __init__(self, refuses: bool) -> None:
        self.refuses = refuses
        self.tape: Tape | None = None
        self.line = ""
        self.asked = False
        self.written: list[tuple[weakref.ref[Array], str]] = []

    def error(self) -> TypeError:
        return TypeError(
            f"compile: with fullgraph=True, no value of what depends on the arguments may be looked at "
            f"({self.line}): xp.where and control-flow functions choose without looking"
        )

    def captured(self, leaves: Sequence[Any]) -> list[tuple[Array, str]]:
        """Return the arrays that the function, which has returned `leaves`, changed and that are not its own.

        With each the line that changed it.
        """
        arrays = [x for x in leaves if type(x) is Array]
        results = {id(x) for x in [*arrays, *(x._view.base for x in arrays if x._view is not None)]}
        found = [(ref(), line) for ref, line in self.written]  # its own arrays are gone by now
        return [(x, line) for x, line in found if x is not None and id(x) not in results]

    def find_captured(self, leaves: Sequence[Any]) -> None:
        """See whether the function, which has returned `leaves`, changed an array that is not its own."""
        for _, line in self.captured(leaves):
            if not self.line:
                self.line = line
                if self.refuses:
                    raise TypeError(
                        "compile: with fullgraph=True, no array may be changed in place that is neither an "
                        f"argument nor made by the function ({line}): make it an argument"
                    )


class _Watches(threading.local):
    def __init__(self) -> None:
        self.stack: list[Watch] = []


_watches = _Watches()


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Tell `watch` what this thread does meanwhile."""
    _watches.stack.append(watch)
    try:
        yield
    finally:
        _watches.stack.remove(watch)


def _notice(x: Array) -> None:
    """Tell the runs that are watched that somebody wants the value of `x`."""
    for watch in _watches.stack:
        if watch.tape is not None and not watch.line and current(x) in watch.tape:
            watch.line = user_line()
            if watch.refuses:
                raise watch.error()
    _look_before(x)


_look_before = look_hook[0]
look_hook[0] = _notice


def _asked() -> None:
    for watch in _watches.stack:
        watch.asked = True


def _written(x: Array) -> None:
    for watch in _watches.stack:
        watch.written.append((weakref.ref(x), user_line()))


asked_hook.append(_asked)
write_hook.append(_written)
