"""Every elementwise function: bit for bit NumPy's, but for what the standard asks otherwise."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import nabla_array as xp
from nabla_array import Array
from nabla_array._namespace.chapters import elementwise
from nabla_array._namespace.dispatch.elementwise_calls import PRIMITIVES

from ...lazy.execution import assert_same
from ...lazy.registry import DTYPES, SAMPLED, values
from ..strategies import ALL, quietly

# NumPy has all of them under the standard's names; those that are no ufuncs there take one operand.
FUNCTIONS: dict[str, Callable[..., Any]] = {n: getattr(np, n) for n in elementwise.__all__ if n != "clip"}
BINARY = {name: f for name, f in FUNCTIONS.items() if getattr(f, "nin", 1) == 2}
UNARY = {name: f for name, f in FUNCTIONS.items() if name not in BINARY}
INTEGER_FLOATS = {"ceil", "floor", "round", "trunc"}


def both(name: str, *operands: Any) -> tuple[Any, Any]:
    """What we and NumPy make of it; an error counts as its type."""
    mine = [xp.asarray(x) if isinstance(x, np.ndarray) else x for x in operands]
    reference = FUNCTIONS[name]
    try:
        wanted = np.asarray(quietly(reference, *operands))
    except (OverflowError, TypeError, ValueError) as error:
        wanted = type(error)
    try:
        return np.asarray(getattr(xp, name)(*mine)), wanted
    except (OverflowError, TypeError, ValueError) as raised:
        error = raised
    assert str(error).startswith((f"{name}: ", f"{_primitive_name(name)}: ")), error
    return type(error), wanted


def _primitive_name(name: str) -> str:
    found = PRIMITIVES.get(getattr(xp, name))
    return found.name if found is not None else name


def assert_alike(got: Any, wanted: Any) -> None:
    if isinstance(got, type) or isinstance(wanted, type):
        assert isinstance(got, type), f"NumPy raises {wanted}"
        assert isinstance(wanted, type), f"NumPy does not raise {got}"
        assert issubclass(wanted, got)
    else:
        assert_same(got, wanted)


# -- values -------------------------------------------------------------------------------------------


def by_the_standard(name: str, operands: list[np.ndarray], wanted: Any) -> Any:
    """NumPy's result with the standard's special values where it has others."""
    x = operands[0]
    if isinstance(wanted, type):
        return wanted
    if name == "floor_divide" and x.dtype.kind == "f":
        odd = (np.isinf(x) != np.isinf(operands[1])) & (operands[1] != 0)
        return np.where(odd, quietly(np.divide, *operands), wanted)
    if name == "expm1" and x.dtype.kind == "c":
        wanted = np.where(np.isfinite(x), wanted, quietly(np.exp, x) - 1)
        wanted.real[x == 0] = 0.0
        return wanted
    if name == "tanh" and x.dtype.kind == "c":
        wanted.imag[np.isinf(x.real)] = np.copysign(0.0, x.imag)[np.isinf(x.real)]
    return wanted


@pytest.mark.parametrize("char", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, char: str) -> None:
    x = values(char)
    got, wanted = both(name, x)
    if char == "?" and name in INTEGER_FLOATS | {"real", "imag", "conj", "positive"}:
        return  # the standard has no booleans here; see test_refused
    assert_alike(got, by_the_standard(name, [x], wanted))


@pytest.mark.parametrize("char", SAMPLED)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, char: str) -> None:
    x = values(char)[:: 3 if char in "FD" else 1]
    y = x
    if name in ("pow", "bitwise_left_shift", "bitwise_right_shift") and char in "iBL":
        y = np.arange(4, dtype=char)
    operands = [a.copy() for a in np.meshgrid(x, y, indexing="ij")]
    got, wanted = both(name, *operands)
    assert_alike(got, by_the_standard(name, operands, wanted))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of any dtypes whose shapes broadcast, 0-d and empty ones too."""
    shapes = draw(
        hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=0, max_dims=3, min_side=0)
    ).input_shapes
    out = []
    for shape in shapes:
        pool = values(np.dtype(draw(st.sampled_from(ALL))).char)
        start = draw(st.integers(0, 20))
        out.append(np.resize(np.roll(pool, start), shape).astype(pool.dtype))
    return out[0], out[1]


_FLOAT_ONLY = sorted(set(BINARY) - {"floor_divide", "pow", "bitwise_left_shift", "bitwise_right_shift"})


@given(st.sampled_from(_FLOAT_ONLY), pairs())
def test_broadcasting_and_promotion(name: str, operands: tuple[np.ndarray, np.ndarray]) -> None:
    assert_alike(*both(name, *operands))


