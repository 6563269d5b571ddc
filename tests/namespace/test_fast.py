"""The compiled short way of operators gives what the Python behind it gives; the package does without."""

from __future__ import annotations

import inspect
import operator
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array import transforms as T
from nabla_array._lazy.node import Part
from nabla_array._namespace import fast

needs_compiled = pytest.mark.skipif(fast.compiled is None, reason="nothing is compiled: no compiler")

DTYPES = list("?bhilBHILfdFD")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -7.0, 127.0, 255.0, 1e30, np.inf, -np.inf, np.nan]
NUMBERS = [0, 1, -1, 3, 40, 200, -129, 2**40, 0.0, -0.0, 0.5, -2.0, np.inf, np.nan, np.float64(1.5)]
SHAPES = [(), (3,), (1,), (2, 3), (3, 1), (0,)]


def words(text: str) -> list[str]:
    return text.split()


BINARY = words("add sub mul truediv floordiv mod pow and or xor lshift rshift matmul eq ne lt le gt ge")
IN_PLACE = words("add sub mul truediv floordiv mod and or xor lshift rshift")
UNARY = words("sqrt exp sin log square floor isnan ceil sign")
SUMS = words("sum mean std var dot trace interp median average cross einsum norm")
SHORT = words("prod max min any all argmax argmin cumsum diff concat stack hstack vstack where roll repeat")
SHORT += words("triu tril outer clip round searchsorted count_nonzero tile array diag bincount append insert")
SHORT += words("delete kron")


def part(draw: Any) -> np.ndarray:
    """Draw elements of any dtype, special ones among them."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.sampled_from(SHAPES))
    values = np.array(draw(st.lists(st.sampled_from(SPECIAL), min_size=6, max_size=6)))
    with np.errstate(all="ignore"):
        return np.resize(values.astype(dtype), shape)


def read(value: np.ndarray) -> Any:
    """Return an array that is a part of another."""
    return xp.asarray(np.stack([value, value]))[1]


def outcome(function: Callable[..., Any], *args: Any) -> tuple[Any, list[str]]:
    """Return what a call gives, or the class of what it raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result = function(*args)
            value = np.asarray(result)
        except Exception as error:  # compared by its class
            return type(error), []
        if result is NotImplemented:
            return result, []
    found = (type(result), value.dtype, value.shape, value.tobytes())
    return found, sorted({str(w.message) for w in told})


@needs_compiled
@given(st.data())
def test_operators_give_what_the_python_behind_them_gives(data: st.DataObject) -> None:
    value = part(data.draw)
    other: Any = part(data.draw) if data.draw(st.booleans()) else data.draw(st.sampled_from(NUMBERS))
    name = data.draw(st.sampled_from(BINARY))
    method = getattr(xp.Array, f"__{name}__")
    operands = [read(value), read(other) if isinstance(other, np.ndarray) else other]
    assert outcome(method, *operands) == outcome(method.__wrapped__, *operands)


@needs_compiled
@given(st.data())
def test_in_place_operators_give_what_the_python_behind_them_gives(data: st.DataObject) -> None:
    value = part(data.draw)
    other: Any = part(data.draw) if data.draw(st.booleans()) else data.draw(st.sampled_from(NUMBERS))
    method = getattr(xp.Array, f"__i{data.draw(st.sampled_from(IN_PLACE))}__")
    owns = data.draw(st.booleans())
    seen = []
    for call in (method, method.__wrapped__):
        whole = xp.asarray(np.stack([value, value]))
        x = whole[0] * 1 if owns and value.dtype != bool else whole[0]
        result = outcome(call, x, read(other) if isinstance(other, np.ndarray) else other)
        seen.append((result, outcome(lambda x=x: x), outcome(lambda whole=whole: whole)))
    assert seen[0] == seen[1]


@needs_compiled
@pytest.mark.parametrize("name", ["neg", "abs", "invert", "bool", "int", "float", "index"])
@settings(max_examples=30)
@given(st.data())
def test_methods_of_one_array_give_what_the_python_behind_them_gives(name: str, data: st.DataObject) -> None:
    value = part(data.draw)
    method = getattr(xp.Array, f"__{name}__")
    assert outcome(method, read(value)) == outcome(method.__wrapped__, read(value))


