"""Methods and attributes, call by call, against NumPy."""

from __future__ import annotations

import copy
import datetime
import decimal
import fractions
import inspect
import math
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.native import compiled

from . import comparing
from .method_calls import HOST, TABLES


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let calls name modules beside the arrays."""
    arrays = comparing.data
    modules: dict[str, Any] = {"math": math, "pickle": pickle, "copy": copy, "datetime": datetime}
    modules |= {"Fraction": fractions.Fraction, "Decimal": decimal.Decimal}
    monkeypatch.setattr(comparing, "data", lambda: {**arrays(), **modules})


@pytest.mark.parametrize("call", [c for table in TABLES for c in table.strip().splitlines()])
def test_a_call_is_numpys(call: str) -> None:
    comparing.compare(call)


@pytest.mark.parametrize("call", HOST.strip().splitlines())
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_a_call_through_the_host_is_numpys(call: str) -> None:
    comparing.compare(call, host=True)


# What NumPy's assignment makes numbers of, or refuses, and its operators take or leave to the object.
OBJECTS = """
"3.5"
"abc"
b"2"
np.str_("2")
None
Fraction(1, 2)
Decimal(2)
datetime.datetime(2020, 1, 1)
datetime.timedelta(1)
np.datetime64("2020-01-01")
np.timedelta64(3, "D")
np.array(5, dtype=object)
np.array("5")
object()
{1}
{}
int
slice(3)
[Fraction(1, 2)] * 3
["1", "2", "3"]
["1", "b", "3"]
[None, 1, 2]
[Decimal(1)] * 3
np.array(["1", "2", "3"])
np.array([1, 2, 3], dtype=object)
np.array([Fraction(1, 2)] * 3)
[[1], [1, 2], [3]]
range(3)
bytearray(b"abc")
np.matrix([1, 2, 3])
np.ma.array([1.0, 2, 3], mask=[0, 1, 0])
"""
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", ">="]


@pytest.mark.parametrize("value", OBJECTS.strip().splitlines())
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_what_is_no_number_is_assigned_as_to_numpys(value: str) -> None:
    for x, one in [("x[0]", "x[0, 1]"), ("i[0]", "i[0, 1]"), ("b[0]", "b[0, 1]"), ("c[0]", "c[0, 1]")]:
        for part in (one, f"{x}[1:]", f"{x}[:]", f"{x}[[2, 0, 1]]"):
            if "64" in value and x == "i[0]":
                continue  # which of NumPy's ways take dates for integers has no rule
            comparing.compare(f"{part} = {value}; {x[0]}", host=True)
    if not value.startswith("np.ma"):
        comparing.compare(f"v[v > 1] = {value}; v", host=True)
        comparing.compare(f"x.fill({value}); x", host=True)
        comparing.compare(f"x.flat[1:4] = {value}; x", host=True)
    comparing.compare(f"s[...] = {value}; s", host=True)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("value", OBJECTS.strip().splitlines())
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_is_no_number_meets_operators_as_numpys(value: str, operator: str) -> None:
    for x in ("x[0]", "i[0]", "x[0, 0]"):
        if x == "x[0, 0]" and operator == "*" and value[0] in "[b":
            continue  # an array without axes, as we have here, takes lists
        comparing.compare(f"{x} {operator} ({value})", host=True)
        comparing.compare(f"({value}) {operator} {x}", host=True)
        if operator not in ("==", "!=", "<", ">="):
            comparing.compare(f"y = {x}.copy(); y {operator}= {value}; y", host=True)


@pytest.mark.filterwarnings("ignore:Fraction.__eq__ runs through NumPy")  # once a process
def test_the_class_of_arrays_makes_an_array_of_a_number() -> None:
    for number in (2, 2.5, 1j, fractions.Fraction(5, 2)):
        assert xp.Array(number) == number
        assert xp.Array(number).shape == ()
    with pytest.raises(TypeError):
        xp.Array([1.0])


# What is not as in NumPy, and why.
REFUSED = {
    "__array_interface__": "NumPy and C would read the memory past `__array__`: past derivatives, past vmap; "
    "so it is for Pillow alone",
    "__array_struct__": "as __array_interface__",
    "__array_finalize__": "there are no subclasses that it could tell",
}


NAMES = {name for name in dir(np.ndarray) if name.startswith("__") or not name.startswith("_")}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_name_of_numpys_array_is_there_or_refused(name: str) -> None:
    assert hasattr(xp.ones((1, 1)), name) != (name in REFUSED)


@pytest.mark.parametrize("name", ["sum", "argmax", "astype", "item", "__array__", "swapaxes"])
def test_the_first_parameter_of_a_method_is_self(name: str) -> None:
    first = next(iter(inspect.signature(getattr(xp.Array, name)).parameters.values()))
    assert (first.name, first.kind) == ("self", inspect.Parameter.POSITIONAL_ONLY)


@pytest.mark.skipif(compiled is None, reason="functions of Python are methods where classes have them")
def test_a_ufunc_is_no_method_of_other_classes() -> None:
    class Layer:
        join = xp.matmul
        bend = xp.tanh

    assert Layer().join(xp.eye(2), xp.ones(2)).tolist() == [1, 1]
    assert Layer().bend(xp.zeros(2)).tolist() == [0, 0]


def test_getsizeof_counts_elements_that_an_array_owns() -> None:
    x = xp.ones(1000)
    assert sys.getsizeof(x) > x.nbytes > sys.getsizeof(x[1:])
