"""What rules of one's own are given, and what they may give: names, defaults, symbolic zeros, subtrees."""

from __future__ import annotations

from typing import Any

import pytest

import nabla_array as xp
from nabla_array.transforms import (
    CustomVJPPrimal,
    SymbolicZero,
    compile,
    custom_jvp,
    custom_vjp,
    fori_loop,
    grad,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vjp,
    vmap,
)


@custom_jvp
def scaled(x: Any, factor: Any = 2.0) -> Any:
    return x * factor


@scaled.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (x, factor), (t, t_factor) = primals, tangents
    return x * factor, 10 * t * factor + t_factor * x


@custom_vjp
def power(x: Any, n: int = 2, *, own: Any = None) -> Any:
    return x**n


power.defvjp(lambda x, n: (x**n, (x, n)), lambda r, ct: (100 * ct * r[0] * r[1], None))


@pytest.mark.parametrize("call", [lambda f, x, y: f(x, y), lambda f, x, y: f(x, factor=y)])
def test_rules_get_arguments_by_position(call: Any) -> None:
    assert grad(lambda x: call(scaled, x, 3.0))(1.0) == 30.0
    assert grad(lambda x, y: call(scaled, x, y), argnums=1)(4.0, 3.0) == 4.0
    assert grad(lambda x: vmap(lambda x: call(scaled, x, 3.0))(x).sum())(xp.ones(2)).sum() == 60.0
    assert compile(grad(lambda x: call(scaled, x, 3.0)))(1.0) == 30.0


def test_rules_get_defaults() -> None:
    assert grad(lambda x: scaled(x=x))(1.0) == 20.0
    assert jvp(scaled, (1.0,), (1.0,))[1] == 20.0
    assert grad(power)(3.0) == 600.0
    assert grad(lambda x: power(x, n=3))(3.0) == 900.0
    with pytest.raises(TypeError, match="own of power can only be given by name"):
        power(1.0, own=1)
    custom = custom_jvp(max)
    custom.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    with pytest.raises(TypeError, match="no signature"):
        custom([1.0], key=abs)


def test_arguments_without_derivatives_by_name() -> None:
    @lambda f: custom_vjp(f, nondiff_argnames=["kind", "sign"])
    def chosen(x: Any, kind: str, y: Any, sign: Any) -> Any:
        return sign(x) * y if kind == "times" else x + y

    def backward(kind: str, sign: Any, saved: Any, ct: Any) -> Any:
        assert kind == "times"
        return 7 * sign(saved[1]) * ct, saved[0] * ct

    chosen.defvjp(lambda x, kind, y, sign: (chosen(x, kind, y, sign), (x, y)), backward)
    both = grad(lambda x, y: chosen(x, y=y, kind="times", sign=lambda v: -v), (0, 1))
    assert both(2.0, 3.0) == (-21.0, 2.0)

    with pytest.raises(ValueError, match="nondiff_argnames 'other' is no argument"):
        custom_jvp(lambda x: x, nondiff_argnames="other")


def test_symbolic_zeros_of_tangents() -> None:
    seen = []

    @custom_jvp
    def f(x: Any, y: Any, n: Any) -> Any:
        return x * y * n

    def rule(primals: Any, tangents: Any) -> Any:
        seen.append([type(t) is SymbolicZero for t in tangents])
        (x, y, n), (tx, ty, tn) = primals, tangents
        assert tn.shape == ()
        if type(ty) is SymbolicZero:
            assert (ty.shape, ty.dtype) == ((3,), xp.float64)
            return x * y * n, tx * y * n if type(tx) is not SymbolicZero else SymbolicZero((3,), x.dtype)
        return x * y * n, ty * x * n

    f.defjvp(rule, symbolic_zeros=True)
    ones = xp.ones(3)
    assert [*jvp(lambda x: f(x, 2 * ones, 3), (ones,), (ones,))[1]] == [6.0] * 3
    assert seen == [[False, True, True]]
    seen.clear()
    assert grad(lambda y: f(ones, y, 3).sum())(ones).sum() == 9.0
    assert seen[-1] == [True, False, True]
    assert vmap(grad(lambda x: f(x, 2 * ones, 3).sum()))(xp.ones((2, 3))).sum() == 36.0
    assert compile(grad(lambda x: f(x, 2 * ones, 3).sum()))(ones).sum() == 18.0


