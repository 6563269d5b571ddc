"""Rules of one's own under every nesting of derivatives, against what JAX 0.10 gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import (
    checkpoint,
    compile,
    cond,
    custom_jvp,
    custom_vjp,
    fori_loop,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    scan,
    stop_gradient,
    vjp,
    vmap,
)


def by_vjp(forward: Any, backward: Any, fun: Any, **options: Any) -> Any:
    made = custom_vjp(fun, **options)
    made.defvjp(forward, backward)
    return made


def by_jvp(rule: Any, fun: Any, **options: Any) -> Any:
    made = custom_jvp(fun, **options)
    made.defjvp(rule)
    return made


# Rules that are not the derivative, so that it shows who uses them.
a = by_vjp(lambda x: (x * x, xp.sin(x)), lambda r, ct: (r * r * ct,), lambda x: x * x)
b = by_vjp(lambda x: (b(x), x), lambda x, ct: (3 * x * ct,), lambda x: x**3)
c = by_vjp(lambda x: (x**2, (a(x), x)), lambda r, ct: (r[0] * ct * r[1],), lambda x: x**2)
d = by_vjp(lambda x: (xp.sin(x), x), lambda x, ct: (a(ct) * x,), lambda x: xp.sin(x))
e = by_jvp(lambda p, t: (xp.round(p[0]), 5 * t[0] * p[0]), lambda x: xp.round(x))
f = by_jvp(lambda p, t: (f(*p), 5 * t[0] * xp.sin(p[0])), lambda x: x**3)
g = by_jvp(lambda p, t: (g(*p), g(t[0])), lambda x: 2 * x)
h = by_jvp(lambda p, t: (h(*p), h(p[0]) * g(t[0])), lambda x: x**3)
k = by_jvp(lambda p, t: (k(p[0]), k(p[0]) * t[0]), lambda x: xp.exp(2 * x))
l = by_jvp(lambda p, t: (l(*p), a(p[0]) * t[0]), lambda x: xp.cos(x))  # noqa: E741
m = by_vjp(lambda x: (x * x, x), lambda x, ct: (f(x) * ct,), lambda x: x * x)
n = by_vjp(lambda p, x: (x * p, x), lambda p, x, ct: (x * ct * p,), lambda p, x: x * p, nondiff_argnums=(0,))
lin = by_jvp(lambda p, t: (lin(*p), lin(t[0] * p[0])), lambda x: x * 1.5)


def _of_tree(tree: Any, i: Any) -> Any:
    return {"y": tree["a"] * tree["b"][0] * i, "z": tree["b"][0] ** 2}


of_tree = by_vjp(
    lambda tree, i: (_of_tree(tree, i), (tree, i)),
    lambda r, ct: ({"a": ct["y"] * r[0]["a"], "b": [ct["z"] * r[0]["a"]]}, None),
    _of_tree,
)


def pt(x: Any) -> Any:
    out = of_tree({"a": x, "b": [x * 2]}, 3)
    return out["y"] * x + out["z"]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{"a": a, "b": b, "c": c, "d": d, "e": e, "f": f, "g": g, "h": h, "k": k, "l": l, "m": m},
    "n": lambda x: n(2.0, x),
    "lin": lin,
    "pt": pt,
    "ab": lambda x: a(b(x)),
    "fa": lambda x: f(a(x)),
    "af": lambda x: a(f(x)),
    "xa": lambda x: a(x) * x * e(x),
    "stop": lambda x: a(x) * stop_gradient(f(x)),
}

ORDERS: dict[str, Callable[[Any], Any]] = {
    "grad grad": lambda u: grad(grad(u)),
    "grad grad grad": lambda u: grad(grad(grad(u))),
    "jvp grad": lambda u: lambda x: jvp(grad(u), (x,), (1.5,))[1],
    "grad jvp grad": lambda u: grad(lambda x: jvp(grad(u), (x,), (1.5,))[1]),
    "jacrev jacrev": lambda u: jacrev(jacrev(u)),
    "vmap grad grad": lambda u: lambda x: vmap(grad(grad(u)))(xp.stack([x, x * 0.7])),
    "of two": lambda u: grad(lambda y: grad(lambda x: u(x * y) * x)(y * 0.5) * u(y)),
    "not by it": lambda u: grad(lambda y: grad(lambda w: xp.sin(w) * u(y) * w)(0.3)),
    "batched pullback": lambda u: lambda x: vmap(vjp(grad(u), x)[1])(xp.asarray([1.0, 2.0]))[0],
    "jvp jvp": lambda u: lambda x: jvp(lambda y: jvp(u, (y,), (1.0,))[1], (x,), (1.0,))[1],
}

# By JAX 0.10.2 in float64, at 0.7, in the order of ORDERS; None where it refuses.
JAX: dict[str, list[Any]] = {
    "a": [
        0.985449729988,
        0.3399342858,
        1.47817459498,
        0.509901428701,
        0.985449729988,
        [0.985449729988, 0.830497370492],
        0.25869246249,
        0.241589842067,
        [0.985449729988, 1.97089945998],
        None,
    ],
    "b": [3.0, 0.0, None, None, 3.0, [3.0, 3.0], 0.9384608625, 1.22245442214, [3.0, 6.0], None],
    "c": [
        0.780511499985,
        2.50483123954,
        None,
        None,
        0.780511499985,
        [0.780511499985, 0.348629476042],
        0.201194105347,
        0.199667555616,
        [0.780511499985, 1.56102299997],
        None,
    ],
    "d": [1.0, 0.0, 1.5, 0.0, 1.0, [1.0, 1.0], 0.55061132548, 0.237205526064, [1.0, 2.0], None],
    "e": [5.0, 0.0, 7.5, 0.0, 5.0, [5.0, 5.0], 2.7654375, 2.0374240369, [5.0, 10.0], 5.0],
    "f": [
        3.82421093642,
        -3.22108843619,
        5.73631640463,
        -4.83163265428,
        3.82421093642,
        [3.82421093642, 4.41166429305],
        1.87217351216,
        1.87506371567,
        [3.82421093642, 7.64842187284],
        3.82421093642,
    ],
    "g": [0.0, 0.0, 0.0, 0.0, 0.0, [0.0, 0.0], 5.88, 1.1642423068, [0.0, 0.0], 0.0],
    "h": [
        1.372,
        2.744,
        2.058,
        4.116,
        1.372,
        [1.372, 0.470596],
        0.0326158028577,
        0.399335111232,
        [1.372, 2.744],
        1.372,
    ],
    "k": [
        4.05519996684,
        4.05519996684,
        6.08279995027,
        6.08279995027,
        4.05519996684,
        [4.05519996684, 2.66445624193],
        18.6434518902,
        2.36061768196,
        [4.05519996684, 8.11039993369],
        4.05519996684,
    ],
    "l": [
        0.41501642855,
        0.985449729988,
        None,
        None,
        0.41501642855,
        [0.41501642855, 0.221488726617],
        0.554564028763,
        0.285239365166,
        [0.41501642855, 0.8300328571],
        None,
    ],
    "m": [
        3.22108843619,
        3.82421093642,
        4.83163265428,
        5.73631640463,
        3.22108843619,
        [3.22108843619, 2.35312944086],
        0.296854708857,
        0.199667555616,
        [3.22108843619, 6.44217687238],
        None,
    ],
    "n": [2.0, 0.0, 3.0, 0.0, 2.0, [2.0, 2.0], 3.77447, 0.814969614759, [2.0, 4.0], None],
    "lin": [1.5, 0.0, 2.25, 0.0, 1.5, [1.5, 1.5], 1.290751875, 0.611227211069, [1.5, 3.0], 1.05],
    "pt": [11.8, 14.0, 17.7, 21.0, 11.8, [11.8, 8.86], 17.5161923737, 2.81164517092, [11.8, 23.6], None],
    "ab": [
        3.13282279271,
        26.3042145072,
        None,
        None,
        3.13282279271,
        [3.13282279271, 0.54510926749],
        0.00218768241385,
        0.138268160285,
        [3.13282279271, 6.26564558541],
        None,
    ],
    "fa": [
        4.88216919453,
        14.7205499176,
        7.32325379179,
        22.0808248764,
        4.88216919453,
        [4.88216919453, 2.04162258461],
        0.0237418872078,
        0.56849216998,
        [4.88216919453, 9.76433838905],
        None,
    ],
    "af": [
        7.00481902549,
        74.7643421812,
        10.5072285382,
        112.146513272,
        7.00481902549,
        [7.00481902549, 1.35168899022],
        0.00395533450754,
        0.212082843899,
        [7.00481902549, 14.009638051],
        None,
    ],
    "xa": [
        9.36483123954,
        33.60885346,
        14.0472468593,
        50.4132801901,
        9.36483123954,
        [9.36483123954, 2.35298],
        0.0303705537005,
        1.15318869927,
        [9.36483123954, 18.7296624791],
        None,
    ],
    "stop": [
        0.338009257386,
        0.11659746003,
        0.507013886079,
        0.174896190044,
        0.338009257386,
        [0.338009257386, 0.097707185141],
        0.00130489674565,
        0.082865315829,
        [0.338009257386, 0.676018514772],
        None,
    ],
}


def close(got: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nested_derivatives_are_those_of_jax(name: str, order: str) -> None:
    wanted = JAX[name][list(ORDERS).index(order)]
    if wanted is not None:
        close(ORDERS[order](FUNCTIONS[name])(xp.asarray(0.7)), wanted)


def _loop(u: Any, x: Any) -> Any:
    total, carry = xp.zeros(()), x
    for s in (0.5, 0.3):
        carry, y = u(carry) * s + 0.1 * carry, u(s * x)
        total = total + y
    return carry + total


def _scan(u: Any, x: Any) -> Any:
    last, ys = scan(lambda c, s: (u(c) * s + 0.1 * c, u(s * x)), x, xp.asarray([0.5, 0.3]))
    return last + xp.sum(ys)


# Each with what it is without the transform; JAX's own scan drops some rules for second derivatives.
WRAPPED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "compile": (lambda u: compile(u), lambda u: u),
    "checkpoint": (lambda u: checkpoint(u), lambda u: u),
    "checkpoint of compile": (lambda u: checkpoint(compile(u)), lambda u: u),
    "compiled gradient": (lambda u: lambda x: compile(grad(u))(x), grad),
    "cond": (
        lambda u: lambda x: cond(x > 0, lambda x: u(x) * 2.0, lambda x: x, x),
        lambda u: lambda x: u(x) * 2,
    ),
    "scan": (lambda u: lambda x: _scan(u, x), lambda u: lambda x: _loop(u, x)),
    "loop": (
        lambda u: lambda x: fori_loop(0, 2, lambda i, y: 0.3 * u(y) + x, x),
        lambda u: lambda x: 0.3 * u(0.3 * u(x) + x) + x,
    ),
    "vmap": (
        lambda u: lambda x: xp.sum(vmap(u)(xp.stack([x, x * 0.5])) * xp.asarray([1.0, 3.0])),
        lambda u: lambda x: u(x) + 3 * u(x * 0.5),
    ),
}


def _outcome(derivative: Any) -> Any:
    try:
        return np.asarray(derivative(xp.asarray(0.7)))
    except TypeError:
        return TypeError


@pytest.mark.parametrize("how", WRAPPED)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_transforms_around_a_call_keep_its_derivatives(name: str, how: str) -> None:
    u = FUNCTIONS[name]
    wrapped, bare = (make(u) for make in WRAPPED[how])
    for order in ("grad grad", "jvp grad", "jacrev jacrev", "of two"):
        if JAX[name][list(ORDERS).index(order)] is None:
            continue
        if how == "compiled gradient" and name in "ab d xa stop":  # a third derivative, which these have too
            continue
        got, wanted = (_outcome(ORDERS[order](some)) for some in (wrapped, bare))
        if wanted is TypeError:  # forward mode by way of a rule for cotangents
            assert got is TypeError
        else:
            close(got, wanted)


def test_a_compiled_function_keeps_them_when_it_is_run_again() -> None:
    for u in FUNCTIONS.values():
        q = compile(u)
        q(xp.asarray(0.3))
        for x in (0.7, 0.9):
            close(grad(grad(q))(x), grad(grad(u))(x))


def test_straight_through() -> None:
    s = by_vjp(lambda x: (xp.round(x * x), None), lambda _, ct: (ct,), lambda x: xp.round(x * x))
    close(grad(s)(1.7), 1.0)
    close(grad(grad(s))(1.7), 0.0)
    close(grad(grad(lambda x: s(x) * x))(1.7), 1.0)  # of round(x * x) + x
    close(jvp(grad(lambda x: s(x) * x), (1.7,), (1.0,))[1], 1.0)
    x = xp.asarray([0.7, 1.7])
    for way in (hessian, lambda u: jacfwd(jacrev(u)), lambda u: jacrev(jacrev(u))):
        close(way(lambda x: xp.sum(s(x) * x))(x), np.eye(2))


def test_zero_cotangents_and_integers() -> None:
    s = by_vjp(
        lambda x, i: ((x * i, x + i), x),
        lambda x, ct: (5 * ct[0] * x + ct[1], None),
        lambda x, i: (x * i, x + i),
    )
    close(grad(lambda x: s(x, 3)[0])(2.0), 10.0)
    close(grad(lambda x: s(x, xp.asarray(3))[1])(2.0), 1.0)
    close(grad(grad(lambda x: s(x, xp.asarray(3))[0] * x))(2.0), 3.0 + 10 * 2.0)
    close(grad(lambda x: xp.zeros(()) * s(x, 3)[0])(2.0), 0.0)


def test_forward_mode_alone_has_no_rule_for_cotangents() -> None:
    for forward in (lambda: jvp(a, (0.7,), (1.0,)), lambda: jacfwd(a)(0.7), lambda: linearize(a, 0.7)):
        with pytest.raises(TypeError, match="a rule for cotangents alone"):
            forward()
    with pytest.raises(TypeError, match="a rule for cotangents alone"):
        grad(lambda x: jvp(compile(a), (x,), (1.0,))[1])(0.7)


def test_a_rule_may_call_its_own_function_on_the_tangent() -> None:
    close(grad(g)(0.7), 2.0)
    close(jvp(g, (0.7,), (3.0,))[1], 6.0)
    close(vmap(grad(g))(xp.ones(2)), [2.0, 2.0])
    close(jacrev(g)(xp.ones(2)), 2 * np.eye(2))
    product = by_jvp(
        lambda p, t: (product(*p), product(t[0], p[1]) + product(p[0], t[1])), lambda x, y: xp.sum(x * y)
    )
    x, y = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
    for way in (grad, lambda *a: compile(grad(*a)), lambda *a: grad(compile(a[0]), *a[1:])):
        close(way(product)(x, y), y)
        close(way(product, 1)(x, y), x)
    close(grad(lambda y: xp.sum(grad(product)(x, y) * y))(y), 2 * y)
    close(hessian(lambda x: product(x, x))(x), 2 * np.eye(2))
    in_loop = by_jvp(
        lambda p, t: (in_loop(*p), scan(lambda c, _: (in_loop(c), None), t[0], None, length=1)[0]),
        lambda x: 3.0 * x,
    )
    close(grad(in_loop)(0.7), 3.0)


def test_too_many_derivatives_of_rules_within_rules_are_refused() -> None:
    q = by_vjp(lambda x: (q(x), q(x)), lambda y, ct: (3 * y * ct,), lambda x: xp.exp(2 * x))
    u, x = compile(q), xp.asarray(0.7)
    u(x)
    for order in (1, 2, 3):
        got, wanted = u, q
        for _ in range(order):
            got, wanted = grad(got), grad(wanted)
        close(got(x), 3**order * np.exp(1.4))
        close(wanted(x), 3**order * np.exp(1.4))
    close(grad(grad(grad(grad(q))))(x), 81 * np.exp(1.4))
    with pytest.raises(NotImplementedError, match="have no derivative of order 4"):
        grad(grad(grad(grad(u))))(x)
