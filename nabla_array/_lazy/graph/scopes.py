"""Scopes: runs of a function that stand for many, so that what was there before must not be written to.

A function under `vmap` runs once for all examples, the body of a loop once for all rounds. What it writes to
arrays of its own is right; what it writes to others would be written once, not once for each. Arrays that are
made in a scope are marked with its number, which tells the two apart.
"""

from __future__ import annotations

from _thread import _local as local  # `threading` takes a millisecond to import
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn

from .node import user_line

if TYPE_CHECKING:
    from typing import Self

# The numbers of the scopes that run, in any thread, in ascending order. An array is marked with the last one:
# that is no smaller than any that runs, and smaller than all that will be entered. Two threads may take their
# numbers in one order and come here in the other, so that a number is put into its place, in one call of C.
scopes: list[int] = []
_next = count(1).__next__
_insort: Any = None  # of `bisect`, which the import of this package has no time for


class Captured(BaseException):
    """What was there before a scope is about to be written; no `except Exception` of a user's stops this."""


class _Running(local):
    def __init__(self) -> None:
        self.stack: list[Scope] = []


_running = _Running()


class Scope:
    """A run that must not write to what was there before; a write to that leaves it at once."""

    def __init__(self) -> None:
        self.number = 0
        self.line = ""  # the user's that was about to write

    def __enter__(self) -> Self:
        global _insort
        if _insort is None:
            from bisect import insort as _insort
        self.number = _next()
        _running.stack.append(self)
        _insort(scopes, self.number)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> bool:
        _running.stack.pop()
        scopes.remove(self.number)
        return bool(self.line) and isinstance(error, Captured | Exception)


def is_captured(born: int) -> bool:
    """Say whether what has this mark (0: none) was there before the innermost scope of this thread."""
    return bool(_running.stack) and born < _running.stack[-1].number


def refuse_write() -> NoReturn:
    """Leave the innermost scope of this thread, because of the user's line that runs."""
    _running.stack[-1].line = user_line()
    raise Captured
