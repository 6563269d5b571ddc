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
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array import transforms as T
from nabla_array._lazy.graph.node import Part
from nabla_array._namespace.core import array as core_array
from nabla_array._namespace.core.array import is_scalar
from nabla_array._namespace.dispatch import eager, fastpath
from nabla_array._namespace.interop.functions import HostFallbackWarning

needs_compiled = pytest.mark.skipif(fastpath.compiled is None, reason="nothing is compiled: no compiler")

DTYPES = list("?bhilBHILfdFD")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -7.0, 127.0, 255.0, 1e30, np.inf, -np.inf, np.nan]
USUAL = [0.0, 1.0, -1.0, 2.5, -7.0, 100.0]
NUMBERS = [
    True,
    False,
    0,
    1,
    -1,
    3,
    40,
    200,
    -129,
    2**40,
    0.0,
    -0.0,
    0.5,
    -2.0,
    np.inf,
    np.nan,
    np.float64(1.5),
]
SHAPES = [(), (3,), (1,), (2, 3), (3, 1), (0,)]


def words(text: str) -> list[str]:
    return text.split()


BINARY = words("add sub mul truediv floordiv mod pow and or xor lshift rshift matmul eq ne lt le gt ge")
IN_PLACE = words("add sub mul truediv floordiv mod and or xor lshift rshift")
UNARY = words("sqrt exp sin log square floor isnan ceil sign")
SUMS = words("sum mean std var dot trace interp median average cross einsum norm inner sinc")
# These are given finite elements: the ways meet inf and nan in another order.
FINITE = words("gradient unwrap i0 nansum nanprod nanmean nanstd nanvar cov corrcoef polyfit")
FINITE += words("polyadd polysub tensordot vander fft ifft rfft irfft fft2 cumprod")
FINITE += words("solve inv det pinv matrix_rank eigvalsh matrix_power cond roots")
# Of what is equal (0.0 and -0.0), the ways may choose another one.
SUMS += words("nanmax nanmin unique union1d setdiff1d intersect1d sort clip")
SUMS += FINITE
SHORT = words("prod max min any all argmax argmin cumsum diff concat stack hstack vstack where roll")
SHORT += words("repeat triu tril outer round searchsorted count_nonzero tile array diag bincount")
SHORT += words("append insert dstack isin ptp digitize histogram pad fftshift ifftshift argsort")
SHORT += words("delete kron lexsort isclose allclose nan_to_num nanargmax nanargmin column_stack")
SHORT += words("zeros_like ones_like empty_like full_like partition argpartition choose piecewise extract")
SHORT += words("compress flatnonzero ix_ packbits unpackbits array_equal array_equiv")
# NumPy's answers for arrays of these that are too large for what is compiled, too.
LARGE = words(
    "compress extract packbits unpackbits array_equal array_equiv nansum nanprod nanmax nanmin nanargmax"
)
LARGE += words("nanargmin nanmean nanvar nanstd bincount norm")
MADE = words("zeros ones full arange asarray array")
METHODS = words("astype clip flatten argsort repeat")


def part(draw: Any, values: list[float] = SPECIAL) -> np.ndarray:
    """Draw elements of any dtype, special ones among them."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.sampled_from(SHAPES))
    elements = np.array(draw(st.lists(st.sampled_from(values), min_size=6, max_size=6)))
    with np.errstate(all="ignore"):
        return np.resize(elements.astype(dtype), shape)


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
    # A way out to NumPy is told of once.
    return found, sorted({str(w.message) for w in told if w.category is not HostFallbackWarning})


def outcomes(function: Callable[..., Any], *args: Any) -> list[Any]:
    """Return the outcome for each array that a call gives, and where it gives several, what they lie in."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*args)
        except Exception:  # compared by `outcome`
            result = None
    if not isinstance(result, tuple | list):
        return [outcome(function, *args)]
    return [type(result), *(outcome(lambda i=i: function(*args)[i]) for i in range(len(result)))]


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


# Owners of what several views look at, made of NumPy's arrays: in each order in memory, literal, and shared.
OWNERS: dict[str, Callable[[np.ndarray], Any]] = {
    "own": lambda a: xp.asarray(a, copy=True),
    "turned": lambda a: xp.asarray(np.asarray(a).T.copy(), copy=True).T.copy(),
    "computed": lambda a: xp.asarray(a, copy=True) * 1,
    "literal": lambda a: xp.full(a.shape, 2.0),
    "spread": lambda a: xp.broadcast_to(xp.asarray(a[0], copy=True), a.shape).copy(),
}
VIEWS = [0, -1, slice(1, 3), (slice(None), 1), (..., slice(None, None, 2)), (slice(None, None, -1),), None]


