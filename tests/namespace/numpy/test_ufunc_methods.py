"""Methods of ufuncs, and what they take beside their operands, against NumPy."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import nabla_array as xp

from .comparing import compare

UFUNCS = (
    "add",
    "multiply",
    "maximum",
    "minimum",
    "logical_or",
    "logical_and",
    "bitwise_xor",
    "subtract",
    "hypot",
)
METHODS = """
np.{}.reduce(x)
np.{}.reduce(i, axis=1)
np.{}.reduce(i, axis=None)
np.{}.reduce(x, axis=0, keepdims=True)
np.{}.reduce(b, axis=(0, 1))
np.{}.reduce(e, axis=0)
np.{}.reduce(x, initial=2)
np.{}.reduce(x, initial=2, where=b)
np.{}.accumulate(i)
np.{}.accumulate(x, axis=1)
np.{}.accumulate(s)
np.{}.reduceat(v, [0, 2])
np.{}.outer(v, k)
z = np.zeros((2, 3)); np.{}.at(i, (0, [1, 1]), 3); i
np.{}(x, x, where=b, out=np.zeros((2, 3)))
np.{}(i, i, dtype=np.float32)
"""


@pytest.mark.parametrize("ufunc", UFUNCS)
@pytest.mark.parametrize("call", METHODS.strip().splitlines())
def test_a_method_is_numpys(ufunc: str, call: str) -> None:
    compare(call.format(ufunc), host=".at(" in call)


@pytest.mark.parametrize("ufunc", ["hypot", "logaddexp", "maximum"])
@pytest.mark.parametrize("method", ["reduce", "accumulate"])
def test_results_are_numpys_to_the_bit_where_arrays_are_pending(ufunc: str, method: str) -> None:
    given = np.tile([0.0, 1.0, 2.0], 8)
    with xp.errstate(all="ignore"):
        pending = xp.asarray(given) * 1
        out = xp.zeros(() if method == "reduce" else 24)
        found = getattr(getattr(xp, ufunc), method)(pending, out=out)
    assert found is out
    assert np.array_equal(np.asarray(out), getattr(getattr(np, ufunc), method)(given))


def test_faults_of_a_reduction_are_told_of_as_such() -> None:
    with xp.errstate(divide="raise"), pytest.raises(FloatingPointError, match="encountered in reduce"):
        xp.floor_divide.reduce(xp.arange(-3, 3))


@pytest.mark.parametrize("shape", [(3,), (1, 3), (4, 3)])
@pytest.mark.parametrize("ufunc", ["add", "minimum", "subtract"])
def test_reductions_are_not_broadcast_into_out(ufunc: str, shape: tuple[int, ...]) -> None:
    out = xp.zeros(shape)
    with pytest.raises(ValueError, match="does not fit into out"):
        getattr(xp, ufunc).reduce(xp.ones((4, 2)), axis=1, out=out)
    assert not xp.any(out)


@pytest.mark.filterwarnings("ignore:.*runs through NumPy")
def test_what_numpy_computes_is_written_to_out() -> None:
    numbers, out = xp.asarray([1, 2], dtype=object), xp.zeros(2)
    assert xp.add(numbers, numbers, out=out, casting="unsafe") is out
    assert out.tolist() == [2, 4]


def test_options_of_a_ufunc_are_keywords() -> None:
    assert str(inspect.signature(xp.sin)).startswith("(x: 'Any', /, out: 'Any' = None, *, where: ")
    with pytest.raises(TypeError):
        xp.sin(xp.ones(2), None, True)
