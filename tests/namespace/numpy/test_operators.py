"""Operators, plain, reflected and in place, against NumPy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import compile, grad, vmap

from .comparing import compare

BINARY = ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=")
OPERANDS = (
    "x",
    "i",
    "u[:3]",
    "b",
    "c",
    "2",
    "-1",
    "2.5",
    "True",
    "1j",
    "x[0]",
    "np.float32(2)",
    "None",
    "'a'",
)


@pytest.mark.parametrize("operator", BINARY)
@pytest.mark.parametrize("other", OPERANDS)
@pytest.mark.parametrize("array", ["x", "i", "b"])
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_both_ways_round(array: str, operator: str, other: str) -> None:
    compare(f"{array} {operator} {other}", host=True)
    compare(f"{other} {operator} {array}", host=True)


@pytest.mark.parametrize("operator", BINARY[:12])
@pytest.mark.parametrize("other", OPERANDS[:10])
@pytest.mark.parametrize("array", ["x", "i", "b"])
@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
def test_in_place(array: str, operator: str, other: str) -> None:
    # An error that elements show may come only where somebody looks.
    compare(f"y = {array}; y {operator}= {other}; y.tolist(); y is {array}", host=True)
    compare(f"{array} {operator}= {other}; {array}", host=True)


@pytest.mark.parametrize(
    "call", ["-x", "+x", "abs(c)", "~i", "~b", "-b", "~x", "x @ x.T", "x @ v", "divmod(i, 2)"]
)
def test_one_operand_and_products(call: str) -> None:
    compare(call)


FLOATS = ("x[1, 0]", "x.sum()", "v.sum()", "2 * v.sum()", "x[0]", "np.float32(2) * i[1]", "i[1]", "c[0]")


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "**"])
@pytest.mark.parametrize("number", FLOATS)
def test_pythons_complex_numbers_take_a_float64_for_a_float(number: str, operator: str) -> None:
    def found(module: Any) -> Any:
        x, v = module.asarray([[2.5, 0.5], [1.0, 4.0]]), module.arange(1.0, 1e3)
        i, c = module.asarray([1, 2]), module.asarray([1j])
        return eval(f"1j {operator} {number}", {"np": module, "x": x, "v": v, "i": i, "c": c})

    ours, theirs = found(xp), found(np)
    assert (type(ours) is complex) == (type(theirs) is complex)
    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=0 if type(ours) is complex else 1e-15)


@pytest.mark.parametrize("operator", ["//", "%", "&", "|", "<<"])
def test_operators_that_complex_numbers_lack_raise_as_numpys(operator: str) -> None:
    for module in (xp, np):
        with pytest.raises(TypeError):
            eval(f"1j {operator} module.asarray([2.5])[0]", {"module": module})


def test_in_a_trace_a_complex_number_of_pythons_meets_an_array() -> None:
    def of(x: Any) -> Any:
        return xp.real(xp.exp(1j * x[0]) * x[1])

    x = xp.asarray([1.0, 2.0])
    np.testing.assert_allclose(grad(of)(x), [-2 * math.sin(1), math.cos(1)])
    np.testing.assert_allclose(compile(lambda x: 1j * x[0] * x)(x), [1j, 2j])
    np.testing.assert_allclose(vmap(lambda x: 1j / x)(x), [1j, 0.5j])


class Halves:
    """Knows operators, and is an array of objects besides."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array([Fraction(1, 2), Fraction(1, 3)], dtype=object)

    def __rmul__(self, other: Any) -> Any:
        return "rmul"


class Asked(Halves):
    __array_priority__ = 2000


@pytest.mark.filterwarnings("ignore::nabla_array._namespace.interop.functions.HostFallbackWarning")
@pytest.mark.parametrize("kind", [Halves, Asked])
def test_an_array_of_objects_is_met_as_numpys_meet_it(kind: type) -> None:
    for mine, numpys in ((xp.asarray([1, 2]), np.array([1, 2])), (xp.asarray([1, 2])[1], np.int64(2))):
        assert np.array_equal(mine * kind(), numpys * kind())


class Forwarding:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self.value, name)


def test_a_class_made_of_an_arrays_forwards_to_it() -> None:
    for x in (xp.asarray([1.0, 2.0]), xp.asarray([1.0])[0]):
        kind: Any = type("Derived", (Forwarding, type(x)), {})
        tagged = kind(x)
        assert tagged.__class__ is kind
        assert not isinstance(tagged, float)
        assert (tagged + 1).tolist() == (x + 1).tolist()


class _Ufuncs:
    """An object that answers ufuncs, and has no operators."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> str:
        return f"{ufunc.__name__} {[type(x) is _Ufuncs for x in inputs]}"


class _RefusesUfuncs:
    __array_ufunc__ = None


@pytest.mark.filterwarnings("ignore:.*runs through NumPy")
@pytest.mark.parametrize("operator", [*BINARY, "@"])
@pytest.mark.parametrize("of_numbers", [False, True])
def test_an_object_that_answers_ufuncs_answers_operators(operator: str, of_numbers: bool) -> None:
    theirs = np.ones((2, 2))
    ours = xp.asarray(theirs)
    if of_numbers and operator != "@":
        theirs, ours = theirs[0, 0], ours[0, 0]
    for code in (f"x {operator} a", f"a {operator} x"):
        found = eval(code, {"x": ours, "a": _Ufuncs()})
        assert found == eval(code, {"x": theirs, "a": _Ufuncs()})
        if operator not in ("==", "!="):
            with pytest.raises(TypeError, match=r"unsupported operand|not supported between"):
                eval(code, {"x": ours, "a": _RefusesUfuncs()})