@given(st.data())
def test_views_of_one_array_see_what_is_written_through_each(data: st.DataObject) -> None:
    value = np.arange(600.0).reshape(3, 200)  # large enough to be recorded
    owner = data.draw(st.sampled_from(list(OWNERS)))
    keys = data.draw(st.lists(st.sampled_from(VIEWS), min_size=1, max_size=3))
    turns = data.draw(st.lists(st.sampled_from(["", "T", "reshape"]), min_size=len(keys), max_size=len(keys)))
    steps = data.draw(
        st.lists(
            st.tuples(st.integers(-1, len(keys) - 1), st.sampled_from(sorted(WRITES)), st.integers(-1, 2)),
            min_size=1,
            max_size=6,
        )
    )
    found = []
    for made in (OWNERS[owner], lambda a: np.full_like(a, 2.0) if owner == "literal" else a.copy()):
        whole: Any = made(value if owner != "spread" else np.broadcast_to(value[0], value.shape))
        views = [whole[k] for k in keys]
        views = [v.T if t == "T" else v.reshape(-1) if t else v for v, t in zip(views, turns, strict=True)]
        seen = []
        for at, write, other in steps:
            x = whole if at < 0 else views[at]
            y = views[other] if 0 <= other < len(views) else whole
            try:
                WRITES[write](x, y)
            except ValueError as error:
                seen.append(type(error))
            seen.append(np.asarray(x + 0.5).tolist())
        found.append((seen, [np.asarray(v).tolist() for v in (whole, *views)]))
    assert found[0] == found[1]


def some(x: Any) -> Any:
    """Return a mask that some of the elements are chosen by."""
    return x % 3 == 1


def spread_sum(x: Any, y: Any) -> None:
    x += y


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "number": lambda x, y: operator.setitem(x, slice(0, 2), 7.0),
    "element": lambda x, y: operator.setitem(x, (0,) * x.ndim, y.sum()),
    "mask": lambda x, y: operator.setitem(x, some(x), -0.5),
    "chosen": lambda x, y: operator.setitem(x, some(x), x[some(x)] - 1000.0),
    "places": lambda x, y: operator.setitem(x, np.array([0, 0, -1]), 3.0),
    "other": lambda x, y: operator.setitem(x, ..., y),
    "itself": lambda x, y: operator.setitem(x, slice(None, None, -1), x),
    "add": lambda x, y: operator.iadd(x, 1),
    "multiply": lambda x, y: operator.imul(x, x),
    "sum": spread_sum,
    "pending": lambda x, y: operator.setitem(x, ..., x * 2 - 1),
}


@needs_compiled
def test_views_are_written_to_and_renewed_without_python() -> None:
    whole = xp.asarray(np.arange(3000.0).reshape(3, 1000))
    views = [*whole]
    mask = xp.asarray(np.arange(1000) % 3 == 0)

    def never(*args: Any) -> Any:
        raise AssertionError("Python was asked")

    with patch.object(eager, "put", never), patch.object(core_array, "_renew", never):
        for x in views:
            x[mask] = -1.0
            x += 1
        total = views[0] + views[1]
        assert float(views[2][0]) == 0.0
    assert float(total[1]) == 1.0 + 1001.0 + 2


# Functions that give views, with arguments that suit some arrays.
MOVES: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "reshape": [
        ((-1,), {}),
        (((3, -1),), {}),
        ((), {"shape": (1, -1)}),
        (([-1],), {}),
        (((-1,),), {"copy": True}),
    ],
    "permute_dims": [
        (((1, 0),), {}),
        (([1, 0],), {}),
        (([0, 0],), {}),
        ((), {"axes": (0,)}),
        (((0, -2),), {}),
        (((0, 0),), {}),
        ((), {}),
    ],
    "moveaxis": [((0, 1), {}), ((-1, 0), {}), ((0, 0), {}), (((0, 1), (1, 0)), {}), ((0, 2), {})],
    "swapaxes": [((0, 1), {}), ((-1, -1), {}), ((0, 3), {})],
    "expand_dims": [
        ((0,), {}),
        (((0,),), {}),
        ((), {"axis": -1}),
        ((1,), {}),
        (((0, 1),), {}),
        ((5,), {}),
        ((True,), {}),
    ],
    "squeeze": [((), {}), ((0,), {}), (((0,),), {}), ((), {"axis": 1}), ((-1,), {}), ((), {"axes": 0})],
    "broadcast_to": [
        (((3,),), {}),
        (((4, 2, 3),), {}),
        ((), {"shape": (2, 1, 3)}),
        ((7,), {}),
        (((0,),), {}),
    ],
}


