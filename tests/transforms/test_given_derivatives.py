"""Derivatives that are given: rules of users, checkpoints, and what leaves a transformed function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import (
    ValueLeftWarning,
    check_grads,
    checkpoint,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    stop_gradient,
    value_and_grad,
    vmap,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal(3)


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-10, atol=1e-12)


def _doubled() -> Any:
    @custom_jvp
    def f(x: Any, y: Any) -> Any:
        return xp.sin(x) * y

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (s, t) = primals, tangents
        return f(x, y), 2 * xp.cos(x) * y * s + xp.sin(x) * t

    return f


def test_custom_jvp() -> None:
    f = _doubled()
    close(f(1.0, 3.0), 3 * np.sin(1.0))
    close(grad(f)(1.0, 3.0), 6 * np.cos(1.0))
    close(grad(f, 1)(1.0, 3.0), np.sin(1.0))
    close(jvp(f, (1.0, 3.0), (1.0, 1.0))[1], 6 * np.cos(1.0) + np.sin(1.0))
    close(grad(grad(f))(1.0, 3.0), -6 * np.sin(1.0))
    batch = vmap(grad(f), in_axes=(0, None))(xp.asarray(X), 3.0)
    close(batch, 6 * np.cos(X))
    close(grad(lambda x: xp.sum(vmap(f, in_axes=(0, None))(x, 3.0)))(xp.asarray(X)), 6 * np.cos(X))
    close(jacfwd(lambda x: f(x, xp.ones(3)))(xp.asarray(X)), np.diag(2 * np.cos(X)))


def test_custom_jvp_by_argument_and_with_fixed_ones() -> None:
    @custom_jvp
    def f(x: Any, y: Any) -> Any:
        return x * y

    f.defjvps(lambda t, out, x, y: 10 * t * y, None)
    close(grad(f)(2.0, 3.0), 30.0)
    close(grad(f, 1)(2.0, 3.0), 0.0)

    g = custom_jvp(lambda h, x: h(x), nondiff_argnums=(0,))
    g.defjvp(lambda h, primals, tangents: (h(*primals), 5 * tangents[0]))
    close(grad(lambda x: g(xp.sin, x))(1.0), 5.0)


def test_custom_vjp() -> None:
    @custom_vjp
    def f(x: Any, k: Any) -> Any:
        return {"y": xp.sin(x) * k, "n": 3}

    f.defvjp(
        lambda x, k: ({"y": xp.sin(x) * k, "n": 3}, (xp.cos(x), k)),
        lambda res, ct: (3 * ct["y"] * res[0] * res[1], None),
    )
    assert f(1.0, 2.0)["n"] == 3
    close(grad(lambda x: f(x, 2.0)["y"])(1.0), 6 * np.cos(1.0))
    close(grad(lambda k: f(1.0, k)["y"])(2.0), 0.0)
    close(grad(grad(lambda x: f(x, 2.0)["y"]))(1.0), -6 * np.sin(1.0))
    close(vmap(grad(lambda x: f(x, 2.0)["y"]))(xp.asarray(X)), 6 * np.cos(X))
    close(jacrev(lambda x: f(x, 2.0)["y"])(xp.asarray(X)), np.diag(6 * np.cos(X)))
    close(hvp(lambda x: xp.sum(f(x, 1.0)["y"]), (xp.asarray(X),), (xp.ones(3),)), -3 * np.sin(X))

    clip = custom_vjp(lambda lo, hi, x: x, nondiff_argnums=(0, 1))
    clip.defvjp(lambda lo, hi, x: (x, None), lambda lo, hi, _, ct: (xp.clip(ct, lo, hi),))
    close(grad(lambda x: xp.sum(10 * clip(-1.0, 2.0, x)))(xp.asarray(X)), 2 * np.ones(3))


def test_a_rule_for_cotangents_knows_nothing_of_captured_arrays() -> None:
    def f(k: Any, x: Any = 2.0) -> Any:
        g = custom_vjp(lambda x: x * k**2)
        g.defvjp(lambda x: (g(x), k), lambda k, ct: (5 * ct * k,))
        return g(x)

    for captures in (f, lambda k: custom_vjp_of(lambda x: k)(1.0), lambda k: f(k, k)):
        with pytest.raises(NotImplementedError, match="captures an array that is being differentiated"):
            grad(captures)(3.0)
    close(grad(f, 1)(3.0, 2.0), 15.0)
    close(grad(lambda k: grad(f, 1)(k, 2.0))(3.0), 5.0)  # by way of the residuals
    close(grad(lambda k: f(stop_gradient(k), k))(3.0), 15.0)
    close(jvp(f, (3.0,), (1.0,))[1], 12.0)


def test_numbers_of_python_stay_numbers() -> None:
    def scaled(x: Any, by: Any) -> Any:
        return {"y": x * by["k"], "none": None}

    with_jvp = custom_jvp(scaled)
    with_jvp.defjvp(lambda p, t: (scaled(*p), {"y": 3 * t[0] * p[1]["k"] + p[0] * t[1]["k"], "none": None}))
    with_vjp = custom_vjp(scaled)
    with_vjp.defvjp(
        lambda x, by: (scaled(x, by), (x, by["k"])),
        lambda res, ct: (3 * ct["y"] * res[1], {"k": xp.sum(ct["y"] * res[0])}),
    )
    x = xp.ones(3, dtype=xp.float32)
    for f, slope in ((checkpoint(scaled), 2.0), (with_jvp, 6.0), (with_vjp, 6.0)):

        def loss(x: Any, k: Any, f: Any = f) -> Any:
            return xp.sum(f(x, {"k": k})["y"])

        value, gradient = value_and_grad(loss)(x, 2.0)
        assert value.dtype == gradient.dtype == xp.float32
        close(gradient, slope * np.ones(3))
        assert vmap(grad(loss), in_axes=(0, None))(xp.stack([x, x]), 2.0).dtype == xp.float32
        assert hessian(loss)(x, 2.0).dtype == xp.float32
        close(grad(loss, 1)(x, np.float32(2)), 3.0)


def custom_vjp_of(f: Any) -> Any:
    g = custom_vjp(f)
    g.defvjp(lambda x: (f(x), None), lambda _, ct: (ct,))
    return g


def test_a_forward_rule_may_call_the_function() -> None:
    f = custom_vjp(lambda x: xp.sin(x))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (2 * ct * xp.cos(x),))
    close(grad(f)(1.0), 2 * np.cos(1.0))
    close(grad(grad(f))(1.0), -2 * np.sin(1.0))
    close(vmap(grad(f))(xp.asarray(X)), 2 * np.cos(X))


def test_checkpoint() -> None:
    w = xp.asarray(RNG.standard_normal((3, 3)))

    def layer(x: Any, flag: str = "a") -> Any:
        return xp.tanh(w @ x) * x[0] if flag == "a" else x

    def plain(x: Any) -> Any:
        return xp.sum(layer(layer(x), flag="a"))

    def again(x: Any) -> Any:
        f = checkpoint(layer)
        return xp.sum(f(f(x), flag="a"))

    x = xp.asarray(X)
    close(again(x), plain(x))
    close(grad(again)(x), grad(plain)(x))
    close(hessian(again)(x), hessian(plain)(x))
    close(vmap(grad(again))(xp.stack([x, 2 * x])), vmap(grad(plain))(xp.stack([x, 2 * x])))
    close(grad(lambda x: xp.sum(vmap(again)(x)))(xp.stack([x, x])), vmap(grad(plain))(xp.stack([x, x])))
    close(grad(lambda k: checkpoint(lambda x: xp.sum(x) * k)(x))(2.0), X.sum())  # captured
    close(grad(lambda y: checkpoint(lambda x: x if x > 0 else -x)(y))(-2.0), -1.0)


def test_a_checkpointed_function_writes_to_its_own_arrays_alone() -> None:
    total, count = xp.zeros(3), xp.zeros(())

    def layer(x: Any, outside: bool) -> Any:
        own = xp.zeros(3)

        def add(k: int) -> None:
            own[k] += x[k] ** 2
            if k:
                add(k - 1)

        add(2)
        count[...] += 1
        if outside:
            total[1:] += own[1:]
        return xp.sum(own)

    values = np.array([0.3, -1.2, 0.7])
    x = xp.asarray(values)
    inside, outside = (checkpoint(lambda x, o=o: layer(x, o)) for o in (False, True))
    close(grad(inside)(x), 2 * values)
    assert int(count) == 1
    close(outside(x), (values**2).sum())
    close(total, np.append(0.0, values[1:] ** 2))
    total[...] = 0
    close(grad(outside)(x), 2 * values)
    close(total, np.append(0.0, values[1:] ** 2))
    total[...] = 0
    close(
        jvp(lambda x: outside(x) + xp.sum(total), (x,), (x,))[1],
        2 * (values**2).sum() + 2 * (values[1:] ** 2).sum(),
    )
    assert int(count) == 4


def test_what_a_checkpointed_function_computes_from_captured_arrays_has_derivatives() -> None:
    def f(k: Any) -> Any:
        return checkpoint(lambda x: (k**2 * x, k**3))(5.0)

    close(grad(lambda k: f(k)[0])(2.0), 20.0)
    close(grad(lambda k: f(k)[1])(2.0), 12.0)
    close(grad(grad(lambda k: f(k)[0]))(2.0), 10.0)
    close(jvp(lambda k: sum(f(k)), (2.0,), (1.0,))[1], 32.0)
    close(grad(checkpoint(lambda k: checkpoint(lambda: k**2)()))(3.0), 6.0)
    close(vmap(grad(lambda k: f(k)[0]))(xp.asarray(X)), 10 * X)
    close(grad(lambda k: xp.sum(vmap(checkpoint(lambda x: k**2 * x))(xp.asarray(X))))(2.0), 4 * X.sum())


@pytest.mark.parametrize("transform", [checkpoint, vmap, lambda f: lambda x: checkpoint(lambda: f(x))()])
def test_values_that_leave_a_transformed_function_are_noticed(transform: Any) -> None:
    f = transform(lambda x: xp.sum(x * np.sin(np.asarray(x))))
    x = xp.ones((2, 3))
    for call in (grad(lambda x: xp.sum(f(x))), lambda x: jvp(f, (x,), (x,)), hessian(lambda x: xp.sum(f(x)))):
        with pytest.raises(TypeError, match="a value that is being differentiated leaves for NumPy"):
            call(x)
    refused = pytest.raises(TypeError, match="has made Python numbers")
    with pytest.warns(ValueLeftWarning), refused:
        grad(checkpoint(lambda x: float(x)))(2.0)


def test_checking_finds_wrong_rules() -> None:
    f = _doubled()
    with pytest.raises(AssertionError, match="forward mode against differences"):
        check_grads(f, (1.0, 3.0), 1)
    with pytest.raises(AssertionError, match="reverse mode against differences"):
        check_grads(f, (1.0, 3.0), 1, modes=["rev"])
    check_grads(lambda t: xp.sum(xp.exp(t["a"]) * t["b"]), ({"a": xp.asarray(X), "b": xp.ones(3)},), 3)
    check_grads(lambda x: xp.sin(x) ** 2, (xp.ones(3, dtype=xp.float32),), 1)
