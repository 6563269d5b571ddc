"""Shapes without elements, converted closures, transposes, and derivatives of solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import (
    ShapeDtypeStruct,
    checkpoint,
    closure_convert,
    compile,
    cond,
    custom_jvp,
    custom_linear_solve,
    custom_root,
    custom_vjp,
    eval_shape,
    fori_loop,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    scan,
    trace,
    tree_map,
    vmap,
    while_loop,
)


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9, atol=1e-9)


# -- shapes ----------------------------------------------------------------------------------------------


def test_shapes_are_those_of_the_results() -> None:
    def f(p: Any, n: int, *, dtype: Any) -> Any:
        y = p["w"] @ p["x"] + xp.zeros(n)
        total = scan(lambda c, x: (c + x, c * x), xp.zeros((), dtype=dtype), y)
        return {"y": y, "scan": total, "cond": cond(y[0] > 0, xp.sin, xp.cos, y), "g": grad(xp.sum)(y)}

    p = {"w": xp.ones((3, 2)), "x": xp.ones(2)}
    wanted = tree_map(lambda x: ShapeDtypeStruct(x.shape, x.dtype), f(p, 3, dtype=xp.float64))
    for like in (p, tree_map(np.asarray, p), tree_map(lambda x: ShapeDtypeStruct(x.shape, x.dtype), p)):
        assert eval_shape(f, like, 3, dtype=xp.float64) == wanted
    assert eval_shape(vmap(lambda x: x * 2), xp.ones((4, 3))).shape == (4, 3)
    assert eval_shape(compile(lambda x: x.sum()), xp.ones(3, dtype=xp.float32)).dtype == xp.float32
    assert eval_shape(lambda: 3).shape == ()


def test_shapes_inside_of_vmap_are_those_of_an_example() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(eval_shape(lambda y: xp.stack([x, y]), x))
        return x

    vmap(f)(xp.ones((5, 3)))
    assert seen == [ShapeDtypeStruct((2, 3), xp.float64)]


def test_shapes_of_what_looks_at_values_are_refused() -> None:
    with pytest.raises(TypeError, match=r"eval_shape: the function looks at a value \(.*test_implicit.py:"):
        eval_shape(lambda x: x if x > 0 else -x, 1 * xp.ones(()))
    captured = xp.zeros(3)

    def write(x: Any) -> Any:
        captured[0] = x
        return x

    with pytest.raises(TypeError, match="writes to an array"):
        eval_shape(write, xp.ones(()))
    assert captured[0] == 0.0


def test_graphs_of_shapes() -> None:
    graph = trace(lambda x, y: x @ y, ShapeDtypeStruct((2, 3), xp.float32), xp.ones(3, dtype=xp.float32))
    assert repr(graph) == "<graph <lambda>(x: float32[2, 3], y: float32[3]) -> out: float32[2]>"


# -- transposes ------------------------------------------------------------------------------------------


def test_linear_functions_are_transposed() -> None:
    A = xp.asarray([[1.0, 2.0, 0.0], [3.0, 4.0, 5.0]])

    def f(x: Any, p: Any) -> Any:
        y = A @ x + p["b"]
        return {"sums": xp.cumsum(y), "last": scan(lambda c, v: (2 * c + v, None), 0.0, y)[0]}

    back = linear_transpose(f, ShapeDtypeStruct((3,), xp.float64), {"b": xp.zeros(2)})
    ct = {"sums": xp.asarray([1.0, 10.0]), "last": 100.0}
    x, p = back(ct)
    close(p["b"], [11.0 + 200.0, 10.0 + 100.0])
    close(x, A.T @ p["b"])
    many = vmap(lambda t: back({"sums": ct["sums"] * t, "last": 100.0 * t})[0])(xp.asarray([1.0, 2.0]))
    close(many, [x, 2 * x])
    close(compile(lambda ct: back(ct)[0])(ct), x)
    close(grad(lambda t: back({"sums": ct["sums"] * t, "last": 0.0})[1]["b"].sum())(3.0), 21.0)


@pytest.mark.parametrize(
    "f", [lambda x: x * x, xp.sin, xp.abs, lambda x: xp.where(x > 0, x, 0 * x), lambda x: xp.max(x)]
)
def test_transposes_of_what_is_not_linear_are_refused(f: Any) -> None:
    with pytest.raises(TypeError, match="linear_transpose: the function is not linear"):
        linear_transpose(f, xp.zeros(2))


def test_transposes_of_what_looks_are_refused() -> None:
    with pytest.raises(TypeError, match="linear_transpose: the function looks at a value"):
        linear_transpose(lambda x: x if x[0] > 0 else -x, xp.zeros(2))


# -- closures --------------------------------------------------------------------------------------------


def minimized(objective: Any, x: Any) -> Any:
    """A function of a function whose derivative is by what that captures."""
    converted, captured = closure_convert(objective, x)

    @custom_vjp
    def run(x: Any, *consts: Any) -> Any:
        return converted(x, *consts)

    def backward(saved: Any, ct: Any) -> Any:
        return tuple(10 * ct * g for g in grad(converted, tuple(range(len(saved))))(*saved))

    run.defvjp(lambda x, *consts: (run(x, *consts), (x, *consts)), backward)
    return run(x, *captured)


def test_captured_arrays_become_arguments() -> None:
    def loss(a: Any, b: Any, x: Any) -> Any:
        return minimized(lambda x: a * x**2 + xp.sin(b) * x, x)

    close(grad(loss, (0, 1, 2))(2.0, 0.0, 3.0), [90.0, 30.0, 120.0])
    close(compile(grad(loss, (0, 1, 2)))(2.0, 0.0, 3.0), [90.0, 30.0, 120.0])
    a, x = xp.asarray([2.0, 1.0]), xp.asarray([3.0, 1.0])
    for axes, args in (
        ((0, None, 0), (a, 0.0, x)),
        ((0, None, None), (a, 0.0, 3.0)),
        ((None, None, 0), (2.0, 0.0, x)),
        ((None, 0, 0), (2.0, a, x)),
        ((0, 0, None), (a, x, 3.0)),
    ):
        found = vmap(grad(loss, (0, 1, 2)), in_axes=axes)(*args)
        rows = [[v if axis is None else v[i] for v, axis in zip(args, axes, strict=True)] for i in range(2)]
        wanted = [grad(loss, (0, 1, 2))(*row) for row in rows]
        close(xp.stack(found, axis=1), wanted)
        outside = grad(lambda *args, axes=axes: vmap(loss, in_axes=axes)(*args).sum(), (0, 1, 2))(*args)
        for i, axis in enumerate(axes):
            column = np.asarray([row[i] for row in wanted])
            close(outside[i], column if axis == 0 else column.sum())
    nested = vmap(vmap(loss, in_axes=(0, None, None)), in_axes=(None, None, 0))(a, 0.0, x)
    close(nested, [[loss(u, 0.0, v) for u in a] for v in x])
    total = grad(
        lambda a: vmap(vmap(loss, in_axes=(0, None, None)), in_axes=(None, None, 0))(a, 0.0, x).sum()
    )
    close(total(a), [100.0, 100.0])


def test_nothing_captured_leaves_the_function() -> None:
    def f(x: Any) -> Any:
        return x if x > 0 else -x

    assert closure_convert(f, 1.0) == (f, [])
    with pytest.raises(TypeError, match="closure_convert: the function looks at a value"):
        grad(lambda y: closure_convert(lambda x: x * y if x > 0 else x, 1.0)[0](1.0))(2.0)
    with pytest.raises(ValueError, match="takes 1 arguments and 1 that were captured, not 1"):
        grad(lambda y: closure_convert(lambda x: x * y, 1.0)[0](1.0))(2.0)


# -- roots -----------------------------------------------------------------------------------------------


def newton(f: Any, x: Any) -> Any:
    for _ in range(30):
        y, slope = jvp(f, (x,), (xp.ones_like(x),))
        if xp.max(xp.abs(y)) < 1e-14:
            break
        x = x - y / slope
    return x


def newton_loop(f: Any, x: Any) -> Any:
    def step(i: Any, x: Any) -> Any:
        y, slope = jvp(f, (x,), (xp.ones_like(x),))
        return x - y / slope

    return fori_loop(0, 8, step, x)


@pytest.mark.parametrize("solve", [newton, newton_loop])
def test_derivatives_of_roots(solve: Any) -> None:
    def root(a: Any, b: Any) -> Any:  # of x**3 + b = a
        return custom_root(lambda x: x**3 + b - a, 1.0, solve, lambda g, y: y / g(1.0))

    close(root(9.0, 1.0), 2.0)
    close(grad(root, (0, 1))(9.0, 1.0), [1 / 12, -1 / 12])
    close(jvp(root, (9.0, 1.0), (1.0, 1.0))[1], 0.0)
    close(hessian(root)(9.0, 1.0), -2 / 9 * 8 ** (-5 / 3))
    close(grad(grad(grad(root)))(9.0, 1.0), 10 / 27 * 8 ** (-8 / 3))
    a = xp.asarray([9.0, 2.0])
    close(vmap(root, in_axes=(0, None))(a, 1.0), [2.0, 1.0])
    close(vmap(grad(root), in_axes=(0, None))(a, 1.0), [1 / 12, 1 / 3])
    if solve is newton_loop:  # which does not look at values
        close(grad(lambda b: vmap(root, in_axes=(0, None))(a, b).sum())(1.0), -5 / 12)
    compiled = compile(root)
    close(compiled(9.0, 1.0), 2.0)
    made = compile(lambda a: root(a * a, 1.0))
    for v in (3.0, 2.0, 5.0):
        v = xp.asarray(v)
        close(grad(made)(v), 2 * v / 3 * (v**2 - 1) ** (-2 / 3))
        close(compile(grad(made))(v), 2 * v / 3 * (v**2 - 1) ** (-2 / 3))


def test_roots_of_pytrees_with_more_to_say() -> None:
    def root(a: Any) -> Any:
        def solve(f: Any, guess: Any) -> Any:
            return {"x": xp.sqrt(a), "y": 2 * xp.sqrt(a)}, {"steps": 3}

        def tangent_solve(g: Any, y: Any) -> Any:
            matrix = jacfwd(lambda v: xp.stack([*g({"x": v[0], "y": v[1]}).values()]))(xp.zeros(2))
            x, y = xp.linalg.solve(matrix, xp.stack([*y.values()]))
            return {"x": x, "y": y}

        def f(v: Any) -> Any:
            return {"x": v["x"] ** 2 - a, "y": v["y"] - 2 * v["x"]}

        return custom_root(f, {"x": 1.0, "y": 1.0}, solve, tangent_solve, has_aux=True)

    found, aux = root(xp.asarray(4.0))
    assert (found["x"], found["y"], aux) == (2.0, 4.0, {"steps": 3})
    close(jvp(lambda a: root(a)[0], (4.0,), (1.0,))[1]["y"], 0.5)
    close(grad(lambda a: root(a)[0]["y"])(4.0), 0.5)
    close(grad(grad(lambda a: root(a)[0]["y"]))(4.0), -2 / 4 * 4.0 ** (-3 / 2))


# -- linear systems --------------------------------------------------------------------------------------


def by_matrix(matvec: Any, b: Any) -> Any:
    return xp.linalg.solve(jacfwd(matvec)(xp.zeros_like(b)), b)


def by_richardson(matvec: Any, b: Any) -> Any:
    """A loop of Python that looks at values."""
    x = b
    while xp.max(xp.abs(matvec(x) - b)) > 1e-14:
        x = x + 0.2 * (b - matvec(x))
    return x


def by_loop(matvec: Any, b: Any) -> Any:
    def step(state: Any) -> Any:
        return state[0] + 0.2 * (b - matvec(state[0])), state[1] + 1

    return while_loop(lambda state: state[1] < 150, step, (b, 0))[0]


A = np.array([[4.0, 1.0], [0.5, 3.0]])
B = np.array([1.0, 2.0])


def system(solve: Any, **options: Any) -> Any:
    def f(scale: Any, b: Any) -> Any:
        matrix = xp.asarray(A) * scale
        return custom_linear_solve(lambda x: matrix @ x, b, solve, **options)

    return f


def plain(scale: Any, b: Any) -> Any:
    return xp.linalg.solve(xp.asarray(A) * scale, b)


@pytest.mark.parametrize("solve", [by_matrix, by_richardson, by_loop])
def test_derivatives_of_linear_systems(solve: Any) -> None:
    f, b = system(solve, transpose_solve=solve), xp.asarray(B)
    close(f(1.0, b), plain(1.0, b))
    for made in (f, compile(f), checkpoint(f)):
        close(jvp(made, (1.0, b), (1.0, b))[1], jvp(plain, (1.0, b), (1.0, b))[1])
        for got, wanted in zip(
            grad(lambda s, b, made=made: (made(s, b) ** 3).sum(), (0, 1))(1.0, b),
            grad(lambda s, b: (plain(s, b) ** 3).sum(), (0, 1))(1.0, b),
            strict=True,
        ):
            close(got, wanted)
    twice = grad(grad(lambda s: (f(s, b) ** 3).sum()))
    close(twice(1.0), grad(grad(lambda s: (plain(s, b) ** 3).sum()))(1.0))
    scales, many = xp.asarray([1.0, 1.1]), xp.stack([b, 2 * b])
    close(vmap(f)(scales, many), vmap(plain)(scales, many))
    found = vmap(grad(lambda s, b: (f(s, b) ** 3).sum(), (0, 1)))(scales, many)
    wanted = vmap(grad(lambda s, b: (plain(s, b) ** 3).sum(), (0, 1)))(scales, many)
    close(found[0], wanted[0])
    close(found[1], wanted[1])
    # Not the values of the first call, when a compiled function is differentiated.
    made = compile(lambda s: (f(s, b) ** 3).sum())
    for s in (1.0, 1.1, 1.2):
        close(grad(made)(xp.asarray(s)), grad(lambda s: (plain(s, b) ** 3).sum())(s))


def test_whole_jacobians_of_linear_systems() -> None:
    f, b = system(by_loop, transpose_solve=by_loop), xp.asarray(B)
    for jacobian in (jacfwd, jacrev):
        close(jacobian(f)(1.0, b), jacobian(plain)(1.0, b))
        close(jacobian(f, argnums=1)(1.0, b), jacobian(plain, argnums=1)(1.0, b))
    close(hessian(lambda s: (f(s, b) ** 3).sum())(1.0), hessian(lambda s: (plain(s, b) ** 3).sum())(1.0))
    looking = system(by_richardson, transpose_solve=by_richardson)
    for jacobian in (jacfwd, jacrev):
        close(jacobian(looking)(1.0, b), jacobian(plain)(1.0, b))
        close(jacobian(looking, argnums=1)(1.0, b), jacobian(plain, argnums=1)(1.0, b))
    close(
        hessian(lambda s: (looking(s, b) ** 3).sum())(1.0), hessian(lambda s: (plain(s, b) ** 3).sum())(1.0)
    )
    scales = xp.asarray([1.0, 1.1])
    close(vmap(lambda s: jacfwd(looking)(s, b))(scales), vmap(lambda s: jacfwd(plain)(s, b))(scales))
    along = linearize(looking, 1.0, b)[1]
    close(along(1.0, b), jvp(plain, (1.0, b), (1.0, b))[1])
    with pytest.raises(TypeError, match="linearize: a rule looks at a tangent or cotangent"):
        vmap(along)(scales, xp.stack([b, b]))


def test_derivatives_of_many_solutions_whose_solvers_look() -> None:
    scales, many = xp.asarray([1.0, 1.1]), xp.stack([xp.asarray(B), 2 * xp.asarray(B)])
    f = system(by_richardson, transpose_solve=by_richardson)
    close(
        grad(lambda s: (vmap(f)(s, many) ** 3).sum())(scales),
        grad(lambda s: (vmap(plain)(s, many) ** 3).sum())(scales),
    )
    for jacobian in (jacfwd, jacrev):
        close(jacobian(vmap(f))(scales, many), jacobian(vmap(plain))(scales, many))


@pytest.mark.filterwarnings("ignore::nabla_array.transforms.SplitWarning")
def test_derivatives_of_many_roots_whose_solvers_look() -> None:
    def newton(f: Any, x: Any) -> Any:
        while abs(f(x)) > 1e-13:
            x = x - f(x) / (2 * x)
        return x

    def root(a: Any) -> Any:
        return custom_root(lambda x: x**2 - a, 1.0 + 0 * a, newton, lambda g, y: y / g(1.0))

    a = xp.asarray([1.0, 4.0, 9.0])
    wanted = 0.5 / np.sqrt(np.asarray(a))
    close(grad(lambda a: xp.sum(vmap(root)(a)))(a), wanted)
    close(vmap(grad(root))(a), wanted)
    for jacobian in (jacfwd, jacrev):
        close(jacobian(vmap(root))(a), np.diag(wanted))
    close(vmap(hessian(root))(a), -0.25 * np.asarray(a) ** -1.5)


def test_symmetric_systems_and_those_without_a_transpose() -> None:
    S = xp.asarray([[4.0, 1.0], [1.0, 3.0]])

    def f(s: Any, **options: Any) -> Any:
        return custom_linear_solve(lambda x: (s * S) @ x, xp.asarray(B), by_matrix, **options)

    wanted = grad(lambda s: xp.linalg.solve(s * S, xp.asarray(B))[0])(2.0)
    close(grad(lambda s: f(s, symmetric=True)[0])(2.0), wanted)
    close(grad(lambda s: f(s)[0])(2.0), wanted)

    def with_aux(matvec: Any, b: Any) -> Any:
        return by_matrix(matvec, b), {"steps": 7}

    x, aux = custom_linear_solve(lambda x: S @ x, xp.asarray(B), with_aux, symmetric=True, has_aux=True)
    assert aux == {"steps": 7}
    close(x, np.linalg.solve(np.asarray(S), B))
    by_b = grad(
        lambda b: custom_linear_solve(lambda x: S @ x, b, with_aux, symmetric=True, has_aux=True)[0][0]
    )
    close(by_b(xp.asarray(B)), np.linalg.inv(np.asarray(S))[0])


def test_rules_that_capture_what_is_compiled_are_right_on_later_calls() -> None:
    def f(x: Any, k: Any) -> Any:
        made = custom_jvp(lambda x: x * k)
        made.defjvp(lambda p, t: (p[0] * k, 10 * t[0] * k))
        return made(x)

    made = compile(f)
    for k in (2.0, 3.0):
        k = xp.asarray(k)
        close(grad(made)(xp.asarray(1.0), k), 10 * k)


def test_rules_look_at_values_after_their_vmap_has_ended() -> None:
    f = custom_jvp(lambda x: x * x)
    f.defjvp(lambda p, t: (f(*p), 10 * t[0] if p[0] > 1 else t[0]))
    g = custom_vjp(lambda x: x * x)
    g.defvjp(lambda x: (x * x, x), lambda x, ct: (10 * ct if x > 1 else 0 * ct,))
    x = xp.asarray([[0.5, 1.5], [2.5, 0.1]])
    for made, low in ((f, 1.0), (g, 0.0)):
        for run in (vmap(vmap(made)), compile(vmap(vmap(made)))):
            close(grad(lambda x, run=run: run(x).sum())(x), np.where(x > 1, 10.0, low))
    close(jacfwd(vmap(f))(x[0]), [[1.0, 0.0], [0.0, 10.0]])


@pytest.mark.parametrize("outer", [grad, lambda f: lambda a: jvp(f, (a,), (1.0,))[1]])
@pytest.mark.parametrize("inner", [grad, lambda f: lambda a: jvp(f, (a,), (1.0,))[1]])
def test_solvers_that_know_nothing_of_derivatives_within_rules(outer: Any, inner: Any) -> None:
    def root(a: Any) -> Any:
        def solve(matvec: Any, b: Any) -> Any:
            return b / (2 * np.sqrt(2.0))

        def tangent(linear: Any, y: Any) -> Any:
            return custom_linear_solve(linear, y, solve, solve)

        return custom_root(lambda x: x * x - a, np.sqrt(2.0), lambda f, x: x, tangent)

    np.testing.assert_allclose(outer(inner(root))(2.0), -0.25 * 2**-1.5)


def test_a_vmap_within_a_function_whose_zero_is_wanted() -> None:
    def f(a: Any) -> Any:
        return xp.sum(
            custom_root(
                lambda z: vmap(lambda y: a * y - 1.0)(z),
                np.ones(3) / 1.3,
                lambda f, x: x,
                lambda g, y: y / 1.3,
            )
        )

    np.testing.assert_allclose(grad(f)(1.3), -3 / 1.3**2)