@given(pairs(), st.data())
def test_shapes_that_do_not_broadcast(operands: tuple[np.ndarray, np.ndarray], data: st.DataObject) -> None:
    x = xp.asarray(np.ones((2, 3)))
    y = xp.asarray(np.ones(data.draw(st.sampled_from([(2,), (3, 2), (4, 3), (0,), (2, 3, 2)]))))
    for function in (xp.add, xp.less, operator.mul, xp.atan2):
        with pytest.raises(ValueError, match=r"^\w+: shapes \(2, 3\), .* could not be broadcast together"):
            function(x, y)
    with pytest.raises(ValueError, match=r"^add: .*shape"):
        x += xp.asarray(np.ones((4, 2, 3)))


# -- Python scalars -----------------------------------------------------------------------------------

SCALARS = [True, False, 0, 1, 2, -1, 300, 2**40, 2**63, -(2**70), 0.0, -0.0, 0.5, -2.5, 2j, 1e300]
SCALARS += [float("nan"), float("inf"), complex(float("nan"), 1.0)]

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "remainder": operator.mod,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("char", SAMPLED)
@pytest.mark.parametrize("name", [*OPERATORS, "maximum", "hypot", "copysign", "nextafter"])
def test_python_scalars(name: str, char: str) -> None:
    x = values(char)
    for scalar in SCALARS:
        for operands in ((x, scalar), (scalar, x)):
            for _ in range(2):  # the second call may take a shorter way
                assert_alike(*both(name, *operands))
            if name in OPERATORS:
                mine = [xp.asarray(a) if a is x else a for a in operands]
                try:
                    got: Any = np.asarray(OPERATORS[name](*mine))
                except (OverflowError, TypeError) as error:
                    got = type(error)
                assert_alike(got, both(name, *operands)[1])


def test_logical_functions_take_any_scalar_as_its_truth() -> None:
    x = xp.asarray([0.0, -0.0, 2.0, np.nan])
    for scalar in SCALARS:
        wanted = np.logical_and(np.asarray(x), bool(scalar)).tolist()
        assert np.asarray(xp.logical_and(x, scalar)).tolist() == wanted
        assert np.asarray(xp.logical_and(scalar, x)).tolist() == wanted


def test_scalars_do_not_mix_up_zeros_and_kinds() -> None:
    x = xp.asarray([1.0, -1.0])
    for _ in range(2):
        assert np.signbit(np.asarray(x * 0.0)).tolist() == [False, True]
        assert np.signbit(np.asarray(x * -0.0)).tolist() == [True, False]
        assert np.signbit(np.asarray(x * 0)).tolist() == [False, True]
        assert (x * True).dtype == (x * 1).dtype == np.float64
        i = xp.asarray([1, 2], dtype=np.int8)
        assert [(i * s).dtype.name for s in (True, 1, 1.0, 1j)] == ["int8", "int8", "float64", "complex128"]


def test_comparing_with_integers_beyond_the_dtype() -> None:
    x = xp.asarray(np.array([0, 255], np.uint8))
    for beyond, larger in ((300, True), (-1, False), (2**80, True), (-(2**80), False)):
        assert np.asarray(x < beyond).tolist() == [larger] * 2
        assert np.asarray(x >= beyond).tolist() == [not larger] * 2
        assert np.asarray(beyond > x).tolist() == [larger] * 2
        assert np.asarray(x == beyond).tolist() == [False] * 2
        assert np.asarray(beyond != x).tolist() == [True] * 2


# -- refusals -----------------------------------------------------------------------------------------

