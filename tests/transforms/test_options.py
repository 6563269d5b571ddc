"""Options and cases of transforms that JAX's users know: donation, no compilation, bounds, no examples."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import (
    compile,
    cond,
    disable_jit,
    eval_shape,
    fori_loop,
    grad,
    jvp,
    scan,
    switch,
    vmap,
    while_loop,
)

N = 200_000


# -- donation --------------------------------------------------------------------------------------------


def step(params: Any, x: Any) -> Any:
    return {k: p - 0.1 * x for k, p in params.items()}, x.sum()


@pytest.mark.parametrize("n", [3, N])
@pytest.mark.parametrize("how", [{"donate_argnums": 0}, {"donate_argnames": ["params"]}])
def test_donated_arrays_are_given_up(n: int, how: Any) -> None:
    made = compile(step, **how)
    x = xp.ones(n)
    params = {"w": xp.zeros(n), "b": xp.ones(n)}
    for k in range(1, 5):
        before = params
        params, total = made(params, x)
        assert total == n
        np.testing.assert_allclose(np.asarray(params["w"]), np.full(n, -0.1 * k))
        assert before["w"].shape == (n,)
        with pytest.raises(RuntimeError, match="compile: an array that was donated"):
            float(before["w"][0])
        with pytest.raises(RuntimeError, match="donated"):
            np.asarray(before["b"] + 1)
    assert x[0] == 1.0
    assert made.cache_info().hits == 3
    params, _ = made(params=params, x=x)
    np.testing.assert_allclose(np.asarray(params["b"]), np.full(n, 0.5))


def test_donation_is_for_the_outermost_call_and_whole_arrays() -> None:
    made = compile(lambda x: (x * 2).sum(), donate_argnums=(0,))
    x = xp.ones(N)
    assert grad(made)(x)[0] == 2.0
    assert vmap(made)(xp.reshape(x, (2, -1)))[0] == N
    assert jvp(made, (x,), (x,))[1] == 2 * N
    assert compile(lambda x: made(x) + x.sum())(x) == 3 * N
    half = x[: N // 2]
    assert made(half) == N
    assert half[0] == 1.0
    assert made(np.ones(3)) == 6.0
    same = compile(lambda x: x, donate_argnums=(0,))(x)
    assert same[0] == 1.0
    with pytest.raises(RuntimeError, match="donated"):  # a view sees what becomes of its array
        float(half[0])
    with pytest.raises(ValueError, match="donate_argnames 'other'"):
        compile(lambda x: x, donate_argnames="other")
    with pytest.raises(ValueError, match="donate_argnums 3 is out of range"):
        compile(lambda x: x, donate_argnums=3)


# -- as they are -----------------------------------------------------------------------------------------


def test_functions_run_as_they_are() -> None:
    runs: list[str] = []

    def note(name: str, value: Any) -> Any:
        runs.append(name)
        return value

    made = compile(lambda x: note("compiled", x + 1))

    def f(x: Any) -> Any:
        y = fori_loop(0, 3, lambda i, v: note("fori", v + i), x)
        y = while_loop(lambda v: v < 20, lambda v: note("while", v * 2), y)
        y, _ = scan(lambda c, _: (note("scan", c + 1), c), y, None, length=2)
        y = cond(y > 0, lambda v: note("true", v), lambda v: note("false", v), y)
        return made(switch(1, [lambda v: note("0", v), lambda v: note("1", v)], y))

    wanted = f(1.0)
    made(1.0)
    runs.clear()
    with disable_jit():
        assert f(1.0) == wanted
        assert runs == ["fori"] * 3 + ["while"] * 3 + ["scan"] * 2 + ["true", "1", "compiled"]
        runs.clear()
        assert made(1.0) == made(1.0) == 2.0
        assert runs == ["compiled"] * 2
        assert grad(lambda x: fori_loop(0, 3, lambda i, v: v * x, 1.0))(2.0) == 12.0
        assert [*vmap(lambda x: while_loop(lambda v: v < 4, lambda v: 2 * v, x))(xp.asarray([1, 3]))] == [
            4,
            6,
        ]
        assert eval_shape(lambda x: f(1.0) + x, xp.ones(3)).shape == (3,)
        assert scan(lambda c, x: (c, x), 0.0, xp.ones((2, 3)))[1].shape == (2, 3)
        with disable_jit(False):
            runs.clear()
            made(1.0)
            assert runs == []
        other = threading.Thread(target=lambda: made(1.0))
        other.start()
        other.join()
        assert runs == []
        made(1.0)
        assert runs == ["compiled"]


# -- bounds ----------------------------------------------------------------------------------------------


def test_bounds_and_unrolling_of_loops() -> None:
    def total(lower: Any, upper: Any, **options: Any) -> Any:
        return fori_loop(lower, upper, lambda i, v: v + i, 0, **options)

    for unroll in (None, 1, 4, True, False):
        assert total(0, 5, unroll=unroll) == 10
    assert total(0.0, 5.0) == total(0.7, 5.9) == total(0, np.float32(5.5)) == total(0, xp.asarray(5.2)) == 10
    assert total(0, 5.0).dtype == xp.int64
    assert [*vmap(lambda n: total(0, n))(xp.asarray([2.0, 4.5]))] == [1, 6]
    assert compile(lambda n: total(0, n))(xp.asarray(4.5)) == 6
    assert total(5, 0.0) == 0
    with pytest.raises(TypeError, match="bounds must be integers or real numbers, not complex128"):
        total(0, 1j)


# -- no examples -----------------------------------------------------------------------------------------


def collatz(n: Any) -> Any:
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def newton(x: Any) -> Any:
    done = False
    while not done:
        new = x - (x * x - 2) / (2 * x)
        done = abs(new - x) < 1e-12
        x = new
    return {"x": x, "twice": xp.stack([x, x])}


def test_splitting_a_batch_of_no_examples() -> None:
    none = xp.zeros((0,))
    assert vmap(collatz)(xp.zeros((0,), dtype=xp.int64)).shape == (0,)
    found = vmap(newton)(none)
    assert (found["x"].shape, found["twice"].shape) == ((0,), (0, 2))
    assert vmap(lambda x: x if x > 0 else -x)(none).dtype == xp.float64
    assert vmap(grad(lambda x: x if x > 0 else -x))(none).shape == (0,)
    assert vmap(vmap(lambda x: x if x > 0 else -x))(xp.zeros((2, 0))).shape == (2, 0)
    assert vmap(vmap(lambda x: x if x > 0 else -x))(xp.zeros((0, 2))).shape == (0, 2)
    assert vmap(lambda x: xp.zeros(3) + int(x))(none).shape == (0, 3)
    assert vmap(lambda x: np.asarray(x) * 2)(none).shape == (0,)
    assert compile(vmap(newton))(none)["x"].shape == (0,)
