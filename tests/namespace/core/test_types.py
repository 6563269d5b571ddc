"""What the protocols for type checkers promise of functions, the functions have."""

from __future__ import annotations

import inspect

import pytest

import nabla_array as xp
from nabla_array._namespace.core.types import Binary, BinaryToTwo, Ufunc, Unary, UnaryToTwo


@pytest.mark.parametrize(
    ("function", "kind"), [(xp.exp, Unary), (xp.add, Binary), (xp.modf, UnaryToTwo), (xp.divmod, BinaryToTwo)]
)
def test_ufuncs_have_what_their_types_say(function: object, kind: type) -> None:
    public = [n for k in (Ufunc, kind) for n in vars(k) if not n.startswith("_")]
    assert [n for n in public if not hasattr(function, n)] == []


@pytest.mark.parametrize(("function", "kind"), [(xp.exp, Unary), (xp.add, Binary)])
def test_calls_take_the_arguments_of_their_types(function: object, kind: type) -> None:
    told = [n for n in inspect.signature(kind.__call__).parameters if n not in ("self", "x", "x1", "x2")]
    assert {*told} <= {*inspect.signature(function).parameters, "sig"}  # type: ignore[arg-type]
