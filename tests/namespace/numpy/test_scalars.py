"""Arrays without axes as the numbers that they are in NumPy."""

from __future__ import annotations

import contextlib
import fractions
import math
import sqlite3
import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp

from . import comparing


@pytest.fixture
def _names(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let calls name modules beside the arrays."""
    arrays = comparing.data
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        modules = {"Fraction": fractions.Fraction, "statistics": statistics, "database": database}
        monkeypatch.setattr(comparing, "data", lambda: {**arrays(), **modules})
        yield


# Python's own numbers and bytes made of arrays.
PYTHON = """
Fraction(x[0, 0])
Fraction(i[0, 0])
Fraction(i[0, 0], 2)
Fraction(1, i[0, 0])
Fraction(c[0, 0])
Fraction(x)
Fraction(1, 2) ** i[0, 0]
Fraction(5) == i[0, 0]
i[0, 0].numerator
i[0, 0].denominator
x[0, 0].numerator
x.numerator
hasattr(b[0, 0], "denominator")
statistics.mean(v)
statistics.median(v)
statistics.variance(v)
statistics.stdev(v)
statistics.pvariance(v)
statistics.fmean(v)
statistics.harmonic_mean(abs(v))
statistics.mean([v[0], 2])
float(statistics.mean([i[0, 0], i[0, 0]]))
bytes(x)
bytes(i)
bytes(u)
bytes(x.T)
bytes(k[0])
bytes(x[0, 0])
bytes(b[0, 0])
database.execute("select ?", (x[0, 0],)).fetchone()
database.execute("select ?", (i[0, 0],)).fetchone()
database.execute("select ?", (v,)).fetchone()
database.execute("select ?", (f[0, 0],)).fetchone()
np.random.default_rng(i[0, 0]).integers(9, size=3)
np.random.default_rng(x[0, 0])
"""


@pytest.mark.usefixtures("_names")
@pytest.mark.parametrize("call", PYTHON.strip().splitlines())
def test_pythons_numbers_and_bytes_of_arrays_are_those_of_numpys(call: str) -> None:
    comparing.compare(call)


METHODS = ["__hash__", "__round__", "__trunc__", "as_integer_ratio", "bit_count", "hex", "is_integer"]


def outcome(x: Any, name: str) -> Any:
    """Return what a method gives, or the type of what it raises."""
    try:
        return getattr(x, name)()
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        return type(error)


@given(
    st.floats().map(np.float64)
    | st.floats(width=32).map(np.float32)
    | st.integers(-(2**63), 2**63 - 1).map(np.int64)
    | st.integers(0, 255).map(np.uint8)
    | st.booleans().map(np.bool_)
    | st.complex_numbers().map(np.complex128),
)
def test_methods_of_numbers_give_what_those_of_numpys_scalars_give(number: Any) -> None:
    x = xp.asarray(number)[()]
    for name in METHODS:
        wanted = outcome(number, name)
        if isinstance(wanted, type):  # NumPy has not every method for every number
            continue
        if name == "__hash__" and number != number:
            continue  # nan has the hash of the object
        found = outcome(x, name)
        assert (type(found), found) == (type(wanted), wanted), name


@given(st.floats(-1e6, 1e6), st.integers(-3, 6))
def test_round_to_digits_is_numpys(number: float, digits: int) -> None:
    found = np.asarray(round(xp.asarray(number)[()], digits))[()]
    assert found == round(np.float64(number), digits)
    assert type(round(xp.asarray(number)[()])) is int
    assert math.trunc(xp.asarray(number)) == math.trunc(number)


@pytest.mark.parametrize("name", ["as_integer_ratio", "bit_count", "hex", "is_integer"])
@pytest.mark.parametrize("char", "?bBhHiIqQefdFD")
def test_numbers_lack_the_methods_that_numpys_lack(name: str, char: str) -> None:
    for x in (np.dtype(char).type(1), np.ones(1, char)):
        assert hasattr(xp.asarray(x), name) == hasattr(x, name)


@pytest.mark.parametrize("name", ["as_integer_ratio", "bit_count", "hex", "is_integer"])
def test_the_error_says_whose_methods_these_are(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"{name}: .*this is an array of shape \(2,\)"):
        getattr(xp.asarray([1.0, 2.0]), name)
    with pytest.raises(AttributeError, match=rf"{name}: .*this is a number of dtype complex128"):
        getattr(xp.asarray(2j), name)


@pytest.mark.parametrize("name", ["__hash__", "__round__", "__trunc__"])
def test_arrays_with_axes_are_no_numbers(name: str) -> None:
    with pytest.raises(TypeError, match=r"without axes|unhashable"):
        getattr(xp.asarray([1.0, 2.0]), name)()


@pytest.mark.parametrize("name", ["numerator", "denominator"])
def test_only_integers_have_numerators(name: str) -> None:
    assert getattr(xp.asarray(5), name) == getattr(np.int64(5), name)
    for x in (xp.asarray(2.5), xp.asarray([1, 2])):
        with pytest.raises(AttributeError, match=name):
            getattr(x, name)