REFUSED = {
    "positive": "?",
    "negative": "?",
    "subtract": "?",
    "sign": "?",
    "bitwise_invert": "efdFD",
    "bitwise_and": "efdFD",
    "floor": "FD",
    "remainder": "FD",
    "atan2": "FD",
    "hypot": "FD",
    "logaddexp": "FD",
    "copysign": "FD",
    "nextafter": "FD",
    "signbit": "FD",
    "bitwise_left_shift": "efdFD",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    for char in REFUSED[name]:
        x = xp.asarray(np.ones(2, char))
        before = np.array(x)
        operands = (x, x) if name in BINARY else (x,)
        with pytest.raises(TypeError, match=rf"^({name}|{_primitive_name(name)}): "):
            getattr(xp, name)(*operands)
        np.testing.assert_array_equal(np.asarray(x), before)


@pytest.mark.parametrize("wrong", ["text", object(), None, {1: 2}, np.array(["a"]), np.array([None])])
def test_what_is_no_array(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"^(sin|add): "):
        xp.sin(wrong)
    with pytest.raises(TypeError, match=r"^add: "):
        xp.add(xp.asarray([1.0]), wrong)


# -- functions with more parameters -------------------------------------------------------------------


@given(pairs(), st.sampled_from([None, 0, 1, -1]), st.sampled_from([None, 0, 2, 1]))
def test_clip_with_scalars(operands: tuple[np.ndarray, np.ndarray], low: Any, high: Any) -> None:
    x = operands[0]
    assume(not (x.dtype.kind == "b" and low is None and high is None))  # NumPy refuses that
    got = np.asarray(xp.clip(xp.asarray(x), low, high))
    np.testing.assert_array_equal(got, np.clip(x, low, high), strict=True)  # but for the sign of 0


def test_clip_with_arrays() -> None:
    x = np.array([[np.nan, -3.0, 0.5], [7.0, -np.inf, np.inf]])
    low, high = np.array([0.0, -1.0, np.nan]), np.array([[1.0], [5.0]])
    wanted = np.clip(x, low, high)
    assert_same(np.asarray(xp.clip(*map(xp.asarray, (x, low, high)))), wanted)
    for f, wanted in ((np.float32, np.float32), (np.float64, np.float64)):
        assert xp.clip(xp.asarray(x.astype(f)), 0, 1.0).dtype == wanted
    y = xp.asarray([1.0])
    z = xp.clip(y)
    z += 1.0
    assert float(y[0]) == 1.0


@pytest.mark.parametrize("decimals", [0, 2, -1, 20])
def test_round_to_decimals(decimals: int) -> None:
    for char in "iefdFD" if decimals else "?iefdFD":
        x = values(char)
        assert_same(np.asarray(xp.round(xp.asarray(x), decimals)), quietly(np.round, x, decimals))


def test_real_and_imag_are_views() -> None:
    z = xp.asarray([1 + 2j, 3 - 1j])
    xp.real(z)[0] = 9.0
    xp.imag(z)[1] = 8.0
    assert np.asarray(z).tolist() == [9 + 2j, 3 + 8j]
    x = xp.asarray([1.0])
    assert np.asarray(xp.imag(x)).tolist() == [0.0]


def test_positive_is_a_copy() -> None:
    x = xp.asarray([1.0, 2.0])
    y = +x
    y[0] = 5.0
    assert np.asarray(x).tolist() == [1.0, 2.0]


@pytest.mark.usefixtures("recorded")
def test_results_are_lazy() -> None:
    x = xp.asarray([1.0, 2.0])
    for name in UNARY:
        if name not in ("positive", "real", "imag", "bitwise_invert"):
            y: Array = getattr(xp, name)(x)
            assert y._node.value is None, name


# -- the reference implementation as the judge --------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if hasattr(strict, n)])
@pytest.mark.parametrize("dtype", ALL)
def test_where_the_reference_accepts_we_agree(name: str, dtype: str) -> None:
    pool = values(np.dtype(dtype).char)[::2]
    if name == "sign" and pool.dtype.kind == "c":
        pytest.skip("the reference divides by the modulus, which rounds and makes nan of infinities")
    operands = [pool] if name in UNARY else [a.copy() for a in np.meshgrid(pool, pool[:3], indexing="ij")]
    if name in ("pow", "bitwise_left_shift", "bitwise_right_shift") and pool.dtype.kind in "iu":
        operands[1] = operands[1] % 3
    try:
        wanted = np.asarray(quietly(getattr(strict, name), *map(strict.asarray, operands)))
    except TypeError:
        return
    got = np.asarray(getattr(xp, name)(*map(xp.asarray, operands)))
    assert_same(got, by_the_standard(name, operands, wanted.copy()))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 17, 1000, 300_000])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremes_of_zeros_have_numpys_sign(name: str, n: int, dtype: str) -> None:
    zeros = np.zeros(n, dtype)
    a, b = -zeros, zeros
    f = getattr(xp, name)
    for x, y in ((a, b), (b, a), (a[::2], b[::2]), (a[::-1], b), (a[0], b), (a, b[0])):
        want = np.signbit(getattr(np, name)(x, y))
        u, v = xp.asarray(x), xp.asarray(y)
        np.testing.assert_array_equal(np.signbit(np.asarray(f(u, v))), want)
        np.testing.assert_array_equal(np.signbit(np.asarray(f(u * 1, v + v))), want)  # fused
    want = np.signbit(np.clip(a, 0.0, 1.0))
    np.testing.assert_array_equal(np.signbit(np.asarray(xp.clip(xp.asarray(a), 0.0, 1.0))), want)
    np.testing.assert_array_equal(np.signbit(np.asarray(xp.clip(xp.asarray(a) * 1, 0.0, 1.0))), want)
