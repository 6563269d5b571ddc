"""Scopes: runs of a function that stand for many, so that what was there before must not be written to.

A function under `vmap` runs once for all examples, the body of a loop once for all rounds: what it writes to arrays
of its own is as it should be, what it writes to others' would happen once. Who made an array is told by a number: in
a scope, arrays are marked with it when they are made.
"""

from __future__ import annotations

from _thread import _local as local  # `threading` takes a millisecond to import
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from .node import user_line

# The numbers of the scopes that run, in any thread, the last one entered last. An array that is made meanwhile is
# marked with that: it is not before any scope that runs in its thread, and before all that are entered later.
scopes: list[int] = []
_next = count(1).__next__


class Captured(BaseException):
    """Something is about to be written that was there before the scope. No user's `except Exception` is to stop it."""


class Scope:
    """A run that must not write to what was there before.

    Attributes
    ----------
    line
        The user's line that wanted to; "" while none did.
    """

    def __init__(self) -> None:
        self.number = _next()
        self.line = ""


class _Running(local):
    def __init__(self) -> None:
        self.stack: list[Scope] = []


_running = _Running()


@contextmanager
def scope() -> Iterator[Scope]:
    """Run a scope, which a write to what was there before leaves at once: then `line` is set."""
    found = Scope()
    _running.stack.append(found)
    scopes.append(found.number)
    try:
        yield found
    except (Captured, Exception):
        if not found.line:
            raise
    finally:
        _running.stack.pop()
        scopes.remove(found.number)


def is_captured(born: int) -> bool:
    """Say whether what has this mark (0: none) was there before the innermost scope of this thread."""
    return bool(_running.stack) and born < _running.stack[-1].number


def refuse_write() -> None:
    """Leave the innermost scope of this thread, because of the user's line that runs."""
    _running.stack[-1].line = user_line()
    raise Captured
