"""Runs of functions that are watched: what they do that a program could not do again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .._lazy.graph.bodies import Body
from .._lazy.graph.node import Node, tapes, user_line
from .._lazy.graph.tape import Tape
from .._namespace.core.array import Array, asked_hook, current, look_hook

__all__ = ["disable_jit"]


def running_tapes() -> list[Tape]:
    """Return the tapes that run in this thread, outermost first."""
    me = threading.get_ident()
    return [t for t in tuple(tapes) if t.thread == me]


class Watch:
    """A run of a function whose looks at values matter."""

    def __init__(self, refusal: str = "", tape: Tape | None = None) -> None:
        self.refusal = refusal  # what is raised where somebody looks, with a place for the line
        self.tape = tape  # of what depends on the arguments
        self.line = ""  # of the user's code, that has looked
        # Whether the function may have to be run as it is: a library has asked if values can be looked at,
        # and heard no, or the function writes to an array that it captures.
        self.as_it_is = False

    def error(self) -> TypeError:
        return TypeError(self.refusal.format(self.line))


class _Watches(threading.local):
    def __init__(self) -> None:
        self.stack: list[Watch] = []
        self.bodies: list[tuple[Body, Tape]] = []


_watches = _Watches()


def is_watched(refusal: str) -> bool:
    """Say whether a run of this thread is watched that raises this."""
    return any(watch.refusal is refusal for watch in _watches.stack)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Tell `watch` what this thread does meanwhile."""
    _watches.stack.append(watch)
    try:
        yield
    finally:
        _watches.stack.remove(watch)


# The threads in which functions are run as they are.
disabled: set[int] = set()


@contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """Let functions run as they are in this thread meanwhile: those that are compiled, and loops' bodies.

    Parameters
    ----------
    disable : bool
        False lets them be compiled, within a block that does not.

    >>> from nabla_array.transforms import compile, disable_jit
    >>> @compile
    ... def f(x):
    ...     print("runs")
    ...     return x + 1
    >>> with disable_jit():
    ...     y = f(1.0), f(1.0)
    runs
    runs
    """
    me = threading.get_ident()
    before = me in disabled
    (disabled.add if disable else disabled.discard)(me)
    try:
        yield
    finally:
        (disabled.add if before else disabled.discard)(me)


def is_disabled() -> bool:
    """Say whether functions are to be run as they are."""
    return bool(disabled) and threading.get_ident() in disabled


@contextmanager
def writing_body(body: Body, tape: Tape) -> Iterator[None]:
    """Let `run_as_it_is` know of the body of a loop or branch while it is written down."""
    _watches.bodies.append((body, tape))
    try:
        yield
    finally:
        _watches.bodies.pop()


def run_as_it_is(*nodes: Node) -> None:
    """Have what is written down here be run each time instead; with `nodes`, where these are a part of it."""
    for body, tape in reversed(_watches.bodies):
        if not nodes or any(n in tape for n in nodes):
            body.look()
    for watch in _watches.stack:
        if watch.tape is None or (watch.line and not watch.refusal):
            continue
        if not nodes or any(n in watch.tape for n in nodes):
            watch.line = user_line()
            if watch.refusal:
                raise watch.error()


def _notice(x: Array) -> None:
    """Tell the runs that are watched that somebody wants the value of `x`."""
    for watch in _watches.stack:
        if watch.tape is not None and (watch.refusal or not watch.line) and current(x) in watch.tape:
            watch.line = user_line()
            if watch.refusal:
                raise watch.error()
    _look_before(x)


_look_before = look_hook[0]
look_hook[0] = _notice


def _asked() -> None:
    for watch in _watches.stack:
        watch.as_it_is = True


asked_hook.append(_asked)
