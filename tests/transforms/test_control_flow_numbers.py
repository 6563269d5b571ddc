"""Python numbers that start loops or go into branches promote in these as they do elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array import transforms as t

X = np.asarray([1.0, 2.0, 3.0])


CASES: dict[str, Callable[[Any], Any]] = {
    "scan": lambda x: t.scan(lambda s, e: (s + e, s), 0.0, x),
    "scan of an integer": lambda x: t.scan(lambda s, e: (s + e, s * 2), 0, x),
    "late": lambda x: t.scan(lambda s, e: ((s[1] * 1.0, s[0] + e), None), (0, 0), x)[0],
    "fori": lambda x: t.fori_loop(0, 3, lambda i, y: y * (i + 1) + i, x),
    "fori of a number": lambda x: t.fori_loop(0, 3, lambda i, s: s + x[0] * i, 0),
    "while": lambda x: t.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + x[0]), (0, 0.0)),
    "in place": lambda x: t.scan(lambda s, e: (_added(s, e), None), 0.0, x)[0],
    "nested": lambda x: t.fori_loop(0, 2, lambda i, y: t.fori_loop(0, 2, lambda j, y: y + i * j, y), x),
    "cond": lambda x: t.cond(x[0] != 0, lambda s, x: s * x, lambda s, x: x, 2.0, x),
    "cond in scan": lambda x: t.scan(
        lambda s, e: (t.cond(e != 1, lambda s: s * e, lambda s: s, s), s * e), 1.0, x
    ),
    "batch": lambda x: t.vmap(lambda e: t.fori_loop(0, 2, lambda i, y: y * 0.5 + i, e))(x),
    "batch of a number": lambda x: t.vmap(lambda e: t.fori_loop(0, 2, lambda i, s: s * 0.5 + e, 1))(x),
    "map": lambda x: t.map(lambda e: t.fori_loop(0, 2, lambda i, y: y * i, e), x),
}


def _added(s: Any, e: Any) -> Any:
    s += e
    return s


@pytest.mark.parametrize("disabled", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", CASES)
def test_numbers_take_the_dtype_of_what_they_meet(name: str, dtype: str, disabled: bool) -> None:
    x = xp.asarray(X, dtype=dtype)
    with t.disable_jit() if disabled else nullcontext():
        found = t.tree_leaves(CASES[name](x))
    assert {y.dtype for y in found if y.dtype != np.int64} == {x.dtype}


@pytest.mark.parametrize("disabled", [False, True])
def test_numbers_alone_have_their_own_dtypes(disabled: bool) -> None:
    x = xp.asarray(X, dtype=xp.float32)
    with t.disable_jit() if disabled else nullcontext():
        carry, ys = t.scan(lambda s, e: ((s[0] + 1, s[1] * 0.5), e + s[1]), (0, 1), x)
    assert [y.dtype for y in (*carry, ys)] == [np.int64, np.float64, np.float32]


def test_bodies_that_look_at_values() -> None:
    x = xp.asarray(X, dtype=xp.float32)

    def step(s: Any, e: Any) -> Any:
        return (s + e if e > 1 else s * 2), s

    carry, ys = t.scan(step, 0.0, x)
    assert (carry.dtype, ys.dtype) == (np.float32, np.float32)
    np.testing.assert_array_equal(ys, [0, 0, 2])


def test_derivatives() -> None:
    x = xp.asarray(X, dtype=xp.float32)

    def f(x: Any) -> Any:
        return t.scan(lambda s, e: (s * 0.5 + xp.sin(e), None), 0, x)[0]

    found = t.grad(f)(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.cos(X) * [0.25, 0.5, 1], rtol=1e-5)
    assert t.jvp(f, (x,), (x,))[1].dtype == t.vmap(f)(x[None]).dtype == np.float32


def test_what_does_not_fit() -> None:
    x = xp.asarray(X, dtype=xp.int32)
    with pytest.raises(TypeError, match=r"float64\[\] goes in, int32\[\] comes out"):
        t.scan(lambda s, e: (e, None), 0.0, x)
    with pytest.raises(TypeError, match=r"float32\[\] goes in, float64\[\] comes out"):
        t.scan(lambda s, e: (s * e, None), xp.float32(1), xp.asarray(X))