def test_symbolic_zeros_of_cotangents() -> None:
    seen = []

    @custom_vjp
    def f(x: Any, y: Any) -> Any:
        return x * y, x + y

    def forward(x: CustomVJPPrimal, y: CustomVJPPrimal) -> Any:
        seen.append((x.perturbed, y.perturbed))
        return f(x.value, y.value), (x.value, y.value)

    def backward(saved: Any, ct: Any) -> Any:
        seen.append(tuple(type(c) is SymbolicZero for c in ct))
        return ct[0] * saved[1], SymbolicZero((), saved[0].dtype)

    f.defvjp(forward, backward, symbolic_zeros=True)
    assert grad(lambda x: f(x, 3.0)[0])(2.0) == 3.0
    assert seen == [(True, False), (False, True)]
    assert grad(lambda x, y: f(x, y)[0], (0, 1))(2.0, 3.0) == (3.0, 0.0)
    assert seen[2:] == [(True, True), (False, True)]
    assert [*vmap(grad(lambda x: f(x, 3.0)[0]))(xp.ones(2))] == [3.0, 3.0]
    assert compile(grad(lambda x: f(x, 3.0)[0]))(2.0) == 3.0
    assert grad(lambda x: fori_loop(0, 2, lambda i, v: f(v, 3.0)[0], x))(2.0) == 9.0


def test_none_for_a_part_of_an_argument() -> None:
    @custom_vjp
    def f(p: Any, x: Any) -> Any:
        return p["w"][0] * x + p["b"]["c"]

    f.defvjp(
        lambda p, x: (f(p, x), (p["w"][0], x)),
        lambda r, ct: ({"w": [5 * ct * r[1], None], "b": None}, None),
    )
    p = {"w": (2.0, 7.0), "b": {"c": 3.0}}
    gradient = grad(f)(p, 4.0)
    assert gradient == {"w": (20.0, 0.0), "b": {"c": 0.0}}
    f.defvjp(lambda p, x: (f(p, x), None), lambda r, ct: ({"w": None}, ct))
    with pytest.raises(ValueError, match="custom_vjp: cotangents: structures differ"):
        grad(f)(p, 4.0)


def test_integers_among_primals() -> None:
    y, pullback = vjp(lambda n, x, flag: n * x, xp.asarray(3), 2.0, True)
    assert y == 6.0
    by_n, by_x, by_flag = pullback(1.0)
    assert (by_n, by_x, by_flag) == (0, 3.0, False)
    assert (by_n.dtype, by_flag.dtype) == (xp.int64, xp.bool)

    y, along = linearize(lambda n, x: n * x**2, 3, 2.0)
    assert along(0, 1.0) == 12.0
    assert [*vmap(lambda t: along(0, t))(xp.asarray([1.0, 2.0]))] == [12.0, 24.0]
    with pytest.raises(TypeError, match="a value of int64 has no derivative, but a tangent of float64"):
        along(1.0, 1.0)
    with pytest.raises(TypeError, match="int64, which has no derivative"):
        jvp(lambda n: n * 2, (3,), (1,))

    many = vmap(lambda n: vjp(lambda n, x: n * x, n, 2.0)[1](1.0)[1])(xp.asarray([1, 2]))
    assert [*many] == [1.0, 2.0]


def test_gradients_by_integers_are_asked_for() -> None:
    params = {"w": xp.asarray([1.0, 2.0]), "step": xp.asarray(7)}

    def loss(p: Any) -> Any:
        return (p["w"] ** 2).sum() * p["step"]

    with pytest.raises(TypeError, match="int64, which has no derivative"):
        grad(loss)(params)
    gradient = grad(loss, allow_int=True)(params)
    assert [*gradient["w"]] == [14.0, 28.0]
    assert (gradient["step"], gradient["step"].dtype) == (0, xp.int64)
    assert value_and_grad(loss, allow_int=True)(params)[0] == 35.0
    assert grad(grad(lambda x, n: n * x**3, allow_int=True), (0, 1), allow_int=True)(2.0, 3) == (36.0, 0)
    jacobian = jacrev(lambda p: p["w"] * p["step"], allow_int=True)(params)
    assert jacobian["w"].tolist() == [[7.0, 0.0], [0.0, 7.0]]
    assert jacobian["step"].tolist() == [0, 0]


def test_jacobians_by_named_arguments() -> None:
    def f(x: Any, *, y: Any) -> Any:
        return x * y

    for jacobian in (jacrev(f, argnums="y"), jacrev(f, argnums=("x", "y"))):
        found = jacobian(xp.asarray([1.0, 2.0]), y=xp.asarray([3.0, 4.0]))
        assert (found[1] if isinstance(found, tuple) else found).tolist() == [[1.0, 0.0], [0.0, 2.0]]


def test_backward_rules_may_give_lists() -> None:
    @custom_vjp
    def product(x: Any, y: Any) -> Any:
        return x * y

    product.defvjp(lambda x, y: (x * y, (x, y)), lambda kept, g: [g * kept[1], 10 * g * kept[0]])
    assert [float(g) for g in grad(product, (0, 1))(2.0, 3.0)] == [3.0, 20.0]

    @custom_vjp
    def total(xs: Any) -> Any:
        return xs[0] + xs[1]

    total.defvjp(lambda xs: (xs[0] + xs[1], None), lambda _, g: [g, 2 * g])  # the one cotangent
    assert [float(g) for g in grad(total)([2.0, 3.0])] == [1.0, 2.0]
