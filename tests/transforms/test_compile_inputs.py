"""`compile` with axes of any length, and with numbers that change."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import CacheInfo, compile, grad, value_and_grad, vmap

from .counted import Counted, arr, close, rng, same

# -- numbers -------------------------------------------------------------------------------------------


def momentum(x: Any, v: Any, rate: Any, keep: Any) -> Any:
    v = v * keep + x
    return x - rate * v, v


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int16])
def test_a_number_that_changes_becomes_an_input(dtype: Any) -> None:
    f = Counted(momentum)
    c = compile(f)
    x, v = arr(3, dtype=np.float32), arr(3, dtype=np.float32)
    x, v = xp.astype(x * 9, dtype), xp.astype(v * 9, dtype)
    whole = dtype is np.int16
    for i in range(8):
        rate, keep = (i + 2, 3) if whole else (0.1 / (i + 1), 0.9)
        same(c(x, v, rate, keep), momentum(x, v, rate, keep))
    assert f.runs == 4  # three numbers, and once with arrays in their place
    assert c.cache_info()[:2] == (5, 3)
    for i in range(5):
        rate, keep = (i, i) if whole else (0.1 / (i + 1), 0.3 + i)
        same(c(x, v, rate, keep), momentum(x, v, rate, keep))
    assert f.runs == 6
    if dtype is np.float32:  # the derivative and the batch are those without compile
        for rate in (0.25, 0.125):
            g = grad(lambda x, rate=rate: xp.sum(c(x, v, rate, 0.5)[0] ** 2))
            same(g(x), grad(lambda x, rate=rate: xp.sum(momentum(x, v, rate, 0.5)[0] ** 2))(x))
            xs = xp.stack([x, x])
            same(vmap(lambda x, rate=rate: c(x, v, rate, 0.5)[0])(xs), xp.stack([c(x, v, rate, 0.5)[0]] * 2))
    if whole:
        with pytest.raises(OverflowError, match="40000"):
            c(x, v, 40000, 3)


NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "branch": lambda x, n: x * n if n > 3 else x / n,
    "equal": lambda x, n: x if n == 2 else -x,
    "shape": lambda x, n: xp.reshape(x, (n, -1)) if 12 % n == 0 else x,
    "index": lambda x, n: x[n],
    "loop": lambda x, n: functools.reduce(lambda a, _: a + x, range(n), x),
    "power": lambda x, n: x**n,
    "arithmetic": lambda x, n: x * (1 - 0.1**n),
    "promotion": lambda x, n: xp.asarray(n) + x,
    "returned": lambda x, n: (x * n, n),
    "text": lambda x, n: (x, f"{n}"),
    "type": lambda x, n: x * n if isinstance(n, int) else x,
    "twice": lambda x, n: x * n + xp.astype(x, xp.float64) * n,
    "literal beside": lambda x, n: x * n + 2 * x,
    "unused": lambda x, n: x,
    "full": lambda x, n: xp.full(3, n) + xp.sum(x),
    "where": lambda x, n: xp.where(x > n, x, n),
    "clip": lambda x, n: xp.clip(x, -n, n),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_done_with_numbers_is_done_with_each(name: str, dtype: Any) -> None:
    f = NUMBERS[name]
    c = compile(f)
    for n in (2, 3, 4, 5, 2, 6, 4, 1):
        x = arr(12, dtype=dtype)
        same(c(x, n), f(x, n))


# -- sizes of any kind ---------------------------------------------------------------------------------


def mlp(params: Any, x: Any, y: Any) -> Any:
    h = x
    for w, b in params:
        h = xp.tanh(h @ w + b)
    z = h - xp.max(h, axis=1, keepdims=True)
    return -xp.mean(xp.sum(y * (z - xp.log(xp.sum(xp.exp(z), axis=1, keepdims=True))), axis=1))


def test_dynamic_dims_one_program_for_all_sizes() -> None:
    f = Counted(value_and_grad(mlp))
    c = compile(f, dynamic_dims={1: {0: "batch"}, 2: {0: "batch"}})
    params = [(arr(5, 4), arr(4)), (arr(4, 3), arr(3))]
    c(params, arr(8, 5), arr(8, 3))
    runs = f.runs
    for n in (8, 2, 9, 64, 700):
        x, y = arr(n, 5), arr(n, 3)
        got, want = c(params, x, y), f.fun(params, x, y)
        close(got[0], want[0])
        for (a, b), (u, v) in zip(got[1], want[1], strict=True):
            close(a, u)
            close(b, v)
    assert f.runs == runs
    assert c.cache_info() == CacheInfo(5, 1, 0, 64, 1)
    c(params, arr(1, 5), arr(1, 3))  # one row broadcasts: it has a program of its own
    assert c.cache_info().misses == 2


DYNAMIC: dict[str, Callable[[Any], Any]] = {
    "mean": lambda x: xp.mean(x, axis=0),
    "var": lambda x: xp.var(x, axis=0, correction=1),
    "flatten": lambda x: xp.reshape(x, (-1,)),
    "pairs": lambda x: xp.concat([x, x[:-1]], axis=0) * x.shape[0],
    "reverse": lambda x: x[::-1] - x[0],
    "grow": lambda x: xp.stack([x, x]) / (x.shape[0] + 1),
    "zeros": lambda x: xp.zeros(x.shape[0]) + xp.ones((x.shape[0], 1)),
    "constant": lambda x: xp.zeros(x.shape[0]),
    "size": lambda x: (x, x.shape[0], x.size),
    "sort": lambda x: xp.sort(x, axis=0)[1],
    "cumulative": lambda x: xp.cumulative_sum(x, axis=0),
    "grad": lambda x: grad(lambda x: xp.mean(xp.sin(x) ** 2))(x),
    "per row": lambda x: vmap(lambda r: r / xp.sum(r))(x),
    "gram": lambda x: (x @ x.T, x.T @ x),
    "in place": lambda x: (x.__setitem__(0, 1.0), x.__imul__(x.shape[0]))[1],
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_dynamic_dims_of_many_kinds(name: str) -> None:
    f = Counted(DYNAMIC[name])
    c = compile(f, dynamic_dims={0: {0: "n"}})
    c(arr(6, 3))
    runs = f.runs
    for n in (6, 2, 5, 33, 12):
        a = rng.normal(size=(n, 3))
        x, wanted_x = xp.asarray(a), xp.asarray(a)
        same(c(x), f.fun(wanted_x))
        same(x, wanted_x)
    assert f.runs == runs


def test_two_dynamic_dims() -> None:
    f = Counted(lambda x, y: (xp.reshape(x, (-1, 2)), x @ y, xp.mean(x), x.shape[0] * 2 + x.shape[1]))
    c = compile(f, dynamic_dims={0: {0: "a", -2: "b"}})
    c(arr(4, 3, 2), arr(2, 2))
    runs = f.runs
    for a, b in ((2, 2), (7, 3), (4, 9), (50, 60)):
        x, y = arr(a, b, 2), arr(2, 2)
        same(c(x, y), f.fun(x, y))
    assert f.runs == runs


def test_names_must_agree() -> None:
    def f(x: Any, y: Any) -> Any:
        return xp.sum(x) + xp.sum(y)

    c = compile(f, dynamic_dims={0: {0: "n"}, "y": {1: "n"}})
    c(arr(4), arr(2, 4))
    c(arr(5), y=arr(2, 5))
    with pytest.raises(
        ValueError, match=r"'n' has 4 elements in argument 0, axis 0, and 5 in argument 1, axis 1"
    ):
        c(arr(4), arr(2, 5))


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: x * 2 if x.shape[0] % 2 else x,
        lambda x: x[:100],
        lambda x: x * xp.arange(x.shape[0], dtype=xp.float64),
        lambda x: x + xp.asarray(np.ones(6)),
        lambda x: x * float(np.sqrt(x.shape[0])),
    ],
    ids=["parity", "at most", "evaluated constant", "one size only", "root"],
)
def test_what_no_one_program_does_is_keyed_by_size(fun: Callable[[Any], Any]) -> None:
    f = Counted(fun)
    c = compile(f, dynamic_dims={0: {0: "n"}})
    with pytest.warns(UserWarning, match="each length has its own"):
        same(c(x := arr(6)), fun(x))
    runs = f.runs
    same(c(x := arr(6)), fun(x))
    assert f.runs == runs
    if fun(arr(6)).shape == (6,) and "asarray" not in fun.__code__.co_names:
        for n in (7, 8, 200):
            same(c(x := arr(n)), fun(x))
            same(c(x := arr(n)), fun(x))
        assert f.runs == runs + 3