@needs_compiled
@given(st.data())
def test_views_are_those_of_the_python_behind_them(data: st.DataObject) -> None:
    value = part(data.draw)
    kinds = ["T", "transpose", "ravel", "reshape"]
    steps = data.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
    n = value.size
    shape = data.draw(st.sampled_from([(-1,), (n,), ((1, -1),), (n, 1), ((4, -1),), (-1, -1)]))
    seen = []
    for short in (True, False):
        whole = xp.asarray(np.stack([value, value]))
        x = whole[1]
        outcomes = []
        for kind in steps:
            method = xp.Array.T.fget if kind == "T" else getattr(xp.Array, kind)
            args = (x, *shape) if kind == "reshape" else (x,)
            call = method if short else method.__wrapped__
            outcomes.append(outcome(call, *args))
            if isinstance(outcomes[-1][0], tuple):
                x = call(*args)
        x[...] = 1
        whole[1] = xp.logical_not(whole[1])
        seen.append((outcomes, outcome(lambda x=x: x), outcome(lambda whole=whole: whole)))
    assert seen[0] == seen[1]


@needs_compiled
@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=30)
@given(st.data())
def test_functions_with_out_and_where_give_what_is_behind_them(name: str, data: st.DataObject) -> None:
    value = part(data.draw)
    function = getattr(xp, name)
    assert outcome(function, read(value)) == outcome(function.__wrapped__, read(value))
    mask = np.resize(np.array(data.draw(st.lists(st.booleans(), min_size=6, max_size=6))), value.shape)
    seen = []
    for call in (function, function.__wrapped__):
        whole = xp.asarray(np.stack([value, value]))
        result = outcome(lambda call=call, whole=whole: call(read(value), out=whole[1], where=read(mask)))
        seen.append((result, outcome(lambda whole=whole: whole)))
    assert seen[0] == seen[1]


@needs_compiled
@pytest.mark.parametrize("name", SHORT + SUMS)
@settings(max_examples=30)
@given(st.data())
def test_functions_of_parts_give_what_the_python_behind_them_gives(name: str, data: st.DataObject) -> None:
    value = part(data.draw)
    function = xp.linalg.norm if name == "norm" else getattr(xp, name)
    x, small = read(value), read(np.array([1, 0, 4]))  # as many counts as the largest number
    args: tuple[Any, ...] = (x,)
    more = {
        "clip": [(x, -1, 2.5), (x, None, x), (x, 0, 300)],
        "round": [(x,), (x, 2), (x, -1)],
        "searchsorted": [(x, 1.0), (x, x, "right")],
        "tile": [(x, 2), (x, (2, 1))],
        "array": [(x,), ([x, x],), ([x, 1.5],), ([x, [x]],)],
        "diag": [(x,), (x, 1)],
        "bincount": [(small,), (small, None, 5)],
        "append": [(x, 1.5), (x, x, 0)],
        "insert": [(x, 1, 5), (x, 0, x, 0)],
        "delete": [(x, 1), (x, 0, 0)],
        "trace": [(x,), (x, 1)],
        "interp": [(x, [0.0, 2.0, 4.0], [1.0, 5.0, 2.0])],
        "average": [(x,), (x, 0, x)],
        "einsum": [("...->", x), ("...,...->...", x, x)],
        "norm": [(x,), (x, 1), (x, None, 0)],
    }
    if name in {"concat", "stack", "hstack", "vstack"}:
        args = ([x, read(part(data.draw))],)
    elif name in more:
        args = data.draw(st.sampled_from(more[name]))
    elif name in {"dot", "outer", "cross", "kron"}:
        args = (x, read(part(data.draw)))
    elif name == "where":
        args = (read(value != 0), x, data.draw(st.sampled_from([x, 0, 1.5, -1, 300, 2**70])))
        args = data.draw(st.sampled_from([args, (x,)]))
    elif name in {"roll", "repeat"}:
        args = (x, 2)
    elif name not in {"triu", "tril", "diff"} and value.ndim and data.draw(st.booleans()):
        args = (x, -1)
    short, long = outcome(function, *args), outcome(function.__wrapped__, *args)
    if name in SUMS and short[0] != long[0] and isinstance(short[0], tuple):
        # Both are right: the ways differ in the order of sums.
        *alike, dtype, shape, bits = short[0]
        *alike2, dtype2, shape2, bits2 = long[0]
        assert (alike, dtype, shape) == (alike2, dtype2, shape2)
        np.testing.assert_allclose(np.frombuffer(bits, dtype), np.frombuffer(bits2, dtype), 1e-6)
    else:
        assert short == long