@needs_compiled
@pytest.mark.parametrize("name", MOVES)
@given(st.data())
def test_functions_that_move_give_the_views_of_those_behind_them(name: str, data: st.DataObject) -> None:
    value = part(data.draw)
    args, kwargs = data.draw(st.sampled_from(MOVES[name]))
    is_turned = data.draw(st.booleans())
    seen = []
    for call in (getattr(xp, name), fastpath.behind(getattr(xp, name))):
        whole = xp.asarray(np.stack([value, value]))
        x = whole[1].T if is_turned else whole[1]
        found = outcome(partial(call, **kwargs), x, *args)
        if isinstance(found[0], tuple):
            y = call(x, *args, **kwargs)
            strides = y.strides, y.flags.writeable
            if y.flags.writeable:
                y[...] = 1
            x[...] = xp.logical_not(x)
            found = found, strides, outcome(lambda y=y: y), outcome(lambda whole=whole: whole)
        seen.append(found)
    assert seen[0] == seen[1]


@needs_compiled
@given(st.data())
def test_what_is_asked_of_arrays_is_what_python_says(data: st.DataObject) -> None:
    value = part(data.draw)
    x = read(value)
    assert (x.shape, x.size, x.ndim, x.dtype) == (value.shape, value.size, value.ndim, value.dtype)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2025.12") is xp
    with pytest.raises(ValueError, match="no version"):
        x.__array_namespace__(api_version="1999.1")
    others = data.draw(
        st.lists(st.sampled_from([1, 2.0, 1j, np.float32, np.dtype("i2"), np.int8(3)]), max_size=2)
    )
    kinds = [x, *others]
    assert outcome(lambda: np.zeros(0, xp.result_type(*kinds))) == outcome(
        lambda: np.zeros(0, np.result_type(*[value.dtype, *others]))
    )
    dtype = data.draw(st.sampled_from([None, x.dtype, x.dtype.type, np.dtype("f8"), float]))
    copy = data.draw(st.sampled_from([None, True, False]))
    made, slow = xp.asarray, fastpath.behind(xp.asarray)
    assert outcome(lambda: made(x, dtype, copy=copy)) == outcome(lambda: slow(x, dtype, copy=copy))
    if dtype is None:
        assert (made(x, copy=copy) is x) == (not copy and not is_scalar(x))
    if value.ndim:
        assert [outcome(lambda y=y: y) for y in x] == [outcome(lambda i=i: x[i]) for i in range(len(x))]
    else:
        assert outcome(lambda: x[()]) == outcome(lambda: read(value)[()])
        with pytest.raises(TypeError, match="not iterable"):
            iter(x)


@needs_compiled
@settings(max_examples=200)
@given(st.data())
def test_casts_give_what_the_python_behind_them_gives(data: st.DataObject) -> None:
    value = part(data.draw)
    dtype = data.draw(st.sampled_from([*map(np.dtype, DTYPES), np.float16, bool, int, float, complex, "f8"]))
    options = data.draw(st.sampled_from([{}, {"copy": True}, {"copy": False}]))
    for function in (xp.astype, xp.asarray):
        call, slow = [partial(f, **options) for f in (function, fastpath.behind(function))]
        assert outcome(call, read(value), dtype) == outcome(slow, read(value), dtype)


def test_attributes_under_vmap_are_those_of_an_example() -> None:
    seen = []

    def look(x: Any) -> Any:
        seen.append((x.shape, x.size, x.ndim, [row.shape for row in x]))
        return xp.moveaxis(x, 0, 1)

    assert T.vmap(look)(xp.ones((4, 2, 3))).shape == (4, 3, 2)
    assert seen == [((2, 3), 6, 2, [(3,), (3,)])]


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


