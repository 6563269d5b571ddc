"""Scopes: what was there before one must not be written to."""

from __future__ import annotations

import threading

import pytest

from nabla_array._lazy.graph import scopes as module
from nabla_array._lazy.graph.scopes import Captured, Scope, is_captured, refuse_write, scopes


def mark() -> int:
    """Return the mark of what is made now."""
    return scopes[-1] if scopes else 0


def test_what_was_there_before_is_captured() -> None:
    assert not is_captured(mark())
    before = mark()
    with Scope():
        outer = mark()
        assert is_captured(before)
        assert not is_captured(outer)
        with Scope():
            assert is_captured(before)
            assert is_captured(outer)
            assert not is_captured(mark())
        assert not is_captured(outer)
        assert not is_captured(mark())
    assert not is_captured(before)
    assert not scopes


def test_a_write_leaves_the_innermost_scope_and_names_the_line() -> None:
    reached = []
    with Scope() as outer:
        with Scope() as inner:
            try:
                refuse_write()
            except Exception:  # a user's, which must not stop it
                reached.append("caught")
            reached.append("went on")
        reached.append("left")
    assert reached == ["left"]
    assert inner.line.startswith(__file__)
    assert outer.line == ""


def test_an_error_that_follows_a_refused_write_is_part_of_it() -> None:
    """A user's `finally` that fails for what is missing does not hide the line."""
    with Scope() as scope:
        try:
            refuse_write()
        finally:
            raise KeyError("missing")
    assert scope.line


def test_other_errors_and_interrupts_go_through() -> None:
    def interrupted() -> None:
        try:
            refuse_write()
        except Captured:
            raise KeyboardInterrupt from None

    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), Scope():
            raise error
    with pytest.raises(KeyboardInterrupt), Scope():
        interrupted()
    assert not scopes


def test_a_scope_is_its_threads_and_marks_are_everybodys() -> None:
    found: list[tuple[bool, int]] = []

    def work() -> None:
        found.append((is_captured(0), mark()))
        with Scope():
            found.append((is_captured(0), mark()))

    with Scope() as mine:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert mark() == mine.number
    (alone, seen), (inside, own) = found
    assert (alone, inside) == (False, True)
    assert seen == mine.number < own


def test_a_thread_that_comes_late_with_its_number_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else arrays of the later scope would be marked as if they had been there before it."""
    numbers = iter([10**9 + 2, 10**9 + 1])
    monkeypatch.setattr(module, "_next", lambda: next(numbers))
    with Scope() as later, Scope() as earlier:
        assert later.number > earlier.number
        assert mark() == later.number
    assert not scopes
