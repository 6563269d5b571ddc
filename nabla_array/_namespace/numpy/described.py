"""What turns a function into one of NumPy's names: its docstring, and the way out for what we cannot hold."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from ..._lazy.graph.node import is_ours
from ..core.promotion import UnheldDtypeError, check_override, meets_derived
from ..dispatch import fastpath
from ..dispatch.docstrings import NUMPYS, refer
from ..dispatch.ufuncs import call_it
from ..interop.functions import elsewhere, host_call, others_answer

F = TypeVar("F", bound=Callable[..., Any])


def describe(function: Callable[..., Any], path: str) -> None:
    """Make the docstring whole: a summary, and an example after a blank line, are written at the function."""
    summary, _, example = inspect.cleandoc(function.__doc__ or "").partition("\n\n>>> ")
    shown = f"\n>>> {example}\n" if example else ""
    function.__doc__ = f"{summary}\n\nParameters and results are those of NumPy's `{path}`.\n{shown}"
    refer(function, f"{NUMPYS}{path}.html")


def numpys(function: F) -> F:
    """Let a function be NumPy's of that name: arrays of dtypes that are not ours go to NumPy's, counted."""
    return numpys_in("numpy", np)(function)


def eager_numpys(**options: Any) -> Callable[[F], F]:
    """Let a function be NumPy's of that name, which answers for small arrays that are known.

    The options are those of `fastpath.whole`.
    """

    def decorate(function: F) -> F:
        return fastpath.whole(getattr(np, function.__name__), **options)(numpys(function))

    return decorate


def of_family(function: F, name: str, summary: str, example: str, result: str) -> F:
    """Give one of several functions that are made alike its name, such as ``fft.fft2``, and its docstring."""
    call_it(function, *f"nabla_array.{name}".rsplit(".", 1))
    function.__doc__ = f"{summary}\n\n>>> xp.{name}({example})\n{result}"
    return function


def _is_all_ours(trace: TracebackType | None) -> bool:
    # The standard library's `walk_tb` does this loop, but takes a millisecond to import.
    while trace and is_ours(trace.tb_frame):
        trace = trace.tb_next
    return trace is None


def named(error: Exception, name: str) -> Exception:
    """Return an error that a function behind the one of that name raised, with that name.

    What a function of the user's raises, which ours has called, stays what it is.
    """
    inner, colon, rest = str(error).partition(": ")
    if not colon or inner == name or not inner.isidentifier() or not _is_all_ours(error.__traceback__):
        return error
    if isinstance(error, np.exceptions.AxisError) and error.axis is not None and error.ndim is not None:
        return np.exceptions.AxisError(error.axis, error.ndim, name)
    return type(error)(f"{name}: {rest}") if error.args == (str(error),) else error


def numpys_in(path: str, module: Any) -> Callable[[F], F]:
    """Do the same for a function of a module of NumPy's."""

    def decorate(function: F) -> F:
        name = function.__name__
        theirs = getattr(module, name)
        where = f"{path}.{name}".removeprefix("numpy.")

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if meets_derived(name, args):
                return host_call(theirs, where, args, kwargs)
            try:
                check_override(name, kwargs.get("like"))
                return function(*args, **kwargs)
            except Exception as error:
                if isinstance(error, UnheldDtypeError) or others_answer(args, kwargs):
                    return elsewhere(theirs, where, args, kwargs, error)
                told = named(error, name)
                if told is error:
                    raise
                raise told.with_traceback(error.__traceback__) from None

        describe(call, f"{path}.{name}")
        return call  # type: ignore[return-value]

    return decorate
