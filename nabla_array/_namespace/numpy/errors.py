"""NumPy's error state, which belongs to the line that records an operation."""

from __future__ import annotations

from _thread import _local as local  # `threading` takes a millisecond to import
from _thread import get_ident
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..._lazy.cpu import faults
from ..dispatch.docstrings import NUMPYS, refer


class errstate:
    """Decide for a block of code, or a function, what becomes of floating-point errors, as NumPy's does.

    It counts where an operation is written, not where its elements are computed. Warnings come where
    the setting `float_warnings` is on, or a block wants them. Compiled code and MAX report nothing.

    >>> with xp.errstate(divide="ignore"):
    ...     x = 1 / xp.zeros(2)
    >>> x
    array([inf, inf])
    >>> with xp.errstate(divide="raise"):
    ...     1 / xp.zeros(2)
    Traceback (most recent call last):
        ...
    FloatingPointError: divide by zero encountered in divide
    """

    def __init__(self, **changes: Any) -> None:
        self._given = changes
        self._theirs = np.errstate(**changes)  # raises TypeError for what is no setting
        self._ours = faults.recorded_under(_changes(**changes))

    def __enter__(self) -> errstate:
        self._theirs.__enter__()
        self._ours.__enter__()
        _thread.asked.append(_Asked())
        return self

    def __exit__(self, *details: Any) -> None:
        _thread.asked.pop().leave()
        self._ours.__exit__()
        self._theirs.__exit__(*details)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Let a function run so."""

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with errstate(**self._given):
                return function(*args, **kwargs)

        return call


class _Asked:
    """What `seterr` asked for in a block of `errstate`, until its end; or in a thread, outside of blocks."""

    def __init__(self) -> None:
        self._changes: faults.State = {}
        self._recorded: faults.recorded_under | None = None
        self._thread = get_ident()

    def change(self, changes: faults.State, is_outermost: bool) -> None:
        """Ask for more."""
        self.leave()
        # "warn" is what there was before anybody asked, mostly put back: the settings decide.
        self._changes.update({kind: "usual" if mode == "warn" else mode for kind, mode in changes.items()})
        if is_outermost:
            faults.listener.usual.update(self._changes)
            faults.listener.numpys.update(faults.of_numpy(self._changes))
            # The state of what is not marked: only what is awaited must be known when something is recorded.
            if not faults.is_urgent(self._changes) and self._changes.get("under", "ignore") == "ignore":
                return
        self._recorded = faults.recorded_under(self._changes)
        self._recorded.__enter__()

    def leave(self) -> None:
        """Record as before."""
        if self._recorded is not None:
            self._recorded.__exit__()
            self._recorded = None

    def __del__(self) -> None:
        """End with the thread: a later one may get its number, by which nodes are marked."""
        # Another thread finalizes this where the interpreter ends first.
        if self._recorded is not None and self._thread == get_ident():
            self._recorded.unmark()


class _Thread(local):
    def __init__(self) -> None:
        self.asked = [_Asked()]


_thread = _Thread()


def _changes(all: str | None = None, call: Any = None, **named: str | None) -> dict[str, str]:
    """Return the changes of an error state that were asked for, by kind."""
    given = {k: v for k, v in named.items() if v is not None}
    return given if all is None else dict.fromkeys(faults.listener.usual, all) | given


def seterr(
    all: str | None = None,
    divide: str | None = None,
    over: str | None = None,
    under: str | None = None,
    invalid: str | None = None,
) -> dict[str, str]:
    """Decide from now on, in this thread, what becomes of floating-point errors; returns the decision before.

    In a block of `errstate` it counts until the block ends. Parameters and results are those of NumPy's
    `numpy.seterr`.

    >>> before = xp.seterr(divide="ignore")
    >>> 1 / xp.zeros(2)
    array([inf, inf])
    >>> xp.seterr(**before)["divide"]
    'ignore'
    """
    changes = {"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid}
    before = np.seterr(**changes)  # type: ignore[arg-type]
    _thread.asked[-1].change(_changes(**changes), is_outermost=len(_thread.asked) == 1)
    return {kind: str(decision) for kind, decision in before.items()}


for _it in (errstate, seterr):
    refer(_it, f"{NUMPYS}numpy.{_it.__name__}.html")