def arguments(name: str, draw: Any) -> tuple[Any, ...]:
    """Draw what a function is called with: a part first, for most of them."""
    values = USUAL if name in FINITE else SPECIAL
    value = part(draw, values)
    x, other = read(value), read(part(draw, values))
    small = read(np.array([1, 0, 4]))  # as many counts as the largest number
    # LAPACK may never end where nan or infinity is.
    numbers = st.lists(st.sampled_from(USUAL), min_size=9, max_size=9)
    matrix = read(np.array(draw(numbers)).reshape(3, 3))
    row, steps = read(np.array([1.0, 2.5, -7.0])), read(np.array([0.0, 0.5, 2.0]))
    mask, chosen = read(value != 0), read(np.array([True, False, True]))
    byte = read(np.array([[1, 255, 3]], np.uint8))
    more: dict[str, list[tuple[Any, ...]]] = {
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
        "where": [(read(value != 0), x, y) for y in (x, 0, 1.5, -1, 300, 2**70)] + [(x,)],
        "roll": [(x, 2)],
        "choose": [(small % 2, [row, steps]), (small % 2, [row, 2]), (chosen, [x, other])],
        "piecewise": [(x, [mask], [1, 2]), (x, [mask, mask], [3, 4]), (row, [chosen], [0, 2.5])],
        "extract": [(mask, x), (chosen, row), ([1, 0, 1], row), (x, row)],
        "compress": [(chosen, row), (chosen, x, 0), ([1, 0, 1], x, -1), (x, x)],
        "ix_": [(small,), (small, chosen), (x, row), (chosen, [0, 2])],
        "unpackbits": [(x,), (byte,), (byte, 1), (byte, 0, 5), (byte, None, -3, "little")],
        "partition": [(x, 0), (row, 1), (x, 1, None), (x, [0, 1], 0)],
        "argpartition": [(x, 0), (row, 1), (x, 1, None), (x, [0, 1], 0)],
        "array_equal": [(x, other), (x, x), (x, x, True), (x, other, True)],
        "array_equiv": [(x, other), (row, read(np.stack([value, value])))],
        "repeat": [(x, 2)],
        "lexsort": [((x, x),), ((x, x[::-1]),)] if value.ndim else [((x,),)],
        "isclose": [(x, other), (x, 1.0), (x, other, 0.1, 0.5, True)],
        "nan_to_num": [(x,), (x, True, 1.0, 2.0, -3.0), (x, False)],
        "gradient": [(x,), (x, 2.0), (row, steps)],
        "unique": [(x,), (x, True), (x, False, True, True)],
        "isin": [(x, other), (x, [1, 2.5]), (x, other, False, True)],
        "digitize": [(x, steps), (x, steps, True)],
        "histogram": [(x,), (x, 3), (x, steps)],
        "pad": [(x, 1), (x, (1, 2), "edge"), (x, 1, "reflect"), (x, 1, "mean")],
        "full_like": [(x, 3), (x, 2.5), (x, 300), (x, 1, np.float32)],
        "polyfit": [(steps, row, 1), (steps, row, 2)],
        "tensordot": [(matrix, row, 0), (matrix, matrix, 1), (matrix, matrix)],
        "vander": [(x,), (x, 2)],
        "inner": [(row, steps), (matrix, row)],
        "solve": [(matrix, row), (matrix, other)],
        "matrix_power": [(matrix, 2), (matrix, -1), (x, 3)],
        "roots": [(row,), (matrix,)],
        "cond": [(matrix,), (matrix, 1)],
        "fft": [(x,), (x, 4), (x, None, 0, "ortho")],
        "astype": [(x, t) for t in (float, np.float32, np.dtype(np.int8), bool, "complex64", ">f8", "S2")],
        "flatten": [(x,), (x, "F")],
    }
    more["allclose"] = more["isclose"]
    pairs = words("dot outer cross kron union1d setdiff1d intersect1d")
    if name in {"concat", "stack", "hstack", "vstack", "column_stack", "dstack"}:
        return ([x, other],)
    if name in pairs + words("polyadd polysub"):
        return (x, other)
    if name in more:
        return draw(st.sampled_from(more[name]))  # type: ignore[no-any-return]
    if name in {"inv", "det", "pinv", "matrix_rank", "eigvalsh"}:
        return (matrix,)
    plain = words("triu tril diff nansum cov corrcoef sinc unwrap i0 roots zeros_like ones_like empty_like")
    if name not in plain and value.ndim and draw(st.booleans()):
        return (x, -1)
    return (x,)


