"""`compile` with `dynamic_dims`: for every length, what the function does without it."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array.transforms import checkpoint, compile, cond, grad, jvp, scan, vmap

from .counted import Counted, arr

rng = np.random.default_rng(0)
LENGTHS = [
    20,
    600,
    499,
    500,
    501,
    2,
    3,
    5,
    6,
    7,
    8,
    11,
    37,
    49,
    64,
    300,
    301,
    1000,
    1031,
    1037,
    5000,
    0,
    1,
    4,
]


def outcome(fun: Callable[..., Any], *arrays: np.ndarray) -> Any:
    """Return what a function of arrays gives and does to them, as NumPy's; or the type of what it raises."""
    xs = [xp.asarray(a.copy()) for a in arrays]
    try:
        with np.errstate(all="ignore"):
            out = fun(*xs)
            values = [*(out if isinstance(out, tuple) else (out,)), *xs]
            return [np.asarray(v) if isinstance(v, xp.Array) else v for v in values]
    except Exception as error:
        return type(error)


def alike(got: Any, wanted: Any) -> None:
    assert type(got) is type(wanted), (got, wanted)
    if isinstance(wanted, list):
        for g, w in zip(got, wanted, strict=True):
            if isinstance(w, np.ndarray):
                assert (g.shape, g.dtype) == (w.shape, w.dtype)
                np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)
            else:
                assert (type(g), g) == (type(w), w)
    else:
        assert got == wanted


def total(x: Any, cases: bool) -> Any:
    return xp.sum(x) * (1.0 if cases else 2.0)


class Halved:
    def __init__(self, by: int) -> None:
        self.by = by

    def of(self, x: Any) -> Any:
        return x * 2 if x.shape[0] // 2 < self.by else x


def _strings(x: Any) -> Any:
    return xp.sum(x) * (3.0 if f"{x.shape}".endswith("7,)") else 1.0)


def _tried(x: Any) -> Any:
    try:
        return x[400]
    except IndexError:
        return xp.sum(x)


inner = compile(lambda x: x * 2 if x.shape[0] < 500 else x * 3)
inner_any = compile(lambda x: x * 2 if x.shape[0] < 500 else x * 3, dynamic_dims={0: {0: "n"}})