@needs_compiled
@pytest.mark.parametrize("name", [*UNARY, *words("add arctan2 maximum less hypot equal")])
@given(st.data())
def test_functions_of_numbers_give_what_the_python_behind_them_gives(name: str, data: st.DataObject) -> None:
    function = getattr(xp, name)
    number = st.floats() | st.sampled_from(NUMBERS)
    args = [data.draw(number) for _ in range(1 if name in UNARY else 2)]
    assert outcome(function, *args) == outcome(function.__wrapped__, *args)


@needs_compiled
def test_an_out_argument_is_written_to_once() -> None:
    x = xp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    row = x[1]
    assert xp.cumsum(row, 0, None, row) is row
    np.testing.assert_array_equal(np.asarray(x), [[1, 2, 3], [4, 9, 15]])
    assert xp.sum(x[:2], axis=0, out=row) is row
    np.testing.assert_array_equal(np.asarray(x), [[1, 2, 3], [5, 11, 18]])


@needs_compiled
def test_what_others_see_is_not_written_over() -> None:
    x = xp.asarray(np.arange(1.0, 5001.0))  # what is done with fewer is done at once
    pending = x * 2
    assert pending._node.value is None
    kept = x.copy()
    x[0] = 10.0
    x[1:] += 1.0
    shared = np.asarray(x, copy=False)
    x[2] = -1.0
    np.testing.assert_array_equal(np.asarray(pending)[:3], [2, 4, 6])
    np.testing.assert_array_equal(np.asarray(kept)[:3], [1, 2, 3])
    np.testing.assert_array_equal(shared[:3], [10, 3, 4])
    np.testing.assert_array_equal(np.asarray(x)[:3], [10, 3, -1])


@needs_compiled
def test_transforms_see_every_operation() -> None:
    def f(x: Any) -> Any:
        total = x[0] * 0.0
        for i in range(3):
            total += x[i] * x[i] if x[i] > 0 else -x[i]
        return xp.sum(x[:2] * total)

    x = np.array([1.0, -2.0, 3.0])
    step = 1e-6 * np.eye(3)
    numbers = [(float(f(xp.asarray(x + h))) - float(f(xp.asarray(x - h)))) / 2e-6 for h in step]
    np.testing.assert_allclose(np.asarray(T.grad(f)(xp.asarray(x))), numbers, rtol=1e-6)
    rows = np.stack([x, -x])
    np.testing.assert_allclose(
        np.asarray(T.vmap(f)(xp.asarray(rows))), [float(f(xp.asarray(r))) for r in rows]
    )


@needs_compiled
def test_numbers_are_parts_that_are_known() -> None:
    x = xp.asarray([1.5, 2.5])
    for y in (x[0], x[0] + x[1], -x[:1], x[:1] * 2.0, xp.sin(x[:1]), xp.sum(x[:2])):
        assert type(y._node) is Part


@needs_compiled
def test_a_function_is_what_the_one_behind_it_is() -> None:
    for function in (xp.add, xp.sin, xp.sum, xp.dot, xp.where):
        behind = function.__wrapped__
        assert function.__name__ == behind.__name__
        assert function.__doc__ == behind.__doc__
        assert inspect.signature(function) == inspect.signature(behind)
    assert pickle.loads(pickle.dumps(xp.add)) is xp.add
    assert xp.Array.__add__.__qualname__ == "Array.__add__"
    assert operator.add(xp.asarray([1.0])[0], 1) == 2.0


@needs_compiled
def test_a_wrong_way_is_refused() -> None:
    with pytest.raises(ValueError, match="no way to wrap sideways"):
        fast.compiled.wrap("sideways", len, "len")


def test_the_package_does_without_what_is_compiled() -> None:
    program = "import nabla_array._namespace.fast as f; assert f.compiled is None; import sys; "
    program += "import benchmarks.__main__ as b; sys.exit(b.main('fuzz-numpy --programs 150'.split()))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NABLA_ARRAY_COMPILED": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