def function_of(name: str) -> Any:
    """Return a function of that name, or a method."""
    found = [getattr(m, name) for m in (xp, xp.linalg, xp.fft) if hasattr(m, name)]
    return next(f for f in found if isinstance(f, fastpath.compiled.Fast))


def assert_alike(short: Any, long: Any, is_exact: bool) -> None:
    if is_exact or short == long or not isinstance(short[0], tuple) or not isinstance(long[0], tuple):
        assert short == long
        return
    # Both are right: the ways differ in the order of sums.
    *alike, dtype, shape, bits = short[0]
    *alike2, dtype2, shape2, bits2 = long[0]
    assert (alike, dtype, shape) == (alike2, dtype2, shape2)
    x, y = np.frombuffer(bits, dtype), np.frombuffer(bits2, dtype)
    if dtype.kind == "c":
        x, y = x.view(x.real.dtype), y.view(y.real.dtype)
    size = np.abs(y[np.isfinite(y)]).max(initial=0)
    np.testing.assert_allclose(x, y, 1e-6, 1e-6 * size if dtype.kind in "fc" else 0)


@pytest.mark.slow
@needs_compiled
@pytest.mark.parametrize("name", SHORT + SUMS)
@settings(max_examples=30)
@given(st.data())
def test_functions_of_parts_give_what_the_python_behind_them_gives(name: str, data: st.DataObject) -> None:
    function = function_of(name)
    args = arguments(name, data.draw)
    short, long = outcomes(function, *args), outcomes(function.__wrapped__, *args)
    assert len(short) == len(long)
    for x, y in zip(short, long, strict=True):
        if name.startswith("nan") and isinstance(x, tuple):  # only NumPy says that nothing was left
            x, y = (x[0], []), (y[0], [])
        assert_alike(x, y, name not in SUMS)


@needs_compiled
@pytest.mark.parametrize("name", LARGE)
@settings(max_examples=30)
@given(st.data())
def test_functions_of_large_arrays_give_what_the_python_behind_them_gives(
    name: str, data: st.DataObject
) -> None:
    function = function_of(name).__wrapped__
    args = arguments(name, data.draw)
    with patch.object(eager, "PART", 1):
        short = outcomes(function, *args)
    for x, y in zip(short, outcomes(inspect.unwrap(function), *args), strict=True):
        assert_alike(x, y, name not in SUMS)


@needs_compiled
@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=30)
@given(st.data())
def test_methods_give_what_the_python_behind_them_gives(name: str, data: st.DataObject) -> None:
    method = getattr(xp.Array, name)
    args = arguments(name, data.draw)
    # NumPy has two ways to clip, which differ in the sign of zero.
    assert_alike(outcome(method, *args), outcome(method.__wrapped__, *args), name != "clip")


@needs_compiled
@pytest.mark.parametrize("name", MADE)
@given(st.data())
def test_arrays_are_made_as_the_python_behind_makes_them(name: str, data: st.DataObject) -> None:
    number = st.sampled_from([0, 1, 3, -1, 40, 2**70, 2.5, True, None])
    first: Any = number if name == "arange" else st.one_of(number, st.lists(number, max_size=3).map(tuple))
    if name in {"zeros", "ones", "full"}:
        first = st.one_of(first, st.sampled_from([2000, (3, 700), [70, 30]]))  # too large for NumPy
    if name in {"array", "asarray"}:
        first = st.one_of(st.lists(number, max_size=3), st.lists(st.lists(number, max_size=2), max_size=3))
    args = [data.draw(first)]
    if name in {"full", "arange"} and data.draw(st.booleans() if name == "arange" else st.just(True)):
        # Of nothing, NumPy makes an array of None.
        args.append(data.draw(number.filter(lambda n: n is not None or name != "full")))
        if name == "full" and data.draw(st.booleans()):
            args[1] = read(np.array(data.draw(st.sampled_from([2.5, 3, True]))))
    dtypes = [
        None,
        int,
        float,
        bool,
        np.bool,
        np.int32,
        np.float32,
        np.uint8,
        np.dtype(">f8"),
        "complex64",
        "S3",
    ]
    options = {"dtype": data.draw(st.sampled_from(dtypes))} if data.draw(st.booleans()) else {}
    function = getattr(xp, name)
    call, behind = (lambda *a, f=f: f(*a, **options) for f in (function, function.__wrapped__))
    assert outcome(call, *args) == outcome(behind, *args)


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
        fastpath.compiled.wrap("sideways", len, "len")


