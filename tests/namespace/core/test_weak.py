"""Arrays that stand for Python numbers promote as these do, and what is made of them alone does too."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._namespace.core.array import Array, current
from nabla_array._namespace.core.weak import number_type, standing_for_numbers, weak

DTYPES = ["int8", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
BINARY: list[Callable[..., Any]] = [
    operator.add,
    operator.mul,
    operator.truediv,
    operator.pow,
    xp.hypot,
    xp.maximum,
    xp.arctan2,
]


def _known(number: Any) -> Array:
    return xp.asarray(number)


def _pending(number: Any) -> Array:
    return xp.asarray(number) + 0


@pytest.mark.parametrize("make", [_known, _pending])
@pytest.mark.parametrize("number", [2, 1.5, 1j], ids=repr)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_are_those_of_numbers(dtype: str, number: Any, make: Callable[[Any], Array]) -> None:
    others = [xp.asarray(3, dtype=dtype), xp.ones((2, 3), dtype=dtype), xp.ones(200, dtype=dtype) * 2]
    s = make(number)
    with standing_for_numbers([current(s)]):
        for f in BINARY:
            for x in others:
                for pair, plain in (((s, x), (number, x)), ((x, s), (x, number))):
                    try:
                        expected = f(*plain)
                    except (TypeError, OverflowError):
                        continue
                    found = f(*pair)
                    assert found.dtype == expected.dtype, (f, pair)
                    np.testing.assert_allclose(found, expected, rtol=1e-2)
                    assert number_type(found) is None
        for x in others:
            assert xp.where(x > 0, x, s).dtype == xp.where(x > 0, x, number).dtype
            assert (x == s).dtype == bool


def test_numbers_among_themselves_stay_numbers() -> None:
    i, f = xp.asarray(2)[()], xp.asarray(1.5)[()]
    with standing_for_numbers([current(i), current(f)]):
        binary = [
            (i + 1, int),
            (i * f, float),
            (f * 2, float),
            (i / 2, float),
            (f * 1j, complex),
            (i**2, int),
        ]
        for x, kind in [*binary, (-i, int), (xp.sin(f), float)]:
            assert number_type(x) is kind
            assert x.dtype == np.dtype(kind)
        assert number_type(f > 1) is None
        assert number_type(xp.sum(f)) is None
        i += 1
        assert number_type(i) is int


def test_they_are_forgotten() -> None:
    s, x = xp.asarray(2.0), xp.ones(3, dtype=xp.float32)
    with standing_for_numbers([current(s)]):
        assert (x + s).dtype == xp.float32
        with standing_for_numbers([]):
            assert (x + s).dtype == xp.float32
    with pytest.raises(ZeroDivisionError), standing_for_numbers([current(s)]):
        1 / 0  # noqa: B018
    assert not weak
    assert (x + s).dtype == xp.float64
