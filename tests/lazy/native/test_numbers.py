"""Functions of single elements, which native code gives by NumPy's loops, against NumPy."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array._lazy.graph.program import Program
from nabla_array._lazy.native import compiled
from nabla_array._lazy.schedule.plan_cache import plans

BINARY = [
    *(
        operator.add,
        operator.sub,
        operator.mul,
        operator.truediv,
        operator.floordiv,
        operator.mod,
        operator.pow,
    ),
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
    *(operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift),
]
FUNCTIONS = ["maximum", "hypot", "arctan2", "logaddexp", "copysign", "nextafter"]
UNARY = [
    "negative",
    "abs",
    "sqrt",
    "exp",
    "log",
    "sin",
    "tanh",
    "floor",
    "sign",
    "isnan",
    "signbit",
    "invert",
    "square",
]
FLOATS = [0.0, -0.0, 1.0, -2.5, 0.5, 3.0, np.inf, -np.inf, np.nan, 1e300, 5e-324, 2.0**24 + 1]
VALUES: dict[str, list[Any]] = {
    "bool": [False, True],
    "int8": [0, 1, -1, 3, 127, -128],
    "uint8": [0, 1, 3, 255],
    "int32": [0, 1, -1, 5, 2**31 - 1, -(2**31)],
    "int64": [0, 1, -1, 7, 2**63 - 1, -(2**63)],
    "uint64": [0, 1, 9, 2**64 - 1],
    "float32": FLOATS,
    "float64": FLOATS,
    "complex128": [0j, 1 + 2j, complex(np.inf, 1), complex(0, np.nan)],
}


def outcome(function: Any, *args: Any) -> Any:
    """Return the dtype and the bits of a result, None where there is none."""
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(function(*args))
    except (TypeError, ValueError, OverflowError, NotImplementedError):
        return None
    return found.dtype, np.where(np.isnan(found), 0, found).tobytes(), np.isnan(found).tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", VALUES)
def test_operators_on_two_elements_are_numpys(dtype: str) -> None:
    differing = []
    values = np.array(VALUES[dtype], dtype) if dtype != "float32" else np.array(VALUES[dtype]).astype(dtype)
    for x, y in itertools.product(values, values):
        a, b = np.asarray(x), np.asarray(y)
        for function in BINARY:
            if function in (operator.floordiv, operator.mod) and not (np.isfinite(x) and np.isfinite(y)):
                continue  # the standard's
            for p, q in ((a, b), (a, y.item()), (x.item(), b)):
                expected = outcome(function, p, q)
                given = [xp.asarray(v) if isinstance(v, np.ndarray) else v for v in (p, q)]
                if expected is not None and outcome(function, *given) != expected:
                    differing.append((function.__name__, p, q))
        for name in FUNCTIONS:
            expected = outcome(getattr(np, name), a, b)
            if expected is not None and outcome(getattr(xp, name), xp.asarray(a), xp.asarray(b)) != expected:
                differing.append((name, a, b))
    assert differing == []


NUMBERS = [2, -1, 0.5, -0.0, 1j, complex(2, -0.0), complex(np.nan, 1), np.float64(2.5), np.complex128(2j)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", VALUES)
def test_operators_on_elements_and_numbers_of_other_dtypes_are_numpys(dtype: str) -> None:
    differing = []
    few = [np.asarray(x) for x in np.array(VALUES[dtype][:4]).astype(dtype)]
    others = [np.array(x).astype(d) for d in VALUES if d != dtype for x in VALUES[d][:4]]
    for x, y in itertools.product(few, [*others, *NUMBERS]):
        for function in BINARY:
            if function in (operator.floordiv, operator.mod) and not (np.isfinite(x) and np.isfinite(y)):
                continue  # the standard's
            for p, q in ((x, y), (y, x)):
                if function is operator.pow and p == 0 and str(p).startswith("-"):
                    continue  # NumPy's arrays take a root for 0.5: -0.0 of -0.0, and 0.0 of its scalars
                expected = outcome(function, p, q)
                given = [xp.asarray(v) if isinstance(v, np.ndarray) else v for v in (p, q)]
                if expected is not None and outcome(function, *given) != expected:
                    differing.append((function.__name__, p, q))
    assert differing == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_element_are_numpys(name: str, dtype: str) -> None:
    values = np.array(VALUES[dtype], dtype) if dtype != "float32" else np.array(VALUES[dtype]).astype(dtype)
    for x in values:
        expected = outcome(getattr(np, name), np.asarray(x))
        if expected is not None:
            assert outcome(getattr(xp, name), xp.asarray(x)) == expected, x


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(operator.truediv, (1.0, 0.0)), (operator.floordiv, (1, 0)), (np.sqrt, (-1.0,)), (np.exp, (1e4,))],
)
def test_faults_of_single_elements_are_told(function: Any, arguments: tuple[Any, ...]) -> None:
    with xp.errstate(all="raise"), pytest.raises(FloatingPointError):
        function(*[xp.asarray(v) for v in arguments])


@pytest.mark.parametrize("dtype", VALUES)
def test_an_element_is_written_as_numpy_writes_it(dtype: str) -> None:
    values = np.array(VALUES[dtype], dtype) if dtype != "float32" else np.array(VALUES[dtype][:6], dtype)
    for new in [*values, *[v.item() for v in values], *[np.asarray(v) for v in values]]:
        expected = np.zeros(3, dtype)
        expected[1] = new
        found = xp.zeros(3, dtype=getattr(xp, dtype))
        found[1] = xp.asarray(new) if isinstance(new, np.ndarray) else new
        assert np.asarray(found).tobytes() == expected.tobytes(), new
    with pytest.raises((OverflowError, TypeError, ValueError)):
        xp.zeros(3, dtype=xp.int8)[1] = 300


@pytest.mark.skipif(compiled is None, reason="compiled code tells numbers that change from those that stay")
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8"])
def test_numbers_that_change_need_no_other_plan(dtype: str) -> None:
    v = np.linspace(0, 9, 100_000).astype(dtype)
    x = xp.asarray(v)
    plans.clear()
    for i in range(40):
        found = np.asarray((x * (i + 3)) - 15 + x * (i + 3))
        np.testing.assert_array_equal(found, (v * (i + 3)) - 15 + v * (i + 3))
    # As constants at first, then as leaves.
    assert len([program for _, program in plans if isinstance(program, Program)]) <= 20


@pytest.mark.parametrize(
    "number", [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, 5e-324, 2**53 + 1, True, 1j, -0.0j]
)
def test_a_number_is_itself_the_first_time_and_later(number: Any) -> None:
    v = np.linspace(-2, 2, 3000)
    x = xp.asarray(v)
    with np.errstate(all="ignore"):
        wanted = np.copysign(1, (v * number).real), v / number if number else v - number, number + v
    for _ in range(8):
        with xp.errstate(all="ignore"):
            found = xp.copysign(1, (x * number).real), x / number if number else x - number, number + x
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(a), b)
