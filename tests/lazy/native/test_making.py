"""Little arrays that compiled code makes of numbers are NumPy's, elements and dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp

BIG = 2**64 - 59
INTEGERS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=True)


def ours(x: Any) -> Any:
    """Return nested lists with numbers of NumPy's as arrays of ours without axes."""
    if isinstance(x, list | tuple):
        return type(x)(map(ours, x))
    return xp.asarray(x)[()] if isinstance(x, np.generic) else x


def same(x: Any, y: np.ndarray) -> None:
    assert type(x) is xp.Array
    assert (x.shape, x.dtype) == (y.shape, y.dtype)
    np.testing.assert_array_equal(np.asarray(x), y)


numbers = st.one_of(
    INTEGERS, FLOATS, st.booleans(), FLOATS.map(np.float64), INTEGERS.map(np.int64), st.just(np.float32(0.1))
)
rows = st.integers(0, 4).flatmap(lambda n: st.lists(st.lists(numbers, min_size=n, max_size=n), max_size=4))


@given(st.one_of(st.lists(numbers, max_size=70), rows), st.sampled_from([None, float, "f8", int, "f4"]))
def test_lists_of_numbers(values: list[Any], dtype: Any) -> None:
    with np.errstate(all="ignore"):
        try:
            wanted = np.array(values, dtype)
        except (OverflowError, ValueError):
            return  # what NumPy refuses is for other tests
        for made in (xp.array(ours(values), dtype), xp.asarray(ours(values), dtype)):
            same(made, wanted)
        same(xp.array(tuple(ours(values)), dtype=dtype), wanted)


@pytest.mark.parametrize("shape", [0, 1, 3, (), (2, 3), [2, 2], (0, 2), 70, (40, 40)], ids=str)
@pytest.mark.parametrize("dtype", [None, bool, int, float, complex, "u1", "f4"])
def test_arrays_full_of_a_number(shape: Any, dtype: Any) -> None:
    for name in ("zeros", "ones", "empty"):
        made, theirs = getattr(xp, name)(shape, dtype), getattr(np, name)(shape, dtype)
        assert (made.shape, made.dtype) == (theirs.shape, theirs.dtype)
        if name != "empty":
            same(made, theirs)
    for value in (2, 0, 1.5, True, 2 - 1j):
        if not isinstance(value, complex) or dtype in (None, complex):
            same(xp.full(shape, value, dtype), np.full(shape, value, dtype))


def test_what_a_dtype_has_not_raises_as_numpys() -> None:
    with pytest.raises(OverflowError):
        xp.full(3, 300, "u1")
    with pytest.raises(ValueError, match="negative"):
        xp.zeros(-1)


@pytest.mark.parametrize(
    "integer", [BIG, -BIG, 2**63, 2**200, 10**400], ids=["e19", "-e19", "2^63", "2^200", "e400"]
)
def test_integers_beyond_64_bits_meet_floats(integer: int) -> None:
    x, y = xp.asarray([1e20, 3.0])[0], np.float64(1e20)
    for how in (lambda a: a / integer, lambda a: integer * a, lambda a: a < integer, lambda a: a - integer):
        try:
            wanted = how(y)
        except OverflowError:
            with pytest.raises(OverflowError):
                how(x)
        else:
            assert how(x) == wanted


@pytest.mark.parametrize(
    "name", ["deg2rad", "rint", "fabs", "fmod", "hypot", "heaviside", "logaddexp2", "spacing"]
)
@pytest.mark.parametrize("value", [2.5, -3, np.float32(0.5), np.int16(7), True, float("nan"), float("inf")])
def test_ufuncs_of_one_number(name: str, value: Any) -> None:
    theirs, own = getattr(np, name), getattr(xp, name)
    for more in ((1.5,), (2,), (np.float32(3.0),)) if theirs.nin == 2 else ((),):
        with np.errstate(all="ignore"):
            wanted = theirs(value, *more)
        for x in (value, xp.asarray(value)[()]):
            if isinstance(x, xp.Array) or not isinstance(value, bool):
                if isinstance(x, xp.Array) and isinstance(value, int | float):
                    with np.errstate(all="ignore"):
                        wanted = theirs(np.asarray(value)[()], *more)
                found = own(x, *more)
                np.testing.assert_array_equal(np.asarray(found), wanted)
                if wanted.dtype != np.float16:
                    assert found.dtype == wanted.dtype