def test_the_package_does_without_what_is_compiled() -> None:
    program = "import nabla_array._namespace.dispatch.fastpath as f; assert f.compiled is None; import sys; "
    program += "import benchmarks.__main__ as b; sys.exit(b.main('fuzz-numpy --programs 150'.split()))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NABLA_ARRAY_COMPILED": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def _found(function: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, ...]:
    """Return the dtype and the elements of a result, or that there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            y = np.asarray(function(*args, **options))
        except (TypeError, ValueError, OverflowError):
            return ("refused",)
    return y.dtype, y.shape, repr(y.tolist())


def test_lists_of_numbers_and_arrays_are_arrays() -> None:
    x = np.arange(6.0).reshape(2, 3)
    mine = xp.asarray(x)
    for theirs, ours in (
        ([1, 2.5, -3], [1, 2.5, -3]),
        ((True, False), (True, False)),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]]),
        ([r.sum() for r in x], [r.sum() for r in mine]),
        ([np.float32(2), 1.5], [xp.float32(2), 1.5]),
        ([*x], [*mine]),
        ((x[0], [7, 8, 9]), (mine[0], [7, 8, 9])),
        ([x[0, 0], 2, x], [mine[0, 0], 2, mine]),  # no array
        ([], []),
        (["a", "b"], ["a", "b"]),
    ):
        for name in ("sum", "mean", "max", "std", "argmin", "cumsum", "prod", "any", "ptp", "median", "sqrt"):
            for options in ({}, {"axis": 0}, {"axis": 5}, {"dtype": np.float32}):
                wanted = _found(getattr(np, name), theirs, **options)
                assert _found(getattr(xp, name), ours, **options) == wanted, (name, theirs, options)
        for way in (operator.add, operator.sub, operator.pow, operator.gt):
            assert _found(way, mine[0], ours) == _found(way, x[0], theirs)
            assert _found(way, ours, mine[0]) == _found(way, theirs, x[0])


def test_functions_of_pythons_numbers_are_numpys() -> None:
    numbers = [0, 1, -3, 7, 2**40, 2**62, 0.0, -0.0, 1.5, float("inf"), float("nan"), True]
    names = "add arctan2 bitwise_and copysign divide float_power gcd hypot left_shift less logical_or maximum"
    for name in (*names.split(), "minimum", "mod", "multiply", "power", "subtract"):
        for x in numbers:
            for y in numbers:
                assert _found(getattr(xp, name), x, y) == _found(getattr(np, name), x, y), (name, x, y)
    for name in (
        "abs",
        "negative",
        "sign",
        "sqrt",
        "radians",
        "deg2rad",
        "degrees",
        "square",
        "invert",
        "exp2",
    ):
        for x in numbers:
            assert _found(getattr(xp, name), x) == _found(getattr(np, name), x), (name, x)
    for name in ("sum", "mean", "max", "round", "cumsum", "any", "ravel", "std", "argmax"):
        for x in numbers:
            assert _found(getattr(xp, name), x) == _found(getattr(np, name), x), (name, x)
    assert _found(xp.clip, 2.5, 0, 1) == _found(np.clip, 2.5, 0, 1)


def test_methods_that_are_replaced_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    x = xp.asarray([1.0, 2.0])
    for name, use in {
        "__add__": lambda: x + 1,
        "__rsub__": lambda: 1 - x,
        "__lt__": lambda: x < 1,
        "__getitem__": lambda: x[0],
    }.items():
        with monkeypatch.context() as within:
            within.setattr(xp.Array, name, lambda self, other, name=name: name)
            assert use() == name
        assert type(use()) is xp.Array


def test_classes_that_derive_from_arrays_have_their_own_operators() -> None:
    class Derived(xp.Array):
        def __radd__(self, other: Any) -> str:
            return "theirs"

        def __getitem__(self, key: Any) -> str:
            return "item"

    x = xp.asarray([1.0, 2.0])
    y = Derived(x._node)
    assert x + y == 1 + y == "theirs"
    assert y[0] == next(iter(y)) == "item"
    assert np.asarray(y * x).tolist() == [1.0, 4.0]
    assert np.asarray(x > y).tolist() == [False, False]
