"""Derivatives of graphs that were met before: each call gives what the first gave, or would have."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nabla_array as xp
from nabla_array._lazy.native import compiled
from nabla_array.distributed import DeviceMesh, P, shard
from nabla_array.transforms import (
    compile,
    custom_vjp,
    derived,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from tests.threads.together import together

# Calls until a graph that can be kept is: it is met, written down, run.
CALLS = 4


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    derived._kept.clear()
    yield
    derived._kept.clear()


def kept() -> int:
    return sum([type(v) is derived._Kept for v in derived._kept.values()])


def polynomial(x: Any) -> Any:
    return xp.sum(xp.sin(x) * x**2 + xp.exp(-x))


FUNCTIONS = {
    "number": lambda x: polynomial(x[0]),
    "sum": polynomial,
    "product": lambda x: x @ x,
    "written": lambda x: xp.sum(_written(x) ** 2),
    "maximum": lambda x: xp.max(x) * xp.sum(xp.sort(x)),
    "inverse": lambda x: xp.sum(xp.linalg.inv(xp.eye(3) + x[:, None] * x)),
    "constant": lambda x: xp.asarray(2.0),
    "itself": lambda x: x[1],
    "single": lambda x: xp.sum(xp.astype(x, xp.float32) ** 2),
}


def _written(x: Any) -> Any:
    y = x * 1.0
    y[1:] = x[:-1] * 3.0
    return y


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_call_gives_the_same(name: str) -> None:
    f = FUNCTIONS[name]
    for seed in range(CALLS):
        x = np.random.default_rng(seed).standard_normal(3)
        wanted = np.asarray(compile(grad(f))(xp.asarray(x)))  # a tape runs, so nothing is kept
        value, found = value_and_grad(f)(xp.asarray(x))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        np.testing.assert_allclose(grad(f)(x), wanted, rtol=1e-12)
        np.testing.assert_allclose(value, f(xp.asarray(x)), rtol=1e-12)
        out, tangent = jvp(f, (x,), (x * 2.0,))
        np.testing.assert_allclose(tangent, wanted @ (x * 2.0), rtol=1e-6, atol=1e-14)
        np.testing.assert_allclose(out, value, rtol=1e-12)
    assert compiled is None or kept() >= 2


# Derivatives of derivatives, of a function of three numbers.
NESTED = {
    "hessian": hessian,
    "backwards over forwards": lambda f: jacrev(jacfwd(f)),
    "forwards twice": lambda f: jacfwd(jacfwd(f)),
    "backwards twice": lambda f: jacrev(jacrev(f)),
    "third": lambda f: jacfwd(hessian(f)),
    "product": lambda f: lambda x: hvp(f, (x,), (x * 2.0,)),
    "gradient of a norm": lambda f: grad(lambda x: xp.sum(grad(f)(x) ** 2)),
    "of a step": lambda f: jacfwd(lambda x: x - 0.1 * grad(f)(x) * xp.sin(x)),
    "of many": lambda f: lambda x: vmap(hessian(f))(xp.stack([x, x + 1.0])),
    "of gradients of many": lambda f: jacrev(lambda x: vmap(grad(f))(xp.stack([x, x * 2.0]))),
    "pullback": lambda f: lambda x: vjp(grad(f), x)[1](x),
    "pullback of many": lambda f: lambda x: vmap(vjp(grad(f), x)[1])(xp.stack([x, x + 1.0])),
    "pushed": lambda f: lambda x: linearize(grad(f), x)[1](x),
    "by the cotangent": lambda f: lambda x: jacfwd(vjp(grad(f), x)[1])(x),
    "with a constant": lambda f: hessian(lambda x: f(x) * stop_gradient(f(x))),
    "where": lambda f: hessian(lambda x: f(xp.where(x > 0.2, x, x**2))),
    "unused": lambda f: hessian(lambda x: f(x) + 0.0 * f(xp.ones(3))),
}


@pytest.mark.parametrize("how", NESTED)
@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"maximum", "single"}))
def test_nested_ones_too(name: str, how: str) -> None:
    f = NESTED[how](FUNCTIONS[name])
    for seed in range(2 * CALLS):
        x = xp.asarray(np.random.default_rng(seed).standard_normal(3))
        wanted, found = compile(f)(x), f(x)
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-9, atol=1e-12)
    assert compiled is None or kept() >= 1


def test_a_program_within_another_is_written_out() -> None:
    for _ in range(2 * CALLS):
        hessian(polynomial)(xp.ones(3))
    programs = [v.program for v in derived._kept.values() if type(v) is derived._Kept]
    assert (
        compiled is None or len(programs) == 3
    )  # the Jacobian, and the Hessian before and after it was kept
    assert not any([eqn.prim is derived.kept_call for p in programs for eqn in p.eqns])


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=4))
def test_another_branch_further_in(values: list[float]) -> None:
    def f(x: Any) -> Any:
        return xp.sum(x**3) if float(xp.sum(x)) > 0 else xp.sum(x**2)

    x = np.asarray(values)
    wanted = np.diag(6 * x) if np.sum(x) > 0 else 2 * np.eye(len(x))
    np.testing.assert_allclose(hessian(f)(x), wanted, atol=1e-12)


def test_captured_arrays_that_are_written_to() -> None:
    w, v = xp.ones(3), np.ones(3)

    def f(x: Any) -> Any:
        return xp.sum(xp.sin(x) * w * xp.asarray(v))

    x = np.linspace(0.1, 1.0, 3)
    for k in range(2 * CALLS):
        w[1] = float(k)
        v[2] = float(-k)
        np.testing.assert_allclose(grad(f)(x), np.cos(x) * np.asarray(w) * v)
        np.testing.assert_allclose(hessian(f)(x), np.diag(-np.sin(x) * np.asarray(w) * v), atol=1e-15)


def test_a_long_derivative_is_kept_whole() -> None:
    def f(x: Any) -> Any:
        for _ in range(60):
            x = xp.sin(x) + x
        return xp.sum(x)

    x = xp.asarray(np.linspace(0, 1, 8))
    wanted = np.asarray(compile(hessian(f))(x))
    for _ in range(CALLS):
        np.testing.assert_allclose(hessian(f)(x), wanted, rtol=1e-9)


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=6))
def test_another_branch_is_another_graph(values: list[float]) -> None:
    def f(x: Any) -> Any:
        return xp.sum(x**2) if float(xp.sum(x)) > 0 else xp.sum(x * 3.0)

    x = np.asarray(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.asarray(grad(f)(x))
    np.testing.assert_allclose(found, x * 2 if np.sum(x) > 0 else np.full(x.shape, 3.0))


@pytest.mark.parametrize("scale", [2.0, 3.0])
def test_what_made_a_value_that_was_looked_at_counts(scale: float) -> None:
    def twice(y: Any) -> Any:
        return y * y

    def same(y: Any) -> Any:
        return y

    x, slopes = xp.asarray(0.5), []
    for end in (twice, same):
        for made in (lambda x: xp.sin(x) * scale, xp.cos, lambda x: xp.sin(x) * 5.0) * CALLS:

            def f(x: Any, made: Any = made, end: Any = end) -> Any:
                y = made(x)
                return end(y if float(y) > 0 else -y)

            slopes.append((grad(f)(x), jvp(f, (x,), (xp.asarray(1.0),))[1]))
            h = 1e-6
            wanted = (float(f(0.5 + h)) - float(f(0.5 - h))) / (2 * h)
            np.testing.assert_allclose(slopes[-1], wanted, rtol=1e-6)


def test_an_argument_that_is_not_used_has_zeros_of_its_shape() -> None:
    for n in (3, 3, 3, 4, 4, 4):
        _, found = grad(lambda x, y: xp.sum(x * 2.0), (0, 1))(xp.ones(2), xp.ones(n))
        assert found.shape == (n,)


def test_a_rule_of_the_users_is_asked_each_time() -> None:
    calls = 0

    @custom_vjp
    def f(x: Any) -> Any:
        return x * 2.0

    def backward(x: Any, ct: Any) -> Any:
        nonlocal calls
        calls += 1
        return (ct * calls,)

    f.defvjp(lambda x: (f(x), x), backward)
    assert [float(grad(lambda x: f(x) * 1.0)(1.0)) for _ in range(CALLS)] == [1.0, 2.0, 3.0, 4.0]


def test_what_comes_out_can_be_written_to() -> None:
    for _ in range(CALLS):
        found = grad(polynomial)(xp.zeros(3))
        np.testing.assert_array_equal(np.asarray(found), [-1.0, -1.0, -1.0])
        found[0] = 5.0


def test_an_operation_that_fails_says_so_where_it_is_looked_at() -> None:
    x = xp.zeros((2, 2))
    for _ in range(CALLS):
        found = grad(lambda x: xp.sum(xp.linalg.inv(x)))(x)
        with pytest.raises(np.linalg.LinAlgError, match="inv"):
            np.asarray(found)


def test_floating_point_errors_are_heard_each_time() -> None:
    x = xp.asarray([1.0, 1000.0])
    f = hessian(lambda x: xp.sum(xp.exp(x)))
    with xp.config(float_warnings=True):
        for _ in range(2 * CALLS):
            with pytest.warns(RuntimeWarning, match="overflow encountered in exp"):
                np.asarray(f(x))
            with xp.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
                np.asarray(f(x))


def test_inside_of_other_transforms() -> None:
    x = np.linspace(0.1, 1.0, 4)
    for _ in range(CALLS):
        np.testing.assert_allclose(hessian(polynomial)(x), np.diag(np.diag(hessian(polynomial)(x))))
        np.testing.assert_allclose(
            vmap(grad(polynomial))(xp.asarray(x)), np.asarray(grad(polynomial)(xp.asarray(x)))
        )
        np.testing.assert_allclose(
            grad(lambda x: xp.sum(grad(polynomial)(x)))(x), np.diag(hessian(polynomial)(x))
        )


def test_aux_and_pytrees() -> None:
    def f(p: Any) -> Any:
        return p["a"] * p["b"][0], {"twice": p["a"] * 2.0}

    for k in range(CALLS):
        p = {"a": xp.asarray(float(k)), "b": [xp.asarray(3.0), 1.0]}
        (value, aux), found = value_and_grad(f, has_aux=True)(p)
        assert (float(value), float(aux["twice"])) == (3.0 * k, 2.0 * k)
        assert (float(found["a"]), float(found["b"][0]), float(found["b"][1])) == (3.0, float(k), 0.0)


def test_many_threads_share_what_is_kept() -> None:
    def work(t: int) -> None:
        for k in range(50):
            x = np.linspace(t, t + 1, 3 + k % 2)
            wanted = np.cos(x) * x**2 + 2 * x * np.sin(x) - np.exp(-x)
            np.testing.assert_allclose(grad(polynomial)(xp.asarray(x)), wanted, rtol=1e-9)
            np.testing.assert_allclose(
                jacfwd(grad(polynomial))(xp.asarray(x)) @ np.ones(len(x)),
                hvp(polynomial, (x,), (np.ones(len(x)),)),
                rtol=1e-9,
            )

    together(work)


def test_what_is_kept_is_bounded() -> None:
    for n in range(derived.MOST + 10):
        grad(lambda x: xp.sum(x * float(n)))(xp.ones(2))  # noqa: B023
    assert len(derived._kept) <= derived.MOST


def test_meshes_elsewhere_change_nothing_and_what_is_cut_stays_cut() -> None:
    mesh = DeviceMesh((2,), ("x",))
    cut = shard(np.arange(1.0, 5.0), mesh, P("x"))
    for _ in range(CALLS):
        found = grad(polynomial)(cut)
        assert found.sharding is not None
        np.testing.assert_allclose(found, np.asarray(grad(polynomial)(np.arange(1.0, 5.0))))
    assert compiled is None or kept() == 1
