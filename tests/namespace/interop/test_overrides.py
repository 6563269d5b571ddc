"""Functions are left to arguments of other libraries that override them (NEP 18), wherever these stand."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import overrides

import nabla_array as xp

# NumPy tells of these by names of before.
SECOND_NAMES = {"amax": "max", "amin": "min", "around": "round"}


class Units:
    """Overrides NumPy's functions, and tells which it was asked for."""

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> str:
        return SECOND_NAMES.get(function.__name__, function.__name__)


class UnitsInMemory(np.ndarray):
    """The same, with memory of its own, as of Astropy's quantities."""

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        return SECOND_NAMES.get(function.__name__, function.__name__)


# NumPy asks what stands for these options, too; nobody else would.
OPTIONS = {"keepdims", "order", "copy", "subok"}
# These tell of an argument, and compute nothing; ours tell what its class would.
INQUIRIES = {"can_cast", "iscomplexobj", "isrealobj", "may_share_memory", "ndim", "result_type", "shape"}
SHARED = {"array2string", "array_repr", "array_str", "shares_memory", "size", "fix"}
NAMES = sorted(
    f.__name__ for f in overrides.get_overridable_numpy_array_functions() if f.__module__ == "numpy"
)


def answers(namespace: Any, name: str, value: Any) -> dict[str, str]:
    """Return who answers with `value` in the place of each parameter of a function, and in a list there."""
    function = getattr(namespace, name)
    parameters = inspect.signature(getattr(np, name)).parameters.values()
    required = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    found = {}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.name in OPTIONS:
            continue
        for what, given in ((parameter.name, value), (f"[{parameter.name}]", [value, value])):
            args = [given if n == parameter.name else 1.0 for n in required]
            named = {} if parameter.name in required else {parameter.name: given}
            try:
                answer = function(*args, **named)
            except Exception as error:
                answer = error
            found[what] = answer if isinstance(answer, str) else "no answer"
    return found


def without_signature(name: str) -> bool:
    try:
        inspect.signature(getattr(np, name))
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("name", [n for n in NAMES if hasattr(np, n) and not without_signature(n)])
def test_an_argument_answers_where_numpy_asks_it(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in (Units(), np.ones(3).view(UnitsInMemory)):
            if name in INQUIRIES | SHARED:
                continue
            told, ours = answers(np, name, value), answers(xp, name, value)
            if isinstance(value, np.ndarray):  # its memory serves where a number would
                told, ours = (
                    {k: v for k, v in t.items() if k in ("out", "start", "stop")} for t in (told, ours)
                )
            assert {k: v for k, v in ours.items() if told[k] != "no answer"} == {
                k: v for k, v in told.items() if v != "no answer"
            }


def test_a_span_of_quantities_is_theirs() -> None:
    span = np.ones(()).view(UnitsInMemory)
    assert xp.linspace(span, 2.0, 3) == xp.linspace(0.0, span, 3) == "linspace"
    assert xp.asarray([1, 2], like=Units()) == "asarray"
    assert xp.sum(xp.ones(3), out=span) == "sum"
    assert float(np.asarray(span)) == 1.0
