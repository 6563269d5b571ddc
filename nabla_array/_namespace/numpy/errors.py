"""NumPy's error state, which belongs to the line that records an operation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
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
        self._before = dict(faults.usual), dict(faults.numpys)  # `seterr` in the block counts until its end
        self._ours.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        self._ours.__exit__()
        usual, numpys = self._before
        faults.usual.update(usual)
        faults.numpys.update(numpys)
        self._theirs.__exit__(*details)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Let a function run so."""

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with errstate(**self._given):
                return function(*args, **kwargs)

        return call


# What `seterr` asks for that must be known when something is recorded.
_lasting = ExitStack()


def _changes(all: str | None = None, call: Any = None, **named: str | None) -> dict[str, str]:
    """Return the changes of an error state that were asked for, by kind."""
    given = {k: v for k, v in named.items() if v is not None}
    return given if all is None else dict.fromkeys(faults.usual, all) | given


def seterr(
    all: str | None = None,
    divide: str | None = None,
    over: str | None = None,
    under: str | None = None,
    invalid: str | None = None,
) -> dict[str, str]:
    """Decide from now on what becomes of floating-point errors; returns what was decided before.

    Parameters and results are those of NumPy's `numpy.seterr`.

    >>> before = xp.seterr(divide="ignore")
    >>> 1 / xp.zeros(2)
    array([inf, inf])
    >>> xp.seterr(**before)["divide"]
    'ignore'
    """
    changes = {"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid}
    before = np.seterr(**changes)  # type: ignore[arg-type]
    # "warn" is what there was before anybody asked, mostly put back: the settings decide.
    faults.usual.update({k: "usual" if v == "warn" else v for k, v in _changes(**changes).items()})
    faults.numpys.update(_changes(**changes))
    _lasting.close()
    if faults.is_urgent(faults.usual) or faults.usual["under"] != "ignore":
        _lasting.enter_context(faults.recorded_under({}))
    return {kind: str(decision) for kind, decision in before.items()}


for _it in (errstate, seterr):
    refer(_it, f"{NUMPYS}numpy.{_it.__name__}.html")