# What depends on the length as a number, in every way that it can be looked at.
LOOKS: dict[str, Callable[[Any], Any]] = {
    "len": lambda x: total(x, len(x) < 500),
    "shape": lambda x: total(x, x.shape[0] < 500),
    "shape other way": lambda x: total(x, x.shape[0] > 500),
    "size": lambda x: total(x, x.size < 500),
    "nbytes": lambda x: total(x, x.nbytes < 4000),
    "strides": lambda x: total(x, xp.stack([x, x]).strides[0] < 4000),
    "numpy's size": lambda x: total(x, np.size(x) < 500),
    "numpy's shape": lambda x: total(x, np.shape(x)[0] == 37),
    "shape of a result": lambda x: total(x, (x[:, None] * xp.ones(3)).shape[0] == 37),
    "broadcast_shapes": lambda x: total(x, xp.broadcast_shapes(x.shape, (1,)) == (37,)),
    "equal": lambda x: total(x, x.shape[0] == 37),
    "tuple": lambda x: total(x, x.shape == (37,)),
    "one of": lambda x: total(x, x.shape[0] in (37, 64)),
    "key": lambda x: xp.sum(x) * {37: 2.0, 64: 3.0}.get(x.shape[0], 1.0),
    "parity": lambda x: total(x, bool(x.shape[0] % 2)),
    "rest of a thousand": lambda x: total(x, x.shape[0] % 1000 == 37),
    "thousands": lambda x: total(x, x.shape[0] // 1000 == 0),
    "truth": lambda x: total(x, not x.shape[0] - 37),
    "string": _strings,
    "loop": lambda x: total(x, sum(1 for i in range(x.shape[0]) if i == 400) == 0),
    "loop over len": lambda x: total(x, sum(1 for i in range(len(x)) if i == 400) == 0),
    "iteration": lambda x: total(x, sum(1 for _ in x) < 500),
    "numpy's function": lambda x: total(x, np.log2(np.float64(x.shape[0] + 1)) < 9),
    "numpy's array": lambda x: xp.sum(x) * float(np.ones(x.shape).sum() == 37),
    "math": lambda x: total(x, x.ndim and math.isqrt(x.shape[0]) < 20),
    "product": lambda x: total(x, math.prod(x.shape) * 2 < 1000),
    "least": lambda x: xp.sum(x) * min(x.shape[0], 500),
    "float": lambda x: total(x, float(x.shape[0]) < 499.5),
    "type": lambda x: total(x, type(x.shape[0]) is int),
    "isinstance": lambda x: total(x, isinstance(x.shape[0], int)),
    "method": Halved(250).of,
    "caught": _tried,
    "nested compile": lambda x: inner(x),
    "nested dynamic compile": lambda x: inner_any(x),
    "nested function": lambda x: (lambda y: total(y, y.shape[0] < 500))(x * 2),
    "in a gradient": lambda x: grad(lambda y: total(y * y, y.shape[0] < 500))(x),
    "in a checkpoint": lambda x: checkpoint(lambda y: total(y * y, len(y) < 500))(x),
    "in a branch": lambda x: cond(xp.sum(x) > 0, lambda y: total(y, y.shape[0] < 500), xp.sum, x),
    "in a loop": lambda x: scan(lambda c, r: (c + r * (1 if x.shape[0] < 500 else 2), None), 0.0, x)[0],
    "rank": lambda x: total(x, x.ndim < 2) + total(x, x.dtype == xp.float64),
}
# What this package decides by the length.
THRESHOLDS: dict[str, Callable[[Any], Any]] = {
    "first": lambda x: xp.sum(x[:300]),
    "few": lambda x: x[:10],
    "last": lambda x: x[-5:],
    "one": lambda x: x[5],
    "correction": lambda x: xp.var(x, correction=3),
    "mean": lambda x: xp.mean(x, keepdims=True) + xp.std(x),
    "roll": lambda x: xp.roll(x, 5),
    "convolve": lambda x: np.convolve(x, xp.ones(5), "same"),
    "diff": lambda x: xp.diff(x, n=3),
    "partition": lambda x: np.partition(x, 2)[2],
    "trace": lambda x: np.trace(x[:, None] * x[None, :], offset=3),
    "resize": lambda x: np.resize(x, (7,)),
    "median": lambda x: np.median(x),
    "rfft": lambda x: xp.abs(xp.fft.rfft(x)),
    "padded fft": lambda x: xp.abs(xp.fft.fft(x, 8)),
    "step": lambda x: x[::3],
    "broadcast": lambda x: x[:, None] * xp.ones((1, 3)),
    "against a fixed one": lambda x: x + xp.ones(37),
}


@pytest.mark.filterwarnings("ignore:compile. for the dynamic_dims:UserWarning")
@pytest.mark.parametrize("first", [20, 600])
@pytest.mark.parametrize("name", [*LOOKS, *THRESHOLDS])
def test_every_length_is_as_without_compile(name: str, first: int) -> None:
    fun = {**LOOKS, **THRESHOLDS}[name]
    c = compile(fun, dynamic_dims={0: {0: "n"}})
    for n in [first, *LENGTHS]:
        a = rng.normal(size=n)
        alike(outcome(c, a), outcome(fun, a))


@pytest.mark.filterwarnings("ignore:compile. for the dynamic_dims:UserWarning")
@pytest.mark.parametrize("name", ["shape", "equal", "first", "correction", "method", "in a gradient"])
def test_other_transforms_around_it(name: str) -> None:
    fun = {**LOOKS, **THRESHOLDS}[name]
    c = compile(fun, dynamic_dims={0: {0: "n"}})
    c(arr(20))
    for n in (3, 37, 301, 600):
        a = rng.normal(size=n)
        for way in (
            lambda u: grad(lambda x: xp.sum(u(x))),
            lambda u: lambda x: vmap(u)(xp.stack([x, x * 2])),
            lambda u: lambda x: jvp(u, (x,), (x,))[1],
            lambda u: compile(lambda x: u(x) * 2),
            lambda u: checkpoint(u),
        ):
            alike(outcome(way(c), a), outcome(way(fun), a))


def test_a_decision_is_a_guard() -> None:
    f = Counted(LOOKS["shape"])
    c = compile(f, dynamic_dims={0: {0: "n"}})
    c(xp.ones(20))
    runs = f.runs
    for n in range(2, 301, 7):
        assert c(xp.ones(n)) == n
    assert f.runs == runs  # one program for all that go this way
    for n in (500, 600, 500, 600):
        assert c(xp.ones(n)) == 2 * n
    assert c.cache_info().misses == 3


def test_how_often_a_function_is_run() -> None:
    f = Counted(lambda x: xp.mean(x) * x.shape[0])
    c = compile(f, dynamic_dims={0: {0: "n"}})
    for n in range(2, 1000, 13):
        c(xp.ones(n))
    assert c.cache_info().misses == 1
    few = f.runs
    assert few < 10
    for n in range(1000, 10_000, 370):  # each time that they outgrow it: four times as long
        assert float(c(xp.ones(n))) == pytest.approx(n)
    assert c.cache_info().misses == 3
    assert f.runs < 2 * few


def test_a_length_that_leaves_makes_a_program_for_each() -> None:
    f = Counted(LOOKS["len"])
    c = compile(f, dynamic_dims={0: {0: "n"}})
    with pytest.warns(UserWarning, match="each length has its own"):
        c(xp.ones(20))
    runs = f.runs
    for n in (30, 600, 30, 600, 20):
        assert c(xp.ones(n)) == (n if n < 500 else 2 * n)
    assert f.runs == runs + 2


TWO: dict[str, Callable[[Any, Any], Any]] = {
    "which is longer": lambda x, y: xp.sum(x) if x.shape[0] > y.shape[0] else xp.sum(y),
    "as long": lambda x, y: x * y if x.shape == y.shape else xp.sum(x) + y,
    "together": lambda x, y: xp.concat([x, y]) * (x.size + y.size < 600),
    "outer": lambda x, y: xp.sum(x[:, None] * y) / (x.shape[0] * y.shape[0]),
    "convolve": lambda x, y: np.convolve(x, y, "valid"),
    "up to the other": lambda x, y: xp.sum(x[: y.shape[0]]),
    "broadcast": lambda x, y: x + y,
}


@pytest.mark.filterwarnings("ignore:compile. for the dynamic_dims:UserWarning")
@pytest.mark.parametrize("name", TWO)
def test_two_lengths(name: str) -> None:
    for dims in ({0: {0: "n"}, 1: {0: "m"}}, {0: {0: "n"}}):
        c = compile(TWO[name], dynamic_dims=dims)
        for n, m in [
            (20, 30),
            (30, 20),
            (30, 30),
            (2, 2),
            (3, 300),
            (300, 3),
            (1, 7),
            (7, 1),
            (1, 1),
            (0, 4),
        ]:
            a, b = rng.normal(size=n), rng.normal(size=m)
            alike(outcome(c, a, b), outcome(TWO[name], a, b))


def test_lengths_are_ints_again_afterwards_and_for_other_threads() -> None:
    seen: list[Any] = []

    def elsewhere() -> None:
        seen.append(arr(3).shape[0])

    def f(x: Any) -> Any:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        kept.append(x.shape[0])
        return x * 2

    kept: list[Any] = []
    c = compile(f, dynamic_dims={0: {0: "n"}})
    assert c(arr(4)).shape == (4,)
    assert {type(n) for n in seen} == {int}
    assert type(arr(4).shape[0]) is int
    assert all(n + 1 == int(n) + 1 and n * xp.ones(2).shape[0] >= 4 for n in kept)


def test_results_are_ints() -> None:
    c = compile(lambda x: (x.shape, x.size * 2, -x.shape[0]), dynamic_dims={0: {0: "n"}})
    for n in (4, 9, 30):
        out = c(arr(n))
        assert out == ((n,), 2 * n, -n)
        assert {type(v) for v in (*out[0], *out[1:])} == {int}


_CONSTANTS = [1, 2, 3, 5, 7, 10, 20, 37, 64, 100, 299, 300, 301, 500, 512, 1000]


class _Written:
    """A random function of lengths, as text."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def size(self, depth: int = 0) -> str:
        r = self.random
        k = r.choice(_CONSTANTS)
        leaf = r.choice(
            ["n", "len(x)", str(k), "x.size", "y.shape[0]", "n", "n", "x.nbytes", "np.shape(x)[0]"]
        )
        if depth > 2 or r.random() < 0.4:
            return leaf
        some, other = self.size(depth + 1), self.size(depth + 1)
        return r.choice(
            [
                *(f"({some} + {other})", f"({some} * {k})", f"({some} // {k})", f"({some} % {k})"),
                *(f"min({some}, {k})", f"max({some}, {other})", f"abs({some} - {k})", f"int({some})"),
                *(
                    f"len(str({some}))",
                    f"sum(range({some} % 9))",
                    f"round({some} / {k})",
                    f"(hash({some}) % 5)",
                ),
                *(f"(3 if {self.condition(depth + 1)} else {some})", f"int(np.sqrt(abs({some})))"),
            ]
        )

    def condition(self, depth: int = 0) -> str:
        r = self.random
        k, some = r.choice(_CONSTANTS), self.size(depth + 1)
        return r.choice(
            [
                *[f"{some} {op} {k}" for op in ("<", "<=", ">", ">=", "==", "!=")],
                *(
                    f"{some} < {self.size(depth + 1)}",
                    f"{some} % {r.choice([2, 3, 37])}",
                    f"{some} in (37, {k})",
                ),
                *(f"str({some}).endswith('7')", f"'7' in format({some})", f"not {some} % 2"),
                *(f"{{37: 1}}.get({some}, 0)", f"isinstance({some}, int)", f"x.shape == ({k},)"),
            ]
        )

    def statement(self) -> list[str]:
        r = self.random
        k, some = r.choice(_CONSTANTS), self.size()
        return r.choice(
            [
                [f"if {self.condition()}:", "    z = z * 2", "else:", "    z = z + 1"],
                [f"for i in range(min({some}, 4)):", "    z = z + i"],
                [f"while {some} < {k} and z.ndim < 4:", "    z = z[..., None] * 2"],
                [f"if len(x) > {k}:", f"    z = z + x[{k}]"],
                ["try:", f"    z = z + x[{k}]", "except IndexError:", "    z = z - 1"],
                *([f"z = z * ({some})"], [f"z = z + float({some})"], [f"z *= {some}"], ["x += 1"]),
                *(
                    [f"z = z + xp.sum(x[:{k}])"],
                    [f"z = z - xp.sum(x[-{k}:])"],
                    [f"z = z + xp.sum(z) / {some}"],
                ),
                *(
                    ["z = z + xp.zeros(n)"],
                    [f"z = z + xp.var(x, correction={k % 4})"],
                    ["z = z + xp.roll(x, 5)"],
                ),
                *(
                    ["z = z * sum(1 for _ in x)"],
                    ["z = inner(z)"],
                    ["z = z + np.prod(x.shape)"],
                    ["z = z * y[0]"],
                ),
            ]
        )

    def text(self) -> str:
        lines = ["def f(x, y):", "    n = x.shape[0]", "    z = x * 1.5"]
        for _ in range(self.random.randrange(1, 4)):
            lines += ["    " + line for line in self.statement()]
        return "\n".join([*lines, f"    return z, {self.size()}"])


@pytest.mark.filterwarnings("ignore:compile. for the dynamic_dims:UserWarning")
@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([4, 20, 37, 600]), st.lists(st.integers(0, 1100), max_size=8))
def test_random_functions_of_lengths(seed: int, first: int, others: list[int]) -> None:
    text = _Written(seed).text()
    names: dict[str, Any] = {"xp": xp, "np": np, "inner": inner}
    exec(text, names)
    fun = names["f"]
    c = compile(fun, dynamic_dims={0: {0: "n"}})
    for n in [first, *others, 37, 300, 301]:
        a, b = np.linspace(-1.0, 2.0, n), np.ones(3)
        alike(outcome(c, a, b), outcome(fun, a, b))


@pytest.mark.parametrize(
    "f", [lambda x: 2 * x, lambda x: x + 1, lambda x: 1 - xp.cumsum(x) * 3, lambda x: xp.maximum(x, 0)]
)
def test_numbers_beside_a_batch(f: Callable[[Any], Any], recwarn: pytest.WarningsRecorder) -> None:
    compiled = compile(vmap(f), dynamic_dims={0: {0: "n"}})
    for n in (5, 3, 70):
        x = rng.normal(size=(n, 4))
        np.testing.assert_array_equal(np.asarray(compiled(xp.asarray(x))), np.asarray(vmap(f)(xp.asarray(x))))
    assert not recwarn.list  # one program for all lengths
