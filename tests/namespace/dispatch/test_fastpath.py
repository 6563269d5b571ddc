"""The compiled short way of operators gives what the Python behind it gives; the package does without."""

from __future__ import annotations

import inspect
import operator
import os
import pickle
import subprocess
import sys
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

from .drawing import DTYPES, NUMBERS, needs_compiled, outcome, part, read, words

BINARY = words("add sub mul truediv floordiv mod pow and or xor lshift rshift matmul eq ne lt le gt ge")
IN_PLACE = words("add sub mul truediv floordiv mod and or xor lshift rshift")


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


LARGE = [
    "np.pad(m, 3)",
    "np.pad(m, ((1, 2), (0, 3)), mode='wrap')",
    "np.pad(v, (3, 2), constant_values=(1, 2))",
    "np.roll(m, (3, -4), axis=(0, 1))",
    "np.roll(m, [3, 5], [1, 1])",
    "np.roll(m, 3, axis=1)",
    "np.fft.fftshift(m)",
    "np.delete(v, slice(3, 9, 2))",
    "np.delete(m, [0, -1], axis=1)",
    "np.fft.rfftn(v)",
    "np.fft.ifftn(m, axes=(0,))",
]


@pytest.mark.parametrize("code", LARGE)
def test_large_arrays_that_are_known_or_pending(code: str) -> None:
    """NumPy answers for the known ones, where that takes one pass; others are recorded."""
    values = {"v": np.arange(600_000.0), "m": np.arange(600_000.0).reshape(600, 1000)}
    wanted = eval(code, {"np": np, **values})
    ours = {name: xp.asarray(value) for name, value in values.items()}
    for arrays in (ours, {name: value * 1 for name, value in ours.items()}):
        got = np.asarray(eval(code, {"np": xp, **arrays}))
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        if "fft." in code and not np.allclose(got, wanted, rtol=1e-12, atol=1e-6):
            # SciPy's transforms, from 1.18 on, have other last bits: they must be as exact as NumPy's.
            wide = {name: value.astype(np.longdouble) for name, value in values.items()}
            exact = eval(code, {"np": np, **wide})
            assert np.abs(got - exact).max() <= np.abs(wanted - exact).max()
            continue
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-6 * ("fft." in code))
    for name, value in values.items():
        assert np.array_equal(ours[name], value)
